//! The read-write lock.

use super::guard::{exclusive_guard_traits, guard_traits, lock_methods};
use super::lock::{Holding, Lock};
use std::sync::{LockResult, TryLockResult};
use unthread_checker::execution::Queue;
use unthread_checker::program::LockMode;

/// A read-write lock, as in [`std::sync`]. It is poisoned when a thread panics that holds it for writing.
///
/// A thread that holds it for reading had better not take it again: where another one waits to write by then, the standard library may let both wait for ever, and the check
/// says so, unless [`recursive_reads`](crate::model::Builder::recursive_reads) are allowed.
pub struct RwLock<T: ?Sized> {
    inner: Lock<T>,
}

// SAFETY: the machine gives the lock to many readers or one writer, and all of them are on one OS thread anyway.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

/// The lock is held for reading while this lives.
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    /// Guards stay in their thread.
    not_send: std::marker::PhantomData<*const ()>,
}

/// The lock is held for writing while this lives.
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    holding: Holding,
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.inner.take(LockMode::Shared, self.inner.queue_for_reading());
        self.read_guard()
    }

    /// Takes the lock for reading if nobody writes.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        self.inner.try_take(LockMode::Shared, || self.read_guard())
    }

    /// Waits until nobody else reads or writes.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.inner.take(LockMode::Exclusive, Queue::Ahead);
        self.write_guard()
    }

    /// Takes the lock for writing if nobody reads or writes.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        self.inner.try_take(LockMode::Exclusive, || self.write_guard())
    }

    #[track_caller]
    fn read_guard(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.inner.begin_reading();
        self.inner.judge(RwLockReadGuard { lock: self, not_send: std::marker::PhantomData })
    }

    #[track_caller]
    fn write_guard(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.inner.judge(RwLockWriteGuard { lock: self, holding: self.inner.hold() })
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Holds the lock for reading from now on. Nobody else writes in between.
    #[track_caller]
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T> {
        let lock = this.lock;
        lock.inner.downgrade(&this.holding);
        std::mem::forget(this);
        lock.inner.begin_reading();
        RwLockReadGuard { lock, not_send: std::marker::PhantomData }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[track_caller]
    fn drop(&mut self) {
        self.lock.inner.end_reading();
    }
}

lock_methods!(RwLock);
guard_traits!(RwLockReadGuard);
exclusive_guard_traits!(RwLockWriteGuard);
