//! Runs: what each thread did in one execution, without the trimmings of a report. Engines that learn from executions look at these.

use crate::base::{Failure, Loc, Span, Step, ThreadKey};
use crate::execution::{Dropped, Operation, Stuck};

/// One execution, thread by thread.
#[derive(Clone, Debug)]
pub struct Run<T> {
    /// In order of creation.
    pub threads: Vec<RunThread<T>>,
    /// The steps that were taken.
    pub steps: Vec<Step>,
    /// Cells that threads made on the way, with their first values.
    pub created: Vec<(Loc, i64)>,
    /// Why it ended; nothing if it was cut off.
    pub end: Option<Stuck>,
}

/// A thread's part of a run.
#[derive(Clone, Debug)]
pub struct RunThread<T> {
    /// The thread.
    pub key: ThreadKey,
    /// What it did, in order.
    pub events: Vec<RunEvent<T>>,
    /// What it was at when the run ended, unless it had ended or failed.
    pub pending: Option<RunEvent<T>>,
}

/// An operation that a thread performed, or would have.
#[derive(Clone, Debug)]
pub struct RunEvent<T> {
    /// The operation.
    pub operation: Operation,
    /// What a history says of it: the result, or [`FAILED`](crate::base::FAILED).
    pub result: i64,
    /// What it wrote to memory.
    pub written: Option<(Loc, i64)>,
    /// Whether the write went through the store buffer.
    pub buffered: bool,
    /// The opaque object that it is an operation on.
    pub object: Option<Loc>,
    /// The version of the object's contents that it left. The result is the one that it saw.
    pub version: Option<i64>,
    /// The thread was spinning: one of these cells had to show another value.
    pub awaiting: Vec<(Loc, i64)>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// What the object that it is an operation on is part of.
    pub part_of: Option<Loc>,
    /// What the thread uses on its way to that object.
    pub through: Vec<Loc>,
    /// Objects that the thread dropped after it.
    pub dropped: Vec<Dropped>,
    /// Where it stands.
    pub span: Span,
    /// The number of its step in the run.
    pub at: u32,
    /// The thread just before it, where threads can be copied.
    pub before: Option<T>,
}

impl<T> Run<T> {
    /// The thread's history: the results of its operations.
    pub fn history(&self, thread: usize) -> impl Iterator<Item = i64> {
        self.threads[thread].events.iter().map(|event| event.result)
    }
}

/// A combination of thread histories: for each thread, by key, the results of its operations.
pub type Combination = Vec<(ThreadKey, Vec<i64>)>;
