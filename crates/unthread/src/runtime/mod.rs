//! Threads of the code under test: coroutines that stop at every visible operation and ask the machine.
//!
//! Everything here belongs to one OS thread. Pointers to the running thread are kept in a thread-local while its coroutine runs.

mod backtrace;
mod context;
mod current;
mod execution;
mod fiber;
mod leave;
mod lifetimes;
mod meetings;
mod name;
mod names;
mod noise;
mod panics;
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
    Request, abandon_or, create_cell, defer_cell, happens, in_execution, is_live, is_panicking, naming, new_object,
    perform, request, unwinds, with_current, with_execution, with_thread,
};
pub(crate) use execution::{Counting, Settings};
pub(crate) use fiber::STACK_SIZE;
pub(crate) use lifetimes::Seal;
pub(crate) use name::{Kind, Name, Number, Unnamed};
pub(crate) use panics::{SCOPED, fail, is_for_joiner, leave_panic, take as take_panic, while_known};
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
