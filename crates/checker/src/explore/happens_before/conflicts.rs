//! Which events of an order conflict with a step, and which of those could have come after it.

use super::{NONE, Order, Spare, Taken};
use crate::execution::ThreadKey;
use crate::explore::footprint::{Footprint, Mode, Object};
use crate::explore::rows::{self, Row};
use smallvec::SmallVec;

impl Order {
    /// The events that touched an object, last first, and how.
    pub(in crate::explore) fn chain(&self, object: Object) -> impl Iterator<Item = (usize, Mode)> + '_ {
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
                if access.mode.conflicts(mode) {
                    predecessors.push(at as u32);
                }
                if mode == Mode::Write {
                    if access.mode == Mode::Write {
                        predecessors.extend(self.readers_underway(at));
                    }
                    break;
                }
            }
        }
        predecessors
    }

    /// Reads that saw a store before it arrived, by its arrival.
    pub(in crate::explore) fn readers_underway(&self, arrival: usize) -> impl Iterator<Item = u32> + '_ {
        let issue = self.events[arrival].issue;
        self.forwarded
            .iter()
            .filter(move |forwarded| issue != NONE && forwarded.1 == issue)
            .map(|forwarded| forwarded.0)
    }

    /// Events that put a store of a thread to a cell into its buffer, last first.
    pub(in crate::explore) fn issues(&self, thread: ThreadKey, cell: Object) -> impl Iterator<Item = usize> + '_ {
        let issues = self.issues.iter().rev().map(|&at| at as usize);
        issues.filter(move |&at| {
            let event = &self.events[at];
            event.thread == thread && event.stored.is_some_and(|stored| stored.1 == cell)
        })
    }

    /// Whether the event is a store's arrival.
    pub(in crate::explore) fn is_arrival(&self, event: usize) -> bool {
        self.events[event].issue != NONE
    }

    /// Whether the store that was issued there has arrived by one of these events.
    pub(in crate::explore) fn arrived(&self, issue: usize, among: &Row) -> bool {
        let arrival = self.events[issue].arrival;
        arrival != NONE && rows::has(among, arrival as usize)
    }

    pub(super) fn add_races(&mut self, past: &Row, predecessors: &[u32]) {
        for &first in predecessors {
            let between = |&other: &u32| other != first && rows::has(&self.before[other as usize], first as usize);
            if !rows::has(past, first as usize) && !predecessors.iter().any(between) {
                self.races.push(first);
            }
        }
    }

    /// First events of races with a step that is not always possible. The last conflict may be what made it possible, and it then
    /// takes an earlier one to be removed: whoever held the lock, or the write after the one that ended the wait.
    pub(in crate::explore) fn gated_races(&mut self, past: &Row, taken: &Taken) -> SmallVec<[u32; 4]> {
        let Spare { row: mut left, mut conflicts } = std::mem::take(&mut self.spare);
        // Who sees its own store sees it whether it has arrived or not.
        let accesses = taken.footprint.accesses.iter().filter(|access| !matches!(access.mode, Mode::Own(_)));
        for access in accesses {
            let conflicting = self.chain(access.object).filter(|&(_, mode)| access.mode.conflicts(mode));
            conflicts.extend(conflicting.map(|(at, _)| at as u32));
        }
        conflicts.sort_unstable_by(|a, b| b.cmp(a));
        conflicts.dedup();
        let mut races: SmallVec<[u32; 4]> = SmallVec::new();
        for first in conflicts.drain(..).map(|first| first as usize).filter(|&first| !rows::has(past, first)) {
            if races.iter().any(|&race| rows::has(&self.before[race as usize], first)) {
                continue;
            }
            rows::set_below(&mut left, first, self.len());
            self.add_without(&mut left, first);
            if taken.gate.is_open(self, taken, &left) {
                races.push(first as u32);
            }
        }
        self.spare = Spare { row: left, conflicts };
        races
    }
}
