//! Data races on plain cells, found from the order of one execution of each trace.
//!
//! Two accesses race iff some state has both of them next (`Machine::races`): neither comes before what the other's thread has to do
//! to get there. Such a state is then made, and judged like any other.

use crate::base::{Loc, ThreadKey};
use crate::execution::rewind::Acting;
use crate::execution::{CellAccess, Describe, Machine, Operation, ThreadState};
use crate::program::Access;
use crate::search::judge::Judge;
use crate::trace::happens_before::process::{Label, Processes};
use crate::trace::happens_before::rows::Row;
use crate::trace::happens_before::{Order, rows};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// An access by its thread, its place, and whether it is a store's arrival.
type Site = (ThreadKey, u32, bool);

/// The accesses to cells in the present execution, and the races that are known.
#[derive(Default)]
pub(crate) struct DataRaces {
    accesses: Vec<Accessed>,
    /// For each object, the last of them.
    last: FxHashMap<Loc, u32>,
    known: BTreeSet<(Loc, [Site; 2])>,
    /// Lent to whoever looks for races.
    spare: Row,
}

/// An event that accesses a cell.
#[derive(Clone, Copy)]
struct Accessed {
    event: usize,
    thread: ThreadKey,
    access: CellAccess,
    /// A store's arrival.
    arrives: bool,
    /// Where the operation stands.
    place: u32,
    /// The access to the same object before, counted from 1.
    previous: u32,
}

impl DataRaces {
    /// Notes the access of the last event, if it is one.
    pub(crate) fn note(&mut self, order: &Order, acting: &Acting, operation: Option<&Operation>) {
        let event = order.len() - 1;
        match (operation, acting.flushed) {
            (Some(operation), _) => self.add(event, acting.key, acting.span.start, operation),
            (None, Some(entry)) => {
                let place = order.issue_of(event).and_then(|issue| {
                    self.accesses.iter().find(|access| access.event == issue).map(|access| access.place)
                });
                let (loc, plain) = (entry.loc, entry.access == Access::Plain);
                let access = CellAccess { loc, writes: true, plain };
                let place = place.unwrap_or(0);
                self.push(Accessed { event, thread: acting.key, access, arrives: true, place, previous: 0 });
            }
            _ => {}
        }
    }

    /// Notes the access that a thread cannot perform, if it is one. [`DataRaces::look_at_pending`] forgets it.
    pub(crate) fn note_pending<S: Describe>(
        &mut self,
        order: &Order,
        subject: &S,
        thread: &ThreadState<S::Thread>,
        operation: &Operation,
    ) {
        self.add(order.len(), thread.key, subject.span(&thread.local).start, operation);
    }

    fn add(&mut self, event: usize, thread: ThreadKey, place: u32, operation: &Operation) {
        if let Some(access) = operation.cell_access() {
            self.push(Accessed { event, thread, access, arrives: false, place, previous: 0 });
        }
    }

    fn push(&mut self, access: Accessed) {
        let previous = self.last.insert(access.access.loc, self.accesses.len() as u32 + 1).unwrap_or(0);
        self.accesses.push(Accessed { previous, ..access });
    }

    /// Forgets accesses from this event on.
    pub(crate) fn undo(&mut self, event: usize) {
        while let Some(access) = self.accesses.pop_if(|access| access.event >= event) {
            self.last.insert(access.access.loc, access.previous);
        }
    }

    /// Looks for races between the last event and earlier ones.
    pub(crate) fn look<S: Describe>(
        &mut self,
        order: &Order,
        processes: &Processes,
        machine: &Machine<'_, S>,
        judge: &mut Judge<'_, S>,
    ) {
        let event = order.len() - 1;
        if self.accesses.last().is_some_and(|access| access.event == event) {
            let mut reached = std::mem::take(&mut self.spare);
            reached.clear();
            add_reached(&mut reached, order, event);
            self.look_before(&reached, order, processes, machine, judge);
            self.spare = reached;
        }
    }

    /// Looks for races between the access that was noted as pending and all events.
    pub(crate) fn look_at_pending<S: Describe>(
        &mut self,
        order: &Order,
        processes: &Processes,
        label: Label,
        machine: &Machine<'_, S>,
        judge: &mut Judge<'_, S>,
    ) {
        if self.accesses.last().is_some_and(|access| access.event == order.len()) {
            self.look_before(&order.reached(processes, label), order, processes, machine, judge);
            self.undo(order.len());
        }
    }

    fn look_before<S: Describe>(
        &mut self,
        reached: &Row,
        order: &Order,
        processes: &Processes,
        machine: &Machine<'_, S>,
        judge: &mut Judge<'_, S>,
    ) {
        let Some(&second) = self.accesses.last() else { return };
        let stores_overtake = machine.rules.reorders_stores();
        let mut earlier: SmallVec<[Accessed; 4]> = SmallVec::new();
        let mut next = second.previous;
        while let Some(&first) = self.accesses.get((next as usize).wrapping_sub(1)) {
            next = first.previous;
            let is_apart = first.thread != second.thread && !rows::has(reached, first.event);
            if is_apart && first.access.conflicts(&second.access) {
                earlier.push(first);
            }
        }
        for first in earlier.into_iter().rev() {
            let arrivals = usize::from(first.arrives) + usize::from(second.arrives);
            if arrivals > 1 || arrivals == 1 && !stores_overtake {
                continue;
            }
            let mut pair = [first, second].map(|access| (access.thread, access.place, access.arrives));
            pair.sort_unstable();
            if !self.known.insert((second.access.loc, pair)) {
                continue;
            }
            let mut both = reached.clone();
            add_reached(&mut both, order, first.event);
            show(&both, order, processes, machine, judge);
        }
    }
}

/// Adds what must have happened for the event to be next.
fn add_reached(row: &mut Row, order: &Order, event: usize) {
    match order.is_arrival(event) {
        true => rows::join(row, order.past(event)),
        false => order.add_reached_before(row, event),
    }
}

/// Runs these events alone and has the state judged.
fn show<S: Describe>(
    events: &Row,
    order: &Order,
    processes: &Processes,
    machine: &Machine<'_, S>,
    judge: &mut Judge<'_, S>,
) {
    let mut state = machine.start();
    let mut path = Vec::new();
    let mut possible = Vec::new();
    for event in rows::members(events) {
        let label = order.events[event].label;
        let Some(step) = processes.step(&state, label, |thread| machine.subject.operation(thread)) else { return };
        possible.clear();
        machine.steps(&state, &mut possible);
        if !possible.contains(&step) {
            return;
        }
        machine.apply(&mut state, step);
        path.push(step);
    }
    judge.look_at(&state, || path.clone());
}
