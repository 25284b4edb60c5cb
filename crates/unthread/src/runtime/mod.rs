//! Rust code under test as a subject of the checker.
//!
//! *Threads.* A thread of the code under test is a coroutine (`fiber.rs`). A method of a std-like type hands an
//! operation to the machine and goes on with its result (`current.rs`); the code up to the next operation is local.
//! Everything here belongs to one OS thread, and pointers to the running thread are kept in a thread-local while its
//! coroutine runs.
//!
//! *Names.* Invariant: objects and source locations have the same name in every execution (`names.rs`). An object is
//! named by the thread that made it and a number, by the lazy static that it is part of, or, if it is a static, by its
//! address (`statics.rs`). What a constant expression made is named when it is first used (`name.rs`), by its place in
//! memory (`places.rs`). Where the place is not known, each thread that uses the object draws a number (`RmwOp::Draw`),
//! in an order that other threads can observe.
//!
//! *Values.* The machine holds the value of an atomic; windows (`windows.rs`) are memory that shows it. Data behind a
//! lock or in a channel is opaque to the machine: all operations on its object are ordered. A channel, a park token and
//! a waker are cells that a thread reads and writes in one step, and waits for until the value changes. Three
//! operations exist for this subject alone: `Touch`, an access to plain data that the machine does not hold and that
//! can only race; `Downgrade` of a write lock to a read lock; `Count`, a change of a refcount.
//!
//! *Lifetimes.* The drop of an object is told to the machine with the operation that its thread performed before it
//! (`lifetimes.rs`). A use after it fails, and that execution is not unwound.
//!
//! *Loops.* A spin hint ends an iteration; an iteration that changed nothing makes the thread wait (`spin.rs`). A wait
//! for some time times out when nothing else can happen, unless that has been in vain (`patience.rs`).
//!
//! *Ends.* An execution that is given up is unwound, youngest thread first, with a payload that is no panic. Operations
//! of destructors then happen at once, on the last values written. Where the process would end (a destructor panics
//! while its thread unwinds, or code calls `abort`), a signal handler leaves the thread there for good, and
//! the count of uncaught panics is repaired (`panics.rs`).
//!
//! *Determinism.* Nothing is verified that depends on more than the schedule. The checker compares what steps do
//! whenever they are taken again, and repeats one execution at the end. A watchdog (`watchdog.rs`) interrupts a thread
//! that does not come to its next operation. `meetings.rs` notices a test in which no two threads use a common object.

mod backtrace;
mod context;
mod current;
mod execution;
mod fiber;
mod handle;
mod leave;
mod lifetimes;
mod meetings;
mod name;
mod names;
mod noise;
mod panics;
mod patience;
mod places;
mod signal;
mod snapshot;
mod source;
mod spin;
mod stack;
mod statics;
mod subject;
mod watchdog;
mod windows;

pub(crate) use context::{OpenAccess, Since};
pub(crate) use current::{
    Request, abandon_or, create_cell, defer_cell, find_cell, happens, has_language, in_execution, is_live,
    is_panicking, naming, new_object, perform, request, unwinds, with_current, with_execution, with_thread,
};
pub(crate) use execution::{Counting, Settings};
pub(crate) use fiber::STACK_SIZE;
pub(crate) use handle::Seal;
pub(crate) use name::{Kind, Name, Number, Unnamed};
pub(crate) use panics::{SCOPED, fail, is_for_joiner, leave_panic, take as take_panic, while_known};
pub(crate) use patience::{begins_to_wait, waits_again};
pub(crate) use places::{forget_allocation, forget_block, keep_back, kept, note_allocation, note_block};
pub(crate) use signal::Signal;
pub(crate) use snapshot::Snapshot;
pub(crate) use source::read as read_source;
pub(crate) use spin::spin_hint;
pub(crate) use stack::Here;
pub(crate) use statics::{static_cell, static_number};
pub(crate) use subject::ClosureSubject;
pub(crate) use watchdog::{Beat, Cut, watch};
pub(crate) use windows::{View, close_if_written, with_windows};
