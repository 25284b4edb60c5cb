//! The ends of objects: what has been dropped, by which thread and where.
//!
//! A drop is told to the machine together with the operation that the thread performed before it: in between, the thread did nothing that others could have seen. To use an object
//! later is a violation, and the machine notices it where the memory still says which object it was.
//!
//! Memory that has been freed can hold anything. So what is found there is recognised, and not trusted: a dropped object leaves a mark, its address is remembered for the rest of
//! the execution, and numbers and places are looked at before they are used. A thread that uses what is gone does not go on.

use super::backtrace;
use super::context::ThreadContext;
use super::current::{Request, suspend, with_current, with_thread};
use super::execution::Execution;
use super::fiber::StackRange;
use super::panics::Abandoned;
use super::places::Block;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::panic::{Location, resume_unwind};
use unthread_checker::execution::{Dropped, Failure, FailureKind, ObjectKind, Operation};
use unthread_checker::program::Loc;

/// The objects of an execution that have come to their ends.
#[derive(Default)]
pub(crate) struct Lifetimes {
    /// By number.
    dropped: RefCell<FxHashMap<u32, Dropping>>,
    /// By address, with the number if the object had one.
    addresses: RefCell<FxHashMap<usize, Gone>>,
    /// Numbers that objects had before they got others.
    before: RefCell<FxHashMap<u32, u32>>,
    /// Where objects were dropped, as far as that is wanted.
    places: RefCell<FxHashMap<u32, String>>,
    /// Stacks of threads that have ended.
    stacks: RefCell<Vec<StackRange>>,
    /// A thread has used what is gone: destructors may do so, too.
    is_broken: Cell<bool>,
}

/// Who has dropped an object.
#[derive(Clone, Copy)]
struct Dropping {
    thread: usize,
    /// The place of the last operation before.
    site: u32,
}

/// What was at an address.
#[derive(Clone, Copy)]
struct Gone {
    number: Option<u32>,
    by: Dropping,
    /// A thread made it, and not a constant expression: memory without a number holds no such object.
    is_made: bool,
}

impl Lifetimes {
    /// An object has another number from now on.
    pub(crate) fn note_renamed(&self, from: u32, to: u32) {
        self.before.borrow_mut().insert(to, from);
    }

    /// A thread has ended that had this stack.
    pub(super) fn note_stack_gone(&self, stack: StackRange) {
        self.stacks.borrow_mut().push(stack);
    }

    /// A thread has this stack.
    pub(super) fn note_stack_used(&self, stack: StackRange) {
        self.stacks.borrow_mut().retain(|gone| gone.top != stack.top);
    }

    /// Whether the thread has dropped the object itself.
    pub(crate) fn was_dropped_by(&self, object: u32, execution: &Execution, thread: &ThreadContext) -> bool {
        self.dropped.borrow().get(&object).is_some_and(|by| by.thread == execution.index_of(thread))
    }

    /// Whether destructors may use what is gone.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// A thread has used what is gone, or is about to.
    pub(crate) fn mark_broken(&self) {
        self.is_broken.set(true);
    }

    /// Whether an object was at the address that has been dropped, and what is there now, without a number, can be no other one.
    pub(super) fn is_gone(&self, address: usize) -> bool {
        self.addresses.borrow().get(&address).is_some_and(|gone| gone.is_made)
    }
}

/// Whether an address is on the stack of a thread that has ended, or in a frame that has been left.
pub(super) fn is_left_frame(address: usize) -> bool {
    let mark = 0u8;
    with_thread(|execution, running| {
        if execution.lifetimes.stacks.borrow().iter().any(|stack| stack.contains(address)) {
            return true;
        }
        let threads = execution.threads.borrow();
        let Some(thread) = threads.iter().find(|thread| thread.stack.get().contains(address)) else { return false };
        let lowest = if thread.key == running.key { (&raw const mark).addr() } else { thread.lowest.get() };
        address < lowest
    })
}

/// The running thread drops an object.
pub(crate) fn end(number: Option<u32>, kind: ObjectKind, address: usize, is_made: bool) {
    with_current(|execution, thread| {
        let lifetimes = &execution.lifetimes;
        let by = Dropping { thread: execution.index_of(thread), site: thread.last_site.get() };
        lifetimes.addresses.borrow_mut().insert(address, Gone { number, by, is_made });
        let mut next = number.filter(|_| !execution.abandoned.get());
        let locates = execution.names.try_borrow().is_ok_and(|names| names.locates_drops);
        let place = if locates { backtrace::place_of_caller() } else { None };
        while let Some(number) = next {
            lifetimes.dropped.borrow_mut().insert(number, by);
            // A pointer that the thread still has, and does not use any more, is no access.
            if thread.has_pointers() {
                thread.open_accesses.borrow_mut().retain(|access| access.object != number);
            }
            if let Some(place) = &place {
                lifetimes.places.borrow_mut().insert(number, place.clone());
            }
            thread.dropped.borrow_mut().push(Dropped { object: Loc::global(number as usize), kind });
            next = lifetimes.before.borrow().get(&number).copied();
        }
    });
}

/// The running thread frees a block of memory, as the program's allocator tells.
pub(super) fn note_freed(execution: &Execution, thread: &ThreadContext, address: usize, block: Block) {
    let number = execution.names.try_borrow().ok().and_then(|names| names.known_block(block));
    let by = Dropping { thread: execution.index_of(thread), site: thread.last_site.get() };
    execution.lifetimes.addresses.borrow_mut().entry(address).or_insert(Gone { number, by, is_made: false });
    if let Some(number) = number {
        thread.used_block.set(thread.used_block.get().filter(|&used| used != number));
        execution.lifetimes.dropped.borrow_mut().insert(number, by);
        let object = Loc::global(number as usize);
        thread.dropped.borrow_mut().push(Dropped { object, kind: ObjectKind::Cell });
    }
}

/// What to say of a thread that uses an object that has been dropped.
pub(super) fn use_after_drop(execution: &Execution, user: &ThreadContext, object: u32) -> String {
    execution.lifetimes.mark_broken();
    let by = execution.lifetimes.dropped.borrow().get(&object).copied();
    let what = execution.names.borrow().object_name(object);
    let place = execution.lifetimes.places.borrow().get(&object).cloned();
    describe(execution, user, &format!("`{what}`"), by, place)
}

fn describe(
    execution: &Execution,
    user: &ThreadContext,
    what: &str,
    by: Option<Dropping>,
    place: Option<String>,
) -> String {
    let name = |thread: &ThreadContext| execution.name_of(thread);
    let user = name(user);
    let Some(Dropping { thread, site }) = by else { return format!("{user} uses {what}, which is gone") };
    let names = execution.names.borrow();
    let before = || names.get_site(site).map(|site| format!(", after {site}"));
    let place = place.map(|place| format!(" at {place}")).or_else(before).unwrap_or_default();
    format!("{user} uses {what}, which {} has dropped{place}", name(execution.thread(thread)))
}

/// The running thread uses memory that holds no object: one was there, or nothing that makes sense. It does not go on.
#[track_caller]
pub(crate) fn fail_on_gone(address: usize, kind: &str) -> ! {
    let location = Location::caller();
    with_thread(|execution, thread| {
        let lifetimes = &execution.lifetimes;
        lifetimes.mark_broken();
        let gone = lifetimes.addresses.borrow().get(&address).copied();
        let number = gone.and_then(|gone| gone.number);
        let message = match number {
            Some(number) => use_after_drop(execution, thread, number),
            None => {
                let article = if kind.starts_with(['A', 'O', 'U']) { "an" } else { "a" };
                describe(execution, thread, &format!("{article} {kind}"), gone.map(|gone| gone.by), None)
            }
        };
        thread.leave(execution, location, Failure::new(FailureKind::UseAfterFree, message))
    })
}

impl ThreadContext {
    /// The thread does not go on from here, and is never unwound.
    fn leave(&self, execution: &Execution, location: &'static Location<'static>, failure: Failure) -> ! {
        if !execution.abandoned.get() {
            let site = execution.names.borrow_mut().site_of_others(location).unwrap_or(self.request.borrow().site);
            self.stopped.set(true);
            suspend(execution, self, Request { site, ..Request::of(Operation::Fail(failure)) });
        }
        if !self.runs.get() {
            // It has ended, and a static is dropped for it.
            resume_unwind(Box::new(Abandoned));
        }
        self.stopped.set(true);
        self.stay()
    }
}

/// What a handle keeps beside a pointer that must not be followed once the handle is gone.
pub(crate) struct Seal(u64);

impl Seal {
    const OPEN: u64 = 0x9c41_7ad2_5b6e_83f1;
    const BROKEN: u64 = 0x5d7e_3000_0000_0000;

    /// The seal of a pointer.
    pub(crate) fn of<T>(pointer: *const T) -> Seal {
        Seal(Seal::OPEN ^ (pointer.addr() as u64).rotate_left(17))
    }

    /// The pointer is still the one that was sealed, or the running thread does not go on.
    #[track_caller]
    pub(crate) fn check<T>(&self, pointer: *const T, kind: &str) {
        // SAFETY: it is a reference. The read is volatile because another thread may have dropped the handle, though it must not.
        let seal = unsafe { (&raw const self.0).read_volatile() };
        if seal != Seal::of(pointer).0 {
            fail_on_gone(std::ptr::from_ref(self).addr(), kind);
        }
    }

    /// The handle comes to its end.
    pub(crate) fn end(&mut self) {
        end(None, ObjectKind::Cell, std::ptr::from_ref(self).addr(), true);
        // SAFETY: it is a reference. The write is volatile because nobody may read the memory any more, and whoever does so is to see it.
        unsafe { (&raw mut self.0).write_volatile(Seal::BROKEN) };
    }
}
