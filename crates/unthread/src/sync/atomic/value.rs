//! What all atomic types share: a cell of the machine that holds the value as a number.

use crate::runtime::{self, create_cell, defer_cell, draw_name, happens, is_static, new_object, perform, static_cell};
use std::cell::Cell;
use std::marker::PhantomData;
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

/// An atomic value. As large as a word: some code under test insists on that.
pub(crate) struct Atomic<T> {
    /// The number of its cell; or `CONSTANT` and the first value, if a constant expression made it; and `OUTSIDE`, if somebody has exclusive access to the value and the cell is made when it is used next.
    cell: Cell<u64>,
    value: PhantomData<T>,
}

const OUTSIDE: u64 = 1 << 32;
const CONSTANT: u64 = 1 << 63;

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
        Atomic { cell: Cell::new(cell.into()), value: PhantomData }
    }

    /// For a constant expression.
    pub(crate) const fn constant(value: i64) -> Atomic<T> {
        assert!(value << 1 >> 1 == value, "there is no room for so large a number in a static");
        Atomic { cell: Cell::new(CONSTANT | value as u64), value: PhantomData }
    }

    /// The value that a constant expression gave it, if one did; of what is no static, only before it is used.
    fn first_value(&self) -> Option<i64> {
        let cell = self.cell.get();
        (cell & CONSTANT != 0).then_some((cell << 1) as i64 >> 1)
    }

    /// The number of its cell, if it is a static, or has not been used yet.
    #[track_caller]
    fn cell_of_constant(&self) -> Option<u32> {
        let (value, address) = (self.first_value()?, std::ptr::from_ref(self).addr());
        if is_static(address) {
            return Some(static_cell(address, T::KIND, value));
        }
        let keep = |drawn: u32| match self.first_value() {
            Some(value) => {
                self.cell.set(drawn.into());
                Ok(value)
            }
            None => Err(self.cell.get() as u32),
        };
        Some(draw_name(T::KIND, keep))
    }

    #[track_caller]
    fn loc(&self) -> Loc {
        if let Some(cell) = self.cell_of_constant() {
            return Loc::global(cell as usize);
        }
        let cell = self.cell.get();
        if cell & OUTSIDE == 0 {
            return Loc::global(cell as usize);
        }
        // SAFETY: whoever had exclusive access has given it back, and nobody writes the value without.
        let value = unsafe { self.outside().read() };
        self.cell.set(cell & !OUTSIDE);
        defer_cell(cell as u32, value.number());
        Loc::global((cell & !OUTSIDE) as usize)
    }

    /// Where the value is while somebody has exclusive access.
    fn outside(&self) -> *mut T {
        const { assert!(size_of::<T>() <= size_of::<u64>() && align_of::<T>() <= align_of::<u64>()) };
        runtime::with_execution(|execution| {
            let mut outside = execution.outside.borrow_mut();
            let word = outside.entry(self.cell.get() as u32).or_default();
            std::ptr::from_mut::<u64>(&mut **word).cast()
        })
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
        let is_outside = self.cell.get() & (OUTSIDE | CONSTANT) == OUTSIDE;
        let value = (!is_outside).then(|| self.unsync_load());
        if !is_outside {
            self.cell.set(u64::from(new_object(T::KIND)) | OUTSIDE);
        }
        let outside = self.outside();
        // SAFETY: the word is boxed, belongs to this atomic alone as long as the execution lives, and holds a value from here on.
        unsafe {
            value.into_iter().for_each(|value| outside.write(value));
            &mut *outside
        }
    }

    #[track_caller]
    pub(crate) fn into_inner(mut self) -> T {
        *self.get_mut()
    }

    /// What is there, for printing: not an operation.
    pub(crate) fn peek(&self) -> T {
        if self.cell.get() & (OUTSIDE | CONSTANT) == OUTSIDE {
            // SAFETY: as in `loc`.
            return unsafe { self.outside().read() };
        }
        let is_unused = self.first_value().filter(|_| !is_static(std::ptr::from_ref(self).addr()));
        if let Some(value) = is_unused {
            return T::from_number(value);
        }
        let cell = self.cell_of_constant().unwrap_or(self.cell.get() as u32) as usize;
        let number = runtime::with_execution(|execution| execution.mirror.borrow().get(cell).copied());
        number.map_or(T::from_number(0), T::from_number)
    }
}

/// What the atomic types have in common, by delegation to [`Atomic`].
macro_rules! common_methods {
    ($value:ty, $first:ident => $number:expr) => {
        /// A static with a value: `static S: AtomicUsize = AtomicUsize::const_new(0)`. In every execution it begins with that value. What is
        /// no static gets its name when it is first used, which others can see: `new` needs fewer executions.
        pub const fn const_new($first: $value) -> Self {
            Self { inner: Atomic::constant($number) }
        }

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

        /// [`Self::fetch_update`] by another name.
        #[track_caller]
        pub fn try_update(
            &self,
            set: Ordering,
            fetch: Ordering,
            f: impl FnMut($value) -> Option<$value>,
        ) -> Result<$value, $value> {
            self.fetch_update(set, fetch, f)
        }

        /// Changes the value with a function, as often as others come in between. Gives the old value.
        #[track_caller]
        pub fn update(&self, set: Ordering, fetch: Ordering, mut f: impl FnMut($value) -> $value) -> $value {
            self.fetch_update(set, fetch, |old| Some(f(old))).unwrap_or_else(|old| old)
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
