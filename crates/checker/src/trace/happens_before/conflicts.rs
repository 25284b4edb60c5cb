//! Which events of an order conflict with a step, and which of those could have come after it.

use super::footprint::{Footprint, Mode, Object, Others};
use super::rows::Row;
use super::{Holds, NONE, Order, Race, Spare, Taken, rows};
use crate::base::ThreadKey;
use smallvec::SmallVec;

impl Order {
    /// The events that touched an object, last first, and how.
    pub(crate) fn chain(&self, object: Object) -> impl Iterator<Item = (usize, Mode)> + '_ {
        let mut next = self.heads.get(object as usize).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let event = self.events.get(next as usize)?;
            let at = next as usize;
            let access = event.footprint.accesses.iter().position(|access| access.object == object)?;
            next = event.previous[access];
            Some((at, event.footprint.accesses[access].mode))
        })
    }

    /// The last events that a step with this footprint conflicts with.
    pub(super) fn predecessors(&self, footprint: &Footprint) -> SmallVec<[u32; 8]> {
        let mut predecessors = SmallVec::new();
        for access in &footprint.accesses {
            if matches!(access.mode, Mode::Own(_)) {
                continue;
            }
            for (at, mode) in self.chain(access.object) {
                if footprint.ends_own(access.mode, &self.events[at].footprint, mode) {
                    continue;
                }
                if access.mode.conflicts(mode) {
                    predecessors.push(at as u32);
                }
                if matches!(mode, Mode::Write | Mode::End) {
                    if matches!(access.mode, Mode::Write | Mode::End) {
                        predecessors.extend(self.readers_underway(at));
                    }
                    break;
                }
            }
        }
        predecessors
    }

    /// A thread that drops objects because it gives the last reference back does so after all other references were given back, in whichever order.
    pub(super) fn add_references(&self, past: &mut Row, footprint: &Footprint) {
        let mut accesses = footprint.accesses.iter();
        if !accesses.clone().any(|access| access.mode == Mode::End) {
            return;
        }
        let Some(count) = accesses.find(|access| access.mode == Mode::Drop(Others::None)) else { return };
        let releases = |&(_, mode): &(usize, Mode)| {
            matches!(mode, Mode::Drop(_) | Mode::ReleaseEarly | Mode::ReleaseLate | Mode::Write)
        };
        for (at, _) in self.chain(count.object).filter(releases) {
            self.include(past, at as u32);
        }
    }

    /// Reads that saw a store before it arrived, by its arrival.
    pub(crate) fn readers_underway(&self, arrival: usize) -> impl Iterator<Item = u32> + '_ {
        let issue = self.events[arrival].issue;
        self.forwarded
            .iter()
            .filter(move |forwarded| issue != NONE && forwarded.1 == issue)
            .map(|forwarded| forwarded.0)
    }

    /// Events that put a store of a thread to a cell into its buffer, last first.
    pub(crate) fn issues(&self, thread: ThreadKey, cell: Object) -> impl Iterator<Item = usize> + '_ {
        let issues = self.issues.iter().rev().map(|&at| at as usize);
        issues.filter(move |&at| {
            let event = &self.events[at];
            event.thread == thread && event.stored.is_some_and(|stored| stored.1 == cell)
        })
    }

    /// Whether the event is a store's arrival.
    pub(crate) fn is_arrival(&self, event: usize) -> bool {
        self.events[event].issue != NONE
    }

    /// Whether the store that was issued there has arrived by one of these events.
    pub(crate) fn arrived(&self, issue: usize, among: &Row) -> bool {
        let arrival = self.events[issue].arrival;
        arrival != NONE && rows::has(among, arrival as usize)
    }

    pub(super) fn add_races(&mut self, past: &Row, predecessors: &[u32]) {
        for &first in predecessors {
            let between = |&other: &u32| other != first && rows::has(&self.before[other as usize], first as usize);
            if !rows::has(past, first as usize) && !predecessors.iter().any(between) {
                self.races.push(Race { first, freed: None });
            }
        }
    }

    /// Races with a step that is not always possible. The last conflict may be what made it possible, and it then
    /// takes an earlier one to be removed: the event that took the lock, or the write after the one that ended the wait. An exclusive lock needs
    /// all sharers removed: each event that took it after the race's first event, and whose thread does not give it back without that event.
    pub(crate) fn gated_races(&mut self, past: &Row, taken: &Taken) -> SmallVec<[Race; 4]> {
        let Spare { row: mut left, mut conflicts } = std::mem::take(&mut self.spare);
        // A thread sees its own store whether that has arrived or not.
        let accesses = taken.footprint.accesses.iter().filter(|access| !matches!(access.mode, Mode::Own(_)));
        for access in accesses {
            let conflicting = self.chain(access.object).filter(|&(_, mode)| access.mode.conflicts(mode));
            conflicts.extend(conflicting.map(|(at, _)| at as u32));
        }
        conflicts.sort_unstable_by(|a, b| b.cmp(a));
        conflicts.dedup();
        let mut races: SmallVec<[Race; 4]> = SmallVec::new();
        for first in conflicts.drain(..).map(|first| first as usize).filter(|&first| !rows::has(past, first)) {
            if races.iter().any(|race| rows::has(&self.before[race.first as usize], first)) {
                continue;
            }
            rows::set_below(&mut left, first, self.len());
            self.add_without(&mut left, first);
            if taken.gate.is_open(self, taken, &left) {
                races.push(Race { first: first as u32, freed: None });
            } else {
                let is_freed = |lock: &Object| self.can_be_freed(*lock, first, &left, past, taken);
                let freed = taken.gate.locks_wanted_alone().find(is_freed);
                races.extend(freed.map(|lock| Race { first: first as u32, freed: Some(lock) }));
            }
        }
        self.spare = Spare { row: left, conflicts };
        races
    }

    /// Whether the step is possible if the other sharers of a lock have not taken it, either.
    fn can_be_freed(&self, lock: Object, first: usize, left: &Row, past: &Row, taken: &Taken) -> bool {
        let mut later = self.chain(lock).take_while(|touch| touch.0 > first);
        if !later.any(|(at, _)| self.events[at].holds.shared > 0) {
            return false;
        }
        let mut fewer = left.clone();
        self.free(&mut fewer, lock, first);
        rows::members(past).all(|event| rows::has(&fewer, event)) && taken.gate.is_open(self, taken, &fewer)
    }

    /// The events after a race's first one that could have happened without it.
    pub(crate) fn without(&self, Race { first, freed }: Race) -> Row {
        let first = first as usize;
        let mut row = Row::from_elem(0, self.len().div_ceil(64));
        if let Some(lock) = freed {
            rows::set_below(&mut row, first, self.len());
            self.add_without(&mut row, first);
            self.free(&mut row, lock, first);
            (0..first).for_each(|event| rows::remove(&mut row, event));
        } else {
            self.add_without(&mut row, first);
        }
        row
    }

    /// Leaves out, of events that are an execution, those later than this one by which a lock is taken that is not given back, with all that happens after them.
    fn free(&self, among: &mut Row, lock: Object, after: usize) {
        let held = |among: &Row, thread: ThreadKey| -> i32 {
            let own = self.chain(lock).filter(|&(at, _)| rows::has(among, at) && self.events[at].thread == thread);
            own.map(|(at, _)| i32::from(self.events[at].holds.alone + self.events[at].holds.shared)).sum()
        };
        let next = |among: &Row| {
            let takes = |&(at, _): &(usize, Mode)| {
                let Holds { alone, shared } = self.events[at].holds;
                at > after && rows::has(among, at) && (alone > 0 || shared > 0)
            };
            self.chain(lock).filter(takes).map(|(at, _)| at).find(|&at| held(among, self.events[at].thread) > 0)
        };
        while let Some(holder) = next(among) {
            rows::remove(among, holder);
            for later in holder + 1..self.len() {
                if rows::has(&self.before[later], holder) {
                    rows::remove(among, later);
                }
            }
        }
    }
}
