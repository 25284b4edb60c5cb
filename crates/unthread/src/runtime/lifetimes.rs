//! The ends of objects: what has been dropped, by which thread and where.
//!
//! A drop is told to the machine together with the operation that the thread performed before it: in between, the thread did nothing that others could have seen. To use an object
//! later is a violation, and the machine notices it where the memory still says which object it was.
//!
//! Memory that has been freed can hold anything. So what is found there is recognised, and not trusted: a dropped object leaves a mark, its address is remembered for the rest of
//! the execution, and numbers and places are looked at before they are used. A thread that uses what is gone does not go on.

use super::backtrace;
use super::context::ThreadContext;
use super::current::{Request, suspend, with_current, with_execution, with_thread};
use super::execution::Execution;
use super::fiber::StackRange;
use super::panics::Abandoned;
use super::places::Block;
use crate::alloc::is_installed;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::panic::{Location, resume_unwind};
use unthread_checker::base::{Failure, FailureKind, Loc};
use unthread_checker::execution::{Dropped, ObjectKind};

/// The objects of an execution that have come to their ends.
#[derive(Default)]
pub(crate) struct Lifetimes {
    /// All of them, the last one at the end. Hardly anybody asks, so there is no more to it.
    ends: RefCell<Vec<End>>,
    /// For addresses, the last one that ended there: of so many, as many as there were when somebody asked.
    by_address: RefCell<(usize, FxHashMap<usize, usize>)>,
    /// Numbers that objects had before they got others.
    before: RefCell<FxHashMap<u32, u32>>,
    /// Where objects were dropped, as far as that is wanted.
    places: RefCell<FxHashMap<u32, String>>,
    /// Stacks of threads that have ended.
    stacks: RefCell<Vec<StackRange>>,
    /// A thread has used what is gone: destructors may do so, too.
    is_broken: Cell<bool>,
}

/// The end of an object.
#[derive(Clone, Copy)]
struct End {
    address: usize,
    /// If the object had one.
    number: Option<u32>,
    /// The thread that dropped it.
    thread: usize,
    /// The place of the last operation before.
    site: u32,
    what: What,
}

/// What has come to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// An object that a thread made: memory without a number holds no such object.
    Made,
    /// An object that a constant expression made.
    Constant,
    /// A block of memory.
    Block,
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
    pub(crate) fn was_dropped_by(&self, object: u32, thread: &ThreadContext) -> bool {
        self.of_number(object).is_some_and(|end| end.thread == thread.index)
    }

    /// Whether destructors may use what is gone.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.get()
    }

    /// A thread has used what is gone, or is about to.
    pub(crate) fn mark_broken(&self) {
        self.is_broken.set(true);
    }

    /// Whether an object was at the address that has been dropped.
    pub(super) fn was_at(&self, address: usize) -> bool {
        self.at_address(address).is_some()
    }

    /// The same, if what is there now, without a number, can be no other one. On the running thread's own stack, where it has dropped an object itself, there may be another one.
    pub(super) fn is_gone(&self, address: usize, running: &ThreadContext) -> bool {
        let is_own = |end: &End| end.thread == running.index && running.stack.get().contains(address);
        self.at_address(address).is_some_and(|end| end.what == What::Made && !is_own(&end))
    }

    /// The end of the object with a number.
    fn of_number(&self, number: u32) -> Option<End> {
        self.ends.borrow().iter().rev().find(|end| end.number == Some(number)).copied()
    }

    /// The last end at an address.
    fn at_address(&self, address: usize) -> Option<End> {
        let (ends, mut by_address) = (self.ends.borrow(), self.by_address.borrow_mut());
        let (known, by_address) = &mut *by_address;
        for (at, end) in ends.iter().enumerate().skip(*known) {
            // An object that was at the beginning of a block says more than the block.
            let last = by_address.entry(end.address).or_insert(at);
            *last = if end.what == What::Block { *last } else { at };
        }
        *known = ends.len();
        by_address.get(&address).map(|&at| ends[at])
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
pub(crate) fn end(number: Option<u32>, kind: ObjectKind, address: usize, what: What) {
    with_current(|execution, thread| {
        let lifetimes = &execution.lifetimes;
        let end = End { address, number, thread: thread.index, site: thread.last_site.get(), what };
        lifetimes.ends.borrow_mut().push(end);
        let mut next = number.filter(|_| !execution.abandoned.get());
        while let Some(number) = next {
            thread.dropped.borrow_mut().push(Dropped { object: Loc::global(number as usize), kind });
            // A pointer that the thread still has, and does not use any more, is no access.
            thread.open_accesses.borrow_mut().retain(|access| access.object != number);
            thread.through.borrow_mut().retain(|&handle| handle != number);
            if execution.names.try_borrow().is_ok_and(|names| names.locates_drops)
                && let Some(place) = backtrace::place_of_caller()
            {
                lifetimes.places.borrow_mut().insert(number, place);
            }
            next = lifetimes.before.borrow().get(&number).copied();
            if next.is_some() {
                lifetimes.ends.borrow_mut().push(End { number: next, ..end });
            }
        }
    });
}

/// The running thread frees a block of memory, as the program's allocator tells.
pub(super) fn note_freed(execution: &Execution, thread: &ThreadContext, address: usize, block: Block) {
    let number = execution.names.try_borrow().ok().and_then(|names| names.known_block(block));
    let end = End { address, number, thread: thread.index, site: thread.last_site.get(), what: What::Block };
    execution.lifetimes.ends.borrow_mut().push(end);
    if let Some(number) = number {
        thread.used_block.set(thread.used_block.get().filter(|&used| used != number));
        thread.through.borrow_mut().retain(|&used| used != number);
        let object = Loc::global(number as usize);
        thread.dropped.borrow_mut().push(Dropped { object, kind: ObjectKind::Cell });
    }
}

/// What to say of a thread that uses an object that has been dropped.
pub(super) fn use_after_drop(execution: &Execution, user: &ThreadContext, object: u32) -> String {
    execution.lifetimes.mark_broken();
    let by = execution.lifetimes.of_number(object);
    let what = execution.names.borrow().object_name(object);
    let place = execution.lifetimes.places.borrow().get(&object).cloned();
    describe(execution, user, &format!("`{what}`"), by, place)
}

fn describe(execution: &Execution, user: &ThreadContext, what: &str, by: Option<End>, place: Option<String>) -> String {
    let name = |thread: &ThreadContext| execution.name_of(thread);
    let user = name(user);
    let Some(End { thread, site, .. }) = by else { return format!("{user} uses {what}, which is gone") };
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
        let gone = lifetimes.at_address(address);
        let number = gone.and_then(|gone| gone.number);
        let message = match number {
            Some(number) => use_after_drop(execution, thread, number),
            None => describe(execution, thread, &with_article(kind), gone, None),
        };
        thread.leave(execution, location, Failure::new(FailureKind::UseAfterFree, message))
    })
}

/// The running thread uses an object that has no number, in memory of which nothing is known. It does not go on.
#[track_caller]
pub(super) fn fail_on_unknown(address: usize, kind: &str) -> ! {
    let has_allocator = is_installed();
    if has_allocator && with_execution(|execution| execution.lifetimes.was_at(address)) {
        fail_on_gone(address, kind);
    }
    let location = Location::caller();
    let why = match has_allocator {
        true => {
            "it was allocated outside of the closure, or not by the program's allocator, or it has been freed. What is \
             shared must be a static, or be made inside of the closure"
        }
        false => {
            "it may have been freed. What is on the heap can be told with `unthread`'s allocator: add feature \
             `global-allocator`, or make `unthread::alloc::Allocator` the program's allocator"
        }
    };
    with_thread(|execution, thread| {
        execution.lifetimes.mark_broken();
        let message = format!(
            "{} uses {} that a constant expression made, in memory of which nothing is known: {why}",
            execution.name_of(thread),
            with_article(kind)
        );
        thread.leave(execution, location, Failure::new(FailureKind::Unsupported, message))
    })
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['A', 'O', 'U']) { "an" } else { "a" };
    format!("{article} {kind}")
}

impl ThreadContext {
    /// The thread does not go on from here, and is never unwound.
    fn leave(&self, execution: &Execution, location: &'static Location<'static>, failure: Failure) -> ! {
        if !execution.abandoned.get() {
            let site = execution.names.borrow_mut().site_of_others(location).unwrap_or(self.request.borrow().site);
            self.stopped.set(true);
            suspend(execution, self, Request { site, ..Request::failing(failure) });
        }
        if !self.runs.get() {
            // It has ended, and a static is dropped for it.
            resume_unwind(Box::new(Abandoned));
        }
        self.stopped.set(true);
        self.stay()
    }
}
