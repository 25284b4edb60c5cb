//! Atomic integers.

use super::value::{Atomic, Orders, Value, common_methods};
use crate::runtime::Number;
use std::fmt;
use std::sync::atomic::Ordering;
use unthread_checker::program::RmwOp;

macro_rules! integers {
    ($($atomic:ident, $int:ident, $signed:literal;)*) => {$(
        impl Value for $int {
            const KIND: &'static str = stringify!($atomic);
            const BITS: (u8, bool) = ($int::BITS as u8, $signed);

            fn number(self) -> i64 {
                self as i64
            }

            fn from_number(number: i64) -> $int {
                number as $int
            }
        }

        #[doc = concat!("An atomic `", stringify!($int), "`, as in [`std::sync::atomic`].")]
        #[repr(transparent)]
        pub struct $atomic {
            inner: Atomic<$int>,
        }

        impl $atomic {
            common_methods!($int, value => Number::constant(value as i64 as u64));

            integers!(@fetch $int, fetch_add, Add, "Adds, and gives the old value. It wraps around.");
            integers!(@fetch $int, fetch_sub, Sub, "Subtracts, and gives the old value. It wraps around.");
            integers!(@fetch $int, fetch_and, And, "Bitwise and; gives the old value.");
            integers!(@fetch $int, fetch_nand, Nand, "Bitwise nand; gives the old value.");
            integers!(@fetch $int, fetch_or, Or, "Bitwise or; gives the old value.");
            integers!(@fetch $int, fetch_xor, Xor, "Bitwise exclusive or; gives the old value.");
            integers!(@fetch $int, fetch_max, Max, "The larger one stays; gives the old value.");
            integers!(@fetch $int, fetch_min, Min, "The smaller one stays; gives the old value.");
        }

        impl Default for $atomic {
            #[track_caller]
            fn default() -> Self {
                Self::new(0)
            }
        }

        impl From<$int> for $atomic {
            #[track_caller]
            fn from(value: $int) -> Self {
                Self::new(value)
            }
        }

        impl fmt::Debug for $atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.peek().fmt(f)
            }
        }
    )*};
    (@fetch $int:ident, $name:ident, $op:ident, $doc:literal) => {
        #[doc = $doc]
        #[track_caller]
        pub fn $name(&self, value: $int, order: Ordering) -> $int {
            let (bits, signed) = <$int as Value>::BITS;
            self.inner.update(RmwOp::Typed { op: &RmwOp::$op, bits, signed }, value, order)
        }
    };
}

integers! {
    AtomicI8, i8, true;
    AtomicI16, i16, true;
    AtomicI32, i32, true;
    AtomicI64, i64, true;
    AtomicIsize, isize, true;
    AtomicU8, u8, false;
    AtomicU16, u16, false;
    AtomicU32, u32, false;
    AtomicU64, u64, false;
    AtomicUsize, usize, false;
}
