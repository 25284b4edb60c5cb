//! Every consistent graph of a program.
//!
//! Events are added along program order and reads-from, so that nothing comes out of thin air. A read takes its value
//! from any write to its cell that is there, and a write goes to any place in the modification order; the axioms say
//! which graphs to go on with. The same graph can be built by adding its events in different orders. Of these only the
//! least one is followed, as `World::steps` explains.

use super::axioms::{Axioms, RacingPair};
use super::graph::{Event, Graph, Kind, Mode, ThreadName};
use super::thread::{Block, Phase, Thread, Unsupported};
use std::collections::BTreeSet;
use unthread_checker::base::ThreadKey;
use unthread_checker::program::{FinalState, Instr, LockMode, Ordering, Program};

/// What a program can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// Consistent graphs in which every thread has ended.
    pub(crate) graphs: usize,
    /// Graphs in which some thread cannot go on: it waits, was stopped by an assumption, or failed.
    pub(crate) blocked: usize,
    /// Those of them in which threads wait, and none has failed or was stopped.
    pub(crate) deadlocked: usize,
    pub(crate) final_states: BTreeSet<FinalState>,
    pub(crate) races: BTreeSet<RacingPair>,
    /// Threads that fail, and where.
    pub(crate) failures: BTreeSet<(ThreadName, usize)>,
    /// Whether a block is used where nothing says that it is not freed yet.
    pub(crate) uses_freed: bool,
    /// Whether a block is used where nothing says that it has been made: one of the races.
    pub(crate) uses_unmade: bool,
    /// Which threads wait then, and where.
    pub(crate) deadlocks: BTreeSet<Vec<(ThreadName, usize)>>,
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most graphs, also those that are not complete.
    pub(crate) graphs: usize,
    /// Most events of a graph.
    pub(crate) events: usize,
}

impl Limits {
    pub(crate) const USUAL: Limits = Limits { graphs: 100_000, events: 64 };
}

/// Everything that the program can do under the axioms.
pub(crate) fn behaviour(program: &Program, axioms: Axioms, limits: Limits) -> Result<Behaviour, Unsupported> {
    search(program, axioms, limits, false).map(|search| search.behaviour)
}

/// The same without any assumption on which orders are enough: events are added in every order, and graphs are
/// compared.
pub(crate) fn behaviour_by_interleaving(
    program: &Program,
    axioms: Axioms,
    limits: Limits,
) -> Result<Behaviour, Unsupported> {
    let search = search(program, axioms, limits, true)?;
    let count = |complete: bool| search.seen.iter().filter(|(is_complete, _)| *is_complete == complete).count();
    let (graphs, blocked) = (count(true), count(false));
    Ok(Behaviour { graphs, blocked, ..search.behaviour })
}

fn search(program: &Program, axioms: Axioms, limits: Limits, every_order: bool) -> Result<Search<'_>, Unsupported> {
    let behaviour = Behaviour::default();
    let mut search = Search { program, axioms, limits, every_order, behaviour, visited: 0, seen: BTreeSet::new() };
    let start = search.start()?;
    search.explore(&start)?;
    Ok(search)
}

pub(super) struct Search<'p> {
    pub(super) program: &'p Program,
    axioms: Axioms,
    limits: Limits,
    every_order: bool,
    behaviour: Behaviour,
    visited: usize,
    /// With every order: the graphs that were met, and whether they are complete.
    seen: BTreeSet<(bool, Identity)>,
}

/// What tells graphs apart, whatever the order in which their events were added: each thread's events with their
/// sources and choices, then modification orders and what locks order, with events by thread and number.
type Identity = (Vec<Vec<Trace>>, Vec<Vec<EventName>>, BTreeSet<(EventName, EventName)>);
type Trace = (Option<Event>, Option<EventName>, i64);
type EventName = (Option<ThreadName>, usize);

/// A graph and the threads that have built it so far.
#[derive(Clone)]
pub(super) struct World {
    pub(super) graph: Graph,
    pub(super) threads: Vec<Thread>,
    /// For each step the thread that took it. Two steps depend on one another if they are of one thread, if one reads
    /// what the other wrote, by a fork or a join, or if they use one lock and not both share it. Other neighbours can
    /// be swapped: of all orders that come of it, the one with the least names is followed.
    steps: Vec<ThreadName>,
    /// The step of each event.
    pub(super) step_of: Vec<Option<usize>>,
    /// For each lock, who took it or gave it back.
    pub(super) locks: Vec<Vec<LockUse>>,
    /// What was allocated.
    pub(super) blocks: Vec<Block>,
    /// For each condition variable, the events that waited for it or notified.
    pub(super) condvars: Vec<Vec<usize>>,
    /// Values that were chosen.
    choices: Vec<(ThreadName, i64)>,
}

#[derive(Clone, Copy)]
pub(super) struct LockUse {
    pub(super) thread: ThreadName,
    pub(super) mode: LockMode,
    pub(super) takes: bool,
    pub(super) event: usize,
}

/// What a step depends on: the last step among these.
#[derive(Default)]
pub(super) struct After(pub(super) Option<usize>);

impl After {
    pub(super) fn step(mut self, step: Option<usize>) -> After {
        self.0 = self.0.max(step);
        self
    }
}

impl Search<'_> {
    fn start(&self) -> Result<World, Unsupported> {
        let graph = Graph::new(self.program);
        let mut world = World {
            step_of: vec![None; graph.events.len()],
            graph,
            threads: vec![],
            steps: vec![],
            locks: vec![vec![]; self.program.locks.len()],
            blocks: vec![],
            condvars: vec![vec![]; self.program.condvars.len()],
            choices: vec![],
        };
        for (index, start) in self.program.initial.iter().enumerate() {
            let names = (index as u64 + 1, ThreadKey::initial(index));
            let thread = Thread::new(self.program, names, start.routine, start.arguments.clone());
            world.threads.push(thread);
            self.run_on(&mut world, index)?;
        }
        if let Some(routine) = self.program.finally {
            let index = self.program.initial.len();
            let mut thread = Thread::new(self.program, (index as u64 + 1, ThreadKey::initial(index)), routine, vec![]);
            thread.phase = Phase::Last;
            world.threads.push(thread);
        }
        Ok(world)
    }

    /// Runs a thread to its next visible instruction. Its end is an event.
    pub(super) fn run_on(&self, world: &mut World, index: usize) -> Result<(), Unsupported> {
        world.threads[index].run_locally(self.program)?;
        self.note_end(world, index);
        Ok(())
    }

    fn note_end(&self, world: &mut World, index: usize) {
        if world.threads[index].phase == Phase::Ended && world.threads[index].end.is_none() {
            let end = self.add(world, index, Kind::Other);
            world.threads[index].end = Some(end);
        }
    }

    fn explore(&mut self, world: &World) -> Result<(), Unsupported> {
        self.visited += 1;
        if self.visited > self.limits.graphs || world.graph.events.len() > self.limits.events {
            return Err("too many graphs or events".into());
        }
        let mut can_go_on = false;
        for index in 0..world.threads.len() {
            let next = self.successors(world, index)?;
            can_go_on |= !next.is_empty();
            for (next, After(after)) in next {
                let thread = world.threads[index].name;
                let since = after.map_or(0, |step| step + 1);
                let is_least = !world.steps[since..].iter().any(|other| *other > thread);
                if (is_least || self.every_order) && self.axioms.allow(&next.graph) {
                    self.explore(&next)?;
                }
            }
        }
        if !can_go_on {
            self.leaf(world);
        }
        Ok(())
    }

    fn leaf(&mut self, world: &World) {
        let complete = world.threads.iter().all(|thread| thread.phase == Phase::Ended);
        if self.every_order && !self.seen.insert((complete, identity(world))) {
            return;
        }
        self.behaviour.races.extend(self.axioms.races(&world.graph));
        self.behaviour.uses_freed |= self.axioms.uses_freed(&world.graph);
        self.behaviour.uses_unmade |= self.axioms.uses_unmade(&world.graph);
        let places = |phase: Phase| {
            let of = world.threads.iter().filter(move |thread| thread.phase == phase);
            of.map(|thread| (thread.name, thread.pc))
        };
        self.behaviour.failures.extend(places(Phase::Failed));
        if complete {
            self.behaviour.graphs += 1;
            self.behaviour.final_states.insert(self.final_state(world));
            return;
        }
        self.behaviour.blocked += 1;
        if places(Phase::Failed).chain(places(Phase::Stopped)).next().is_none() {
            self.behaviour.deadlocked += 1;
            self.behaviour.deadlocks.insert(places(Phase::Running).collect());
        }
    }

    fn final_state(&self, world: &World) -> FinalState {
        let registers = self.program.initial.iter().zip(&world.threads).map(|(start, thread)| {
            let observed = &self.program.routines[start.routine].observed;
            observed.iter().map(|reg| thread.registers[reg.0 as usize]).collect()
        });
        let mut cells = world.graph.memory();
        let heap = cells.split_off(self.program.cells.len());
        let left = world.blocks.iter().filter(|block| !block.freed).flat_map(|block| {
            let value = |offset: usize| heap[block.first + offset - self.program.cells.len()];
            (0..block.cells).map(move |offset| (block.loc.offset(offset as u8), value(offset)))
        });
        let mut heap: Vec<_> = left.filter(|(_, value)| *value != 0).collect();
        heap.sort_unstable();
        FinalState { cells, heap, registers: registers.collect() }
    }

    /// All that can come of the next step of a thread, with what the step depends on.
    fn successors(&self, world: &World, index: usize) -> Result<Vec<(World, After)>, Unsupported> {
        let thread = &world.threads[index];
        match thread.phase {
            Phase::Running => {}
            Phase::Last => return self.begin_last(world, index),
            Phase::Ended | Phase::Stopped | Phase::Failed => return Ok(vec![]),
        }
        if let (Some(fork), None) = (thread.forked_by, thread.begin) {
            return self.begin(world, index, fork);
        }
        match thread.instr(self.program) {
            Instr::Load { place, ordering, .. } => {
                let (cell, access) = thread.place(self.program, &world.blocks, place)?;
                self.read(world, index, cell, &|_| (Thread::mode(access, *ordering), None))
            }
            Instr::Store { place, value, ordering } => {
                let (cell, access) = thread.place(self.program, &world.blocks, place)?;
                let value = thread.eval(value)?;
                let kind = Kind::Write { cell, mode: Thread::mode(access, *ordering), value };
                self.write(world, index, kind)
            }
            Instr::Rmw { place, op, operand, ordering, .. } => {
                let (cell, _) = thread.place(self.program, &world.blocks, place)?;
                let operand = thread.eval(operand)?;
                self.read(world, index, cell, &|old| (Mode::Atomic(*ordering), Some(op.apply(old, operand))))
            }
            Instr::Cas { place, expected, desired, success, failure, .. } => {
                let (cell, _) = thread.place(self.program, &world.blocks, place)?;
                let (expected, desired) = (thread.eval(expected)?, thread.eval(desired)?);
                let failure = if self.axioms.failure_ordering { *failure } else { Ordering::Relaxed };
                self.read(world, index, cell, &|old| match old == expected {
                    true => (Mode::Atomic(*success), Some(desired)),
                    false => (Mode::Atomic(failure), None),
                })
            }
            Instr::Fence { ordering } => self.alone(world, index, Kind::Fence(*ordering), After::default(), 0),
            Instr::Choose { low, high, .. } => {
                let values = thread.eval(low)?..thread.eval(high)?;
                values.map(|value| self.choose(world, index, value)).collect()
            }
            Instr::Alloc { cells, .. } => self.allocate(world, index, usize::from(*cells)),
            Instr::Free { pointer } => self.free(world, index, thread.eval(pointer)?),
            Instr::Wait { condvar, lock } => self.wait(world, index, thread.indexed(condvar)?, thread.indexed(lock)?),
            Instr::Notify { condvar, all } => self.notify(world, index, thread.indexed(condvar)?, *all),
            Instr::Lock { lock, mode } => self.lock(world, index, thread.indexed(lock)?, *mode),
            Instr::Unlock { lock, mode } => self.unlock(world, index, thread.indexed(lock)?, *mode),
            Instr::Fork { routine, arguments, .. } => {
                let arguments = arguments.iter().map(|argument| thread.eval(argument)).collect::<Result<_, _>>()?;
                self.fork(world, index, *routine, arguments)
            }
            Instr::Join { thread: handle } => self.join(world, index, thread.eval(handle)? as ThreadName),
            other => Err(format!("{other:?}")),
        }
    }

    /// Adds an event to the step that is being taken.
    pub(super) fn add(&self, world: &mut World, index: usize, kind: Kind) -> usize {
        let thread = &world.threads[index];
        world.step_of.push(thread.last_step);
        world.graph.add(Event { thread: Some(thread.name), kind, pc: thread.pc })
    }

    /// A copy in which a thread begins a step, and what that depends on.
    pub(super) fn step(&self, world: &World, index: usize) -> (World, After) {
        let mut next = world.clone();
        let before = next.threads[index].last_step.replace(next.steps.len());
        next.steps.push(next.threads[index].name);
        (next, After::default().step(before))
    }

    pub(super) fn end_step(&self, world: &mut World, index: usize, result: i64) -> Result<(), Unsupported> {
        world.threads[index].finish(self.program, result)?;
        self.note_end(world, index);
        Ok(())
    }

    /// A read of any write that is there, and for a read-modify-write its write. `what` says how the access is made,
    /// and what is written, if a value is found.
    fn read(
        &self,
        world: &World,
        index: usize,
        cell: usize,
        what: &dyn Fn(i64) -> (Mode, Option<i64>),
    ) -> Result<Vec<(World, After)>, Unsupported> {
        let mut all = Vec::new();
        for &source in &world.graph.mo[cell] {
            let old = world.graph.value(source);
            let (mode, new) = what(old);
            // A write goes to any place but the first; what only reads needs none.
            let places = if new.is_some() { 1..world.graph.mo[cell].len() + 1 } else { 0..1 };
            for place in places {
                let (mut next, after) = self.step(world, index);
                let read = self.add(&mut next, index, Kind::Read { cell, mode });
                next.graph.rf.push((read, source));
                if let Some(value) = new {
                    let write = self.add(&mut next, index, Kind::Write { cell, mode, value });
                    next.graph.rmw.push((read, write));
                    next.graph.mo[cell].insert(place, write);
                }
                self.end_step(&mut next, index, old)?;
                all.push((next, after.step(world.step_of[source])));
            }
        }
        Ok(all)
    }

    fn write(&self, world: &World, index: usize, kind: Kind) -> Result<Vec<(World, After)>, Unsupported> {
        let Kind::Write { cell, .. } = kind else { unreachable!("a write") };
        let in_place = |place: usize| {
            let (mut next, after) = self.step(world, index);
            let write = self.add(&mut next, index, kind);
            next.graph.mo[cell].insert(place, write);
            self.end_step(&mut next, index, 0)?;
            Ok((next, after))
        };
        (1..=world.graph.mo[cell].len()).map(in_place).collect()
    }

    /// One event that concerns no cell.
    pub(super) fn alone(
        &self,
        world: &World,
        index: usize,
        kind: Kind,
        after: After,
        result: i64,
    ) -> Result<Vec<(World, After)>, Unsupported> {
        let (mut next, own) = self.step(world, index);
        self.add(&mut next, index, kind);
        self.end_step(&mut next, index, result)?;
        Ok(vec![(next, own.step(after.0))])
    }

    fn choose(&self, world: &World, index: usize, value: i64) -> Result<(World, After), Unsupported> {
        let (mut next, after) = self.step(world, index);
        next.choices.push((next.threads[index].name, value));
        self.end_step(&mut next, index, value)?;
        Ok((next, after))
    }
}

fn identity(world: &World) -> Identity {
    let graph = &world.graph;
    let name = |event: usize| -> EventName {
        let thread = graph.events[event].thread;
        (thread, graph.events[..event].iter().filter(|earlier| earlier.thread == thread).count())
    };
    let mut names: Vec<ThreadName> = world.threads.iter().map(|thread| thread.name).collect();
    names.sort_unstable();
    let trace = |thread: &ThreadName| {
        let events = (0..graph.events.len()).filter(|&event| graph.events[event].thread == Some(*thread));
        let source = |event: usize| graph.rf.iter().find(|(read, _)| *read == event).map(|(_, write)| name(*write));
        let choices = world.choices.iter().filter(|(by, _)| by == thread).map(|(_, value)| (None, None, *value));
        events.map(|event| (Some(graph.events[event]), source(event), 0)).chain(choices).collect()
    };
    let mo = graph.mo.iter().map(|writes| writes.iter().map(|write| name(*write)).collect()).collect();
    let hand_over = graph.hand_over.iter().map(|&(from, to)| (name(from), name(to))).collect();
    (names.iter().map(trace).collect(), mo, hand_over)
}
