//! Programs for the memory models of the language: every ordering, fences, read-modify-writes and compare-exchanges,
//! plain cells, locks, forks and joins.
//!
//! Half of them are cycles: each thread accesses two cells of which its neighbours access one each, perhaps with
//! something in between. In such programs memory models differ; chance alone hardly ever makes one.

use crate::sketch::{CellSketch, LockName, Parent, PlaceSketch, Sketch, Statement, Test, ThreadSketch, Value, Var};
use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Union};
use unthread_checker::program::{Access, LockMode, Ordering, RmwOp};

/// What these programs contain besides loads, stores, read-modify-writes and fences.
#[derive(Clone, Copy, Debug)]
pub struct Language {
    /// Most threads.
    pub threads: usize,
    /// Most statements of a thread.
    pub statements: usize,
    /// Cells whose accesses race if nothing orders them.
    pub plain: bool,
    /// Mutexes and a read-write lock.
    pub locks: bool,
    /// Threads that wait for a condition variable and notify.
    pub waits: bool,
    /// Blocks that a thread allocates and publishes in `z`, and that others use and free.
    pub blocks: bool,
    /// Threads that fork and join.
    pub forks: bool,
    /// Branches, choices and assumptions.
    pub control: bool,
    /// Whether everything is `SeqCst`.
    pub all_seqcst: bool,
    /// Whether all are cycles.
    pub cycles: bool,
}

impl Language {
    /// Everything.
    pub const ALL: Language = Language {
        threads: 3,
        statements: 4,
        plain: true,
        locks: true,
        waits: false,
        blocks: false,
        forks: true,
        control: true,
        all_seqcst: false,
        cycles: false,
    };

    /// Loads, stores, read-modify-writes and fences.
    pub const ATOMICS: Language =
        Language { plain: false, locks: false, forks: false, control: false, ..Language::ALL };
}

/// Programs of the language.
pub fn language(of: Language) -> BoxedStrategy<Sketch> {
    let free = match of.blocks {
        true => {
            (maker(of), vec(body(of), 1..of.threads)).prop_map(|(maker, rest)| [vec![maker], rest].concat()).boxed()
        }
        false => vec(body(of), 2..=of.threads).boxed(),
    };
    let cycle = (2..=of.threads).prop_flat_map(move |threads| cycle(of, threads)).boxed();
    let threads = if of.blocks {
        free
    } else if of.cycles {
        cycle
    } else {
        prop_oneof![free, cycle].boxed()
    };
    let parent = (0..2usize, 0..3usize, any::<bool>()).prop_map(|(thread, at, join)| Parent { thread, at, join });
    let parent = if of.forks { option::weighted(0.15, parent).boxed() } else { Just(None).boxed() };
    (cells(of), threads, vec(parent, of.threads))
        .prop_map(|(cells, bodies, parents)| {
            let named = bodies.into_iter().zip(parents).enumerate();
            let thread = |(index, (body, parent))| ThreadSketch { name: format!("w{index}"), parent, body };
            Sketch { cells, threads: named.map(thread).collect(), finally: vec![], observed: true, condition: None }
        })
        .boxed()
}

fn cells(of: Language) -> BoxedStrategy<Vec<CellSketch>> {
    let access = match of.plain {
        true => prop_oneof![5 => Just(Access::Atomic), 1 => Just(Access::Plain)].boxed(),
        false => Just(Access::Atomic).boxed(),
    };
    vec(access, 3)
        .prop_map(move |mut all| {
            if of.blocks {
                all[BLOCK] = Access::Atomic;
            }
            let named = all.into_iter().zip(["x", "y", "z"]);
            named.map(|(access, name)| CellSketch { name, initial: 0, access }).collect()
        })
        .boxed()
}

/// Threads around a circle of as many cells.
fn cycle(of: Language, threads: usize) -> BoxedStrategy<Vec<Vec<Statement>>> {
    let thread = move |index: usize| {
        let (here, next) = (PlaceSketch::Cell(index), PlaceSketch::Cell((index + 1) % threads));
        let between = prop_oneof![
            3 => Just(vec![]).boxed(),
            3 => fence(of).prop_map(|fence| vec![fence]).boxed(),
            1 => statement(of, 1).prop_map(|statement| vec![statement]).boxed(),
        ];
        (access(of, 0, here), between, access(of, 1, next))
            .prop_map(|(first, between, second)| [vec![first], between, vec![second]].concat())
            .boxed()
    };
    (0..threads).map(thread).collect::<Vec<_>>().boxed()
}

fn body(of: Language) -> BoxedStrategy<Vec<Statement>> {
    let any = vec(statement(of, 2), 1..=of.statements);
    if of.blocks { prop_oneof![1 => any, 3 => user(of)].boxed() } else { any.boxed() }
}

/// The cell where blocks are published.
const BLOCK: usize = 2;

/// Allocates a block, publishes it, and perhaps goes on to use it.
fn maker(of: Language) -> BoxedStrategy<Vec<Statement>> {
    let some = || prop_oneof![2 => Just(vec![]).boxed(), 1 => statement(of, 1).prop_map(|one| vec![one]).boxed()];
    let fenced = prop_oneof![3 => Just(vec![]).boxed(), 1 => fence(of).prop_map(|fence| vec![fence]).boxed()];
    let after = prop_oneof![3 => Just(vec![]).boxed(), 2 => in_block(of).prop_map(|one| vec![one]).boxed()];
    (some(), in_block(of), fenced, ordering(of, &[Relaxed, Release, Release, SeqCst]), after)
        .prop_map(|(before, filled, fenced, ordering, after)| {
            let publish = Statement::Store { place: PlaceSketch::Cell(BLOCK), value: Value::Var(Var::P), ordering };
            [before, vec![Statement::Alloc, filled], fenced, vec![publish], after].concat()
        })
        .boxed()
}

/// Looks for a block and uses it.
fn user(of: Language) -> BoxedStrategy<Vec<Statement>> {
    let fenced = prop_oneof![3 => Just(vec![]).boxed(), 1 => fence(of).prop_map(|fence| vec![fence]).boxed()];
    let after = prop_oneof![2 => Just(vec![]).boxed(), 1 => statement(of, 1).prop_map(|one| vec![one]).boxed()];
    (ordering(of, &[Relaxed, Acquire, Acquire, SeqCst]), fenced, vec(in_block(of), 1..=2), after)
        .prop_map(|(ordering, fenced, then, after)| {
            let find = Statement::Load { dst: Var::P, place: PlaceSketch::Cell(BLOCK), ordering };
            let test = Test { var: Var::P, equal: false, value: 0 };
            [vec![find], fenced, vec![Statement::If { test, then, otherwise: vec![] }], after].concat()
        })
        .boxed()
}

/// An access to the block, or its end.
fn in_block(of: Language) -> BoxedStrategy<Statement> {
    let accessed = (0..3u8, 0..2u8).prop_flat_map(move |(dst, offset)| access(of, dst, PlaceSketch::Target(offset)));
    prop_oneof![6 => accessed, 1 => Just(Statement::Free)].boxed()
}

fn statement(of: Language, depth: u32) -> BoxedStrategy<Statement> {
    let cell = if of.blocks { (0..BLOCK).boxed() } else { prop_oneof![3 => 0..2usize, 1 => Just(2)].boxed() };
    let place = cell.prop_map(PlaceSketch::Cell);
    let accessed = (0..3u8, place).prop_flat_map(move |(dst, place)| access(of, dst, place));
    let mut kinds: Vec<(u32, BoxedStrategy<Statement>)> = vec![(60, accessed.boxed()), (10, fence(of))];
    if of.locks && depth > 0 {
        let body = vec(statement(of, depth - 1), 1..=2);
        let locked = (lock(), body).prop_map(|((lock, mode), body)| Statement::Locked { lock, mode, body });
        kinds.push((8, locked.boxed()));
    }
    if of.waits && depth > 0 {
        let body = vec(statement(of, 0), 0..=1);
        let test = option::weighted(0.6, (0..2usize, 0..2i64));
        let wait = (test, body.clone()).prop_map(|(test, body)| {
            let test = test.map(|(cell, value)| (PlaceSketch::Cell(cell), value));
            Statement::LockedWait { test, body }
        });
        let notify = any::<bool>().prop_map(|all| Statement::Notify { all });
        let locked = (body, notify.clone()).prop_map(|(body, notify)| {
            let body = [body, vec![notify]].concat();
            Statement::Locked { lock: LockName::M, mode: LockMode::Exclusive, body }
        });
        kinds.extend([(12, wait.boxed()), (10, locked.boxed()), (6, notify.boxed())]);
    }
    if of.control {
        kinds.push((2, (0..3u8).prop_map(|r| Statement::Choose { dst: Var::R(r), high: 2 }).boxed()));
        kinds.push((2, test().prop_map(Statement::Assume).boxed()));
    }
    if of.control && depth > 0 {
        let branch = (test(), vec(statement(of, depth - 1), 1..=2));
        let branch = branch.prop_map(|(test, then)| Statement::If { test, then, otherwise: vec![] });
        kinds.push((8, branch.boxed()));
    }
    Union::new_weighted(kinds).boxed()
}

/// An access to a cell with any ordering that it can have.
fn access(of: Language, dst: u8, place: PlaceSketch) -> BoxedStrategy<Statement> {
    let dst = Var::R(dst);
    let load = ordering(of, &[Relaxed, Acquire, SeqCst]);
    let load = load.prop_map(move |ordering| Statement::Load { dst, place, ordering });
    let store = (value(), ordering(of, &[Relaxed, Release, SeqCst]));
    let store = store.prop_map(move |(value, ordering)| Statement::Store { place, value, ordering });
    let op = select(vec![RmwOp::Swap, RmwOp::Swap, RmwOp::Add, RmwOp::Add, RmwOp::Or, RmwOp::Max]);
    let rmw = (op, value(), ordering(of, &[Relaxed, Acquire, Release, AcqRel, SeqCst]));
    let rmw = rmw.prop_map(move |(op, operand, ordering)| Statement::Rmw { dst, place, op, operand, ordering });
    let orderings =
        (ordering(of, &[Relaxed, Acquire, Release, AcqRel, SeqCst]), ordering(of, &[Relaxed, Acquire, SeqCst]));
    let cas = (value(), value(), orderings).prop_map(move |(expected, desired, (ordering, failure))| Statement::Cas {
        dst,
        place,
        expected,
        desired,
        ordering,
        failure,
    });
    prop_oneof![6 => load, 6 => store, 2 => rmw, 2 => cas].boxed()
}

fn fence(of: Language) -> BoxedStrategy<Statement> {
    ordering(of, &[Acquire, Release, AcqRel, SeqCst, SeqCst, SeqCst]).prop_map(Statement::Fence).boxed()
}

fn ordering(of: Language, all: &[Ordering]) -> BoxedStrategy<Ordering> {
    if of.all_seqcst { Just(SeqCst).boxed() } else { select(all.to_vec()).boxed() }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => (0..3i64).prop_map(Value::Const),
        1 => (0..3u8).prop_map(|r| Value::Var(Var::R(r))),
        1 => (0..3u8).prop_map(|r| Value::Plus(Var::R(r), 1)),
    ]
}

fn test() -> impl Strategy<Value = Test> {
    (0..3u8, any::<bool>(), 0..2i64).prop_map(|(r, equal, value)| Test { var: Var::R(r), equal, value })
}

fn lock() -> impl Strategy<Value = (LockName, LockMode)> {
    prop_oneof![
        3 => Just((LockName::M, LockMode::Exclusive)),
        1 => Just((LockName::N, LockMode::Exclusive)),
        2 => select(vec![LockMode::Exclusive, LockMode::Shared]).prop_map(|mode| (LockName::Rw, mode)),
    ]
}
