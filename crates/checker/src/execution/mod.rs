//! Executions: a subject's threads running on a machine, one step at a time.
//!
//! [`Subject`] supplies deterministic threads that stop at visible [`Operation`]s; [`Machine`] performs the operations on
//! memory, store buffers and locks, under the [`Rules`] of a [`MemoryModel`].

mod comparable;
pub(crate) mod deed;
pub mod graph;
mod interpret;
mod laps;
mod machine;
mod memory;
mod operation;
pub(crate) mod rewind;
mod spin;
mod state;
mod stuck;
mod subject;
pub(crate) mod visited;

pub use comparable::Comparable;
pub(crate) use deed::is_alike;
pub use interpret::interpret;
pub use laps::Laps;
pub use machine::{Machine, Performed};
pub use memory::{Buffer, Buffers, Entry, Forwarding, MemoryModel, Rules};
pub use operation::{CellAccess, Count, Dropped, LockAction, ObjectKind, Operation, Queue};
pub use state::{Shared, State, Status, ThreadState};
pub use stuck::{Blocked, Race, Stuck};
pub use subject::{Describe, Poll, Subject, Waits};
