//! Of which kind an operation is: what engines ask instead of telling all operations apart.

use super::{Count, LockAction, Operation, Queue};
use crate::base::{Loc, ThreadKey};
use crate::program::{LockMode, Ordering};

impl Operation {
    /// Whether it is a load.
    pub fn is_read(&self) -> bool {
        matches!(self, Operation::Read { .. })
    }

    /// Whether it is a store.
    pub fn is_write(&self) -> bool {
        matches!(self, Operation::Write { .. })
    }

    /// Whether it is a read-modify-write or a compare-exchange.
    pub fn is_update(&self) -> bool {
        matches!(self, Operation::Rmw { .. } | Operation::Cas { .. })
    }

    /// Whether it is a fence.
    pub fn is_fence(&self) -> bool {
        matches!(self, Operation::Fence { .. })
    }

    /// Whether it is a spin hint.
    pub fn is_yield(&self) -> bool {
        matches!(self, Operation::Yield)
    }

    /// Whether something is wrong: the thread does not go on.
    pub fn is_failure(&self) -> bool {
        matches!(self, Operation::Fail(_))
    }

    /// Whether an assumption does not hold.
    pub fn is_stop(&self) -> bool {
        matches!(self, Operation::Stop)
    }

    /// Whether the thread is done.
    pub fn is_end(&self) -> bool {
        matches!(self, Operation::End)
    }

    /// Whether it waits until every other thread has ended.
    pub fn is_join_all(&self) -> bool {
        matches!(self, Operation::JoinAll)
    }

    /// Whether it waits for other threads to end.
    pub fn is_join(&self) -> bool {
        self.joined().is_some() || self.is_join_all()
    }

    /// The cell whose value is the result: of a load, a read-modify-write or a compare-exchange.
    pub fn read(&self) -> Option<Loc> {
        self.loc().filter(|_| self.is_read() || self.is_update())
    }

    /// What it writes to which cell, if it finds `result` there.
    pub fn written(&self, result: i64) -> Option<(Loc, i64)> {
        match *self {
            Operation::Write { loc, value, .. } => Some((loc, value)),
            Operation::Rmw { loc, op, operand, .. } => Some((loc, op.apply(result, operand))),
            Operation::Cas { loc, expected, desired, .. } if result == expected => Some((loc, desired)),
            _ => None,
        }
    }

    /// The ordering of a load, a store, a read-modify-write or a fence; that of a compare-exchange if it stores.
    pub fn ordering(&self) -> Option<Ordering> {
        match *self {
            Operation::Read { ordering, .. }
            | Operation::Write { ordering, .. }
            | Operation::Rmw { ordering, .. }
            | Operation::Cas { success: ordering, .. }
            | Operation::Fence { ordering } => Some(ordering),
            _ => None,
        }
    }

    /// The operand of a read-modify-write.
    pub fn operand(&self) -> Option<i64> {
        match *self {
            Operation::Rmw { operand, .. } => Some(operand),
            _ => None,
        }
    }

    /// The value that a compare-exchange compares with.
    pub fn expected(&self) -> Option<i64> {
        match *self {
            Operation::Cas { expected, .. } => Some(expected),
            _ => None,
        }
    }

    /// Whether it touches plain data that the machine does not hold: if so, whether it writes.
    pub fn touch(&self) -> Option<bool> {
        match *self {
            Operation::Touch { writes, .. } => Some(writes),
            _ => None,
        }
    }

    /// The reference that it takes, gives back or counts.
    pub fn count(&self) -> Option<Count> {
        match *self {
            Operation::Count { loc, by, reference, sees_last } => Some(Count { loc, by, reference, sees_last }),
            _ => None,
        }
    }

    /// The values that it chooses from: the least, and the one after the greatest.
    pub fn choices(&self) -> Option<(i64, i64)> {
        match *self {
            Operation::Choose { low, high } => Some((low, high)),
            _ => None,
        }
    }

    /// The thread that it starts.
    pub fn forked(&self) -> Option<ThreadKey> {
        match *self {
            Operation::Fork { child } => Some(child),
            _ => None,
        }
    }

    /// The thread for whose end it waits.
    pub fn joined(&self) -> Option<ThreadKey> {
        match *self {
            Operation::Join { thread } => Some(thread),
            _ => None,
        }
    }

    /// The thread of which it asks whether it has ended.
    pub fn asks_for_end_of(&self) -> Option<ThreadKey> {
        match *self {
            Operation::HasEnded { thread } => Some(thread),
            _ => None,
        }
    }

    /// The block that it frees.
    pub fn freed(&self) -> Option<Loc> {
        match *self {
            Operation::Free { block } => Some(block),
            _ => None,
        }
    }

    /// The condition variable that it notifies, and whether it wakes all waiting threads.
    pub fn notified(&self) -> Option<(u32, bool)> {
        match *self {
            Operation::Notify { condvar, all } => Some((condvar, all)),
            _ => None,
        }
    }

    /// The condition variable that it starts to wait for.
    pub fn waited_for(&self) -> Option<u32> {
        match *self {
            Operation::Wait { condvar, .. } => Some(condvar),
            _ => None,
        }
    }

    /// The lock that it takes back at the end of a wait.
    pub fn reacquired(&self) -> Option<u32> {
        match *self {
            Operation::Reacquire { lock, .. } => Some(lock),
            _ => None,
        }
    }

    /// The lock that it is on, and what it does to it.
    pub fn lock_action(&self) -> Option<(u32, LockAction)> {
        match *self {
            Operation::Lock { lock, mode, .. } => Some((lock, LockAction::Acquire(mode))),
            Operation::Reacquire { lock, .. } => Some((lock, LockAction::Acquire(LockMode::Exclusive))),
            Operation::TryLock { lock, mode } => Some((lock, LockAction::Try(mode))),
            Operation::Unlock { lock, mode, .. } => Some((lock, LockAction::Release(mode))),
            Operation::Wait { lock, .. } => Some((lock, LockAction::Release(LockMode::Exclusive))),
            Operation::Downgrade { lock } => Some((lock, LockAction::Downgrade)),
            _ => None,
        }
    }

    /// The lock that it takes and waits for, and how it holds it then.
    pub fn acquired(&self) -> Option<(u32, LockMode)> {
        match self.lock_action() {
            Some((lock, LockAction::Acquire(mode))) => Some((lock, mode)),
            _ => None,
        }
    }

    /// The lock that it takes if it can, and how it holds it then.
    pub fn tried(&self) -> Option<(u32, LockMode)> {
        match self.lock_action() {
            Some((lock, LockAction::Try(mode))) => Some((lock, mode)),
            _ => None,
        }
    }

    /// Whether others may have to wait behind it, where it waits for a lock.
    pub fn queue(&self) -> Queue {
        match *self {
            Operation::Lock { queue, .. } => queue,
            _ => Queue::None,
        }
    }
}
