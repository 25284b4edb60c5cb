//! Threads by number and by name.

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
