//! Attacks: how one thread that delays its stores shows that TSO is not SC.
//!
//! If a program has a TSO computation that no SC computation looks like, it has one of this shape (Bouajjani, Derevenetc and
//! Meyer): all threads take turns until one of them, the *attacker*, hides a store. It goes on, hiding every store, up to a
//! load from memory, and then stops. From there on others run, but only steps that happen after that load: the thread has
//! already taken part (program order), or the step conflicts with one that has. If one of them touches the cell of
//! the first hidden store, the stores can be let go, and the load happens before the store that it comes after.
//!
//! So nobody sees what is hidden, of the hidden stores only the last to each cell matters, and after the load only who takes
//! part and what was touched. This keeps the search finite where data is, however long a thread hides its stores.

use super::emulation::{Mode, Object, Touched};
use crate::program::Loc;

/// Stores that are hidden.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hidden {
    /// The cell of the first one.
    pub(super) first: Loc,
    /// The newest value of each cell, sorted.
    pub(super) newest: Vec<(Loc, i64)>,
}

/// What happens after the attacker's load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chain {
    /// The cell of the first hidden store.
    first: Loc,
    /// What was touched, sorted.
    touched: Vec<(Object, Mode)>,
    /// Threads that have taken part, sorted.
    members: Vec<u16>,
    /// A thread that has taken the bus and not yet touched anything of the chain, and what it has touched. From taking the bus to giving it back
    /// is one event.
    pending: Option<(u16, Vec<(Object, Mode)>)>,
}

/// What a step does to the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bus {
    Untouched,
    Taken,
    GivenBack,
}

impl Hidden {
    /// One store.
    pub(super) fn new(loc: Loc, value: i64) -> Hidden {
        Hidden { first: loc, newest: vec![(loc, value)] }
    }

    /// One more store.
    pub(super) fn store(&mut self, loc: Loc, value: i64) {
        match self.newest.binary_search_by_key(&loc, |store| store.0) {
            Ok(at) => self.newest[at].1 = value,
            Err(at) => self.newest.insert(at, (loc, value)),
        }
    }

    /// Whether a load would see one of the stores.
    pub(super) fn contains(&self, loc: Loc) -> bool {
        self.newest.binary_search_by_key(&loc, |store| store.0).is_ok()
    }
}

impl Chain {
    /// After the attacker has loaded from a cell.
    pub(super) fn new(first: Loc, load: Loc) -> Chain {
        Chain { first, touched: vec![(Object::Cell(load), Mode::Read)], members: Vec::new(), pending: None }
    }

    /// The chain with one more step, if that step happens after the load.
    pub(super) fn extend(&self, thread: u16, touched: &Touched, bus: Bus, forked: Option<u16>) -> Option<Chain> {
        let mut chain = self.clone();
        if !self.members.contains(&thread) {
            let is_pending = self.pending.as_ref().is_some_and(|pending| pending.0 == thread);
            let joins = touched.iter().any(|&(object, mode)| self.conflicts(object, mode));
            match (joins, is_pending, bus) {
                (true, ..) => chain.join(thread),
                (false, false, Bus::Taken) => chain.pending = Some((thread, Vec::new())),
                (false, true, Bus::Untouched) => {
                    let (_, pending) = chain.pending.as_mut().expect("the thread is pending");
                    pending.extend_from_slice(touched);
                    pending.sort_unstable();
                    pending.dedup();
                    return Some(chain);
                }
                _ => return None,
            }
        }
        if chain.members.contains(&thread) {
            chain.touch(touched);
            chain.members.extend(forked);
            chain.members.sort_unstable();
        }
        Some(chain)
    }

    /// Whether the hidden stores can be let go now, after the load.
    pub(super) fn is_closed(&self) -> bool {
        self.touched.iter().any(|&(object, _)| object == Object::Cell(self.first))
    }

    fn join(&mut self, thread: u16) {
        self.members.push(thread);
        self.members.sort_unstable();
        if let Some((_, touched)) = self.pending.take_if(|pending| pending.0 == thread) {
            self.touch(&touched);
        }
    }

    fn touch(&mut self, touched: &[(Object, Mode)]) {
        for access in touched {
            if let Err(at) = self.touched.binary_search(access) {
                self.touched.insert(at, *access);
            }
        }
    }

    fn conflicts(&self, object: Object, mode: Mode) -> bool {
        self.touched.iter().any(|&(other, other_mode)| other == object && mode.conflicts(other_mode))
    }
}
