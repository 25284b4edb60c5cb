//! Loops that try again and again, and locks that are made of them: everything that searches, on the same generated programs.

use crate::dpor::violations;
use crate::{agreement, engines, robustness};
use proptest::prop_oneof;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::{Access, Ordering, RmwOp};
use unthread_checker::search::{
    Coverage, Engine, Limits, Options, Progress, Report, StopReason, Unwatched, Violation, ViolationKind, Watch,
};
use unthread_generate::{
    CellSketch, Features, Look, PlaceSketch, Sketch, Statement, ThreadSketch, Value, cases, for_all, sketches,
};

/// Programs with more states than this are left out.
const BUDGET: u64 = 20_000;

/// More than any program needs whose loops come to an end.
const EVENTS: u64 = 120;
const EXECUTIONS: u64 = 2_000;

/// One look is some thousand steps. Executions that are cut off are no executions, and there may be many of them.
const LOOKS: u32 = 20;

/// So many looks has the longest turn of learning that `auto` bounds. That each value of a cell is there for one read-modify-write alone is a question of counting, which a
/// solver can take very long for; one program in a thousand is like that.
const LEARNING_LOOKS: u32 = 6_400;

/// Ends a search after some looks.
pub(crate) struct Patience(AtomicU32);

impl Patience {
    pub(crate) fn new(looks: u32) -> Patience {
        Patience(AtomicU32::new(looks))
    }
}

impl Watch for Patience {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        let left = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        left.is_err().then_some(StopReason::Interrupted)
    }
}

/// No execution has so many preemptions.
const ALL_PREEMPTIONS: u32 = u32::MAX - 1;

/// The engines that are not compared elsewhere, as far as they get.
const ENGINES: [Engine; 4] = [
    Engine::Auto,
    Engine::Icb { preemptions: ALL_PREEMPTIONS, traces: false },
    Engine::Dpor,
    Engine::Icb { preemptions: ALL_PREEMPTIONS, traces: true },
];

/// What all engines must agree on.
fn findings(report: &Report) -> impl PartialEq + std::fmt::Debug {
    let observed: Vec<bool> = report.observations.iter().map(|observation| observation.witness.is_some()).collect();
    // Which threads go on for ever, and where they are then, depends on which of the states without an end is looked at.
    let (livelocks, others): (Vec<Violation>, Vec<Violation>) =
        report.violations.iter().cloned().partition(|violation| violation.kind == ViolationKind::Livelock);
    let others = Report { violations: others, ..report.clone() };
    (violations(&others), !livelocks.is_empty(), observed, others.final_states)
}

/// Says how many engines got to the end of a program that is small enough. All of them do, where loops come to an end.
fn agree(sketch: &Sketch, memory: MemoryModel) -> Result<usize, String> {
    let program = sketch.program();
    let coverage = Coverage::FinalStates;
    let mut options = Options { all_violations: true, coverage, ..Options::new(memory) };
    options.limits.states = BUDGET;
    let expected = check(&program, &options, &Unwatched);
    if expected.stop != StopReason::Exhausted {
        return Ok(0);
    }
    options.limits.states = u64::MAX;
    let mut n_ended = 0;
    for engine in ENGINES {
        // Bounds tell `auto` to be someone else.
        let limits = match engine {
            Engine::Auto => options.limits,
            // It looks at each of them again for each bound.
            Engine::Icb { traces: true, .. } => {
                Limits { events: EVENTS, executions: EXECUTIONS / 20, ..options.limits }
            }
            _ => Limits { events: EVENTS, executions: EXECUTIONS, ..options.limits },
        };
        let options = Options { engine, limits, ..options.clone() };
        let report = match engine {
            Engine::Auto => check(&program, &options, &Unwatched),
            _ => check(&program, &options, &Patience::new(LOOKS)),
        };
        let is_over = matches!(report.stop, StopReason::Exhausted | StopReason::Violation | StopReason::Failed(_));
        if engine != Engine::Auto && !is_over {
            // Loops go on for ever, or there is much to explore: the next one would not get further.
            break;
        }
        if report.stop != StopReason::Exhausted || !report.failures.is_empty() {
            return Err(format!("{memory}: {engine}: stopped: {:?} {:?}", report.stop, report.failures));
        }
        if findings(&report) != findings(&expected) {
            let (expected, found) = (findings(&expected), findings(&report));
            return Err(format!("{memory}: {engine:?}: expected {expected:#?}\nfound {found:#?}"));
        }
        n_ended += 1;
    }
    Ok(n_ended)
}

#[test]
fn all_engines_agree_on_loops_that_try_again() {
    let (compared, total) = (AtomicU32::new(0), AtomicU32::new(0));
    let unfinished = AtomicU32::new(0);
    // Most without anything else in between, some beside everything that there is.
    let beside_all = Features { retries: true, ..Features::ALL };
    let all = prop_oneof![2 => sketches(Features::RETRIES), 1 => sketches(beside_all)];
    for_all(all, cases(300), |sketch| {
        for memory in MemoryModel::MACHINES {
            total.fetch_add(ENGINES.len() as u32, Relaxed);
            compared.fetch_add(agree(sketch, memory)? as u32, Relaxed);
            agreement::agree(sketch, memory, memory.rules().unbounded())?;
            let learnt = engines::agree_within(LEARNING_LOOKS, sketch, memory)?;
            unfinished.fetch_add((!learnt).into(), Relaxed);
            if memory != MemoryModel::Pso {
                robustness::lazy_agrees(sketch, memory)?;
            }
        }
        Ok(())
    });
    let (compared, total) = (compared.into_inner(), total.into_inner());
    let unfinished = unfinished.into_inner();
    println!("{compared} of {total} searches came to an end; {unfinished} by learning did not");
    assert!(unfinished * 1_000 <= total, "{unfinished} searches by learning did not come to an end");
    assert!(compared * 10 >= total * 8, "{compared} of {total} searches came to an end");
}

const X: PlaceSketch = PlaceSketch::Cell(0);

fn store(value: i64) -> Statement {
    Statement::Store { place: X, value: Value::Const(value), ordering: Ordering::Relaxed }
}

/// A loop that ends when what it finds is (or is not) this value.
fn retry(body: &[Statement], look: Look, value: i64, until_equal: bool) -> Statement {
    Statement::Retry { body: body.to_vec(), place: X, look, value, until_equal }
}

/// An atomic `x`, and these threads.
fn sketch(bodies: Vec<Vec<Statement>>) -> Sketch {
    let thread =
        |(index, body): (usize, Vec<Statement>)| ThreadSketch { name: format!("w{index}"), parent: None, body };
    Sketch {
        cells: vec![CellSketch { name: "x", initial: 0, access: Access::Atomic }],
        threads: bodies.into_iter().enumerate().map(thread).collect(),
        finally: vec![],
        observed: true,
        condition: None,
    }
}

/// A loop may begin with something that reads nothing. There a thread that spins is stuck in one execution; in another one, what it looks at changes, and it goes on.
#[test]
fn a_thread_that_spins_goes_on_whatever_its_loop_begins_with() {
    let exchange = |desired| Look::Cas { expected: 0, desired };
    let fence = Statement::Fence;
    for first in [fence(Ordering::SeqCst), fence(Ordering::Release), fence(Ordering::Relaxed), Statement::Yield] {
        let again = |look, value| retry(std::slice::from_ref(&first), look, value, true);
        let exchanges = vec![retry(&[], exchange(1), 0, false), again(exchange(0), 0)];
        let swaps = vec![retry(&[], exchange(1), 0, true), retry(&[], Look::Rmw(RmwOp::Swap, 0), 0, false)];
        let waits = |value| vec![store(value), again(Look::Load, 3)];
        let programs = [
            sketch(vec![vec![store(2)], vec![store(1), again(exchange(0), 0)]]),
            sketch(vec![vec![store(0)], exchanges]),
            sketch(vec![swaps, vec![again(Look::Load, 1)]]),
            // Two threads are stuck at once.
            sketch(vec![waits(1), waits(2), vec![store(4)]]),
        ];
        for program in programs {
            for memory in MemoryModel::MACHINES {
                engines::agree(&program, memory).unwrap_or_else(|why| panic!("{why}\n{program:?}"));
            }
        }
    }
}

/// Whether `w3` can find `x` changed once more is a question that `cumulative` takes minutes for. A watch can stop it, and `auto` does.
#[test]
fn auto_does_not_wait_for_a_question_that_takes_long() {
    let text = "shared x = 1, z = 0;
        thread w0 { while x.fetch_and(2) != 0 {} while x.swap(1) != 0 {} x = 0; }
        thread w2 { x = 2; let r0 = x; }
        thread w3 {
            loop { while x != 0 {} if x.fetch_or(1) == 0 { break; } }
            loop { while x != 0 {} if x.swap(1) == 0 { break; } }
            x = 0;
            while z == 0 {}
        }";
    let program = ut::parse(Arc::new(Source::new("counting.ut", text)), &Default::default()).expect("it is a program");
    for memory in MemoryModel::MACHINES {
        let options = Options { all_violations: true, ..Options::new(memory) };
        let expected = check(&program, &options, &Unwatched);
        let found = check(&program, &Options { engine: Engine::Auto, ..options.clone() }, &Unwatched);
        assert_eq!((expected.stop, found.stop.clone()), (StopReason::Exhausted, StopReason::Exhausted));
        assert_eq!(expected.violations.is_empty(), found.violations.is_empty(), "{memory}");
        assert_eq!(expected.final_states, found.final_states, "{memory}");
        let learning = Options { engine: Engine::Cumulative, ..options };
        let learnt = check(&program, &learning, &Patience::new(200));
        assert!(matches!(learnt.stop, StopReason::Exhausted | StopReason::Interrupted), "{memory}: {:?}", learnt.stop);
    }
}
