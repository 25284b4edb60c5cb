//! Visible operations: what a thread asks of the machine, with all operands evaluated.

use super::subject::ThreadKey;
use crate::program::{Access, Loc, LockMode, Ordering, RmwOp};

/// The next thing that a thread wants to do and that others can see.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        ordering: Ordering,
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
    },
    TryLock {
        lock: u32,
        mode: LockMode,
    },
    /// Who gives it back silently has changed nothing, as in the turn of a loop before: nobody who polls the lock need look again.
    Unlock {
        lock: u32,
        mode: LockMode,
        silent: bool,
    },
    /// Who holds the lock alone shares it from now on; nobody else can hold it alone in between.
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
    /// Something is wrong. The thread goes on only if the failure is not fatal.
    Fail(Failure),
    /// An assumption does not hold: the thread stops, and the execution is of no interest.
    Stop,
    /// The thread is done.
    End,
}

/// What went wrong in a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// In words.
    pub message: String,
}

/// Kinds of failures of a single thread. Deadlock, livelock and data races concern several: see `Stuck` and `Race`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum FailureKind {
    Assertion,
    Panic,
    DivisionByZero,
    OutOfBounds,
    NullDereference,
    InvalidPointer,
    UseAfterFree,
    LockMisuse,
    InvalidJoin,
    OutOfResources,
    Leak,
}

impl FailureKind {
    /// Whether the thread cannot go on.
    pub fn is_fatal(self) -> bool {
        self != FailureKind::Assertion
    }
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}

impl Operation {
    /// The lock that the operation takes, tries to take or gives back.
    pub fn lock(&self) -> Option<u32> {
        match *self {
            Operation::Lock { lock, .. }
            | Operation::TryLock { lock, .. }
            | Operation::Unlock { lock, .. }
            | Operation::Downgrade { lock }
            | Operation::Wait { lock, .. }
            | Operation::Reacquire { lock, .. } => Some(lock),
            _ => None,
        }
    }

    /// Whether who polls a lock has to look again after this operation on it: it may protect something else now, or somebody may have seen that it was
    /// held. Who just takes it has seen nothing, and has not changed anything yet.
    pub fn tells_pollers(&self) -> bool {
        match *self {
            Operation::Unlock { silent, .. } => !silent,
            Operation::TryLock { .. } | Operation::Downgrade { .. } | Operation::Wait { .. } => true,
            _ => false,
        }
    }

    /// The cell that the operation reads or writes.
    pub fn loc(&self) -> Option<Loc> {
        match self {
            Operation::Read { loc, .. }
            | Operation::Write { loc, .. }
            | Operation::Rmw { loc, .. }
            | Operation::Cas { loc, .. }
            | Operation::Touch { loc, .. }
            | Operation::Count { loc, .. } => Some(*loc),
            _ => None,
        }
    }
}
