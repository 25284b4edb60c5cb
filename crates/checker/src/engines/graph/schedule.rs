//! A graph as a schedule: its operations in an order in which each comes after what it depends on.
//!
//! A step of a graph machine is an operation with a choice: which write a read reads from and which place a write takes,
//! counted from the newest of those that are there by then.

use crate::base::{Action, Step, ThreadId};
use crate::execution::graph::{Event, Graph, Id, Kind, LocId, Names, Object};

/// The steps that lead to a graph. What belongs to operations that are not complete is left out.
pub(super) fn steps(graph: &Graph, names: &Names) -> Vec<Step> {
    let mut steps = Vec::new();
    Order::new(graph).run(|order, thread, events| {
        let action = order.action(names, events);
        steps.push(Step { thread: order.numbers[thread as usize].expect("it was started"), action });
    });
    steps
}

/// The operations of a graph, each by its thread and its events.
pub(super) fn operations(graph: &Graph) -> Vec<(u16, Vec<Id>)> {
    let mut operations = Vec::new();
    let order = Order { counts_incomplete: true, ..Order::new(graph) };
    order.run(|_, thread, events| operations.push((thread, events.to_vec())));
    operations
}

struct Order<'g> {
    graph: &'g Graph,
    /// How many events of each thread are there.
    emitted: Vec<usize>,
    /// How many threads are there, and what their numbers are in the schedule.
    n_started: u16,
    numbers: Vec<Option<ThreadId>>,
    /// Whether an operation may depend on one that is not complete: who begins to wait for a condition variable can be notified before it has given
    /// back the lock.
    counts_incomplete: bool,
}

impl<'g> Order<'g> {
    fn new(graph: &'g Graph) -> Order<'g> {
        let n_threads = graph.n_threads();
        let (emitted, numbers) = (vec![0; n_threads], vec![None; n_threads]);
        let mut order = Order { graph, emitted, n_started: 0, numbers, counts_incomplete: false };
        (0..n_threads as u16).filter(|&thread| graph.is_initial(thread)).for_each(|thread| order.start(thread));
        order
    }

    /// Shows each operation when everything that it depends on is there. A thread goes on as long as it can.
    fn run(mut self, mut show: impl FnMut(&Order<'g>, u16, &[Id])) {
        let n_threads = self.emitted.len();
        let (mut thread, mut idle) = (0, 0);
        while idle < n_threads {
            if self.emit(thread as u16, &mut show) {
                idle = 0;
            } else {
                thread = (thread + 1) % n_threads;
                idle += 1;
            }
        }
    }

    fn start(&mut self, thread: u16) {
        self.numbers[thread as usize] = Some(ThreadId(self.n_started));
        self.n_started += 1;
    }

    /// Adds a thread's next operation, if everything that it depends on is there.
    fn emit(&mut self, thread: u16, show: &mut impl FnMut(&Order<'g>, u16, &[Id])) -> bool {
        let rest = &self.graph.thread(thread)[self.emitted[thread as usize]..];
        let Some(length) = rest.iter().position(|&id| self.graph.event(id).completes) else { return false };
        let events = &rest[..=length];
        if !events.iter().all(|&id| self.is_ready(thread, id)) {
            return false;
        }
        show(self, thread, events);
        if let Kind::Fork(child) = self.graph.event(events[0]).kind {
            self.start(child);
        }
        self.emitted[thread as usize] += length + 1;
        true
    }

    fn is_ready(&self, thread: u16, id: Id) -> bool {
        let event = self.graph.event(id);
        let mut others = (0..self.emitted.len() as u16).filter(|&other| other != thread);
        self.numbers[thread as usize].is_some()
            && others.all(|other| event.porf.get(other) as usize <= self.emitted[other as usize] || self.waits(other))
    }

    /// Whether all that is left of a thread is an operation that is not complete, and that counts.
    fn waits(&self, thread: u16) -> bool {
        let rest = &self.graph.thread(thread)[self.emitted[thread as usize]..];
        self.counts_incomplete && rest.iter().all(|&id| !self.graph.event(id).completes)
    }

    fn action(&self, names: &Names, events: &[Id]) -> Action {
        let first = self.graph.event(events[0]);
        if first.kind == Kind::Choose {
            return Action::Choose(first.choice);
        }
        let mut all = events.iter().map(|&id| self.graph.event(id));
        if let Some(notify) = all.find(|event| self.is_choice_of_waiter(names, event)) {
            let number = self.numbers[notify.choice as usize].expect("it was started");
            return Action::Choose(number.0.into());
        }
        let newer = match first.kind {
            Kind::Read => self.newer_than(first.loc, first.source),
            Kind::Write => self.newer_than(first.loc, events[0]),
            _ => 0,
        };
        if newer == 0 { Action::Run } else { Action::Choose(newer) }
    }

    /// Whether the event notified one of several threads.
    fn is_choice_of_waiter(&self, names: &Names, event: &Event) -> bool {
        event.kind == Kind::Write
            && event.choice >= 0
            && matches!(names.object(event.loc), Object::Condvar(_))
            && self.graph.waiters(event.loc, event.source).len() > 1
    }

    /// How many writes are there that are newer than one.
    fn newer_than(&self, loc: LocId, write: Id) -> i64 {
        let is_there = |&&id: &&Id| {
            let event = self.graph.event(id);
            (event.index as usize) < self.emitted[event.thread as usize]
        };
        self.graph.writes(loc)[self.graph.place_of(write) as usize..].iter().filter(is_there).count() as i64
    }
}
