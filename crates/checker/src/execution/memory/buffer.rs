//! A thread's store buffer.
//!
//! Stores are kept in program order, whatever the memory model; the model decides which of them may go to memory next. A
//! store-store barrier is a mark on the first store after it. Marks that no longer hold anything back are dropped at
//! once, so that equal buffers are equal values.

use super::{Buffers, Forwarding, Rules};
use crate::base::Loc;
use crate::program::Access;

/// Stores of one thread that have not reached memory, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Buffer {
    entries: Vec<Entry>,
    /// A barrier stands after the last entry.
    closed: bool,
}

/// A waiting store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The cell.
    pub loc: Loc,
    /// The value.
    pub value: i64,
    /// How the store's cell is meant to be used.
    pub access: Access,
    /// All earlier entries go first.
    after_barrier: bool,
}

impl Buffer {
    /// The waiting stores, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a store.
    pub fn push(&mut self, loc: Loc, value: i64, access: Access) {
        self.entries.push(Entry { loc, value, access, after_barrier: self.closed });
        self.closed = false;
    }

    /// Makes later stores wait for all that wait now.
    pub fn barrier(&mut self) {
        self.closed = !self.entries.is_empty();
    }

    /// Positions of the stores that may go to memory next.
    pub fn flushable(&self, rules: &Rules) -> impl Iterator<Item = usize> {
        let free = match rules.buffers {
            Buffers::None | Buffers::Fifo => self.entries.len().min(1),
            Buffers::PerLocation => {
                let held_back = self.entries.iter().skip(1).position(|entry| entry.after_barrier);
                held_back.map_or(self.entries.len(), |position| position + 1)
            }
        };
        (0..free).filter(move |&at| {
            let loc = self.entries[at].loc;
            !rules.same_location_order || self.entries[..at].iter().all(|earlier| earlier.loc != loc)
        })
    }

    /// Takes the store at a position out.
    pub fn flush(&mut self, at: usize) -> Entry {
        let entry = self.entries.remove(at);
        if let Some(first) = self.entries.first_mut() {
            first.after_barrier = false;
        } else {
            self.closed = false;
        }
        entry
    }

    /// What a load of the location sees here, if anything.
    pub fn forward(&self, loc: Loc, forwarding: Forwarding) -> Option<i64> {
        let mut own = self.entries.iter().filter(|entry| entry.loc == loc);
        let seen = match forwarding {
            Forwarding::Newest => own.next_back(),
            Forwarding::Oldest => own.next(),
            Forwarding::Stale | Forwarding::Blocked => None,
        };
        seen.map(|entry| entry.value)
    }

    /// Whether a store to the location waits.
    pub fn contains(&self, loc: Loc) -> bool {
        self.entries.iter().any(|entry| entry.loc == loc)
    }
}
