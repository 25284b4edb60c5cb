//! Threads that may borrow.

use super::{Builder, JoinHandle, Result, Thread, spawn_built};
use crate::runtime;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs a closure that can spawn threads which borrow; waits for all of them. Panics if one of them has, and nobody joined it.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope { threads: RefCell::default(), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    match result {
        Ok(result) => {
            if scope.wait() {
                panic!("{}", runtime::SCOPED);
            }
            result
        }
        Err(payload) => {
            if !runtime::is_for_joiner(&*payload) {
                // It ends the check: the threads of the scope need not be waited for.
                runtime::fail(&*payload);
            }
            runtime::while_known(|| scope.wait());
            resume_unwind(payload)
        }
    }
}

/// Spawns threads that may borrow.
pub struct Scope<'scope, 'env: 'scope> {
    threads: RefCell<VecDeque<Thread>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all threads of an execution are coroutines on one OS thread.
unsafe impl Sync for Scope<'_, '_> {}

impl Scope<'_, '_> {
    /// Waits for all threads. Says whether one has panicked that nobody joined.
    #[track_caller]
    fn wait(&self) -> bool {
        let mut panicked = false;
        // Threads of the scope may have spawned others while they were waited for.
        let next = || self.threads.borrow_mut().pop_front();
        while let Some(thread) = next() {
            // What it borrows, it may have changed.
            thread.wait_for_end(usize::MAX);
            panicked |= thread.take_panic();
        }
        panicked
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Runs a closure in a new thread, which ends before the scope does.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_built(Builder::new(), f)
    }

    #[track_caller]
    pub(super) fn spawn_built<F, T>(&'scope self, builder: Builder, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let handle = spawn_built(builder, Box::new(f));
        self.threads.borrow_mut().push_back(handle.thread.clone());
        ScopedJoinHandle { handle, scope: PhantomData }
    }
}

/// A way to wait for a thread of a scope before the scope ends.
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    scope: PhantomData<&'scope ()>,
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits until the thread has ended, and gives what it returned.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.handle.join()
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}
