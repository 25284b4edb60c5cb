//! Allocation whose leaks are found.

pub use std::alloc::Layout;

use crate::runtime::{
    forget_allocation, forget_block, in_execution, keep_back, note_allocation, note_block, with_execution,
};
use std::alloc::{GlobalAlloc, System};
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Allocates memory. It must be freed with [`dealloc`] before the execution ends.
///
/// # Safety
/// As for [`std::alloc::alloc`].
#[track_caller]
pub unsafe fn alloc(layout: Layout) -> *mut u8 {
    // SAFETY: as the caller promises.
    let pointer = unsafe { std::alloc::alloc(layout) };
    watch(pointer.addr(), "an allocation");
    note_block(pointer.addr(), layout.size());
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
    note_block(pointer.addr(), layout.size());
    pointer
}

/// Frees memory.
///
/// # Safety
/// As for [`std::alloc::dealloc`].
#[track_caller]
pub unsafe fn dealloc(pointer: *mut u8, layout: Layout) {
    assert!(unwatch(pointer.addr()), "memory is freed that is not allocated");
    forget_block(pointer.addr());
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

/// A global allocator that remembers which thread of the code under test has which memory. Feature `global-allocator` makes it the program's; a program that has an allocator of its own can have this one
/// around it:
///
#[cfg_attr(feature = "global-allocator", doc = "```text")]
#[cfg_attr(not(feature = "global-allocator"), doc = "```")]
/// #[global_allocator]
/// static ALLOCATOR: unthread::alloc::Allocator = unthread::alloc::Allocator::system();
/// ```
///
/// An object that a constant expression made, and that is neither a static nor in an [`Arc`](crate::sync::Arc) or on a stack, is named by the memory that it is in, if this is the allocator of the
/// program. Otherwise it cannot be told from memory that has been freed, and a thread that uses it fails.
#[derive(Clone, Copy, Debug)]
pub struct Allocator<A = System> {
    inner: A,
}

impl Allocator {
    /// The system's allocator.
    pub const fn system() -> Allocator {
        Allocator { inner: System }
    }
}

impl<A> Allocator<A> {
    /// Another allocator.
    pub const fn around(inner: A) -> Allocator<A> {
        Allocator { inner }
    }
}

#[cfg(feature = "global-allocator")]
#[global_allocator]
static ALLOCATOR: Allocator = Allocator::system();

// SAFETY: the memory is the inner allocator's; it is only noted where it is.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Allocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { self.inner.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        noted(unsafe { self.inner.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if in_execution() {
            // What is moved leaves memory behind that others may still use, though they must not.
            // SAFETY: as the caller promises; the new block is as large as the part that is copied, or larger.
            return unsafe {
                let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                    self.dealloc(pointer, layout);
                }
                moved
            };
        }
        // SAFETY: as the caller promises.
        unsafe { self.inner.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if keep_back(pointer, layout) {
            return;
        }
        forget_allocation(pointer.addr());
        // SAFETY: as the caller promises.
        unsafe { self.inner.dealloc(pointer, layout) };
    }
}

/// The allocator is that of the program.
static IS_INSTALLED: AtomicBool = AtomicBool::new(false);

/// Whether the program has this allocator.
pub(crate) fn is_installed() -> bool {
    IS_INSTALLED.load(Relaxed)
}

fn noted(pointer: *mut u8, size: usize) -> *mut u8 {
    if !is_installed() {
        IS_INSTALLED.store(true, Relaxed);
    }
    if !pointer.is_null() {
        note_allocation(pointer.addr(), size);
    }
    pointer
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
