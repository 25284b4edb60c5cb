//! Generated programs, once interpreted and once as Rust code on coroutines: the same histories and the same deadlocks, under every
//! memory model and with every engine that closures have.

use std::cell::UnsafeCell;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use unthread::model::{Builder, Engine, MemoryModel, StopReason};
use unthread::sync::RwLock;
use unthread::sync::atomic::{AtomicI64, Ordering, fence};
use unthread::thread;
use unthread_checker::engines::check;
use unthread_checker::engines::states::exhaustive;
use unthread_checker::execution::interpret;
use unthread_checker::program;
use unthread_checker::program::{Access, LockMode, RmwOp};
use unthread_checker::search::{Options, Unwatched, ViolationKind};
use unthread_generate::{Features, PlaceSketch, Sketch, Statement, Test, Value, Var, cases, for_all, sketches};

/// What the threads of one execution read.
pub(crate) type Histories = Vec<Vec<i64>>;

#[test]
fn generated_programs_do_the_same_as_closures() {
    compare_generated(Engine::Dpor);
}

#[test]
fn generated_programs_do_the_same_as_closures_with_mcr() {
    compare_generated(Engine::Mcr);
}

#[test]
fn generated_programs_do_the_same_as_closures_with_graph() {
    compare_generated(Engine::Graph);
}

#[test]
fn generated_programs_do_the_same_as_closures_with_cumulative() {
    compare_generated(Engine::Cumulative);
}

/// Memory that is used by way of `from_ptr` is an atomic like any other, and holds what was stored to it.
#[test]
fn generated_programs_do_the_same_in_memory() {
    compare_all(Engine::Dpor, Cells::in_memory);
}

/// A read-modify-write that changes nothing counts as a read in a closure, and not in a program. Everything else is the same to `dpor`, and threads that are
/// forked instead of being there from the start, and joined, have no more orders.
#[test]
fn dpor_needs_as_many_executions_for_a_closure_as_for_its_interpreted_twin() {
    let features = Features { locks: true, control: true, ..Features::MEMORY };
    let (cases, compared) = (cases(500), AtomicU32::new(0));
    for_all(sketches(features), cases, |sketch| {
        if sketch.any(|statement| is_left_out(statement) || matches!(statement, Statement::Rmw { .. })) {
            return Ok(());
        }
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| {
            let mut options = Options { engine: Engine::Dpor, ..Options::new(memory) };
            options.limits.executions = 5000;
            let interpreted = check(&sketch.program(), &options, &Unwatched);
            let (notes, shared): (Arc<Mutex<BTreeSet<Histories>>>, _) = (Arc::default(), Arc::new(sketch.clone()));
            let mut builder = Builder::new();
            builder.max_permutations = Some(5000);
            let run = builder.memory(memory).engine(Engine::Dpor).report(move || run(&shared, &notes, Cells::atomics));
            if [&interpreted.stop, &run.stop] != [&StopReason::Exhausted; 2] {
                return Ok(());
            }
            compared.fetch_add(1, Relaxed);
            match (interpreted.statistics.executions, run.statistics.executions) {
                (a, b) if a == b => Ok(()),
                (a, b) => Err(format!("{memory}: {a} executions of the program, {b} of the closure")),
            }
        })
    });
    let compared = compared.into_inner();
    assert!(compared >= cases / 2, "only {compared} reports were compared");
}

fn compare_generated(engine: Engine) {
    compare_all(engine, Cells::atomics);
}

fn compare_all(engine: Engine, make: fn(&Sketch) -> Cells) {
    let features = Features { locks: true, control: true, ..Features::MEMORY };
    let (cases, compared) = (cases(1000), AtomicU32::new(0));
    for_all(sketches(features), cases, |sketch| {
        if sketch.any(is_left_out) {
            return Ok(());
        }
        compared.fetch_add(1, Relaxed);
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| compare(sketch, memory, engine, make))
    });
    let compared = compared.into_inner();
    assert!(compared >= cases / 4, "only {compared} of {cases} programs were compared");
}

/// What closures do not do, or do with other steps.
fn is_left_out(statement: &Statement) -> bool {
    let elsewhere = |place: &PlaceSketch| !matches!(place, PlaceSketch::Cell(_));
    match statement {
        Statement::Load { place, .. }
        | Statement::Store { place, .. }
        | Statement::Rmw { place, .. }
        | Statement::Cas { place, .. } => elsewhere(place),
        Statement::Fence(ordering) => *ordering == program::Ordering::Relaxed,
        Statement::Assign { .. } | Statement::Assume(_) | Statement::If { .. } | Statement::Repeat { .. } => false,
        Statement::Choose { high, .. } => *high < 1,
        Statement::Locked { .. } | Statement::TryLocked { .. } => false,
        _ => true,
    }
}

fn compare(sketch: &Sketch, memory: MemoryModel, engine: Engine, make: fn(&Sketch) -> Cells) -> Result<(), String> {
    let program = sketch.program();
    let options = Options { all_violations: true, ..Options::new(memory) };
    let interpreter = interpret(&program);
    let Some(histories) = exhaustive::histories(&interpreter, &options, 20_000, &Unwatched) else { return Ok(()) };
    let expected: BTreeSet<Histories> = histories
        .combinations()
        .into_iter()
        .map(|combination| combination.into_iter().map(|(_, results)| results).collect())
        .collect();
    let deadlocks = |violations: &[unthread_checker::search::Violation]| {
        violations.iter().any(|violation| violation.kind == ViolationKind::Deadlock)
    };
    let deadlock_expected = deadlocks(&check(&program, &options, &Unwatched).violations);

    let seen: Arc<Mutex<BTreeSet<Histories>>> = Arc::default();
    let (notes, shared) = (seen.clone(), Arc::new(sketch.clone()));
    let mut builder = Builder::new();
    builder.max_permutations = Some(20_000);
    let report = builder.memory(memory).engine(engine).report(move || run(&shared, &notes, make));
    if report.engine != engine {
        return Err(format!("{memory}: {} is not up to it", engine.name()));
    }
    match report.stop {
        StopReason::ExecutionLimit => return Ok(()),
        StopReason::Violation => {
            let as_expected = deadlock_expected && deadlocks(&report.violations);
            return as_expected.then_some(()).ok_or_else(|| format!("{memory}: {report:?}"));
        }
        StopReason::Exhausted | StopReason::NoExecution if !deadlock_expected => {}
        _ => return Err(format!("{memory}: a deadlock is missing: {report:?}")),
    }
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    if seen == expected {
        return Ok(());
    }
    let (missing, extra): (Vec<_>, Vec<_>) =
        (expected.difference(&seen).take(3).collect(), seen.difference(&expected).take(3).collect());
    Err(format!("{memory}: missing {missing:?}, too many {extra:?}"))
}

/// One execution of a sketch as Rust code.
pub(crate) fn run(sketch: &Arc<Sketch>, seen: &Mutex<BTreeSet<Histories>>, make: fn(&Sketch) -> Cells) {
    #[expect(clippy::arc_with_non_send_sync, reason = "threads are coroutines of one thread")]
    let world = Arc::new(World {
        cells: make(sketch),
        plain: sketch.cells.iter().map(|cell| (cell.access == Access::Plain).then(Plain::default)).collect(),
        locks: std::array::from_fn(|_| RwLock::new(())),
    });
    let threads: Vec<_> = (0..sketch.threads.len())
        .map(|index| {
            let (sketch, world) = (sketch.clone(), world.clone());
            thread::spawn(move || {
                let mut thread = Thread { world: &world, registers: [0; 4], history: Vec::new() };
                thread.body(&sketch.threads[index].body);
                // The end of a thread is an operation, too.
                thread.history.push(0);
                thread.history
            })
        })
        .collect();
    let histories = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    seen.lock().unwrap().insert(histories);
}

/// Cells: atomics, or memory that is used as such.
pub(crate) enum Cells {
    Atomics(Vec<AtomicI64>),
    InMemory(Vec<UnsafeCell<i64>>),
}

impl Cells {
    pub(crate) fn atomics(sketch: &Sketch) -> Cells {
        Cells::Atomics(sketch.cells.iter().map(|cell| AtomicI64::new(cell.initial)).collect())
    }

    fn in_memory(sketch: &Sketch) -> Cells {
        Cells::InMemory(sketch.cells.iter().map(|cell| UnsafeCell::new(cell.initial)).collect())
    }

    fn get(&self, index: usize) -> &AtomicI64 {
        match self {
            Cells::Atomics(cells) => &cells[index % cells.len()],
            Cells::InMemory(cells) => unsafe { AtomicI64::from_ptr(cells[index % cells.len()].get()) },
        }
    }
}

/// Data that is no atomic.
type Plain = unthread::cell::UnsafeCell<i64>;

struct World {
    cells: Cells,
    plain: Vec<Option<Plain>>,
    locks: [RwLock<()>; 3],
}

impl World {
    fn plain(&self, place: &PlaceSketch) -> Option<&Plain> {
        match place {
            PlaceSketch::Cell(index) => self.plain[index % self.plain.len()].as_ref(),
            _ => None,
        }
    }
}

struct Thread<'w> {
    world: &'w World,
    registers: [i64; 4],
    history: Vec<i64>,
}

impl Thread<'_> {
    fn body(&mut self, body: &[Statement]) {
        body.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Statement) {
        let world = self.world;
        let cell = |place: &PlaceSketch| match place {
            PlaceSketch::Cell(index) => world.cells.get(*index),
            _ => unreachable!("left out"),
        };
        match statement {
            Statement::Load { dst, place, ordering } => {
                let value = match world.plain(place) {
                    Some(data) => data.with(|data| unsafe { *data }),
                    None => cell(place).load(of_read(*ordering)),
                };
                self.result(*dst, value);
            }
            Statement::Store { place, value, ordering } => {
                let order = match ordering {
                    program::Ordering::SeqCst => Ordering::SeqCst,
                    program::Ordering::Release | program::Ordering::AcqRel => Ordering::Release,
                    _ => Ordering::Relaxed,
                };
                let value = self.value(value);
                match world.plain(place) {
                    Some(data) => data.with_mut(|data| unsafe { *data = value }),
                    None => cell(place).store(value, order),
                }
                self.history.push(0);
            }
            Statement::Rmw { dst, place, op, operand, ordering } => {
                let old = update(cell(place), *op, self.value(operand), of_update(*ordering));
                self.result(*dst, old);
            }
            Statement::Cas { dst, place, expected, desired, ordering, failure } => {
                let (expected, desired) = (self.value(expected), self.value(desired));
                let orders = (of_update(*ordering), of_read(*failure));
                let old = cell(place).compare_exchange(expected, desired, orders.0, orders.1);
                self.result(*dst, old.unwrap_or_else(|old| old));
            }
            Statement::Fence(ordering) => {
                fence(match ordering {
                    program::Ordering::Acquire => Ordering::Acquire,
                    program::Ordering::Release => Ordering::Release,
                    program::Ordering::AcqRel => Ordering::AcqRel,
                    _ => Ordering::SeqCst,
                });
                self.history.push(0);
            }
            Statement::Assign { dst, value } => self.registers[register(*dst)] = self.value(value),
            Statement::Choose { dst, high } => {
                let value = unthread::choose(0..*high as usize) as i64;
                self.result(*dst, value);
            }
            Statement::Assume(test) => unthread::assume(self.test(test)),
            Statement::If { test, then, otherwise } => {
                let body = if self.test(test) { then } else { otherwise };
                self.body(body);
            }
            Statement::Repeat { times, body } => (0..*times).for_each(|_| self.body(body)),
            Statement::Locked { lock, mode, body } => {
                let lock = &world.locks[*lock as usize];
                match mode {
                    LockMode::Shared => self.holding(lock.read().unwrap(), 0, body),
                    LockMode::Exclusive => self.holding(lock.write().unwrap(), 0, body),
                }
            }
            Statement::TryLocked { lock, mode, body } => {
                let lock = &world.locks[*lock as usize];
                match (mode, lock) {
                    (LockMode::Shared, lock) => match lock.try_read() {
                        Ok(guard) => self.holding(guard, 1, body),
                        Err(_) => self.history.push(0),
                    },
                    (LockMode::Exclusive, lock) => match lock.try_write() {
                        Ok(guard) => self.holding(guard, 1, body),
                        Err(_) => self.history.push(0),
                    },
                }
            }
            _ => unreachable!("left out"),
        }
    }

    /// The body of a lock, which has been taken with this result.
    fn holding<G>(&mut self, guard: G, result: i64, body: &[Statement]) {
        self.history.push(result);
        self.body(body);
        drop(guard);
        self.history.push(0);
    }

    fn result(&mut self, dst: Var, value: i64) {
        self.registers[register(dst)] = value;
        self.history.push(value);
    }

    fn value(&self, value: &Value) -> i64 {
        match *value {
            Value::Const(value) => value,
            Value::Var(of) => self.registers[register(of)],
            Value::Plus(of, by) => self.registers[register(of)].wrapping_add(by),
            Value::Quotient(..) | Value::AddressOf(_) => unreachable!("there are no faults and no pointers"),
        }
    }

    fn test(&self, test: &Test) -> bool {
        (self.registers[register(test.var)] == test.value) == test.equal
    }
}

fn register(var: Var) -> usize {
    match var {
        Var::P => 0,
        Var::R(index) => 1 + usize::from(index % 3),
    }
}

fn of_read(ordering: program::Ordering) -> Ordering {
    match ordering {
        program::Ordering::SeqCst => Ordering::SeqCst,
        program::Ordering::Acquire | program::Ordering::AcqRel => Ordering::Acquire,
        _ => Ordering::Relaxed,
    }
}

fn of_update(ordering: program::Ordering) -> Ordering {
    match ordering {
        program::Ordering::Release => Ordering::Release,
        program::Ordering::AcqRel => Ordering::AcqRel,
        ordering => of_read(ordering),
    }
}

fn update(cell: &AtomicI64, op: RmwOp, operand: i64, order: Ordering) -> i64 {
    match op {
        RmwOp::Swap => cell.swap(operand, order),
        RmwOp::Add => cell.fetch_add(operand, order),
        RmwOp::Sub => cell.fetch_sub(operand, order),
        RmwOp::And => cell.fetch_and(operand, order),
        RmwOp::Or => cell.fetch_or(operand, order),
        RmwOp::Xor => cell.fetch_xor(operand, order),
        RmwOp::Nand => cell.fetch_nand(operand, order),
        RmwOp::Max => cell.fetch_max(operand, order),
        RmwOp::Min => cell.fetch_min(operand, order),
        _ => unreachable!("not generated"),
    }
}
