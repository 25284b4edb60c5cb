//! Allocation whose leaks are found.

pub use std::alloc::Layout;

use crate::runtime::{in_execution, with_execution};
use std::panic::Location;

/// Allocates memory. It must be freed with [`dealloc`] before the execution ends.
///
/// # Safety
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let pointer = unsafe { std::alloc::alloc(layout) };
    watch(pointer.addr(), "an allocation");
    pointer
}

/// Allocates memory that is 0. It must be freed with [`dealloc`] before the execution ends.
///
/// # Safety
/// As for [`std::alloc::alloc_zeroed`].
#[track_caller]
pub unsafe fn alloc_zeroed(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    watch(pointer.addr(), "an allocation");
    pointer
}

/// Frees memory.
///
/// # Safety
/// As for [`std::alloc::dealloc`].
#[track_caller]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    assert!(unwatch(pointer.addr()), "memory is freed that is not allocated");
    // SAFETY: as the caller promises.
    unsafe { std::alloc::dealloc(pointer, layout) };
}

/// A value that must be dropped before the execution ends.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    watched: Watched,
}

#[derive(Debug)]
struct Watched(Box<u8>);

impl Drop for Watched {
    fn drop(&mut self) {
        unwatch(std::ptr::from_ref(&*self.0).addr());
    }
}

impl<T> Track<T> {
    /// Watches a value.
    #[track_caller]
    pub fn new(value: T) -> Track<T> {
        let watched = Watched(Box::new(0));
        watch(std::ptr::from_ref(&*watched.0).addr(), "a tracked value");
        Track { value, watched }
    }

    /// The value.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// The value.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// The value, which is not watched any more.
    pub fn into_inner(self) -> T {
        drop(self.watched);
        self.value
    }
}

#[track_caller]
fn watch(address: usize, what: &'static str) {
    let location = Location::caller();
    with_execution(|execution| {
        let mut names = execution.names.borrow_mut();
        names.has_uncounted = true;
        let site = names.site(location);
        execution.must_go.borrow_mut().insert(address, (what, site));
    });
}

fn unwatch(address: usize) -> bool {
    !in_execution() || with_execution(|execution| execution.must_go.borrow_mut().remove(&address).is_some())
}
