//! The mutex.

use super::guard::{exclusive_guard_traits, lock_methods};
use super::lock::{Holding, Lock};
use crate::runtime::abandon_or;
use std::sync::{LockResult, TryLockResult};
use unthread_checker::execution::Queue;
use unthread_checker::program::LockMode;

/// A mutex, as in [`std::sync`]. It is poisoned when a thread panics that holds it.
pub struct Mutex<T: ?Sized> {
    inner: Lock<T>,
}

// SAFETY: the machine lets one thread at a time hold the lock, and all of them are on one OS thread anyway.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The mutex is held while this lives.
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    holding: Holding,
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free and takes it.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.inner.take(LockMode::Exclusive, Queue::None);
        self.guard()
    }

    /// Takes the mutex if it is free.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.inner.try_take(LockMode::Exclusive, || self.guard())
    }

    #[track_caller]
    pub(super) fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        self.inner.judge(MutexGuard { lock: self, holding: self.inner.hold() })
    }

    pub(super) fn inner(&self) -> &Lock<T> {
        &self.inner
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// The mutex.
    pub(super) fn mutex(&self) -> &'a Mutex<T> {
        self.lock
    }

    /// Whoever holds it has changed what it protects, unless it is known that it has not.
    pub(super) fn note_change(&self) {
        abandon_or((), || self.holding.note_change());
    }

    /// The machine has released the mutex.
    pub(super) fn forget(self) {
        self.holding.end_change();
        std::mem::forget(self);
    }
}

lock_methods!(Mutex);
exclusive_guard_traits!(MutexGuard);
