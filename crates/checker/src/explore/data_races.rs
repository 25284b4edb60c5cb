//! Data races on plain cells, found from the order of one execution of each trace.
//!
//! Two accesses race iff some state has both of them next (`Machine::races`): neither comes before what the other's thread has to do
//! to get there. Such a state is then made, and judged like any other.

use super::happens_before::Order;
use super::judge::Judge;
use super::process::{Label, Processes};
use super::rewind::Acting;
use super::rows::{self, Row};
use crate::execution::{Buffers, Describe, Machine, Operation, ThreadKey, ThreadState};
use crate::program::{Access, Loc};
use std::collections::BTreeSet;

/// The accesses to cells in the present execution, and the races that are known.
#[derive(Default)]
pub(super) struct DataRaces {
    accesses: Vec<CellAccess>,
    known: BTreeSet<[(ThreadKey, u32, bool); 2]>,
    /// Lent to whoever looks for races.
    spare: Row,
}

/// An event that accesses a cell.
#[derive(Clone, Copy)]
struct CellAccess {
    event: usize,
    thread: ThreadKey,
    loc: Loc,
    writes: bool,
    plain: bool,
    /// A store's arrival.
    arrives: bool,
    /// Where the operation stands.
    place: u32,
}

impl DataRaces {
    /// Notes the access of the last event, if it is one.
    pub(super) fn note(&mut self, order: &Order, acting: &Acting, operation: Option<&Operation>) {
        let event = order.len() - 1;
        match (operation, acting.flushed) {
            (Some(operation), _) => self.add(event, acting.key, acting.span.start, operation),
            (None, Some(entry)) => {
                let place = order.issue_of(event).and_then(|issue| {
                    self.accesses.iter().find(|access| access.event == issue).map(|access| access.place)
                });
                let (thread, loc, plain) = (acting.key, entry.loc, entry.access == Access::Plain);
                let place = place.unwrap_or(0);
                self.accesses.push(CellAccess { event, thread, loc, writes: true, plain, arrives: true, place });
            }
            _ => {}
        }
    }

    /// Notes the access that a thread cannot perform, if it is one. [`DataRaces::look_at_pending`] forgets it.
    pub(super) fn note_pending<S: Describe>(
        &mut self,
        order: &Order,
        subject: &S,
        thread: &ThreadState<S::Thread>,
        operation: &Operation,
    ) {
        self.add(order.len(), thread.key, subject.span(&thread.local).start, operation);
    }

    fn add(&mut self, event: usize, thread: ThreadKey, place: u32, operation: &Operation) {
        let (loc, writes, plain) = match *operation {
            Operation::Read { loc, access, .. } => (loc, false, access == Access::Plain),
            Operation::Write { loc, access, .. } => (loc, true, access == Access::Plain),
            Operation::Touch { loc, writes } => (loc, writes, true),
            Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => (loc, true, false),
            _ => return,
        };
        self.accesses.push(CellAccess { event, thread, loc, writes, plain, arrives: false, place });
    }

    /// Forgets accesses from this event on.
    pub(super) fn undo(&mut self, event: usize) {
        while self.accesses.last().is_some_and(|access| access.event >= event) {
            self.accesses.pop();
        }
    }

    /// Looks for races between the last event and earlier ones.
    pub(super) fn look<S: Describe>(
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
    pub(super) fn look_at_pending<S: Describe>(
        &mut self,
        order: &Order,
        processes: &Processes,
        label: Label,
        machine: &Machine<'_, S>,
        judge: &mut Judge<'_, S>,
    ) {
        if self.accesses.last().is_some_and(|access| access.event == order.len()) {
            self.look_before(&order.reached(processes, label), order, processes, machine, judge);
            self.accesses.pop();
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
        let Some((&second, earlier)) = self.accesses.split_last() else { return };
        let stores_overtake = machine.rules.buffers == Buffers::PerLocation;
        for &first in earlier.iter().filter(|first| first.loc == second.loc && first.thread != second.thread) {
            let arrivals = usize::from(first.arrives) + usize::from(second.arrives);
            let counts = arrivals == 0 || arrivals == 1 && stores_overtake;
            let conflicts = (first.writes || second.writes) && (first.plain || second.plain);
            if !counts || !conflicts || rows::has(reached, first.event) {
                continue;
            }
            let mut pair = [first, second].map(|access| (access.thread, access.place, access.arrives));
            pair.sort_unstable();
            if !self.known.insert(pair) {
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
