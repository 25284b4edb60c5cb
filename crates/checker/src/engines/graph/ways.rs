//! The ways in which a thread's next event can be added.

use super::cast::Moment;
use super::world::{Alternative, Frame, How};
use super::{Search, revisit};
use crate::execution::graph::{Event, Kind, Slot, deed, fill_update, fill_write};
use crate::execution::{Describe, Operation};
use smallvec::SmallVec;

impl<S: Describe> Search<'_, S> {
    /// Lists the ways in which the next event can be added: a thread's or, if events are added in every order, of any thread that can.
    pub(super) fn open(&mut self, first: u16) {
        let mut frame = Frame { length: self.world.graph.len(), rest: SmallVec::new() };
        self.add_ways(&mut frame, first);
        if self.every_thread {
            let is_between = self.world.graph.last_of(first).is_some_and(|last| !last.completes);
            let others = first + 1..if is_between { first } else { self.world.graph.n_threads() as u16 };
            for thread in others {
                if self.can_go_on(thread) {
                    self.add_ways(&mut frame, thread);
                }
            }
            frame.rest.retain(|way| !matches!(way.how, How::Revisit(_)));
        }
        self.world.frames.push(frame);
    }

    /// Lists the ways in which a thread's next event can be added.
    fn add_ways(&mut self, frame: &mut Frame, thread: u16) {
        let now = self.world.cast.now(thread).cloned().expect("the thread has been started");
        let stage = self.world.graph.stage(thread);
        let only = Alternative { thread, how: How::Only, choice: 0, second_choice: false };
        match self.slot(thread, &now, stage) {
            _ if self.misuse(thread, &now, stage).is_some() => frame.rest.push(only),
            Slot::Read(object) => {
                let loc = self.loc(object);
                for place in self.world.graph.sources(thread, loc) {
                    let source = self.world.graph.write_at(loc, place);
                    let is_newest = source == self.world.graph.newest(loc);
                    if is_newest || self.can_read(&now, stage, loc, source) {
                        frame.rest.push(Alternative { how: How::From(source), ..only });
                    }
                }
            }
            Slot::Update | Slot::Write(_) => {
                let mut choices: SmallVec<[i64; 4]> = self.choices(thread, &now, stage);
                if choices.is_empty() {
                    choices.push(0);
                }
                for (at, &choice) in choices.iter().enumerate().rev() {
                    let some = Alternative { choice, second_choice: at > 0, ..only };
                    let write = self.write(&some, &now, stage);
                    let graph = &self.world.graph;
                    let reads = revisit::revisited(graph, &write);
                    frame.rest.extend(reads.into_iter().map(|read| Alternative { how: How::Revisit(read), ..some }));
                    let places = graph.places(&write);
                    frame.rest.extend(places.into_iter().map(|place| Alternative { how: How::At(place), ..some }));
                }
            }
            Slot::Other => match now.operation {
                Operation::Choose { low, high } => {
                    let all = (low..high).rev();
                    frame.rest.extend(all.map(|choice| Alternative { choice, second_choice: choice > low, ..only }));
                }
                _ => frame.rest.push(only),
            },
            Slot::Dequeue(_) | Slot::Join(_) => frame.rest.push(only),
        }
    }

    /// Who can be notified.
    pub(super) fn choices(&self, thread: u16, now: &Moment<S::Thread>, stage: usize) -> SmallVec<[i64; 4]> {
        let graph = &self.world.graph;
        match (&now.operation, graph.last_of(thread)) {
            (Operation::Notify { all: false, .. }, Some(read)) if stage == 1 => {
                graph.waiters(read.loc, read.source).into_iter().map(i64::from).collect()
            }
            _ => SmallVec::new(),
        }
    }

    /// The write that comes next in a thread, with its clocks, without its place.
    pub(super) fn write(&mut self, some: &Alternative, now: &Moment<S::Thread>, stage: usize) -> Event {
        let mut event = Event::new(some.thread, Kind::Write);
        event.span = now.span;
        match self.slot(some.thread, now, stage) {
            Slot::Write(object) => {
                event.loc = self.loc(object);
                fill_write(&now.operation, &mut event);
            }
            _ => {
                let read = self.world.graph.last_of(some.thread).expect("an update begins with a read");
                fill_update(&now.operation, stage, read, &mut event);
                if event.choice == deed::NOTIFY_NOBODY && !self.choices(some.thread, now, stage).is_empty() {
                    event.choice = some.choice;
                }
            }
        }
        event.second_choice = some.second_choice;
        self.world.graph.set_next_clocks(&mut event);
        event
    }
}
