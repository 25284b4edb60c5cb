//! Poisoning: that a thread panicked while it held a lock is a flag in memory, as in the standard library.
//!
//! A lock and the cell of its flag have the same number.

use crate::runtime::{abandon_or, defer_cell, is_panicking, new_object, perform};
use std::cell::Cell;
use std::sync::{LockResult, PoisonError};
use unthread_checker::execution::Operation;
use unthread_checker::program::{Access, Loc, Ordering};

/// A lock's number, and whether the lock is poisoned.
pub(super) struct Poison {
    pub(super) lock: u32,
    /// It has been poisoned in this execution. Whoever takes the lock later knows; until then there is nothing to read.
    ever: Cell<bool>,
}

impl Poison {
    /// For a new lock.
    #[track_caller]
    pub(super) fn new(kind: &'static str) -> Poison {
        let lock = new_object(kind);
        defer_cell(lock, 0);
        Poison { lock, ever: Cell::new(false) }
    }

    /// Whether the lock is poisoned, as anyone can ask at any time.
    #[track_caller]
    pub(super) fn get(&self) -> bool {
        let (loc, ordering, access) = (Loc::global(self.lock as usize), Ordering::Relaxed, Access::Atomic);
        abandon_or(false, || perform(Operation::Read { loc, ordering, access }) != 0)
    }

    #[track_caller]
    pub(super) fn set(&self, poisoned: bool) {
        let (loc, ordering, access) = (Loc::global(self.lock as usize), Ordering::Relaxed, Access::Atomic);
        abandon_or(0, || perform(Operation::Write { loc, value: poisoned.into(), ordering, access }));
    }

    /// The thread gives the lock back. If it began to panic since it took it, the lock is poisoned.
    #[track_caller]
    pub(super) fn done(&self, was_panicking: bool) {
        if !was_panicking && is_panicking() {
            self.ever.set(true);
            self.set(true);
        }
    }

    /// What the lock contains, for whoever holds it: an error if it is poisoned.
    #[track_caller]
    pub(super) fn judge<G>(&self, contents: G) -> LockResult<G> {
        if self.ever.get() && self.get() { Err(PoisonError::new(contents)) } else { Ok(contents) }
    }
}
