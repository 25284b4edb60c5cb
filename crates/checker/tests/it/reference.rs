//! A second semantics, to check the machine and the `exhaustive` engine against: DESIGN's rules written down once more,
//! as directly as possible and sharing no code with `execution`. Whole states are cloned and kept in a plain set; registers are never
//! cleared, spinning is not noticed, stores to a SeqCst location are a buffered store and then a fence.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use unthread_checker::base::Loc;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::{
    Access, Expr, FinalState, Indexed, Instr, LockMode, Ordering, Place, Program, Quantifier, Reg,
};

/// What a program can do, in the terms in which engines are compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// Values of cells, heap and observed registers at the end.
    pub(crate) final_states: BTreeSet<FinalState>,
    /// What went wrong in one thread: kind, thread, where, message.
    pub(crate) failures: BTreeSet<(String, String, u32, String)>,
    /// Threads that wait for one another: name and place of each.
    pub(crate) deadlocks: BTreeSet<Vec<String>>,
    /// Some execution never ends, with every thread alive.
    pub(crate) endless: bool,
    /// Pairs of threads that race.
    pub(crate) races: BTreeSet<(String, String)>,
    /// Indices of the conditions that some final state breaks, or for `exists`, satisfies.
    pub(crate) conditions: BTreeSet<usize>,
    /// Results of every thread's operations, by thread key. Only if asked for.
    pub(crate) histories: BTreeSet<Vec<(u64, Vec<i64>)>>,
}

/// Enumerates everything, or gives up when there are more states than the budget.
pub(crate) fn behaviour(
    program: &Program,
    memory: MemoryModel,
    with_histories: bool,
    budget: usize,
) -> Option<Behaviour> {
    let has_free = program.routines.iter().any(|r| r.code.iter().any(|i| matches!(i, Instr::Free { .. })));
    let mut search = Search {
        program,
        memory,
        with_histories,
        // A store that waits can find its block freed; one that acts at once cannot. See `memory.rs`.
        seqcst_store_waits: !has_free,
        behaviour: Behaviour::default(),
        numbers: HashMap::new(),
        edges: Vec::new(),
        alive: Vec::new(),
    };
    let mut waiting = vec![search.start()];
    search.number(&waiting[0]);
    while let Some(world) = waiting.pop() {
        let from = search.numbers[&world];
        for next in search.successors(&world) {
            let known = search.numbers.len();
            let to = search.number(&next);
            search.edges[from].push(to);
            if to == known {
                waiting.push(next);
            }
        }
        if search.edges[from].is_empty() {
            search.dead_end(&world);
        }
        if search.numbers.len() > budget {
            return None;
        }
    }
    let can_loop = program.routines.iter().any(|routine| !routine.loops.is_empty());
    search.behaviour.endless = can_loop && search.has_endless_execution();
    Some(search.behaviour)
}

struct Search<'p> {
    program: &'p Program,
    memory: MemoryModel,
    with_histories: bool,
    seqcst_store_waits: bool,
    behaviour: Behaviour,
    numbers: HashMap<World, usize>,
    edges: Vec<Vec<usize>>,
    /// Whether no thread has failed or been stopped by an assumption.
    alive: Vec<bool>,
}

/// Everything there is at one moment.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    memory: BTreeMap<Loc, i64>,
    freed: BTreeSet<Loc>,
    locks: BTreeMap<u32, Vec<(usize, LockMode)>>,
    /// Threads that wait for a condition variable.
    sleeping: BTreeSet<(u32, usize)>,
    threads: Vec<Thread>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Thread {
    key: u64,
    routine: usize,
    pc: usize,
    registers: Vec<i64>,
    forks: u64,
    blocks: u32,
    phase: Phase,
    /// Barriers passed while stores waited.
    epoch: u32,
    stores: VecDeque<Store>,
    history: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Phase {
    Running,
    /// `finally`, before the others have ended.
    Last,
    /// The store part of a SeqCst store is done, its fence is not.
    Fencing,
    /// Between the two halves of a wait.
    Waiting,
    Ended,
    Failed,
    Stopped,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Store {
    loc: Loc,
    value: i64,
    epoch: u32,
    place: u32,
}

/// Why a thread cannot do as its instruction says: kind and message.
type Fault = (&'static str, String);

impl<'p> Search<'p> {
    fn start(&self) -> World {
        let starts = self.program.initial.iter().map(|start| (start.routine, start.arguments.clone(), Phase::Running));
        let finally = self.program.finally.map(|routine| (routine, vec![], Phase::Last));
        let threads = starts.chain(finally).enumerate();
        let threads = threads
            .map(|(index, (routine, arguments, phase))| self.thread(index as u64 + 1, routine, arguments, phase));
        let cells = self.program.cells.iter().enumerate();
        World {
            memory: cells.map(|(index, cell)| (Loc::global(index), cell.initial)).collect(),
            freed: BTreeSet::new(),
            locks: BTreeMap::new(),
            sleeping: BTreeSet::new(),
            threads: threads.collect(),
        }
    }

    fn thread(&self, key: u64, routine: usize, arguments: Vec<i64>, phase: Phase) -> Thread {
        let mut registers = arguments;
        registers.resize(self.program.routines[routine].registers.len(), 0);
        let stores = VecDeque::new();
        let mut thread =
            Thread { key, routine, pc: 0, registers, forks: 0, blocks: 0, phase, epoch: 0, stores, history: vec![] };
        if phase == Phase::Running {
            self.run_locally(&mut thread);
        }
        thread
    }

    fn number(&mut self, world: &World) -> usize {
        let next = self.numbers.len();
        let number = *self.numbers.entry(world.clone()).or_insert(next);
        if number == next {
            self.edges.push(vec![]);
            self.alive.push(world.threads.iter().all(|t| !matches!(t.phase, Phase::Failed | Phase::Stopped)));
            self.note_races(world);
        }
        number
    }

    /// From some state, all that can follow goes on for ever and nothing has failed.
    fn has_endless_execution(&self) -> bool {
        (0..self.edges.len()).any(|start| {
            let mut seen = BTreeSet::from([start]);
            let mut waiting = vec![start];
            while let Some(at) = waiting.pop() {
                if !self.alive[at] || self.edges[at].is_empty() {
                    return false;
                }
                waiting.extend(self.edges[at].iter().copied().filter(|&next| seen.insert(next)));
            }
            true
        })
    }

    fn instr(&self, thread: &Thread) -> &'p Instr {
        &self.program.routines[thread.routine].code[thread.pc]
    }

    fn place_of(&self, thread: &Thread) -> u32 {
        self.program.routines[thread.routine].spans[thread.pc].start
    }

    fn name(&self, thread: &Thread) -> String {
        if self.program.finally == Some(thread.routine) {
            return "finally".to_string();
        }
        self.program.routines[thread.routine].name.clone()
    }

    /// Everything that can happen next.
    fn successors(&mut self, world: &World) -> Vec<World> {
        let mut next = Vec::new();
        for index in 0..world.threads.len() {
            for at in self.flushable(&world.threads[index]) {
                next.push(self.flush(world, index, at));
            }
            match world.threads[index].phase {
                Phase::Running | Phase::Waiting => self.run(world, index, &mut next),
                Phase::Last => {
                    let others = world.threads.iter().enumerate().filter(|(other, _)| *other != index);
                    if others.into_iter().all(|(_, thread)| thread.phase == Phase::Ended) {
                        let mut world = world.clone();
                        world.threads[index].phase = Phase::Running;
                        self.remember(&mut world.threads[index], 0);
                        self.run_locally(&mut world.threads[index]);
                        next.push(world);
                    }
                }
                Phase::Fencing if world.threads[index].stores.is_empty() => {
                    let mut world = world.clone();
                    world.threads[index].phase = Phase::Running;
                    self.advance(&mut world.threads[index]);
                    next.push(world);
                }
                _ => {}
            }
        }
        next
    }

    fn flushable(&self, thread: &Thread) -> Vec<usize> {
        let stores = &thread.stores;
        let may_go = |at: usize| match self.memory {
            MemoryModel::Sc | MemoryModel::Cpp20 | MemoryModel::Rc11 => false,
            MemoryModel::Tso => at == 0,
            MemoryModel::Pso => {
                let mut earlier = stores.iter().take(at);
                earlier.all(|store| store.loc != stores[at].loc && store.epoch == stores[at].epoch)
            }
        };
        (0..stores.len()).filter(|&at| may_go(at)).collect()
    }

    fn flush(&mut self, world: &World, index: usize, at: usize) -> World {
        let mut world = world.clone();
        let store = world.threads[index].stores.remove(at).expect("it may go");
        match check(&world, self.program, store.loc) {
            Ok(()) => drop(world.memory.insert(store.loc, store.value)),
            Err(fault) => self.note_failure(&world.threads[index], store.place, fault),
        }
        world
    }

    fn note_failure(&mut self, thread: &Thread, place: u32, (kind, message): Fault) {
        self.behaviour.failures.insert((kind.to_string(), self.name(thread), place, message));
    }

    /// The operation's result goes to its register, and the thread runs on to the next visible instruction.
    fn finish(&self, thread: &mut Thread, result: i64) {
        self.remember(thread, result);
        if let Some(Reg(dst)) = self.instr(thread).defined() {
            thread.registers[dst as usize] = result;
        }
        self.advance(thread);
    }

    fn remember(&self, thread: &mut Thread, result: i64) {
        if self.with_histories {
            thread.history.push(result);
        }
    }

    fn advance(&self, thread: &mut Thread) {
        thread.pc += 1;
        self.run_locally(thread);
    }

    fn run_locally(&self, thread: &mut Thread) {
        loop {
            let instr = self.instr(thread);
            let truth = |expr: &Expr| eval(thread, expr).ok().map(|value| value != 0);
            match instr {
                Instr::Jump { target } => thread.pc = *target as usize,
                Instr::Branch { condition, then, otherwise } => match truth(condition) {
                    Some(true) => thread.pc = *then as usize,
                    Some(false) => thread.pc = *otherwise as usize,
                    None => return,
                },
                Instr::Assign { dst, value } => match eval(thread, value) {
                    Ok(value) => {
                        thread.registers[dst.0 as usize] = value;
                        thread.pc += 1;
                    }
                    Err(_) => return,
                },
                Instr::Alloc { dst, .. } => {
                    let Some(block) = Loc::heap(thread.key, thread.blocks) else { return };
                    thread.registers[dst.0 as usize] = block.pointer();
                    thread.blocks += 1;
                    thread.pc += 1;
                }
                Instr::Assert { condition, .. } if truth(condition) == Some(true) => thread.pc += 1,
                Instr::Assume { condition } => match truth(condition) {
                    Some(true) => thread.pc += 1,
                    Some(false) => {
                        thread.phase = Phase::Stopped;
                        return;
                    }
                    None => return,
                },
                Instr::Choose { low, high, .. } if eval(thread, low) >= eval(thread, high) => {
                    thread.phase = Phase::Stopped;
                    return;
                }
                _ => return,
            }
        }
    }

    /// Adds what can come of the thread's instruction.
    fn run(&mut self, world: &World, index: usize, next: &mut Vec<World>) {
        let thread = &world.threads[index];
        match self.perform(world, index) {
            Ok(worlds) => next.extend(worlds),
            Err(fault) => {
                self.note_failure(thread, self.place_of(thread), fault);
                let mut world = world.clone();
                world.threads[index].phase = Phase::Failed;
                self.remember(&mut world.threads[index], unthread_checker::base::FAILED);
                next.push(world);
            }
        }
    }

    /// The worlds after the instruction, none if it has to wait.
    fn perform(&self, before: &World, index: usize) -> Result<Vec<World>, Fault> {
        let thread = &before.threads[index];
        let drained = thread.stores.is_empty();
        let mut world = before.clone();
        let done = |mut world: World, result: i64| {
            self.finish(&mut world.threads[index], result);
            Ok(vec![world])
        };
        match self.instr(thread) {
            Instr::Load { place, .. } => {
                let loc = self.loc(thread, place)?;
                check(before, self.program, loc)?;
                let own = thread.stores.iter().rev().find(|store| store.loc == loc).map(|store| store.value);
                let value = own.unwrap_or_else(|| read(before, loc));
                done(world, value)
            }
            Instr::Store { place, value, ordering } => {
                let (loc, value) = (self.loc(thread, place)?, eval(thread, value)?);
                self.store(world, index, loc, value, *ordering)
            }
            Instr::Rmw { place, op, operand, .. } => {
                let (loc, operand) = (self.loc(thread, place)?, eval(thread, operand)?);
                if !drained {
                    return Ok(vec![]);
                }
                check(before, self.program, loc)?;
                let old = read(before, loc);
                world.memory.insert(loc, op.apply(old, operand));
                done(world, old)
            }
            Instr::Cas { place, expected, desired, .. } => {
                let loc = self.loc(thread, place)?;
                let (expected, desired) = (eval(thread, expected)?, eval(thread, desired)?);
                if !drained {
                    return Ok(vec![]);
                }
                check(before, self.program, loc)?;
                let old = read(before, loc);
                if old == expected {
                    world.memory.insert(loc, desired);
                }
                done(world, old)
            }
            Instr::Fence { ordering } => {
                if *ordering == Ordering::SeqCst && !drained {
                    return Ok(vec![]);
                }
                if matches!(ordering, Ordering::Release | Ordering::AcqRel) {
                    world.threads[index].barrier();
                }
                done(world, 0)
            }
            Instr::Yield => done(world, 0),
            Instr::Choose { low, high, .. } => {
                let values = eval(thread, low)?..eval(thread, high)?;
                values.map(|value| done(world.clone(), value)).try_fold(vec![], |all, one| Ok([all, one?].concat()))
            }
            Instr::Alloc { .. } => Err(("out-of-resources", "too many blocks are allocated".into())),
            Instr::Panic { message } => Err(("panic", message.clone())),
            Instr::Assign { value, .. } | Instr::Branch { condition: value, .. } => {
                Err(eval(thread, value).unwrap_err().into())
            }
            Instr::Assert { condition, message } => {
                eval(thread, condition)?;
                Err(("assertion", message.clone()))
            }
            Instr::Assume { condition } => Err(eval(thread, condition).unwrap_err().into()),
            instr => self.synchronise(world, index, instr, drained),
        }
    }

    fn store(
        &self,
        mut world: World,
        index: usize,
        loc: Loc,
        value: i64,
        ordering: Ordering,
    ) -> Result<Vec<World>, Fault> {
        let buffers = self.memory != MemoryModel::Sc;
        let waits = ordering != Ordering::SeqCst || self.seqcst_store_waits;
        if ordering == Ordering::SeqCst && !waits && !world.threads[index].stores.is_empty() {
            return Ok(vec![]);
        }
        check(&world, self.program, loc)?;
        let place = self.place_of(&world.threads[index]);
        if !buffers || !waits {
            world.memory.insert(loc, value);
            self.finish(&mut world.threads[index], 0);
            return Ok(vec![world]);
        }
        let thread = &mut world.threads[index];
        if matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst) {
            thread.barrier();
        }
        thread.stores.push_back(Store { loc, value, epoch: thread.epoch, place });
        if ordering == Ordering::SeqCst {
            self.remember(thread, 0);
            thread.phase = Phase::Fencing;
        } else {
            self.finish(thread, 0);
        }
        Ok(vec![world])
    }

    /// Locks, condition variables, threads, heap: all wait until the stores are out.
    fn synchronise(&self, mut world: World, index: usize, instr: &Instr, drained: bool) -> Result<Vec<World>, Fault> {
        let thread = world.threads[index].clone();
        let mut result = 0;
        match instr {
            Instr::Lock { lock, mode } => {
                let lock = indexed(&thread, lock)?;
                if !drained || !can_lock(&world, lock, *mode) {
                    return Ok(vec![]);
                }
                world.locks.entry(lock).or_default().push((index, *mode));
            }
            Instr::TryLock { lock, mode, .. } => {
                let lock = indexed(&thread, lock)?;
                if drained && can_lock(&world, lock, *mode) {
                    world.locks.entry(lock).or_default().push((index, *mode));
                    result = 1;
                }
            }
            Instr::Unlock { lock, mode } => {
                let lock = indexed(&thread, lock)?;
                if drained {
                    release(&mut world, lock, index, *mode)?;
                }
            }
            Instr::Wait { condvar, lock } => {
                return self.wait(world, index, indexed(&thread, condvar)?, indexed(&thread, lock)?);
            }
            Instr::Notify { condvar, all } => {
                let condvar = indexed(&thread, condvar)?;
                if drained {
                    return Ok(self.notify(world, index, condvar, *all));
                }
            }
            Instr::Fork { routine, arguments, .. } => {
                let arguments = arguments.iter().map(|expr| eval(&thread, expr)).collect::<Result<Vec<_>, _>>()?;
                let key = thread.key << 12 | (thread.forks + 1);
                world.threads[index].forks += 1;
                world.threads.push(self.thread(key, *routine, arguments, Phase::Running));
                result = key as i64;
            }
            Instr::Join { thread: handle } => {
                let key = eval(&thread, handle)?;
                if drained {
                    let Some(joined) = world.threads.iter().find(|other| other.key as i64 == key) else {
                        return Err(("invalid-join", format!("{} is not the handle of a thread", key as u64)));
                    };
                    if joined.phase != Phase::Ended {
                        return Ok(vec![]);
                    }
                }
            }
            Instr::Free { pointer } => {
                let loc = pointed_to(eval(&thread, pointer)?)?;
                if loc.block() != Some(loc) {
                    return Err(("invalid-pointer", "only what `new` returned can be freed".into()));
                }
                if drained {
                    if !world.freed.insert(loc) {
                        return Err(("use-after-free", format!("{loc} is freed a second time")));
                    }
                    world.memory.retain(|cell, _| cell.block() != Some(loc));
                }
            }
            Instr::End => {
                if drained {
                    world.threads[index].phase = Phase::Ended;
                    self.remember(&mut world.threads[index], 0);
                    return Ok(vec![world]);
                }
            }
            _ => unreachable!("the others were looked at before"),
        }
        if !drained {
            return Ok(vec![]);
        }
        self.finish(&mut world.threads[index], result);
        Ok(vec![world])
    }

    fn wait(&self, mut world: World, index: usize, condvar: u32, lock: u32) -> Result<Vec<World>, Fault> {
        let thread = &mut world.threads[index];
        if !thread.stores.is_empty() {
            return Ok(vec![]);
        }
        if thread.phase == Phase::Running {
            self.remember(thread, 0);
            thread.phase = Phase::Waiting;
            release(&mut world, lock, index, LockMode::Exclusive)?;
            world.sleeping.insert((condvar, index));
        } else {
            if world.sleeping.contains(&(condvar, index)) || !can_lock(&world, lock, LockMode::Exclusive) {
                return Ok(vec![]);
            }
            world.locks.entry(lock).or_default().push((index, LockMode::Exclusive));
            world.threads[index].phase = Phase::Running;
            self.finish(&mut world.threads[index], 0);
        }
        Ok(vec![world])
    }

    fn notify(&self, mut world: World, index: usize, condvar: u32, all: bool) -> Vec<World> {
        self.finish(&mut world.threads[index], 0);
        let sleepers: Vec<_> = world.sleeping.iter().filter(|sleeper| sleeper.0 == condvar).copied().collect();
        if all || sleepers.is_empty() {
            world.sleeping.retain(|sleeper| sleeper.0 != condvar);
            return vec![world];
        }
        let wake = |sleeper: &(u32, usize)| {
            let mut world = world.clone();
            world.sleeping.remove(sleeper);
            world
        };
        sleepers.iter().map(wake).collect()
    }

    /// Nothing can happen any more.
    fn dead_end(&mut self, world: &World) {
        let any = |phase: Phase| world.threads.iter().any(|thread| thread.phase == phase);
        if any(Phase::Stopped) {
            return;
        }
        let mut histories: Vec<_> = world.threads.iter().map(|thread| (thread.key, thread.history.clone())).collect();
        histories.sort();
        self.behaviour.histories.insert(histories);
        if any(Phase::Failed) {
            return;
        }
        let blocked = world.threads.iter().filter(|thread| !matches!(thread.phase, Phase::Ended | Phase::Last));
        let mut blocked: Vec<String> = blocked.map(|thread| self.name(thread)).collect();
        blocked.sort();
        if !blocked.is_empty() {
            self.behaviour.deadlocks.insert(blocked);
            return;
        }
        self.finished(world);
    }

    fn finished(&mut self, world: &World) {
        let cells: Vec<i64> = (0..self.program.cells.len()).map(|index| read(world, Loc::global(index))).collect();
        let heap = world.memory.iter().filter(|(loc, value)| loc.as_global().is_none() && **value != 0);
        let registers = self.program.initial.iter().zip(&world.threads).map(|(start, thread)| {
            let observed = self.program.routines[start.routine].observed.iter();
            observed.map(|reg| thread.registers[reg.0 as usize]).collect()
        });
        for (index, condition) in self.program.conditions.iter().enumerate() {
            let holds = condition.proposition.eval(&|leaf| match leaf {
                unthread_checker::program::FinalValue::Memory(loc) => read(world, loc),
                unthread_checker::program::FinalValue::Register { thread, register } => {
                    world.threads[thread].registers[register.0 as usize]
                }
            });
            if (holds.is_ok_and(|value| value != 0)) != (condition.quantifier == Quantifier::Always) {
                self.behaviour.conditions.insert(index);
            }
        }
        let heap = heap.map(|(&loc, &value)| (loc, value)).collect();
        self.behaviour.final_states.insert(FinalState { cells, heap, registers: registers.collect() });
    }

    /// Two accesses to a plain cell that can be the next two things to happen, one of them a write. An access is an
    /// instruction, or a store on its way to memory.
    fn note_races(&mut self, world: &World) {
        let mut accesses = Vec::new();
        for (index, thread) in world.threads.iter().enumerate() {
            if thread.phase == Phase::Running
                && let Some((loc, writes, plain)) = self.next_access(thread)
            {
                accesses.push((index, loc, writes, plain));
            }
            for store in self.flushable(thread).into_iter().map(|at| &thread.stores[at]) {
                accesses.push((index, store.loc, true, self.is_plain(store.loc)));
            }
        }
        for (at, first) in accesses.iter().enumerate() {
            for second in &accesses[at + 1..] {
                if first.0 != second.0 && first.1 == second.1 && (first.2 || second.2) && (first.3 || second.3) {
                    let name = |index: usize| self.name(&world.threads[index]);
                    let mut pair = [name(first.0), name(second.0)];
                    pair.sort();
                    let [first, second] = pair;
                    self.behaviour.races.insert((first, second));
                }
            }
        }
    }

    fn next_access(&self, thread: &Thread) -> Option<(Loc, bool, bool)> {
        let (place, writes, is_rmw) = match self.instr(thread) {
            Instr::Load { place, .. } => (place, false, false),
            Instr::Store { place, .. } => (place, true, false),
            Instr::Rmw { place, .. } | Instr::Cas { place, .. } => (place, true, true),
            _ => return None,
        };
        let mut can_be_evaluated = true;
        self.instr(thread).for_each_expr(&mut |expr| can_be_evaluated &= eval(thread, expr).is_ok());
        let loc = self.loc(thread, place).ok().filter(|_| can_be_evaluated)?;
        Some((loc, writes, !is_rmw && self.is_plain(loc)))
    }

    fn is_plain(&self, loc: Loc) -> bool {
        let cell = loc.as_global().and_then(|index| self.program.cells.get(index));
        cell.is_some_and(|cell| cell.access == Access::Plain)
    }

    fn loc(&self, thread: &Thread, place: &Place) -> Result<Loc, Fault> {
        match place {
            Place::Cell(cell) => Ok(Loc::global(*cell as usize)),
            Place::Element { base, length, index } => {
                let index = in_bounds(eval(thread, index)?, *length)?;
                Ok(Loc::global((base + index) as usize))
            }
            Place::Deref { pointer, offset, .. } => Ok(pointed_to(eval(thread, pointer)?)?.offset(*offset)),
        }
    }
}

impl Thread {
    /// Later stores go after those that wait now.
    fn barrier(&mut self) {
        self.epoch = if self.stores.is_empty() { 0 } else { self.epoch + 1 };
    }
}

/// Division by zero, the one thing that can be wrong with an expression.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DividesByZero;

impl From<DividesByZero> for Fault {
    fn from(_: DividesByZero) -> Fault {
        ("division-by-zero", "division by zero".into())
    }
}

fn eval(thread: &Thread, expr: &Expr) -> Result<i64, DividesByZero> {
    expr.eval(&|reg: Reg| thread.registers[reg.0 as usize]).map_err(|_| DividesByZero)
}

fn read(world: &World, loc: Loc) -> i64 {
    world.memory.get(&loc).copied().unwrap_or(0)
}

fn check(world: &World, program: &Program, loc: Loc) -> Result<(), Fault> {
    match (loc.as_global(), loc.block()) {
        (Some(index), _) if index >= program.cells.len() => {
            Err(("invalid-pointer", "a pointer leads outside of memory".into()))
        }
        (_, Some(block)) if world.freed.contains(&block) => Err(("use-after-free", format!("{loc} has been freed"))),
        _ => Ok(()),
    }
}

fn pointed_to(value: i64) -> Result<Loc, Fault> {
    match Loc::from_pointer(value) {
        Some(loc) => Ok(loc),
        None if value == 0 => Err(("null-dereference", "a null pointer is used".into())),
        None => Err(("invalid-pointer", format!("{value} is not a pointer"))),
    }
}

fn in_bounds(index: i64, length: u32) -> Result<u32, Fault> {
    match u32::try_from(index) {
        Ok(index) if index < length => Ok(index),
        _ => Err(("out-of-bounds", format!("index {index} is out of bounds: there are {length} elements"))),
    }
}

fn indexed(thread: &Thread, at: &Indexed) -> Result<u32, Fault> {
    Ok(at.base + in_bounds(eval(thread, &at.index)?, at.length)?)
}

fn can_lock(world: &World, lock: u32, mode: LockMode) -> bool {
    let holders = world.locks.get(&lock).into_iter().flatten();
    holders.into_iter().all(|holder| mode == LockMode::Shared && holder.1 == LockMode::Shared)
}

fn release(world: &mut World, lock: u32, thread: usize, mode: LockMode) -> Result<(), Fault> {
    let holders = world.locks.entry(lock).or_default();
    match holders.iter().position(|&holder| holder == (thread, mode)) {
        Some(at) => drop(holders.remove(at)),
        None => return Err(("lock-misuse", "a lock is released that the thread does not hold".into())),
    }
    Ok(())
}
