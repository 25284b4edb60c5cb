//! The mutex.

use super::poison::Poison;
use crate::runtime::{abandon_or, is_panicking, perform};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, TryLockError, TryLockResult};
use unthread_checker::execution::Operation;
use unthread_checker::program::LockMode;

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
    pub(super) mutex: &'a Mutex<T>,
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

    /// The value; the mutex is no more.
    #[track_caller]
    pub fn into_inner(self) -> LockResult<T> {
        self.poison.judge(self.data.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        perform(Operation::Lock { lock: self.poison.lock, mode: LockMode::Exclusive });
        self.guard()
    }

    /// Takes the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match perform(Operation::TryLock { lock: self.poison.lock, mode: LockMode::Exclusive }) {
            0 => Err(TryLockError::WouldBlock),
            _ => Ok(self.guard()?),
        }
    }

    #[track_caller]
    pub(super) fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = MutexGuard { mutex: self, was_panicking: is_panicking(), not_send: std::marker::PhantomData };
        self.poison.judge(guard)
    }

    /// The machine's number for the lock.
    pub(super) fn lock_number(&self) -> u32 {
        self.poison.lock
    }

    /// The value, for whoever has exclusive access.
    #[track_caller]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
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

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock, and the guard is borrowed exclusively.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        abandon_or((), || {
            self.mutex.poison.done(self.was_panicking);
            perform(Operation::Unlock { lock: self.mutex.poison.lock, mode: LockMode::Exclusive });
        });
    }
}

impl<T: Default> Default for Mutex<T> {
    #[track_caller]
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
