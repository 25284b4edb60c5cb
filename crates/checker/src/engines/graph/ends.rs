//! Where no thread can add an event: an end, or a graph that others cover.

use super::cast::{Moment, Waiting};
use super::world::{Alternative, Frame, How};
use super::{Search, schedule};
use crate::base::{Step, ThreadId};
use crate::execution::graph::{Kind, Object, deed};
use crate::execution::{Describe, Operation, Shared, State, Status, Stuck, ThreadState, Waits};
use crate::program::{FinalState, LockMode};
use crate::search::StopReason;
use smallvec::SmallVec;
use std::rc::Rc;

/// Why nothing is verified where a thread can only give up waiting.
const GIVES_UP: &str =
    "a thread waits for some time where nothing else can happen, and engine graph does not let it give up there";

impl<S: Describe> Search<'_, S> {
    /// No thread can add an event. Judges that.
    pub(super) fn end(&mut self) {
        self.look_at_order();
        self.look_at_queues();
        if self.is_behind() {
            self.findings.statistics.redundant += 1;
            return;
        }
        self.settle();
        let state = self.state();
        let mut possible = Vec::new();
        let ids = (0..state.threads.len()).map(|index| ThreadId(index as u16));
        ids.for_each(|thread| self.machine.steps_of(&state, thread, &mut possible));
        let another = match possible.is_empty() {
            true => self.machine.last_resorts(&state).first().copied(),
            false => None,
        };
        let waits = |step: &Step| self.subject.waits(&state.threads[step.thread.index()].local);
        let turn = another.filter(|step| waits(step) == Waits::Spinning);
        let graph = &self.world.graph;
        if turn.is_some() {
            // Nothing is known of what a loop counts elsewhere: it may give up.
        } else if another.is_some() {
            self.findings.incomplete = Some(StopReason::Unsupported(GIVES_UP.to_string()));
        } else if possible.is_empty() {
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
            let turning = turn.and_then(|step| live.numbers.get(step.thread.index())).copied();
            turning.into_iter().for_each(|thread| self.turn(thread));
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

    /// A thread that spins in vain takes another turn.
    fn turn(&mut self, thread: u16) {
        let turn = Alternative { thread, how: How::Only, choice: 0, second_choice: false };
        let length = self.world.graph.len();
        self.world.frames.push(Frame { length, rest: SmallVec::from_slice(&[turn]) });
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
        let mut shared = self.shared(&ids);
        self.show_turns(&ids, &mut shared);
        State { shared, threads }
    }

    /// What those who spin have done in their last turns that nobody has seen, or needs to know.
    fn show_turns(&self, ids: &[ThreadId], shared: &mut Shared) {
        for (number, &id) in ids.iter().enumerate() {
            let Some(now) = self.world.cast.now(number as u16) else { continue };
            let Waiting::Turn(objects) = &now.waits else { continue };
            if objects.is_empty() {
                continue;
            }
            shared.watch_accesses();
            for &(object, times) in objects {
                match object {
                    Object::Cell(cell) => (0..times).for_each(|_| shared.note_access(cell, id, true)),
                    Object::Lock(lock) if !self.is_told(number as u16, lock) => {
                        (0..times).for_each(|_| shared.note_visit(lock, id, true, false));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Whether others have done something with a lock since a thread's last turn that those who poll it must know.
    fn is_told(&self, thread: u16, lock: u32) -> bool {
        let graph = &self.world.graph;
        let Some(loc) = self.names.find(Object::Lock(lock)) else { return false };
        let later = graph.writes(loc).iter().rev().map(|&id| graph.event(id));
        let mut later = later.take_while(|event| event.thread != thread);
        later.any(|event| matches!(event.choice, deed::UNLOCK | deed::UNSHARE | deed::DOWNGRADE))
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
