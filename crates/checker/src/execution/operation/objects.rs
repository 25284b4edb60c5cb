//! What operations are on: cells, locks, condition variables, and the queues of locks.

use super::{CellAccess, Operation, Queue};
use crate::base::Loc;
use crate::program::Access;

impl Operation {
    /// The lock that the operation takes, tries to take or gives back.
    pub fn lock(&self) -> Option<u32> {
        self.lock_action().map(|(lock, _)| lock)
    }

    /// Whether threads that poll a lock have to look again after this operation on it: the lock may protect something else now, or a thread may have
    /// seen that it was held. A thread that just takes it has seen nothing, and has not changed anything yet.
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
        self.loc().into_iter().chain(self.lock().map(object)).chain(self.condvar().map(object))
    }

    /// The condition variable that the operation waits for or notifies.
    pub fn condvar(&self) -> Option<u32> {
        match *self {
            Operation::Wait { condvar, .. }
            | Operation::Reacquire { condvar, .. }
            | Operation::Notify { condvar, .. } => Some(condvar),
            _ => None,
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

/// Numbers from here on are not those of cells, but of queues for locks.
const QUEUES: usize = 1 << 42;

fn queue_of(lock: u32) -> Loc {
    Loc::global(QUEUES + lock as usize)
}
