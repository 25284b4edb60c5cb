//! Engine `exhaustive`: explicit-state search of the machine with a visited set. Slow and obviously right.
//!
//! Breadth first from the start, every step of every state, every state once. So the first schedule found to anything is
//! among the shortest. What it visits *is* the set of reachable states of the operational machine; there is no
//! reduction but the one for spinning threads (`execution/spin.rs`). What a thread can do next is remembered (`moves.rs`), which
//! changes nothing but the time. Every other engine is tested against it.

use super::endless::Edges;
use super::findings::Findings;
use super::histories::Histories;
use super::moves::{Move, Moves};
use super::visited::{NO_STEP, Visited};
use super::{Options, Watch};
use crate::execution::{Buffers, Interpreter, IrThread, Machine, State};
use crate::report::{Report, StopReason};
use crate::schedule::Action;

/// How often the watch is asked, in states.
const LOOK_EVERY: u32 = 4096;

/// Histories are counted unasked as long as that takes no more than this many states: a fraction of a second.
const CHEAP_STATES: u64 = 50_000;

/// Searches everything and reports.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let mut search = Search::new(subject, options, None);
    let stop = search.run(watch);
    let mut findings = search.findings;
    if stop == StopReason::Exhausted {
        let cheap = CHEAP_STATES.min(options.limits.states);
        let budget = if options.count_histories { options.limits.states } else { cheap };
        let histories = histories(subject, options, budget, watch);
        findings.statistics.histories = histories.map(|histories| histories.len() as u64);
    }
    findings.report(stop)
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
    machine: Machine<'a, Interpreter<'a>>,
    visited: Visited<IrThread>,
    moves: Moves,
    /// Room for the state that is being expanded, and for the next.
    row: Vec<u32>,
    next_row: Vec<u32>,
    findings: Findings<'a>,
    /// When asked for, states with different pasts are different states.
    histories: Option<Histories>,
    depth: u64,
    /// Which state leads to which, where threads can go round in circles.
    edges: Option<Edges>,
}

impl<'a> Search<'a> {
    fn new(subject: &'a Interpreter<'a>, options: &'a Options, histories: Option<Histories>) -> Search<'a> {
        let edges = (histories.is_none() && subject.has_cycles()).then(Edges::default);
        Search {
            machine: Machine::new(subject, options.rules),
            visited: Visited::new(),
            moves: Moves::default(),
            row: Vec::new(),
            next_row: Vec::new(),
            findings: Findings::new(subject, options),
            histories,
            depth: 0,
            edges,
        }
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
            if let Some(stop) = self.stop(next, watch) {
                return stop;
            }
            self.expand(next);
            next += 1;
        }
        self.findings.statistics.states = self.visited.len() as u64;
        if self.findings.incomplete.is_none()
            && let Some(edges) = self.edges.take()
        {
            edges.look_for_endless_runs(&self.visited, 0, &mut self.findings);
        }
        self.findings.exhausted()
    }

    fn stop(&mut self, next: u32, watch: &dyn Watch) -> Option<StopReason> {
        let states = self.visited.len() as u64;
        self.findings.statistics.states = states;
        if self.visited.is_full() {
            return Some(StopReason::StateLimit);
        }
        let look = || self.findings.look(states - u64::from(next), watch);
        self.findings.stop().or_else(|| if next.is_multiple_of(LOOK_EVERY) { look() } else { None })
    }

    fn expand(&mut self, at: u32) {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(self.visited.row_of(at));
        let n_threads = if self.histories.is_some() { (row.len() - 1) / 2 } else { row.len() - 1 };
        self.note_buffer_bound(&row[1..=n_threads]);
        if self.histories.is_none() && self.findings.judge.looks_at_states() {
            let state = self.visited.state(&row, n_threads);
            self.findings.judge.look_at(&state, || self.visited.path(at));
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
            if self.depth < self.findings.options.limits.events {
                moves.iter().for_each(|next| self.follow(at, &row, n_threads, next));
            } else if !is_end {
                self.findings.incomplete = Some(StopReason::EventLimit);
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
        self.findings.statistics.steps += 1;
        let index = next.step.thread.index();
        if self.histories.is_none()
            && let Some(failure) = &next.failure
        {
            let path = || [self.visited.path(at), vec![next.step]].concat();
            let thread = self.visited.thread(row[1 + index]);
            let span = self.findings.subject.span(&thread.local);
            self.findings.judge.failed(thread, span, next.step, failure, path);
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
        if self.findings.ended(&self.machine, state, || self.visited.path(at))
            && let Some(histories) = &mut self.histories
        {
            let keys = state.threads.iter().map(|thread| thread.key);
            histories.insert(keys.zip(pasts.iter().copied()));
        }
    }

    fn note_buffer_bound(&mut self, threads: &[u32]) {
        if self.findings.incomplete.is_none() && self.machine.rules.buffers != Buffers::None {
            let mut threads = threads.iter().map(|&thread| self.visited.thread(thread));
            if let Some(thread) = threads.find(|thread| self.machine.is_at_buffer_bound(thread)) {
                self.findings.met_buffer_bound(thread);
            }
        }
    }
}
