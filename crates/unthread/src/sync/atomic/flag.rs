//! The atomic `bool`.

use super::value::{Atomic, Orders, Value, common_methods};
use crate::runtime::Number;
use std::fmt;
use std::sync::atomic::Ordering;
use unthread_checker::program::RmwOp;

impl Value for bool {
    const KIND: &'static str = "AtomicBool";
    const BITS: (u8, bool) = (1, false);

    fn number(self) -> i64 {
        self.into()
    }

    fn from_number(number: i64) -> bool {
        number != 0
    }
}

/// An atomic `bool`, as in [`std::sync::atomic`].
#[repr(transparent)]
pub struct AtomicBool {
    inner: Atomic<bool>,
}

impl AtomicBool {
    common_methods!(bool, value => Number::constant(value as u64));

    /// Logical and; gives the old value.
    #[track_caller]
    pub fn fetch_and(&self, value: bool, order: Ordering) -> bool {
        self.inner.update(RmwOp::And, value, order)
    }

    /// Logical nand; gives the old value.
    #[track_caller]
    pub fn fetch_nand(&self, value: bool, order: Ordering) -> bool {
        self.inner.update(RmwOp::Typed { op: &RmwOp::Nand, bits: 1, signed: false }, value, order)
    }

    /// Logical or; gives the old value.
    #[track_caller]
    pub fn fetch_or(&self, value: bool, order: Ordering) -> bool {
        self.inner.update(RmwOp::Or, value, order)
    }

    /// Logical exclusive or; gives the old value.
    #[track_caller]
    pub fn fetch_xor(&self, value: bool, order: Ordering) -> bool {
        self.inner.update(RmwOp::Xor, value, order)
    }

    /// Negates the value; gives the old one.
    #[track_caller]
    pub fn fetch_not(&self, order: Ordering) -> bool {
        self.fetch_xor(true, order)
    }
}

impl Default for AtomicBool {
    #[track_caller]
    fn default() -> Self {
        Self::new(false)
    }
}

impl From<bool> for AtomicBool {
    #[track_caller]
    fn from(value: bool) -> Self {
        Self::new(value)
    }
}

impl fmt::Debug for AtomicBool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.peek().fmt(f)
    }
}
