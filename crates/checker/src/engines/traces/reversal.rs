//! The reversal of a race: the steps to take in place of the race's first event.
//!
//! For a race between `e` and `e'` in an execution `E`: all events after `e` that do not happen after it, then `e'`. If `e'` takes a lock that others share, those are
//! left out, too, if their threads would still hold it.

use crate::trace::happens_before::footprint::{Footprint, Mode};
use crate::trace::happens_before::gate::{is_free, view};
use crate::trace::happens_before::process::{Label, Process, Processes, Queue};
use crate::trace::happens_before::rows::Row;
use crate::trace::happens_before::{Order, Outcome, Race, Taken, rows};
use smallvec::SmallVec;

/// A sequence of events of an execution, and one more step.
pub(crate) struct Reversal<'o> {
    order: &'o Order,
    processes: &'o Processes,
    /// The events of the sequence.
    all: Row,
    /// Those that have not been taken.
    rest: Row,
    /// Footprints of events that see a store of their own thread: more or fewer of them may be underway now.
    changed: SmallVec<[(usize, Footprint); 2]>,
    last: Option<Last>,
}

/// The race's second event, as it will be.
struct Last {
    label: Label,
    footprint: Footprint,
    /// The events of the sequence that will happen before it.
    before: Row,
}

impl<'o> Reversal<'o> {
    /// Reverses the race between two events.
    pub(crate) fn of_events(order: &'o Order, processes: &'o Processes, race: Race, second: usize) -> Reversal<'o> {
        let event = &order.events[second];
        let (footprint, outcome) = (&event.footprint, event.outcome);
        Reversal::new(order, processes, race, event.label, footprint, outcome, order.past(second))
    }

    /// Reverses the race between an event and a step that was not possible in the end.
    pub(crate) fn of_pending(
        order: &'o Order,
        processes: &'o Processes,
        race: Race,
        pending: &Taken,
        past: &Row,
    ) -> Reversal<'o> {
        Reversal::new(order, processes, race, pending.label, &pending.footprint, pending.outcome, past)
    }

    fn new(
        order: &'o Order,
        processes: &'o Processes,
        race: Race,
        label: Label,
        footprint: &Footprint,
        outcome: Outcome,
        past: &Row,
    ) -> Reversal<'o> {
        let first = race.first as usize;
        let all = order.without(race);
        let mut reversal = Reversal { order, processes, rest: all.clone(), all, changed: SmallVec::new(), last: None };
        reversal.note_changed(first);
        let footprint = reversal.footprint_of_last(first, label, footprint, outcome);
        let mut before = past.clone();
        for event in rows::members(&reversal.all) {
            if reversal.footprint(event).conflicts(&footprint) {
                rows::join(&mut before, order.before(event));
                rows::insert(&mut before, event);
            }
        }
        // Which thread is notified may change with the order: any will do.
        let label = Label { choice: None, ..label };
        reversal.last = Some(Last { label, footprint, before });
        reversal
    }

    /// What the last step touches when it comes before the race's first event.
    fn footprint_of_last(&self, first: usize, label: Label, footprint: &Footprint, outcome: Outcome) -> Footprint {
        let mut footprint = footprint.clone();
        if outcome != Outcome::Fixed {
            let mut earlier = rows::below(first);
            rows::join(&mut earlier, &self.all);
            let thread = self.processes.get(label.process).thread;
            let (object, writes) = match outcome {
                Outcome::Exchange(loc, cell, expected) => {
                    (cell, view(self.order, thread, loc, cell, &earlier) == expected)
                }
                Outcome::Update(loc, cell, op, operand) => {
                    let found = view(self.order, thread, loc, cell, &earlier);
                    (cell, op.apply(found, operand) != found)
                }
                Outcome::TryLock(lock, mode) => (lock, is_free(self.order, lock, mode, &earlier)),
                Outcome::Fixed => return footprint,
            };
            footprint.set(object, if writes { outcome.mode_of_success() } else { Mode::Read });
        }
        footprint
    }

    /// Notes which events would see a store of their own thread that has arrived in the execution, but not in this sequence.
    fn note_changed(&mut self, first: usize) {
        let order = self.order;
        if !rows::meet(&self.all, order.sees_own()) {
            return;
        }
        for event in rows::members(&self.all).filter(|&event| rows::has(order.sees_own(), event)) {
            let missing = |&earlier: &usize| !rows::has(&self.all, earlier) && order.is_arrival(earlier);
            let thread = order.events[event].thread;
            let mut footprint = order.events[event].footprint.clone();
            for earlier in (first..event).filter(missing).filter(|&at| order.events[at].thread == thread) {
                footprint.own_store_missing(&order.events[earlier].footprint);
            }
            self.changed.push((event, footprint));
        }
    }

    fn footprint(&self, event: usize) -> &Footprint {
        let changed = self.changed.iter().find(|changed| changed.0 == event);
        changed.map_or(&self.order.events[event].footprint, |changed| &changed.1)
    }

    /// Whether some execution that begins with the step is equivalent to one that begins with what is left of the sequence:
    /// whether the step is a weak initial of it.
    pub(crate) fn can_begin_with(&self, label: Label, footprint: &Footprint) -> bool {
        if let Some(event) = self.order.first_of(label.process, &self.rest) {
            let choice = self.order.events[event].label.choice;
            let same = choice == label.choice || choice.is_none() || label.choice.is_none();
            return same && !rows::meet(self.order.before(event), &self.rest);
        }
        match &self.last {
            Some(last) if last.label.process == label.process => !rows::meet(&last.before, &self.rest),
            Some(last) if last.footprint.conflicts(footprint) && !footprint.sees_own() => false,
            last => self.is_independent(label, footprint, last.as_ref()),
        }
    }

    fn is_independent(&self, label: Label, footprint: &Footprint, last: Option<&Last>) -> bool {
        if !footprint.sees_own() {
            return !rows::members(&self.rest).any(|event| self.footprint(event).conflicts(footprint));
        }
        // As stores of the same thread arrive, the step depends on more.
        let thread = self.processes.get(label.process).thread;
        let mut footprint = footprint.clone();
        for event in rows::members(&self.rest) {
            if self.order.is_arrival(event) && self.order.events[event].thread == thread {
                footprint.own_store_arrived(&self.order.events[event].footprint);
            } else if self.footprint(event).conflicts(&footprint) {
                return false;
            }
        }
        !last.is_some_and(|last| {
            let own_arrival = self.processes.get(last.label.process).thread == thread;
            !own_arrival && last.footprint.conflicts(&footprint)
        })
    }

    /// Takes the step first: what is left comes after it.
    pub(crate) fn take(&mut self, label: Label, footprint: &Footprint) {
        let event = self.order.first_of(label.process, &self.rest);
        if let Some(event) = event {
            rows::remove(&mut self.rest, event);
        } else if self.last.as_ref().is_some_and(|last| last.label.process == label.process) {
            self.last = None;
        }
        let Process { thread, queue } = self.processes.get(label.process);
        if queue != Queue::Operations {
            // Reads of the thread that came before the arrival of its store now come after it.
            let overtaken = |at: usize| event.is_none_or(|event| at < event);
            for (at, changed) in self.changed.iter_mut().filter(|changed| overtaken(changed.0)) {
                if self.order.events[*at].thread == thread {
                    changed.own_store_arrived(footprint);
                }
            }
        }
    }

    /// Visits what is left, last step first.
    pub(crate) fn for_each_backwards(&self, mut visit: impl FnMut(Label, Footprint)) {
        if let Some(last) = &self.last {
            visit(last.label, last.footprint.clone());
        }
        let events: SmallVec<[usize; 64]> = rows::members(&self.rest).collect();
        for &event in events.iter().rev() {
            visit(self.order.events[event].label, self.footprint(event).clone());
        }
    }
}
