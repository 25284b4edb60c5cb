//! What a mutex and a read-write lock share: a lock of the machine and the value that it protects.
//!
//! That a thread panicked while it held the lock is a flag in memory, as in the standard library. A lock and the cell of its flag have the
//! same number.

use crate::runtime::{
    Kind, Name, Request, Snapshot, abandon_or, in_execution, is_live, is_panicking, perform, request, with_execution,
    with_thread,
};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use unthread_checker::base::Loc;
use unthread_checker::execution::{Operation, Queue};
use unthread_checker::program::{Access, LockMode, Ordering};

/// A lock around a value.
pub(super) struct Lock<T: ?Sized> {
    name: Name,
    data: UnsafeCell<T>,
}

/// What a guard keeps that can change the value.
pub(super) struct Holding {
    was_panicking: bool,
    before: Snapshot,
    /// The value may have changed.
    changes: Cell<bool>,
    /// Guards stay in their thread.
    not_send: PhantomData<*const ()>,
}

impl Holding {
    /// The holder gets at the value to change it.
    pub(super) fn begin_change(&self) {
        if !self.changes.replace(true) && is_live() {
            with_execution(|execution| execution.n_changing.set(execution.n_changing.get() + 1));
        }
    }

    /// The value has changed, unless it is known that it has not.
    pub(super) fn note_change(&self) {
        self.before.note_change();
    }

    /// The lock is about to be given back.
    pub(super) fn end_change(&self) {
        if self.changes.replace(false) && is_live() {
            with_execution(|execution| execution.n_changing.set(execution.n_changing.get().saturating_sub(1)));
        }
    }
}

/// Numbers from here on are not those of cells, but of what locks protect.
const CONTENTS: usize = 1 << 40;

impl<T> Lock<T> {
    #[cfg(not(feature = "const-new"))]
    #[track_caller]
    pub(super) fn new(kind: Kind, value: T) -> Lock<T> {
        Lock { name: Name::new(kind), data: UnsafeCell::new(value) }
    }

    /// One that a constant expression makes.
    #[track_caller]
    pub(super) const fn constant(kind: Kind, value: T) -> Lock<T> {
        Lock { name: Name::constant(kind), data: UnsafeCell::new(value) }
    }

    #[track_caller]
    pub(super) fn into_inner(self) -> LockResult<T> {
        self.look();
        let is_poisoned = self.is_known_as_poisoned();
        judge(is_poisoned, self.data.into_inner())
    }
}

impl<T: ?Sized> Lock<T> {
    /// The machine's number for it.
    #[track_caller]
    pub(super) fn number(&self) -> u32 {
        self.name.get()
    }

    /// The value, as something that only the code under test knows.
    #[track_caller]
    pub(super) fn contents(&self) -> Option<Loc> {
        (size_of_val(&self.data) > 0).then(|| Loc::global(CONTENTS + self.number() as usize))
    }

    /// Where the value is.
    #[track_caller]
    pub(super) fn data(&self) -> *mut T {
        self.name.data(self.data.get())
    }

    /// Waits until it can be taken, and takes it.
    #[track_caller]
    pub(super) fn take(&self, mode: LockMode, queue: Queue) {
        request(Request::on(self.contents(), Operation::Lock { lock: self.number(), mode, queue }));
    }

    /// The queue for those who want to read: the standard library may let a thread wait behind a writer that waits, though it holds the lock.
    #[track_caller]
    pub(super) fn queue_for_reading(&self) -> Queue {
        let lock = self.number();
        let holds = with_thread(|execution, thread| {
            !execution.settings.recursive_reads && thread.reads.borrow().contains(&lock)
        });
        if holds { Queue::Behind } else { Queue::None }
    }

    /// The thread has taken it for reading.
    #[track_caller]
    pub(super) fn begin_reading(&self) {
        let lock = self.number();
        with_thread(|_, thread| thread.reads.borrow_mut().push(lock));
    }

    /// The thread gives back what it had for reading.
    #[track_caller]
    pub(super) fn end_reading(&self) {
        abandon_or((), || {
            let lock = self.number();
            with_thread(|_, thread| {
                let mut reads = thread.reads.borrow_mut();
                if let Some(at) = reads.iter().position(|&held| held == lock) {
                    reads.swap_remove(at);
                }
            });
        });
        self.give_back(LockMode::Shared);
    }

    /// Takes it, and makes a guard, if it can be taken.
    #[track_caller]
    pub(super) fn try_take<G>(&self, mode: LockMode, guard: impl FnOnce() -> LockResult<G>) -> TryLockResult<G> {
        match request(Request::on(self.contents(), Operation::TryLock { lock: self.number(), mode })) {
            0 => Err(TryLockError::WouldBlock),
            _ => Ok(guard()?),
        }
    }

    /// Gives it back.
    #[track_caller]
    pub(super) fn give_back(&self, mode: LockMode) {
        abandon_or((), || {
            let lock = self.number();
            let silent = with_thread(|_, thread| thread.spin.borrow().is_silent(lock, mode));
            request(Request::on(self.contents(), Operation::Unlock { lock, mode, silent }));
        });
    }

    /// A thread has taken it that can change the value.
    #[track_caller]
    pub(super) fn hold(&self) -> Holding {
        let before = abandon_or(None, || Some(Snapshot::of(self.data(), size_of_val(&self.data))));
        let (before, changes) = (before.unwrap_or(Snapshot::none()), Cell::new(false));
        Holding { was_panicking: is_panicking(), before, changes, not_send: PhantomData }
    }

    /// That thread gives it back. If it began to panic meanwhile, the lock is poisoned.
    #[track_caller]
    pub(super) fn release(&self, holding: &Holding) {
        abandon_or((), || {
            holding.before.note_change();
            holding.end_change();
            if !holding.was_panicking && is_panicking() {
                let lock = self.number();
                with_execution(|execution| {
                    execution.poisoned.borrow_mut().push(lock);
                    execution.names.borrow_mut().mark_unfit("a lock is poisoned");
                });
                self.set_poisoned(true);
            }
        });
        self.give_back(LockMode::Exclusive);
    }

    /// That thread shares it from now on.
    #[track_caller]
    pub(super) fn downgrade(&self, holding: &Holding) {
        if is_live() {
            holding.before.note_change();
            holding.end_change();
            with_execution(|execution| execution.names.borrow_mut().mark_unfit("a lock is downgraded"));
            request(Request::on(self.contents(), Operation::Downgrade { lock: self.number() }));
        }
    }

    /// The value, for whoever has exclusive access.
    #[track_caller]
    pub(super) fn get_mut(&mut self) -> LockResult<&mut T> {
        self.look();
        let is_poisoned = self.is_known_as_poisoned();
        judge(is_poisoned, self.data.get_mut())
    }

    /// Whoever has exclusive access looks at the value, and may change it.
    #[track_caller]
    fn look(&self) {
        if !is_live() {
            return;
        }
        with_thread(|_, thread| thread.has_changed_data());
        if let Some(contents) = self.contents() {
            let loc = Loc::global(self.number() as usize);
            let (ordering, access) = (Ordering::Relaxed, Access::Atomic);
            request(Request::on(Some(contents), Operation::Read { loc, ordering, access }));
        }
    }

    /// Whether it is poisoned, as anyone can ask at any time.
    #[track_caller]
    pub(super) fn is_poisoned(&self) -> bool {
        let (loc, ordering, access) = (Loc::global(self.number() as usize), Ordering::Relaxed, Access::Atomic);
        // Not in a closure: who calls is the place.
        is_live() && perform(Operation::Read { loc, ordering, access }) != 0
    }

    #[track_caller]
    pub(super) fn set_poisoned(&self, poisoned: bool) {
        let (loc, ordering, access) = (Loc::global(self.number() as usize), Ordering::Relaxed, Access::Atomic);
        if is_live() {
            perform(Operation::Write { loc, value: poisoned.into(), ordering, access });
        }
    }

    /// What whoever holds it gets: an error if it is poisoned.
    #[track_caller]
    pub(super) fn judge<G>(&self, guard: G) -> LockResult<G> {
        judge(self.is_known_as_poisoned(), guard)
    }

    /// Whether it has been poisoned in this execution, and still is.
    #[track_caller]
    fn is_known_as_poisoned(&self) -> bool {
        in_execution()
            && with_execution(|execution| {
                let poisoned = execution.poisoned.borrow();
                !poisoned.is_empty() && poisoned.contains(&self.number())
            })
            && self.is_poisoned()
    }
}

fn judge<G>(is_poisoned: bool, contents: G) -> LockResult<G> {
    if is_poisoned { Err(PoisonError::new(contents)) } else { Ok(contents) }
}
