//! The weak shared pointer.

use super::Arc;
use super::arc::{Count, first_word};
use crate::runtime::{Seal, abandon_or, with_execution};
use std::fmt;
use std::mem::ManuallyDrop;
use unthread_checker::program::Ordering;

/// A pointer that does not keep its value, as in [`std::sync`].
pub struct Weak<T: ?Sized> {
    value: ManuallyDrop<std::sync::Weak<T>>,
    /// Nothing if it never pointed to anything.
    count: Option<Count>,
    /// The pointer is not followed when the reference itself is gone.
    seal: Seal,
}

impl<T> Weak<T> {
    /// A pointer to nothing.
    pub const fn new() -> Weak<T> {
        Weak { value: ManuallyDrop::new(std::sync::Weak::new()), count: None, seal: Seal::of_nothing() }
    }
}

impl<T: ?Sized> Weak<T> {
    #[track_caller]
    pub(super) fn of(value: std::sync::Weak<T>, count: Count) -> Weak<T> {
        Weak::sealed(value, Some(count))
    }

    #[track_caller]
    fn sealed(value: std::sync::Weak<T>, count: Option<Count>) -> Weak<T> {
        let value = ManuallyDrop::new(value);
        let seal = Seal::of(first_word(&value));
        Weak { value, count, seal }
    }

    /// The reference has not been dropped.
    #[track_caller]
    fn check(&self) {
        self.seal.check(first_word(&self.value), "weak reference");
    }

    /// The value, if it is still there.
    #[track_caller]
    pub fn upgrade(&self) -> Option<Arc<T>> {
        self.check();
        let count = self.count?;
        let there = abandon_or(true, || count.take_if_any());
        self.seal.check_again(first_word(&self.value), "weak reference");
        there.then(|| self.value.upgrade().map(|value| Arc::counted(value, count)))?
    }

    /// The number of strong references.
    #[track_caller]
    pub fn strong_count(&self) -> usize {
        self.check();
        self.count.map_or(0, |count| count.get() as usize)
    }

    /// The number of weak references; none once there is no strong one.
    #[track_caller]
    pub fn weak_count(&self) -> usize {
        match self.strong_count() {
            0 => 0,
            _ => {
                if let Some(counted) = self.count.and_then(Count::get_weak) {
                    return counted;
                }
                with_execution(|execution| execution.names.borrow_mut().mark_unfit("weak references are counted"));
                self.value.weak_count()
            }
        }
    }

    /// The raw pointer, to something that may have gone.
    #[track_caller]
    pub fn as_ptr(&self) -> *const T {
        self.check();
        self.value.as_ptr()
    }

    /// The raw pointer; the weak reference is kept by whoever holds it.
    pub fn into_raw(self) -> *const T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, and is not dropped.
        unsafe { ManuallyDrop::take(&mut this.value) }.into_raw()
    }

    /// The weak reference that was taken apart.
    ///
    /// # Safety
    /// The raw pointer comes from [`Weak::into_raw`], and each is put together once.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Weak<T> {
        // SAFETY: as the caller promises.
        Weak::sealed(unsafe { std::sync::Weak::from_raw(pointer) }, Count::of(pointer.addr()))
    }

    /// Whether two pointers point to the same value.
    pub fn ptr_eq(&self, other: &Weak<T>) -> bool {
        self.value.ptr_eq(&other.value)
    }
}

impl<T: ?Sized> Clone for Weak<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.check();
        match self.count {
            Some(count) => {
                count.change_weak(1, Ordering::Relaxed);
                Weak::sealed(std::sync::Weak::clone(&self.value), self.count)
            }
            None => Weak { value: self.value.clone(), count: None, seal: Seal::of_nothing() },
        }
    }
}

impl<T: ?Sized> Drop for Weak<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.check();
        if let Some(count) = self.count {
            count.change_weak(-1, Ordering::Release);
        }
        self.seal.end();
        // SAFETY: this is the end of `self`.
        unsafe { ManuallyDrop::drop(&mut self.value) };
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
