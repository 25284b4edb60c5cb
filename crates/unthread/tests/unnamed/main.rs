//! Objects that constant expressions made, in a program with the system's allocator: wherever they are, threads see the same as if all had names from the start.
//!
//! The other tests run with `alloc::Allocator`, which knows about the heap. Here, what is on the heap is named by numbers that threads draw.

// Constant objects in memory that was freed cannot be told from new ones without the allocator: see the guide's limits.
// SAFETY: as in the other tests.
#[allow(clippy::undocumented_unsafe_blocks)]
#[cfg(any(not(feature = "const-new"), feature = "global-allocator"))]
#[path = "../it/lifetimes.rs"]
mod lifetimes;

// SAFETY: as above.
#[allow(clippy::undocumented_unsafe_blocks)]
#[cfg(any(not(feature = "const-new"), feature = "global-allocator"))]
#[path = "../it/generated_lifetimes.rs"]
mod generated_lifetimes;

use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use unthread::model::{Builder, Engine, MemoryModel, StopReason};
use unthread::sync::atomic::{AtomicI64, Ordering::*};
use unthread::sync::{Arc, Mutex};
use unthread::thread;
use unthread_generate::{cases, check_all};

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
    /// In blocks of which nothing is known.
    Boxed,
    /// On the stack of the main thread.
    Stack,
}

struct World<'p> {
    pairs: [&'p Pair; OBJECTS],
    slot: &'p Mutex<Option<AtomicI64>>,
}

impl World<'_> {
    fn run(&self, commands: &[Command]) -> Vec<i64> {
        commands.iter().map(|&command| self.perform(command)).collect()
    }

    fn perform(&self, command: Command) -> i64 {
        let number = |object: usize| &self.pairs[object].number;
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
            Command::Lock(object) => add(&mut self.pairs[object].locked.lock().unwrap()),
            Command::TryLock(object) => self.pairs[object].locked.try_lock().map_or(-1, |mut locked| add(&mut locked)),
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
        let world = World { pairs: pairs.each_ref(), slot: &slot };
        return thread::scope(|scope| {
            let threads: Vec<_> = script.iter().map(|commands| scope.spawn(|| world.run(commands))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
    }
    let make = if place == Where::Named { Pair::named_at_once } else { Pair::new };
    let shared = Arc::new(std::array::from_fn::<_, OBJECTS, _>(|_| make()));
    let boxed = StdArc::new(std::array::from_fn::<_, OBJECTS, _>(|_| Box::new(make())));
    let begin = |commands: Vec<Command>| {
        let (shared, boxed, slot) = (shared.clone(), boxed.clone(), slot.clone());
        thread::spawn(move || {
            let pairs = std::array::from_fn(|nth| if place == Where::Boxed { &*boxed[nth] } else { &shared[nth] });
            World { pairs, slot: &slot }.run(&commands)
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
    for place in [Where::Shared, Where::Boxed, Where::Stack] {
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
        MemoryModel::ALL.into_iter().try_for_each(|memory| compare(script, memory, engine))
    });
}

#[test]
fn objects_without_names_are_the_same_wherever_they_are() {
    compare_all(Engine::Dpor, 150);
}

#[test]
fn objects_without_names_are_the_same_with_mcr() {
    compare_all(Engine::Mcr, 100);
}

#[test]
fn objects_without_names_are_the_same_with_cumulative() {
    compare_all(Engine::Cumulative, 100);
}

/// Every order of all steps, for scripts that are small enough.
#[test]
fn objects_without_names_are_the_same_step_by_step() {
    compare_all(Engine::Exhaustive, 60);
}

/// Store buffering. With feature `global-allocator` it is known which thread has the memory of a box.
#[test]
fn numbers_are_drawn_for_what_is_on_the_heap_and_nowhere_else() {
    let script = vec![vec![Command::Store(0, 1), Command::Load(1)], vec![Command::Store(1, 1), Command::Load(0)]];
    let executions = |place| outcomes(&script, MemoryModel::Tso, Engine::Dpor, place).unwrap().1;
    for place in [Where::Named, Where::Shared, Where::Stack] {
        assert_eq!(executions(place), 4, "{place:?}");
    }
    assert_eq!(executions(Where::Boxed) == 4, cfg!(feature = "global-allocator"));
}

/// A process has one environment, so the test runs its binary again.
#[test]
fn the_line_about_a_check_says_for_what_numbers_were_drawn() {
    const INNER: &str = "UNTHREAD_TEST_INNER";
    if std::env::var_os(INNER).is_some() {
        return unthread::model(|| {
            let number = StdArc::new(AtomicI64::const_new(0));
            let other = {
                let number = number.clone();
                thread::spawn(move || number.load(Relaxed))
            };
            number.load(Relaxed);
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
