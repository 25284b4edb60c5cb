//! The condition variable.

use super::MutexGuard;
use crate::runtime::{Kind, Name, Request, happens, perform, request};
use std::fmt;
use std::sync::LockResult;
use std::time::Duration;
use unthread_checker::execution::{Operation, Waits};

/// A condition variable, as in [`std::sync`]. A wait may end without a reason: the check tries that, once in each thread.
pub struct Condvar {
    name: Name,
}

/// Whether a wait has timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the wait has timed out.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    constructors! {
        /// A condition variable that nobody waits for.
        new() -> Condvar { Condvar { name: Name::new(Kind::Condvar) } } const { Condvar { name: Name::constant(Kind::Condvar) } }
    }

    /// Releases the mutex, waits to be notified, and takes the mutex again.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if happens(|thread| &thread.wakeups_left) {
            return self.let_others_in(guard);
        }
        self.wait_to_be_notified(guard, Waits::Forever)
    }

    /// Waits until the condition does not hold any more.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits to be notified, or gives up: both are tried, whatever the time.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let timed_out = happens(|thread| &thread.timeouts_left);
        let guard = match timed_out {
            true => self.let_others_in(guard),
            false => self.wait_to_be_notified(guard, Waits::Timed),
        };
        match guard {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(poisoned) => Err(std::sync::PoisonError::new((poisoned.into_inner(), WaitTimeoutResult(timed_out)))),
        }
    }

    /// Waits until the condition does not hold any more, or gives up.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        while condition(&mut guard) {
            let (again, result) = self.wait_timeout(guard, timeout)?;
            guard = again;
            if result.timed_out() {
                let still = condition(&mut guard);
                return Ok((guard, WaitTimeoutResult(still)));
            }
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// The mutex is free for a moment, and that is all.
    #[track_caller]
    fn let_others_in<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex();
        drop(guard);
        mutex.lock()
    }

    #[track_caller]
    fn wait_to_be_notified<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        waits: Waits,
    ) -> LockResult<MutexGuard<'a, T>> {
        let (mutex, condvar, lock) = (guard.mutex(), self.name.get(), guard.mutex().inner().number());
        let contents = mutex.inner().contents();
        request(Request::on(contents, Operation::Wait { condvar, lock }));
        // The machine has released the mutex; if the thread unwinds now, nobody does so again.
        guard.forget();
        request(Request { waits, ..Request::on(contents, Operation::Reacquire { condvar, lock }) });
        mutex.guard()
    }

    /// Wakes one thread that waits; any one of them.
    #[track_caller]
    pub fn notify_one(&self) {
        perform(Operation::Notify { condvar: self.name.get(), all: false });
    }

    /// Wakes all threads that wait.
    #[track_caller]
    pub fn notify_all(&self) {
        perform(Operation::Notify { condvar: self.name.get(), all: true });
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
