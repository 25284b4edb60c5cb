//! The condition variable.

use super::MutexGuard;
use crate::runtime::{Here, Kind, Name, Request, begins_to_wait, happens, perform, request, waits_again};
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
        self.wait_to_be_notified(guard, Waits::Forever).0
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

    /// Waits to be notified, or gives up, whatever the time: at any moment, but so often only in each thread as [`Builder::timeouts`](crate::model::Builder::timeouts) says; and always where
    /// nothing else can happen.
    #[track_caller]
    #[inline(always)]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        self.wait_for_some_time(guard, &Here::now())
    }

    #[track_caller]
    fn wait_for_some_time<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        here: &Here,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        guard.note_change();
        let (guard, timed_out) = match begins_to_wait(here) && happens(|thread| &thread.timeouts_left) {
            true => (self.let_others_in(guard), true),
            false => self.wait_to_be_notified(guard, Waits::Timed),
        };
        match guard {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(poisoned) => Err(std::sync::PoisonError::new((poisoned.into_inner(), WaitTimeoutResult(timed_out)))),
        }
    }

    /// Waits until the condition does not hold any more, or gives up.
    #[track_caller]
    #[inline(always)]
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

    /// Says, too, whether the wait was given up.
    #[track_caller]
    fn wait_to_be_notified<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        waits: Waits,
    ) -> (LockResult<MutexGuard<'a, T>>, bool) {
        let (mutex, condvar, lock) = (guard.mutex(), self.name.get(), guard.mutex().inner().number());
        let contents = mutex.inner().contents();
        request(Request::on(contents, Operation::Wait { condvar, lock }));
        // The machine has released the mutex; if the thread unwinds now, nobody does so again.
        guard.forget();
        let again = if waits == Waits::Timed { waits_again() } else { None };
        let waiting = Request { waits, again, ..Request::on(contents, Operation::Reacquire { condvar, lock }) };
        let timed_out = request(waiting) != 0;
        (mutex.guard(), timed_out)
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
