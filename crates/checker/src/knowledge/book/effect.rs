//! What operations do, said in one way for all of them: they read cells and write cells, in one step.
//!
//! A lock is a cell that holds who is inside, a condition variable one that holds who waits, a thread one that says how it is doing, a heap
//! block one that says whether it is freed. So whatever is true of reading and writing memory is true of locking, waiting, joining and freeing.
//!
//! An opaque object holds a version (`trace/versions.rs`): who sees its contents has the version for a result, and who changes them leaves a new one.

use super::local::{At, Local, Locals};
use super::waiters::Waiters;
use crate::base::{FAILED, Loc, ThreadKey};
use crate::execution::Operation;
use crate::program::{Access, LockMode};
use crate::trace::{INITIAL, Run, seen_of_count};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Something that operations read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Cell {
    Memory(Loc),
    /// The version of an opaque object, by its location.
    Opaque(Loc),
    /// A lock as [`Cell::Lock`], with the version of what it protects, by the location of that: see [`free`].
    Guarded(Loc),
    /// Of a heap block: 1 when it has been freed.
    Freed(Loc),
    /// 0 when free, -1 when held alone, else the number of those who share it.
    Lock(u32),
    /// The number of a set of waiters in [`Waiters`].
    Condvar(u32),
    /// [`UNBORN`], [`RUNNING`], or [`ENDED`] or the larger number of what it came to.
    Thread(ThreadKey),
}

pub(crate) const UNBORN: i64 = 0;
pub(crate) const RUNNING: i64 = 1;
pub(crate) const ENDED: i64 = 2;

/// One way in which an operation can be performed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Effect {
    /// The operation's result; nothing if it is the value that was read.
    pub(crate) result: Option<i64>,
    pub(crate) writes: Vec<(Cell, i64)>,
    /// The thread that is notified.
    pub(crate) wakes: Option<ThreadKey>,
    /// What the operation's second cell must hold.
    pub(crate) second: Option<i64>,
    /// The thread fails and stops.
    pub(crate) fails: bool,
}

/// What must be true of a cell besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Is(i64),
    IsNot(i64),
}

/// The locks that a thread holds, sorted.
pub(crate) type Held = Vec<(u32, LockMode)>;

impl Test {
    pub(crate) fn holds(self, value: i64) -> bool {
        match self {
            Test::Is(it) => value == it,
            Test::IsNot(it) => value != it,
        }
    }
}

impl Cell {
    /// The location in memory that the cell is.
    pub(crate) fn loc(self) -> Option<Loc> {
        match self {
            Cell::Memory(loc) | Cell::Opaque(loc) => Some(loc),
            _ => None,
        }
    }

    /// What the cell holds before anything has happened, if its location does.
    pub(crate) fn initial(self, first: i64) -> i64 {
        match self {
            Cell::Memory(_) => first,
            Cell::Opaque(_) => INITIAL,
            Cell::Guarded(_) => free(INITIAL),
            _ => 0,
        }
    }

    fn of_lock(lock: u32, contents: Option<Loc>) -> Cell {
        contents.map_or(Cell::Lock(lock), Cell::Guarded)
    }
}

impl Effect {
    pub(crate) fn result(result: i64) -> Effect {
        Effect { result: Some(result), writes: vec![], wakes: None, second: None, fails: false }
    }

    /// The result is what was read.
    fn read() -> Effect {
        Effect { result: None, ..Effect::result(0) }
    }

    pub(crate) fn failure() -> Effect {
        Effect { fails: true, ..Effect::result(FAILED) }
    }

    pub(crate) fn writing(mut self, cell: Cell, value: i64) -> Effect {
        self.writes.push((cell, value));
        self
    }
}

/// The cell whose value decides how the operation is performed.
pub(crate) fn decisive(at: &At, held: &Held) -> Option<Cell> {
    match at.operation {
        Operation::Read { loc, .. } if at.object.is_some_and(|object| object != loc) => at.object.map(Cell::Guarded),
        Operation::Read { loc, .. } | Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => {
            Some(at.object.map_or(Cell::Memory(loc), Cell::Opaque))
        }
        Operation::Write { loc, access: Access::Plain, .. } if at.object.is_some() => Some(Cell::Opaque(loc)),
        Operation::Touch { loc, .. } => Some(Cell::Opaque(loc)),
        Operation::Count { loc, .. } if !is_quiet(&at.operation) => Some(Cell::Memory(loc)),
        Operation::Lock { lock, .. } | Operation::TryLock { lock, .. } => Some(Cell::of_lock(lock, at.object)),
        // Who holds a lock alone need not look to know what giving it back leaves.
        Operation::Unlock { lock, mode: LockMode::Shared, .. } if held.contains(&(lock, LockMode::Shared)) => {
            Some(Cell::of_lock(lock, at.object))
        }
        Operation::Wait { condvar, lock } if held.contains(&(lock, LockMode::Exclusive)) => {
            Some(Cell::Condvar(condvar))
        }
        Operation::Reacquire { condvar, .. } => Some(at.object.map_or(Cell::Condvar(condvar), Cell::Guarded)),
        Operation::Notify { condvar, .. } => Some(Cell::Condvar(condvar)),
        Operation::Join { thread } | Operation::HasEnded { thread } => Some(Cell::Thread(thread)),
        Operation::Free { block } => Some(Cell::Freed(block)),
        _ => None,
    }
}

/// Whether a reference is taken or given back and nobody can tell in which order.
pub(crate) fn is_quiet(operation: &Operation) -> bool {
    matches!(operation, Operation::Count { by, sees_last: false, .. } if *by != 0)
}

/// Whether the result of an operation says what it writes: not so of those who count, and do not see how many they are.
pub(crate) fn is_told_by_result(operation: &Operation) -> bool {
    !shares(operation) && !matches!(operation, Operation::Count { .. })
}

/// Whether an operation is of somebody who shares a lock.
pub(crate) fn shares(operation: &Operation) -> bool {
    match operation {
        Operation::Lock { mode, .. } | Operation::TryLock { mode, .. } | Operation::Unlock { mode, .. } => {
            *mode == LockMode::Shared
        }
        _ => false,
    }
}

/// How many share a lock.
pub(crate) fn readers(lock: i64) -> i64 {
    lock & ((1 << READERS) - 1)
}

/// The cell whose value decides besides.
pub(crate) fn second(at: &At) -> Option<Cell> {
    match at.operation {
        Operation::Reacquire { condvar, .. } if at.object.is_some() => Some(Cell::Condvar(condvar)),
        _ => None,
    }
}

/// What must be true besides, if the operation is not to fail or to wait. (`JoinAll` looks at all threads, and they are not known beforehand.)
pub(crate) fn guard(at: &At, frees: bool) -> Option<(Cell, Test)> {
    match at.operation {
        Operation::Reacquire { lock, .. } => at.object.is_none().then_some((Cell::Lock(lock), Test::Is(0))),
        _ => at.operation.loc().and_then(Loc::block).filter(|_| frees).map(|block| (Cell::Freed(block), Test::Is(0))),
    }
}

/// A thread that performs an operation.
pub(crate) struct Actor<'a> {
    pub(crate) key: ThreadKey,
    pub(crate) local: Local,
    pub(crate) at: &'a At,
}

/// What is known about values.
pub(crate) struct Known<'a> {
    pub(crate) locals: &'a mut dyn Locals,
    pub(crate) waiters: &'a mut Waiters,
    /// What is in memory where an opaque object has a version, but for the initial one.
    pub(crate) left: &'a mut FxHashMap<i64, i64>,
}

/// What an operation finds.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// In its decisive cell.
    pub(crate) value: i64,
    /// What is in memory, where that is the version of an opaque object.
    pub(crate) memory: i64,
    /// In its second cell.
    pub(crate) second: i64,
}

impl Known<'_> {
    /// A new version of an opaque object, that holds this value in memory.
    fn version(&mut self, actor: &Actor<'_>, result: i64, value: i64) -> i64 {
        let version = self.locals.version_after(actor.local, result);
        self.left.insert(version, value);
        version
    }

    /// All ways in which a thread's operation can be performed when it finds this. None: it must wait.
    pub(crate) fn outcomes(&mut self, actor: &Actor<'_>, found: Found) -> Vec<Effect> {
        let (me, object, value) = (actor.key, actor.at.object, found.value);
        let done = || Effect::result(0);
        match actor.at.operation {
            Operation::Count { .. } if is_quiet(&actor.at.operation) => vec![done()],
            // Nobody has a reference to what is gone.
            Operation::Count { by, .. } if by != 0 && value <= 0 => vec![],
            Operation::Read { .. }
            | Operation::Rmw { .. }
            | Operation::Cas { .. }
            | Operation::Write { .. }
            | Operation::Touch { .. }
            | Operation::Count { .. } => vec![self.access(actor, found)],
            Operation::Lock { lock, mode, .. } => {
                let taken = taken(value, mode);
                let take = |taken| Effect::result(version(value)).writing(Cell::of_lock(lock, object), taken);
                taken.map(take).into_iter().collect()
            }
            Operation::TryLock { lock, mode } => match taken(value, mode) {
                Some(taken) => {
                    vec![Effect::result(version(value).max(1)).writing(Cell::of_lock(lock, object), taken)]
                }
                None => vec![done()],
            },
            Operation::Unlock { lock, mode, .. } if self.locals.held(actor.local).contains(&(lock, mode)) => {
                let left = match mode {
                    LockMode::Shared => value - 1,
                    LockMode::Exclusive => self.given_back(actor),
                };
                vec![done().writing(Cell::of_lock(lock, object), left)]
            }
            Operation::Wait { condvar, lock }
                if self.locals.held(actor.local).contains(&(lock, LockMode::Exclusive)) =>
            {
                let left = self.given_back(actor);
                let waiting = self.waiters.with(value, me, Some(false));
                vec![done().writing(Cell::of_lock(lock, object), left).writing(Cell::Condvar(condvar), waiting)]
            }
            Operation::Unlock { .. } | Operation::Wait { .. } => vec![Effect::failure()],
            Operation::Reacquire { condvar, lock } => self.reacquire(actor, found, condvar, lock),
            Operation::Notify { condvar, all } => self.waiters.notifications(condvar, all, value),
            Operation::Fork { child } => vec![Effect::result(child.0 as i64).writing(Cell::Thread(child), RUNNING)],
            Operation::End => {
                let came_to = self.locals.version_after(actor.local, 0);
                vec![done().writing(Cell::Thread(me), came_to.max(ENDED))]
            }
            Operation::Join { .. } => match value {
                UNBORN => vec![Effect::failure()],
                RUNNING => vec![],
                came_to if object.is_some() => vec![Effect::result(came_to)],
                _ => vec![done()],
            },
            Operation::HasEnded { .. } => vec![Effect::result(i64::from(value >= ENDED))],
            Operation::Free { block } if value == 0 => vec![done().writing(Cell::Freed(block), 1)],
            Operation::Free { .. } => vec![Effect::failure()],
            Operation::Choose { low, high } => (low..high).map(Effect::result).collect(),
            Operation::Fail(_) => vec![Effect::failure()],
            Operation::Stop => vec![],
            // Checks with locks that are downgraded are left to others.
            Operation::Downgrade { .. } => vec![done()],
            Operation::Fence { .. } | Operation::JoinAll | Operation::Yield => vec![done()],
        }
    }

    /// An operation on a location.
    fn access(&mut self, actor: &Actor<'_>, Found { value, memory, .. }: Found) -> Effect {
        let written = match actor.at.operation {
            Operation::Rmw { op, operand, .. } => Some(op.apply(memory, operand)),
            Operation::Cas { expected, desired, .. } => (memory == expected).then_some(desired),
            Operation::Write { value, .. } => Some(value),
            Operation::Touch { writes, .. } => writes.then_some(0),
            Operation::Count { by, .. } => (by != 0).then_some(memory + by),
            _ => None,
        };
        let result = match actor.at.operation {
            Operation::Write { access: Access::Plain, .. } if actor.at.object.is_some() => Effect::read(),
            Operation::Write { .. } => Effect::result(0),
            Operation::Count { by, sees_last, .. } => Effect::result(seen_of_count(by, sees_last, memory)),
            Operation::Read { loc, .. } if actor.at.object.is_some_and(|object| object != loc) => {
                Effect::result(version(value))
            }
            _ => Effect::read(),
        };
        match (written, actor.at.operation.loc(), actor.at.object) {
            (Some(left), Some(loc), None) => result.writing(Cell::Memory(loc), left),
            (Some(left), Some(loc), Some(_)) => {
                let version = self.version(actor, result.result.unwrap_or(value), left);
                result.writing(Cell::Opaque(loc), version)
            }
            _ => result,
        }
    }

    /// What a lock holds that was held alone and is given back.
    fn given_back(&mut self, actor: &Actor<'_>) -> i64 {
        match actor.at.object {
            Some(_) => free(self.locals.version_after(actor.local, 0)),
            None => free(0),
        }
    }

    /// A thread that waits has been notified, or not.
    fn reacquire(&mut self, actor: &Actor<'_>, found: Found, condvar: u32, lock: u32) -> Vec<Effect> {
        let (waiting, taken) = match actor.at.object {
            Some(_) => (found.second, taken(found.value, LockMode::Exclusive)),
            None => (found.value, Some(-1)),
        };
        let Some(taken) = taken.filter(|_| self.waiters.is_notified(waiting, actor.key)) else { return vec![] };
        let left = self.waiters.with(waiting, actor.key, None);
        let result = if actor.at.object.is_some() { version(found.value) } else { 0 };
        let outcome = Effect::result(result)
            .writing(Cell::of_lock(lock, actor.at.object), taken)
            .writing(Cell::Condvar(condvar), left);
        vec![Effect { second: actor.at.object.map(|_| waiting), ..outcome }]
    }
}

/// The version of an opaque object, or of what a thread has come to, that whoever finds this sees.
pub(crate) fn version_seen(at: &At, cell: Cell, value: i64) -> Option<i64> {
    match cell {
        Cell::Opaque(_) => Some(value),
        Cell::Guarded(_) => Some(version(value)),
        Cell::Thread(_) if at.object.is_some() => Some(value),
        _ => None,
    }
}

/// What a lock holds that nobody holds, where what it protects has this version.
fn free(version: i64) -> i64 {
    version << READERS
}

/// So many bits of what a lock holds are for the number of those who share it.
const READERS: u32 = 16;

/// The version of what a lock protects.
fn version(lock: i64) -> i64 {
    // Who holds it alone leaves it negative.
    (if lock < 0 { -1 - lock } else { lock }) >> READERS
}

/// The locks that a thread holds after an operation with this result.
pub(crate) fn held_after(operation: &Operation, result: i64, held: &Held) -> Held {
    let mut held = held.clone();
    let mut release = |lock: u32, mode: LockMode| {
        held.iter().position(|entry| *entry == (lock, mode)).map(|at| held.remove(at));
    };
    match *operation {
        Operation::Unlock { lock, mode, .. } => release(lock, mode),
        Operation::Wait { lock, .. } => release(lock, LockMode::Exclusive),
        Operation::TryLock { .. } if result == 0 => {}
        Operation::Lock { lock, mode, .. } | Operation::TryLock { lock, mode } => held.push((lock, mode)),
        Operation::Reacquire { lock, .. } => held.push((lock, LockMode::Exclusive)),
        _ => {}
    }
    held.sort_unstable();
    held
}

/// For each event of each thread of a run, what its lock or its count held just before it.
pub(crate) fn values_before<T>(run: &Run<T>) -> Vec<Vec<i64>> {
    let mut values: Vec<Vec<i64>> = run.threads.iter().map(|thread| vec![0; thread.events.len()]).collect();
    let events =
        run.threads.iter().enumerate().flat_map(|(thread, of)| {
            of.events.iter().enumerate().map(move |(at, event)| (event.at, thread, at, event))
        });
    let mut events: Vec<_> = events.collect();
    events.sort_unstable_by_key(|event| event.0);
    let created = run.created.iter().map(|&(loc, value)| (Cell::Memory(loc), value));
    let mut cells: BTreeMap<Cell, i64> = created.collect();
    for (_, thread, at, event) in events {
        let (lock, mode, takes) = match event.operation {
            Operation::Lock { lock, mode, .. } => (lock, mode, true),
            Operation::TryLock { lock, mode } => (lock, mode, event.result != 0),
            Operation::Reacquire { lock, .. } => (lock, LockMode::Exclusive, true),
            Operation::Unlock { lock, mode, .. } => (lock, mode, false),
            Operation::Wait { lock, .. } => (lock, LockMode::Exclusive, false),
            Operation::Count { loc, by, .. } => {
                let count = cells.entry(Cell::Memory(loc)).or_default();
                values[thread][at] = *count;
                *count += by;
                continue;
            }
            _ => continue,
        };
        let cell = Cell::of_lock(lock, event.object);
        let value = cells.entry(cell).or_insert(cell.initial(0));
        values[thread][at] = *value;
        let gives_back = matches!(event.operation, Operation::Unlock { .. } | Operation::Wait { .. });
        if takes {
            *value = taken(*value, mode).unwrap_or(*value);
        } else if gives_back && event.result != FAILED {
            *value = if mode == LockMode::Shared { *value - 1 } else { free(event.version.unwrap_or(0)) };
        }
    }
    values
}

/// What a lock holds after it was taken, if it can be.
fn taken(value: i64, mode: LockMode) -> Option<i64> {
    match mode {
        LockMode::Exclusive => (value >= 0 && readers(value) == 0).then_some(-1 - value),
        LockMode::Shared => (value >= 0).then_some(value + 1),
    }
}
