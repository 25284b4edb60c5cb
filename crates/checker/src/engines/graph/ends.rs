//! Where no thread can add an event: an end, or a graph that others cover.

use super::cast::Moment;
use super::{Search, schedule};
use crate::base::ThreadId;
use crate::execution::graph::{Kind, Object};
use crate::execution::{Describe, Operation, Shared, State, Status, Stuck, ThreadState};
use crate::program::{FinalState, LockMode};
use std::rc::Rc;

impl<S: Describe> Search<'_, S> {
    /// No thread can add an event. Judges that.
    pub(super) fn end(&mut self) {
        self.settle();
        self.look_at_order();
        let state = self.state();
        let mut possible = Vec::new();
        self.machine.steps(&state, &mut possible);
        let graph = &self.world.graph;
        if possible.is_empty() && !self.is_behind() {
            let path = || schedule::steps(graph, &self.names);
            if !self.findings.ended(self.machine, &state, path) {
                self.findings.statistics.redundant += 1;
            } else if state.threads.iter().all(|thread| thread.status == Status::Ended) {
                (self.show)(graph, &self.names);
            }
        } else {
            self.findings.statistics.redundant += 1;
        }
        if let Some(live) = &mut self.live {
            live.threads = state.threads;
        }
    }

    /// Why nothing can happen any more, and the values that are left if every thread has ended.
    pub(super) fn outcome(&mut self) -> (Option<Stuck>, Option<FinalState>) {
        self.settle();
        let state = self.state();
        let mut possible = Vec::new();
        self.machine.steps(&state, &mut possible);
        let end = possible.is_empty().then(|| self.machine.stuck(&state));
        let final_state = (end == Some(Stuck::Finished)).then(|| self.subject.final_state(&state));
        if let Some(live) = &mut self.live {
            live.threads = state.threads;
        }
        (end, final_state)
    }

    /// Whether some thread waits because it has read a state of a lock that is not the newest.
    fn is_behind(&self) -> bool {
        let graph = &self.world.graph;
        let last = |thread: u16| graph.last_of(thread).filter(|last| last.blocked);
        (0..graph.n_threads() as u16).filter_map(last).any(|last| last.source != graph.newest(last.loc))
    }

    /// The state that the graph leads to: memory holds the newest values.
    pub(super) fn state(&mut self) -> State<S::Thread> {
        let n_threads = self.world.graph.n_threads();
        let mut ids = vec![ThreadId(0); n_threads];
        let (mut threads, numbers) = match &mut self.live {
            Some(live) => (std::mem::take(&mut live.threads), live.numbers.clone()),
            None => self.copies(),
        };
        for (at, (&number, thread)) in numbers.iter().zip(&mut threads).enumerate() {
            ids[number as usize] = ThreadId(at as u16);
            thread.status = match self.world.graph.last_of(number) {
                Some(last) if last.last && last.kind == Kind::Failed => Status::Failed,
                Some(last) if last.last => Status::Ended,
                _ => Status::Running,
            };
        }
        State { shared: self.shared(&ids), threads }
    }

    fn copies(&self) -> (Vec<ThreadState<S::Thread>>, Vec<u16>) {
        let started = (0..self.world.graph.n_threads() as u16).filter(|&thread| self.world.cast.now(thread).is_some());
        let numbers: Vec<u16> = started.collect();
        let copy = |&thread: &u16| {
            let local = self.local(thread).and_then(|local| self.subject.copy(local))?;
            let (buffer, status) = (Default::default(), Status::Running);
            Some(ThreadState { key: self.names.key(thread), local, buffer, status })
        };
        (numbers.iter().filter_map(copy).collect(), numbers)
    }

    fn shared(&self, ids: &[ThreadId]) -> Shared {
        let graph = &self.world.graph;
        let mut shared = Shared::new(self.initial_cells.clone());
        for (loc, object) in self.names.objects().take(graph.n_locs()) {
            match object {
                Object::Cell(cell) if self.live.is_some() || !graph.writes(loc).is_empty() => {
                    shared.create(cell, graph.value_of(loc, graph.newest(loc)));
                }
                Object::Lock(lock) => {
                    for (thread, &id) in ids.iter().enumerate() {
                        let (alone, shares) = graph.holds(thread as u16, loc);
                        (0..alone).for_each(|_| shared.lock(lock, LockMode::Exclusive, id));
                        (0..shares).for_each(|_| shared.lock(lock, LockMode::Shared, id));
                    }
                }
                Object::Condvar(condvar) => {
                    for (thread, &id) in ids.iter().enumerate() {
                        let waits = |now: &Rc<Moment<S::Thread>>| match now.operation {
                            Operation::Reacquire { condvar: at, .. } => at == condvar,
                            _ => false,
                        };
                        if self.world.cast.now(thread as u16).is_some_and(waits) {
                            shared.wait(condvar, id);
                            let notifier = graph.notifier(loc, thread as u16);
                            notifier.iter().for_each(|_| shared.notify(condvar, Some(id)));
                        }
                    }
                }
                _ => {}
            }
        }
        for &free in graph.frees() {
            if let Kind::Free(block) = graph.event(free).kind {
                shared.free(block);
            }
        }
        shared
    }
}
