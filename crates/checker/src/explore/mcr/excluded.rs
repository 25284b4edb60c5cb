//! Which of the executions seen a question has been told of.
//!
//! Executions are a product of histories, and most of them part from a run in the same way. Where a history parts from it is
//! looked up once, and each way of parting is told once.

use super::pool::Seen;
use crate::causality::{Causality, Parting, Thread};
use crate::solver::Lit;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub(super) struct Excluded {
    /// So many executions have been looked at.
    pub(super) n_seen: usize,
    /// By the number of the history.
    parting: FxHashMap<u32, Parting>,
    partings: FxHashSet<Vec<Parting>>,
    told: FxHashSet<Vec<Lit>>,
}

impl Excluded {
    /// A clause that excludes the beginnings of an execution; nothing if it has been told before.
    pub(super) fn clause(&mut self, causality: &Causality, seen: &Seen) -> Option<Vec<Lit>> {
        let partings = self.partings(causality, seen);
        if self.partings.contains(&partings) {
            return None;
        }
        let clause = causality.not_covered_by(&partings);
        self.partings.insert(partings);
        self.told.insert(clause.clone()).then_some(clause)
    }

    /// How an execution parts from the run, thread by thread.
    fn partings(&mut self, causality: &Causality, seen: &Seen) -> Vec<Parting> {
        let parting = |thread: &Thread| match seen.history(thread.key) {
            None => causality.parting(thread, &[]),
            Some(history) => {
                let find = || causality.parting(thread, &history.results);
                *self.parting.entry(history.number).or_insert_with(find)
            }
        };
        causality.threads.iter().map(parting).collect()
    }
}
