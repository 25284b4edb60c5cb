//! How sketches are generated. Weights lean towards what finds bugs: few cells, small values, loads and stores.

use crate::sketch::{
    Asked, CellSketch, ConditionSketch, LockName, Look, Parent, PlaceSketch, Sketch, Statement, Test, ThreadSketch,
    Value, Var,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::strategy::{BoxedStrategy, Union};
use unthread_checker::program::{Access, LockMode, Ordering, Quantifier, RmwOp};

/// What the generated programs contain, besides loads, stores, read-modify-writes and fences.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Most threads.
    pub threads: usize,
    /// Most statements of a thread, but for a few longer ones.
    pub statements: usize,
    /// Read-modify-writes, fences and orderings other than `Relaxed`.
    pub synchronisation: bool,
    /// Locks and condition variables.
    pub locks: bool,
    /// Most of them are one read-write lock.
    pub readers: bool,
    /// Pointers, allocation, arrays with a computed index.
    pub pointers: bool,
    /// Every thread begins with a block that it shares with others: made and published, or found.
    pub blocks: bool,
    /// Threads that fork and join.
    pub forks: bool,
    /// Branches, bounded loops, choices, assumptions.
    pub control: bool,
    /// Loops that read until something changes.
    pub spins: bool,
    /// Loops that try to change something until they do, and locks that are made of them.
    pub retries: bool,
    /// Assertions, panics, divisions.
    pub faults: bool,
    /// Plain cells, `finally`, conditions.
    pub questions: bool,
}

impl Features {
    /// Everything.
    pub const ALL: Features = Features {
        threads: 3,
        statements: 4,
        synchronisation: true,
        locks: true,
        readers: false,
        pointers: true,
        blocks: false,
        forks: true,
        control: true,
        spins: true,
        retries: false,
        faults: true,
        questions: true,
    };

    /// Straight-line code with loads, stores, read-modify-writes and fences only.
    pub const MEMORY: Features = Features {
        threads: 3,
        statements: 3,
        synchronisation: true,
        locks: false,
        readers: false,
        pointers: false,
        blocks: false,
        forks: false,
        control: false,
        spins: false,
        retries: false,
        faults: false,
        questions: false,
    };

    /// Heap blocks that are shared, used, waited for and freed by several threads: by chance alone threads hardly ever share one.
    pub const BLOCKS: Features = Features { pointers: true, blocks: true, spins: true, ..Features::MEMORY };

    /// Threads that share a lock, wait for one another while they do, and keep it or give it back; others want it alone.
    pub const READERS: Features =
        Features { locks: true, readers: true, spins: true, synchronisation: false, ..Features::MEMORY };

    /// Loops by exchanges and read-modify-writes, also around other loops, locks that are made of them, and questions about registers. Such loops may go on for ever.
    pub const RETRIES: Features =
        Features { control: true, spins: true, retries: true, faults: true, questions: true, ..Features::MEMORY };
}

/// Sketches with these features.
pub fn sketches(features: Features) -> BoxedStrategy<Sketch> {
    let thread = thread(features).boxed();
    // One thread shows little; a fourth is rare because it multiplies the states.
    let most = if features.forks { features.threads + 1 } else { features.threads };
    let threads = prop_oneof![
        2 => vec(thread.clone(), 1..=2),
        16 => vec(thread.clone(), 2..=features.threads),
        1 => vec(thread, most),
    ];
    let finally = match features.questions {
        true => prop_oneof![5 => Just(vec![]), 1 => vec(statement(features, 0), 1..=2)].boxed(),
        false => Just(vec![]).boxed(),
    };
    let condition = match features.questions {
        true => option::weighted(0.3, condition()).boxed(),
        false => Just(None).boxed(),
    };
    let observed = if features.questions { proptest::bool::weighted(0.8).boxed() } else { Just(true).boxed() };
    (cells(features), threads, finally, observed, condition)
        .prop_map(|(cells, mut threads, finally, observed, condition)| {
            for (index, thread) in threads.iter_mut().enumerate() {
                thread.name = format!("w{index}");
            }
            Sketch { cells, threads, finally, observed, condition }
        })
        .boxed()
}

fn cells(features: Features) -> BoxedStrategy<Vec<CellSketch>> {
    let access = match features.questions {
        true => prop_oneof![6 => Just(Access::Atomic), 1 => Just(Access::Plain)].boxed(),
        false => Just(Access::Atomic).boxed(),
    };
    let initial = if features.blocks { Just(0).boxed() } else { prop_oneof![5 => Just(0), 1 => Just(1)].boxed() };
    // The last one is for a block, where blocks are shared.
    let fewest = if features.blocks { 3 } else { 2 };
    vec((initial, access), fewest..=3)
        .prop_map(|cells| {
            let named = cells.into_iter().zip(["x", "y", "z"]);
            named.map(|((initial, access), name)| CellSketch { name, initial, access }).collect()
        })
        .boxed()
}

fn condition() -> impl Strategy<Value = ConditionSketch> {
    let quantifier = prop_oneof![Just(Quantifier::Exists), Just(Quantifier::Forbidden), Just(Quantifier::Always)];
    let asked =
        prop_oneof![(0..3usize).prop_map(Asked::Cell), (0..3usize, 0..3u8).prop_map(|(t, r)| Asked::Register(t, r))];
    (quantifier, vec((asked, 0..3i64), 1..=2)).prop_map(|(quantifier, all)| ConditionSketch { quantifier, all })
}

fn thread(features: Features) -> impl Strategy<Value = ThreadSketch> {
    let parent = (0..3usize, 0..3usize, any::<bool>()).prop_map(|(thread, at, join)| Parent { thread, at, join });
    let parent = if features.forks { option::weighted(0.3, parent).boxed() } else { Just(None).boxed() };
    let statement = statement(features, 2);
    let body = prop_oneof![
        10 => vec(statement.clone(), 1..=features.statements),
        1 => vec(statement, 1..=features.statements + 2),
    ];
    let start = if features.blocks { block().boxed() } else { Just(vec![]).boxed() };
    (parent, start, body).prop_map(|(parent, start, body)| {
        let body = [start, body].concat();
        ThreadSketch { name: String::new(), parent, body }
    })
}

/// A block that is shared through the last variable: made and published, or looked for there, once or until there is one.
fn block() -> impl Strategy<Value = Vec<Statement>> {
    let place = PlaceSketch::Cell(2);
    let make = vec![Statement::Alloc, relaxed_store(place, Value::Var(Var::P))];
    let find = vec![relaxed_load(Var::P, place)];
    let wait = Statement::Spin { place, value: 0, until_equal: false, yields: false };
    let find_later = vec![wait, relaxed_load(Var::P, place)];
    prop_oneof![3 => Just(make), 1 => Just(find), 3 => Just(find_later)]
}

fn relaxed_load(dst: Var, place: PlaceSketch) -> Statement {
    Statement::Load { dst, place, ordering: Ordering::Relaxed }
}

fn relaxed_store(place: PlaceSketch, value: Value) -> Statement {
    Statement::Store { place, value, ordering: Ordering::Relaxed }
}

fn statement(features: Features, depth: u32) -> BoxedStrategy<Statement> {
    let mut kinds: Vec<(u32, BoxedStrategy<Statement>)> = vec![(24, load(features)), (24, store(features))];
    if features.synchronisation {
        kinds.extend([(9, rmw(features)), (9, cas(features)), (6, ordering().prop_map(Statement::Fence).boxed())]);
    }
    if features.locks {
        kinds.extend(lock_statements(features, depth));
    }
    if features.pointers {
        kinds.extend([
            (4, Just(Statement::Alloc).boxed()),
            (2, Just(Statement::Free).boxed()),
            (2, (0..3usize).prop_map(|cell| Statement::Assign { dst: Var::P, value: Value::AddressOf(cell) }).boxed()),
        ]);
    }
    if features.blocks {
        let field = (0..2u8).prop_map(PlaceSketch::Target);
        let store = (field.clone(), value(features)).prop_map(|(place, value)| relaxed_store(place, value));
        let load = (var(), field).prop_map(|(dst, place)| relaxed_load(dst, place));
        kinds.extend([(24, store.boxed()), (16, load.boxed()), (16, Just(Statement::Free).boxed())]);
    }
    if features.control {
        kinds.extend(control_statements(features, depth));
    }
    if features.spins {
        let spin = (place(features), 0..3i64, any::<bool>(), any::<bool>());
        let spin =
            spin.prop_map(|(place, value, until_equal, yields)| Statement::Spin { place, value, until_equal, yields });
        kinds.push((4, spin.boxed()));
    }
    if features.retries && depth > 0 {
        kinds.extend([(12, retry(features, depth)), (6, spin_locked(features, depth))]);
    }
    if features.faults {
        kinds.extend([
            (6, test().prop_map(Statement::Assert).boxed()),
            (1, Just(Statement::Panic).boxed()),
            (1, (var(), var()).prop_map(|(dst, by)| Statement::Assign { dst, value: Value::Quotient(2, by) }).boxed()),
        ]);
    }
    if features.faults && features.forks {
        kinds.push((1, value(features).prop_map(Statement::Join).boxed()));
    }
    Union::new_weighted(kinds).boxed()
}

fn body(features: Features, depth: u32) -> BoxedStrategy<Vec<Statement>> {
    vec(statement(features, depth - 1), 0..=2).boxed()
}

/// A loop around anything.
fn retry(features: Features, depth: u32) -> BoxedStrategy<Statement> {
    let inside = prop_oneof![3 => Just(vec![]).boxed(), 1 => body(features, depth)];
    (inside, place(features), look(), 0..3i64, any::<bool>())
        .prop_map(|(body, place, look, value, until_equal)| {
            // Most wait until they have changed something.
            let (value, until_equal) = match look {
                Look::Cas { expected, .. } if value > 0 => (expected, until_equal),
                _ => (value, until_equal),
            };
            Statement::Retry { body, place, look, value, until_equal }
        })
        .boxed()
}

fn look() -> impl Strategy<Value = Look> {
    use RmwOp::{Add, And, Max, Or, Swap, Xor};
    let op = proptest::sample::select(vec![Swap, Swap, Or, And, Max, Xor, Add]);
    prop_oneof![
        1 => Just(Look::Load),
        4 => (op, 0..3i64).prop_map(|(op, operand)| Look::Rmw(op, operand)),
        4 => (0..2i64, 0..3i64).prop_map(|(expected, desired)| Look::Cas { expected, desired }),
    ]
}

fn spin_locked(features: Features, depth: u32) -> BoxedStrategy<Statement> {
    let take = prop_oneof![
        Just(Look::Cas { expected: 0, desired: 1 }),
        Just(Look::Rmw(RmwOp::Swap, 1)),
        Just(Look::Rmw(RmwOp::Or, 1)),
    ];
    (0..2usize, any::<bool>(), take, body(features, depth), any::<bool>())
        .prop_map(|(cell, looks, take, body, gives_back)| {
            let place = PlaceSketch::Cell(cell);
            Statement::SpinLocked { place, looks, take, body, gives_back }
        })
        .boxed()
}

fn lock_statements(features: Features, depth: u32) -> Vec<(u32, BoxedStrategy<Statement>)> {
    let kept = if features.readers { 20 } else { 1 };
    let mut kinds = vec![
        (kept, lock(features).prop_map(|(lock, mode)| Statement::Lock(lock, mode)).boxed()),
        (1, lock(features).prop_map(|(lock, mode)| Statement::Unlock(lock, mode)).boxed()),
        (1, (var(), lock(features)).prop_map(|(dst, (lock, mode))| Statement::TryLock { dst, lock, mode }).boxed()),
        (3, any::<bool>().prop_map(|all| Statement::Notify { all }).boxed()),
    ];
    if depth > 0 {
        let wait_test = option::weighted(0.5, (place(features), 0..2i64));
        kinds.extend([
            (
                8,
                (lock(features), body(features, depth))
                    .prop_map(|((lock, mode), body)| Statement::Locked { lock, mode, body })
                    .boxed(),
            ),
            (
                3,
                (lock(features), body(features, depth))
                    .prop_map(|((lock, mode), body)| Statement::TryLocked { lock, mode, body })
                    .boxed(),
            ),
            (
                3,
                (wait_test, body(features, depth))
                    .prop_map(|(test, body)| Statement::LockedWait { test, body })
                    .boxed(),
            ),
        ]);
    }
    kinds
}

fn control_statements(features: Features, depth: u32) -> Vec<(u32, BoxedStrategy<Statement>)> {
    let mut kinds = vec![
        (2, Just(Statement::Yield).boxed()),
        (2, (var(), value(features)).prop_map(|(dst, value)| Statement::Assign { dst, value }).boxed()),
        (3, (var(), 0..=2i64).prop_map(|(dst, high)| Statement::Choose { dst, high }).boxed()),
        (3, test().prop_map(Statement::Assume).boxed()),
    ];
    if depth > 0 {
        let branch = (test(), body(features, depth), body(features, depth));
        kinds.extend([
            (8, branch.prop_map(|(test, then, otherwise)| Statement::If { test, then, otherwise }).boxed()),
            (3, (1..=2u8, body(features, depth)).prop_map(|(times, body)| Statement::Repeat { times, body }).boxed()),
        ]);
    }
    kinds
}

fn load(features: Features) -> BoxedStrategy<Statement> {
    let dst = if features.pointers { prop_oneof![9 => var(), 1 => Just(Var::P)].boxed() } else { var().boxed() };
    (dst, place(features), memory_ordering(features))
        .prop_map(|(dst, place, ordering)| Statement::Load { dst, place, ordering })
        .boxed()
}

fn store(features: Features) -> BoxedStrategy<Statement> {
    (place(features), value(features), memory_ordering(features))
        .prop_map(|(place, value, ordering)| Statement::Store { place, value, ordering })
        .boxed()
}

fn rmw(features: Features) -> BoxedStrategy<Statement> {
    use RmwOp::{Add, And, Max, Min, Nand, Or, Sub, Swap, Xor};
    let op = proptest::sample::select(vec![Swap, Add, Add, Sub, And, Or, Xor, Nand, Max, Min]);
    (var(), place(features), op, value(features), ordering())
        .prop_map(|(dst, place, op, operand, ordering)| Statement::Rmw { dst, place, op, operand, ordering })
        .boxed()
}

fn cas(features: Features) -> BoxedStrategy<Statement> {
    (var(), place(features), value(features), value(features), ordering())
        .prop_map(|(dst, place, expected, desired, ordering)| Statement::Cas {
            dst,
            place,
            expected,
            desired,
            ordering,
            failure: ordering.on_failure(),
        })
        .boxed()
}

fn memory_ordering(features: Features) -> BoxedStrategy<Ordering> {
    match features.synchronisation {
        true => prop_oneof![3 => Just(Ordering::Relaxed), 1 => ordering()].boxed(),
        false => Just(Ordering::Relaxed).boxed(),
    }
}

fn ordering() -> impl Strategy<Value = Ordering> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    proptest::sample::select(vec![Relaxed, Acquire, Release, AcqRel, SeqCst])
}

fn place(features: Features) -> BoxedStrategy<PlaceSketch> {
    let cell = prop_oneof![3 => 0..2usize, 1 => Just(2)].prop_map(PlaceSketch::Cell).boxed();
    if !features.pointers {
        return cell;
    }
    let index = prop_oneof![
        4 => (0..2i64).prop_map(Value::Const),
        1 => Just(Value::Const(2)),
        3 => var().prop_map(Value::Var),
    ];
    prop_oneof![
        10 => cell,
        1 => index.prop_map(PlaceSketch::Element),
        2 => (0..2u8).prop_map(PlaceSketch::Target),
    ]
    .boxed()
}

fn value(features: Features) -> BoxedStrategy<Value> {
    let number = prop_oneof![
        6 => (0..3i64).prop_map(Value::Const),
        2 => (0..3u8).prop_map(|r| Value::Var(Var::R(r))),
        2 => (0..3u8).prop_map(|r| Value::Plus(Var::R(r), 1)),
    ];
    match features.pointers {
        true => prop_oneof![12 => number, 1 => Just(Value::Var(Var::P))].boxed(),
        false => number.boxed(),
    }
}

fn var() -> impl Strategy<Value = Var> {
    (0..3u8).prop_map(Var::R)
}

fn test() -> impl Strategy<Value = Test> {
    (var(), any::<bool>(), 0..3i64).prop_map(|(var, equal, value)| Test { var, equal, value })
}

fn lock(features: Features) -> impl Strategy<Value = (LockName, LockMode)> {
    let mutex = proptest::sample::select(vec![LockName::M, LockName::M, LockName::N]);
    let mode = proptest::sample::select(vec![LockMode::Exclusive, LockMode::Shared]);
    let (mutexes, others) = if features.readers { (1, 20) } else { (3, 1) };
    prop_oneof![
        mutexes => mutex.prop_map(|lock| (lock, LockMode::Exclusive)),
        others => mode.prop_map(|mode| (LockName::Rw, mode)),
    ]
}
