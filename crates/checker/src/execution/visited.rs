//! The set of visited states, each stored once and small.
//!
//! A state is split into parts that many states share: what is shared, and each thread. Every part is stored once, and a
//! state is the row of its parts' numbers, followed by numbers that the search adds (collapse compression, as in SPIN). The hash table holds row numbers only. A state of two threads costs about 60 bytes, so ten million fit in
//! less than a gigabyte.

use super::{Shared, State, ThreadState};
use crate::base::paged::{Numbers, Paged, Rows};
use crate::base::{Action, Step};
use rustc_hash::FxBuildHasher;
use std::hash::{BuildHasher, Hash};

/// Values, each stored once and known by a number.
pub(crate) struct Interner<T> {
    items: Paged<T>,
    table: Numbers,
}

/// States, each known by a number, with the steps by which it was first reached.
pub(crate) struct Visited<T> {
    shared: Interner<Shared>,
    threads: Interner<ThreadState<T>>,
    rows: Rows,
    /// The state from which each was first reached, and where the steps to it end.
    origins: Paged<(u32, u32)>,
    steps: Paged<Step>,
    table: Numbers,
}

impl<T: Hash + Eq + Clone> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner { items: Paged::new(), table: Numbers::new() }
    }

    /// The value's number.
    pub(crate) fn intern(&mut self, item: &T) -> u32 {
        let hash = FxBuildHasher.hash_one(item);
        if let Some(at) = self.table.find(hash, |&at| self.items[at as usize] == *item) {
            return at;
        }
        let at = self.items.len() as u32;
        self.items.push(item.clone());
        self.table.insert(hash, at, |&at| FxBuildHasher.hash_one(&self.items[at as usize]));
        at
    }

    pub(crate) fn get(&self, at: u32) -> &T {
        &self.items[at as usize]
    }
}

impl<T: Hash + Eq + Clone> Visited<T> {
    pub(crate) fn new() -> Self {
        Visited {
            shared: Interner::new(),
            threads: Interner::new(),
            rows: Rows::new(),
            origins: Paged::new(),
            steps: Paged::new(),
            table: Numbers::new(),
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many parts they have together.
    pub(crate) fn n_parts(&self) -> usize {
        self.rows.n_numbers()
    }

    /// Whether there is no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.is_full() || self.steps.len() > (u32::MAX - 100_000) as usize
    }

    /// The number of what is shared.
    pub(crate) fn intern_shared(&mut self, shared: &Shared) -> u32 {
        self.shared.intern(shared)
    }

    /// The number of a thread.
    pub(crate) fn intern_thread(&mut self, thread: &ThreadState<T>) -> u32 {
        self.threads.intern(thread)
    }

    /// The thread with a number.
    pub(crate) fn thread(&self, number: u32) -> &ThreadState<T> {
        self.threads.get(number)
    }

    /// Whether a state is there.
    pub(crate) fn contains(&self, row: &[u32]) -> bool {
        let hash = FxBuildHasher.hash_one(row);
        self.table.find(hash, |&at| self.rows.get(at) == row).is_some()
    }

    /// Adds a state unless it is there. Gives its number.
    pub(crate) fn insert(&mut self, row: &[u32], from: u32, step: Step) -> u32 {
        self.insert_after(row, from, &[step])
    }

    /// Adds a state that is several steps away from another, unless it is there. Gives its number.
    pub(crate) fn insert_after(&mut self, row: &[u32], from: u32, steps: &[Step]) -> u32 {
        let hash = FxBuildHasher.hash_one(row);
        if let Some(at) = self.table.find(hash, |&at| self.rows.get(at) == row) {
            return at;
        }
        let at = self.rows.len() as u32;
        self.rows.push(row);
        steps.iter().for_each(|&step| self.steps.push(step));
        self.origins.push((from, self.steps.len() as u32));
        self.table.insert(hash, at, |&at| FxBuildHasher.hash_one(self.rows.get(at)));
        at
    }

    /// A state's row.
    pub(crate) fn row_of(&self, at: u32) -> &[u32] {
        self.rows.get(at)
    }

    /// The state whose row starts like this.
    pub(crate) fn state(&self, row: &[u32], n_threads: usize) -> State<T> {
        State {
            shared: self.shared.get(row[0]).clone(),
            threads: row[1..=n_threads].iter().map(|&number| self.threads.get(number).clone()).collect(),
        }
    }

    /// The steps by which a state was first reached.
    pub(crate) fn path(&self, mut at: u32) -> Vec<Step> {
        let mut steps = Vec::new();
        while at != 0 {
            let (from, end) = self.origins[at as usize];
            let start = self.origins[at as usize - 1].1;
            steps.extend((start as usize..end as usize).rev().map(|step| self.steps[step]));
            at = from;
        }
        steps.reverse();
        steps
    }
}

/// The origin of the first state.
pub(crate) const NO_STEP: Step = Step { thread: crate::base::ThreadId(0), action: Action::Run };
