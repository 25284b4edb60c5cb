//! The shared pointer, whose references are counted by the machine.
//!
//! That a thread takes or gives back a reference is an operation that others can see, but only who gives back the last one can be told from the rest.
//! An `Arc` that is still there when everything has ended is leaked: a violation.

mod conversions;
mod last;
mod traits;

use super::Weak;
use crate::runtime::{
    Seal, abandon_or, create_cell, forget_block, has_language, in_execution, is_live, note_block, perform,
    with_execution,
};
use last::sees_last;
use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use unthread_checker::base::Loc;
use unthread_checker::execution::Operation;
use unthread_checker::program::{Access, Ordering, RmwOp};

/// A shared pointer, as in [`std::sync`].
///
/// Only the standard pointer becomes an `Arc<dyn Trait>` or an `Arc<[T]>` by itself. Where the compiler says "expected `Arc<dyn Trait>`, found `Arc<Type>`", [`Arc::coerce`] is what is missing;
/// arrays, errors and [`Any`] also have `into`.
///
/// ```
/// use unthread::sync::Arc;
/// # unthread::model(|| {
/// let number: Arc<dyn std::fmt::Display> = Arc::coerce(Arc::new(7), |number| number);
/// assert_eq!(number.to_string(), "7");
/// # });
/// ```
#[doc(alias = "CoerceUnsized")]
#[doc(alias = "unsize")]
pub struct Arc<T: ?Sized> {
    /// Counts along, and owns the value.
    value: ManuallyDrop<std::sync::Arc<T>>,
    count: Count,
    /// Its number among all references to the value.
    reference: u32,
    /// The pointer is not followed when the reference itself is gone.
    seal: Seal,
}

/// The machine's count of strong references. Where it matters who sees what when, that of weak ones, too, with the orderings of the standard library.
#[derive(Clone, Copy)]
pub(super) struct Count {
    strong: u32,
    /// 0 if weak references are not counted.
    weak: u32,
}

impl Count {
    /// The count of the references to what is at an address, if there are any.
    #[track_caller]
    pub(super) fn of(address: usize) -> Option<Count> {
        with_execution(|execution| {
            execution.names.borrow_mut().mark_unfit("references are kept as raw pointers");
            execution.counts.borrow().get(&address).map(|&[strong, weak]| Count { strong, weak })
        })
    }

    /// New counts.
    #[track_caller]
    fn new(strong: i64, weak: i64) -> Count {
        Count {
            strong: create_cell("Arc", strong),
            weak: if has_language() { create_cell("weak count", weak) } else { 0 },
        }
    }

    fn strong(self) -> Loc {
        Loc::global(self.strong as usize)
    }

    /// The count of weak references, if it matters.
    fn weak(self) -> Option<Loc> {
        (self.weak != 0 && is_live()).then(|| Loc::global(self.weak as usize))
    }

    #[track_caller]
    fn load(loc: Loc, ordering: Ordering) -> i64 {
        perform(Operation::Read { loc, ordering, access: Access::Atomic })
    }

    /// A weak reference is made or given back.
    #[track_caller]
    pub(super) fn change_weak(self, by: i64, ordering: Ordering) {
        if let Some(loc) = self.weak() {
            perform(Operation::Rmw { loc, op: RmwOp::Add, operand: by, ordering });
        }
    }

    /// The number of weak references, if they are counted.
    #[track_caller]
    pub(super) fn get_weak(self) -> Option<usize> {
        // Not in a closure: who calls is the place.
        let loc = self.weak()?;
        Some(Count::load(loc, Ordering::Relaxed) as usize)
    }

    /// Whether there is one reference only.
    #[track_caller]
    fn is_only(self) -> bool {
        let Some(loc) = self.weak() else { return self.get() == 1 };
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        perform(Operation::Cas { loc, expected: 0, desired: 0, success, failure }) == 0
            && Count::load(self.strong(), Ordering::Acquire) == 1
    }

    /// The only reference, which was given back, is there again.
    #[track_caller]
    fn put_back(self) {
        let (loc, ordering, access) = (self.strong(), Ordering::Release, Access::Atomic);
        perform(Operation::Write { loc, value: 1, ordering, access });
    }

    #[track_caller]
    fn change(self, by: i64, reference: u32, sees_last: bool) -> i64 {
        perform(Operation::Count { loc: self.strong(), by, reference, sees_last })
    }

    /// The number of references.
    #[track_caller]
    pub(super) fn get(self) -> i64 {
        if self.weak().is_some() { Count::load(self.strong(), Ordering::Relaxed) } else { self.change(0, 0, true) }
    }

    /// Takes a reference. Gives its number. It may make a difference which is the last.
    #[track_caller]
    fn take(self, sees_last: bool) -> u32 {
        let reference = new_reference();
        self.change(1, reference, sees_last);
        reference
    }

    /// Gives a reference back. It may make a difference whether it is the last.
    #[track_caller]
    fn give_back(self, reference: u32, sees_last: bool) {
        abandon_or(0, || self.change(-1, reference, sees_last));
    }

    /// Takes a reference if there are any.
    #[track_caller]
    pub(super) fn take_if_any(self) -> bool {
        let mut count = self.get();
        while count > 0 {
            let expected = count;
            count = self.exchange(expected, expected + 1);
            if count == expected {
                return true;
            }
        }
        false
    }

    /// Gives the only reference back, if it is the only one.
    #[track_caller]
    fn give_back_if_only(self) -> bool {
        self.exchange(1, 0) == 1
    }

    /// Changes the number of references if it is the expected one. Gives what it was.
    #[track_caller]
    fn exchange(self, expected: i64, desired: i64) -> i64 {
        let (loc, success, failure) = (self.strong(), Ordering::Acquire, Ordering::Relaxed);
        perform(Operation::Cas { loc, expected, desired, success, failure })
    }
}

impl<T> Arc<T> {
    /// A pointer to a value.
    #[track_caller]
    pub fn new(value: T) -> Arc<T> {
        Arc::from_std(std::sync::Arc::new(value))
    }

    /// The same pointer, to the value as something unsized, as the standard pointer becomes one by itself: `let shape: Arc<dyn Shape> = Arc::coerce(circle, |shape| shape)`.
    ///
    /// # Panics
    /// If what the function gives is another pointer than the one that it was given.
    #[doc(alias = "CoerceUnsized")]
    #[doc(alias = "unsize")]
    #[track_caller]
    pub fn coerce<U: ?Sized>(this: Arc<T>, as_other: fn(std::sync::Arc<T>) -> std::sync::Arc<U>) -> Arc<U> {
        let address = Arc::as_ptr(&this).addr();
        this.into_type(|value| {
            let other = as_other(value);
            assert!(std::sync::Arc::as_ptr(&other).addr() == address, "the pointer must stay the same");
            other
        })
    }

    /// A pinned pointer to a value.
    #[track_caller]
    pub fn pin(value: T) -> Pin<Arc<T>> {
        // SAFETY: the value does not move: it is behind a pointer and is dropped in place.
        unsafe { Pin::new_unchecked(Arc::new(value)) }
    }

    /// A pointer to a value that has a weak pointer to itself.
    #[track_caller]
    pub fn new_cyclic(make: impl FnOnce(&Weak<T>) -> T) -> Arc<T> {
        let count = Count::new(0, 1);
        let value = std::sync::Arc::new_cyclic(|weak| make(&Weak::of(weak.clone(), count)));
        let reference = count.take(sees_last::<T>());
        Arc::watched(value, count, reference)
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn try_unwrap(this: Arc<T>) -> Result<T, Arc<T>> {
        match this.count.give_back_if_only() {
            true => Ok(Arc::take_last(this)),
            false => Err(this),
        }
    }

    /// The value of the last reference, which has been given back.
    fn take_last(this: Arc<T>) -> T {
        let (value, _) = this.take_apart();
        forget_if_last(&value);
        std::sync::Arc::into_inner(value).expect("the last reference was here")
    }

    /// The value, if this is the last reference.
    #[track_caller]
    pub fn into_inner(this: Arc<T>) -> Option<T> {
        let reference = this.reference;
        let (value, count) = this.take_apart();
        count.give_back(reference, true);
        forget_if_last(&value);
        std::sync::Arc::into_inner(value)
    }

    /// The value, or a copy if there are other references.
    #[track_caller]
    pub fn unwrap_or_clone(this: Arc<T>) -> T
    where
        T: Clone,
    {
        Arc::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl<T: ?Sized> Arc<T> {
    /// A pointer from a standard one that nobody else has: how to get a pointer to something unsized.
    #[track_caller]
    pub fn from_std(value: std::sync::Arc<T>) -> Arc<T> {
        assert!(std::sync::Arc::strong_count(&value) == 1, "`from_std` takes a pointer that nobody else has");
        Arc::watched(value, Count::new(1, 0), 0)
    }

    /// Remembers that the value must be gone in the end, and its count, for [`Arc::from_raw`].
    #[track_caller]
    fn watched(value: std::sync::Arc<T>, count: Count, reference: u32) -> Arc<T> {
        let location = Location::caller();
        with_execution(|execution| {
            let site = execution.names.borrow_mut().site(location);
            let address = std::sync::Arc::as_ptr(&value).addr();
            execution.must_go.borrow_mut().insert(address, ("an Arc", site));
            execution.counts.borrow_mut().insert(address, [count.strong, count.weak]);
        });
        note_block(std::sync::Arc::as_ptr(&value).addr(), size_of_val(&*value));
        Arc::sealed(value, count, reference)
    }

    #[track_caller]
    fn sealed(value: std::sync::Arc<T>, count: Count, reference: u32) -> Arc<T> {
        let value = ManuallyDrop::new(value);
        let seal = Seal::of(first_word(&value));
        Arc { value, count, reference, seal }
    }

    /// The value is where it was when the reference was made: the reference has not been dropped.
    #[track_caller]
    fn check(&self) {
        self.seal.check(first_word(&self.value), "reference");
    }

    /// The same, after an operation.
    #[track_caller]
    fn check_again(&self) {
        self.seal.check_again(first_word(&self.value), "reference");
    }

    /// A pointer that has been counted already.
    #[track_caller]
    pub(super) fn counted(value: std::sync::Arc<T>, count: Count) -> Arc<T> {
        Arc::sealed(value, count, new_reference())
    }

    /// The same pointer, to the same value as something else.
    #[track_caller]
    pub(super) fn into_type<U: ?Sized>(self, f: impl FnOnce(std::sync::Arc<T>) -> std::sync::Arc<U>) -> Arc<U> {
        let reference = self.reference;
        let (value, count) = self.take_apart();
        Arc::sealed(f(value), count, reference)
    }

    fn take_apart(self) -> (std::sync::Arc<T>, Count) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used again, and is not dropped.
        (unsafe { ManuallyDrop::take(&mut this.value) }, this.count)
    }

    /// The number of references.
    #[track_caller]
    pub fn strong_count(this: &Arc<T>) -> usize {
        this.check();
        abandon_or(std::sync::Arc::strong_count(&this.value), || this.count.get() as usize)
    }

    /// The number of weak references.
    #[track_caller]
    pub fn weak_count(this: &Arc<T>) -> usize {
        this.check();
        if let Some(counted) = this.count.get_weak() {
            return counted;
        }
        this.count.get();
        with_execution(|execution| execution.names.borrow_mut().mark_unfit("weak references are counted"));
        std::sync::Arc::weak_count(&this.value)
    }

    /// A weak reference.
    #[track_caller]
    pub fn downgrade(this: &Arc<T>) -> Weak<T> {
        this.check();
        this.count.change_weak(1, Ordering::Acquire);
        Weak::of(std::sync::Arc::downgrade(&this.value), this.count)
    }

    /// The value, if this is the only reference.
    #[track_caller]
    pub fn get_mut(this: &mut Arc<T>) -> Option<&mut T> {
        let is_only = this.count.is_only();
        std::sync::Arc::get_mut(&mut this.value).filter(|_| is_only)
    }

    /// Whether two pointers point to the same value.
    #[track_caller]
    pub fn ptr_eq(this: &Arc<T>, other: &Arc<T>) -> bool {
        this.check();
        other.check();
        std::sync::Arc::ptr_eq(&this.value, &other.value)
    }

    /// The raw pointer; the reference is kept by whoever holds it.
    pub fn into_raw(this: Arc<T>) -> *const T {
        std::sync::Arc::into_raw(this.take_apart().0)
    }

    /// The raw pointer.
    #[track_caller]
    pub fn as_ptr(this: &Arc<T>) -> *const T {
        this.check();
        std::sync::Arc::as_ptr(&this.value)
    }

    /// The pointer that was taken apart.
    ///
    /// # Safety
    /// The raw pointer comes from [`Arc::into_raw`], and each is put together once.
    #[track_caller]
    pub unsafe fn from_raw(pointer: *const T) -> Arc<T> {
        let count =
            Count::of(pointer.addr()).expect("the pointer came from `Arc::into_raw`, and its value is still there");
        // SAFETY: as the caller promises.
        Arc::counted(unsafe { std::sync::Arc::from_raw(pointer) }, count)
    }

    /// Takes a reference, by raw pointer.
    ///
    /// # Safety
    /// The raw pointer comes from [`Arc::into_raw`], and its value is still there.
    #[track_caller]
    pub unsafe fn increment_strong_count(pointer: *const T) {
        // SAFETY: as the caller promises; the reference that this makes is not given back.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(pointer) });
        std::mem::forget(Arc::clone(&this));
    }

    /// Gives a reference back, by raw pointer.
    ///
    /// # Safety
    /// The raw pointer comes from [`Arc::into_raw`], and the caller has a reference to give back.
    #[track_caller]
    pub unsafe fn decrement_strong_count(pointer: *const T) {
        // SAFETY: as the caller promises.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

impl Arc<dyn Any + Send + Sync> {
    /// The pointer to a value of that type, if it is of that type.
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        if !(*self).is::<T>() {
            return Err(self);
        }
        Ok(self.into_type(|value| value.downcast().expect("it is of that type")))
    }
}

impl<T: Clone> Arc<T> {
    /// The value, or a copy of it that nobody else refers to.
    #[track_caller]
    pub fn make_mut(this: &mut Arc<T>) -> &mut T {
        if this.count.weak().is_some() {
            Arc::make_only(this);
        } else if this.count.get() != 1 {
            *this = Arc::new((**this).clone());
        } else if std::sync::Arc::weak_count(&this.value) > 0 {
            Arc::leave_weak_behind(this);
        }
        std::sync::Arc::get_mut(&mut this.value).expect("nobody else refers to it")
    }

    /// Makes this the only reference, in the steps of the standard library.
    #[track_caller]
    fn make_only(this: &mut Arc<T>) {
        if !this.count.give_back_if_only() {
            *this = Arc::new((**this).clone());
        } else if this.count.get_weak().is_some_and(|counted| counted > 0) {
            Arc::move_out(this);
        } else {
            this.count.put_back();
        }
    }

    /// Moves the value to where no weak references lead, or copies it if one of them has just become a strong one.
    #[track_caller]
    fn leave_weak_behind(this: &mut Arc<T>) {
        with_execution(|execution| execution.names.borrow_mut().mark_unfit("weak references are counted"));
        if !this.count.give_back_if_only() {
            *this = Arc::new((**this).clone());
            return;
        }
        Arc::move_out(this);
    }

    /// Moves the value of the only reference, which has been given back, to another place.
    #[track_caller]
    fn move_out(this: &mut Arc<T>) {
        // SAFETY: what is read is overwritten before anything else can happen.
        unsafe {
            let value = Arc::take_last(std::ptr::read(this));
            std::ptr::write(this, Arc::new(value));
        }
    }
}

/// Where a reference points to, without following it: an `Arc` or a `Weak` of the standard library.
pub(super) fn first_word<R>(value: &ManuallyDrop<R>) -> *const () {
    // SAFETY: a reference is a pointer, which begins with its address.
    unsafe { std::ptr::from_ref(value).cast::<*const ()>().read() }
}

/// A number that no other reference has.
fn new_reference() -> u32 {
    if !in_execution() {
        return 0;
    }
    with_execution(|execution| {
        execution.n_references.set(execution.n_references.get() + 1);
        execution.n_references.get()
    })
}

/// The value that is about to go need not be waited for any more.
fn forget_if_last<T: ?Sized>(value: &std::sync::Arc<T>) {
    if in_execution() && std::sync::Arc::strong_count(value) == 1 {
        let address = std::sync::Arc::as_ptr(value).addr();
        with_execution(|execution| {
            execution.must_go.borrow_mut().remove(&address);
            execution.counts.borrow_mut().remove(&address);
        });
        forget_block(address);
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.check();
        let reference = if is_live() { self.count.take(sees_last::<T>()) } else { 0 };
        self.check_again();
        Arc::sealed(std::sync::Arc::clone(&self.value), self.count, reference)
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.check();
        self.count.give_back(self.reference, sees_last::<T>());
        self.seal.end();
        // SAFETY: this is the end of `self`.
        let value = unsafe { ManuallyDrop::take(&mut self.value) };
        forget_if_last(&value);
        drop(value);
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        self.check();
        &self.value
    }
}
