//! The weak shared pointer.

use super::Arc;
use super::arc::Count;
use crate::runtime::{abandon_or, with_execution};
use std::fmt;

/// A pointer that does not keep its value, as in [`std::sync`].
pub struct Weak<T: ?Sized> {
    value: std::sync::Weak<T>,
    /// Nothing if it never pointed to anything.
    count: Option<Count>,
}

impl<T> Weak<T> {
    /// A pointer to nothing.
    pub const fn new() -> Weak<T> {
        Weak { value: std::sync::Weak::new(), count: None }
    }
}

impl<T: ?Sized> Weak<T> {
    pub(super) fn of(value: std::sync::Weak<T>, count: Count) -> Weak<T> {
        Weak { value, count: Some(count) }
    }

    /// The value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        let count = self.count?;
        let there = abandon_or(true, || count.take_if_any());
        there.then(|| self.value.upgrade().map(|value| Arc::counted(value, count)))?
    }

    /// The number of strong references.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.count.map_or(0, |count| count.get() as usize)
    }

    /// The number of weak references; none once there is no strong one.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        match self.strong_count() {
            0 => 0,
            _ => {
                with_execution(|execution| execution.names.borrow_mut().mark_unfit("weak references are counted"));
                self.value.weak_count()
            }
        }
    }

    /// The raw pointer, to something that may have gone.
    pub fn as_ptr(&self) -> *const T {
        self.value.as_ptr()
    }

    /// The raw pointer; the weak reference is kept by whoever holds it.
    pub fn into_raw(self) -> *const T {
        self.value.into_raw()
    }

    /// The weak reference that was taken apart.
    ///
    /// # Safety
    /// The raw pointer comes from [`Weak::into_raw`], and each is put together once.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Weak<T> {
        // SAFETY: as the caller promises.
        Weak { value: unsafe { std::sync::Weak::from_raw(pointer) }, count: Count::of(pointer.addr()) }
    }

    /// Whether two pointers point to the same value.
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    fn clone(&self) -> Self {
        Weak { value: self.value.clone(), count: self.count }
    }
}

impl<T> Default for Weak<T> {
    fn default() -> Self {
        Weak::new()
    }
}

impl<T: ?Sized> fmt::Debug for Weak<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(Weak)")
    }
}
