//! The states of a search, each stored once and small, and the order in which to look at them.
//!
//! As in `visited.rs` a state is a row of numbers for parts that many states share. Stores that wait are lists that share their ends:
//! a store that leaves the front of a long queue makes no new list.

use super::delays::Site;
use crate::base::paged::{Numbers, Paged, Rows};
use crate::base::{Action, Loc};
use crate::execution::visited::Interner;
use crate::execution::{Buffer, Shared, ThreadState};
use crate::program::Access;
use rustc_hash::FxBuildHasher;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash};

/// A store that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    pub(crate) site: Site,
    pub(crate) loc: Loc,
    pub(crate) value: i64,
    pub(crate) access: Access,
}

/// The number of the list without stores.
pub(crate) const NOTHING: u32 = 0;

/// Queues of stores, oldest first.
pub(crate) struct Lists {
    nodes: Interner<Option<(Waiting, u32)>>,
}

impl Lists {
    pub(crate) fn new() -> Lists {
        let mut nodes = Interner::new();
        nodes.intern(&None);
        Lists { nodes }
    }

    /// The oldest store, and the list of the others.
    pub(crate) fn split(&self, list: u32) -> Option<(Waiting, u32)> {
        *self.nodes.get(list)
    }

    /// The stores, oldest first.
    pub(crate) fn stores(&self, list: u32) -> impl Iterator<Item = Waiting> {
        std::iter::successors(self.split(list), |(_, rest)| self.split(*rest)).map(|(first, _)| first)
    }

    /// The number of a list.
    pub(crate) fn intern(&mut self, buffer: &Buffer, sites: &[Site]) -> u32 {
        let mut list = NOTHING;
        for (entry, &site) in buffer.entries().iter().zip(sites).rev() {
            let first = Waiting { site, loc: entry.loc, value: entry.value, access: entry.access };
            list = self.nodes.intern(&Some((first, list)));
        }
        list
    }
}

/// How a state was first reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) from: u32,
    pub(crate) thread: u16,
    pub(crate) how: How,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A step of the program with the delays that are built in.
    Step(Action),
    /// The attacker's step, whose stores no other thread sees.
    Hidden(Action),
    /// The attacker's store that goes ahead of what is hidden.
    Shown,
    /// From here on, the attacker's stores that wait are hidden.
    Hide,
}

/// States by number, and those that have not been looked at, cheapest first.
pub(crate) struct Space<T> {
    pub(crate) shared: Interner<Shared>,
    pub(crate) threads: Interner<ThreadState<T>>,
    pub(crate) lists: Lists,
    rows: Rows,
    origins: Paged<Origin>,
    costs: Paged<u64>,
    table: Numbers,
    waiting: BTreeMap<u64, Vec<u32>>,
    n_waiting: u64,
}

impl<T: Clone + Eq + Hash> Space<T> {
    pub(crate) fn new() -> Space<T> {
        Space {
            shared: Interner::new(),
            threads: Interner::new(),
            lists: Lists::new(),
            rows: Rows::new(),
            origins: Paged::new(),
            costs: Paged::new(),
            table: Numbers::new(),
            waiting: BTreeMap::new(),
            n_waiting: 0,
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many of them have not been looked at.
    pub(crate) fn n_waiting(&self) -> u64 {
        self.n_waiting
    }

    /// Whether there is no room for more.
    pub(crate) fn is_full(&self) -> bool {
        self.rows.is_full()
    }

    pub(crate) fn row(&self, at: u32) -> &[u32] {
        self.rows.get(at)
    }

    pub(crate) fn origin(&self, at: u32) -> Origin {
        self.origins[at as usize]
    }

    /// Adds a state unless it is there. Gives its number.
    pub(crate) fn insert(&mut self, row: &[u32], origin: Origin, price: u64) -> u32 {
        let hash = FxBuildHasher.hash_one(row);
        if let Some(at) = self.table.find(hash, |&at| self.rows.get(at) == row) {
            return at;
        }
        let at = self.rows.len() as u32;
        let cost = if at == 0 { 0 } else { self.costs[origin.from as usize] + price };
        self.rows.push(row);
        self.origins.push(origin);
        self.costs.push(cost);
        self.waiting.entry(cost).or_default().push(at);
        self.n_waiting += 1;
        self.table.insert(hash, at, |&at| FxBuildHasher.hash_one(self.rows.get(at)));
        at
    }

    /// The next state to look at.
    pub(crate) fn next(&mut self) -> Option<u32> {
        loop {
            let mut cheapest = self.waiting.first_entry()?;
            match cheapest.get_mut().pop() {
                Some(at) => {
                    self.n_waiting -= 1;
                    return Some(at);
                }
                None => drop(cheapest.remove()),
            }
        }
    }

    /// How a state was first reached, from the start.
    pub(crate) fn path(&self, mut at: u32) -> Vec<Origin> {
        let mut path = Vec::new();
        while at != 0 {
            path.push(self.origins[at as usize]);
            at = self.origins[at as usize].from;
        }
        path.reverse();
        path
    }
}
