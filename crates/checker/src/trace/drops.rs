//! Whether a run shows that objects are dropped after their last use.
//!
//! Engines that learn from runs do not see drops. They need not see them where the order of each use and the drop is the same in every execution with these histories: it follows from the order within
//! threads, from forks and joins, and from counted references, as the thread that gives back the last one comes after all others. A run in which a drop and a use are
//! not ordered so is left to engines that reverse them.

use super::{Run, RunEvent};
use crate::base::{Loc, ThreadKey};
use crate::execution::Count;
use rustc_hash::FxHashMap;

/// Says so if some drop of a run is not ordered after all uses by other threads.
pub(crate) fn unordered_drop<T>(run: &Run<T>) -> Option<String> {
    let mut events = run.threads.iter().flat_map(|thread| &thread.events);
    let has_drops = events.any(|event| !event.dropped.is_empty());
    let is_unordered = has_drops && !Clocks::new(run).are_ordered(run);
    is_unordered.then(|| "an object is dropped, and neither joins nor references order that with its uses".to_string())
}

/// For each thread, how many events of each thread come before its next one.
struct Clocks {
    keys: FxHashMap<ThreadKey, usize>,
    threads: Vec<Vec<usize>>,
    /// For each count of references, what comes before those that have been given back.
    given_back: FxHashMap<Loc, Vec<usize>>,
    /// When each count was last changed.
    last: FxHashMap<Loc, u32>,
    /// For objects and threads, the number of events up to the last use.
    uses: FxHashMap<Loc, Vec<usize>>,
}

impl Clocks {
    fn new<T>(run: &Run<T>) -> Clocks {
        let n_threads = run.threads.len();
        let mut clocks = Clocks {
            keys: run.threads.iter().enumerate().map(|(at, thread)| (thread.key, at)).collect(),
            threads: vec![vec![0; n_threads]; n_threads],
            given_back: FxHashMap::default(),
            last: FxHashMap::default(),
            uses: FxHashMap::default(),
        };
        for (thread, of) in run.threads.iter().enumerate() {
            for (at, event) in of.events.iter().chain(&of.pending).enumerate() {
                for object in event.operation.uses().chain(event.part_of).chain(event.through.iter().copied()) {
                    clocks.uses.entry(object).or_insert_with(|| vec![0; n_threads])[thread] = at + 1;
                }
                if let Some(count) = event.operation.count() {
                    let last = clocks.last.entry(count.loc).or_default();
                    *last = event.at.max(*last);
                }
            }
        }
        clocks
    }

    fn are_ordered<T>(mut self, run: &Run<T>) -> bool {
        let of = |(thread, of): (usize, &super::RunThread<T>)| {
            (0..of.events.len()).map(|at| (of.events[at].at, thread, at)).collect::<Vec<_>>()
        };
        let mut events: Vec<(u32, usize, usize)> = run.threads.iter().enumerate().flat_map(of).collect();
        events.sort_unstable();
        events.into_iter().all(|(_, thread, at)| {
            let event = &run.threads[thread].events[at];
            self.threads[thread][thread] = at + 1;
            self.follow(thread, event);
            event.dropped.iter().all(|dropped| self.is_last_use_before(thread, dropped.object))
        })
    }

    fn follow<T>(&mut self, thread: usize, event: &RunEvent<T>) {
        let index = |key: ThreadKey| self.keys.get(&key).copied();
        if let Some(child) = event.operation.forked().and_then(index) {
            join(&self.threads[thread].clone(), &mut self.threads[child]);
        } else if let Some(joined) = event.operation.joined().and_then(index) {
            join(&self.threads[joined].clone(), &mut self.threads[thread]);
        } else if let Some(Count { loc, by: -1, .. }) = event.operation.count() {
            let n_threads = self.threads.len();
            let given_back = self.given_back.entry(loc).or_insert_with(|| vec![0; n_threads]);
            join(&self.threads[thread], given_back);
            if self.last[&loc] == event.at {
                join(given_back, &mut self.threads[thread]);
            }
        }
    }

    fn is_last_use_before(&self, thread: usize, object: Loc) -> bool {
        let Some(uses) = self.uses.get(&object) else { return true };
        let known = &self.threads[thread];
        (0..uses.len()).all(|other| other == thread || uses[other] <= known[other])
    }
}

fn join(from: &[usize], into: &mut [usize]) {
    for (known, more) in into.iter_mut().zip(from) {
        *known = (*known).max(*more);
    }
}
