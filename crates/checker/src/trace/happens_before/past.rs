//! What must have happened before an event, and what could have without it.

use super::process::{Label, Processes};
use super::rows::Row;
use super::{NONE, Order, Taken, rows};
use crate::base::ThreadKey;

impl Order {
    /// Adds all events but this one and those that it happens before; only later ones.
    pub(super) fn add_without(&self, row: &mut Row, event: usize) {
        let (word, bit) = (event / 64, event % 64);
        for (later, before) in self.before.iter().enumerate().take(self.len()).skip(event + 1) {
            let stays = before.get(word).is_none_or(|word| word >> bit & 1 == 0);
            row[later / 64] |= u64::from(stays) << (later % 64);
        }
    }

    /// The events that come before the thread's next operation in program order, with all that happens before them.
    pub(crate) fn reached(&self, processes: &Processes, label: Label) -> Row {
        let mut row = Row::new();
        self.add_reached(&mut row, processes, label);
        row
    }

    pub(super) fn add_reached(&self, row: &mut Row, processes: &Processes, label: Label) {
        let thread = processes.get(label.process).thread;
        if let Some(last) = self.last_of(label.process).map(|last| last as u32).or_else(|| self.fork_of(thread)) {
            self.include(row, last);
        }
    }

    /// Adds the events that come before this one in its process, with all that happens before them.
    pub(crate) fn add_reached_before(&self, row: &mut Row, event: usize) {
        let this = &self.events[event];
        let last = Some(this.before).filter(|&last| last != NONE);
        if let Some(last) = last.or_else(|| self.fork_of(this.thread)) {
            self.include(row, last);
        }
    }

    /// The event that forked a thread.
    fn fork_of(&self, thread: ThreadKey) -> Option<u32> {
        self.forks.iter().find(|fork| fork.1 == thread).map(|fork| fork.0)
    }

    /// Adds an event and all that happens before it.
    pub(super) fn include(&self, row: &mut Row, event: u32) {
        rows::join(row, &self.before[event as usize]);
        rows::insert(row, event as usize);
    }

    /// The events that happen before a step for another reason than its conflicts.
    pub(crate) fn past_of(&self, processes: &Processes, taken: &Taken) -> Row {
        let mut row = Row::new();
        self.add_past(&mut row, processes, taken);
        row
    }

    pub(super) fn add_past(&self, row: &mut Row, processes: &Processes, taken: &Taken) {
        self.add_reached(row, processes, taken.label);
        let last = |process: u16| self.last_of(process).map(|last| last as u32);
        if taken.drains {
            for last in processes.stores_of(taken.thread).filter_map(last) {
                self.include(row, last);
            }
        }
        if taken.joins_all {
            for last in (0..processes.len() as u16).filter_map(last) {
                self.include(row, last);
            }
        }
        if let Some(place) = taken.flushed {
            let issue = self.waiting_at(taken.thread, place).1;
            self.include(row, issue);
            if self.barriers > 0 {
                self.include_barrier(row, taken.thread, issue);
            }
        }
    }

    /// A store arrives after those from before the last barrier.
    fn include_barrier(&self, row: &mut Row, thread: ThreadKey, issue: u32) {
        let until_issue = &self.events[..=issue as usize];
        let Some(barrier) = until_issue.iter().rposition(|event| event.barrier && event.thread == thread) else {
            return;
        };
        for (at, event) in self.events.iter().enumerate() {
            if event.thread == thread && event.issue != NONE && (event.issue as usize) < barrier {
                self.include(row, at as u32);
            }
        }
    }
}
