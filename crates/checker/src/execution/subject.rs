//! The seam between programs and the machine.

use super::Operation;
use crate::program::Loc;

/// A program that can be run again and again from its start, as a set of deterministic threads.
///
/// A thread is always *at* a visible operation. [`Subject::resume`] gives it the operation's result and runs it, locally, to
/// the next one. What a thread does depends on nothing but the results it was given.
pub trait Subject {
    /// The local state of a thread. The machine owns everything else.
    type Thread;

    /// The threads that run from the start, in order, each at its first operation.
    fn initial(&self) -> Vec<(ThreadKey, Self::Thread)>;

    /// The operation that the thread is at.
    fn operation(&self, thread: &Self::Thread) -> Operation;

    /// Gives the thread the result of its operation and runs it to the next. Operations without a result get 0.
    fn resume(&self, thread: &mut Self::Thread, result: i64);

    /// The thread that a thread at a `Fork` starts.
    fn fork(&self, thread: &Self::Thread) -> Self::Thread;

    /// What a spinning thread waits for: some of these cells must show another value. Empty when it does not spin.
    fn awaiting<'t>(&self, thread: &'t Self::Thread) -> &'t [(Loc, i64)];

    /// The lock that keeps everybody but its holder from memory, if there is one.
    fn bus(&self) -> Option<u32> {
        None
    }

    /// Values of the global cells before anything ran.
    fn initial_cells(&self) -> Vec<i64>;
}

/// A thread by the order of creation in one execution. Schedules use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u16);

/// A thread by its ancestry: the same in every execution. Programs hold it as a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey(pub u64);

/// The most threads that one thread can fork.
const MOST_FORKS: u64 = 4095;

impl ThreadKey {
    /// The `index`-th of the initial threads.
    pub fn initial(index: usize) -> ThreadKey {
        ThreadKey(index as u64 + 1)
    }

    /// The `nth` thread (from 0) that this one forks, or nothing when there are too many.
    pub fn child(self, nth: u32) -> Option<ThreadKey> {
        let room = self.0 < 1 << 48 && u64::from(nth) < MOST_FORKS;
        room.then(|| ThreadKey(self.0 << 12 | (u64::from(nth) + 1)))
    }
}

impl ThreadId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
