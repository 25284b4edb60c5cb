//! Operations as events: an operation is one event or several in a row.
//!
//! A read-modify-write is a read and a write. A lock, and the queue of a condition variable, is a location whose operations are
//! all read-modify-writes, each of which reads the state that its predecessor left: so they are in one order.

use super::{Axioms, Event, Graph, Kind, LocId, Mode, Object};
use crate::base::ThreadKey;
use crate::execution::Operation;
use crate::program::{Access, LockMode, Ordering, RmwOp};

/// The event that comes next of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A read of one of several writes.
    Read(Object),
    /// The write of a read-modify-write.
    Update,
    /// A write.
    Write(Object),
    /// Reads who notified the thread.
    Dequeue(u32),
    /// Reads that a thread has ended.
    Join(ThreadKey),
    /// Anything without a choice of writes.
    Other,
}

/// What was done to a lock or a condition variable, as the `choice` of the write.
pub(crate) mod deed {
    pub(crate) const LOCK: i64 = 2;
    pub(crate) const UNLOCK: i64 = -2;
    pub(crate) const SHARE: i64 = 1;
    pub(crate) const UNSHARE: i64 = -1;
    pub(crate) const DOWNGRADE: i64 = 3;
    /// As in the turn of a loop before.
    pub(crate) const UNLOCK_SILENTLY: i64 = -4;
    pub(crate) const UNSHARE_SILENTLY: i64 = -5;
    pub(crate) const ENQUEUE: i64 = -1;
    pub(crate) const NOTIFY_ALL: i64 = -2;
    pub(crate) const NOTIFY_NOBODY: i64 = -3;
}

/// The event that comes next, where so many of the operation's are there.
pub(crate) fn slot(operation: &Operation, stage: usize) -> Slot {
    match (operation, stage) {
        (&Operation::Wait { condvar, .. } | &Operation::Notify { condvar, .. }, 0) => {
            Slot::Read(Object::Condvar(condvar))
        }
        (&Operation::Wait { lock, .. }, 2) => Slot::Read(Object::Lock(lock)),
        (&Operation::Reacquire { condvar, .. }, 0) => Slot::Dequeue(condvar),
        (&Operation::Reacquire { lock, .. }, 1) => Slot::Read(Object::Lock(lock)),
        (_, 1..) => Slot::Update,
        (
            &Operation::Read { loc, .. }
            | &Operation::Rmw { loc, .. }
            | &Operation::Cas { loc, .. }
            | &Operation::Count { loc, .. },
            _,
        ) => Slot::Read(Object::Cell(loc)),
        (&Operation::Write { loc, .. }, _) => Slot::Write(Object::Cell(loc)),
        (
            &Operation::Lock { lock, .. }
            | &Operation::TryLock { lock, .. }
            | &Operation::Unlock { lock, .. }
            | &Operation::Downgrade { lock },
            _,
        ) => Slot::Read(Object::Lock(lock)),
        (&Operation::Join { thread }, _) => Slot::Join(thread),
        (&Operation::HasEnded { thread }, _) => Slot::Read(Object::End(thread)),
        _ => Slot::Other,
    }
}

/// Fills in a read whose value is set, of an operation that may wait while its cell shows a value.
pub(crate) fn fill_read(
    axioms: &Axioms,
    operation: &Operation,
    stage: usize,
    while_value: Option<i64>,
    event: &mut Event,
) {
    fill_read_as(axioms, operation, stage, event);
    if stage == 0 && while_value == Some(event.value) {
        event.completes = false;
        block_unless(false, event);
    }
}

fn fill_read_as(axioms: &Axioms, operation: &Operation, stage: usize, event: &mut Event) {
    let value = event.value;
    event.blocked = false;
    let takes = |mode: LockMode| match mode {
        LockMode::Exclusive => (value == 0, Mode::Lock),
        LockMode::Shared => (value >= 0, Mode::LockShared),
    };
    (event.update, event.completes, event.result) = (true, false, value);
    let as_read = |event: &mut Event| (event.update, event.completes) = (false, true);
    match *operation {
        Operation::Read { ordering, access, .. } => {
            event.mode = access_mode(ordering, access);
            event.drains = false;
            as_read(event);
        }
        Operation::Rmw { op, ordering, .. } => {
            event.mode = if op == RmwOp::Take { Mode::Receive } else { ordering.into() };
            event.drains = op != RmwOp::Draw;
        }
        Operation::Cas { expected, success, failure, .. } => {
            let failure = if axioms.failure_ordering { failure } else { Ordering::Relaxed };
            event.mode = if value == expected { success } else { failure }.into();
            if value != expected {
                as_read(event);
            }
        }
        Operation::Count { by, .. } => {
            let is_last = by == -1 && value == 1;
            event.mode = if is_last { Mode::Acquire } else { Mode::Relaxed };
            if by == 0 {
                as_read(event);
            }
        }
        Operation::Lock { mode, .. } => {
            let (free, mode) = takes(mode);
            event.mode = mode;
            block_unless(free, event);
        }
        Operation::Reacquire { .. } => {
            event.mode = Mode::Lock;
            block_unless(value == 0, event);
        }
        Operation::TryLock { mode, .. } => {
            let (free, mode) = takes(mode);
            (event.mode, event.result) = (mode, 1);
            if !free {
                (event.mode, event.result) = (Mode::Relaxed, 0);
                as_read(event);
            }
        }
        Operation::HasEnded { .. } => {
            event.mode = Mode::Relaxed;
            event.drains = false;
            as_read(event);
        }
        _ => {
            debug_assert!(stage == 0 || stage == 2);
            event.mode = Mode::Queue;
        }
    }
}

/// A read that lets its operation wait takes over nothing.
fn block_unless(free: bool, event: &mut Event) {
    if !free {
        (event.blocked, event.update, event.mode) = (true, false, Mode::Queue);
    }
}

/// Fills in the write of a read-modify-write.
pub(crate) fn fill_update(operation: &Operation, stage: usize, read: &Event, event: &mut Event) {
    let old = read.value;
    (event.update, event.source, event.loc) = (true, read.source, read.loc);
    (event.result, event.completes) = (read.result, true);
    let alone = -1 - i64::from(event.thread);
    let mut lock = |value: i64, deed: i64, mode: Mode| (event.value, event.choice, event.mode) = (value, deed, mode);
    match *operation {
        Operation::Rmw { op: RmwOp::Take, operand, .. } => lock(RmwOp::Take.apply(old, operand), 0, Mode::Receive),
        Operation::Rmw { op, operand, ordering, .. } => lock(op.apply(old, operand), 0, ordering.into()),
        Operation::Cas { desired, success, .. } => lock(desired, 0, success.into()),
        Operation::Count { by, .. } => lock(old + by, 0, if by < 0 { Mode::Release } else { Mode::Relaxed }),
        Operation::Lock { mode: LockMode::Exclusive, .. }
        | Operation::TryLock { mode: LockMode::Exclusive, .. }
        | Operation::Reacquire { .. } => lock(alone, deed::LOCK, Mode::Lock),
        Operation::Lock { .. } | Operation::TryLock { .. } => lock(old + 1, deed::SHARE, Mode::Lock),
        Operation::Unlock { mode: LockMode::Exclusive, silent, .. } => {
            lock(0, if silent { deed::UNLOCK_SILENTLY } else { deed::UNLOCK }, Mode::Unlock);
        }
        Operation::Unlock { silent, .. } => {
            lock(old - 1, if silent { deed::UNSHARE_SILENTLY } else { deed::UNSHARE }, Mode::Unlock);
        }
        Operation::Downgrade { .. } => lock(1, deed::DOWNGRADE, Mode::Unlock),
        Operation::Wait { .. } if stage == 1 => {
            lock(old + 1, deed::ENQUEUE, Mode::Queue);
            event.completes = false;
        }
        Operation::Wait { .. } => lock(0, deed::UNLOCK, Mode::Unlock),
        Operation::Notify { all: true, .. } => lock(old + 1, deed::NOTIFY_ALL, Mode::Queue),
        Operation::Notify { .. } => lock(old + 1, deed::NOTIFY_NOBODY, Mode::Queue),
        _ => unreachable!("{operation:?} is no read-modify-write"),
    }
    if matches!(operation, Operation::Rmw { .. } | Operation::Cas { .. } | Operation::Count { .. }) {
        return;
    }
    if !matches!(operation, Operation::TryLock { .. }) {
        event.result = 0;
    }
}

/// Fills in a write that reads nothing.
pub(crate) fn fill_write(operation: &Operation, event: &mut Event) {
    match *operation {
        Operation::Write { value, ordering, access, .. } => {
            event.value = value;
            event.mode = access_mode(ordering, access);
            event.buffered = ordering != Ordering::SeqCst;
            event.drains = !event.buffered;
        }
        Operation::End => (event.value, event.mode, event.last) = (1, Mode::Unlock, true),
        _ => unreachable!("{operation:?} is no write"),
    }
}

/// Fills in an event that neither reads nor writes a value.
pub(crate) fn fill_other(operation: &Operation, event: &mut Event) {
    event.drains = true;
    match *operation {
        Operation::Fence { ordering } => {
            (event.kind, event.mode) = (Kind::Fence, ordering.into());
            event.drains = ordering == Ordering::SeqCst;
        }
        Operation::Touch { writes, .. } => {
            (event.kind, event.mode) = (Kind::Touch(writes), Mode::Plain);
            event.drains = false;
        }
        Operation::JoinAll => event.kind = Kind::JoinAll,
        Operation::Free { block } => event.kind = Kind::Free(block),
        Operation::Choose { .. } => (event.kind, event.drains) = (Kind::Choose, false),
        Operation::Fail(_) => {
            (event.kind, event.drains, event.last) = (Kind::Failed, false, true);
        }
        _ => event.drains = !matches!(operation, Operation::Yield),
    }
}

fn access_mode(ordering: Ordering, access: Access) -> Mode {
    match access {
        Access::Plain => Mode::Plain,
        Access::Atomic => ordering.into(),
    }
}

impl Graph {
    /// The threads that wait for a condition variable after one of its operations, in the order in which they began to.
    pub(crate) fn waiters(&self, condvar: LocId, after: super::Id) -> Vec<u16> {
        let mut waiters = Vec::new();
        for place in 1..=self.place_of(after) {
            let event = self.event(self.write_at(condvar, place));
            match event.choice {
                deed::ENQUEUE => waiters.push(event.thread),
                deed::NOTIFY_ALL => waiters.clear(),
                woken => waiters.retain(|&waiter| i64::from(waiter) != woken),
            }
        }
        waiters
    }

    /// The operation that notified a thread which waits for a condition variable.
    pub(crate) fn notifier(&self, condvar: LocId, thread: u16) -> Option<super::Id> {
        let own = self.thread(thread).iter().rev().map(|&id| self.event(id));
        let enqueued = own.filter(|event| event.loc == condvar && event.is_write()).map(|event| event.place).next()?;
        let wakes = |&&id: &&super::Id| {
            let choice = self.event(id).choice;
            choice == deed::NOTIFY_ALL || choice == i64::from(thread)
        };
        self.writes(condvar)[enqueued as usize..].iter().find(wakes).copied()
    }

    /// How often a thread holds a lock alone, and to share it.
    pub(crate) fn holds(&self, thread: u16, lock: LocId) -> (i64, i64) {
        let own = self.thread(thread).iter().map(|&id| self.event(id));
        let (mut alone, mut shared) = (0, 0);
        for event in own.filter(|event| event.loc == lock && event.is_write()) {
            match event.choice {
                deed::LOCK => alone += 1,
                deed::UNLOCK | deed::UNLOCK_SILENTLY => alone -= 1,
                deed::SHARE => shared += 1,
                deed::UNSHARE | deed::UNSHARE_SILENTLY => shared -= 1,
                _ => (alone, shared) = (alone - 1, shared + 1),
            }
        }
        (alone, shared)
    }

    /// How many events of a thread belong to an operation that is not complete.
    pub(crate) fn stage(&self, thread: u16) -> usize {
        self.thread(thread).iter().rev().take_while(|&&id| !self.event(id).completes).count()
    }
}
