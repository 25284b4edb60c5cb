//! Attacks: how one thread that delays its stores shows that TSO or PSO is not SC.
//!
//! If a program has a TSO computation that no SC computation looks like, it has one of this shape (Bouajjani, Derevenetc and
//! Meyer): all threads take turns until one of them, the *attacker*, hides a store. It goes on, hiding every store, up to a
//! load from memory, and then stops. From there on others run, but only steps that happen after that load: the thread has
//! already taken part (program order), or the step conflicts with one that has. If one of them conflicts with the
//! first hidden store, the stores can be let go, and the load happens before the store that it comes after.
//!
//! So no other thread sees what is hidden, of the hidden stores only the last to each cell matters, and after the load only which
//! threads take part and what was touched. This keeps the search finite where data is, however long a thread hides its stores.
//!
//! *PSO.* The same shape does, but that the attacker hides only what it must: stores to cells that are hidden already, and all stores once it
//! has passed a barrier. Other stores reach memory at once, and the attacker stops after a load or after a store that others see. Why one attacker
//! is enough: let T be a trace with as few events as any that is not SC's. Call *last* what has no successor in program order and reads-from. Without
//! any one of the last events T is SC's, so every cycle goes through all of them, always in the same order (a short cut would be a shorter cycle); it leaves them by coherence or
//! from-read, and everything on the way from one of them, e, to the next, f, is in f's past alone. On some such way PSO keeps less than program
//! order. On it, (1) no store that e misses is read by another thread: reads and whatever comes after them keep their order, up to f. Nor is it a
//! read-modify-write. (2) So e can as well miss only the newest of them, w: no event reads e. Now every cycle
//! goes from e to w and on by program order. (3) What cannot overtake w is not read by others either, for the same reason, and can as well come last in
//! memory. Then without program order from these hidden stores onwards there is no cycle left: everything else happens in an order of SC's, and w after e.

use super::emulation::{Mode, Object, Touched, touched_cell};
use crate::base::Loc;
use crate::execution::Operation;
use crate::program::Ordering;

/// Stores that are hidden.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Hidden {
    /// The cell of the first one.
    pub(crate) first: Loc,
    /// The newest value of each cell, sorted.
    pub(crate) newest: Vec<(Loc, i64)>,
    /// Whether all later stores are hidden, too: they are in the same queue, or behind a barrier.
    pub(crate) closed: bool,
}

/// What happens after the attacker's load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    /// What the first hidden store touches when it reaches memory.
    pub(crate) first: Touched,
    /// What was touched, sorted.
    touched: Vec<(Object, Mode)>,
    /// Threads that have taken part, sorted.
    pub(crate) members: Vec<u16>,
    /// A thread that has taken the bus and not yet touched anything of the chain, and what it has touched. From taking the bus to giving it back
    /// is one event.
    pending: Option<(u16, Vec<(Object, Mode)>)>,
}

/// What a step does to the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bus {
    Untouched,
    Taken,
    GivenBack,
}

impl Hidden {
    /// One store.
    pub(crate) fn new(loc: Loc, value: i64, closed: bool) -> Hidden {
        Hidden { first: loc, newest: vec![(loc, value)], closed }
    }

    /// One more store.
    pub(crate) fn store(&mut self, loc: Loc, value: i64) {
        match self.newest.binary_search_by_key(&loc, |store| store.0) {
            Ok(at) => self.newest[at].1 = value,
            Err(at) => self.newest.insert(at, (loc, value)),
        }
    }

    /// What the first store touches when it reaches memory.
    pub(crate) fn touched_by_first(&self) -> Touched {
        touched_cell(self.first, Mode::Write)
    }

    /// Whether an operation is a store that reaches memory at once.
    pub(crate) fn lets_ahead(&self, operation: &Operation) -> bool {
        let is_hidden = operation.loc().is_some_and(|loc| self.contains(loc));
        operation.is_write() && !self.closed && !is_hidden && !is_barrier(operation)
    }

    /// The attacker has performed an operation.
    pub(crate) fn pass(&mut self, operation: &Operation) {
        self.closed |= is_barrier(operation);
    }

    /// Whether a load would see one of the stores.
    pub(crate) fn contains(&self, loc: Loc) -> bool {
        self.newest.binary_search_by_key(&loc, |store| store.0).is_ok()
    }
}

/// Whether an operation is a store or a fence that keeps later stores behind earlier ones.
fn is_barrier(operation: &Operation) -> bool {
    let is_release = matches!(operation.ordering(), Some(Ordering::Release | Ordering::AcqRel));
    is_release && (operation.is_write() || operation.is_fence())
}

impl Chain {
    /// After the attacker has touched this.
    pub(crate) fn new(first: Loc, touched: &Touched) -> Chain {
        let mut sorted = touched.to_vec();
        sorted.sort_unstable();
        Chain { first: touched_cell(first, Mode::Write), touched: sorted, members: Vec::new(), pending: None }
    }

    /// The chain with one more step, if that step happens after the load.
    pub(crate) fn extend(&self, thread: u16, touched: &Touched, bus: Bus, forked: Option<u16>) -> Option<Chain> {
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

    /// Whether the hidden stores can be let go now: something happened after the load that happens before the first of them.
    pub(crate) fn is_closed(&self) -> bool {
        self.first.iter().any(|&(object, mode)| self.conflicts(object, mode))
    }

    /// Forgets what was touched, but for what can still matter, and what closes it.
    pub(crate) fn keep(&mut self, matters: impl Fn((Object, Mode)) -> bool) {
        let first = &self.first;
        let closes = |object: Object| first.iter().any(|&(other, _)| other == object);
        self.touched.retain(|&access| closes(access.0) || matters(access));
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
