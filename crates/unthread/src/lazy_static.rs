//! Statics that every execution makes anew: see [`crate::lazy_static!`].
//!
//! Whoever comes first makes the value, and the others wait: a cell says how far it is. What is made meanwhile is named after the
//! static, whoever makes it.

use crate::runtime::{Signal, kept, naming, static_cell, with_execution, with_thread};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use unthread_checker::execution::Waits;
use unthread_checker::program::{Ordering, RmwOp};

/// A static that is made when it is first needed, in every execution.
pub struct Lazy<T: 'static> {
    #[doc(hidden)]
    pub init: fn() -> T,
}

/// The static, or the thread-local variable, has been dropped already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the variable has been dropped already")
    }
}

impl std::error::Error for AccessError {}

/// How far a static is.
const NOTHING: i64 = 0;
const UNDERWAY: i64 = 1;
const DONE: i64 = 2;

impl<T: 'static> Lazy<T> {
    /// The value. It lives until the execution ends.
    #[track_caller]
    pub fn get(&'static self) -> &'static T {
        let address = std::ptr::from_ref(self).addr();
        let known = with_thread(|_, thread| thread.known_lazies.borrow().contains(&address));
        if !known && !with_execution(|execution| execution.abandoned.get()) {
            self.make(address);
            with_thread(|_, thread| thread.known_lazies.borrow_mut().push(address));
        }
        self.find(address).unwrap_or_else(|| panic!("{AccessError}"))
    }

    #[track_caller]
    fn make(&'static self, address: usize) {
        let signal = Signal::opaque(static_cell(address, "lazy static", NOTHING, Location::caller()));
        match signal.exchange(NOTHING, UNDERWAY, [Ordering::Relaxed, Ordering::Acquire]) {
            NOTHING => {
                let value: Rc<dyn std::any::Any> = naming(address, || kept((self.init)()));
                with_execution(|execution| execution.lazies.borrow_mut().push((address, value)));
                signal.update(RmwOp::Swap, DONE, Ordering::Release);
            }
            UNDERWAY => {
                let done = Waits::For("a static to be made".to_string());
                signal.update_when_changed(UNDERWAY, RmwOp::Add, 0, done);
            }
            _ => {}
        }
    }

    fn find(&'static self, address: usize) -> Option<&'static T> {
        with_execution(|execution| {
            let lazies = execution.lazies.borrow();
            let value: *const T = lazies.iter().find(|lazy| lazy.0 == address)?.1.downcast_ref::<T>()?;
            // SAFETY: the execution keeps the value until every thread has ended; nothing of an execution outlives it.
            Some(unsafe { &*value })
        })
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lazy").finish_non_exhaustive()
    }
}
