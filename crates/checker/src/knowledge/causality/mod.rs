//! Causality: from one run, the constraints of every execution that must be possible too.
//!
//! Definition (maximal causality, after Huang, PLDI 2015). A *configuration* of a run says how much of its own history in that run each thread
//! repeats, and lets a thread take one further step with another result: a *deviation*. Threads are
//! deterministic, so as long as a thread's results are the same it does the same. A configuration is possible iff its operations can be
//! ordered such that the memory model's rules hold, locks exclude, forks, joins and condition
//! variables work, and every read returns its value from *some* write of that value. That is exactly what the [`Problem`] made here asks, so its
//! solutions are the possible configurations, neither more nor fewer.
//!
//! Files: `order.rs` the memory models, `events.rs` one event at a time, `choices.rs` free choices, `reads.rs` what reads can see, `forced.rs` what they cannot see in any case, `counts.rs` and `references.rs`, `locks.rs`, `condvars.rs`, `goals.rs` what
//! can be asked, `partings.rs` which configurations are known, `prediction.rs` from a solution to a schedule.

mod choices;
mod condvars;
mod counts;
mod events;
mod forced;
mod goals;
mod locks;
mod order;
mod partings;
mod prediction;
mod reads;
mod references;

pub use goals::{Goals, RaceGoal};
pub(crate) use order::{commit_chain, drains, is_barrier, is_buffered};
pub use partings::{Known, Parting};
pub use prediction::{Predicted, PredictedStep, Prediction};

use crate::base::{Loc, Span, ThreadKey};
use crate::execution::{MemoryModel, Operation};
use crate::solver::{Lit, Node, Problem, WriteId};
use crate::trace::Run;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The constraints that follow from a run.
pub struct Causality {
    memory: MemoryModel,
    /// For the solver.
    pub problem: Problem,
    /// The run's threads in order of creation.
    pub threads: Vec<CausalThread>,
    events: Vec<CausalEvent>,
    writes: Vec<WriteInfo>,
    waits: Vec<condvars::Wait>,
    notified: Vec<condvars::Notified>,
    sections: Vec<locks::Section>,
    /// For each lock and mode, a literal that says that somebody is in the way when nothing can happen any more.
    held_at_end: BTreeMap<(u32, bool), Lit>,
    /// Literals that say what can be asked.
    pub goals: Goals,
    cells: Vec<Loc>,
    cell_numbers: FxHashMap<Loc, u32>,
    /// The writes to each cell.
    cell_writes: Vec<Vec<WriteId>>,
    /// What each cell held before anything ran.
    initial: Vec<Contents>,
    /// Whether each cell is an opaque object.
    opaque: Vec<bool>,
}

/// What is in a cell.
#[derive(Clone, Copy)]
struct Contents {
    /// What the history of who reads it says: the value, or the version of an opaque object.
    result: i64,
    /// The value, by which exchanges and spinning threads go.
    value: i64,
}

/// What a causality is made from, beside the run.
pub struct Given<'g> {
    /// The memory model.
    pub memory: MemoryModel,
    /// The value of a cell before anything ran.
    pub initial: &'g dyn Fn(Loc) -> i64,
    /// Whether a read, by its number among the run's events (by thread, the pending one last), is to have a literal of its own for this other value.
    pub named: &'g dyn Fn(usize, i64) -> bool,
    /// A read with no more other values than these has a literal for each.
    pub few: usize,
    /// Whether to give up. Then what is made is not whole, and nothing may be concluded from it.
    pub is_over: &'g dyn Fn() -> bool,
}

/// A thread of the run.
pub struct CausalThread {
    /// Its name in every execution.
    pub key: ThreadKey,
    /// Its events: indices, in program order. The last one may be pending.
    events: std::ops::Range<usize>,
    /// How many of them were performed.
    n_performed: usize,
    /// The fork that started it, unless it ran from the start.
    fork: Option<usize>,
    /// For every position, a literal that implies a deviation at an earlier one.
    deviates_before: Vec<Lit>,
}

/// An event of the run, as the problem sees it.
struct CausalEvent {
    thread: usize,
    operation: Operation,
    /// The opaque object that it is an operation on.
    object: Option<Loc>,
    result: i64,
    awaiting: Vec<(Loc, i64)>,
    /// The thread failed here because the block it uses had been freed.
    hit_freed: bool,
    /// The thread failed here because there is no such cell: it does whatever others do.
    leads_nowhere: bool,
    span: Span,
    /// It happens with the result of the run. Nothing if it was only pending.
    same: Option<Lit>,
    /// It happens with this other result.
    others: Vec<(i64, Lit)>,
    /// Some of the further results, by which questions can be asked.
    named: Vec<(i64, Lit)>,
    /// It happens with any further result.
    rest: Option<Rest>,
    issue: Node,
    commit: Option<Node>,
    write: Option<WriteId>,
}

/// The other values that an event can have and that nobody asks for by themselves. There are many, so they share one literal.
struct Rest {
    lit: Lit,
    values: Values,
}

/// How it is known which of the values it is.
enum Values {
    /// One that is read: by its source.
    Read {
        /// Which of the problem's choices has their sources.
        choice: usize,
        /// In order.
        values: Vec<i64>,
    },
    /// One that is chosen.
    Chosen(choices::Chosen),
}

impl Rest {
    fn contains(&self, value: i64) -> bool {
        match &self.values {
            Values::Read { values, .. } => values.binary_search(&value).is_ok(),
            Values::Chosen(chosen) => chosen.contains(value),
        }
    }
}

/// What is known of a write beside what the solver needs.
#[derive(Clone, Copy)]
struct WriteInfo {
    event: usize,
    contents: Contents,
    /// It belongs to a deviation: nobody can see it.
    deviant: bool,
}

impl Causality {
    /// The constraints that follow from a run.
    pub fn of<T>(run: &Run<T>, given: &Given<'_>) -> Causality {
        let mut causality = Causality {
            memory: given.memory,
            problem: Problem::default(),
            threads: Vec::new(),
            events: Vec::new(),
            writes: Vec::new(),
            waits: Vec::new(),
            notified: Vec::new(),
            sections: Vec::new(),
            held_at_end: BTreeMap::new(),
            goals: Goals::default(),
            cells: Vec::new(),
            cell_numbers: FxHashMap::default(),
            cell_writes: Vec::new(),
            initial: Vec::new(),
            opaque: Vec::new(),
        };
        causality.add_cells(run, given.initial);
        causality.add_events(run);
        causality.add_forks_and_joins(given);
        causality.add_counts();
        causality.add_reads(given);
        causality.add_frees();
        causality.add_locks();
        causality.add_condvars(given);
        if !(given.is_over)() {
            causality.add_goals(given);
        }
        causality
    }

    /// The literal for "the event happens with this other result".
    fn other(&mut self, event: usize, result: i64) -> Lit {
        if let Some(&(_, lit)) = self.events[event].others.iter().find(|other| other.0 == result) {
            return lit;
        }
        let lit = self.deviation(event);
        self.events[event].others.push((result, lit));
        lit
    }

    /// A new literal by which the event happens otherwise than in the run.
    fn deviation(&mut self, event: usize) -> Lit {
        let lit = self.problem.var();
        let node = self.events[event].issue;
        self.problem.nodes[node as usize].active.push(lit);
        if let Some(before) = self.before(event) {
            self.problem.clause([!lit, before]);
        }
        if let Some(same) = self.events[event].same {
            self.problem.clause([!lit, !same]);
        }
        lit
    }

    /// The literal without which the event cannot happen: its predecessor in the thread, or the fork.
    fn before(&self, event: usize) -> Option<Lit> {
        let thread = &self.threads[self.events[event].thread];
        let before = if event > thread.events.start { Some(event - 1) } else { thread.fork };
        before.map(|before| self.events[before].same.expect("only the last event is pending"))
    }

    /// All literals by which the event happens.
    fn happens(&self, event: usize) -> impl Iterator<Item = Lit> {
        let event = &self.events[event];
        event.same.into_iter().chain(event.deviations())
    }

    /// Adds, for each way in which the event happens, that one of these must hold.
    fn require(&mut self, event: usize, one_of: &[Lit]) {
        for lit in self.happens(event).collect::<Vec<_>>() {
            self.problem.clause([&[!lit], one_of].concat());
        }
    }

    /// The result of who reads from a source.
    fn result_of(&self, source: u32) -> i64 {
        let source = self.problem.sources[source as usize];
        match source.write {
            Some(write) => self.writes[write as usize].contents.result,
            None => self.initial[self.problem.reads[source.read as usize].cell as usize].result,
        }
    }

    /// The value that a cell has when who reads it has this result.
    fn value_behind(&self, loc: Loc, result: i64) -> i64 {
        let cell = self.cell(loc) as usize;
        if !self.opaque[cell] {
            return result;
        }
        let written = self.cell_writes[cell].iter().map(|&id| self.writes[id as usize].contents);
        let mut all = written.chain([self.initial[cell]]);
        all.find(|contents| contents.result == result).map_or(result, |contents| contents.value)
    }

    /// Whether something in the run is opaque.
    pub fn has_opaque(&self) -> bool {
        self.opaque.contains(&true)
    }

    /// The number of a location among the problem's cells.
    fn cell(&self, loc: Loc) -> u32 {
        self.cell_numbers[&loc]
    }

    fn add_write(&mut self, cell: u32, node: Node, active: Lit, info: WriteInfo) -> WriteId {
        self.writes.push(info);
        let write = self.problem.write(cell, node, active);
        self.cell_writes[cell as usize].push(write);
        write
    }
}

impl Contents {
    /// A value that anyone can see.
    fn of(value: i64) -> Contents {
        Contents { result: value, value }
    }
}

impl CausalEvent {
    /// It is a try-lock that did not get its lock.
    fn is_failed_try(&self) -> bool {
        self.operation.tried().is_some() && self.result == 0
    }

    /// All literals by which it happens otherwise than in the run.
    fn deviations(&self) -> impl Iterator<Item = Lit> {
        self.others.iter().map(|other| other.1).chain(self.rest.as_ref().map(|rest| rest.lit))
    }
}
