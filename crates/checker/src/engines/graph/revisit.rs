//! Backward revisits: an earlier read reads from a write that has just come.
//!
//! TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, POPL 2022). What was added after the read goes, unless
//! the write depends on it. So that each graph comes about once, this is done from one of the graphs alone that
//! differ in nothing but what goes: the one where all of that, and the read, was added in the first way that it could be.

use crate::execution::graph::{Clock, Event, Graph, INITIAL, Id, Kind};

/// The reads that may read from a write that comes next.
pub(super) fn revisited(graph: &Graph, write: &Event) -> Vec<Id> {
    let could = |&id: &Id| {
        let read = graph.event(id);
        read.kind == Kind::Read && !write.porf.has(read.thread, read.index) && is_maximal(graph, id, &write.porf)
    };
    graph.accesses(write.loc).iter().copied().filter(could).collect()
}

/// Whether an event stays when a read reads from a write that depends on these.
pub(super) fn stays(read: Id, porf: &Clock, id: Id, event: &Event) -> bool {
    id <= read || porf.has(event.thread, event.index)
}

/// Whether the read, and everything that goes if it reads from a write that depends on these, was added in the first way.
fn is_maximal(graph: &Graph, read: Id, porf: &Clock) -> bool {
    (read..graph.len() as Id).all(|id| {
        let event = graph.event(id);
        (id != read && stays(read, porf, id, event)) || is_first_way(graph, id, porf)
    })
}

/// Whether an event was added in the first way, given those before it and those that the write depends on.
fn is_first_way(graph: &Graph, id: Id, porf: &Clock) -> bool {
    let event = graph.event(id);
    let was_there = |other: Id| other <= id || porf.has(graph.event(other).thread, graph.event(other).index);
    let none_later = |write: Id| {
        let later = &graph.writes(event.loc)[graph.place_of(write) as usize..];
        !later.iter().any(|&later| was_there(later))
    };
    match event.kind {
        Kind::Read => (event.source == INITIAL || was_there(event.source)) && none_later(event.source),
        Kind::Write => {
            let readers = graph.accesses(event.loc).iter().take_while(|&&other| other < id);
            let is_read = readers.into_iter().any(|&other| {
                let reader = graph.event(other);
                reader.is_read() && reader.source == id
            });
            !event.second_choice && !is_read && none_later(id)
        }
        _ => !event.second_choice,
    }
}
