//! The atomic pointer.

use super::value::{Atomic, Orders, Value, common_methods};
use crate::runtime::Number;
use std::fmt;
use std::sync::atomic::Ordering;
use unthread_checker::program::RmwOp;

impl<T> Value for *mut T {
    const KIND: &'static str = "AtomicPtr";
    const BITS: (u8, bool) = (usize::BITS as u8, false);

    fn number(self) -> i64 {
        self.expose_provenance() as i64
    }

    fn from_number(number: i64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(number as usize)
    }
}

/// An atomic pointer, as in [`std::sync::atomic`].
#[repr(transparent)]
pub struct AtomicPtr<T> {
    inner: Atomic<*mut T>,
}

// SAFETY: as for the standard atomic pointer: it hands out pointers, and what is done with them is up to others.
unsafe impl<T> Send for AtomicPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for AtomicPtr<T> {}

impl<T> AtomicPtr<T> {
    common_methods!(*mut T, pointer => Number::of_pointer(pointer));

    /// Moves the pointer on by so many bytes; gives the old one.
    #[track_caller]
    pub fn fetch_byte_add(&self, bytes: usize, order: Ordering) -> *mut T {
        self.inner.update(RmwOp::Add, Value::from_number(bytes as i64), order)
    }

    /// Moves the pointer back by so many bytes; gives the old one.
    #[track_caller]
    pub fn fetch_byte_sub(&self, bytes: usize, order: Ordering) -> *mut T {
        self.inner.update(RmwOp::Sub, Value::from_number(bytes as i64), order)
    }

    /// Moves the pointer on by so many elements; gives the old one.
    #[track_caller]
    pub fn fetch_ptr_add(&self, elements: usize, order: Ordering) -> *mut T {
        self.fetch_byte_add(elements.wrapping_mul(size_of::<T>()), order)
    }

    /// Moves the pointer back by so many elements; gives the old one.
    #[track_caller]
    pub fn fetch_ptr_sub(&self, elements: usize, order: Ordering) -> *mut T {
        self.fetch_byte_sub(elements.wrapping_mul(size_of::<T>()), order)
    }

    /// Sets bits of the address, for tags; gives the old pointer.
    #[track_caller]
    pub fn fetch_or(&self, bits: usize, order: Ordering) -> *mut T {
        self.inner.update(RmwOp::Or, Value::from_number(bits as i64), order)
    }

    /// Keeps only these bits of the address; gives the old pointer.
    #[track_caller]
    pub fn fetch_and(&self, bits: usize, order: Ordering) -> *mut T {
        self.inner.update(RmwOp::And, Value::from_number(bits as i64), order)
    }

    /// Flips bits of the address; gives the old pointer.
    #[track_caller]
    pub fn fetch_xor(&self, bits: usize, order: Ordering) -> *mut T {
        self.inner.update(RmwOp::Xor, Value::from_number(bits as i64), order)
    }
}

impl<T> Default for AtomicPtr<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new(std::ptr::null_mut())
    }
}

impl<T> From<*mut T> for AtomicPtr<T> {
    #[track_caller]
    fn from(value: *mut T) -> Self {
        Self::new(value)
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.peek().fmt(f)
    }
}

impl<T> fmt::Pointer for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Pointer::fmt(&self.inner.peek(), f)
    }
}
