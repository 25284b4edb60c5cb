//! Engine `exhaustive`: explicit-state search of the machine with a visited set. Slow and obviously right.
//!
//! Breadth first from the start, every step of every state, every state once. So the first schedule found to anything is
//! among the shortest. What it visits *is* the set of reachable states of the operational machine; there is no
//! reduction but the one for spinning threads (`execution/spin.rs`). What a thread can do next is remembered (`moves.rs`), which
//! changes nothing but the time. Every other engine is tested against it.

use super::endless::Edges;
use super::histories::Histories;
use super::judge::Judge;
use super::moves::{Move, Moves};
use super::visited::{NO_STEP, Visited};
use super::{Engine, Options, Progress, Watch};
use crate::execution::{Buffers, Interpreter, IrThread, Machine, State, Status, Stuck};
use crate::report::{FinalState, Report, Statistics, StopReason};
use crate::schedule::Action;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How often the watch is asked, in states.
const LOOK_EVERY: u32 = 4096;

/// Histories are counted unasked as long as that takes no more than this many states: a fraction of a second.
const CHEAP_STATES: u64 = 50_000;

/// Searches everything and reports.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let mut search = Search::new(subject, options, None);
    let stop = search.run(watch);
    let mut statistics = search.statistics();
    let (violations, observations) = search.judge.findings();
    if stop == StopReason::Exhausted {
        let cheap = CHEAP_STATES.min(options.limits.states);
        let budget = if options.count_histories { options.limits.states } else { cheap };
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
    moves: Moves,
    /// Room for the state that is being expanded, and for the next.
    row: Vec<u32>,
    next_row: Vec<u32>,
    judge: Judge<'a>,
    /// When asked for, states with different pasts are different states.
    histories: Option<Histories>,
    final_states: BTreeSet<FinalState>,
    executions: u64,
    steps: u64,
    depth: u64,
    /// A bound was met: what was found stands, but not everything was covered.
    incomplete: Option<StopReason>,
    /// Which state leads to which, where threads can go round in circles.
    edges: Option<Edges>,
}

impl<'a> Search<'a> {
    fn new(subject: &'a Interpreter<'a>, options: &'a Options, histories: Option<Histories>) -> Search<'a> {
        let edges = (histories.is_none() && subject.has_cycles()).then(Edges::default);
        Search {
            subject,
            machine: Machine::new(subject, options.rules),
            options,
            visited: Visited::new(),
            moves: Moves::default(),
            row: Vec::new(),
            next_row: Vec::new(),
            judge: Judge::new(subject, options.rules),
            histories,
            final_states: BTreeSet::new(),
            executions: 0,
            steps: 0,
            depth: 0,
            incomplete: None,
            edges,
        }
    }

    fn statistics(&self) -> Statistics {
        let states = self.visited.len() as u64;
        Statistics { executions: self.executions, states, steps: self.steps, ..Statistics::default() }
    }

    fn run(&mut self, watch: &dyn Watch) -> StopReason {
        let start = self.machine.start();
        let mut row = vec![self.visited.intern_shared(&start.shared)];
        row.extend(start.threads.iter().map(|thread| self.visited.intern_thread(thread)));
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
        if let Some(stop) = self.incomplete.take() {
            return stop;
        }
        self.look_for_endless_runs();
        match self.judge.has_violation() && !self.options.all_violations {
            true => StopReason::Violation,
            false => StopReason::Exhausted,
        }
    }

    /// A state from which no end can be reached is a livelock. One is enough, as those after it are the same one: the first in
    /// which as many threads as possible have ended, so that those that are left are the ones that go on.
    fn look_for_endless_runs(&mut self) {
        let Some(edges) = self.edges.take() else { return };
        let n_ended = |&at: &u32| {
            let threads = self.visited.row_of(at)[1..].iter().map(|&thread| self.visited.thread(thread));
            threads.filter(|thread| thread.status == Status::Ended).count()
        };
        let Some(at) = edges.without_end(self.visited.len()).min_by_key(|at| (Reverse(n_ended(at)), *at)) else {
            return;
        };
        let row = self.visited.row_of(at);
        let state = self.visited.state(row, row.len() - 1);
        self.judge.endless(&state, || self.visited.path(at));
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
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(self.visited.row_of(at));
        let n_threads = if self.histories.is_some() { (row.len() - 1) / 2 } else { row.len() - 1 };
        self.note_buffer_bound(&row[1..=n_threads]);
        if self.histories.is_none() && self.judge.looks_for_races() {
            let state = self.visited.state(&row, n_threads);
            self.judge.look_for_races(&state, || self.visited.path(at));
        }
        let mut state = None;
        let mut is_end = true;
        for index in 0..n_threads {
            let key = (row[0], row[1 + index], index as u16);
            let moves = self.moves.get(key).unwrap_or_else(|| {
                let state = state.get_or_insert_with(|| self.visited.state(&row, n_threads));
                self.moves.find(key, &self.machine, state, &mut self.visited)
            });
            is_end &= moves.is_empty();
            if self.depth < self.options.limits.events {
                moves.iter().for_each(|next| self.follow(at, &row, n_threads, next));
            } else if !is_end {
                self.incomplete = Some(StopReason::EventLimit);
            }
        }
        if is_end {
            if let Some(edges) = &mut self.edges {
                edges.end(at);
            }
            let state = self.visited.state(&row, n_threads);
            self.end(&state, at, &row[1 + n_threads..]);
        }
        self.row = row;
    }

    /// Goes from a state to the next.
    fn follow(&mut self, at: u32, row: &[u32], n_threads: usize, next: &Move) {
        self.steps += 1;
        let index = next.step.thread.index();
        if self.histories.is_none()
            && let Some(failure) = &next.failure
        {
            let path = || [self.visited.path(at), vec![next.step]].concat();
            self.judge.failed(self.visited.thread(row[1 + index]), next.step, failure, path);
        }
        let mut to = std::mem::take(&mut self.next_row);
        to.clear();
        to.extend_from_slice(&row[..=n_threads]);
        to[0] = next.shared;
        to[1 + index] = next.thread;
        to.extend(next.forked);
        if let Some(histories) = &mut self.histories {
            let first = to.len();
            to.extend_from_slice(&row[1 + n_threads..]);
            to.extend(next.forked.map(|_| 0));
            if !matches!(next.step.action, Action::Flush(_)) {
                to[first + index] = histories.extend(to[first + index], next.history_entry);
            }
        }
        let reached = self.visited.insert(&to, at, next.step);
        if let Some(edges) = &mut self.edges {
            edges.add(at, reached);
        }
        self.next_row = to;
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

    fn note_buffer_bound(&mut self, threads: &[u32]) {
        if self.incomplete.is_none() && self.options.rules.buffers != Buffers::None {
            let mut threads = threads.iter().map(|&thread| self.visited.thread(thread));
            let bound = threads.find(|thread| self.machine.is_at_buffer_bound(thread));
            self.incomplete = bound.map(|thread| StopReason::BufferLimit {
                store: self.subject.span(&thread.local),
                around: self.subject.loop_span(&thread.local),
            });
        }
    }
}
