//! Livelock that is not a wait: states from which no end can be reached, however the threads are scheduled.
//!
//! A thread that only reads is noticed while it spins (`execution/spin.rs`). A loop that takes and gives back a lock, tries a lock, yields, or stores
//! changes something in every iteration and goes round in circles through different states. It is a livelock if none of the states that can be
//! reached is an end. Computed backwards from the ends, over all edges of the graph.

use crate::execution::visited::Visited;
use crate::execution::{Comparable, Status};
use crate::search::findings::Findings;
use std::cmp::Reverse;

/// The edges of a graph of states, and its ends.
#[derive(Default)]
pub(crate) struct Edges {
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
}

impl Edges {
    pub(crate) fn add(&mut self, from: u32, to: u32) {
        self.edges.push((from, to));
    }

    pub(crate) fn end(&mut self, at: u32) {
        self.ends.push(at);
    }

    /// A state from which no end can be reached is a livelock. One is enough, as those after it are the same one: the first in
    /// which as many threads as possible have ended, so that those that are left are the ones that go on. The rows of
    /// states end with `extra` numbers that are no threads.
    pub(crate) fn look_for_endless_runs<S: Comparable>(
        self,
        visited: &Visited<S::Thread>,
        extra: usize,
        findings: &mut Findings<'_, S>,
    ) {
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
    pub(crate) fn without_end(mut self, n_states: usize) -> impl Iterator<Item = u32> {
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
