//! The state of a machine, in pieces that can be stored once and compared: what is shared, and each thread.

use super::Buffer;
use crate::base::{Failure, Loc, ThreadId, ThreadKey};
use crate::program::LockMode;

/// A machine between two steps. A step of a thread changes `shared`, that thread, and may add a thread at the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<T> {
    /// What all threads see.
    pub shared: Shared,
    /// The threads in order of creation.
    pub threads: Vec<ThreadState<T>>,
}

/// A thread, its buffer, and how it is doing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreadState<T> {
    /// Its name in every execution.
    pub key: ThreadKey,
    /// What the subject knows of it.
    pub local: T,
    /// Its stores on their way.
    pub buffer: Buffer,
    /// How it is doing.
    pub status: Status,
}

/// How a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It is at an operation.
    Running,
    /// It has ended.
    Ended,
    /// It has stopped because something was wrong.
    Failed,
}

/// Memory and locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shared {
    cells: Vec<i64>,
    /// Heap cells that are not 0, by location.
    heap: Vec<(Loc, i64)>,
    freed: Vec<Loc>,
    /// For each object that has a global cell, the thread that has dropped it, counted from 1; 0 for none.
    dropped: Vec<u16>,
    /// Locks that are held, sorted.
    held: Vec<(u32, LockMode, ThreadId)>,
    /// Threads that wait for a condition variable, sorted, and whether they have been notified.
    waiting: Vec<(u32, ThreadId, bool)>,
    /// For each global cell, the thread that wrote it last, and how often it did so while no other thread accessed it. Empty unless it is needed.
    runs: Option<Vec<(ThreadId, u32)>>,
    /// For locks and threads, sorted: how often a thread took and gave back a lock since another thread did something that threads which poll it must know.
    visits: Vec<(u32, ThreadId, u32)>,
}

impl Shared {
    /// Memory with these values in its global cells; no lock is held.
    pub fn new(cells: Vec<i64>) -> Shared {
        Shared {
            cells,
            heap: Vec::new(),
            freed: Vec::new(),
            dropped: Vec::new(),
            held: Vec::new(),
            waiting: Vec::new(),
            runs: None,
            visits: Vec::new(),
        }
    }

    /// Remembers from now on which thread accesses which cell and which lock.
    pub fn watch_accesses(&mut self) {
        self.runs = Some(Vec::new());
    }

    /// A thread has accessed a cell in memory.
    pub fn note_access(&mut self, loc: Loc, thread: ThreadId, writes: bool) {
        let (Some(runs), Some(index)) = (&mut self.runs, loc.as_global()) else { return };
        if index >= runs.len() {
            runs.resize(index + 1, (thread, 0));
        }
        let (writer, times) = &mut runs[index];
        count_run(writer, times, thread, writes);
    }

    /// A thread has taken a lock or given it back, or has tried to take it and could not. Threads that poll it may have to look again.
    pub fn note_visit(&mut self, lock: u32, thread: ThreadId, could: bool, tells_pollers: bool) {
        if self.runs.is_none() {
            return;
        }
        if tells_pollers {
            self.visits.retain(|visit| visit.0 != lock || visit.1 == thread);
        }
        if could {
            let at = self.visit(lock, thread).unwrap_or_else(|at| {
                self.visits.insert(at, (lock, thread, 0));
                at
            });
            self.visits[at].2 += 1;
        }
    }

    /// How often a thread has taken or given back a lock since another thread did something that threads which poll it must know.
    pub fn visits_of(&self, lock: u32, thread: ThreadId) -> u32 {
        self.visit(lock, thread).map_or(0, |at| self.visits[at].2)
    }

    fn visit(&self, lock: u32, thread: ThreadId) -> Result<usize, usize> {
        self.visits.binary_search_by_key(&(lock, thread), |visit| (visit.0, visit.1))
    }

    /// How often a thread has written a cell since anyone else accessed it.
    pub fn run_of(&self, loc: Loc, thread: ThreadId) -> u32 {
        let run = self.runs.as_ref().zip(loc.as_global()).and_then(|(runs, index)| runs.get(index));
        run.filter(|run| run.0 == thread).map_or(0, |run| run.1)
    }

    /// A cell comes into being with a value.
    pub fn create(&mut self, loc: Loc, value: i64) {
        if let Some(index) = loc.as_global()
            && index >= self.cells.len()
        {
            self.cells.resize(index + 1, 0);
        }
        self.write(loc, value);
    }

    /// The value in memory.
    pub fn read(&self, loc: Loc) -> i64 {
        match loc.as_global() {
            Some(index) => self.cells[index],
            None => self.heap.binary_search_by_key(&loc, |cell| cell.0).map_or(0, |at| self.heap[at].1),
        }
    }

    /// Changes the value in memory.
    pub fn write(&mut self, loc: Loc, value: i64) {
        if let Some(index) = loc.as_global() {
            self.cells[index] = value;
            return;
        }
        match (self.heap.binary_search_by_key(&loc, |cell| cell.0), value) {
            (Ok(at), 0) => drop(self.heap.remove(at)),
            (Ok(at), _) => self.heap[at].1 = value,
            (Err(_), 0) => {}
            (Err(at), _) => self.heap.insert(at, (loc, value)),
        }
    }

    /// The global cells.
    pub fn cells(&self) -> &[i64] {
        &self.cells
    }

    /// The heap cells that are not 0, by location.
    pub fn heap(&self) -> &[(Loc, i64)] {
        &self.heap
    }

    /// Whether the cell exists and is in a block that has not been freed.
    pub fn check(&self, loc: Loc) -> Result<(), Failure> {
        use crate::base::FailureKind::{InvalidPointer, UseAfterFree};
        match (loc.as_global(), loc.block()) {
            (Some(index), _) if index >= self.cells.len() => {
                Err(Failure::new(InvalidPointer, "a pointer leads outside of memory"))
            }
            _ if self.dropped_by(loc).is_some() => Err(Failure::new(UseAfterFree, format!("{loc} has been dropped"))),
            (_, Some(block)) if self.freed.binary_search(&block).is_ok() => {
                Err(Failure::new(UseAfterFree, format!("{loc} has been freed")))
            }
            _ => Ok(()),
        }
    }

    /// Frees a heap block. Says whether it was allocated until now.
    pub fn free(&mut self, block: Loc) -> bool {
        match self.freed.binary_search(&block) {
            Ok(_) => false,
            Err(at) => {
                self.freed.insert(at, block);
                self.heap.retain(|(loc, _)| loc.block() != Some(block));
                true
            }
        }
    }

    /// A thread drops an object.
    pub fn drop_object(&mut self, object: Loc, thread: ThreadId) {
        let Some(index) = object.as_global() else { return };
        if self.dropped.len() <= index {
            self.dropped.resize(index + 1, 0);
        }
        self.dropped[index] = thread.0 + 1;
    }

    /// Whether anything has been dropped.
    pub fn has_dropped(&self) -> bool {
        !self.dropped.is_empty()
    }

    /// The thread that has dropped an object.
    pub fn dropped_by(&self, object: Loc) -> Option<ThreadId> {
        let by = *self.dropped.get(object.as_global()?)?;
        (by > 0).then(|| ThreadId(by - 1))
    }

    /// Whether the lock can be taken now.
    pub fn can_lock(&self, lock: u32, mode: LockMode) -> bool {
        let mut holders = self.held.iter().filter(|held| held.0 == lock);
        match mode {
            LockMode::Exclusive => holders.next().is_none(),
            LockMode::Shared => holders.all(|held| held.1 == LockMode::Shared),
        }
    }

    /// Takes the lock. Requires that it can be taken.
    pub fn lock(&mut self, lock: u32, mode: LockMode, thread: ThreadId) {
        let entry = (lock, mode, thread);
        let at = self.held.binary_search(&entry).unwrap_or_else(|at| at);
        self.held.insert(at, entry);
    }

    /// Gives the lock back. Says whether the thread held it.
    pub fn unlock(&mut self, lock: u32, mode: LockMode, thread: ThreadId) -> bool {
        let at = self.held.binary_search(&(lock, mode, thread));
        at.map(|at| self.held.remove(at)).is_ok()
    }

    /// The threads that hold the lock.
    pub fn holders(&self, lock: u32) -> impl Iterator<Item = ThreadId> {
        self.held.iter().filter(move |held| held.0 == lock).map(|held| held.2)
    }

    /// The thread starts to wait for the condition variable.
    pub fn wait(&mut self, condvar: u32, thread: ThreadId) {
        let entry = (condvar, thread, false);
        let at = self.waiting.binary_search(&entry).unwrap_or_else(|at| at);
        self.waiting.insert(at, entry);
    }

    /// Threads that wait and have not been notified.
    pub fn waiters(&self, condvar: u32) -> impl Iterator<Item = ThreadId> {
        self.waiting.iter().filter(move |w| w.0 == condvar && !w.2).map(|w| w.1)
    }

    /// Notifies a waiter, or all of them.
    pub fn notify(&mut self, condvar: u32, thread: Option<ThreadId>) {
        for waiter in self.waiting.iter_mut().filter(|w| w.0 == condvar) {
            waiter.2 |= thread.is_none_or(|thread| waiter.1 == thread);
        }
    }

    /// Whether the thread has been notified.
    pub fn is_notified(&self, condvar: u32, thread: ThreadId) -> bool {
        self.waiting.binary_search(&(condvar, thread, true)).is_ok()
    }

    /// The thread waits no more.
    pub fn wake(&mut self, condvar: u32, thread: ThreadId) {
        self.waiting.retain(|w| (w.0, w.1) != (condvar, thread));
    }
}

/// Counts what one thread does to an object before anyone else does anything to it. What changes nothing only ends the count of others.
fn count_run(whose: &mut ThreadId, times: &mut u32, thread: ThreadId, changes: bool) {
    match (*whose == thread, changes) {
        (true, true) => *times += 1,
        (true, false) => {}
        (false, true) => (*whose, *times) = (thread, 1),
        (false, false) => *times = 0,
    }
}
