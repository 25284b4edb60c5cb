//! Execution graphs: events with program order, reads-from and a modification order for each location.
//!
//! Events are added one by one, each after everything that it depends on, so that program order and reads-from never form
//! a cycle. Three clocks of each event answer what is asked most: what it depends on (`porf`), what happens before it (`hb`)
//! and, of a write, what an acquire that reads it takes over (`released`). With them, the writes that a read may read from
//! and the places that a write may take are ends of the modification order: coherence needs no search. What is
//! left, the order of SeqCst operations and the orders of machines, is in `consistency`.

mod axioms;
mod clock;
mod consistency;
mod event;
mod names;
mod relation;
mod slots;
mod stronger;

pub use axioms::{Axioms, Order, ReleaseSequence, SeqCst};
pub use clock::Clock;
pub(crate) use consistency::Unordered;
pub use event::{Event, INITIAL, Id, Kind, LocId, Mode, NOWHERE, Object};
pub use names::Names;
pub(crate) use slots::{Slot, deed, fill_other, fill_read, fill_update, fill_write, slot};
pub(crate) use stronger::Flaw;

use smallvec::SmallVec;

/// An execution graph.
#[derive(Clone, Debug)]
pub struct Graph {
    /// What makes it an execution.
    pub axioms: Axioms,
    events: Vec<Event>,
    threads: Vec<Thread>,
    locs: Vec<Location>,
    /// SeqCst operations.
    n_seq_cst: usize,
    frees: Vec<Id>,
}

/// A thread of a graph.
#[derive(Clone, Debug, Default)]
struct Thread {
    events: Vec<Id>,
    /// Operations that are complete.
    completed: usize,
    /// The event that started it.
    fork: Option<Id>,
    is_initial: bool,
}

/// A location of a graph.
#[derive(Clone, Debug, Default)]
struct Location {
    /// The value before anything ran, or that it was made with.
    initial: i64,
    /// The thread that made it, and how many of that thread's events were there by then.
    maker: Option<(u16, u16)>,
    /// Its writes in modification order.
    writes: Vec<Id>,
    /// All accesses to it, by stamp.
    accesses: Vec<Id>,
}

/// Places in a modification order, or the writes there.
pub type Places = SmallVec<[u32; 8]>;

impl Graph {
    /// A graph without events.
    pub fn new(axioms: Axioms) -> Graph {
        Graph { axioms, events: Vec::new(), threads: Vec::new(), locs: Vec::new(), n_seq_cst: 0, frees: Vec::new() }
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// An event.
    #[inline]
    pub fn event(&self, id: Id) -> &Event {
        &self.events[id as usize]
    }

    /// All events, by stamp.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// How many threads have numbers.
    pub fn n_threads(&self) -> usize {
        self.threads.len()
    }

    /// A thread's events in program order.
    pub fn thread(&self, thread: u16) -> &[Id] {
        self.threads.get(thread as usize).map_or(&[], |thread| &thread.events)
    }

    /// A thread's last event.
    pub fn last_of(&self, thread: u16) -> Option<&Event> {
        self.thread(thread).last().map(|&id| self.event(id))
    }

    /// How many operations of a thread are complete.
    pub fn completed(&self, thread: u16) -> usize {
        self.threads.get(thread as usize).map_or(0, |thread| thread.completed)
    }

    /// How many operations of its thread are complete before an event's.
    pub(crate) fn completed_before(&self, id: Id) -> usize {
        let event = self.event(id);
        let before = &self.threads[event.thread as usize].events[..event.index as usize];
        before.iter().filter(|&&id| self.event(id).resumes()).count()
    }

    /// How many events of its operation come before an event.
    pub(crate) fn stage_before(&self, id: Id) -> usize {
        let event = self.event(id);
        let before = &self.threads[event.thread as usize].events[..event.index as usize];
        before.iter().rev().take_while(|&&id| !self.event(id).completes).count()
    }

    /// The event that started a thread.
    pub(crate) fn fork_of(&self, thread: u16) -> Option<Id> {
        self.threads.get(thread as usize)?.fork
    }

    /// The first event of a thread's operation, after so many that are complete.
    pub(crate) fn first_of_operation(&self, thread: u16, completed: usize) -> Option<Id> {
        let events = self.thread(thread);
        let Some(last) = completed.checked_sub(1) else { return events.first().copied() };
        let before = events.iter().position(|&id| Some(id) == self.last_of_operation(thread, last))?;
        events.get(before + 1).copied()
    }

    /// The last event of a thread's operation, after so many that are complete, if that is complete, too.
    pub(crate) fn last_of_operation(&self, thread: u16, completed: usize) -> Option<Id> {
        self.thread(thread).iter().copied().filter(|&id| self.event(id).completes).nth(completed)
    }

    /// Whether a thread runs from the start or has been started.
    pub(crate) fn is_started(&self, thread: u16) -> bool {
        self.threads.get(thread as usize).is_some_and(|thread| thread.is_initial || thread.fork.is_some())
    }

    /// Whether a thread runs from the start.
    pub(crate) fn is_initial(&self, thread: u16) -> bool {
        self.threads[thread as usize].is_initial
    }

    /// A thread runs from the start.
    pub(crate) fn start(&mut self, thread: u16) {
        self.know_thread(thread);
        self.threads[thread as usize].is_initial = true;
    }

    /// A read does not complete its operation yet: its source will be set.
    pub(crate) fn suspend(&mut self, read: Id) {
        let event = &mut self.events[read as usize];
        if std::mem::take(&mut event.completes) {
            self.threads[event.thread as usize].completed -= 1;
        }
    }

    /// How many locations have numbers.
    pub fn n_locs(&self) -> usize {
        self.locs.len()
    }

    fn know_thread(&mut self, thread: u16) {
        if self.threads.len() <= thread as usize {
            self.threads.resize_with(thread as usize + 1, Thread::default);
        }
    }

    /// Makes room for the location with the next number, with its initial value.
    pub(crate) fn add_loc(&mut self, initial: i64) {
        self.locs.push(Location { initial, ..Location::default() });
    }

    /// A location gets its first value. A thread has made it, after so many of its events, or it has been there.
    pub(crate) fn create(&mut self, loc: LocId, value: i64, maker: Option<(u16, u16)>) {
        let loc = &mut self.locs[loc as usize];
        loc.initial = value;
        loc.maker = maker.or(loc.maker);
    }

    /// The thread that has made a location, and how many of its events were there by then.
    pub(crate) fn maker(&self, loc: LocId) -> Option<(u16, u16)> {
        self.locs.get(loc as usize)?.maker
    }

    /// The writes to a location in modification order, without the initial one.
    pub fn writes(&self, loc: LocId) -> &[Id] {
        self.locs.get(loc as usize).map_or(&[], |loc| &loc.writes)
    }

    /// All accesses to a location, by stamp.
    pub fn accesses(&self, loc: LocId) -> &[Id] {
        self.locs.get(loc as usize).map_or(&[], |loc| &loc.accesses)
    }

    /// The frees.
    pub(crate) fn frees(&self) -> &[Id] {
        &self.frees
    }

    /// The write at a place of the modification order; place 0 is the initial write's.
    pub fn write_at(&self, loc: LocId, place: u32) -> Id {
        if place == 0 { INITIAL } else { self.locs[loc as usize].writes[place as usize - 1] }
    }

    /// The place of a write in its modification order.
    pub fn place_of(&self, write: Id) -> u32 {
        if write == INITIAL { 0 } else { self.event(write).place }
    }

    /// The newest write to a location.
    pub fn newest(&self, loc: LocId) -> Id {
        self.writes(loc).last().copied().unwrap_or(INITIAL)
    }

    /// The value that a write wrote to a location.
    pub fn value_of(&self, loc: LocId, write: Id) -> i64 {
        if write == INITIAL { self.locs[loc as usize].initial } else { self.event(write).value }
    }

    /// The update's write that comes next after a write and has read it, if there is one.
    pub fn consumer(&self, loc: LocId, write: Id) -> Option<Id> {
        let next = *self.writes(loc).get(self.place_of(write) as usize)?;
        let event = self.event(next);
        (event.update && event.source == write).then_some(next)
    }

    /// The places of writes that a read of this thread may read from: coherence rules out older ones.
    pub fn sources(&self, thread: u16, loc: LocId) -> std::ops::RangeInclusive<u32> {
        let oldest = self.clocks_before(thread).map_or(0, |event| self.oldest_seen(loc, &event.hb));
        oldest..=self.writes(loc).len() as u32
    }

    /// The places that a write may take. Requires its clocks. An update's is next to the write that it has read.
    pub fn places(&self, write: &Event) -> Places {
        if write.update && self.axioms.atomicity {
            let next = self.place_of(write.source) + 1;
            let taken = self.consumer(write.loc, write.source).is_some();
            return if taken { Places::new() } else { Places::from_slice(&[next]) };
        }
        let first = self.oldest_seen(write.loc, &write.hb) + 1;
        let last = self.writes(write.loc).len() as u32 + 1;
        let is_free = |&place: &u32| {
            let before = self.write_at(write.loc, place - 1);
            !self.axioms.atomicity || self.consumer(write.loc, before).is_none()
        };
        (first..=last).filter(is_free).collect()
    }

    /// Whether a read may read from a write as far as coherence is concerned, given what happens before it.
    pub(crate) fn is_coherent(&self, read: &Event, before: Option<&Clock>) -> bool {
        before.is_none_or(|hb| self.oldest_seen(read.loc, hb) <= self.place_of(read.source))
    }

    /// The place of the newest write that is in a clock, or was read by something in it.
    fn oldest_seen(&self, loc: LocId, hb: &Clock) -> u32 {
        let mut oldest = 0;
        for &id in self.accesses(loc) {
            let event = self.event(id);
            if !hb.has(event.thread, event.index) {
                continue;
            }
            let place = match event.kind {
                Kind::Write => event.place,
                Kind::Read if self.axioms.coherent_reads => self.place_of(event.source),
                _ => 0,
            };
            oldest = oldest.max(place);
        }
        oldest
    }

    /// The event whose clocks the thread's next event starts from.
    pub(crate) fn clocks_before(&self, thread: u16) -> Option<&Event> {
        let thread = self.threads.get(thread as usize)?;
        thread.events.last().copied().or(thread.fork).map(|id| self.event(id))
    }

    /// Sets the clocks of an event that comes next in its thread, after `before`. Its source must be set.
    pub(crate) fn set_clocks(&self, event: &mut Event, index: u16, before: Option<Id>) {
        event.index = index;
        (event.porf, event.hb) = match before.map(|id| self.event(id)) {
            Some(before) => (before.porf.clone(), before.hb.clone()),
            None => Default::default(),
        };
        event.porf.include(event.thread, index);
        event.hb.include(event.thread, index);
        match event.kind {
            Kind::Read | Kind::Forced => self.take_over(event),
            Kind::Write => self.release(event),
            Kind::Fence => self.fence(event),
            Kind::JoinAll => self.join_all(event),
            _ => {}
        }
    }

    /// As [`Graph::set_clocks`], at the end of the thread.
    pub(crate) fn set_next_clocks(&self, event: &mut Event) {
        let (index, before) = match self.threads.get(event.thread as usize) {
            Some(thread) => (thread.events.len() as u16, thread.events.last().copied().or(thread.fork)),
            None => (0, None),
        };
        self.set_clocks(event, index, before);
    }

    /// What comes before a thread's event at an index.
    pub(crate) fn before(&self, thread: u16, index: u16) -> Option<Id> {
        let thread = &self.threads[thread as usize];
        match index {
            0 => thread.fork,
            _ => Some(thread.events[index as usize - 1]),
        }
    }

    fn take_over(&self, event: &mut Event) {
        if event.source == INITIAL {
            return;
        }
        let source = self.event(event.source);
        event.porf.join(&source.porf);
        match event.mode {
            Mode::Lock => event.hb.join(&source.released),
            Mode::LockShared => self.after_exclusive(event),
            Mode::Receive => self.after_sender(event),
            mode if mode.acquires() && self.axioms.synchronise() => event.hb.join(&source.released),
            _ => {}
        }
    }

    /// Who shares a lock comes after everybody who held it alone.
    fn after_exclusive(&self, event: &mut Event) {
        for place in 1..=self.place_of(event.source) {
            let write = self.event(self.write_at(event.loc, place));
            let was_alone = self.value_of(event.loc, write.source) < 0;
            if write.value >= 0 && was_alone {
                event.hb.join(&write.hb);
            }
        }
    }

    /// Who receives a message comes after who sent it; who is told that there are no more, after all who sent or went.
    fn after_sender(&self, event: &mut Event) {
        let mut sent: SmallVec<[Id; 8]> = SmallVec::new();
        let mut received = 0;
        let writes = &self.writes(event.loc)[..self.place_of(event.source) as usize];
        for &id in writes {
            let write = self.event(id);
            if write.mode == Mode::Receive {
                received += 1;
            } else if write.value == self.value_of(event.loc, write.source) + 1 {
                sent.push(id);
            }
        }
        match sent.get(received) {
            Some(&message) => event.hb.join(&self.event(message).hb),
            None if event.value != 0 => writes.iter().for_each(|&id| {
                if self.event(id).mode != Mode::Receive {
                    event.hb.join(&self.event(id).hb);
                }
            }),
            None => {}
        }
    }

    fn release(&self, event: &mut Event) {
        let mut released = Clock::default();
        if event.mode == Mode::Unlock || (self.axioms.synchronise() && event.mode.releases()) {
            released = event.hb.clone();
        } else if self.axioms.synchronise() && event.mode != Mode::Plain && !event.mode.is_lock() {
            let events = &self.threads[event.thread as usize].events[..event.index as usize];
            let mut fences = events.iter().rev().map(|&id| self.event(id)).filter(|e| e.kind == Kind::Fence);
            if let Some(fence) = fences.find(|fence| fence.mode.releases()) {
                released = fence.hb.clone();
            }
        }
        if event.update && event.source != INITIAL {
            released.join(&self.event(event.source).released);
        }
        if self.axioms.release_sequence == ReleaseSequence::OwnWrites && event.mode != Mode::Plain {
            let own = self.threads[event.thread as usize].events[..event.index as usize].iter();
            own.map(|&id| self.event(id))
                .filter(|own| own.is_write() && own.loc == event.loc)
                .for_each(|own| released.join(&own.released));
        }
        event.released = released;
    }

    fn fence(&self, event: &mut Event) {
        if !self.axioms.synchronise() {
            return;
        }
        if event.mode.acquires() {
            let before = &self.threads[event.thread as usize].events[..event.index as usize];
            for &id in before.iter().rev() {
                let read = self.event(id);
                if read.kind == Kind::Fence && read.mode.acquires() {
                    break;
                }
                let is_atomic = read.mode != Mode::Plain && !read.mode.is_lock();
                if read.kind == Kind::Read && is_atomic && read.source != INITIAL {
                    event.hb.join(&self.event(read.source).released);
                }
            }
        }
    }

    fn join_all(&self, event: &mut Event) {
        let others = self.threads.iter().enumerate().filter(|(number, _)| *number != usize::from(event.thread));
        for (_, other) in others {
            if let Some(&last) = other.events.last() {
                event.porf.join(&self.event(last).porf);
                event.hb.join(&self.event(last).hb);
            }
        }
    }

    /// Adds an event whose clocks are set. A write takes its place.
    pub(crate) fn push(&mut self, event: Event) -> Id {
        let id = self.events.len() as Id;
        let thread = &mut self.threads[event.thread as usize];
        thread.events.push(id);
        thread.completed += usize::from(event.resumes());
        self.n_seq_cst += usize::from(event.is_seq_cst());
        match event.kind {
            Kind::Fork(child) => {
                self.know_thread(child);
                self.threads[child as usize].fork = Some(id);
            }
            Kind::Free(_) => self.frees.push(id),
            _ => {}
        }
        if event.loc != NOWHERE {
            let loc = &mut self.locs[event.loc as usize];
            loc.accesses.push(id);
            if event.is_write() {
                let at = event.place as usize - 1;
                loc.writes.insert(at, id);
                for &later in &loc.writes[at + 1..] {
                    self.events[later as usize].place += 1;
                }
            }
        }
        self.events.push(event);
        id
    }

    /// Takes back the event that was added last.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop()?;
        let thread = &mut self.threads[event.thread as usize];
        thread.events.pop();
        thread.completed -= usize::from(event.resumes());
        self.n_seq_cst -= usize::from(event.is_seq_cst());
        match event.kind {
            Kind::Fork(child) => self.threads[child as usize].fork = None,
            Kind::Free(_) => drop(self.frees.pop()),
            _ => {}
        }
        if event.loc != NOWHERE {
            let loc = &mut self.locs[event.loc as usize];
            loc.accesses.pop();
            if event.is_write() {
                let at = event.place as usize - 1;
                loc.writes.remove(at);
                for &later in &loc.writes[at..] {
                    self.events[later as usize].place -= 1;
                }
            }
        }
        Some(event)
    }

    /// Changes an event in place; what counts of it is counted again.
    pub(crate) fn replace(&mut self, id: Id, event: Event) {
        let old = &self.events[id as usize];
        let thread = &mut self.threads[event.thread as usize];
        thread.completed -= usize::from(old.resumes());
        thread.completed += usize::from(event.resumes());
        self.n_seq_cst -= usize::from(old.is_seq_cst());
        self.n_seq_cst += usize::from(event.is_seq_cst());
        self.events[id as usize] = event;
    }

    /// Makes this graph a copy of another one, of the events that are kept alone. They depend on nothing that is not kept,
    /// but for one read whose source will be set. Says what the numbers of events are now.
    pub(crate) fn restrict(&mut self, other: &Graph, keep: impl Fn(Id, &Event) -> bool, numbers: &mut Vec<Id>) {
        self.clear(other);
        numbers.clear();
        for (id, event) in other.events.iter().enumerate() {
            if !keep(id as Id, event) {
                numbers.push(INITIAL);
                continue;
            }
            let new = self.events.len() as Id;
            numbers.push(new);
            let thread = &mut self.threads[event.thread as usize];
            thread.events.push(new);
            thread.completed += usize::from(event.resumes());
            self.n_seq_cst += usize::from(event.is_seq_cst());
            match event.kind {
                Kind::Fork(child) => self.threads[child as usize].fork = Some(new),
                Kind::Free(_) => self.frees.push(new),
                _ => {}
            }
            if event.loc != NOWHERE {
                self.locs[event.loc as usize].accesses.push(new);
            }
            self.events.push(event.clone());
        }
        for event in &mut self.events {
            if event.source != INITIAL {
                event.source = numbers[event.source as usize];
            }
        }
        for (loc, old) in self.locs.iter_mut().zip(&other.locs) {
            for &write in &old.writes {
                let new = numbers[write as usize];
                if new != INITIAL {
                    loc.writes.push(new);
                    self.events[new as usize].place = loc.writes.len() as u32;
                }
            }
        }
    }

    /// Empties the graph, with the threads and locations of another one. Keeps its memory.
    fn clear(&mut self, other: &Graph) {
        self.axioms = other.axioms;
        self.events.clear();
        self.frees.clear();
        self.n_seq_cst = 0;
        self.threads.resize_with(other.threads.len(), Thread::default);
        for (thread, old) in self.threads.iter_mut().zip(&other.threads) {
            thread.events.clear();
            (thread.completed, thread.fork, thread.is_initial) = (0, None, old.is_initial);
        }
        self.locs.resize_with(other.locs.len(), Location::default);
        for (loc, old) in self.locs.iter_mut().zip(&other.locs) {
            (loc.initial, loc.maker) = (old.initial, old.maker);
            loc.writes.clear();
            loc.accesses.clear();
        }
    }

    /// What the graph is, whichever way it came about: what each thread did and read, and the modification orders. Two graphs of the same program are the same
    /// if these are.
    pub fn fingerprint(&self) -> Vec<i64> {
        let name = |id: Id| match id {
            INITIAL => -1,
            id => i64::from(self.event(id).thread) << 16 | i64::from(self.event(id).index),
        };
        let mut all = Vec::new();
        for (thread, Thread { events, .. }) in self.threads.iter().enumerate().filter(|t| !t.1.events.is_empty()) {
            all.extend([-2, thread as i64]);
            for event in events.iter().map(|&id| self.event(id)) {
                all.extend([event.loc.into(), event.value, event.choice]);
                all.extend(event.is_read().then(|| name(event.source)));
            }
        }
        for (number, loc) in self.locs.iter().enumerate().filter(|loc| !loc.1.writes.is_empty()) {
            all.extend([-3, number as i64]);
            all.extend(loc.writes.iter().map(|&id| name(id)));
        }
        all
    }

    /// Earlier accesses that race with one: to the same location, by another thread, one of them a write, not both atomic, not ordered by
    /// `hb`. Requires that nothing happens after it yet.
    pub(crate) fn races(&self, event: &Event) -> impl Iterator<Item = Id> {
        self.accesses(event.loc).iter().copied().filter(|&id| {
            let other = self.event(id);
            event.conflicts(other) && !event.sees(other)
        })
    }
}
