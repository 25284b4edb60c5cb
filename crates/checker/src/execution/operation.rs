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
    /// Something is wrong. The thread does not go on.
    Fail(Failure),
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

/// Whether threads may have to wait behind a thread that waits for a lock. The machine gives a lock to anyone who can have it; others need not.
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

    /// What the operation accesses that others may access at the same time, if it is next together with theirs: a cell, or the queue of a lock. Two that conflict are a data
    /// race or, in a queue, a thread that may wait for one which waits for it.
    pub fn cell_access(&self) -> Option<CellAccess> {
        let (loc, writes, plain) = match *self {
            Operation::Read { loc, access, .. } => (loc, false, access == Access::Plain),
            Operation::Write { loc, access, .. } => (loc, true, access == Access::Plain),
            Operation::Touch { loc, writes } => (loc, writes, true),
            Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => (loc, true, false),
            Operation::Lock { lock, queue: Queue::Ahead, .. } => (queue_of(lock), true, false),
            Operation::Lock { lock, queue: Queue::Behind, .. } => (queue_of(lock), false, true),
            _ => return None,
        };
        Some(CellAccess { loc, writes, plain })
    }

    /// The objects that the operation uses: a cell, or a lock and a condition variable. An object of the code under test has one number, whatever it is.
    pub fn uses(&self) -> impl Iterator<Item = Loc> + use<> {
        let object = |number: u32| Loc::global(number as usize);
        let condvar = match *self {
            Operation::Wait { condvar, .. }
            | Operation::Reacquire { condvar, .. }
            | Operation::Notify { condvar, .. } => Some(condvar),
            _ => None,
        };
        self.loc().into_iter().chain(self.lock().map(object)).chain(condvar.map(object))
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

/// Numbers from here on are not those of cells, but of queues for locks.
const QUEUES: usize = 1 << 42;

fn queue_of(lock: u32) -> Loc {
    Loc::global(QUEUES + lock as usize)
}
