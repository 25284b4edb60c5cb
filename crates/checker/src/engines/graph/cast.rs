//! The threads of an execution graph, each where its events have led it.
//!
//! Where threads can be copied, each is kept as it was after each of its operations. Other threads are *live*: one execution that is run again from its
//! start, along the graph, whenever a thread has to go on and the execution is not the graph's. Values may be addresses, which
//! are others then, so the graph's values are those of the last run.

use super::{Search, schedule};
use crate::base::{Failure, Loc, Span};
use crate::execution::graph::{Event, Id, Kind, Object, fill_read, fill_update};
use crate::execution::{Buffer, Describe, Dropped, Operation, Status, ThreadState, is_alike};
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
    /// Whether it spins: its last turn changed nothing, so that only another value can help it.
    pub(super) spins: bool,
    /// Objects that it dropped on its way here.
    pub(super) dropped: Vec<Dropped>,
    /// How many blocks it has allocated.
    pub(super) allocated: u32,
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

    fn refresh(&mut self, thread: u16, moment: Moment<T>) {
        let dropped = self.now(thread).map_or(Vec::new(), |now| now.dropped.clone());
        if let Some(last) = self.pasts[thread as usize].last_mut() {
            *last = Rc::new(Moment { dropped, ..moment });
        }
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
            self.introduce(thread, local, true);
        }
    }

    /// A thread that has just been made begins. It is new to the graph unless the execution is run again.
    fn introduce(&mut self, thread: u16, mut local: S::Thread, is_new: bool) {
        self.take_new_cells(thread, &mut local, 0);
        let mut dropped = Vec::new();
        self.subject.take_dropped(&mut local, &mut |end| dropped.push(end));
        let copy = self.subject.copy(&local);
        if is_new {
            self.world.cast.push(thread, Moment { dropped, ..moment(self.subject, &local, copy.is_some()) });
        }
        if copy.is_none() {
            let live =
                self.live.get_or_insert_with(|| Live { threads: Vec::new(), numbers: Vec::new(), current: true });
            let (key, buffer, status) = (self.names.key(thread), Buffer::default(), Status::Running);
            live.threads.push(ThreadState { key, local, buffer, status });
            live.numbers.push(thread);
        }
    }

    /// A thread starts another one.
    pub(super) fn fork(&mut self, parent: u16, child: u16) {
        let Some(local) = self.local(parent).map(|local| self.subject.fork(local)) else { return };
        self.introduce(child, local, true);
    }

    /// A thread's operation is complete, with this result.
    pub(super) fn resume(&mut self, thread: u16, result: i64) {
        let copy = self.local(thread).and_then(|local| self.subject.copy(local));
        let dropped = match copy {
            Some(mut local) => {
                self.subject.resume(&mut local, result);
                self.world.cast.push(thread, moment(self.subject, &local, true));
                return;
            }
            None => self.resume_live(thread, result, self.world.graph.thread(thread).len() as u16),
        };
        let Some(local) = self.local(thread) else { return };
        let next = Moment { dropped, ..moment(self.subject, local, false) };
        self.world.cast.push(thread, next);
        self.look_at_dropped(thread);
    }

    /// Lets a live thread go on. So many of its events are there.
    fn resume_live(&mut self, thread: u16, result: i64, n_events: u16) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        let Some(mut live) = self.live.take() else { return dropped };
        if let Some(index) = live.index(thread) {
            let local = &mut live.threads[index].local;
            self.subject.resume(local, result);
            self.take_new_cells(thread, local, n_events);
            self.subject.take_dropped(local, &mut |end| dropped.push(end));
        }
        self.live = Some(live);
        dropped
    }

    /// Cells that a thread made get their first values. So many of its events are there.
    fn take_new_cells(&mut self, thread: u16, local: &mut S::Thread, n_events: u16) {
        let mut created = Vec::new();
        self.subject.take_new_cells(local, &mut |loc, value| created.push((loc, value)));
        for (cell, value) in created {
            let loc = self.loc(Object::Cell(cell));
            self.world.graph.create(loc, value, (thread, n_events));
        }
    }

    /// A thread as it is now.
    pub(super) fn local(&self, thread: u16) -> Option<&S::Thread> {
        match &self.live {
            Some(live) => live.index(thread).map(|index| &live.threads[index].local),
            None => self.world.cast.now(thread)?.local.as_ref(),
        }
    }

    /// The execution of live threads is another one than the graph's from now on.
    pub(super) fn unsettle(&mut self) {
        if let Some(live) = &mut self.live {
            live.current = false;
        }
    }

    /// Makes the execution of live threads the graph's.
    pub(super) fn settle(&mut self) {
        if self.live.as_ref().is_none_or(|live| live.current) {
            return;
        }
        if let Some(live) = &mut self.live {
            // What was done is dropped before it is done again.
            live.threads.clear();
            live.numbers.clear();
            live.current = true;
        }
        for (key, local) in self.subject.initial() {
            let thread = self.names.thread(key);
            self.introduce(thread, local, false);
        }
        let mut completed = vec![0; self.world.graph.n_threads()];
        for (thread, events) in schedule::operations(&self.world.graph) {
            let resumes = self.again(thread, &events, completed[thread as usize]);
            completed[thread as usize] += usize::from(resumes);
        }
        for thread in 0..self.world.graph.n_threads() as u16 {
            if let Some(local) = self.local(thread) {
                let fresh = moment(self.subject, local, false);
                self.compare(thread, completed[thread as usize], &fresh.operation);
                self.world.cast.refresh(thread, fresh);
            }
        }
    }

    /// Performs an operation of the graph again. Says whether its thread goes on.
    fn again(&mut self, thread: u16, events: &[Id], completed: usize) -> bool {
        let Some(local) = self.local(thread) else { return false };
        let operation = self.subject.operation(local);
        self.compare(thread, completed, &operation);
        self.redo(events, &operation);
        let last = self.world.graph.event(events[events.len() - 1]);
        let (result, resumes, n_events) = (last.result, last.resumes(), last.index + 1);
        if let Kind::Fork(child) = last.kind
            && let Some(local) = self.local(thread)
        {
            let child_local = self.subject.fork(local);
            self.introduce(child, child_local, false);
        }
        if resumes {
            self.resume_live(thread, result, n_events);
        }
        resumes
    }

    /// Values of an operation's events as they are this time.
    fn redo(&mut self, events: &[Id], operation: &Operation) {
        for (stage, &id) in events.iter().enumerate() {
            let graph = &self.world.graph;
            let mut event = graph.event(id).clone();
            match event.kind {
                Kind::Read => {
                    event.value = graph.value_of(event.loc, event.source);
                    fill_read(&graph.axioms, operation, stage, &mut event);
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

    /// A thread must be about to do what it did when it had seen the same.
    fn compare(&mut self, thread: u16, completed: usize, operation: &Operation) {
        let before = self.world.cast.after(thread, completed).map(|moment| moment.operation);
        if before.is_none_or(|before| !is_alike(&before, operation)) {
            self.differs(thread, operation);
        }
    }

    fn differs(&mut self, thread: u16, operation: &Operation) {
        let name = self.local(thread).map_or(String::new(), |local| self.subject.name(local));
        let why = format!("{name} does something else when it has seen the same: {operation:?}");
        self.nondeterminism.get_or_insert(why);
    }
}

fn moment<S: Describe>(subject: &S, local: &S::Thread, copies: bool) -> Moment<S::Thread> {
    let operation = subject.operation(local);
    // A turn that wrote something and took it back may have been seen by others: it is no reason to wait.
    let spins =
        !(subject.awaiting(local).is_empty() && subject.polls(local).is_empty()) && subject.unseen(local).is_empty();
    let span = subject.span(local);
    let failure = operation.is_failure().then(|| subject.failure(local));
    let allocated = subject.allocated(local);
    let local = if copies { subject.copy(local) } else { None };
    Moment { local, operation, failure, span, spins, dropped: Vec::new(), allocated }
}
