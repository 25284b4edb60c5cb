//! Thread histories: the sequence of a thread's operations with the values that they returned.
//!
//! Threads are deterministic, so the results alone tell the operations, and a history is a sequence of numbers: one per
//! operation performed. Histories share their beginnings and are stored as a tree.

use crate::base::ThreadKey;
use crate::execution::visited::Interner;
use crate::trace::Combination;
use std::collections::BTreeSet;

/// A set of combinations of thread histories.
pub struct Histories {
    /// Each node is its parent and the last result. Node 0 is the empty history.
    nodes: Interner<(u32, i64)>,
    combinations: BTreeSet<Vec<(ThreadKey, u32)>>,
}

impl Default for Histories {
    fn default() -> Self {
        let mut nodes = Interner::new();
        nodes.intern(&(u32::MAX, 0));
        Histories { nodes, combinations: BTreeSet::new() }
    }
}

impl Histories {
    /// The history that continues one with a result.
    pub fn extend(&mut self, history: u32, result: i64) -> u32 {
        self.nodes.intern(&(history, result))
    }

    /// Adds a combination, in any order of threads.
    pub fn insert(&mut self, combination: impl Iterator<Item = (ThreadKey, u32)>) {
        let mut combination: Vec<_> = combination.collect();
        combination.sort_unstable();
        self.combinations.insert(combination);
    }

    /// How many combinations there are.
    pub fn len(&self) -> usize {
        self.combinations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.combinations.is_empty()
    }

    /// The combinations, spelled out and sorted.
    pub fn combinations(&self) -> BTreeSet<Combination> {
        let spell = |combination: &Vec<(ThreadKey, u32)>| {
            combination.iter().map(|&(key, history)| (key, self.results(history))).collect()
        };
        self.combinations.iter().map(spell).collect()
    }

    fn results(&self, mut history: u32) -> Vec<i64> {
        let mut results = Vec::new();
        while history != 0 {
            let &(before, result) = self.nodes.get(history);
            results.push(result);
            history = before;
        }
        results.reverse();
        results
    }
}
