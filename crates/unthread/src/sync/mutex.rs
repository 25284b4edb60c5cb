//! The mutex.

use super::guard::{exclusive_guard_traits, lock_traits};
use super::poison::Poison;
use crate::runtime::{Request, is_panicking, request};
use std::cell::UnsafeCell;
use std::sync::{LockResult, TryLockError, TryLockResult};
use unthread_checker::execution::Operation;
use unthread_checker::program::{Loc, LockMode};

/// A mutex, as in [`std::sync`]. It is poisoned when a thread panics that holds it.
pub struct Mutex<T: ?Sized> {
    poison: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: the machine lets one thread at a time hold the lock, and all of them are on one OS thread anyway.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The mutex is held while this lives.
#[must_use = "the mutex is released at once if the guard is not kept"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) lock: &'a Mutex<T>,
    was_panicking: bool,
    /// Guards stay in their thread.
    not_send: std::marker::PhantomData<*const ()>,
}

impl<T> Mutex<T> {
    /// A mutex around a value.
    #[track_caller]
    pub fn new(value: T) -> Mutex<T> {
        Mutex { poison: Poison::new("Mutex"), data: UnsafeCell::new(value) }
    }

    /// A mutex that is a static: `static M: Mutex<u32> = Mutex::const_new(0)`. In every execution it begins with the value.
    pub const fn const_new(value: T) -> Mutex<T> {
        Mutex { poison: Poison::of_static("Mutex"), data: UnsafeCell::new(value) }
    }

    /// The value; the mutex is no more.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.poison.look(size_of::<T>());
        self.poison.judge(self.data.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        request(Request::on(self.contents(), Operation::Lock { lock: self.poison.lock(), mode: LockMode::Exclusive }));
        self.guard()
    }

    /// Takes the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        let operation = Operation::TryLock { lock: self.poison.lock(), mode: LockMode::Exclusive };
        match request(Request::on(self.contents(), operation)) {
            0 => Err(TryLockError::WouldBlock),
            _ => Ok(self.guard()?),
        }
    }

    #[track_caller]
    pub(super) fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = MutexGuard { lock: self, was_panicking: is_panicking(), not_send: std::marker::PhantomData };
        self.poison.judge(guard)
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

    /// The machine's number for the lock.
    #[track_caller]
    pub(super) fn lock_number(&self) -> u32 {
        self.poison.lock()
    }

    /// The value, for whoever has exclusive access.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.poison.look(size_of_val(&self.data));
        self.poison.judge(self.data.get_mut())
    }

    /// Whether a thread has panicked that held it.
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

lock_traits!(Mutex);
exclusive_guard_traits!(MutexGuard);
