//! Engine `graph`: each consistent execution graph once, for memory models that are axioms.
//!
//! TruSt (Kokologiannakis, Marmanis, Gladstein and Vafeiadis, POPL 2022). Events are added one by one: a read once for each
//! write that it may read from, a write once for each place in the modification order. A write may also be what an
//! earlier read should have read from; then that read is given it, in a graph without what came of the read
//! (`revisit.rs`). Nothing is remembered of graphs that are done.
//!
//! Who waits for a thread or a notification adds no event until it can go on. Who takes a lock reads its state: a thread
//! that reads that it is held waits until that read is given another write. It reads so only where the newest state is
//! that, and when no other thread can go on. A thread whose turn of a loop changed nothing waits in the same way.

mod add;
mod advise;
mod cast;
mod ends;
mod follow;
mod related;
mod revisit;
mod sample;
mod schedule;
mod ways;
mod world;
mod wrong;

pub use follow::{replay, tell};

use crate::execution::graph::{Axioms, Event, Graph, INITIAL, Id, Kind, LocId, Names, Object, Slot, fill_read, slot};
use crate::execution::{Describe, Machine, Operation};
use crate::search::findings::Findings;
use crate::search::{Engine, Options, Report, StopReason, Watch};
use cast::{Live, Moment, Waiting};
use rustc_hash::FxHashSet;
use sample::Picker;
use world::World;

/// How often the watch is asked, in steps.
const LOOK_EVERY_STEPS: u64 = 4096;

/// Why nothing is verified of a program whose graphs were all explored, if so: what a machine calls a race of two accesses that are possible
/// at the same time is not known to be found in all cases.
pub(super) fn unproven<S: Describe>(subject: &S, options: &Options) -> Option<String> {
    let races = !options.memory.is_language() && subject.has_plain_cells();
    races.then(|| "engine graph is not known to see all data races on a machine yet: engine dpor does".to_string())
}

/// Searches graphs with the engine that the options name.
pub(super) fn search<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let axioms = options.memory.axioms();
    match options.engine {
        Engine::Exhaustive => every_order(subject, axioms, options, watch, |_, _| {}),
        Engine::Random { seed } => sample(subject, axioms, options, watch, Picker::new(seed, None)),
        Engine::Pct { seed, depth } => sample(subject, axioms, options, watch, Picker::new(seed, Some(depth))),
        _ => check(subject, axioms, options, watch),
    }
}

/// Explores every consistent graph and reports. Graphs where threads wait though they need not are counted as redundant.
pub fn check<S: Describe>(subject: &S, axioms: Axioms, options: &Options, watch: &dyn Watch) -> Report {
    explore(subject, axioms, options, watch, |_, _| {})
}

/// As [`check`]; shows every graph that is complete.
pub fn explore<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    watch: &dyn Watch,
    mut show: impl FnMut(&Graph, &Names),
) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut search = Search::new(subject, &machine, axioms, options, &mut show);
    let stop = search.run(watch);
    search.findings.report(stop)
}

/// As [`explore`], by adding events in every order that there is: slow, and obviously right.
pub fn every_order<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    watch: &dyn Watch,
    mut show: impl FnMut(&Graph, &Names),
) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut search = Search::new(subject, &machine, axioms, options, &mut show);
    (search.known, search.every_thread) = (Some(FxHashSet::default()), true);
    let stop = search.run(watch);
    search.findings.report(stop)
}

fn sample<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    watch: &dyn Watch,
    mut picker: Picker,
) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut nobody = |_: &Graph, _: &Names| {};
    let mut search = Search::new(subject, &machine, axioms, options, &mut nobody);
    let stop = search.sample(&mut picker, watch);
    search.findings.report(stop)
}

struct Search<'a, S: Describe> {
    subject: &'a S,
    machine: &'a Machine<'a, S>,
    findings: Findings<'a, S>,
    names: Names,
    /// Values of global cells before anything ran.
    initial_cells: Vec<i64>,
    world: World<S::Thread>,
    /// The threads, where they cannot be copied.
    live: Option<Live<S::Thread>>,
    /// What a thread did not do again.
    nondeterminism: Option<String>,
    /// The worlds that are left to go on with.
    outer: Vec<World<S::Thread>>,
    /// What worlds that are gone had for their graphs.
    spare: Vec<Graph>,
    numbers: Vec<Id>,
    looked_at: u64,
    /// Graphs that were come to, if events are added in every order.
    known: Option<FxHashSet<Vec<i64>>>,
    /// Whether any thread that can go on may add the next event.
    every_thread: bool,
    show: &'a mut dyn FnMut(&Graph, &Names),
}

impl<'a, S: Describe> Search<'a, S> {
    fn new(
        subject: &'a S,
        machine: &'a Machine<'a, S>,
        axioms: Axioms,
        options: &'a Options,
        show: &'a mut dyn FnMut(&Graph, &Names),
    ) -> Self {
        let mut search = Search {
            subject,
            machine,
            findings: Findings::new(subject, options),
            names: Names::default(),
            initial_cells: subject.initial_cells(),
            world: World::new(axioms),
            live: None,
            nondeterminism: None,
            outer: Vec::new(),
            spare: Vec::new(),
            numbers: Vec::new(),
            looked_at: 0,
            known: None,
            every_thread: false,
            show,
        };
        search.begin();
        search
    }

    fn run(&mut self, watch: &dyn Watch) -> StopReason {
        loop {
            match self.next_thread() {
                _ if self.is_known() => {}
                _ if self.is_too_long() => self.findings.incomplete = Some(StopReason::EventLimit),
                Some(thread) => self.open(thread),
                None => self.end(),
            }
            if let Some(why) = self.nondeterminism.take() {
                return StopReason::Nondeterminism(why);
            }
            if let Some(stop) = self.findings.stop() {
                return stop;
            }
            if !self.go_on() {
                return self.findings.exhausted();
            }
            let steps = self.findings.statistics.steps;
            let is_due = steps - self.looked_at >= LOOK_EVERY_STEPS;
            if is_due {
                self.looked_at = steps;
            }
            if let Some(stop) = self.findings.look(is_due, 0, watch) {
                return stop;
            }
        }
    }

    /// Whether events are added in every order, and this graph has come about in another.
    fn is_known(&mut self) -> bool {
        let graph = &self.world.graph;
        let is_known = self.known.as_mut().is_some_and(|known| !known.insert(graph.fingerprint()));
        self.findings.statistics.states += u64::from(self.known.is_some() && !is_known);
        is_known
    }

    fn is_too_long(&self) -> bool {
        self.world.graph.len() as u64 >= self.findings.options.limits.most_events().min(u16::MAX.into())
    }

    /// The thread that adds the next event: one in the middle of a read-modify-write, or else the first that can.
    fn next_thread(&mut self) -> Option<u16> {
        let n_threads = self.world.graph.n_threads() as u16;
        let is_between = |&thread: &u16| {
            let graph = &self.world.graph;
            graph.last_of(thread).is_some_and(|last| !last.completes && last.kind == Kind::Read && !last.blocked)
        };
        // Who waits for a condition variable gives back the lock before anyone does anything else.
        let gives_back = |&thread: &u16| {
            let graph = &self.world.graph;
            graph.stage(thread) >= 2 && graph.last_of(thread).is_some_and(|last| !last.blocked)
        };
        let between = (0..n_threads).find(gives_back).or_else(|| (0..n_threads).find(is_between));
        let next = between.or_else(|| (0..n_threads).find(|&thread| self.can_go_on(thread)));
        if self.every_thread {
            return next;
        }
        next.or_else(|| (0..n_threads).find(|&thread| self.is_at_wait(thread)))
    }

    /// Whether a thread is about to take a lock, or to wait for a cell to change.
    fn is_at_wait(&self, thread: u16) -> bool {
        let graph = &self.world.graph;
        let Some(now) = self.world.cast.now(thread) else { return false };
        let stage = graph.stage(thread);
        let is_there =
            graph.last_of(thread).is_none_or(|last| !last.last && !last.blocked) && (stage > 0 || !now.spins());
        let waits = stage == 0 && now.while_value().is_some();
        is_there && (waits || matches!(self.slot(thread, now, stage), Slot::Read(Object::Lock(_))))
    }

    fn can_go_on(&mut self, thread: u16) -> bool {
        let Some(now) = self.world.cast.now(thread).cloned() else { return false };
        let graph = &self.world.graph;
        let stage = graph.stage(thread);
        if graph.last_of(thread).is_some_and(|last| last.last || last.blocked)
            || (stage == 0 && !self.may_turn(thread, &now))
        {
            return false;
        }
        match self.slot(thread, &now, stage) {
            Slot::Read(object) if matches!(object, Object::Lock(_)) || (stage == 0 && now.while_value().is_some()) => {
                let loc = self.loc(object);
                let newest = self.world.graph.newest(loc);
                self.can_read(&now, stage, loc, newest)
            }
            Slot::Dequeue(condvar) => {
                let loc = self.loc(Object::Condvar(condvar));
                self.world.graph.notifier(loc, thread).is_some()
            }
            Slot::Join(key) => {
                let loc = self.loc(Object::End(key));
                self.names.find_thread(key).is_none_or(|joined| !self.is_started(joined))
                    || self.world.graph.newest(loc) != INITIAL
            }
            _ => match now.operation {
                Operation::Stop => false,
                Operation::JoinAll => (0..self.world.graph.n_threads() as u16).all(|other| {
                    let graph = &self.world.graph;
                    let has_ended = graph.last_of(other).is_some_and(|last| last.last && last.kind == Kind::Write);
                    other == thread || !self.is_started(other) || has_ended
                }),
                _ => true,
            },
        }
    }

    fn is_started(&self, thread: u16) -> bool {
        self.world.cast.now(thread).is_some()
    }

    fn slot(&self, thread: u16, now: &Moment<S::Thread>, stage: usize) -> Slot {
        match now.operation {
            Operation::End => Slot::Write(Object::End(self.names.key(thread))),
            ref operation => slot(operation, stage),
        }
    }

    /// Whether the thread's next turn of a loop may do something else than its last, or it does not spin: others have seen what that did for a while.
    fn may_turn(&self, thread: u16, now: &Moment<S::Thread>) -> bool {
        let Waiting::Turn(objects) = &now.waits else { return true };
        objects.iter().any(|&(object, times)| {
            let Some(loc) = self.names.find(object) else { return false };
            let graph = &self.world.graph;
            let own = graph.accesses(loc).iter().rev().map(|&id| graph.event(id));
            let own = own.filter(|event| event.thread == thread && event.is_write());
            let Some(first) = own.take(times as usize).map(|event| event.index).min() else { return false };
            graph.accesses(loc).iter().map(|&id| graph.event(id)).any(|event| {
                let sees = event.thread != thread && event.is_read() && event.source != INITIAL && !event.blocked;
                // Who takes a lock that is free has not seen that it was taken.
                let sees = sees && !(event.update && matches!(object, Object::Lock(_)));
                sees && {
                    let source = graph.event(event.source);
                    source.thread == thread && source.index >= first
                }
            })
        })
    }

    /// Whether the operation can go on if it reads this write.
    fn can_read(&self, now: &Moment<S::Thread>, stage: usize, loc: LocId, source: Id) -> bool {
        let graph = &self.world.graph;
        let mut read = Event::new(0, Kind::Read);
        read.value = graph.value_of(loc, source);
        fill_read(&graph.axioms, &now.operation, stage, now.while_value(), &mut read);
        !read.blocked
    }

    /// An object's number.
    fn loc(&mut self, object: Object) -> LocId {
        let loc = self.names.number(object);
        while self.world.graph.n_locs() <= loc as usize {
            let next = self.world.graph.n_locs() as LocId;
            let initial = self.initial(self.names.object(next));
            self.world.graph.add_loc(initial);
        }
        loc
    }

    fn initial(&self, object: Object) -> i64 {
        match object {
            Object::Cell(loc) => loc.as_global().and_then(|index| self.initial_cells.get(index)).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// Takes events back until there are so many.
    fn cut(&mut self, length: usize) {
        if self.world.takes_back(length) {
            self.unsettle();
        }
        self.world.cut(length);
    }

    /// Goes on with what is left to try. Says whether there is anything.
    fn go_on(&mut self) -> bool {
        loop {
            if let Some(frame) = self.world.frames.last_mut() {
                let (length, next) = (frame.length, frame.rest.pop());
                match next {
                    Some(alternative) => {
                        self.cut(length);
                        self.findings.statistics.steps += 1;
                        if self.add(alternative) {
                            return true;
                        }
                    }
                    None => drop(self.world.frames.pop()),
                }
            } else if self.world.revisit.is_some() {
                if self.next_place() {
                    return true;
                }
            } else {
                let Some(outer) = self.outer.pop() else { return false };
                self.unsettle();
                let inner = std::mem::replace(&mut self.world, outer);
                self.spare.push(inner.graph);
            }
        }
    }
}
