//! Statics, or parts of one: made by the compiler before there are any executions, and never moved.
//!
//! A static is named by its address, which is the same in all executions of a check. Its own memory is
//! never written, as checks on other OS threads may use it too: the machine holds the value of its cell, and the execution a copy of its data, made
//! when it is first used. So each execution begins with what the source says.

use super::current::{find_cell, naming, with_current, with_execution};
use super::execution::Execution;
use super::places::note_block;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::panic::Location;
use std::rc::Rc;

/// The cell of a static, by the static's address. In each execution it is made when it is first used.
#[track_caller]
pub(crate) fn static_cell(address: usize, kind: &'static str, value: i64, at: &'static Location<'static>) -> u32 {
    let (cell, is_new) = with_execution(|execution| {
        let mut names = execution.names.borrow_mut();
        let site = names.site(at);
        let cell = names.static_object(address, kind, site);
        let mut cells = execution.static_cells.borrow_mut();
        let is_new = !cells.contains(&cell);
        if is_new {
            cells.push(cell);
        }
        (cell, is_new)
    });
    if is_new {
        find_cell(cell, value);
    }
    cell
}

/// The number of a static's cell, if it has been used in this execution.
pub(crate) fn static_number(address: usize) -> Option<u32> {
    let number = |execution: &Execution| {
        let number = execution.names.borrow().known_static(address)?;
        execution.static_cells.borrow().contains(&number).then_some(number)
    };
    with_current(|execution, _| number(execution))?
}

/// Whether something is part of the program as it was loaded. Anything else has another address in the next execution.
#[cfg(target_os = "linux")]
pub(crate) fn is_static(address: usize) -> bool {
    unsafe extern "C" {
        static __executable_start: u8;
        static _end: u8;
    }
    ((&raw const __executable_start).addr()..(&raw const _end).addr()).contains(&address)
}

/// Whether a place in the source is one that the compiler has left in the program, or in a library that it has loaded.
#[cfg(unix)]
pub(super) fn is_part_of_program(place: *const Location<'static>) -> bool {
    place.is_aligned() && (is_static(place.addr()) || is_loaded(place.addr()))
}

/// The same, where that cannot be told.
#[cfg(not(unix))]
pub(super) fn is_part_of_program(place: *const Location<'static>) -> bool {
    place.is_aligned()
}

/// The same, where the linker does not say where the program begins and ends.
#[cfg(unix)]
pub(crate) fn is_loaded(address: usize) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: there is room for the answer, and any address may be asked about.
    unsafe { libc::dladdr(std::ptr::without_provenance(address), info.as_mut_ptr()) != 0 }
}

#[cfg(all(unix, not(target_os = "linux")))]
pub(crate) use is_loaded as is_static;

/// Where that cannot be told, statics are made with `lazy_static!`.
#[cfg(not(unix))]
pub(crate) fn is_static(_: usize) -> bool {
    panic!("`const_new` needs Unix; elsewhere, statics are made with `lazy_static!`, and everything else with `new`");
}

/// An execution's copy of a static's data.
struct Copied {
    data: *mut u8,
    drop: Option<Box<dyn FnOnce()>>,
}

impl Drop for Copied {
    fn drop(&mut self) {
        self.drop.take().into_iter().for_each(|drop| drop());
    }
}

/// The execution's copy of a static's data. It goes when the execution ends.
#[track_caller]
pub(super) fn copied<T: ?Sized>(original: *mut T) -> *mut T {
    let address = original.addr();
    let known = with_execution(|execution| {
        let lazies = execution.lazies.borrow();
        let copied = lazies.iter().filter(|lazy| lazy.0 == address).find_map(|lazy| lazy.1.downcast_ref::<Copied>())?;
        Some(copied.data)
    });
    match known {
        Some(data) => at_address(original, data),
        None => copy(original),
    }
}

fn copy<T: ?Sized>(original: *mut T) -> *mut T {
    // SAFETY: the static is there for ever, and nobody writes it.
    let layout = unsafe { Layout::for_value(&*original) };
    if layout.size() == 0 {
        return original;
    }
    // SAFETY: the size is not 0, and the copy is as large as the original. What a constant holds owns no memory, and the original is never used or dropped,
    // so that each copy may be.
    let data = unsafe {
        let data = alloc(layout);
        if data.is_null() {
            handle_alloc_error(layout);
        }
        data.copy_from_nonoverlapping(original.cast::<u8>(), layout.size());
        data
    };
    naming(original.addr(), || note_block(data.addr(), layout.size()));
    let copy = at_address(original, data);
    let drop: Box<dyn FnOnce() + '_> = Box::new(move || {
        // SAFETY: the execution has ended, so nobody uses the copy any more.
        unsafe {
            copy.drop_in_place();
            dealloc(data, layout);
        }
    });
    // SAFETY: a static's data borrows from nothing that ever goes.
    let drop = unsafe { std::mem::transmute::<Box<dyn FnOnce() + '_>, Box<dyn FnOnce()>>(drop) };
    let copied = Rc::new(Copied { data, drop: Some(drop) });
    with_execution(|execution| execution.lazies.borrow_mut().push((original.addr(), copied)));
    copy
}

/// The pointer with another address, and whatever else is in it.
fn at_address<T: ?Sized>(pointer: *mut T, address: *mut u8) -> *mut T {
    let mut other = pointer;
    // SAFETY: pointers begin with their address; that this holds is checked.
    unsafe { (&raw mut other).cast::<*mut u8>().write(address) };
    assert!(other.addr() == address.addr());
    other
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{is_loaded, is_static};
    use std::sync::atomic::AtomicUsize;

    static WRITTEN: AtomicUsize = AtomicUsize::new(1);
    static ZERO: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn statics_are_told_from_everything_else() {
        let heap = Box::new(AtomicUsize::new(1));
        let stack = AtomicUsize::new(1);
        for (what, is_one) in [(&WRITTEN, true), (&ZERO, true), (&*heap, false), (&stack, false)] {
            let address = std::ptr::from_ref(what).addr();
            assert_eq!((is_static(address), is_loaded(address)), (is_one, is_one));
        }
    }
}
