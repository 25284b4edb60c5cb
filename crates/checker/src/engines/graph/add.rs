//! Adding events, and giving a read a write that came after it.

use super::cast::Moment;
use super::world::{Alternative, How, Revisit, World};
use super::{Search, revisit};
use crate::base::Failure;
use crate::execution::graph::{
    Event, Graph, INITIAL, Id, Kind, Mode, NOWHERE, Object, Slot, fill_other, fill_read, fill_update,
};
use crate::execution::{Describe, Operation};
use std::rc::Rc;

impl<S: Describe> Search<'_, S> {
    /// Adds an event. Says whether the graph is consistent then.
    pub(super) fn add(&mut self, some: Alternative) -> bool {
        let now = self.world.cast.now(some.thread).cloned().expect("the thread has been started");
        let stage = self.world.graph.stage(some.thread);
        match some.how {
            How::From(source) => self.add_read(&some, &now, stage, source),
            How::At(place) => {
                let mut event = self.write(&some, &now, stage);
                let is_newest = place as usize > self.world.graph.writes(event.loc).len();
                event.place = place;
                self.push(event, &now, is_newest)
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
        let Slot::Read(object) = self.slot(some.thread, now, stage) else {
            unreachable!("{:?} reads, {stage}", now.operation)
        };
        let mut event = Event::new(some.thread, Kind::Read);
        event.loc = self.loc(object);
        let graph = &self.world.graph;
        (event.span, event.source, event.value) = (now.span, source, graph.value_of(event.loc, source));
        if let Operation::Count { loc, by: -1, .. } = now.operation
            && event.value <= 0
        {
            let failure = self.use_after_drop(some.thread, loc);
            return self.add_failure(event, &failure);
        }
        fill_read(&graph.axioms, &now.operation, stage, now.while_value(), &mut event);
        graph.set_next_clocks(&mut event);
        let is_newest = graph.newest(event.loc) == source;
        self.push(event, now, is_newest)
    }

    /// Adds an operation that fails.
    fn add_failure(&mut self, mut event: Event, failure: &Failure) -> bool {
        (event.kind, event.loc, event.last) = (Kind::Failed, NOWHERE, true);
        self.world.graph.set_next_clocks(&mut event);
        let (thread, span) = (event.thread, event.span);
        self.world.graph.push(event);
        self.failed(thread, span, failure);
        true
    }

    fn add_other(&mut self, some: &Alternative, now: &Rc<Moment<S::Thread>>, stage: usize) -> bool {
        let mut event = Event::new(some.thread, Kind::Silent);
        event.span = now.span;
        if let Some(failure) = self.misuse(some.thread, now, stage) {
            return self.add_failure(event, &failure);
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
                }
            }
        }
        self.world.graph.set_next_clocks(&mut event);
        self.push(event, now, true)
    }

    /// Adds an event whose clocks are set. If the graph is consistent then, as it is for certain or not, looks for races and lets the thread go on.
    fn push(&mut self, event: Event, now: &Rc<Moment<S::Thread>>, is_certain: bool) -> bool {
        let (thread, resumes) = (event.thread, event.resumes());
        let id = self.world.graph.push(event);
        if !is_certain && !self.world.graph.is_consistent() {
            self.world.graph.pop();
            return false;
        }
        self.look_for_races(id);
        if let Some(failure) = &now.failure {
            self.failed(thread, now.span, failure);
        }
        if resumes {
            self.advance(id);
        }
        true
    }

    /// Begins a world where a read reads from a write that comes next.
    fn begin_revisit(&mut self, write: Event, read: Id) {
        self.unsettle();
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
        self.unsettle();
        self.cut(length);
        let reader = self.world.graph.event(read).thread;
        self.world.graph.suspend(read);
        self.world.cast.rewind(reader, self.world.graph.completed(reader));
        self.findings.statistics.steps += 1;
        let now = self.world.cast.now(write.thread).cloned().expect("the thread has been started");
        self.refresh(&mut write, &now);
        write.place = place;
        let source = self.world.graph.push(write);
        if !self.read_anew(read, source) || !self.world.graph.is_consistent() {
            return false;
        }
        for id in [source, read] {
            self.look_for_races(id);
        }
        for id in [source, read] {
            if self.world.graph.event(id).resumes() {
                self.advance(id);
            }
        }
        true
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

    /// A read reads from a write that came after it. Says whether that is coherent.
    fn read_anew(&mut self, read: Id, source: Id) -> bool {
        let graph = &self.world.graph;
        let mut event = graph.event(read).clone();
        let now = self.world.cast.now(event.thread).cloned().expect("the thread has been started");
        (event.source, event.value) = (source, graph.event(source).value);
        fill_read(&graph.axioms, &now.operation, graph.stage_before(read), now.while_value(), &mut event);
        let before = graph.before(event.thread, event.index);
        let index = event.index;
        graph.set_clocks(&mut event, index, before);
        let is_coherent = graph.is_coherent(&event, before.map(|id| &graph.event(id).hb));
        self.world.graph.replace(read, event);
        is_coherent
    }
}
