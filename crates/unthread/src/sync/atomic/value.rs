//! What all atomic types share: a cell of the machine that holds the value as a number.

use crate::runtime::{self, create_cell, defer_cell, happens, new_object, perform};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::Ordering;
use unthread_checker::execution::Operation;
use unthread_checker::program::{self, Access, Loc, RmwOp};

/// A type that fits a cell of the machine.
pub(crate) trait Value: Copy + PartialEq {
    /// What reports call its atomic.
    const KIND: &'static str;
    /// Bits, and whether it has a sign.
    const BITS: (u8, bool);
    /// As a number: equal values are equal numbers.
    fn number(self) -> i64;
    /// Back from a number.
    fn from_number(number: i64) -> Self;
}

/// An atomic value.
pub(crate) struct Atomic<T> {
    cell: Cell<u32>,
    /// The value is in `value`, and the cell is made when it is used next.
    outside: Cell<bool>,
    value: UnsafeCell<T>,
}

// SAFETY: all threads of an execution are coroutines on one OS thread, and they give way to one another only inside of operations.
unsafe impl<T: Send> Sync for Atomic<T> {}

/// An ordering, in the checker's words.
pub(crate) fn ordering(order: Ordering) -> program::Ordering {
    match order {
        Ordering::Relaxed => program::Ordering::Relaxed,
        Ordering::Acquire => program::Ordering::Acquire,
        Ordering::Release => program::Ordering::Release,
        Ordering::AcqRel => program::Ordering::AcqRel,
        _ => program::Ordering::SeqCst,
    }
}

impl<T: Value> Atomic<T> {
    #[track_caller]
    pub(crate) fn new(value: T) -> Atomic<T> {
        let cell = create_cell(T::KIND, value.number());
        Atomic { cell: Cell::new(cell), outside: Cell::new(false), value: UnsafeCell::new(value) }
    }

    #[track_caller]
    fn loc(&self) -> Loc {
        if self.outside.take() {
            // SAFETY: whoever had exclusive access has given it back, and nobody writes `value` without.
            defer_cell(self.cell.get(), unsafe { *self.value.get() }.number());
        }
        Loc::global(self.cell.get() as usize)
    }

    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> T {
        assert!(!matches!(order, Ordering::Release | Ordering::AcqRel), "there is no such thing as a release load");
        let (loc, ordering) = (self.loc(), ordering(order));
        T::from_number(perform(Operation::Read { loc, ordering, access: Access::Atomic }))
    }

    /// A read that is not atomic: it races with writes.
    #[track_caller]
    pub(crate) fn unsync_load(&self) -> T {
        let (loc, ordering) = (self.loc(), program::Ordering::Relaxed);
        T::from_number(perform(Operation::Read { loc, ordering, access: Access::Plain }))
    }

    #[track_caller]
    pub(crate) fn store(&self, value: T, order: Ordering) {
        assert!(!matches!(order, Ordering::Acquire | Ordering::AcqRel), "there is no such thing as an acquire store");
        let (loc, ordering, value) = (self.loc(), ordering(order), value.number());
        perform(Operation::Write { loc, value, ordering, access: Access::Atomic });
    }

    #[track_caller]
    pub(crate) fn update(&self, op: RmwOp, operand: T, order: Ordering) -> T {
        let (loc, ordering) = (self.loc(), ordering(order));
        T::from_number(perform(Operation::Rmw { loc, op, operand: operand.number(), ordering }))
    }

    #[track_caller]
    pub(crate) fn exchange(&self, expected: T, desired: T, order: Ordering) -> Result<T, T> {
        let (loc, ordering) = (self.loc(), ordering(order));
        let old = perform(Operation::Cas { loc, expected: expected.number(), desired: desired.number(), ordering });
        let old = T::from_number(old);
        if old == expected { Ok(old) } else { Err(old) }
    }

    /// May fail though the value is the expected one.
    #[track_caller]
    pub(crate) fn exchange_weak(&self, expected: T, desired: T, order: Ordering) -> Result<T, T> {
        if happens(|thread| &thread.failures_left) {
            return Err(self.load(Ordering::Relaxed));
        }
        self.exchange(expected, desired, order)
    }

    /// The value, for whoever has exclusive access. It goes back to a cell when it is used again.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        if !self.outside.get() {
            let value = self.unsync_load();
            self.cell.set(new_object(T::KIND));
            *self.value.get_mut() = value;
            self.outside.set(true);
        }
        self.value.get_mut()
    }

    #[track_caller]
    pub(crate) fn into_inner(mut self) -> T {
        *self.get_mut()
    }

    /// What is there, for printing: not an operation.
    pub(crate) fn peek(&self) -> T {
        if self.outside.get() {
            // SAFETY: as in `loc`.
            return unsafe { *self.value.get() };
        }
        let cell = self.cell.get() as usize;
        let number = runtime::with_execution(|execution| execution.mirror.borrow().get(cell).copied());
        number.map_or(T::from_number(0), T::from_number)
    }
}

/// What the atomic types have in common, by delegation to [`Atomic`].
macro_rules! common_methods {
    ($value:ty) => {
        /// A new atomic with a value.
        #[track_caller]
        pub fn new(value: $value) -> Self {
            Self { inner: Atomic::new(value) }
        }

        /// Reads the value.
        #[track_caller]
        pub fn load(&self, order: Ordering) -> $value {
            self.inner.load(order)
        }

        /// Reads the value without synchronisation: it is a data race if others write it at the same time.
        ///
        /// # Safety
        /// The caller knows that nobody writes. (The check finds out if that is wrong.)
        #[track_caller]
        pub unsafe fn unsync_load(&self) -> $value {
            self.inner.unsync_load()
        }

        /// Writes the value.
        #[track_caller]
        pub fn store(&self, value: $value, order: Ordering) {
            self.inner.store(value, order);
        }

        /// Writes the value and gives the old one.
        #[track_caller]
        pub fn swap(&self, value: $value, order: Ordering) -> $value {
            self.inner.update(RmwOp::Swap, value, order)
        }

        /// Writes `new` if the value is `current`. Gives the old value.
        #[track_caller]
        #[deprecated = "use `compare_exchange`"]
        pub fn compare_and_swap(&self, current: $value, new: $value, order: Ordering) -> $value {
            self.inner.exchange(current, new, order).unwrap_or_else(|old| old)
        }

        /// Writes `new` if the value is `current`. Gives the old value: `Ok` if it was written.
        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            _: Ordering,
        ) -> Result<$value, $value> {
            self.inner.exchange(current, new, success)
        }

        /// Like [`Self::compare_exchange`], but it may fail without a reason.
        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            _: Ordering,
        ) -> Result<$value, $value> {
            self.inner.exchange_weak(current, new, success)
        }

        /// Tries to change the value with a function until nobody comes in between, or until it gives nothing.
        #[track_caller]
        pub fn fetch_update(
            &self,
            set: Ordering,
            fetch: Ordering,
            mut f: impl FnMut($value) -> Option<$value>,
        ) -> Result<$value, $value> {
            let mut old = self.load(fetch);
            while let Some(new) = f(old) {
                match self.inner.exchange_weak(old, new, set) {
                    Ok(old) => return Ok(old),
                    Err(now) => old = now,
                }
            }
            Err(old)
        }

        /// The value, for whoever has exclusive access.
        #[track_caller]
        pub fn get_mut(&mut self) -> &mut $value {
            self.inner.get_mut()
        }

        /// Changes the value with exclusive access.
        #[track_caller]
        pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
            f(self.inner.get_mut())
        }

        /// The value; the atomic is no more.
        #[track_caller]
        pub fn into_inner(self) -> $value {
            self.inner.into_inner()
        }
    };
}
pub(crate) use common_methods;
