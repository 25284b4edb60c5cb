//! The happens-before graph of a story, and why no interleaving explains it.
//!
//! Nodes are steps; a store and its flush are one. An execution is sequentially consistent if this graph has no cycle: program
//! order, reads-from, the order in which stores reach memory (coherence), from-read, and what synchronises.

use crate::report::story::{StepKind, Story};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Why one step comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Relation {
    /// The same thread did one before the other.
    #[serde(rename = "po")]
    ProgramOrder,
    /// A read saw a store.
    #[serde(rename = "rf")]
    ReadsFrom,
    /// A store reached memory before another to the same cell.
    #[serde(rename = "co")]
    Coherence,
    /// A read saw what a store then overwrote.
    #[serde(rename = "fr")]
    FromRead,
    /// Locks, notifications, forks and joins.
    #[serde(rename = "sync")]
    Synchronisation,
    /// A release and an acquire that has seen it.
    #[serde(rename = "sw")]
    SynchronisesWith,
}

/// One step comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Edge {
    /// The position of the earlier step.
    pub from: usize,
    /// The position of the later step.
    pub to: usize,
    /// Why.
    pub relation: Relation,
}

impl Edge {
    /// Whether the later step was issued earlier: what a store buffer makes possible.
    pub(super) fn is_backward(&self) -> bool {
        self.to < self.from
    }
}

/// All edges. Coherence and from-read lead to the next store only; the others follow.
pub fn edges(story: &Story) -> Vec<Edge> {
    let mut edges = Vec::new();
    program_order(story, &mut edges);
    memory_order(story, &mut edges);
    synchronisation(story, &mut edges);
    let pairs = story.graph.iter().flat_map(|graph| &graph.synchronises);
    edges.extend(pairs.map(|&(from, to)| Edge { from, to, relation: Relation::SynchronisesWith }));
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn program_order(story: &Story, edges: &mut Vec<Edge>) {
    let mut last = BTreeMap::new();
    for (to, step) in story.steps.iter().enumerate().filter(|(_, step)| step.kind != StepKind::Flush) {
        if let Some(from) = last.insert(step.thread, to) {
            edges.push(Edge { from, to, relation: Relation::ProgramOrder });
        }
    }
}

fn memory_order(story: &Story, edges: &mut Vec<Edge>) {
    let mut stores: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, step) in story.steps.iter().enumerate().filter(|(_, step)| step.is_store()) {
        stores.entry(step.cell.as_deref().unwrap_or_default()).or_default().push(at);
    }
    let mut next: BTreeMap<usize, usize> = BTreeMap::new();
    for (cell, stores) in &mut stores {
        match story.graph.as_ref().and_then(|graph| graph.order_of(cell)) {
            Some(order) => *stores = order.to_vec(),
            None => stores.sort_by_key(|&store| (story.arrival(store), store)),
        }
        for pair in stores.windows(2) {
            next.insert(pair[0], pair[1]);
            edges.push(Edge { from: pair[0], to: pair[1], relation: Relation::Coherence });
        }
    }
    for (at, step) in story.steps.iter().enumerate().filter(|(_, step)| step.is_read()) {
        let first = || stores.get(step.cell.as_deref().unwrap_or_default()).and_then(|stores| stores.first()).copied();
        let overwritten = match step.reads_from {
            Some(store) => {
                if story.steps[store].thread != step.thread {
                    edges.push(Edge { from: store, to: at, relation: Relation::ReadsFrom });
                }
                next.get(&store).copied()
            }
            None => first(),
        };
        if let Some(to) = overwritten.filter(|&to| to != at) {
            edges.push(Edge { from: at, to, relation: Relation::FromRead });
        }
    }
}

fn synchronisation(story: &Story, edges: &mut Vec<Edge>) {
    use StepKind::{Begin, End, Fork, Join, Lock, Notify, TryLock, Unlock, Wait, Wake};
    let mut released: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ended: BTreeMap<&str, usize> = BTreeMap::new();
    let mut forked: BTreeMap<&str, usize> = BTreeMap::new();
    for (to, step) in story.steps.iter().enumerate() {
        let object = step.object.as_deref().unwrap_or_default();
        let mut after = |from: Option<&usize>| {
            edges.extend(from.map(|&from| Edge { from, to, relation: Relation::Synchronisation }));
        };
        after(forked.remove(step.name.as_str()).as_ref());
        match step.kind {
            Unlock | Wait | Notify => drop(released.insert(object, to)),
            Lock | Wake => after(released.get(object)),
            TryLock if step.read == Some(1) => after(released.get(object)),
            Fork => drop(forked.insert(object, to)),
            End => drop(ended.insert(&step.name, to)),
            Join => after(ended.get(object)),
            Begin => ended.values().for_each(|from| after(Some(from))),
            _ => {}
        }
    }
}

/// Backward edges that are tried: more are not needed to find a short cycle.
const MOST_TRIED: usize = 200;

/// The cycle with the fewest changes of thread, or nothing if an interleaving of the threads explains the execution. Each edge starts where the
/// one before ends.
pub fn cycle(story: &Story) -> Vec<Edge> {
    let edges = edges(story);
    let mut from: Vec<Vec<Edge>> = vec![Vec::new(); story.steps.len()];
    for edge in &edges {
        from[edge.from].push(*edge);
    }
    // Only an edge against the order of issue closes a cycle.
    let backward = edges.iter().filter(|edge| edge.is_backward()).take(MOST_TRIED);
    let cycles =
        backward.filter_map(|&edge| shortest(&from, edge.to, edge.from).map(|(weight, path)| (weight, edge, path)));
    let shortest = cycles.min_by_key(|(weight, edge, _)| (*weight, *edge));
    shortest.map_or_else(Vec::new, |(_, edge, path)| joined([vec![edge], path].concat()))
}

/// The lightest way from one step to another. An edge between threads weighs more than any number within one.
fn shortest(from: &[Vec<Edge>], start: usize, end: usize) -> Option<(u64, Vec<Edge>)> {
    let mut reached: Vec<Option<(u64, Option<Edge>)>> = vec![None; from.len()];
    let mut waiting = BinaryHeap::from([Reverse((0u64, start, None::<Edge>))]);
    while let Some(Reverse((weight, at, by))) = waiting.pop() {
        if reached[at].is_some() {
            continue;
        }
        reached[at] = Some((weight, by));
        if at == end {
            break;
        }
        for edge in &from[at] {
            let more = if edge.relation == Relation::ProgramOrder { 1 } else { 1 << 20 };
            waiting.push(Reverse((weight + more, edge.to, Some(*edge))));
        }
    }
    let (weight, mut by) = reached[end]?;
    let mut path = Vec::new();
    while let Some(edge) = by {
        path.push(edge);
        by = reached[edge.from].and_then(|reached| reached.1);
    }
    path.reverse();
    Some((weight, path))
}

/// Program order from the first to the last of consecutive steps of a thread is one edge.
fn joined(cycle: Vec<Edge>) -> Vec<Edge> {
    let mut joined: Vec<Edge> = Vec::new();
    for edge in cycle {
        match joined.last_mut() {
            Some(last) if last.relation == Relation::ProgramOrder && edge.relation == Relation::ProgramOrder => {
                last.to = edge.to;
            }
            _ => joined.push(edge),
        }
    }
    joined
}
