//! Engine `exhaustive`: explicit-state search of the machine with a visited set. Slow and obviously right.
//!
//! Breadth first from the start, every step of every state, every state once. So the first schedule found to anything is
//! among the shortest. What it visits *is* the set of reachable states of the operational machine; there is no
//! reduction but the one for spinning threads (`execution/spin.rs`). Every other engine is tested against it.

use super::histories::Histories;
use super::judge::Judge;
use super::visited::{NO_STEP, Visited};
use super::{Engine, Options, Progress, Watch};
use crate::execution::{Interpreter, IrThread, Machine, State, Stuck};
use crate::report::{FinalState, Report, Statistics, StopReason};
use crate::schedule::{Action, Step};
use std::collections::BTreeSet;

/// How often the watch is asked, in states.
const LOOK_EVERY: u32 = 4096;

/// Histories are counted unasked as long as that takes no more than this many states, and a few times the plain search's.
const CHEAP_STATES: u64 = 50_000;

/// Searches everything and reports.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let mut search = Search::new(subject, options, None);
    let stop = search.run(watch);
    let mut statistics = search.statistics();
    let (violations, observations) = search.judge.findings();
    if stop == StopReason::Exhausted {
        let allowed = CHEAP_STATES + 4 * statistics.states;
        let budget = if options.count_histories { options.limits.states } else { allowed.min(options.limits.states) };
        statistics.histories = histories(subject, options, budget, watch).map(|histories| histories.len() as u64);
    }
    Report {
        program: subject.program().name.clone(),
        memory: options.memory,
        engine: Engine::Exhaustive,
        stop,
        violations,
        observations,
        final_states: search.final_states.into_iter().collect(),
        statistics,
    }
}

/// Every combination of thread histories, or nothing when there are infinitely many or it would take more states than
/// `budget`.
pub fn histories(subject: &Interpreter<'_>, options: &Options, budget: u64, watch: &dyn Watch) -> Option<Histories> {
    let limits = super::Limits { states: budget, ..options.limits };
    let options = Options { all_violations: true, limits, ..options.clone() };
    let mut search = Search::new(subject, &options, Some(Histories::default()));
    let stop = search.run(watch);
    (stop == StopReason::Exhausted).then(|| search.histories.take().expect("it was given"))
}

struct Search<'a> {
    subject: &'a Interpreter<'a>,
    machine: Machine<'a, Interpreter<'a>>,
    options: &'a Options,
    visited: Visited<IrThread>,
    judge: Judge<'a>,
    /// When asked for, states with different pasts are different states.
    histories: Option<Histories>,
    final_states: BTreeSet<FinalState>,
    executions: u64,
    steps: u64,
    depth: u64,
    /// A bound was met: what was found stands, but not everything was covered.
    incomplete: Option<StopReason>,
}

impl<'a> Search<'a> {
    fn new(subject: &'a Interpreter<'a>, options: &'a Options, histories: Option<Histories>) -> Search<'a> {
        Search {
            subject,
            machine: Machine::new(subject, options.rules),
            options,
            visited: Visited::new(),
            judge: Judge::new(subject, options.rules),
            histories,
            final_states: BTreeSet::new(),
            executions: 0,
            steps: 0,
            depth: 0,
            incomplete: None,
        }
    }

    fn statistics(&self) -> Statistics {
        let states = self.visited.len() as u64;
        Statistics { executions: self.executions, states, steps: self.steps, histories: None }
    }

    fn run(&mut self, watch: &dyn Watch) -> StopReason {
        let mut row = Vec::new();
        let start = self.machine.start();
        self.visited.row(&start, &[], None, &mut row);
        if self.histories.is_some() {
            row.extend(std::iter::repeat_n(0, start.threads.len()));
        }
        self.visited.insert(&row, 0, NO_STEP);
        let (mut next, mut layer_end) = (0, 1);
        while (next as usize) < self.visited.len() {
            if next == layer_end {
                self.depth += 1;
                layer_end = self.visited.len() as u32;
            }
            if let Some(stop) = self.limit_met().or_else(|| self.look(next, watch)) {
                return stop;
            }
            self.expand(next);
            if !self.options.all_violations && self.judge.has_violation() {
                return StopReason::Violation;
            }
            next += 1;
        }
        self.incomplete.take().unwrap_or(StopReason::Exhausted)
    }

    fn look(&self, next: u32, watch: &dyn Watch) -> Option<StopReason> {
        if !next.is_multiple_of(LOOK_EVERY) {
            return None;
        }
        let states = self.visited.len() as u64;
        watch.look(&Progress { states, waiting: states - u64::from(next), executions: self.executions })
    }

    fn limit_met(&self) -> Option<StopReason> {
        let limits = &self.options.limits;
        if self.executions >= limits.executions {
            Some(StopReason::ExecutionLimit)
        } else if self.visited.len() as u64 > limits.states || self.visited.is_full() {
            Some(StopReason::StateLimit)
        } else {
            None
        }
    }

    fn expand(&mut self, at: u32) {
        let row = self.visited.row_of(at).to_vec();
        let n_threads = if self.histories.is_some() { (row.len() - 1) / 2 } else { row.len() - 1 };
        let mut state = self.visited.state(&row, n_threads);
        let mut steps = Vec::new();
        self.machine.steps(&state, &mut steps);
        self.note_buffer_bound(&state);
        if self.histories.is_none() {
            self.judge.look_for_races(&state, || self.visited.path(at));
        }
        if steps.is_empty() {
            return self.end(&state, at, &row[1 + n_threads..]);
        }
        if self.depth >= self.options.limits.events {
            self.incomplete = Some(StopReason::EventLimit);
            return;
        }
        for step in steps {
            self.take(&mut state, at, &row, step);
        }
    }

    /// Takes one step from a state, notes what comes of it, and restores the state.
    fn take(&mut self, state: &mut State<IrThread>, at: u32, row: &[u32], step: Step) {
        self.steps += 1;
        let index = step.thread.index();
        let n_threads = state.threads.len();
        let (shared, thread) = (state.shared.clone(), state.threads[index].clone());
        let performed = self.machine.apply(state, step);
        if self.histories.is_none()
            && let Some(failure) = &performed.failure
        {
            self.judge.failed(&thread, step, failure, || {
                let mut path = self.visited.path(at);
                path.push(step);
                path
            });
        }
        let mut next = Vec::with_capacity(row.len() + 2);
        self.visited.row(state, &row[..=n_threads], Some(index), &mut next);
        if let Some(histories) = &mut self.histories {
            let first = next.len();
            next.extend_from_slice(&row[1 + n_threads..]);
            next.resize(first + state.threads.len(), 0);
            if !matches!(step.action, Action::Flush(_)) {
                next[first + index] = histories.extend(next[first + index], performed.history_entry());
            }
        }
        self.visited.insert(&next, at, step);
        state.shared = shared;
        state.threads.truncate(n_threads);
        state.threads[index] = thread;
    }

    /// Nothing can happen any more.
    fn end(&mut self, state: &State<IrThread>, at: u32, pasts: &[u32]) {
        let stuck = self.machine.stuck(state);
        if stuck == Stuck::Assumed {
            return;
        }
        self.executions += 1;
        if let Some(histories) = &mut self.histories {
            let keys = state.threads.iter().map(|thread| thread.key);
            return histories.insert(keys.zip(pasts.iter().copied()));
        }
        if stuck == Stuck::Finished {
            let final_state = FinalState::of(self.subject, state);
            self.judge.finished(&final_state, || self.visited.path(at));
            self.final_states.insert(final_state);
        } else {
            self.judge.stuck(state, &stuck, || self.visited.path(at));
        }
    }

    fn note_buffer_bound(&mut self, state: &State<IrThread>) {
        if self.incomplete.is_none()
            && let Some(thread) = state.threads.iter().find(|thread| self.machine.is_at_buffer_bound(thread))
        {
            let (store, around) = (self.subject.span(&thread.local), self.subject.loop_span(&thread.local));
            self.incomplete = Some(StopReason::BufferLimit { store, around });
        }
    }
}
