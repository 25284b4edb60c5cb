//! A value that is made when it is first needed.

use super::OnceLock;
use crate::runtime::{Kind, Name};
use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A value that is made when it is first needed, as in [`std::sync`].
pub struct LazyLock<T, F = fn() -> T> {
    value: OnceLock<T>,
    name: Name,
    make: UnsafeCell<Option<F>>,
}

// SAFETY: the closure is taken under the lock of the `OnceLock`.
unsafe impl<T: Send + Sync, F: Send> Sync for LazyLock<T, F> {}

impl<T, F: FnOnce() -> T> LazyLock<T, F> {
    constructors! {
        /// The closure makes the value; that of a static in every execution.
        new(make: F) -> LazyLock<T, F> {
            LazyLock { value: OnceLock::new(), name: Name::new(Kind::LazyLock), make: UnsafeCell::new(Some(make)) }
        } const {
            LazyLock { value: OnceLock::const_new(), name: Name::constant(Kind::LazyLock), make: UnsafeCell::new(Some(make)) }
        }
    }

    /// The value.
    #[track_caller]
    pub fn force(this: &LazyLock<T, F>) -> &T {
        let make = this.name.data(this.make.get());
        // SAFETY: the closure is taken under the lock of the `OnceLock`, once.
        this.value.get_or_init(|| unsafe { (*make).take() }.expect("the value is made once")())
    }

    /// The value, for whoever has exclusive access.
    #[track_caller]
    pub fn force_mut(this: &mut LazyLock<T, F>) -> &mut T {
        LazyLock::force(this);
        this.value.get_mut().expect("it has been made")
    }
}

impl<T, F> LazyLock<T, F> {
    /// The value, if it has been made.
    #[track_caller]
    pub fn get(this: &LazyLock<T, F>) -> Option<&T> {
        this.value.get()
    }

    /// The value, if it has been made, for whoever has exclusive access.
    pub fn get_mut(this: &mut LazyLock<T, F>) -> Option<&mut T> {
        this.value.get_mut()
    }
}

impl<T: Default> Default for LazyLock<T> {
    #[track_caller]
    fn default() -> Self {
        LazyLock::new(T::default)
    }
}

impl<T, F: FnOnce() -> T> Deref for LazyLock<T, F> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        LazyLock::force(self)
    }
}

impl<T, F: FnOnce() -> T> DerefMut for LazyLock<T, F> {
    #[track_caller]
    fn deref_mut(&mut self) -> &mut T {
        LazyLock::force_mut(self)
    }
}

impl<T, F> fmt::Debug for LazyLock<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyLock").finish_non_exhaustive()
    }
}
