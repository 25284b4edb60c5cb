//! Generalised vector clocks (Burckhardt and Musuvathi, CAV 2008, Definition 7): happens-before as it is on a machine with or without
//! store buffers, while only SC executions are run.
//!
//! A position of a clock counts the events of a group, and a group is a set of events that are totally ordered. Without buffers the groups are
//! the threads. With one queue per thread they are each thread's stores and the rest of its events, because a store is not ordered before
//! later loads. With a queue per thread and cell they are each thread's stores to each cell and the rest.
//!
//! This is the paper's Figure 3 but for one thing. There, a load comes after every store that is coherence-before the one it reads, even if it reads
//! a store of its own thread. That store may still have been in the buffer, and then nobody else's came before the load:
//! `x = 2; r = x; s = y ‖ y = 1; x = 1` ends with `r = 2, s = 0, x = 2` under TSO. Here such a load comes after nothing.

use super::super::footprint::{Mode, Object};
use super::super::happens_before::Taken;
use crate::execution::MemoryModel;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// How many events of each group come before; groups beyond the end count 0.
pub(super) type Clock = SmallVec<[u32; 8]>;

/// The clocks of threads and objects under one memory model. Events can be taken back in reverse order.
pub(super) struct Clocks {
    memory: MemoryModel,
    /// Three for each thread.
    threads: Vec<Clock>,
    /// Three for each object.
    objects: Vec<Clock>,
    /// Under PSO, the groups of threads and of stores to a cell.
    groups: FxHashMap<(u16, Option<Object>), u16>,
    /// What clocks were before they changed.
    log: Vec<(Slot, Clock)>,
}

/// A place in a clock, and the number of an event there: the event is before whoever has counted so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp {
    group: u16,
    count: u32,
}

/// After what of its own thread an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// All but stores: a load does.
    Loads,
    /// Stores that it cannot overtake, too: a store does.
    Barrier,
    /// Everything: what drains does.
    Stores,
}

/// What the clocks have to know of an event, besides what it touches.
pub(super) struct Moment<'a> {
    pub(super) thread: u16,
    pub(super) taken: &'a Taken,
    /// It can wait in a buffer.
    pub(super) is_store: bool,
    /// The thread that it forks.
    pub(super) child: Option<u16>,
}

#[derive(Clone, Copy)]
enum Slot {
    Thread(u32),
    Object(u32),
}

// Of a thread: what all its later events come after; its stores; what its later stores come after as well.
const ISSUED: usize = 0;
const STORES: usize = 1;
const BARRIER: usize = 2;

impl Clocks {
    pub(super) fn new(memory: MemoryModel) -> Clocks {
        let (threads, objects, log) = (Vec::new(), Vec::new(), Vec::new());
        Clocks { memory, threads, objects, groups: FxHashMap::default(), log }
    }

    /// Where the log ends now: to take back what comes.
    pub(super) fn mark(&self) -> usize {
        self.log.len()
    }

    /// Takes back everything since the mark.
    pub(super) fn undo(&mut self, mark: usize) {
        for (slot, clock) in self.log.drain(mark..).rev() {
            match slot {
                Slot::Thread(at) => self.threads[at as usize] = clock,
                Slot::Object(at) => self.objects[at as usize] = clock,
            }
        }
    }

    fn room(&mut self, n_threads: usize, n_objects: usize) {
        if self.threads.len() < 3 * n_threads {
            self.threads.resize(3 * n_threads, Clock::new());
        }
        if self.objects.len() < 3 * n_objects {
            self.objects.resize(3 * n_objects, Clock::new());
        }
    }

    /// Whether what has the stamp comes before the thread's next event of some kind.
    pub(super) fn is_before(&self, stamp: Stamp, thread: u16, after: After) -> bool {
        let base = 3 * thread as usize;
        let knows = |slot: usize| self.threads.get(base + slot).is_some_and(|clock| counts(clock, stamp));
        knows(ISSUED)
            || match after {
                After::Loads => false,
                After::Barrier => knows(BARRIER),
                After::Stores => knows(STORES),
            }
    }

    /// Adds an event, and gives its clock and its stamp. `sees_own` says whether the newest write of a cell is a store of the event's
    /// own thread that could be in the buffer.
    pub(super) fn add(&mut self, moment: &Moment<'_>, sees_own: impl Fn(Object) -> bool) -> (Clock, Stamp) {
        let n_objects = moment.taken.footprint.accesses.iter().map(|access| access.object as usize + 1).max();
        let n_threads = moment.thread.max(moment.child.unwrap_or(0)) as usize + 1;
        self.room(n_threads, n_objects.unwrap_or(0));
        let is_store = moment.is_store && self.memory != MemoryModel::Sc;
        let drains = moment.taken.drains || self.memory == MemoryModel::Sc;
        let mut clock = self.own_past(moment, drains, is_store);
        for access in &moment.taken.footprint.accesses {
            let forwarded = self.memory != MemoryModel::Sc && access.mode == Mode::Read && sees_own(access.object);
            if !forwarded {
                self.join_object(&mut clock, access.object, access.mode);
            }
        }
        let stamp = self.count(&mut clock, moment, is_store);
        self.note(moment, drains, is_store, &clock);
        (clock, stamp)
    }

    fn own_past(&mut self, moment: &Moment<'_>, drains: bool, is_store: bool) -> Clock {
        let base = 3 * moment.thread as usize;
        let mut clock = self.threads[base + ISSUED].clone();
        if moment.taken.barrier && self.memory == MemoryModel::Pso {
            let stores = self.threads[base + STORES].clone();
            self.join_into(Slot::Thread((base + BARRIER) as u32), &stores);
        }
        if drains {
            join(&mut clock, &self.threads[base + STORES]);
        } else if is_store {
            join(&mut clock, &self.threads[base + BARRIER]);
        }
        if moment.taken.joins_all {
            for other in self.threads.chunks(3) {
                join(&mut clock, &other[ISSUED]);
                join(&mut clock, &other[STORES]);
            }
        }
        clock
    }

    fn join_object(&self, clock: &mut Clock, object: Object, mode: Mode) {
        let [writes, shares, reads] = [0, 1, 2].map(|at| &self.objects[3 * object as usize + at]);
        join(clock, writes);
        if mode != Mode::Share {
            join(clock, shares);
        }
        if mode != Mode::Read {
            join(clock, reads);
        }
    }

    /// Counts the event in its groups; the stamp is that of what it writes, if it writes.
    fn count(&mut self, clock: &mut Clock, moment: &Moment<'_>, is_store: bool) -> Stamp {
        let written = moment.taken.footprint.accesses.iter().find(|access| access.mode == Mode::Write);
        let mut stamp = Stamp { group: 0, count: 0 };
        if !is_store {
            stamp = tick(clock, self.group(moment.thread, None));
        }
        if let Some(written) = written
            && self.memory != MemoryModel::Sc
        {
            stamp = tick(clock, self.group(moment.thread, Some(written.object)));
        }
        stamp
    }

    fn group(&mut self, thread: u16, stores: Option<Object>) -> u16 {
        match self.memory {
            MemoryModel::Sc => thread,
            MemoryModel::Tso => 2 * thread + u16::from(stores.is_some()),
            MemoryModel::Pso => {
                let next = self.groups.len() as u16;
                *self.groups.entry((thread, stores)).or_insert(next)
            }
        }
    }

    fn note(&mut self, moment: &Moment<'_>, drains: bool, is_store: bool, clock: &Clock) {
        let base = 3 * moment.thread;
        let slot = |at: usize| Slot::Thread(u32::from(base) + at as u32);
        if is_store {
            self.join_into(slot(STORES), clock);
            if self.memory == MemoryModel::Tso {
                self.join_into(slot(BARRIER), clock);
            }
        } else {
            self.set(slot(ISSUED), clock);
            if drains && self.memory != MemoryModel::Sc {
                // What drains comes after all stores, and everything after it.
                self.set(slot(STORES), clock);
            }
        }
        if let Some(child) = moment.child {
            self.join_into(Slot::Thread(3 * u32::from(child)), clock);
        }
        for access in &moment.taken.footprint.accesses {
            let at = match access.mode {
                Mode::Write => 0,
                Mode::Share => 1,
                Mode::Read | Mode::Own(_) => 2,
            };
            self.join_into(Slot::Object(3 * access.object + at), clock);
        }
    }

    fn slot(&mut self, slot: Slot) -> &mut Clock {
        match slot {
            Slot::Thread(at) => &mut self.threads[at as usize],
            Slot::Object(at) => &mut self.objects[at as usize],
        }
    }

    fn set(&mut self, slot: Slot, clock: &Clock) {
        let old = std::mem::replace(self.slot(slot), clock.clone());
        self.log.push((slot, old));
    }

    fn join_into(&mut self, slot: Slot, clock: &Clock) {
        let old = self.slot(slot).clone();
        join(self.slot(slot), clock);
        self.log.push((slot, old));
    }
}

/// Whether a clock has counted so far.
pub(super) fn counts(clock: &Clock, stamp: Stamp) -> bool {
    clock.get(stamp.group as usize).is_some_and(|&count| count >= stamp.count)
}

fn tick(clock: &mut Clock, group: u16) -> Stamp {
    let at = group as usize;
    if clock.len() <= at {
        clock.resize(at + 1, 0);
    }
    clock[at] += 1;
    Stamp { group, count: clock[at] }
}

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (count, &more) in clock.iter_mut().zip(other) {
        *count = (*count).max(more);
    }
}
