//! Engine `exhaustive`: explicit-state search of the machine with a visited set. Slow and obviously right.
//!
//! Breadth first from the start, every step of every state, every state once. So the first schedule found to anything is
//! among the shortest. What it visits *is* the set of reachable states of the operational machine; there is no
//! reduction but the one for spinning threads (`execution/spin.rs`). What a thread can do next is remembered (`moves.rs`), which
//! changes nothing but the time. Every other engine is tested against it.
//!
//! `auto` asks for fewer states (`Options::reduced`): then steps that concern nobody else go first (`alone.rs`), states between them are not stored, and threads that only read are looked at one
//! at a time (`spectators.rs`). That, too, is tested against the search of all states.

use super::alone::Alone;
use super::endless::Edges;
use super::histories::Histories;
use super::moves::{Move, Moves};
use super::spectators;
use crate::base::{Action, Step};
use crate::execution::visited::{NO_STEP, Visited};
use crate::execution::{Comparable, Machine, State};
use crate::search::findings::Findings;
use crate::search::{Options, Report, Statistics, StopReason, Watch};
use std::rc::Rc;

/// How often the watch is asked, in states.
const LOOK_EVERY: u32 = 4096;

/// So many steps that go first are taken from one state to the next that is stored: a thread may go on alone for ever.
const LONGEST_WAY: usize = 128;

/// Histories are counted unasked as long as that takes no more than this many states: a fraction of a second. After a search that leaves out what shows nothing new, which is for
/// those who have no time, they are not.
const CHEAP_STATES: u64 = 50_000;

/// Searches everything and reports.
pub fn check<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    check_within(usize::MAX, subject, options, watch).expect("no search meets this bound")
}

/// Searches everything and reports, unless states have more parts together than this: then nothing is found out.
pub(crate) fn check_within<S: Comparable>(
    most_parts: usize,
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
) -> Option<Report> {
    let (mut findings, stop) = find(most_parts, subject, options, watch)?;
    if stop == StopReason::Exhausted {
        let budget = match options.count_histories {
            true => options.limits.states,
            false if options.reduced => 0,
            false => CHEAP_STATES.min(options.limits.states),
        };
        if budget > 0 {
            let histories = histories_within(most_parts, subject, options, budget, watch)?;
            findings.statistics.histories = histories.map(|histories| histories.len() as u64);
        }
    }
    Some(findings.report(stop))
}

/// One search, or one for each thread that only reads. Nothing if the bound was met.
fn find<'a, S: Comparable>(
    most_parts: usize,
    subject: &'a S,
    options: &'a Options,
    watch: &dyn Watch,
) -> Option<(Findings<'a, S>, StopReason)> {
    let is_apart = options.reduced && !options.all_violations && !options.count_histories;
    let mut searches = if is_apart { spectators::searches(subject.code()) } else { vec![vec![]] };
    let mut before = Statistics::default();
    let mut left = most_parts;
    loop {
        let alone = Alone::new(subject, options, searches.pop().unwrap_or_default());
        let is_last = searches.is_empty() || alone.is_none();
        let mut search = Exhaustive::new(subject, options, watch, alone, None);
        search.most_parts = left;
        let stop = search.run();
        if search.met_bound {
            return None;
        }
        left = left.saturating_sub(search.visited.n_parts());
        let statistics = &mut search.findings.statistics;
        statistics.states += before.states;
        statistics.steps += before.steps;
        if is_last || stop != StopReason::Exhausted {
            return Some((search.findings, stop));
        }
        before = *statistics;
    }
}

/// Every combination of thread histories, or nothing when there are infinitely many or it would take more states than
/// `budget`.
pub fn histories<S: Comparable>(subject: &S, options: &Options, budget: u64, watch: &dyn Watch) -> Option<Histories> {
    histories_within(usize::MAX, subject, options, budget, watch).flatten()
}

/// As [`histories`], or nothing at all if the bound was met.
fn histories_within<S: Comparable>(
    most_parts: usize,
    subject: &S,
    options: &Options,
    budget: u64,
    watch: &dyn Watch,
) -> Option<Option<Histories>> {
    let limits = crate::search::Limits { states: budget, ..options.limits };
    let options = Options { all_violations: true, limits, ..options.clone() };
    let alone = Alone::new(subject, &options, vec![]);
    let mut search = Exhaustive::new(subject, &options, watch, alone, Some(Histories::default()));
    search.most_parts = most_parts;
    let stop = search.run();
    (!search.met_bound).then(|| (stop == StopReason::Exhausted).then(|| search.histories.take().expect("it was given")))
}

/// A row as a state, once somebody needs that.
type Spelled<T> = Option<State<T>>;

struct Exhaustive<'a, 'w, S: Comparable> {
    watch: &'w dyn Watch,
    machine: Machine<'a, S>,
    visited: Visited<S::Thread>,
    moves: Moves,
    /// Lets steps go first that concern nobody else.
    alone: Option<Alone<'a, S>>,
    /// Room for the state that is being expanded, for the next, and for the steps from one to the other.
    row: Vec<u32>,
    next_row: Vec<u32>,
    steps: Vec<Step>,
    findings: Findings<'a, S>,
    /// When asked for, states with different pasts are different states.
    histories: Option<Histories>,
    depth: u64,
    /// Which state leads to which, where threads can go round in circles.
    edges: Option<Edges>,
    /// The search ends when the states have more parts than this, and then that is why.
    most_parts: usize,
    met_bound: bool,
}

impl<'a, 'w, S: Comparable> Exhaustive<'a, 'w, S> {
    fn new(
        subject: &'a S,
        options: &'a Options,
        watch: &'w dyn Watch,
        alone: Option<Alone<'a, S>>,
        histories: Option<Histories>,
    ) -> Exhaustive<'a, 'w, S> {
        let edges = (histories.is_none() && subject.has_cycles()).then(Edges::default);
        Exhaustive {
            watch,
            machine: Machine::new(subject, options.rules),
            visited: Visited::new(),
            moves: Moves::default(),
            alone,
            row: Vec::new(),
            next_row: Vec::new(),
            steps: Vec::new(),
            findings: Findings::new(subject, options),
            histories,
            depth: 0,
            edges,
            most_parts: usize::MAX,
            met_bound: false,
        }
    }

    fn run(&mut self) -> StopReason {
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
            if let Some(stop) = self.stop(next) {
                return stop;
            }
            self.expand(next);
            next += 1;
        }
        self.findings.statistics.states = self.visited.len() as u64;
        if let Some(stop) = self.watch.stop() {
            // The last state may not have been looked at to its end.
            return stop;
        }
        if self.findings.incomplete.is_none()
            && let Some(edges) = self.edges.take()
        {
            edges.look_for_endless_runs(&self.visited, 0, &mut self.findings);
        }
        self.findings.exhausted()
    }

    fn stop(&mut self, next: u32) -> Option<StopReason> {
        let states = self.visited.len() as u64;
        self.findings.statistics.states = states;
        if let Some(stop) = self.findings.stop() {
            return Some(stop);
        }
        self.met_bound = self.visited.n_parts() > self.most_parts;
        if self.met_bound || self.visited.is_full() {
            return Some(StopReason::StateLimit);
        }
        self.findings.look(next.is_multiple_of(LOOK_EVERY), states - u64::from(next), self.watch)
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
        if !self.expand_threads(at, &row, n_threads) {
            if let Some(edges) = &mut self.edges {
                edges.end(at);
            }
            let state = self.visited.state(&row, n_threads);
            self.end(&state, at, &row[1 + n_threads..]);
        }
        self.row = row;
    }

    /// Takes all steps from a state, or enough of them. Says whether there are any.
    fn expand_threads(&mut self, at: u32, row: &[u32], n_threads: usize) -> bool {
        let first = self.alone.as_mut().and_then(|alone| alone.first(&row[1..=n_threads], &self.visited));
        let mut state = None;
        let watch = self.watch;
        if let Some(first) = first {
            let moves = self.moves_of(row, n_threads, first.thread, &mut state);
            let moves = moves.iter().filter(|next| first.includes(next.step.action));
            // There may be as many ways on from where each of them leads.
            let moves = moves.take_while(|_| watch.stop().is_none());
            moves.for_each(|next| self.follow(at, row, n_threads, next));
            return true;
        }
        let is_left_out =
            |search: &Exhaustive<'_, '_, S>, index| search.alone.as_ref().is_some_and(|alone| alone.leaves_out(index));
        let mut has_moves = false;
        for index in 0..n_threads {
            if !is_left_out(self, index) {
                has_moves |= self.expand_thread(at, row, n_threads, index, &mut state);
            }
        }
        has_moves
            || (0..n_threads)
                .any(|index| is_left_out(self, index) && self.expand_thread(at, row, n_threads, index, &mut state))
    }

    /// Takes all steps of a thread. Says whether there are any.
    fn expand_thread(
        &mut self,
        at: u32,
        row: &[u32],
        n_threads: usize,
        index: usize,
        state: &mut Spelled<S::Thread>,
    ) -> bool {
        let moves = self.moves_of(row, n_threads, index, state);
        if self.depth < self.findings.options.limits.events {
            let watch = self.watch;
            let moves = moves.iter().take_while(|_| watch.stop().is_none());
            moves.for_each(|next| self.follow(at, row, n_threads, next));
        } else if !moves.is_empty() {
            self.findings.incomplete = Some(StopReason::EventLimit);
        }
        !moves.is_empty()
    }

    fn moves_of(&mut self, row: &[u32], n_threads: usize, index: usize, state: &mut Spelled<S::Thread>) -> Rc<[Move]> {
        let key = (row[0], row[1 + index], index as u16);
        self.moves.get(key).unwrap_or_else(|| {
            let state = state.get_or_insert_with(|| self.visited.state(row, n_threads));
            self.moves.find(key, &self.machine, state, &mut self.visited, self.watch)
        })
    }

    /// Goes from a state to the next, and on from there as long as a step goes first and is the only one.
    fn follow(&mut self, at: u32, row: &[u32], n_threads: usize, next: &Move) {
        let mut to = std::mem::take(&mut self.next_row);
        to.clear();
        to.extend_from_slice(row);
        self.steps.clear();
        let mut n_threads = self.take(at, &mut to, n_threads, next);
        while let Some(alone) = self.alone.as_mut().filter(|_| self.steps.len() < LONGEST_WAY) {
            let Some(first) = alone.first(&to[1..=n_threads], &self.visited) else { break };
            let moves = self.moves_of(&to, n_threads, first.thread, &mut None);
            let mut moves = moves.iter().filter(|next| first.includes(next.step.action));
            let (Some(next), None) = (moves.next(), moves.next()) else { break };
            n_threads = self.take(at, &mut to, n_threads, next);
        }
        let reached = self.visited.insert_after(&to, at, &self.steps);
        if let Some(edges) = &mut self.edges {
            edges.add(at, reached);
        }
        self.next_row = to;
    }

    /// Takes a step of a thread in a row, some steps after a state. Gives the number of threads.
    fn take(&mut self, at: u32, row: &mut Vec<u32>, n_threads: usize, next: &Move) -> usize {
        self.findings.statistics.steps += 1;
        self.steps.push(next.step);
        let index = next.step.thread.index();
        if self.histories.is_none()
            && let Some(failure) = &next.failure
        {
            let path = || [&self.visited.path(at)[..], &self.steps].concat();
            let thread = self.visited.thread(row[1 + index]);
            let span = self.findings.subject.span(&thread.local);
            self.findings.judge.failed(thread, span, next.step, failure, path);
        }
        row[0] = next.shared;
        row[1 + index] = next.thread;
        if let Some(forked) = next.forked {
            row.insert(1 + n_threads, forked);
        }
        let n_threads = n_threads + usize::from(next.forked.is_some());
        if let Some(histories) = &mut self.histories {
            row.extend(next.forked.map(|_| 0));
            let past = &mut row[1 + n_threads + index];
            if !matches!(next.step.action, Action::Flush(_)) {
                *past = histories.extend(*past, next.history_entry);
            }
        }
        n_threads
    }

    /// Nothing can happen any more.
    fn end(&mut self, state: &State<S::Thread>, at: u32, pasts: &[u32]) {
        if self.findings.ended(&self.machine, state, || self.visited.path(at))
            && let Some(histories) = &mut self.histories
        {
            let keys = state.threads.iter().map(|thread| thread.key);
            histories.insert(keys.zip(pasts.iter().copied()));
        }
    }

    fn note_buffer_bound(&mut self, threads: &[u32]) {
        if self.findings.incomplete.is_none() && self.machine.rules.delays_stores() {
            let mut threads = threads.iter().map(|&thread| self.visited.thread(thread));
            if let Some(thread) = threads.find(|thread| self.machine.is_at_buffer_bound(thread)) {
                self.findings.met_buffer_bound(thread);
            }
        }
    }
}
