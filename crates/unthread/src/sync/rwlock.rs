//! The read-write lock.

use super::guard::{exclusive_guard_traits, guard_traits, lock_traits};
use super::poison::Poison;
use crate::runtime::{Request, abandon_or, is_panicking, request};
use std::cell::UnsafeCell;
use std::sync::{LockResult, TryLockError, TryLockResult};
use unthread_checker::execution::Operation;
use unthread_checker::program::{Loc, LockMode};

/// A read-write lock, as in [`std::sync`]. It is poisoned when a thread panics that holds it for writing.
pub struct RwLock<T: ?Sized> {
    poison: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: the machine gives the lock to many readers or one writer, and all of them are on one OS thread anyway.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The lock is held for reading while this lives.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Guards stay in their thread.
    not_send: std::marker::PhantomData<*const ()>,
}

/// The lock is held for writing while this lives.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    was_panicking: bool,
    /// Guards stay in their thread.
    not_send: std::marker::PhantomData<*const ()>,
}

impl<T> RwLock<T> {
    /// A lock around a value.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T> {
        RwLock { poison: Poison::new("RwLock"), data: UnsafeCell::new(value) }
    }

    /// A lock that is a static: `static L: RwLock<u32> = RwLock::const_new(0)`. In every execution it begins with the value.
    pub const fn const_new(value: T) -> RwLock<T> {
        RwLock { poison: Poison::of_static("RwLock"), data: UnsafeCell::new(value) }
    }

    /// The value; the lock is no more.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.poison.look(size_of::<T>());
        self.poison.judge(self.data.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        request(Request::on(self.contents(), Operation::Lock { lock: self.poison.lock(), mode: LockMode::Shared }));
        self.read_guard()
    }

    /// Takes the lock for reading if nobody writes.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let operation = Operation::TryLock { lock: self.poison.lock(), mode: LockMode::Shared };
        match request(Request::on(self.contents(), operation)) {
            0 => Err(TryLockError::WouldBlock),
            _ => Ok(self.read_guard()?),
        }
    }

    /// Waits until nobody else reads or writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        request(Request::on(self.contents(), Operation::Lock { lock: self.poison.lock(), mode: LockMode::Exclusive }));
        self.write_guard()
    }

    /// Takes the lock for writing if nobody reads or writes.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let operation = Operation::TryLock { lock: self.poison.lock(), mode: LockMode::Exclusive };
        match request(Request::on(self.contents(), operation)) {
            0 => Err(TryLockError::WouldBlock),
            _ => Ok(self.write_guard()?),
        }
    }

    /// The value, as something that only the code under test knows.
    #[track_caller]
    pub(super) fn contents(&self) -> Option<Loc> {
        self.poison.contents(size_of_val(&self.data))
    }

    /// Where the value is.
    #[track_caller]
    fn data(&self) -> *mut T {
        self.poison.data(&self.data)
    }

    #[track_caller]
    fn read_guard(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.poison.judge(RwLockReadGuard { lock: self, not_send: std::marker::PhantomData })
    }

    #[track_caller]
    fn write_guard(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let was_panicking = is_panicking();
        self.poison.judge(RwLockWriteGuard { lock: self, was_panicking, not_send: std::marker::PhantomData })
    }

    /// The value, for whoever has exclusive access.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.look(size_of_val(&self.data));
        self.poison.judge(self.data.get_mut())
    }

    /// Whether a thread has panicked that wrote.
    #[track_caller]
    pub fn is_poisoned(&self) -> bool {
        self.poison.get()
    }

    /// Forgets that a thread has panicked.
    #[track_caller]
    pub fn clear_poison(&self) {
        self.poison.set(false);
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        abandon_or((), || {
            let operation = Operation::Unlock { lock: self.lock.poison.lock(), mode: LockMode::Shared };
            request(Request::on(self.lock.contents(), operation));
        });
    }
}

lock_traits!(RwLock);
guard_traits!(RwLockReadGuard);
exclusive_guard_traits!(RwLockWriteGuard);
