//! A trace spelled out: its events, and for each object the order in which they touched it. Small and slow: it is made only where something is
//! to be shown or confirmed.

use crate::base::{Span, ThreadKey};
use crate::execution::{MemoryModel, Operation};
use crate::trace::happens_before::Taken;
use crate::trace::happens_before::footprint::{Mode, Object};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An event of a trace.
#[derive(Clone)]
pub(super) struct OrderedEvent {
    pub(super) taken: Taken,
    pub(super) operation: Operation,
    pub(super) span: Span,
    /// The thread's name.
    pub(super) name: String,
}

/// Events, those of a thread in program order, and who touched what in which order.
#[derive(Default)]
pub(super) struct TraceOrder {
    pub(super) events: Vec<OrderedEvent>,
    touches: BTreeMap<Object, Vec<(usize, Mode)>>,
}

/// For each event, those that must come after it.
pub(super) type Edges = Vec<BTreeSet<usize>>;

impl OrderedEvent {
    /// It can wait in a buffer.
    pub(super) fn is_store(&self) -> bool {
        self.operation.is_write() && !self.taken.drains
    }

    pub(super) fn thread(&self) -> ThreadKey {
        self.taken.thread
    }
}

impl TraceOrder {
    /// Adds an event that touches nothing yet.
    pub(super) fn add(&mut self, event: OrderedEvent) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    /// The event touches the object after all that have.
    pub(super) fn touch(&mut self, object: Object, event: usize, mode: Mode) {
        self.touches.entry(object).or_default().push((event, mode));
    }

    /// The event touches the object after so many of its writes, and before the next.
    pub(super) fn touch_after(&mut self, object: Object, event: usize, mode: Mode, n_writes: usize) {
        let touches = self.touches.entry(object).or_default();
        let writes = touches.iter().enumerate().filter(|(_, touch)| touch.1 == Mode::Write);
        let next = writes.map(|(at, _)| at).nth(n_writes).unwrap_or(touches.len());
        touches.insert(next, (event, mode));
    }

    /// How many writes of the object come until this event, which writes it.
    pub(super) fn n_writes_until(&self, object: Object, event: usize) -> usize {
        let touches = self.touches.get(&object).map_or(&[][..], Vec::as_slice);
        let until = touches.iter().position(|touch| touch.0 == event).map_or(0, |at| at + 1);
        touches[..until].iter().filter(|touch| touch.1 == Mode::Write).count()
    }

    /// Happens-before under a memory model.
    pub(super) fn edges(&self, memory: MemoryModel) -> Edges {
        let mut edges = vec![BTreeSet::new(); self.events.len()];
        self.add_conflicts(memory, &mut edges);
        let mut threads: BTreeMap<ThreadKey, Vec<usize>> = BTreeMap::new();
        for (at, event) in self.events.iter().enumerate() {
            threads.entry(event.thread()).or_default().push(at);
        }
        for events in threads.values() {
            self.add_program_order(memory, events, &mut edges);
        }
        for (at, event) in self.events.iter().enumerate() {
            if let Some(first) = event.taken.forks.and_then(|child| threads.get(&child)).and_then(|of| of.first()) {
                edges[at].insert(*first);
            }
            if event.taken.joins_all {
                let others = threads.values().filter_map(|of| of.last());
                others.filter(|&&last| last != at).for_each(|&last| _ = edges[last].insert(at));
            }
        }
        edges
    }

    fn add_conflicts(&self, memory: MemoryModel, edges: &mut Edges) {
        for touches in self.touches.values() {
            for (at, &(event, mode)) in touches.iter().enumerate() {
                for &(earlier, before) in touches[..at].iter().rev() {
                    if mode.conflicts(before) && earlier != event && !self.is_forwarded(memory, earlier, event, mode) {
                        edges[earlier].insert(event);
                    }
                    if before == Mode::Write {
                        break;
                    }
                }
            }
        }
    }

    /// Whether a load sees a store of its own thread that may be in the buffer.
    fn is_forwarded(&self, memory: MemoryModel, store: usize, load: usize, mode: Mode) -> bool {
        let [store, load] = [&self.events[store], &self.events[load]];
        memory.delays_stores()
            && mode == Mode::Read
            && store.is_store()
            && store.thread() == load.thread()
            && !load.taken.drains
    }

    fn add_program_order(&self, memory: MemoryModel, events: &[usize], edges: &mut Edges) {
        let mut last: Option<usize> = None;
        // Stores since the last event that drained, and how many of them stand before the last barrier.
        let (mut stores, mut held): (Vec<usize>, usize) = (Vec::new(), 0);
        for &at in events {
            let event = &self.events[at];
            let is_store = event.is_store() && memory.delays_stores();
            if event.taken.barrier {
                held = stores.len();
            }
            if let Some(last) = last {
                edges[last].insert(at);
            }
            if is_store {
                let before = if memory.keeps_store_order() { stores.len() } else { held };
                stores[..before].iter().for_each(|&store| _ = edges[store].insert(at));
                stores.push(at);
                continue;
            }
            if event.taken.drains {
                stores.iter().for_each(|&store| _ = edges[store].insert(at));
                (stores, held) = (Vec::new(), 0);
            }
            last = Some(at);
        }
    }

    /// The events that must be there for these to be possible, with these: what comes earlier in the thread, what is read, and what was done
    /// to locks and the like.
    pub(super) fn needed(&self, events: &[usize], is_cell: impl Fn(Object) -> bool) -> Vec<bool> {
        let mut needs = self.needs_by_program_order();
        for (&object, touches) in &self.touches {
            for (at, &(event, mode)) in touches.iter().enumerate() {
                let reads = mode == Mode::Read || !self.events[event].is_store();
                for &(earlier, before) in touches[..at].iter().rev() {
                    let is_source = before == Mode::Write && reads;
                    if mode.conflicts(before) && (is_source || !is_cell(object)) {
                        needs[event].insert(earlier);
                    }
                    if before == Mode::Write {
                        break;
                    }
                }
            }
        }
        let mut kept = vec![false; self.events.len()];
        let mut work = events.to_vec();
        while let Some(event) = work.pop() {
            if !std::mem::replace(&mut kept[event], true) {
                work.extend(&needs[event]);
            }
        }
        kept
    }

    fn needs_by_program_order(&self) -> Edges {
        let mut needs: Edges = vec![BTreeSet::new(); self.events.len()];
        let mut last: BTreeMap<ThreadKey, usize> = BTreeMap::new();
        for (at, event) in self.events.iter().enumerate() {
            needs[at].extend(last.get(&event.thread()));
            if event.taken.joins_all {
                needs[at].extend(last.values());
            }
            last.extend(event.taken.forks.map(|child| (child, at)));
            last.insert(event.thread(), at);
        }
        needs
    }

    /// The same trace with these events only.
    pub(super) fn only(&self, kept: &[bool]) -> TraceOrder {
        let mut number = vec![0; self.events.len()];
        let mut left = TraceOrder::default();
        for (at, event) in self.events.iter().enumerate().filter(|(at, _)| kept[*at]) {
            number[at] = left.add(event.clone());
        }
        for (&object, touches) in &self.touches {
            for &(event, mode) in touches.iter().filter(|touch| kept[touch.0]) {
                left.touch(object, number[event], mode);
            }
        }
        left
    }
}

/// A shortest cycle, if there is one.
pub(super) fn cycle(edges: &Edges) -> Option<Vec<usize>> {
    let order = linearise(edges);
    let mut is_ordered = vec![false; edges.len()];
    order.iter().for_each(|&event| is_ordered[event] = true);
    let cyclic = (0..edges.len()).filter(|&event| !is_ordered[event]);
    cyclic.filter_map(|event| shortest_way(edges, event, event)).min_by_key(Vec::len)
}

/// As many events as possible, each after all that come before it, the first by number first.
pub(super) fn linearise(edges: &Edges) -> Vec<usize> {
    let mut n_before = vec![0; edges.len()];
    edges.iter().flatten().for_each(|&next| n_before[next] += 1);
    let mut free: BTreeSet<usize> = (0..edges.len()).filter(|&event| n_before[event] == 0).collect();
    let mut order = Vec::new();
    while let Some(event) = free.pop_first() {
        order.push(event);
        for &next in &edges[event] {
            n_before[next] -= 1;
            if n_before[next] == 0 {
                free.insert(next);
            }
        }
    }
    order
}

/// The events on a shortest way from one to another, without the last.
pub(super) fn shortest_way(edges: &Edges, from: usize, to: usize) -> Option<Vec<usize>> {
    let mut origin = vec![None; edges.len()];
    let mut work = VecDeque::from([from]);
    while let Some(event) = work.pop_front() {
        for &next in &edges[event] {
            if next == to {
                let mut way = vec![event];
                while way.last() != Some(&from) {
                    way.extend(way.last().and_then(|&at: &usize| origin[at]));
                }
                way.reverse();
                return Some(way);
            }
            if origin[next].is_none() && next != from {
                origin[next] = Some(event);
                work.push_back(next);
            }
        }
    }
    None
}
