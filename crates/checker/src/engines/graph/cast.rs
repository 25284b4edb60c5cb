//! The threads of an execution graph, each where its events have led it.
//!
//! Where threads can be copied, each is kept as it was after each of its operations. Other threads are *live*: one execution that is run again from its
//! start, along the graph, whenever a thread has to go on and the execution is not the graph's. Values may be addresses, which
//! are others then, so the graph's values are those of the last run.

use super::{Search, schedule};
use crate::base::{Failure, Loc, Span, ThreadId};
use crate::execution::graph::{Event, INITIAL, Id, Kind, Object, fill_read, fill_update};
use crate::execution::{Buffer, Describe, Dropped, Operation, Poll, Queue, Status, ThreadState, is_alike};
use smallvec::SmallVec;
use std::rc::Rc;

/// A thread between two operations.
pub(super) struct Moment<T> {
    /// The thread, where it can be copied.
    pub(super) local: Option<T>,
    /// What it does next.
    pub(super) operation: Operation,
    /// What is wrong, if it fails.
    pub(super) failure: Option<Failure>,
    /// Where that stands.
    pub(super) span: Span,
    /// Whether it has to wait before that.
    pub(super) waits: Waiting,
    /// Objects that it uses then, beside the one that the operation is on.
    pub(super) through: SmallVec<[Loc; 2]>,
    /// Objects that it dropped on its way here.
    pub(super) dropped: Vec<Dropped>,
    /// How many blocks it has allocated.
    pub(super) allocated: u32,
}

/// What a thread waits for that is no lock, notification or thread.
pub(super) enum Waiting {
    /// Nothing.
    No,
    /// It spins. Its last turn left everything as it was, so that only another value can help it: then reads of that turn read something else. It also
    /// goes on when others have seen one of these objects as its turn made it for a while: its last so many writes.
    Turn(Vec<(Object, u32)>),
    /// For the cell that its operation reads to show another value than this.
    While(i64),
}

/// For each thread, by number, where it was after each of its operations. Nothing of threads that have not been started.
pub(super) struct Cast<T> {
    pasts: Vec<Vec<Rc<Moment<T>>>>,
}

/// Threads that cannot be copied, in order of creation.
pub(super) struct Live<T> {
    pub(super) threads: Vec<ThreadState<T>>,
    /// Their numbers.
    pub(super) numbers: Vec<u16>,
    /// Whether they have done what the graph says, and no more.
    pub(super) current: bool,
    /// For each location, the newest write that they have performed.
    shown: Vec<Id>,
}

impl<T> Cast<T> {
    pub(super) fn new() -> Cast<T> {
        Cast { pasts: Vec::new() }
    }

    /// Where a thread is, if it has been started.
    #[inline]
    pub(super) fn now(&self, thread: u16) -> Option<&Rc<Moment<T>>> {
        self.pasts.get(thread as usize)?.last()
    }

    /// Where a thread was after so many operations.
    fn after(&self, thread: u16, completed: usize) -> Option<&Rc<Moment<T>>> {
        self.pasts.get(thread as usize)?.get(completed)
    }

    /// A thread is somewhere, after its last operation or at its start.
    pub(super) fn push(&mut self, thread: u16, moment: Moment<T>) {
        if self.pasts.len() <= thread as usize {
            self.pasts.resize_with(thread as usize + 1, Vec::new);
        }
        self.pasts[thread as usize].push(Rc::new(moment));
    }

    /// After how many operations a thread had allocated more than so many blocks.
    pub(super) fn allocates(&self, thread: u16, blocks: u32) -> Option<usize> {
        self.pasts.get(thread as usize)?.iter().position(|moment| moment.allocated > blocks)
    }

    /// A thread is where it was after so many operations, with other values.
    fn refresh(&mut self, thread: u16, completed: usize, moment: Moment<T>) {
        if let Some(known) = self.pasts[thread as usize].get_mut(completed) {
            *known = Rc::new(Moment { dropped: known.dropped.clone(), ..moment });
        }
    }

    /// For how many operations it is known where a thread was after them.
    pub(super) fn known(&self, thread: u16) -> usize {
        self.pasts.get(thread as usize).map_or(0, |past| past.len().saturating_sub(1))
    }

    /// Where each thread was after each of its operations.
    pub(super) fn pasts(&self) -> impl Iterator<Item = (u16, &[Rc<Moment<T>>])> {
        self.pasts.iter().enumerate().map(|(thread, past)| (thread as u16, &past[..]))
    }

    /// Takes a thread back to where it was after so many operations.
    pub(super) fn rewind(&mut self, thread: u16, completed: usize) {
        self.pasts[thread as usize].truncate(completed + 1);
    }

    /// A thread has not been started any more.
    pub(super) fn forget(&mut self, thread: u16) {
        self.pasts[thread as usize].clear();
    }

    /// The same threads, each after as many operations as are asked for, or not started.
    pub(super) fn branch(&self, completed: impl Fn(u16) -> Option<usize>) -> Cast<T> {
        let pasts = self.pasts.iter().enumerate().map(|(thread, past)| match completed(thread as u16) {
            Some(completed) => past[..=completed].to_vec(),
            None => Vec::new(),
        });
        Cast { pasts: pasts.collect() }
    }

    /// Whether some thread takes a lock again that it holds.
    pub(super) fn has_queues(&self) -> bool {
        self.pasts.iter().flatten().any(|moment| moment.operation.queue() == Queue::Behind)
    }

    /// Who has dropped an object.
    pub(super) fn dropped_by(&self, object: Loc) -> Option<u16> {
        let has = |past: &Vec<Rc<Moment<T>>>| past.iter().any(|m| m.dropped.iter().any(|d| d.object == object));
        self.pasts.iter().position(has).map(|thread| thread as u16)
    }
}

impl<T> Live<T> {
    /// The place of a thread in the order of creation.
    pub(super) fn index(&self, thread: u16) -> Option<usize> {
        self.numbers.iter().position(|&number| number == thread)
    }
}

impl<S: Describe> Search<'_, S> {
    /// Lets the initial threads begin.
    pub(super) fn begin(&mut self) {
        for (key, local) in self.subject.initial() {
            let thread = self.names.thread(key);
            self.world.graph.start(thread);
            self.introduce(thread, local);
        }
    }

    /// A thread that has just been made begins.
    fn introduce(&mut self, thread: u16, mut local: S::Thread) {
        self.take_new_cells(thread, &mut local, 0);
        let mut dropped = Vec::new();
        self.subject.take_dropped(&mut local, &mut |end| dropped.push(end));
        let copy = self.subject.copy(&local);
        if self.world.cast.now(thread).is_none() {
            self.world.cast.push(thread, Moment { dropped, ..moment(self.subject, &local, copy.is_some()) });
        }
        if copy.is_none() {
            let live = self.live.get_or_insert_with(|| Live {
                threads: Vec::new(),
                numbers: Vec::new(),
                current: true,
                shown: Vec::new(),
            });
            let (key, buffer, status) = (self.names.key(thread), Buffer::default(), Status::Running);
            live.threads.push(ThreadState { key, local, buffer, status });
            live.numbers.push(thread);
        }
    }

    /// A thread's operation is complete with its last event, which the graph has: the thread goes on.
    pub(super) fn advance(&mut self, id: Id) {
        let graph = &self.world.graph;
        let (thread, result, kind) = (graph.event(id).thread, graph.event(id).result, graph.event(id).kind);
        if self.world.cast.known(thread) >= graph.completed(thread) {
            // Its thread was run again with all others.
            return;
        }
        if self.live.as_ref().is_some_and(|live| !live.current) {
            return self.settle();
        }
        if let Kind::Fork(child) = kind {
            self.fork(thread, child);
        }
        let copy = self.local(thread).and_then(|local| self.subject.copy(local));
        match copy {
            Some(mut local) => {
                self.subject.resume(&mut local, result);
                self.world.cast.push(thread, moment(self.subject, &local, true));
            }
            None => {
                self.resume_live(id);
                self.look_at_dropped(thread);
            }
        }
    }

    /// A thread starts another one.
    fn fork(&mut self, parent: u16, child: u16) {
        let Some(local) = self.local(parent).map(|local| self.subject.fork(local)) else { return };
        self.introduce(child, local);
    }

    /// Lets a live thread go on after an event. Says whether it is where it never was before.
    fn resume_live(&mut self, id: Id) -> bool {
        let event = self.world.graph.event(id);
        let (thread, result, n_events, n_before) =
            (event.thread, event.result, event.index + 1, self.world.graph.completed_before(id));
        let Some(mut live) = self.live.take() else { return false };
        let mut dropped = Vec::new();
        if let Some(index) = live.index(thread) {
            let local = &mut live.threads[index].local;
            self.subject.resume(local, result);
            self.take_new_cells(thread, local, n_events);
            self.subject.take_dropped(local, &mut |end| dropped.push(end));
        }
        self.show_newest(&mut live, id);
        self.live = Some(live);
        let is_new = self.world.cast.known(thread) <= n_before;
        if is_new && let Some(local) = self.local(thread) {
            let next = Moment { dropped, ..moment(self.subject, local, false) };
            self.world.cast.push(thread, next);
        }
        is_new
    }

    /// Writes are performed in an order in which each comes after what it depends on: memory has to show the newest.
    fn show_newest(&self, live: &mut Live<S::Thread>, id: Id) {
        let event = self.world.graph.event(id);
        let Some(index) = live.index(event.thread).filter(|_| event.is_write()) else { return };
        let Object::Cell(cell) = self.names.object(event.loc) else { return };
        let at = event.loc as usize;
        if live.shown.len() <= at {
            live.shown.resize(at + 1, INITIAL);
        }
        let newest = live.shown[at];
        if newest == INITIAL || self.world.graph.place_of(newest) < event.place {
            live.shown[at] = id;
        } else {
            let value = self.world.graph.value_of(event.loc, newest);
            self.subject.show(&live.threads[index].local, cell, value);
        }
    }

    /// Cells that a thread made get their first values. So many of its events are there.
    fn take_new_cells(&mut self, thread: u16, local: &mut S::Thread, n_events: u16) {
        let mut created: SmallVec<[(Loc, i64); 4]> = SmallVec::new();
        self.subject.take_new_cells(local, &mut |loc, value| created.push((loc, value)));
        for (cell, value) in created {
            let loc = self.loc(Object::Cell(cell));
            let is_made = self.subject.has_made(local, cell);
            self.world.graph.create(loc, value, is_made.then_some((thread, n_events)));
        }
    }

    /// A thread as it is now.
    pub(super) fn local(&self, thread: u16) -> Option<&S::Thread> {
        match &self.live {
            Some(live) => live.index(thread).map(|index| &live.threads[index].local),
            None => self.world.cast.now(thread)?.local.as_ref(),
        }
    }

    /// The graph is about to be another one than what live threads have done.
    pub(super) fn unsettle(&mut self) {
        if self.live.as_ref().is_some_and(|live| live.current) {
            self.finish();
            if let Some(live) = &mut self.live {
                live.current = false;
            }
        }
    }

    /// Lets live threads come to their ends, or wait for one another: what they own is given back by destructors, and those must not find it half changed.
    fn finish(&mut self) {
        /// After so many steps, what they own is left where it is.
        const MOST_STEPS: usize = 1000;
        if !self.is_underway() {
            return;
        }
        let mut state = self.state();
        let mut steps = Vec::new();
        for _ in 0..MOST_STEPS {
            steps.clear();
            let ids = (0..state.threads.len()).map(|index| ThreadId(index as u16));
            ids.for_each(|thread| self.machine.steps_of(&state, thread, &mut steps));
            let Some(&step) = steps.first() else { break };
            self.machine.apply(&mut state, step);
        }
        if let Some(live) = &mut self.live {
            live.threads = state.threads;
        }
    }

    /// Whether some thread is neither at its end nor at something that it may have to wait for.
    fn is_underway(&self) -> bool {
        (0..self.world.graph.n_threads() as u16).any(|thread| {
            let Some(now) = self.world.cast.now(thread) else { return false };
            let has_ended = self.world.graph.last_of(thread).is_some_and(|last| last.last);
            let may_wait = !matches!(now.waits, Waiting::No)
                || matches!(
                    now.operation,
                    Operation::Lock { .. }
                        | Operation::Reacquire { .. }
                        | Operation::Join { .. }
                        | Operation::JoinAll
                        | Operation::Stop
                        | Operation::End
                );
            !has_ended && !may_wait
        })
    }

    /// Makes the execution of live threads the graph's. It may lead threads to where they never were.
    pub(super) fn settle(&mut self) {
        if self.live.as_ref().is_none_or(|live| live.current) {
            return;
        }
        if let Some(live) = &mut self.live {
            // What was done is dropped before it is done again.
            live.threads.clear();
            live.numbers.clear();
            live.shown.clear();
            live.current = true;
        }
        for (key, local) in self.subject.initial() {
            let thread = self.names.thread(key);
            self.introduce(thread, local);
        }
        let mut completed: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.world.graph.n_threads());
        let mut further: SmallVec<[u16; 4]> = SmallVec::new();
        for (thread, events) in schedule::operations(&self.world.graph) {
            let at = &mut completed[thread as usize];
            let (resumes, is_new) = self.again(thread, &events, *at);
            *at += usize::from(resumes);
            further.extend(is_new.then_some(thread));
        }
        for thread in 0..self.world.graph.n_threads() as u16 {
            if let Some(operation) = self.local(thread).map(|local| self.subject.operation(local)) {
                self.compare(thread, completed[thread as usize], &operation);
            }
        }
        further.into_iter().for_each(|thread| self.look_at_dropped(thread));
    }

    /// Performs an operation of the graph again. Says whether its thread goes on, and whether to where it never was.
    fn again(&mut self, thread: u16, events: &[Id], completed: usize) -> (bool, bool) {
        let Some(local) = self.local(thread) else { return (false, false) };
        let operation = self.subject.operation(local);
        let is_same = self.compare(thread, completed, &operation);
        if !is_same || events.iter().any(|&id| self.reads_another(id)) {
            self.redo(events, completed, &operation);
        }
        let id = events[events.len() - 1];
        let (resumes, kind) = (self.world.graph.event(id).resumes(), self.world.graph.event(id).kind);
        if let Kind::Fork(child) = kind {
            self.fork(thread, child);
        }
        (resumes, resumes && self.resume_live(id))
    }

    /// Whether a read's write has another value this time.
    fn reads_another(&self, id: Id) -> bool {
        let event = self.world.graph.event(id);
        event.is_read() && event.value != self.world.graph.value_of(event.loc, event.source)
    }

    /// Values of an operation's events as they are this time.
    fn redo(&mut self, events: &[Id], completed: usize, operation: &Operation) {
        for (stage, &id) in events.iter().enumerate() {
            let graph = &self.world.graph;
            let mut event = graph.event(id).clone();
            match event.kind {
                Kind::Read => {
                    let while_value = self.while_value(event.thread, completed);
                    event.value = graph.value_of(event.loc, event.source);
                    fill_read(&graph.axioms, operation, stage, while_value, &mut event);
                }
                Kind::Write if event.update => {
                    let read: Event = graph.event(events[stage - 1]).clone();
                    let choice = event.choice;
                    fill_update(operation, stage, &read, &mut event);
                    event.choice = choice;
                }
                Kind::Write => {
                    if let Operation::Write { value, .. } = *operation {
                        event.value = value;
                    }
                }
                _ => {}
            }
            let same = graph.event(id).completes == event.completes && graph.event(id).update == event.update;
            if same {
                self.world.graph.replace(id, event);
            } else {
                self.differs(event.thread, operation);
            }
        }
    }

    /// For which value of its cell a thread's operation waits, after so many that are complete.
    fn while_value(&self, thread: u16, completed: usize) -> Option<i64> {
        self.world.cast.after(thread, completed).and_then(|moment| moment.while_value())
    }

    /// A thread must be about to do what it did when it had seen the same. Says whether its operation has the same values, too.
    fn compare(&mut self, thread: u16, completed: usize, operation: &Operation) -> bool {
        let Some(before) = self.world.cast.after(thread, completed).map(|moment| moment.operation) else { return true };
        if before == *operation {
            return true;
        }
        if !is_alike(&before, operation) {
            self.differs(thread, operation);
        }
        if let Some(local) = self.local(thread) {
            let fresh = moment(self.subject, local, false);
            self.world.cast.refresh(thread, completed, fresh);
        }
        false
    }

    fn differs(&mut self, thread: u16, operation: &Operation) {
        let name = self.local(thread).map_or(String::new(), |local| self.subject.name(local));
        let why = format!("{name} does something else when it has seen the same: {operation:?}");
        self.nondeterminism.get_or_insert(why);
    }
}

impl<T> Moment<T> {
    /// Whether the thread spins.
    pub(super) fn spins(&self) -> bool {
        matches!(self.waits, Waiting::Turn(_))
    }

    /// For which value of its cell the operation waits.
    pub(super) fn while_value(&self) -> Option<i64> {
        match self.waits {
            Waiting::While(value) => Some(value),
            _ => None,
        }
    }
}

fn moment<S: Describe>(subject: &S, local: &S::Thread, copies: bool) -> Moment<S::Thread> {
    let operation = subject.operation(local);
    let waits = waiting(subject, local, &operation, copies);
    let through = subject.part_of(local).into_iter().chain(subject.through(local).iter().copied()).collect();
    let failure = operation.is_failure().then(|| subject.failure(local));
    let allocated = subject.allocated(local);
    let span = subject.span(local);
    let local = if copies { subject.copy(local) } else { None };
    Moment { local, operation, failure, span, waits, through, dropped: Vec::new(), allocated }
}

fn waiting<S: Describe>(subject: &S, local: &S::Thread, operation: &Operation, copies: bool) -> Waiting {
    let (awaiting, polls) = (subject.awaiting(local), subject.polls(local));
    match *awaiting {
        [] if polls.is_empty() => Waiting::No,
        // A thread that can be copied has read the cell before, in a turn of its loop.
        [(loc, value)] if !copies && operation.loc() == Some(loc) => Waiting::While(value),
        _ => {
            let cells = subject.unseen(local).iter().map(|&(loc, times)| (Object::Cell(loc), times));
            let locks = polls.iter().filter_map(|poll| match *poll {
                Poll::Visited(lock, times) => Some((Object::Lock(lock), times)),
                _ => None,
            });
            Waiting::Turn(cells.chain(locks).collect())
        }
    }
}
