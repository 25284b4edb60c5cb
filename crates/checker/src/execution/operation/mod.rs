//! Visible operations: what a thread asks of the machine, with all operands evaluated.

mod classify;
mod objects;

use crate::base::{FailureKind, Loc, ThreadKey};
use crate::program::{Access, LockMode, Ordering, RmwOp};

/// The next thing that a thread wants to do and that others can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "field names say it; the machine says what each does")]
pub enum Operation {
    Read {
        loc: Loc,
        ordering: Ordering,
        access: Access,
    },
    Write {
        loc: Loc,
        value: i64,
        ordering: Ordering,
        access: Access,
    },
    Rmw {
        loc: Loc,
        op: RmwOp,
        operand: i64,
        ordering: Ordering,
    },
    Cas {
        loc: Loc,
        expected: i64,
        desired: i64,
        /// If it stores.
        success: Ordering,
        /// If it does not: the ordering of a read.
        failure: Ordering,
    },
    /// An access to plain data that the machine does not hold: it can race, and that is all.
    Touch {
        loc: Loc,
        writes: bool,
    },
    /// A reference to something is taken (1), given back (-1) or counted (0). The result is the count before. The reference's number, among those to the same thing in one
    /// execution, is 0 if it was there from the start. It may be seen which one is the last to be given back.
    Count {
        loc: Loc,
        by: i64,
        reference: u32,
        sees_last: bool,
    },
    Fence {
        ordering: Ordering,
    },
    Lock {
        lock: u32,
        mode: LockMode,
        queue: Queue,
    },
    TryLock {
        lock: u32,
        mode: LockMode,
    },
    /// A silent unlock: the thread has changed nothing, as in the loop's iteration before. No thread that polls the lock need look again.
    Unlock {
        lock: u32,
        mode: LockMode,
        silent: bool,
    },
    /// The exclusive holder shares the lock from now on; no other thread can hold it exclusively in between.
    Downgrade {
        lock: u32,
    },
    /// Release the lock and start to wait. The thread's next operation is `Reacquire`.
    Wait {
        condvar: u32,
        lock: u32,
    },
    /// The second half of a wait: possible when notified and the lock is free.
    Reacquire {
        condvar: u32,
        lock: u32,
    },
    Notify {
        condvar: u32,
        all: bool,
    },
    Fork {
        child: ThreadKey,
    },
    Join {
        thread: ThreadKey,
    },
    /// The result is 1 if the thread has ended.
    HasEnded {
        thread: ThreadKey,
    },
    /// Waits until every other thread has ended: how `finally` begins.
    JoinAll,
    Free {
        block: Loc,
    },
    /// Any value of `low..high`, which is not empty.
    Choose {
        low: i64,
        high: i64,
    },
    Yield,
    /// Something is wrong: [`Subject::failure`](super::Subject::failure) says what, in words. The thread does not go on.
    Fail(FailureKind),
    /// An assumption does not hold: the thread stops, and the execution is of no interest.
    Stop,
    /// The thread is done.
    End,
}

/// The end of an object of the code under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The object, by its cell.
    pub object: Loc,
    /// What it was used for.
    pub kind: ObjectKind,
}

/// What the operations on an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// Reads and writes.
    Cell,
    /// Those of a lock, and reads and writes.
    Lock,
    /// Waiting and notifying.
    Condvar,
}

/// An access to a cell, or to the queue of a lock, as far as races are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellAccess {
    /// The cell.
    pub loc: Loc,
    /// Whether it changes the cell.
    pub writes: bool,
    /// Whether it races with accesses that are not ordered with it.
    pub plain: bool,
}

impl CellAccess {
    /// Whether two accesses of different threads must not happen at the same time.
    pub fn conflicts(&self, other: &CellAccess) -> bool {
        self.loc == other.loc && (self.writes || other.writes) && (self.plain || other.plain)
    }
}

/// Whether threads may have to wait behind a thread that waits for a lock. The machine gives a lock to any thread that can have it; real locks may make it wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// They need not.
    #[default]
    None,
    /// Readers may wait behind the thread, which waits to write.
    Ahead,
    /// The thread holds the lock, for reading, and may wait behind a thread that waits to write: both of them for ever.
    Behind,
}

/// A reference to something is taken, given back or counted: see [`Operation::Count`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the operation says it")]
pub struct Count {
    pub loc: Loc,
    pub by: i64,
    pub reference: u32,
    pub sees_last: bool,
}

/// What an operation does to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockAction {
    /// It takes the lock, and waits until it can: `Lock`, and the second half of a wait.
    Acquire(LockMode),
    /// It takes the lock if it can.
    Try(LockMode),
    /// It gives the lock back: `Unlock`, and the first half of a wait.
    Release(LockMode),
    /// It shares the lock from now on.
    Downgrade,
}
