//! Adding events, and giving a read a write that came after it.

use super::cast::Moment;
use super::world::{Alternative, How, Revisit, World};
use super::{Search, revisit};
use crate::execution::graph::{
    Event, Graph, INITIAL, Id, Kind, Mode, Object, Slot, fill_other, fill_read, fill_update,
};
use crate::execution::{Describe, Operation};
use std::rc::Rc;

impl<S: Describe> Search<'_, S> {
    /// Adds an event. Says whether the graph is consistent then.
    pub(super) fn add(&mut self, some: Alternative) -> bool {
        if !matches!(some.how, How::Revisit(_)) {
            self.settle();
        }
        let now = self.world.cast.now(some.thread).cloned().expect("the thread has been started");
        let stage = self.world.graph.stage(some.thread);
        match some.how {
            How::From(source) => self.add_read(&some, &now, stage, source),
            How::At(place) => {
                let mut event = self.write(&some, &now, stage);
                let is_newest = place as usize > self.world.graph.writes(event.loc).len();
                event.place = place;
                let id = self.push(event, &now);
                self.look_at(id, is_newest)
            }
            How::Revisit(read) => {
                let write = self.write(&some, &now, stage);
                self.begin_revisit(write, read);
                false
            }
            How::Only => self.add_other(&some, &now, stage),
        }
    }

    fn add_read(&mut self, some: &Alternative, now: &Rc<Moment<S::Thread>>, stage: usize, source: Id) -> bool {
        let Slot::Read(object) = self.slot(some.thread, now, stage) else { unreachable!("it reads") };
        let mut event = Event::new(some.thread, Kind::Read);
        event.loc = self.loc(object);
        let graph = &self.world.graph;
        (event.span, event.source, event.value) = (now.span, source, graph.value_of(event.loc, source));
        fill_read(&graph.axioms, &now.operation, stage, &mut event);
        graph.set_next_clocks(&mut event);
        let is_newest = graph.newest(event.loc) == source;
        let id = self.push(event, now);
        self.look_at(id, is_newest)
    }

    /// Whether the graph is consistent with the event that was added last. Only then it is looked at for races.
    fn look_at(&mut self, id: Id, is_newest: bool) -> bool {
        let is_consistent = is_newest || self.world.graph.is_consistent();
        if is_consistent {
            self.look_for_races(id);
        }
        is_consistent
    }

    fn add_other(&mut self, some: &Alternative, now: &Rc<Moment<S::Thread>>, stage: usize) -> bool {
        let mut event = Event::new(some.thread, Kind::Silent);
        event.span = now.span;
        if let Some(failure) = self.misuse(some.thread, now, stage) {
            (event.kind, event.last) = (Kind::Failed, true);
            self.world.graph.set_next_clocks(&mut event);
            self.world.graph.push(event);
            self.failed(some.thread, now.span, &failure);
            return true;
        }
        match self.slot(some.thread, now, stage) {
            Slot::Dequeue(condvar) => {
                event.loc = self.loc(Object::Condvar(condvar));
                let notifier = self.world.graph.notifier(event.loc, some.thread).expect("it was notified");
                (event.kind, event.mode, event.source) = (Kind::Forced, Mode::Queue, notifier);
                event.completes = false;
            }
            Slot::Join(key) => {
                event.loc = self.loc(Object::End(key));
                let end = self.world.graph.newest(event.loc);
                (event.kind, event.mode, event.source) = (Kind::Forced, Mode::Lock, end);
            }
            _ => {
                fill_other(&now.operation, &mut event);
                if let Operation::Touch { loc, .. } = now.operation {
                    event.loc = self.loc(Object::Cell(loc));
                }
                if event.kind == Kind::Choose {
                    (event.choice, event.result, event.second_choice) = (some.choice, some.choice, some.second_choice);
                }
                if let Operation::Fork { child } = now.operation {
                    let number = self.names.thread(child);
                    (event.kind, event.result) = (Kind::Fork(number), child.0 as i64);
                    self.fork(some.thread, number);
                }
            }
        }
        self.world.graph.set_next_clocks(&mut event);
        let id = self.push(event, now);
        self.look_for_races(id);
        true
    }

    /// Adds an event whose clocks are set, and lets the thread go on.
    fn push(&mut self, event: Event, now: &Rc<Moment<S::Thread>>) -> Id {
        let (thread, resumes, result) = (event.thread, event.resumes(), event.result);
        let id = self.world.graph.push(event);
        if let Some(failure) = &now.failure {
            self.failed(thread, now.span, failure);
        }
        if resumes {
            self.resume(thread, result);
        }
        id
    }

    /// Begins a world where a read reads from a write that comes next.
    fn begin_revisit(&mut self, write: Event, read: Id) {
        let graph = &self.world.graph;
        let mut inner = self.spare.pop().unwrap_or_else(|| Graph::new(graph.axioms));
        inner.restrict(graph, |id, event| revisit::stays(read, &write.porf, id, event), &mut self.numbers);
        let mut write = write;
        if write.source != INITIAL {
            write.source = self.numbers[write.source as usize];
        }
        let read = self.numbers[read as usize];
        inner.suspend(read);
        let cast = self.world.cast.branch(|thread| inner.is_started(thread).then(|| inner.completed(thread)));
        let places = inner.places(&write);
        let revisit = Some(Revisit { length: inner.len(), write, places, read });
        let inner = World { graph: inner, cast, frames: Vec::new(), revisit };
        self.outer.push(std::mem::replace(&mut self.world, inner));
        self.unsettle();
    }

    /// Tries the next place of the write that began this world. Gives `false` if it leads nowhere; without any place left, the world is
    /// over.
    pub(super) fn next_place(&mut self) -> bool {
        let revisit = self.world.revisit.as_mut().expect("a revisit began this world");
        let Some(place) = revisit.places.pop() else {
            self.world.revisit = None;
            return false;
        };
        let (length, mut write, read) = (revisit.length, revisit.write.clone(), revisit.read);
        self.cut(length);
        self.unsettle();
        let reader = self.world.graph.event(read).thread;
        self.world.graph.suspend(read);
        self.world.cast.rewind(reader, self.world.graph.completed(reader));
        self.findings.statistics.steps += 1;
        self.settle();
        let now = self.world.cast.now(write.thread).cloned().expect("the thread has been started");
        self.refresh(&mut write, &now);
        write.place = place;
        let source = self.world.graph.len() as Id;
        self.push(write, &now);
        self.read_anew(read, source)
    }

    /// The value of a write may be another since its thread was run again.
    fn refresh(&self, write: &mut Event, now: &Moment<S::Thread>) {
        let graph = &self.world.graph;
        match now.operation {
            Operation::Write { value, .. } => write.value = value,
            _ if write.update => {
                let (choice, stage) = (write.choice, graph.stage(write.thread));
                if let Some(read) = graph.last_of(write.thread) {
                    fill_update(&now.operation, stage, read, write);
                }
                write.choice = choice;
            }
            _ => {}
        }
    }

    /// A read reads from a write that came after it.
    fn read_anew(&mut self, read: Id, source: Id) -> bool {
        let graph = &self.world.graph;
        let mut event = graph.event(read).clone();
        let now = self.world.cast.now(event.thread).cloned().expect("the thread has been started");
        (event.source, event.value) = (source, graph.event(source).value);
        fill_read(&graph.axioms, &now.operation, graph.stage_before(read), &mut event);
        let before = graph.before(event.thread, event.index);
        let index = event.index;
        graph.set_clocks(&mut event, index, before);
        if !graph.is_coherent(&event, before.map(|id| &graph.event(id).hb)) {
            return false;
        }
        let (thread, completes, result) = (event.thread, event.completes, event.result);
        self.world.graph.replace(read, event);
        if !self.world.graph.is_consistent() {
            return false;
        }
        self.look_for_races(source);
        self.look_for_races(read);
        if completes {
            self.resume(thread, result);
        }
        true
    }
}
