//! What all atomic types share: a cell of the machine that holds the value as a number.

use crate::runtime::{
    Number, Unnamed, close_if_written, defer_cell, find_cell, happens, has_language, new_object, perform,
    static_number, with_current, with_execution,
};
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use unthread_checker::base::Loc;
use unthread_checker::execution::Operation;
use unthread_checker::program;
use unthread_checker::program::{Access, RmwOp};

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

/// An atomic value, which the machine holds.
#[repr(transparent)]
pub(crate) struct Atomic<T> {
    pub(super) cell: Number,
    value: PhantomData<T>,
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

/// The orderings of a compare-exchange: of one that stores, and of one that does not.
#[derive(Clone, Copy)]
pub(crate) struct Orders {
    pub(crate) success: Ordering,
    pub(crate) failure: Ordering,
}

impl Orders {
    /// Both, of one that was given only the first.
    pub(crate) fn of(success: Ordering) -> Orders {
        let failure = match success {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Relaxed,
            other => other,
        };
        Orders { success, failure }
    }
}

/// What reads cannot have; in the standard library's words.
#[track_caller]
fn require_read(order: Ordering, what: &str) {
    match order {
        Ordering::Release => panic!("there is no such thing as a release {what}"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release {what}"),
        _ => {}
    }
}

/// What stores cannot have; in the standard library's words.
#[track_caller]
fn require_store(order: Ordering) {
    match order {
        Ordering::Acquire => panic!("there is no such thing as an acquire store"),
        Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
        _ => {}
    }
}

impl<T: Value> Atomic<T> {
    #[cfg(not(feature = "const-new"))]
    #[track_caller]
    pub(crate) fn new(value: T) -> Atomic<T> {
        Atomic::constant(Number::made(crate::runtime::create_cell(T::KIND, value.number())))
    }

    /// For a constant expression.
    pub(crate) const fn constant(cell: Number) -> Atomic<T> {
        Atomic { cell, value: PhantomData }
    }

    /// The value that a constant expression gave it, if one did; of what is no static, only before it is used.
    fn first_value(&self) -> Option<i64> {
        self.cell.own_bits().map(|bits| bits as i64)
    }

    /// The number of its cell.
    #[track_caller]
    fn cell(&self) -> u32 {
        self.cell.get(|| Unnamed {
            address: std::ptr::from_ref(self).addr(),
            kind: T::KIND,
            value: self.first_value().unwrap_or_default(),
            made_at: None,
        })
    }

    /// Its cell. Not inlined: whether it is used for the first time must not be seen on the caller's stack.
    #[track_caller]
    #[inline(never)]
    fn loc(&self) -> Loc {
        let cell = self.cell_now();
        let written = close_if_written(cell).map(|view| self.begin_anew(view));
        Loc::global(written.unwrap_or(cell) as usize)
    }

    /// The number of its cell, which has the value again.
    #[track_caller]
    pub(super) fn cell_now(&self) -> u32 {
        if let Some(cell) = self.cell.lent() {
            // SAFETY: whoever had exclusive access has given it back, and nobody writes the value without.
            let value = unsafe { lent_value::<T>(cell).read() };
            self.cell.take_back();
            find_cell(cell, value.number());
        }
        self.cell()
    }

    #[track_caller]
    pub(crate) fn load(&self, order: Ordering) -> T {
        require_read(order, "load");
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
        require_store(order);
        let (loc, ordering, value) = (self.loc(), ordering(order), value.number());
        perform(Operation::Write { loc, value, ordering, access: Access::Atomic });
    }

    #[track_caller]
    pub(crate) fn update(&self, op: RmwOp, operand: T, order: Ordering) -> T {
        let (loc, ordering) = (self.loc(), ordering(order));
        T::from_number(perform(Operation::Rmw { loc, op, operand: operand.number(), ordering }))
    }

    #[track_caller]
    pub(crate) fn exchange(&self, expected: T, desired: T, orders: Orders) -> Result<T, T> {
        require_read(orders.failure, "failure ordering");
        let (loc, success, failure) = (self.loc(), ordering(orders.success), ordering(orders.failure));
        let (wanted, new) = (expected.number(), desired.number());
        let old = perform(Operation::Cas { loc, expected: wanted, desired: new, success, failure });
        let old = T::from_number(old);
        if old == expected { Ok(old) } else { Err(old) }
    }

    /// May fail though the value is the expected one.
    #[track_caller]
    pub(crate) fn exchange_weak(&self, expected: T, desired: T, orders: Orders) -> Result<T, T> {
        require_read(orders.failure, "failure ordering");
        if happens(|thread| &thread.failures_left) {
            return Err(self.load(orders.failure));
        }
        self.exchange(expected, desired, orders)
    }

    /// The value, for whoever has exclusive access. It goes back to a cell when it is used again.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut T {
        let value = self.cell.lent().is_none().then(|| self.unsync_load());
        if value.is_some() {
            let lent = new_object(T::KIND);
            if has_language() {
                // Whoever uses it next comes after this.
                defer_cell(lent, 0);
            }
            self.cell.lend(lent);
        }
        let lent = lent_value::<T>(self.cell.lent().expect("it has just been lent"));
        // SAFETY: the word stays where it is, belongs to this atomic alone as long as the execution lives, and holds a value from here on.
        unsafe {
            value.into_iter().for_each(|value| lent.write(value));
            &mut *lent
        }
    }

    #[track_caller]
    pub(crate) fn into_inner(mut self) -> T {
        *self.get_mut()
    }

    /// What is there, for printing: not an operation.
    pub(crate) fn peek(&self) -> T {
        if let Some(cell) = self.cell.lent() {
            // SAFETY: as in `loc`.
            return unsafe { lent_value::<T>(cell).read() };
        }
        let known =
            |cell: u32| with_current(|execution, _| execution.mirror.borrow().get(cell as usize).copied()).flatten();
        let number = match self.first_value() {
            Some(first) => static_number(std::ptr::from_ref(self).addr()).and_then(known).unwrap_or(first),
            None => self.cell.known().and_then(known).unwrap_or_default(),
        };
        T::from_number(number)
    }
}

/// Where the value of an atomic is while somebody has exclusive access.
fn lent_value<T>(cell: u32) -> *mut T {
    const { assert!(size_of::<T>() <= size_of::<u64>() && align_of::<T>() <= align_of::<u64>()) };
    with_execution(|execution| {
        let mut lent = execution.lent.borrow_mut();
        lent.entry(cell).or_default().get().cast()
    })
}

/// What the atomic types have in common, by delegation to [`Atomic`].
macro_rules! common_methods {
    ($value:ty, $first:ident => $number:expr) => {
        constructors! {
            /// A new atomic with a value.
            new($first: $value) -> Self {
                Self { inner: Atomic::new($first) }
            } const {
                Self { inner: Atomic::constant($number) }
            }
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
            self.inner.exchange(current, new, Orders::of(order)).unwrap_or_else(|old| old)
        }

        /// Writes `new` if the value is `current`. Gives the old value: `Ok` if it was written.
        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            self.inner.exchange(current, new, Orders { success, failure })
        }

        /// Like [`Self::compare_exchange`], but it may fail without a reason.
        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            self.inner.exchange_weak(current, new, Orders { success, failure })
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
                match self.inner.exchange_weak(old, new, Orders { success: set, failure: fetch }) {
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

        /// A raw pointer to the value. What is read there is not seen by the check; what is written there is, when the thread does something else.
        #[track_caller]
        pub fn as_ptr(&self) -> *mut $value {
            self.inner.as_ptr()
        }

        /// An atomic whose value is in that memory.
        ///
        /// # Safety
        /// As for the standard atomics: the memory is there and aligned as long as the atomic is used, and nobody accesses it in another way at the same time. Nor may
        /// the atomic be used when the execution is over.
        #[track_caller]
        pub unsafe fn from_ptr<'a>(pointer: *mut $value) -> &'a Self {
            // SAFETY: as the caller promises; both types are represented alike.
            unsafe { &*std::ptr::from_ref(Atomic::from_ptr(pointer)).cast::<Self>() }
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
