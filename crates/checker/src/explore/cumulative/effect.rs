//! What operations do, said in one way for all of them: they read cells and write cells, in one step.
//!
//! A lock is a cell that holds who is inside, a condition variable one that holds who waits, a thread one that says how it is doing, a heap
//! block one that says whether it is freed. So whatever is true of reading and writing memory is true of locking, waiting, joining and freeing.

use crate::execution::{Failure, Operation, ThreadKey};
use crate::program::{Loc, LockMode};
use crate::trace::{FAILED, Run};
use std::collections::BTreeMap;

/// Something that operations read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Cell {
    Memory(Loc),
    /// Of a heap block: 1 when it has been freed.
    Freed(Loc),
    /// 0 when free, -1 when held alone, else the number of those who share it.
    Lock(u32),
    /// The number of a set of waiters in [`Waiters`].
    Condvar(u32),
    /// [`UNBORN`], [`RUNNING`] or [`ENDED`].
    Thread(ThreadKey),
}

pub(super) const UNBORN: i64 = 0;
pub(super) const RUNNING: i64 = 1;
pub(super) const ENDED: i64 = 2;

/// One way in which an operation can be performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Outcome {
    /// The operation's result; nothing if it is the value that was read.
    pub(super) result: Option<i64>,
    pub(super) writes: Vec<(Cell, i64)>,
    /// The thread that is notified.
    pub(super) wakes: Option<ThreadKey>,
    /// The thread fails and stops.
    pub(super) fails: bool,
}

/// What must be true of a cell besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Test {
    Is(i64),
    IsNot(i64),
}

/// The locks that a thread holds, sorted.
pub(super) type Held = Vec<(u32, LockMode)>;

/// Sets of threads that wait for a condition variable, and whether they have been notified. Number 0 is the empty set.
#[derive(Default)]
pub(super) struct Waiters {
    sets: Vec<Vec<(ThreadKey, bool)>>,
    numbers: BTreeMap<Vec<(ThreadKey, bool)>, i64>,
}

impl Test {
    pub(super) fn holds(self, value: i64) -> bool {
        match self {
            Test::Is(it) => value == it,
            Test::IsNot(it) => value != it,
        }
    }
}

impl Outcome {
    fn result(result: i64) -> Outcome {
        Outcome { result: Some(result), writes: vec![], wakes: None, fails: false }
    }

    pub(super) fn failure() -> Outcome {
        Outcome { fails: true, ..Outcome::result(FAILED) }
    }

    fn writing(mut self, cell: Cell, value: i64) -> Outcome {
        self.writes.push((cell, value));
        self
    }
}

/// The cell whose value decides how the operation is performed.
pub(super) fn decisive(operation: &Operation, held: &Held) -> Option<Cell> {
    match *operation {
        Operation::Read { loc, .. } | Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => {
            Some(Cell::Memory(loc))
        }
        Operation::Lock { lock, .. } | Operation::TryLock { lock, .. } => Some(Cell::Lock(lock)),
        // Who holds a lock alone need not look to know what giving it back leaves.
        Operation::Unlock { lock, mode: LockMode::Shared } if held.contains(&(lock, LockMode::Shared)) => {
            Some(Cell::Lock(lock))
        }
        Operation::Wait { condvar, lock } if held.contains(&(lock, LockMode::Exclusive)) => {
            Some(Cell::Condvar(condvar))
        }
        Operation::Reacquire { condvar, .. } | Operation::Notify { condvar, .. } => Some(Cell::Condvar(condvar)),
        Operation::Join { thread } => Some(Cell::Thread(thread)),
        Operation::Free { block } => Some(Cell::Freed(block)),
        _ => None,
    }
}

/// What must be true besides, if the operation is not to fail or to wait. (`JoinAll` looks at all threads, and they are not known beforehand.)
pub(super) fn guard(operation: &Operation, frees: bool) -> Option<(Cell, Test)> {
    match *operation {
        Operation::Reacquire { lock, .. } => Some((Cell::Lock(lock), Test::Is(0))),
        _ => operation.loc().and_then(Loc::block).filter(|_| frees).map(|block| (Cell::Freed(block), Test::Is(0))),
    }
}

/// All ways in which a thread's operation can be performed when its decisive cell has this value. None: it must wait.
pub(super) fn outcomes(
    operation: &Operation,
    me: ThreadKey,
    held: &Held,
    value: i64,
    waiters: &mut Waiters,
) -> Vec<Outcome> {
    let read = Outcome { result: None, writes: vec![], wakes: None, fails: false };
    let done = || Outcome::result(0);
    match *operation {
        Operation::Read { .. } => vec![read],
        Operation::Rmw { loc, op, operand, .. } => vec![read.writing(Cell::Memory(loc), op.apply(value, operand))],
        Operation::Cas { loc, expected, desired, .. } if value == expected => {
            vec![read.writing(Cell::Memory(loc), desired)]
        }
        Operation::Cas { .. } => vec![read],
        Operation::Write { loc, value, .. } => vec![done().writing(Cell::Memory(loc), value)],
        Operation::Lock { lock, mode } => {
            let taken = taken(value, mode);
            taken.map(|taken| done().writing(Cell::Lock(lock), taken)).into_iter().collect()
        }
        Operation::TryLock { lock, mode } => match taken(value, mode) {
            Some(taken) => vec![Outcome::result(1).writing(Cell::Lock(lock), taken)],
            None => vec![done()],
        },
        Operation::Unlock { lock, mode } if held.contains(&(lock, mode)) => {
            vec![done().writing(Cell::Lock(lock), if value > 0 { value - 1 } else { 0 })]
        }
        Operation::Wait { condvar, lock } if held.contains(&(lock, LockMode::Exclusive)) => {
            let waiting = waiters.with(value, me, Some(false));
            vec![done().writing(Cell::Lock(lock), 0).writing(Cell::Condvar(condvar), waiting)]
        }
        Operation::Unlock { .. } | Operation::Wait { .. } => vec![Outcome::failure()],
        Operation::Reacquire { condvar, lock } if waiters.is_notified(value, me) => {
            let left = waiters.with(value, me, None);
            vec![done().writing(Cell::Lock(lock), -1).writing(Cell::Condvar(condvar), left)]
        }
        Operation::Reacquire { .. } => vec![],
        Operation::Notify { condvar, all } => notifications(condvar, all, value, waiters),
        Operation::Fork { child } => vec![Outcome::result(child.0 as i64).writing(Cell::Thread(child), RUNNING)],
        Operation::End => vec![done().writing(Cell::Thread(me), ENDED)],
        Operation::Join { .. } => match value {
            UNBORN => vec![Outcome::failure()],
            ENDED => vec![done()],
            _ => vec![],
        },
        Operation::Free { block } if value == 0 => vec![done().writing(Cell::Freed(block), 1)],
        Operation::Free { .. } => vec![Outcome::failure()],
        Operation::Choose { low, high } => (low..high).map(Outcome::result).collect(),
        Operation::Fail(Failure { kind, .. }) if kind.is_fatal() => vec![Outcome::failure()],
        Operation::Stop => vec![],
        Operation::Fence { .. } | Operation::JoinAll | Operation::Yield | Operation::Fail(_) => vec![done()],
        Operation::Touch { .. } | Operation::Count { .. } | Operation::HasEnded { .. } => {
            unreachable!("programs have no such operation")
        }
    }
}

fn notifications(condvar: u32, all: bool, value: i64, waiters: &mut Waiters) -> Vec<Outcome> {
    let asleep: Vec<ThreadKey> = waiters.set(value).iter().filter(|w| !w.1).map(|w| w.0).collect();
    if asleep.is_empty() {
        return vec![Outcome::result(0)];
    }
    if all {
        let woken = asleep.iter().fold(value, |set, &key| waiters.with(set, key, Some(true)));
        return vec![Outcome::result(0).writing(Cell::Condvar(condvar), woken)];
    }
    let wake = |&key: &ThreadKey| {
        let woken = waiters.with(value, key, Some(true));
        Outcome { wakes: Some(key), ..Outcome::result(0).writing(Cell::Condvar(condvar), woken) }
    };
    asleep.iter().map(wake).collect()
}

/// The locks that a thread holds after an operation with this result.
pub(super) fn held_after(operation: &Operation, result: i64, held: &Held) -> Held {
    let mut held = held.clone();
    let mut release = |lock: u32, mode: LockMode| {
        held.iter().position(|entry| *entry == (lock, mode)).map(|at| held.remove(at));
    };
    match *operation {
        Operation::Unlock { lock, mode } => release(lock, mode),
        Operation::Wait { lock, .. } => release(lock, LockMode::Exclusive),
        Operation::TryLock { .. } if result == 0 => {}
        Operation::Lock { lock, mode } | Operation::TryLock { lock, mode } => held.push((lock, mode)),
        Operation::Reacquire { lock, .. } => held.push((lock, LockMode::Exclusive)),
        _ => {}
    }
    held.sort_unstable();
    held
}

/// For each event of each thread of a run, what its lock held just before it.
pub(super) fn lock_values(run: &Run) -> Vec<Vec<i64>> {
    let mut values: Vec<Vec<i64>> = run.threads.iter().map(|thread| vec![0; thread.events.len()]).collect();
    let events =
        run.threads.iter().enumerate().flat_map(|(thread, of)| {
            of.events.iter().enumerate().map(move |(at, event)| (event.at, thread, at, event))
        });
    let mut events: Vec<_> = events.collect();
    events.sort_unstable_by_key(|event| event.0);
    let mut locks: BTreeMap<u32, i64> = BTreeMap::new();
    for (_, thread, at, event) in events {
        let (lock, mode, takes) = match event.operation {
            Operation::Lock { lock, mode } => (lock, mode, true),
            Operation::TryLock { lock, mode } => (lock, mode, event.result == 1),
            Operation::Reacquire { lock, .. } => (lock, LockMode::Exclusive, true),
            Operation::Unlock { lock, mode } => (lock, mode, false),
            Operation::Wait { lock, .. } => (lock, LockMode::Exclusive, false),
            _ => continue,
        };
        let value = locks.entry(lock).or_default();
        values[thread][at] = *value;
        let gives_back = matches!(event.operation, Operation::Unlock { .. } | Operation::Wait { .. });
        if takes {
            *value = taken(*value, mode).unwrap_or(*value);
        } else if gives_back && event.result != FAILED {
            *value = (*value - 1).max(0);
        }
    }
    values
}

/// What a lock holds after it was taken, if it can be.
fn taken(value: i64, mode: LockMode) -> Option<i64> {
    match mode {
        LockMode::Exclusive => (value == 0).then_some(-1),
        LockMode::Shared => (value >= 0).then_some(value + 1),
    }
}

impl Waiters {
    fn set(&self, number: i64) -> &[(ThreadKey, bool)] {
        if number == 0 { &[] } else { &self.sets[number as usize - 1] }
    }

    fn is_notified(&self, number: i64, me: ThreadKey) -> bool {
        self.set(number).contains(&(me, true))
    }

    /// The set in which a thread waits, notified or not, or does not wait.
    fn with(&mut self, number: i64, key: ThreadKey, waits: Option<bool>) -> i64 {
        let mut set: Vec<_> = self.set(number).iter().copied().filter(|waiter| waiter.0 != key).collect();
        set.extend(waits.map(|notified| (key, notified)));
        set.sort_unstable();
        if set.is_empty() {
            return 0;
        }
        let next = self.sets.len() as i64 + 1;
        let number = *self.numbers.entry(set.clone()).or_insert(next);
        if number == next {
            self.sets.push(set);
        }
        number
    }
}
