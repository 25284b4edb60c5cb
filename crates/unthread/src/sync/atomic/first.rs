//! The value that an atomic begins with, if a constant expression made it.
//!
//! An atomic is as large as a word: some code under test insists on that. So the value is among the bits of its number as long as it has none, and must be
//! small. With feature `const-new`, by which every atomic is made like that, there is room for any value, and for where it was made.

use super::value::Value;
use crate::runtime::Number;
use std::panic::Location;

#[cfg(not(feature = "const-new"))]
mod kept {
    use super::*;
    use std::marker::PhantomData;

    /// Nothing but a type.
    pub(crate) struct First<T>(PhantomData<T>);

    impl<T: Value> First<T> {
        /// Of an atomic that a thread makes.
        pub(crate) fn none(_: T) -> First<T> {
            First(PhantomData)
        }

        /// Of a constant expression, by its number.
        pub(crate) const fn constant(_: T, number: i64) -> (Number, First<T>) {
            assert!(number << 1 >> 1 == number, "there is no room for so large a number without feature `const-new`");
            (Number::constant(number as u64 & (u64::MAX >> 1)), First(PhantomData))
        }

        /// As a number, for an atomic that has none of its own.
        pub(crate) fn number(&self, bits: u64) -> i64 {
            (bits << 1) as i64 >> 1
        }

        /// Where it was made.
        pub(crate) fn made_at(&self) -> Option<&'static Location<'static>> {
            None
        }
    }
}

#[cfg(feature = "const-new")]
mod kept {
    use super::*;

    /// The value.
    pub(crate) struct First<T> {
        value: T,
        /// Nothing if it is just zeroed memory.
        made_at: Option<&'static Location<'static>>,
    }

    impl<T: Value> First<T> {
        /// Of a constant expression.
        #[track_caller]
        pub(crate) const fn constant(value: T, _: i64) -> (Number, First<T>) {
            (Number::constant(0), First { value, made_at: Some(Location::caller()) })
        }

        /// As a number, for an atomic that has none of its own.
        pub(crate) fn number(&self, _: u64) -> i64 {
            self.value.number()
        }

        /// Where it was made.
        pub(crate) fn made_at(&self) -> Option<&'static Location<'static>> {
            self.made_at
        }
    }
}

pub(crate) use kept::First;
