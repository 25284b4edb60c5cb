//! The cheapest executions, cheapest first: Dijkstra's algorithm over states of the machine, each with the thread that runs.

use super::price::Context;
use super::same;
use crate::base::{Failure, Schedule, Step};
use crate::execution::visited::{NO_STEP, Visited};
use crate::execution::{Comparable, Machine, Rules, State, Stuck};
use crate::search::judge::Judge;
use crate::search::{Violation, Watch};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// States that are looked at: a fraction of a second.
const MOST_STATES: usize = 60_000;

/// For each violation the cheapest schedule to it, or nothing if it was not come across.
pub(super) fn simplest<S: Comparable>(
    subject: &S,
    rules: Rules,
    wanted: &[Violation],
    watch: &dyn Watch,
) -> Vec<Option<Schedule>> {
    let rules = rules.unbounded();
    let mut search = Cheapest {
        machine: Machine::new(subject, rules),
        judge: Judge::new(subject, rules),
        visited: Visited::new(),
        waiting: BinaryHeap::new(),
        reached: Vec::new(),
        row: Vec::new(),
    };
    search.start();
    let mut found = vec![None; wanted.len()];
    let mut n_looked_at = 0;
    while search.visited.len() < MOST_STATES && found.iter().any(Option::is_none) {
        let Some(Reverse(next)) = search.waiting.pop().filter(|_| watch.stop().is_none()) else { break };
        search.settle(next);
        for shown in search.judge.found().skip(n_looked_at) {
            n_looked_at += 1;
            for (wanted, found) in wanted.iter().zip(&mut found) {
                if found.is_none() && same(wanted, shown) {
                    *found = Some(shown.schedule.clone());
                }
            }
        }
    }
    found
}

struct Cheapest<'a, S: Comparable> {
    machine: Machine<'a, S>,
    judge: Judge<'a, S>,
    /// States whose cheapest execution is known.
    visited: Visited<S::Thread>,
    waiting: BinaryHeap<Reverse<Next>>,
    /// What waits, or has waited, by number.
    reached: Vec<Reached>,
    /// Room for a row.
    row: Vec<u32>,
}

/// What waits. The fields say which comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    cost: u32,
    length: u32,
    number: usize,
}

/// A state that a step leads to.
struct Reached {
    from: u32,
    step: Step,
    row: Vec<u32>,
    context: Context,
    failure: Option<Failure>,
}

/// The row of a state ends with these: the thread that runs, and whether its store is fresh.
const EXTRA: usize = 1;

impl<S: Comparable> Cheapest<'_, S> {
    fn start(&mut self) {
        let start = self.machine.start();
        let mut row = vec![self.visited.intern_shared(&start.shared)];
        row.extend(start.threads.iter().map(|thread| self.visited.intern_thread(thread)));
        row.push(number(Context::default()));
        self.visited.insert(&row, 0, NO_STEP);
        self.expand(0, Context::default(), 0, 0);
    }

    /// This is the cheapest way to a state, unless it is known already.
    fn settle(&mut self, Next { cost, length, number }: Next) {
        let visited = &self.visited;
        let next = &mut self.reached[number];
        let (row, failure) = (std::mem::take(&mut next.row), next.failure.take());
        let Reached { from, step, context, .. } = *next;
        if let Some(failure) = failure {
            let thread = visited.thread(visited.row_of(from)[1 + step.thread.index()]);
            let path = || [visited.path(from), vec![step]].concat();
            self.judge.failed(thread, self.machine.subject.span(&thread.local), step, &failure, path);
        }
        let n_known = self.visited.len();
        let at = self.visited.insert(&row, from, step);
        if at as usize == n_known {
            self.expand(at, context, cost, length);
        }
    }

    fn expand(&mut self, at: u32, context: Context, cost: u32, length: u32) {
        let row = self.visited.row_of(at).to_vec();
        let state = self.visited.state(&row, row.len() - 1 - EXTRA);
        self.judge.look_at(&state, || self.visited.path(at));
        let mut steps = Vec::new();
        self.machine.steps(&state, &mut steps);
        if steps.is_empty() {
            self.end(&state, at);
        }
        for step in steps {
            let cost = cost + context.price(&self.machine, &state, step);
            self.take(&state, at, &row, step, context, (cost, length + 1));
        }
    }

    fn take(
        &mut self,
        state: &State<S::Thread>,
        from: u32,
        row: &[u32],
        step: Step,
        context: Context,
        (cost, length): (u32, u32),
    ) {
        let index = step.thread.index();
        let mut next = state.clone();
        let waiting = state.threads[index].buffer.entries().len();
        let performed = self.machine.apply(&mut next, step);
        let context = context.after(step, waiting, &performed);
        let mut next_row = std::mem::take(&mut self.row);
        next_row.clear();
        next_row.extend_from_slice(&row[..row.len() - EXTRA]);
        next_row[0] = self.visited.intern_shared(&next.shared);
        next_row[1 + index] = self.visited.intern_thread(&next.threads[index]);
        next_row.extend(next.threads[state.threads.len()..].iter().map(|forked| self.visited.intern_thread(forked)));
        next_row.push(number(context));
        // What is known was not more expensive.
        if performed.failure.is_some() || !self.visited.contains(&next_row) {
            self.waiting.push(Reverse(Next { cost, length, number: self.reached.len() }));
            let (row, failure) = (next_row.clone(), performed.failure);
            self.reached.push(Reached { from, step, row, context, failure });
        }
        self.row = next_row;
    }

    fn end(&mut self, state: &State<S::Thread>, at: u32) {
        match self.machine.stuck(state) {
            Stuck::Finished => {
                let values = self.machine.subject.final_state(state);
                self.judge.finished(&values, || self.visited.path(at));
            }
            stuck => self.judge.stuck(state, &stuck, || self.visited.path(at)),
        }
    }
}

fn number(context: Context) -> u32 {
    let running = context.running.map_or(0, |thread| u32::from(thread.0) + 1);
    running << 1 | u32::from(context.fresh)
}
