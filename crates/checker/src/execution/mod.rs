//! Executions: a subject's threads running on a machine, one step at a time.
//!
//! [`Subject`] supplies deterministic threads that stop at visible [`Operation`]s; [`Machine`] performs the operations on
//! memory, store buffers and locks, under the [`Rules`] of a [`MemoryModel`].

mod buffer;
mod interpret;
mod laps;
mod machine;
mod memory;
mod operation;
mod spin;
mod state;
mod stuck;
mod subject;

pub use buffer::{Buffer, Entry};
pub use interpret::{Interpreter, IrThread};
pub use laps::Laps;
pub use machine::{Machine, Performed};
pub use memory::{Buffers, Forwarding, MemoryModel, Rules};
pub use operation::{CellAccess, Dropped, Failure, FailureKind, ObjectKind, Operation, Queue};
pub use state::{Shared, State, Status, ThreadState};
pub use stuck::{Blocked, Race, Stuck};
pub use subject::{Describe, Poll, Subject, ThreadId, ThreadKey, Waits};
