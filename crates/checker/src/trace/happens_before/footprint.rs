//! Footprints: what a step touches, and so which steps depend on one another.
//!
//! Two steps of different processes conflict iff their order can be told from the trace of Shasha and Snir (program order,
//! reads-from, coherence). A store that is still in its buffer touches nothing: it touches its cell when it reaches memory. A
//! read that sees a store of its own thread touches nothing as long as that store waits, and after that only depends on
//! the stores that follow it in memory.
//!
//! *Ends.* The drop of an object is no operation. It is part of the step that its thread performed before it
//! (`Mode::End`), and conflicts with every use of the object by another thread, so that both orders are explored.
//!
//! *Refcounts.* Two decrements commute unless one of them can be the last, so the `Arc`s of a test add no executions.
//!
//! *Updates.* A read-modify-write of an atomic that leaves the value as it was (`swap(true)` of a taken lock) is a
//! read, as a failed compare-exchange is.

use crate::base::{Loc, ThreadKey};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A thing that steps can touch, by number.
pub(crate) type Object = u32;

/// One thing that a step touches, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) object: Object,
    pub(crate) mode: Mode,
}

/// How a step touches an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Sees what was there.
    Read,
    /// Sees what was there, and whether others have seen it.
    Look,
    /// Sees the newest store of its own thread, with this many of the thread's stores to the cell still on their way.
    Own(u8),
    /// Changes it in a way that does not depend on other sharers: a shared lock.
    Share,
    /// Counts a new reference to it.
    Reference,
    /// Gives a reference back while there are at least two others.
    ReleaseEarly,
    /// Gives the last reference but one back.
    ReleaseLate,
    /// Gives a reference back, and does not look whether it is the last; there are this many others.
    Drop(Others),
    /// Changes it.
    Write,
    /// Ends it: nothing else may happen to it later.
    End,
}

/// How many other references there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    None,
    One,
    Several,
}

/// All that a step touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    pub(crate) accesses: SmallVec<[Access; 2]>,
    /// Objects modulo 64: disjoint masks are disjoint footprints.
    mask: u64,
    /// The thread, if the step is a store's arrival or the end of an object. A thread's own stores do not conflict with the end that it puts to their
    /// object: no thread can tell whether they arrived before or after it.
    pub(crate) whose: Option<ThreadKey>,
}

/// Numbers for objects.
pub(crate) struct Objects {
    cells: u32,
    locks: u32,
    condvars: u32,
    fixed: u32,
    others: FxHashMap<(u8, u64), Object>,
}

impl Mode {
    /// How a reference count is touched that was at `count`. Decrements commute, except that a thread which looks knows whether its own was the last. Two decrements
    /// may be swapped as long as neither of them is the last; a sleeping one can become the last when the last but one is performed.
    pub(crate) fn of_count(count: i64, by: i64, sees_last: bool) -> Mode {
        match (by, count) {
            (1.., _) => Mode::Reference,
            (0, _) => Mode::Read,
            (_, 3..) if !sees_last => Mode::Drop(Others::Several),
            (_, 2) if !sees_last => Mode::Drop(Others::One),
            _ if !sees_last => Mode::Drop(Others::None),
            (_, 3..) => Mode::ReleaseEarly,
            (_, 2) => Mode::ReleaseLate,
            _ => Mode::Write,
        }
    }

    fn strength(self) -> u8 {
        match self {
            Mode::Own(_) => 0,
            Mode::Read => 1,
            Mode::Look | Mode::Share | Mode::Reference | Mode::ReleaseEarly | Mode::ReleaseLate | Mode::Drop(_) => 2,
            Mode::Write => 3,
            Mode::End => 4,
        }
    }

    /// Whether the order of two steps that touch the same object so can be told.
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        match (self, other) {
            (Mode::End, _) | (_, Mode::End) => true,
            (Mode::Write, Mode::Own(waiting)) | (Mode::Own(waiting), Mode::Write) => waiting == 0,
            (Mode::Write, _) | (_, Mode::Write) => true,
            (Mode::Read, Mode::Read) | (Mode::Look, Mode::Look) => false,
            (Mode::Read | Mode::Look, Mode::Own(_)) | (Mode::Own(_), Mode::Read | Mode::Look) => false,
            (Mode::Read, _) | (_, Mode::Read) => true,
            // A decrement that looked and was not the last would have been the last, had it come after this one.
            (Mode::ReleaseEarly | Mode::ReleaseLate, Mode::Drop(Others::None))
            | (Mode::Drop(Others::None), Mode::ReleaseEarly | Mode::ReleaseLate) => true,
            (Mode::Look, Mode::Share) | (Mode::Share, Mode::Look) => true,
            _ => false,
        }
    }
}

impl Footprint {
    /// Adds an access. What touches an object in several ways touches it in the strongest of them.
    pub(crate) fn add(&mut self, object: Object, mode: Mode) {
        self.mask |= 1 << (object % 64);
        match self.accesses.iter_mut().find(|access| access.object == object) {
            Some(access) if mode.strength() > access.mode.strength() => access.mode = mode,
            Some(_) => {}
            None => self.accesses.push(Access { object, mode }),
        }
    }

    /// Whether the order of two steps can be told.
    pub(crate) fn conflicts(&self, other: &Footprint) -> bool {
        let meets = |a: &Access, b: &Access| {
            a.object == b.object && a.mode.conflicts(b.mode) && !self.ends_own(a.mode, other, b.mode)
        };
        self.mask & other.mask != 0 && self.accesses.iter().any(|a| other.accesses.iter().any(|b| meets(a, b)))
    }

    /// Whether one of two accesses, of this step and of another one, is the end of an object and the other one the arrival of a store of the same thread.
    pub(crate) fn ends_own(&self, mode: Mode, other: &Footprint, other_mode: Mode) -> bool {
        (mode == Mode::End || other_mode == Mode::End) && self.whose.is_some() && self.whose == other.whose
    }

    /// Whether a step that sleeps is another one after a step with this footprint: a reference that is given back may now be the last one, or the one that
    /// was given back would have been. (How many others there were was noted when it fell asleep, and may have changed.)
    pub(crate) fn is_woken_by(&self, taken: &Footprint) -> bool {
        let decides_the_last = |access: &Access| {
            matches!(
                (access.mode, taken.mode(access.object)),
                (Mode::ReleaseEarly | Mode::ReleaseLate, Some(Mode::ReleaseLate | Mode::Drop(Others::One)))
                    | (Mode::Drop(_), Some(Mode::ReleaseLate))
            )
        };
        self.conflicts(taken) || self.accesses.iter().any(decides_the_last)
    }

    /// A store of the step's own thread, with this footprint, has reached memory before the step.
    pub(crate) fn own_store_arrived(&mut self, arrival: &Footprint) {
        self.count_own(arrival, |waiting| waiting.saturating_sub(1));
    }

    /// A store of the step's own thread, with this footprint, has not reached memory yet.
    pub(crate) fn own_store_missing(&mut self, arrival: &Footprint) {
        self.count_own(arrival, |waiting| waiting.saturating_add(1));
    }

    fn count_own(&mut self, arrival: &Footprint, count: impl Fn(u8) -> u8) {
        for access in &mut self.accesses {
            if let Mode::Own(waiting) = &mut access.mode
                && arrival.mode(access.object) == Some(Mode::Write)
            {
                *waiting = count(*waiting);
            }
        }
    }

    /// Touches an object in another way than before.
    pub(crate) fn set(&mut self, object: Object, mode: Mode) {
        for access in self.accesses.iter_mut().filter(|access| access.object == object) {
            access.mode = mode;
        }
    }

    /// Whether the step sees a store of its own thread.
    pub(crate) fn sees_own(&self) -> bool {
        self.accesses.iter().any(|access| matches!(access.mode, Mode::Own(_)))
    }

    /// How the step touches an object.
    pub(crate) fn mode(&self, object: Object) -> Option<Mode> {
        self.accesses.iter().find(|access| access.object == object).map(|access| access.mode)
    }
}

impl Objects {
    /// Numbers for so many cells, locks and condition variables that are known beforehand.
    pub(crate) fn new(cells: usize, locks: usize, condvars: usize) -> Objects {
        let (cells, locks) = (cells as u32, locks as u32);
        let condvars = condvars as u32;
        Objects { cells, locks, condvars, fixed: cells + locks + condvars, others: FxHashMap::default() }
    }

    /// Whether it is a cell or a block, and neither a lock nor a condition variable.
    pub(crate) fn is_memory(&self, object: Object) -> bool {
        object < self.cells || object >= self.fixed
    }

    /// How many objects have numbers.
    pub(crate) fn len(&self) -> usize {
        self.fixed as usize + self.others.len()
    }

    pub(crate) fn cell(&mut self, loc: Loc) -> Object {
        match loc.as_global() {
            Some(index) if (index as u32) < self.cells => index as u32,
            _ => self.other(0, loc.pointer() as u64),
        }
    }

    pub(crate) fn block(&mut self, block: Loc) -> Object {
        self.other(1, block.pointer() as u64)
    }

    pub(crate) fn thread(&mut self, ThreadKey(key): ThreadKey) -> Object {
        self.other(2, key)
    }

    pub(crate) fn lock(&mut self, lock: u32) -> Object {
        if lock < self.locks { self.cells + lock } else { self.other(3, lock.into()) }
    }

    pub(crate) fn condvar(&mut self, condvar: u32) -> Object {
        if condvar < self.condvars { self.cells + self.locks + condvar } else { self.other(4, condvar.into()) }
    }

    /// The number of a cell that the code under test has made, if it has been touched.
    pub(crate) fn known_cell(&self, loc: Loc) -> Option<Object> {
        self.others.get(&(0, loc.pointer() as u64)).copied()
    }

    /// The same, of a lock.
    pub(crate) fn known_lock(&self, lock: u32) -> Option<Object> {
        self.others.get(&(3, lock.into())).copied()
    }

    /// The same, of a condition variable.
    pub(crate) fn known_condvar(&self, condvar: u32) -> Option<Object> {
        self.others.get(&(4, condvar.into())).copied()
    }

    fn other(&mut self, kind: u8, number: u64) -> Object {
        let next = self.len() as u32;
        *self.others.entry((kind, number)).or_insert(next)
    }
}
