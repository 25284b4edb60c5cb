//! Livelock that is not a wait: states from which no end can be reached, however the threads are scheduled.
//!
//! A thread that only reads is noticed while it spins (`execution/spin.rs`). A loop that takes and gives back a lock, tries a lock, yields, or stores
//! changes something in every iteration and goes round in circles through different states. It is a livelock if none of the states that can be
//! reached is an end. Computed backwards from the ends, over all edges of the graph.

use super::findings::Findings;
use super::visited::Visited;
use crate::execution::{Interpreter, IrThread, Machine, State, Status};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;

/// The edges of a graph of states, and its ends.
#[derive(Default)]
pub(super) struct Edges {
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

impl Edges {
    pub(super) fn add(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    pub(super) fn end(&mut self, at: u32) {
        self.ends.push(at);
    }

    /// A state from which no end can be reached is a livelock. One is enough, as those after it are the same one: the first in
    /// which as many threads as possible have ended, so that those that are left are the ones that go on. The rows of
    /// states end with `extra` numbers that are no threads.
    pub(super) fn look_for_endless_runs(self, visited: &Visited<IrThread>, extra: usize, findings: &mut Findings<'_>) {
        let threads = |at: u32| visited.row_of(at).len() - 1 - extra;
        let n_ended = |&at: &u32| {
            let threads = visited.row_of(at)[1..=threads(at)].iter().map(|&thread| visited.thread(thread));
            threads.filter(|thread| thread.status == Status::Ended).count()
        };
        if let Some(at) = self.without_end(visited.len()).min_by_key(|at| (Reverse(n_ended(at)), *at)) {
            let state = visited.state(visited.row_of(at), threads(at));
            findings.judge.endless(&state, || visited.path(at));
        }
    }

    /// The states from which no end can be reached.
    pub(super) fn without_end(mut self, n_states: usize) -> impl Iterator<Item = u32> {
        self.edges.sort_unstable_by_key(|edge| edge.1);
        let mut has_end = vec![false; n_states];
        let mut work = self.ends;
        for &end in &work {
            has_end[end as usize] = true;
        }
        while let Some(to) = work.pop() {
            let first = self.edges.partition_point(|edge| edge.1 < to);
            for &(from, _) in self.edges[first..].iter().take_while(|edge| edge.1 == to) {
                if !std::mem::replace(&mut has_end[from as usize], true) {
                    work.push(from);
                }
            }
        }
        (0..n_states as u32).filter(move |&at| !has_end[at as usize])
    }
}

/// Whether no end can be reached from a state, as far as a number of states tells.
pub(super) fn never_ends(machine: &Machine<'_, Interpreter<'_>>, state: &State<IrThread>, most_states: usize) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![state.clone()];
    seen.insert(state.clone());
    let mut steps = Vec::new();
    while let Some(state) = work.pop() {
        steps.clear();
        machine.steps(&state, &mut steps);
        if steps.is_empty() || seen.len() > most_states {
            return false;
        }
        for &step in &steps {
            let mut next = state.clone();
            machine.apply(&mut next, step);
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
    }
    true
}
