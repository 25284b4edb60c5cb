//! Vector clocks: which events of each thread come before something.

use smallvec::SmallVec;

/// For each thread, how many of its first events are included. Up to eight threads need no memory of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock(SmallVec<[u16; 8]>);

impl Clock {
    /// How many events of a thread are included.
    #[inline]
    pub fn get(&self, thread: u16) -> u16 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    /// Whether an event, by its thread and its place in the thread, is included.
    #[inline]
    pub fn has(&self, thread: u16, index: u16) -> bool {
        self.get(thread) > index
    }

    /// Includes an event and all events of its thread before it.
    pub fn include(&mut self, thread: u16, index: u16) {
        let at = thread as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] = self.0[at].max(index + 1);
    }

    /// Includes everything that another clock includes.
    #[inline]
    pub fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, &theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_clocks_include_both() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.include(0, 2);
        b.include(9, 0);
        a.join(&b);
        assert!(a.has(0, 2) && a.has(0, 0) && a.has(9, 0));
        assert!(!a.has(0, 3) && !a.has(9, 1) && !a.has(5, 0));
    }
}
