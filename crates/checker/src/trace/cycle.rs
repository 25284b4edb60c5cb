//! The happens-before order of one execution, and a cycle in it: what shows that no SC execution looks the same.
//!
//! Program order; reads-from; the order in which stores reach memory; from a read to the store after the one that it read; and
//! the order of operations on locks, condition variables, threads and heap blocks.

use super::{Event, Trace};
use crate::base::{Action, Loc, ThreadId};
use crate::execution::Operation;
use std::collections::{BTreeMap, VecDeque};

/// Why one event happens before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same thread does it first.
    ProgramOrder,
    /// A read sees the store.
    ReadsFrom,
    /// A store reaches memory before another to the same cell.
    StoreOrder,
    /// A read does not yet see the store.
    FromRead,
    /// Locks, condition variables, forks, joins and frees.
    Synchronisation,
}

/// A cycle: positions of operations in the trace, each with how it comes before the next, the last before the first.
pub type Cycle = Vec<(usize, Relation)>;

/// A shortest cycle in the happens-before order of a trace, if there is one.
pub fn happens_before_cycle(trace: &Trace) -> Option<Cycle> {
    let order = order(trace);
    let starts = 0..trace.events.len();
    starts.filter_map(|start| cycle_through(&order, start)).min_by_key(Vec::len)
}

/// The first store of the cycle that had not reached memory when its thread did a later thing of the cycle, and that thing. If it is a block that was freed meanwhile,
/// the store is alone: it is both.
pub(crate) fn delayed(trace: &Trace, cycle: &Cycle) -> Option<(usize, usize)> {
    let arrivals = arrivals(&trace.events);
    let arrival = |store: usize| arrivals.iter().find(|arrival| arrival.1 == store).map_or(usize::MAX, |found| found.0);
    let arrived = |at: usize| if trace.events[at].buffered { arrival(at) } else { at };
    let thread = |at: usize| trace.events[at].step.thread;
    let places = || cycle.iter().map(|place| place.0);
    let stores = || places().filter(|&store| trace.events[store].buffered);
    let overtaken = |store: usize| {
        let ahead = places().filter(|&at| at > store && thread(at) == thread(store));
        ahead.filter(|&at| arrived(at) < arrival(store)).max().map(|ahead| (store, ahead))
    };
    stores().filter_map(overtaken).min().or_else(|| stores().min().map(|store| (store, store)))
}

type Order = Vec<Vec<(usize, Relation)>>;

fn cycle_through(order: &Order, start: usize) -> Option<Cycle> {
    let mut from: Vec<Option<(usize, Relation)>> = vec![None; order.len()];
    let mut work = VecDeque::from([start]);
    while let Some(at) = work.pop_front() {
        for &(next, relation) in &order[at] {
            if next == start {
                let mut cycle = vec![(at, relation)];
                let mut last = at;
                while let Some((before, relation)) = from[last] {
                    cycle.push((before, relation));
                    last = before;
                }
                cycle.reverse();
                return Some(cycle);
            }
            if from[next].is_none() {
                from[next] = Some((at, relation));
                work.push_back(next);
            }
        }
    }
    None
}

fn order(trace: &Trace) -> Order {
    let mut order: Order = vec![Vec::new(); trace.events.len()];
    let mut add = |from: usize, to: usize, relation: Relation| order[from].push((to, relation));
    let operations = || trace.events.iter().enumerate().filter(|(_, event)| event.operation.is_some());
    let mut last: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for (at, event) in operations() {
        if let Some(before) = last.insert(event.step.thread, at) {
            add(before, at, Relation::ProgramOrder);
        }
    }
    let arrivals = arrivals(&trace.events);
    let mut stores: BTreeMap<Loc, Vec<usize>> = BTreeMap::new();
    for &(_, at, loc) in &arrivals {
        let stores = stores.entry(loc).or_default();
        if let Some(&before) = stores.last() {
            add(before, at, Relation::StoreOrder);
        }
        stores.push(at);
    }
    for (at, event) in operations() {
        let Some(loc) = event.operation.as_ref().and_then(Operation::read) else { continue };
        let source = source(&trace.events, &arrivals, at, loc);
        if let Some(source) = source {
            add(source, at, Relation::ReadsFrom);
        }
        let stores = stores.get(&loc).map_or(&[][..], Vec::as_slice);
        // A store that has not reached memory comes after all that have.
        let after = match source {
            None => 0,
            Some(source) => stores.iter().position(|&store| store == source).map_or(stores.len(), |at| at + 1),
        };
        if let Some(&next) = stores.get(after).filter(|&&next| next != at) {
            add(at, next, Relation::FromRead);
        }
    }
    frees(trace, &arrivals, &mut add);
    synchronisation(trace, &mut add);
    order
}

/// What comes before a block is freed, and what after. A store is there twice: when it is issued and when it arrives.
fn frees(trace: &Trace, arrivals: &[(usize, usize, Loc)], add: &mut impl FnMut(usize, usize, Relation)) {
    let operations = || trace.events.iter().enumerate().filter_map(|(at, event)| Some((at, event.operation.as_ref()?)));
    let frees = operations().filter_map(|(at, operation)| Some((at, operation.freed()?)));
    for (free, block) in frees {
        let is_inside = |loc: Loc| loc.block() == Some(block);
        let touched =
            operations().filter(|(_, operation)| operation.loc().is_some_and(is_inside)).map(|(at, _)| (at, at));
        let arrived = arrivals.iter().filter(|arrival| is_inside(arrival.2)).map(|&(when, at, _)| (when, at));
        for (when, at) in touched.chain(arrived) {
            match when < free {
                true => add(at, free, Relation::Synchronisation),
                false => add(free, at, Relation::Synchronisation),
            }
        }
    }
}

/// When each store reached memory, which store it was, and where to; in that order.
fn arrivals(events: &[Event]) -> Vec<(usize, usize, Loc)> {
    let mut waiting: BTreeMap<ThreadId, Vec<usize>> = BTreeMap::new();
    let mut arrivals = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match (event.step.action, event.written) {
            (Action::Flush(position), Some((loc, _))) => {
                let store = waiting.get_mut(&event.step.thread).map(|waiting| waiting.remove(position as usize));
                arrivals.extend(store.map(|store| (at, store, loc)));
            }
            (_, Some(_)) if event.buffered => waiting.entry(event.step.thread).or_default().push(at),
            (_, Some((loc, _))) => arrivals.push((at, at, loc)),
            _ => {}
        }
    }
    arrivals
}

/// The store that a read sees: the newest of its thread that waits, or the newest in memory.
fn source(events: &[Event], arrivals: &[(usize, usize, Loc)], at: usize, loc: Loc) -> Option<usize> {
    let arrival = |store: usize| arrivals.iter().find(|arrival| arrival.1 == store).map_or(usize::MAX, |a| a.0);
    let own = events[..at].iter().enumerate().rev().find(|(store, event)| {
        event.step.thread == events[at].step.thread
            && event.buffered
            && event.written.is_some_and(|written| written.0 == loc)
            && arrival(*store) > at
    });
    let in_memory = arrivals.iter().rev().find(|arrival| arrival.0 < at && arrival.2 == loc).map(|arrival| arrival.1);
    own.map(|(store, _)| store).or(in_memory)
}

/// Operations on the same lock, condition variable or thread, one after the other.
fn synchronisation(trace: &Trace, add: &mut impl FnMut(usize, usize, Relation)) {
    let mut last: BTreeMap<(u8, u64), usize> = BTreeMap::new();
    for (at, event) in trace.events.iter().enumerate() {
        let Some(operation) = &event.operation else { continue };
        let thread = trace.threads[event.step.thread.index()].key.0;
        let mut objects = vec![(2, thread)];
        objects.extend(operation.lock().map(|lock| (0, lock.into())));
        objects.extend(operation.condvar().map(|condvar| (1, condvar.into())));
        objects.extend(operation.forked().or(operation.joined()).map(|thread| (2, thread.0)));
        if operation.is_join_all() {
            objects.extend(trace.threads.iter().map(|thread| (2, thread.key.0)));
        }
        for object in objects {
            if let Some(before) = last
                .insert(object, at)
                .filter(|&before| before != at && trace.events[before].step.thread != event.step.thread)
            {
                add(before, at, Relation::Synchronisation);
            }
        }
    }
}
