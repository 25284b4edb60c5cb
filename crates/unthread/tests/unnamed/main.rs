//! Objects that constant expressions made, in a program with the system's allocator: wherever they are, threads see the same as if all had names from the start, or are told that it cannot be known.
//!
//! The other tests run with `alloc::Allocator`, which knows about the heap. Here, with the system's, objects on the heap have names only if threads made them, and memory of the code under test is
//! named by numbers that threads draw.

// SAFETY: as in the other tests.
#[allow(clippy::undocumented_unsafe_blocks)]
#[path = "../it/lifetimes.rs"]
mod lifetimes;

// SAFETY: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
#[path = "../it/generated_lifetimes.rs"]
mod generated_lifetimes;

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use unthread::model::{Builder, Engine, MemoryModel, StopReason, Verdict};
use unthread::sync::atomic::{AtomicI64, Ordering::*};
use unthread::sync::{Arc, Mutex};
use unthread::thread;
use unthread_generate::{cases, check_all};

/// Whether the check knows what is on the heap.
const KNOWS_THE_HEAP: bool = cfg!(any(not(feature = "const-new"), feature = "global-allocator"));

/// What a thread does to one of the objects.
#[derive(Clone, Copy, Debug)]
enum Command {
    Load(usize),
    Store(usize, i64),
    Add(usize),
    Exchange(usize, i64),
    /// Adds under a lock.
    Lock(usize),
    TryLock(usize),
    /// Puts a new object into a slot, under the slot's lock.
    Put(i64),
    /// Uses the object in the slot, if there is one.
    Use,
}

const OBJECTS: usize = 2;

/// One list of commands for each thread.
type Script = Vec<Vec<Command>>;

fn scripts() -> impl Strategy<Value = Script> {
    let object = || 0..OBJECTS;
    let command = prop_oneof![
        3 => object().prop_map(Command::Load),
        3 => (object(), 1..3i64).prop_map(|(object, value)| Command::Store(object, value)),
        2 => object().prop_map(Command::Add),
        1 => (object(), 1..3i64).prop_map(|(object, value)| Command::Exchange(object, value)),
        1 => object().prop_map(Command::Lock),
        1 => object().prop_map(Command::TryLock),
        1 => (5..7i64).prop_map(Command::Put),
        2 => Just(Command::Use),
    ];
    prop::collection::vec(prop::collection::vec(command, 1..4), 2..4)
}

/// Objects that nobody has used.
struct Pair {
    number: AtomicI64,
    locked: Mutex<i64>,
}

impl Pair {
    const fn new() -> Pair {
        Pair { number: AtomicI64::const_new(0), locked: Mutex::const_new(0) }
    }

    fn named_at_once() -> Pair {
        Pair { number: AtomicI64::new(0), locked: Mutex::new(0) }
    }
}

/// Where the objects are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Where {
    /// In an `Arc`, with names from the start (unless `new` is constant, too).
    Named,
    /// Side by side in an `Arc`.
    Shared,
    /// In boxes.
    Boxed,
    /// On the stack of the main thread.
    Stack,
    /// Atomics that stand for numbers in boxes.
    Raw,
}

/// A number in a box.
struct Raw(*mut i64);

// SAFETY: it is used as an atomic.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the last one that knows of the box drops it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

struct World<'p> {
    numbers: [&'p AtomicI64; OBJECTS],
    locks: [&'p Mutex<i64>; OBJECTS],
    slot: &'p Mutex<Option<AtomicI64>>,
}

impl<'p> World<'p> {
    fn of(pairs: [&'p Pair; OBJECTS], slot: &'p Mutex<Option<AtomicI64>>) -> World<'p> {
        World { numbers: pairs.map(|pair| &pair.number), locks: pairs.map(|pair| &pair.locked), slot }
    }

    fn run(&self, commands: &[Command]) -> Vec<i64> {
        commands.iter().map(|&command| self.perform(command)).collect()
    }

    fn perform(&self, command: Command) -> i64 {
        let number = |object: usize| self.numbers[object];
        let add = |locked: &mut i64| {
            *locked += 1;
            *locked
        };
        match command {
            Command::Load(object) => number(object).load(Relaxed),
            Command::Store(object, value) => {
                number(object).store(value, Relaxed);
                0
            }
            Command::Add(object) => number(object).fetch_add(1, Relaxed),
            Command::Exchange(object, value) => {
                number(object).compare_exchange(0, value, Relaxed, Relaxed).unwrap_or_else(|old| old)
            }
            Command::Lock(object) => add(&mut self.locks[object].lock().unwrap()),
            Command::TryLock(object) => self.locks[object].try_lock().map_or(-1, |mut locked| add(&mut locked)),
            Command::Put(value) => {
                let before = self.slot.lock().unwrap().replace(AtomicI64::const_new(value));
                before.map_or(-1, AtomicI64::into_inner)
            }
            Command::Use => self.slot.lock().unwrap().as_ref().map_or(-1, |number| number.fetch_add(10, Relaxed)),
        }
    }
}

fn run(script: &StdArc<Script>, place: Where) -> Vec<Vec<i64>> {
    let slot = Arc::new(Mutex::const_new(None));
    if place == Where::Stack {
        let pairs = [const { Pair::new() }; OBJECTS];
        let world = World::of(pairs.each_ref(), &slot);
        return thread::scope(|scope| {
            let threads: Vec<_> = script.iter().map(|commands| scope.spawn(|| world.run(commands))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
    }
    let make = if place == Where::Named { Pair::named_at_once } else { Pair::new };
    let shared = Arc::new(std::array::from_fn::<_, OBJECTS, _>(|_| make()));
    let boxed = StdArc::new(std::array::from_fn::<_, OBJECTS, _>(|_| Box::new(make())));
    let raw = StdArc::new(std::array::from_fn::<_, OBJECTS, _>(|_| Raw(Box::into_raw(Box::new(0)))));
    let begin = |commands: Vec<Command>| {
        let (shared, boxed, raw, slot) = (shared.clone(), boxed.clone(), raw.clone(), slot.clone());
        thread::spawn(move || {
            let pairs = std::array::from_fn(|nth| if place == Where::Boxed { &*boxed[nth] } else { &shared[nth] });
            let mut world = World::of(pairs, &slot);
            if place == Where::Raw {
                // SAFETY: the numbers are there until all threads have ended, and nobody uses them in another way.
                world.numbers = std::array::from_fn(|nth| unsafe { AtomicI64::from_ptr(raw[nth].0) });
            }
            world.run(&commands)
        })
    };
    let threads: Vec<_> = script.iter().cloned().map(begin).collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// What threads see, and the executions that it took; nothing if there are too many.
fn outcomes(script: &Script, memory: MemoryModel, engine: Engine, place: Where) -> Option<Outcomes> {
    let (seen, shared): (StdArc<StdMutex<BTreeSet<_>>>, _) = (StdArc::default(), StdArc::new(script.clone()));
    let notes = seen.clone();
    let mut builder = Builder::new();
    builder.max_permutations = Some(if engine == Engine::Exhaustive { 3000 } else { 20_000 });
    let report = builder.memory(memory).engine(engine).report(move || {
        let outcome = run(&shared, place);
        notes.lock().unwrap().insert(outcome);
    });
    match report.stop {
        StopReason::Exhausted => Some((std::mem::take(&mut *seen.lock().unwrap()), report.statistics.executions)),
        StopReason::ExecutionLimit => None,
        _ => panic!("{place:?}, {memory}, {}: {report:?}", engine.name()),
    }
}

/// What the threads of each execution saw, and how many executions there were.
type Outcomes = (BTreeSet<Vec<Vec<i64>>>, u64);

fn compare(script: &Script, memory: MemoryModel, engine: Engine) -> Result<(), String> {
    let Some((expected, _)) = outcomes(script, memory, Engine::Dpor, Where::Named) else { return Ok(()) };
    for place in [Where::Shared, Where::Boxed, Where::Stack, Where::Raw] {
        if place == Where::Boxed && !cfg!(feature = "global-allocator") {
            continue;
        }
        let Some((seen, _)) = outcomes(script, memory, engine, place) else { continue };
        if seen != expected {
            let (missing, extra): (Vec<_>, Vec<_>) =
                (expected.difference(&seen).take(3).collect(), seen.difference(&expected).take(3).collect());
            return Err(format!("{place:?}, {memory}: missing {missing:?}, too many {extra:?}"));
        }
    }
    Ok(())
}

fn compare_all(engine: Engine, otherwise: u32) {
    check_all(scripts(), cases(otherwise), |script| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| compare(script, memory, engine))
    });
}

#[test]
fn objects_without_names_are_the_same_wherever_they_are() {
    compare_all(Engine::Dpor, 100);
}

#[test]
fn objects_without_names_are_the_same_with_mcr() {
    compare_all(Engine::Mcr, 50);
}

#[test]
fn objects_without_names_are_the_same_with_cumulative() {
    compare_all(Engine::Cumulative, 40);
}

/// Every order of all steps, for scripts that are small enough.
#[test]
fn objects_without_names_are_the_same_step_by_step() {
    compare_all(Engine::Exhaustive, 20);
}

const STORE_BUFFERING: [[Command; 2]; 2] =
    [[Command::Store(0, 1), Command::Load(1)], [Command::Store(1, 1), Command::Load(0)]];

/// With feature `global-allocator` it is known which thread has the memory of a box.
#[test]
fn numbers_are_drawn_for_memory_of_the_code_under_test_and_nowhere_else() {
    let script = STORE_BUFFERING.map(|commands| commands.to_vec()).to_vec();
    let executions = |place| outcomes(&script, MemoryModel::Tso, Engine::Dpor, place).unwrap().1;
    for place in [Where::Named, Where::Shared, Where::Stack] {
        assert_eq!(executions(place), 4, "{place:?}");
    }
    assert_eq!(executions(Where::Raw) == 4, cfg!(feature = "global-allocator"));
}

/// What is in a box may have been freed.
#[cfg(not(feature = "global-allocator"))]
#[test]
fn objects_without_names_on_the_heap_are_refused() {
    let engines = [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive];
    for (engine, memory) in engines.into_iter().flat_map(|engine| MemoryModel::MACHINES.map(|memory| (engine, memory)))
    {
        let script = StdArc::new(STORE_BUFFERING.map(|commands| commands.to_vec()).to_vec());
        let report = Builder::new().engine(engine).memory(memory).report(move || _ = run(&script, Where::Boxed));
        let [violation] = &report.violations[..] else { panic!("{engine:?}, {memory}: {report:#?}") };
        assert_eq!(violation.kind.name(), "unsupported");
        assert!(violation.message.contains("feature `global-allocator`"), "{}", violation.message);
    }
}

/// A thread that catches panics, or is joined by one that handles them, is refused all the same.
#[cfg(not(feature = "global-allocator"))]
#[test]
fn that_an_object_is_refused_cannot_be_handled() {
    let report = Builder::new().report(|| {
        let other = thread::spawn(|| {
            let number = Box::new(AtomicI64::const_new(0));
            _ = std::panic::catch_unwind(|| number.load(Relaxed));
        });
        _ = other.join();
    });
    assert_eq!(report.verdict(), Verdict::Violation, "{report:#?}");
}

/// A process has one environment, so the test runs its binary again.
#[test]
fn the_line_about_a_check_says_for_what_numbers_were_drawn() {
    const INNER: &str = "UNTHREAD_TEST_INNER";
    if std::env::var_os(INNER).is_some() {
        return unthread::model(|| {
            let number = StdArc::new(Raw(Box::into_raw(Box::new(0))));
            let other = {
                let number = number.clone();
                // SAFETY: the number is there until both threads are done with it.
                thread::spawn(move || unsafe { AtomicI64::from_ptr(number.0) }.load(Relaxed))
            };
            // SAFETY: as above.
            unsafe { AtomicI64::from_ptr(number.0) }.load(Relaxed);
            other.join().unwrap();
        });
    }
    let name = "the_line_about_a_check_says_for_what_numbers_were_drawn";
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let output =
        again.args(["--exact", name, "--nocapture"]).env(INNER, "1").env("UNTHREAD_LOG", "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(printed.contains("verified"), "{printed}");
    let says = printed.contains("the heap (AtomicI64 at") && printed.contains("unthread::alloc::Allocator");
    assert_eq!(says, !cfg!(feature = "global-allocator"), "{printed}");
}
