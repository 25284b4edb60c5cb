//! A survey of what can happen: which values each read sees, and how many histories each thread has. For reports that show what was covered.

use super::exhaustive;
use crate::base::{Span, ThreadKey};
use crate::execution::visited::{NO_STEP, Visited};
use crate::execution::{Comparable, Machine, Operation, State, interpret};
use crate::program::Program;
use crate::search::{Options, Watch};
use std::collections::{BTreeMap, BTreeSet};

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// Whether all states were looked at.
    pub complete: bool,
    /// By place: the cell's name and the values that were read there.
    pub reads: Vec<SurveyedRead>,
    /// For each thread that runs from the start, how many complete histories it has; nothing if they were too many to count.
    pub histories: Vec<(String, u64)>,
}

/// A read of the source, and what it saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyedRead {
    /// Where it stands.
    pub span: Span,
    /// The cells that it read there.
    pub cells: BTreeSet<String>,
    /// The values, by how many states they were read in.
    pub values: BTreeMap<i64, u64>,
}

/// Looks at the states of a program, at most so many.
pub fn survey(program: &Program, options: &Options, most_states: u64, watch: &dyn Watch) -> Survey {
    let subject = &interpret(program);
    let mut search =
        Surveying { machine: Machine::new(subject, options.rules), visited: Visited::new(), reads: BTreeMap::new() };
    let complete = search.run(most_states, watch);
    let histories = if complete { histories(subject, options, most_states, watch) } else { Vec::new() };
    let reads = search.reads.into_iter().map(|((start, end), (cells, values))| {
        let span = Span { start, end };
        SurveyedRead { span, cells, values }
    });
    Survey { complete, reads: reads.collect(), histories }
}

type Reads = BTreeMap<(u32, u32), (BTreeSet<String>, BTreeMap<i64, u64>)>;

struct Surveying<'a, S: Comparable> {
    machine: Machine<'a, S>,
    visited: Visited<S::Thread>,
    reads: Reads,
}

/// How often the watch is asked, in states.
const LOOK_EVERY: u32 = 4096;

impl<S: Comparable> Surveying<'_, S> {
    fn run(&mut self, most_states: u64, watch: &dyn Watch) -> bool {
        let start = self.machine.start();
        self.note(&start, 0);
        let mut next = 0;
        while (next as usize) < self.visited.len() {
            let stop = || watch.look(&crate::search::Progress { states: u64::from(next), ..Default::default() });
            if self.visited.len() as u64 > most_states
                || watch.stop().is_some()
                || (next % LOOK_EVERY == 0 && stop().is_some())
            {
                return false;
            }
            let row = self.visited.row_of(next);
            let state = self.visited.state(row, row.len() - 1);
            if state.threads.iter().any(|thread| self.machine.is_at_buffer_bound(thread)) {
                return false;
            }
            self.expand(&state, next);
            next += 1;
        }
        true
    }

    fn expand(&mut self, state: &State<S::Thread>, at: u32) {
        let mut steps = Vec::new();
        self.machine.steps(state, &mut steps);
        for step in steps {
            let thread = &state.threads[step.thread.index()];
            let mut next = state.clone();
            let performed = self.machine.apply(&mut next, step);
            if let Some(loc) = performed.operation.as_ref().and_then(Operation::read)
                && performed.failure.is_none()
            {
                let span = self.machine.subject.span(&thread.local);
                let (cells, values) = self.reads.entry((span.start, span.end)).or_default();
                cells.insert(self.machine.subject.code().loc_name(loc));
                *values.entry(performed.result).or_default() += 1;
            }
            self.note(&next, at);
        }
    }

    fn note(&mut self, state: &State<S::Thread>, from: u32) {
        let mut row = vec![self.visited.intern_shared(&state.shared)];
        row.extend(state.threads.iter().map(|thread| self.visited.intern_thread(thread)));
        self.visited.insert(&row, from, NO_STEP);
    }
}

fn histories<S: Comparable>(subject: &S, options: &Options, most: u64, watch: &dyn Watch) -> Vec<(String, u64)> {
    let Some(histories) = exhaustive::histories(subject, options, most, watch) else { return Vec::new() };
    let mut of: BTreeMap<ThreadKey, BTreeSet<Vec<i64>>> = BTreeMap::new();
    for (key, history) in histories.combinations().into_iter().flatten() {
        of.entry(key).or_default().insert(history);
    }
    let starts = subject.code().initial.iter().enumerate();
    let counted = starts.map(|(at, start)| {
        let count = of.get(&ThreadKey::initial(at)).map_or(0, BTreeSet::len);
        (start.name.clone(), count as u64)
    });
    counted.collect()
}
