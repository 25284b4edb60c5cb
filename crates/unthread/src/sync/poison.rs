//! Poisoning: that a thread panicked while it held a lock is a flag in memory, as in the standard library.
//!
//! A lock and the cell of its flag have the same number.

use crate::runtime::{Name, Request, abandon_or, in_execution, is_panicking, perform, request, with_execution};
use std::cell::UnsafeCell;
use std::sync::{LockResult, PoisonError};
use unthread_checker::execution::Operation;
use unthread_checker::program::{Access, Loc, Ordering};

/// A lock's number, and whether the lock is poisoned.
pub(super) struct Poison {
    name: Name,
}

/// Numbers from here on are not those of cells, but of what locks protect.
const CONTENTS: usize = 1 << 40;

impl Poison {
    /// For a new lock.
    #[track_caller]
    pub(super) fn new(kind: &'static str) -> Poison {
        Poison { name: Name::new(kind) }
    }

    /// For a lock that is a static.
    pub(super) const fn of_static(kind: &'static str) -> Poison {
        Poison { name: Name::of_static(kind) }
    }

    /// The lock's number.
    #[track_caller]
    pub(super) fn lock(&self) -> u32 {
        self.name.get()
    }

    /// What the lock protects, as an object whose contents only the code under test knows. It has so many bytes.
    #[track_caller]
    pub(super) fn contents(&self, size: usize) -> Option<Loc> {
        (size > 0).then(|| Loc::global(CONTENTS + self.lock() as usize))
    }

    /// Whoever has exclusive access looks at what the lock protects.
    #[track_caller]
    pub(super) fn look(&self, size: usize) {
        abandon_or((), || {
            if let Some(contents) = self.contents(size) {
                let loc = Loc::global(self.lock() as usize);
                let (ordering, access) = (Ordering::Relaxed, Access::Atomic);
                request(Request::on(Some(contents), Operation::Read { loc, ordering, access }));
            }
        });
    }

    /// Where what the lock protects is.
    #[track_caller]
    pub(super) fn data<T: ?Sized>(&self, own: &UnsafeCell<T>) -> *mut T {
        self.name.data(own.get())
    }

    /// Whether the lock is poisoned, as anyone can ask at any time.
    #[track_caller]
    pub(super) fn get(&self) -> bool {
        let (loc, ordering, access) = (Loc::global(self.lock() as usize), Ordering::Relaxed, Access::Atomic);
        abandon_or(false, || perform(Operation::Read { loc, ordering, access }) != 0)
    }

    #[track_caller]
    pub(super) fn set(&self, poisoned: bool) {
        let (loc, ordering, access) = (Loc::global(self.lock() as usize), Ordering::Relaxed, Access::Atomic);
        abandon_or(0, || perform(Operation::Write { loc, value: poisoned.into(), ordering, access }));
    }

    /// The thread gives the lock back. If it began to panic since it took it, the lock is poisoned.
    #[track_caller]
    pub(super) fn done(&self, was_panicking: bool) {
        if !was_panicking && is_panicking() {
            let lock = self.lock();
            with_execution(|execution| {
                execution.poisoned.borrow_mut().push(lock);
                execution.names.borrow_mut().mark_unfit("a lock is poisoned");
            });
            self.set(true);
        }
    }

    /// Whether it has been poisoned in this execution.
    #[track_caller]
    fn is_known(&self) -> bool {
        in_execution()
            && with_execution(|execution| {
                let poisoned = execution.poisoned.borrow();
                !poisoned.is_empty() && poisoned.contains(&self.lock())
            })
    }

    /// What the lock contains, for whoever holds it: an error if it is poisoned.
    #[track_caller]
    pub(super) fn judge<G>(&self, contents: G) -> LockResult<G> {
        if self.is_known() && self.get() { Err(PoisonError::new(contents)) } else { Ok(contents) }
    }
}
