//! Generalised vector clocks (Burckhardt and Musuvathi, CAV 2008, Definition 7): happens-before as it is on a machine with or without
//! store buffers, while only SC executions are run.
//!
//! A position of a clock counts the events of a group, and a group is a set of events that are totally ordered. Without buffers the groups are
//! the threads. With one queue per thread they are each thread's writes. With a queue per thread and cell they are each thread's writes to each cell.
//!
//! This is the paper's Figure 3 but for three things. Whether a load comes before something is never asked, so loads are not counted there. There, threads and cells have clocks of their own; here, events have, and threads and
//! cells know their last events, so that an event is taken back by forgetting it. And there, a load comes after every store that is coherence-before the one it
//! reads, even if it reads a store of its own thread. That store may still have been in the buffer, and then nobody else's came before the load:
//! `x = 2; r = x; s = y ‖ y = 1; x = 1` ends with `r = 2, s = 0, x = 2` under TSO. Here such a load comes after nothing.

use crate::execution::{MemoryModel, Operation};
use crate::trace::happens_before::Taken;
use crate::trace::happens_before::footprint::{Mode, Object};
use smallvec::SmallVec;
use std::ops::Range;

/// An event by its place in the execution.
pub(super) type EventId = u32;

/// So many positions are joined at a time.
const WIDTH: usize = 4;

/// A part of a clock.
type Lane = [u32; WIDTH];

/// No event.
const NONE: EventId = u32::MAX;

/// The events of an execution so far, each with two clocks: SC's, and that of another memory model.
pub(super) struct Clocks {
    memory: MemoryModel,
    /// Lanes of SC's clocks, and of both.
    n_full: usize,
    n_all: usize,
    /// The clocks of all events, one after the other.
    rows: Vec<Lane>,
    events: Vec<Event>,
    /// What the events touched, one after the other.
    links: Vec<Link>,
    threads: Vec<ThreadClocks>,
    objects: Vec<Touched>,
    /// Under PSO, the group of each thread's stores to each object.
    groups: Vec<SmallVec<[(u16, u16); 2]>>,
    n_groups: u16,
}

/// What is known of an event besides its clocks.
pub(super) struct Event {
    pub(super) thread: u16,
    /// It can wait in a buffer.
    pub(super) is_store: bool,
    /// It reads what it replaces.
    pub(super) updates: bool,
    /// What it wrote.
    pub(super) value: i64,
    /// The group that it is counted in, if it writes.
    group: u16,
    /// Where what it touched begins.
    links: u32,
    /// Its thread before it, and how many threads were known.
    before: ThreadClocks,
    n_threads: u16,
}

/// What an event touched, and who did before.
#[derive(Clone, Copy)]
struct Link {
    object: Object,
    mode: Mode,
    previous: Touched,
}

/// The last to write an object, and the last to touch it in another way since.
#[derive(Clone, Copy)]
struct Touched {
    write: EventId,
    since: EventId,
    shared: bool,
}

/// The last events of a thread: of all, of all but stores, of its stores since it drained, and of those before a barrier.
#[derive(Clone, Copy)]
struct ThreadClocks {
    last: EventId,
    issued: EventId,
    store: EventId,
    held: EventId,
}

/// After what of its own thread an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// All but stores: a load does.
    Loads,
    /// Stores that it cannot overtake, too: a store does.
    Held,
    /// Everything: what drains does.
    Stores,
}

impl ThreadClocks {
    const NEW: ThreadClocks = ThreadClocks { last: NONE, issued: NONE, store: NONE, held: NONE };
}

impl Clocks {
    pub(super) fn new(memory: MemoryModel) -> Clocks {
        Clocks {
            memory,
            n_full: 1,
            n_all: 2,
            rows: Vec::new(),
            events: Vec::new(),
            links: Vec::new(),
            threads: Vec::new(),
            objects: Vec::new(),
            groups: Vec::new(),
            n_groups: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn event(&self, id: EventId) -> &Event {
        &self.events[id as usize]
    }

    fn full(&self, id: EventId, position: u16) -> u32 {
        self.rows[id as usize * self.n_all + position as usize / WIDTH][position as usize % WIDTH]
    }

    fn weak(&self, id: EventId, group: u16) -> u32 {
        self.rows[id as usize * self.n_all + self.n_full + group as usize / WIDTH][group as usize % WIDTH]
    }

    /// Whether one event is before another, or the same, under SC.
    pub(super) fn is_before(&self, first: EventId, second: EventId) -> bool {
        let thread = self.event(first).thread;
        second != NONE && self.full(first, thread) <= self.full(second, thread)
    }

    /// Whether a write is before another event, or the same, under the other memory model.
    pub(super) fn is_weakly_before(&self, write: EventId, second: EventId) -> bool {
        let group = self.event(write).group;
        second != NONE && self.weak(write, group) <= self.weak(second, group)
    }

    /// Whether an event is before the thread's next under SC.
    pub(super) fn is_before_next(&self, first: EventId, thread: u16) -> bool {
        self.is_before(first, self.thread(thread).last)
    }

    fn thread(&self, thread: u16) -> ThreadClocks {
        self.threads.get(thread as usize).copied().unwrap_or(ThreadClocks::NEW)
    }

    /// How many threads have been seen.
    pub(super) fn n_threads(&self) -> usize {
        self.threads.len()
    }

    /// Whether a write is before the thread's next event of some kind under the other memory model.
    pub(super) fn is_weakly_before_next(&self, write: EventId, thread: u16, after: After) -> bool {
        let ThreadClocks { issued, store, held, .. } = self.thread(thread);
        self.is_weakly_before(write, issued)
            || match after {
                After::Loads => false,
                After::Held => self.stores(held).any(|store| self.is_weakly_before(write, store)),
                After::Stores => self.stores(store).any(|store| self.is_weakly_before(write, store)),
            }
    }

    /// A store and those of the thread before it, as far as one is not ordered before the next.
    fn stores(&self, newest: EventId) -> impl Iterator<Item = EventId> + '_ {
        let mut next = newest;
        std::iter::from_fn(move || {
            let store = (next != NONE).then_some(next)?;
            next = if self.memory.keeps_store_order() { NONE } else { self.event(store).before.store };
            Some(store)
        })
    }

    /// Adds an event of a thread, which may fork another.
    pub(super) fn add(&mut self, thread: u16, child: Option<u16>, taken: &Taken, operation: &Operation) {
        let n_threads = self.threads.len() as u16;
        self.make_room(thread.max(child.unwrap_or(0)), taken);
        let is_store = operation.is_write() && !taken.drains;
        let id = self.events.len() as EventId;
        let before = self.threads[thread as usize];
        self.copy_or_zero(before.last, 0..self.n_full);
        self.copy_or_zero(before.issued, self.n_full..self.n_all);
        self.come_after_own(before, taken, is_store);
        let links = self.links.len() as u32;
        for access in &taken.footprint.accesses {
            let previous = self.objects[access.object as usize];
            let link = Link { object: access.object, mode: access.mode, previous };
            self.come_after_touches(thread, is_store || taken.drains, link);
            self.links.push(link);
        }
        let group = self.count(id, thread, taken);
        let updates = operation.is_update();
        let value = taken.value;
        self.events.push(Event { thread, is_store, updates, value, group, links, before, n_threads });
        self.note(id, thread, child, taken, is_store);
    }

    fn make_room(&mut self, thread: u16, taken: &Taken) {
        if self.threads.len() <= thread as usize {
            self.threads.resize(thread as usize + 1, ThreadClocks::NEW);
        }
        for access in &taken.footprint.accesses {
            if self.objects.len() <= access.object as usize {
                let nobody = Touched { write: NONE, since: NONE, shared: false };
                self.objects.resize(access.object as usize + 1, nobody);
                self.groups.resize(access.object as usize + 1, SmallVec::new());
            }
        }
        let n_weak = if self.memory.reorders_stores() { self.n_groups as usize + 1 } else { self.threads.len() };
        if self.threads.len() > WIDTH * self.n_full || n_weak > WIDTH * (self.n_all - self.n_full) {
            self.widen((2 * self.threads.len()).div_ceil(WIDTH), (2 * n_weak).div_ceil(WIDTH));
        }
    }

    /// Makes all clocks longer.
    #[cold]
    fn widen(&mut self, n_full: usize, n_weak: usize) {
        let (n_full, n_weak) = (n_full.max(self.n_full), n_weak.max(self.n_all - self.n_full));
        let mut rows = Vec::with_capacity(self.events.len() * (n_full + n_weak));
        for row in self.rows.chunks(self.n_all) {
            let (full, weak) = row.split_at(self.n_full);
            rows.extend_from_slice(full);
            rows.resize(rows.len() + n_full - full.len(), Lane::default());
            rows.extend_from_slice(weak);
            rows.resize(rows.len() + n_weak - weak.len(), Lane::default());
        }
        (self.rows, self.n_full, self.n_all) = (rows, n_full, n_full + n_weak);
    }

    /// Begins a row with a part of another event's.
    #[inline]
    fn copy_or_zero(&mut self, earlier: EventId, part: Range<usize>) {
        for lane in part {
            let lane = if earlier == NONE { Lane::default() } else { self.rows[earlier as usize * self.n_all + lane] };
            self.rows.push(lane);
        }
    }

    /// The event that is being added comes after another one, by a part of the clocks.
    #[inline]
    fn join(&mut self, earlier: EventId, part: Range<usize>) {
        let new = self.rows.len() - self.n_all;
        for lane in part {
            let more = self.rows[earlier as usize * self.n_all + lane];
            let counts = &mut self.rows[new + lane];
            for at in 0..WIDTH {
                counts[at] = counts[at].max(more[at]);
            }
        }
    }

    fn come_after_own(&mut self, own: ThreadClocks, taken: &Taken, is_store: bool) {
        let mut store = match is_store {
            _ if taken.drains || (is_store && taken.barrier) => own.store,
            true => own.held,
            false => NONE,
        };
        while store != NONE {
            self.join(store, self.n_full..self.n_all);
            store = if self.memory.keeps_store_order() { NONE } else { self.event(store).before.store };
        }
        if taken.joins_all {
            for other in 0..self.threads.len() {
                let ThreadClocks { last, issued, .. } = self.threads[other];
                // Whoever has ended has drained.
                if last != NONE {
                    self.join(last, 0..self.n_full);
                    self.join(issued, self.n_full..self.n_all);
                }
            }
        }
    }

    fn come_after_touches(&mut self, thread: u16, orders: bool, link: Link) {
        let Link { object, mode, previous: Touched { write, since, shared } } = link;
        if write != NONE {
            let newest = self.event(write);
            let is_forwarded = mode == Mode::Read && !orders && newest.is_store && newest.thread == thread;
            self.join(write, 0..if is_forwarded { self.n_full } else { self.n_all });
        }
        if mode == Mode::Read && !shared {
            return;
        }
        let mut next = since;
        while next != NONE {
            let Some(&link) = self.touched_by(next).iter().find(|link| link.object == object) else { break };
            if mode.conflicts(link.mode) {
                self.join(next, 0..self.n_all);
            }
            next = link.previous.since;
        }
    }

    /// Who has touched an object since it was last written, last first.
    pub(super) fn touches_since(&self, object: Object) -> impl Iterator<Item = EventId> + '_ {
        let mut next = self.objects.get(object as usize).map_or(NONE, |touched| touched.since);
        std::iter::from_fn(move || {
            let event = (next != NONE).then_some(next)?;
            let link = self.touched_by(event).iter().find(|link| link.object == object);
            next = link.map_or(NONE, |link| link.previous.since);
            Some(event)
        })
    }

    fn touched_by(&self, id: EventId) -> &[Link] {
        let end = self.events.get(id as usize + 1).map_or(self.links.len(), |next| next.links as usize);
        &self.links[self.event(id).links as usize..end]
    }

    /// Counts the event, if it writes also for the other memory model, and gives its group there.
    fn count(&mut self, id: EventId, thread: u16, taken: &Taken) -> u16 {
        let row = id as usize * self.n_all;
        self.rows[row + thread as usize / WIDTH][thread as usize % WIDTH] += 1;
        let written = taken.footprint.accesses.iter().find(|access| access.mode == Mode::Write);
        let Some(written) = written else { return 0 };
        let group = self.group(thread, written.object);
        self.rows[row + self.n_full + group as usize / WIDTH][group as usize % WIDTH] += 1;
        group
    }

    fn group(&mut self, thread: u16, object: Object) -> u16 {
        if !self.memory.reorders_stores() {
            return thread;
        }
        let known = self.groups[object as usize].iter().find(|group| group.0 == thread);
        known.map(|group| group.1).unwrap_or_else(|| {
            let group = self.n_groups;
            self.n_groups += 1;
            self.groups[object as usize].push((thread, group));
            group
        })
    }

    fn note(&mut self, id: EventId, thread: u16, child: Option<u16>, taken: &Taken, is_store: bool) {
        let own = &mut self.threads[thread as usize];
        own.last = id;
        if taken.barrier {
            own.held = own.store;
        }
        if is_store {
            own.store = id;
            if self.memory.keeps_store_order() {
                own.held = id;
            }
        } else {
            own.issued = id;
            if taken.drains {
                (own.store, own.held) = (NONE, NONE);
            }
        }
        if let Some(child) = child {
            self.threads[child as usize] = ThreadClocks { last: id, issued: id, ..ThreadClocks::NEW };
        }
        for access in &taken.footprint.accesses {
            let touched = &mut self.objects[access.object as usize];
            touched.shared |= access.mode == Mode::Share;
            match access.mode {
                Mode::Write => (touched.write, touched.since) = (id, NONE),
                _ => touched.since = id,
            }
        }
    }

    /// Takes the last event back, and shows the objects that it wrote.
    pub(super) fn undo(&mut self, mut wrote: impl FnMut(Object)) {
        let Some(event) = self.events.pop() else { return };
        self.rows.truncate(self.events.len() * self.n_all);
        self.threads[event.thread as usize] = event.before;
        self.threads.truncate(event.n_threads as usize);
        while self.links.len() > event.links as usize {
            let Some(link) = self.links.pop() else { return };
            self.objects[link.object as usize] = link.previous;
            if link.mode == Mode::Write {
                wrote(link.object);
            }
        }
    }
}
