//! What is wrong with a graph: races, misuse of locks, memory that is gone.

use super::cast::Moment;
use super::{Search, schedule};
use crate::base::{Failure, FailureKind, Loc, Span, ThreadKey};
use crate::execution::graph::{Event, Graph, Id, Kind, LocId, Object, Order, Unordered};
use crate::execution::{Describe, Dropped, Operation, Queue};
use crate::program::LockMode;
use smallvec::SmallVec;

impl<S: Describe> Search<'_, S> {
    /// What is wrong with a thread's operation before it begins.
    pub(super) fn misuse(&mut self, thread: u16, now: &Moment<S::Thread>, stage: usize) -> Option<Failure> {
        if stage > 0 {
            return None;
        }
        match now.operation {
            Operation::Unlock { lock, mode, .. } => {
                let loc = self.loc(Object::Lock(lock));
                let (alone, shared) = self.world.graph.holds(thread, loc);
                let holds = if mode == LockMode::Exclusive { alone } else { shared };
                (holds == 0).then(not_held)
            }
            Operation::Downgrade { lock } | Operation::Wait { lock, .. } => {
                let loc = self.loc(Object::Lock(lock));
                (self.world.graph.holds(thread, loc).0 == 0).then(not_held)
            }
            Operation::Join { thread: key } => {
                let joined = self.names.find_thread(key).filter(|&joined| self.is_started(joined));
                let message = || format!("{} is not the handle of a thread", key.0);
                joined.is_none().then(|| Failure::new(FailureKind::InvalidJoin, message()))
            }
            Operation::Free { block } => {
                let is_freed = self.is_freed(thread, block);
                is_freed.then(|| Failure::new(FailureKind::UseAfterFree, format!("{block} is freed a second time")))
            }
            ref operation => {
                let mut used = operation.uses().chain(now.through.iter().copied());
                let dropped = used.find(|&object| self.world.cast.dropped_by(object).is_some());
                if let Some(object) = dropped {
                    return Some(self.use_after_drop(thread, object));
                }
                let loc = operation.loc()?;
                let is_program = self.subject.program().is_some();
                if is_program && loc.as_global().is_some_and(|index| index >= self.initial_cells.len()) {
                    return Some(Failure::new(FailureKind::InvalidPointer, "a pointer leads outside of memory"));
                }
                let is_freed = loc.block().is_some_and(|block| self.is_freed(thread, block));
                is_freed.then(|| Failure::new(FailureKind::UseAfterFree, format!("{loc} has been freed")))
            }
        }
    }

    /// Whether a block has been freed before the thread's next event, for certain.
    fn is_freed(&self, thread: u16, block: Loc) -> bool {
        let graph = &self.world.graph;
        let Some(before) = graph.clocks_before(thread) else { return false };
        let is_language = graph.axioms.order == Order::Language;
        self.frees_of(block).any(|id| {
            let free = graph.event(id);
            if is_language { before.sees(free) } else { before.needs(free) }
        })
    }

    fn frees_of(&self, block: Loc) -> impl Iterator<Item = Id> {
        let graph = &self.world.graph;
        graph.frees().iter().copied().filter(move |&id| graph.event(id).kind == Kind::Free(block))
    }

    pub(super) fn use_after_drop(&mut self, thread: u16, object: Loc) -> Failure {
        self.settle();
        let message = self.local(thread).map(|local| self.subject.use_after_drop(local, object));
        Failure::new(FailureKind::UseAfterFree, message.unwrap_or_default())
    }

    /// Looks for uses of what a thread has just dropped that do not happen before that.
    pub(super) fn look_at_dropped(&mut self, thread: u16) {
        let Some(now) = self.world.cast.now(thread).cloned() else { return };
        let graph = &self.world.graph;
        if now.dropped.is_empty() || graph.axioms.order != Order::Language {
            return;
        }
        let before = graph.clocks_before(thread).map(|event| event.hb.clone()).unwrap_or_default();
        let is_late = |user: &Event| !before.has(user.thread, user.index);
        let late = self.uses_of(&now.dropped).find(|(_, id)| is_late(graph.event(*id)));
        if let Some((object, id)) = late {
            let (user, span) = (graph.event(id).thread, graph.event(id).span);
            let failure = self.use_after_drop(user, object);
            self.failed(user, span, &failure);
        }
    }

    /// The events that use objects which have been dropped.
    fn uses_of<'d>(&'d self, dropped: &'d [Dropped]) -> impl Iterator<Item = (Loc, Id)> + 'd {
        let graph = &self.world.graph;
        let accesses = dropped.iter().flat_map(move |dropped| {
            let number = dropped.object.as_global().unwrap_or_default() as u32;
            let objects = [Object::Cell(dropped.object), Object::Lock(number), Object::Condvar(number)];
            let locs = objects.into_iter().filter_map(|object| self.names.find(object));
            locs.flat_map(move |loc| graph.accesses(loc).iter().map(move |&id| (dropped.object, id)))
        });
        let on_the_way = self.world.cast.pasts().flat_map(move |(thread, past)| {
            let last_of = move |completed: usize| graph.last_of_operation(thread, completed);
            past.iter().enumerate().filter(|(_, moment)| !moment.through.is_empty()).flat_map(move |(at, moment)| {
                let used =
                    dropped.iter().map(|dropped| dropped.object).filter(|object| moment.through.contains(object));
                used.filter_map(move |object| Some((object, last_of(at)?)))
            })
        });
        accesses.chain(on_the_way)
    }

    /// Threads that take a lock again which they hold for reading, while another one may wait to write.
    pub(super) fn look_at_queues(&mut self) {
        if !self.world.cast.has_queues() {
            return;
        }
        let (mut readers, mut writers) = (Vec::new(), Vec::new());
        for (thread, past) in self.world.cast.pasts() {
            for (at, now) in past.iter().enumerate() {
                let Some((lock, _)) = now.operation.acquired() else { continue };
                let first = self.world.graph.first_of_operation(thread, at);
                match now.operation.queue() {
                    Queue::Behind => readers.push((thread, lock, first, now.span)),
                    Queue::Ahead => writers.push((thread, lock, first, now.span)),
                    Queue::None => {}
                }
            }
        }
        for &(reader, lock, read, span) in &readers {
            for &(writer, other, written, place) in &writers {
                if lock != other || reader == writer || !self.may_meet((reader, read), (writer, written)) {
                    continue;
                }
                self.settle();
                let [reader, writer] = [(reader, span), (writer, place)].map(|(thread, span)| {
                    let name = self.local(thread).map_or(String::new(), |local| self.subject.name(local));
                    (self.names.key(thread), name, span)
                });
                let path = || schedule::steps(&self.world.graph, &self.names);
                self.findings.judge.behind_writer(lock, reader, writer, path);
            }
        }
    }

    /// Whether two threads can be at these operations at the same time: by thread and first event, if they have begun.
    fn may_meet(&self, one: (u16, Option<Id>), other: (u16, Option<Id>)) -> bool {
        let graph = &self.world.graph;
        let comes_before = |first: (u16, Option<Id>), second: (u16, Option<Id>)| {
            let Some(first) = first.1.map(|id| graph.event(id)) else { return false };
            let before = match second.1.map(|id| graph.event(id)) {
                Some(second) => graph.before(second.thread, second.index),
                None => graph.thread(second.0).last().copied(),
            };
            before.is_some_and(|id| graph.event(id).needs(first))
        };
        !comes_before(one, other) && !comes_before(other, one)
    }

    /// What only the order of all events tells, for machines: races, and accesses to blocks that have been freed.
    pub(super) fn look_at_order(&mut self) {
        let graph = &self.world.graph;
        let has_dropped = self.world.cast.pasts().any(|(_, past)| past.iter().any(|now| !now.dropped.is_empty()));
        let looks = self.findings.judge.looks_at_states() || has_dropped || !graph.frees().is_empty();
        if graph.axioms.order == Order::Language || !looks {
            return;
        }
        let mut dropped = Vec::new();
        for (thread, past) in self.world.cast.pasts() {
            for (at, now) in past.iter().enumerate().filter(|(_, now)| !now.dropped.is_empty()) {
                let after = match at {
                    0 => graph.fork_of(thread),
                    _ => graph.last_of_operation(thread, at - 1),
                };
                let uses = self.uses_of(&now.dropped).filter(|&(_, user)| graph.event(user).thread != thread);
                dropped.extend(uses.map(|(object, user)| (after, object, user)));
            }
        }
        let Unordered { races, late, used } = graph.order_violations(
            |loc, block| matches!(self.names.object(loc), Object::Cell(cell) if cell.block() == Some(block)),
            &dropped,
        );
        for (object, user) in used {
            let (thread, span) = (self.world.graph.event(user).thread, self.world.graph.event(user).span);
            let failure = self.use_after_drop(thread, object);
            self.failed(thread, span, &failure);
        }
        for (first, second) in races {
            self.race(first, second);
        }
        for (access, block) in late {
            let failure = Failure::new(FailureKind::UseAfterFree, format!("{block} is freed while it is in use"));
            let event = self.world.graph.event(access);
            let (thread, span) = (event.thread, event.span);
            self.failed(thread, span, &failure);
        }
    }

    /// Reports the races of an access that has just been added, and accesses that a free does not come after.
    pub(super) fn look_for_races(&mut self, id: Id) {
        let graph = &self.world.graph;
        let event = graph.event(id);
        // What races with the read of an update races with its write as well, and then the schedule has both.
        if graph.axioms.order != Order::Language || event.update && !event.completes {
            return;
        }
        match event.kind {
            Kind::Read | Kind::Write | Kind::Touch(_) => {
                let others: SmallVec<[Id; 2]> = graph.races(event).collect();
                let made_by = self.maker_in_race(graph, event);
                if let Object::Cell(loc) = self.names.object(event.loc)
                    && let Some(block) = loc.block()
                    && self.frees_of(block).next().is_some()
                {
                    self.freed_in_use(id, block);
                }
                for other in others {
                    self.race(other, id);
                }
                if let Some(maker) = made_by {
                    self.made_in_race(maker, id);
                }
            }
            Kind::Free(block) => {
                let in_block = |&(_, object): &(LocId, Object)| match object {
                    Object::Cell(loc) => loc.block() == Some(block),
                    _ => false,
                };
                let locs = self.names.objects().filter(in_block);
                let unordered = |&other: &Id| !event.sees(graph.event(other));
                let accesses = locs.flat_map(|(loc, _)| graph.accesses(loc).iter().copied());
                let mut late: SmallVec<[Id; 4]> = accesses.filter(unordered).collect();
                if self.is_before_making(graph, event, block) {
                    late.push(id);
                }
                let others: SmallVec<[Id; 4]> = self.frees_of(block).filter(unordered).collect();
                if !others.is_empty() {
                    // Whichever of two frees comes second.
                    late.extend(others.into_iter().chain([id]));
                }
                for late in late {
                    self.freed_in_use(late, block);
                }
            }
            _ => {}
        }
    }

    /// The thread that has made an event's location, if that does not happen before the event: what a thread makes is
    /// a plain write by it.
    pub(super) fn maker_in_race(&self, graph: &Graph, event: &Event) -> Option<u16> {
        let (maker, after) = match self.names.object(event.loc) {
            Object::Cell(cell) if self.live.is_none() => self.allocator(graph, cell)?,
            _ => graph.maker(self.home(event.loc)?)?,
        };
        (maker != event.thread && event.hb.get(maker) <= after).then_some(maker)
    }

    /// Whether a block is freed though that it was made does not happen before that.
    fn is_before_making(&self, graph: &Graph, free: &Event, block: Loc) -> bool {
        let made = self.allocator(graph, block);
        made.is_some_and(|(maker, after)| maker != free.thread && free.hb.get(maker) <= after)
    }

    /// The thread that has allocated the block of a cell, and how many of its events were there by then.
    fn allocator(&self, graph: &Graph, cell: Loc) -> Option<(u16, u16)> {
        let (key, number) = cell.allocation()?;
        let maker = self.names.find_thread(ThreadKey(key))?;
        let completed = self.world.cast.allocates(maker, number)?;
        let events = graph.thread(maker).iter().map(|&id| graph.event(id));
        let mut done = 0;
        let before = events.take_while(|event| {
            let is_before = done < completed;
            done += usize::from(event.resumes());
            is_before
        });
        Some((maker, before.count() as u16))
    }

    fn race(&mut self, first: Id, second: Id) {
        let Object::Cell(loc) = self.names.object(self.world.graph.event(second).loc) else { return };
        let involved = [first, second].map(|id| self.world.graph.event(id)).map(|event| (event.thread, event.span));
        self.unordered(loc, involved);
    }

    /// A thread uses what another one has made, and nothing orders that.
    fn made_in_race(&mut self, maker: u16, id: Id) {
        let event = self.world.graph.event(id);
        let loc = match self.names.object(event.loc) {
            Object::Cell(loc) => loc,
            Object::Lock(number) | Object::Condvar(number) => Loc::global(number as usize),
            Object::End(_) => return,
        };
        let involved = [(maker, event.span), (event.thread, event.span)];
        self.unordered(loc, involved);
    }

    /// The location by which it is known who has made an object. Locks of Rust code have cells of the same number.
    fn home(&self, loc: LocId) -> Option<LocId> {
        match self.names.object(loc) {
            Object::Cell(_) => Some(loc),
            Object::Lock(number) | Object::Condvar(number) if self.live.is_some() => {
                self.names.find(Object::Cell(Loc::global(number as usize)))
            }
            _ => None,
        }
    }

    fn unordered(&mut self, loc: Loc, involved: [(u16, Span); 2]) {
        self.settle();
        let involved = involved.map(|(thread, span)| {
            let name = self.local(thread).map_or(String::new(), |local| self.subject.name(local));
            (self.names.key(thread), name, span)
        });
        let path = || schedule::steps(&self.world.graph, &self.names);
        self.findings.judge.unordered(loc, involved, path);
    }

    fn freed_in_use(&mut self, access: Id, block: Loc) {
        let event = self.world.graph.event(access);
        let (thread, span) = (event.thread, event.span);
        let failure = Failure::new(FailureKind::UseAfterFree, format!("{block} is freed while it is in use"));
        self.failed(thread, span, &failure);
    }

    pub(super) fn failed(&mut self, thread: u16, span: Span, failure: &Failure) {
        self.settle();
        let name = self.local(thread).map_or(String::new(), |local| self.subject.name(local));
        let path = || schedule::steps(&self.world.graph, &self.names);
        self.findings.judge.failed_thread(self.names.key(thread), name, span, failure, path);
    }
}

fn not_held() -> Failure {
    Failure::new(FailureKind::LockMisuse, "a lock is released that the thread does not hold")
}
