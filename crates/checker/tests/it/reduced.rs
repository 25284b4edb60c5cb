//! The search of fewer states that `auto` begins with against the search of all of them, on generated programs.

use super::places;
use unthread_checker::engines::check;
use unthread_checker::engines::states::exhaustive;
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::program::Program;
use unthread_checker::search::{Options, Report, StopReason, Unwatched};
use unthread_generate::{Features, Sketch, Statement, Var, cases, for_all, sketches};

/// Programs with more states than this are left out.
const BUDGET: u64 = 100_000;

/// Threads that spin keep a search from visiting fewer states: without them.
const ALL: Features = Features { spins: false, ..Features::ALL };

fn violations(report: &Report) -> Vec<String> {
    let describe = |violation: &_| format!("{:?}", places(violation));
    let mut violations: Vec<String> =
        report.violations.iter().map(|v| format!("{} at {}", v.kind.name(), describe(v))).collect();
    violations.sort();
    violations
}

/// What a search found, but for how it is told.
fn findings(report: &Report) -> impl PartialEq + std::fmt::Debug {
    let observed: Vec<bool> = report.observations.iter().map(|observation| observation.witness.is_some()).collect();
    (report.stop.clone(), violations(report), observed, report.final_states.clone(), report.statistics.executions)
}

/// What the search of all states finds, and with which options. Nothing if there are too many.
fn all_states(program: &Program, memory: MemoryModel) -> Option<(Options, Report)> {
    let mut options = Options { all_violations: true, ..Options::new(memory) };
    options.limits.states = BUDGET;
    let all = check(program, &options, &Unwatched);
    (all.stop != StopReason::StateLimit).then_some((options, all))
}

/// Everything that is wrong, all final states, all ends and all histories are found with fewer states too.
fn finds_everything(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let Some((options, all)) = all_states(&program, memory) else { return Ok(()) };
    let reduced = Options { reduced: true, ..options.clone() };
    let fewer = check(&program, &reduced, &Unwatched);
    if findings(&all) != findings(&fewer) || fewer.statistics.states > all.statistics.states {
        return Err(format!("{memory}: all states: {all:#?}\nfewer: {fewer:#?}"));
    }
    let subject = interpret(&program);
    let histories = |options: &Options| {
        exhaustive::histories(&subject, options, BUDGET, &Unwatched).map(|histories| histories.combinations())
    };
    match histories(&options) {
        Some(expected) if histories(&reduced).is_none_or(|found| found != expected) => {
            Err(format!("{memory}: histories differ"))
        }
        _ => Ok(()),
    }
}

/// Something is wrong exactly if something is wrong, and if nothing is, final states are the same.
fn finds_something(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let Some((options, all)) = all_states(&program, memory) else { return Ok(()) };
    let fewer = check(&program, &Options { reduced: true, all_violations: false, ..options }, &Unwatched);
    let known = violations(&all);
    let is_right = match fewer.stop {
        // Each was replayed; which threads are stuck together can depend on which was left out.
        StopReason::Violation => !known.is_empty() && fewer.violations.len() == 1,
        _ => known.is_empty() && findings(&all) == findings(&fewer),
    };
    if is_right { Ok(()) } else { Err(format!("{memory}: all states: {all:#?}\nfewer: {fewer:#?}")) }
}

/// The same program with threads that only read, but for the first.
fn with_spectators(sketch: &Sketch) -> Sketch {
    use Statement::{
        Assert, Assign, Cas, Fence, If, Load, Locked, LockedWait, Panic, Repeat, Rmw, Store, TryLocked, Yield,
    };
    let reading = sketch.map(|statement| match statement {
        Store { place, ordering, .. } | Rmw { place, ordering, .. } | Cas { place, ordering, .. } => {
            vec![Load { dst: Var::R(0), place, ordering }]
        }
        Locked { body, .. } | TryLocked { body, .. } | LockedWait { body, .. } => body,
        Load { .. } | Fence(_) | Yield | Assign { .. } | Assert(_) | Panic | If { .. } | Repeat { .. } => {
            vec![statement]
        }
        _ => vec![],
    });
    let mut sketch = Sketch { observed: false, ..sketch.clone() };
    let spectators = reading.threads.into_iter().skip(1);
    sketch.threads.truncate(1);
    sketch.threads.extend(spectators);
    sketch.threads.iter_mut().for_each(|thread| thread.parent = None);
    sketch
}

fn in_all_memory_models(
    test: impl Fn(&Sketch, MemoryModel) -> Result<(), String>,
    sketch: &Sketch,
) -> Result<(), String> {
    MemoryModel::MACHINES.into_iter().try_for_each(|memory| test(sketch, memory))
}

#[test]
fn fewer_states_show_everything() {
    for_all(sketches(ALL), cases(2_000), |sketch| in_all_memory_models(finds_everything, sketch));
}

#[test]
fn fewer_states_show_everything_on_memory_alone() {
    for_all(sketches(Features::MEMORY), cases(2_000), |sketch| in_all_memory_models(finds_everything, sketch));
}

#[test]
fn fewer_states_show_everything_where_blocks_are_shared_and_freed() {
    for_all(sketches(Features::BLOCKS), cases(2_000), |sketch| in_all_memory_models(finds_everything, sketch));
}

#[test]
fn fewer_states_show_whether_something_is_wrong() {
    for_all(sketches(ALL), cases(2_000), |sketch| in_all_memory_models(finds_something, sketch));
}

#[test]
fn threads_that_only_read_can_be_looked_at_one_at_a_time() {
    let features = Features { threads: 4, locks: false, forks: false, ..ALL };
    for_all(sketches(features), cases(2_000), |sketch| in_all_memory_models(finds_something, &with_spectators(sketch)));
}

fn states(text: &str, memory: MemoryModel, reduced: bool) -> u64 {
    let source = std::sync::Arc::new(unthread_checker::base::Source::new("program.ut", text));
    let program = unthread_checker::frontend::ut::parse(source, &Default::default()).expect("it is a program");
    let report = check(&program, &Options { reduced, ..Options::new(memory) }, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted);
    report.statistics.states
}

#[test]
fn readers_do_not_multiply() {
    let program = |readers: u32| {
        format!(
            "shared x = 0, y = 0;\nthread w {{ x = 1; y = 1; }}\nthread r * {readers} {{ let a = y; let b = x; assert(a <= 1 && b <= 1); }}\n"
        )
    };
    for memory in MemoryModel::MACHINES {
        let [one, many] = [1, 20].map(|readers| states(&program(readers), memory, true));
        // The others read when nothing else can happen.
        assert!(many <= one + 3 * 20, "{memory}: {one} states with one reader, {many} with twenty");
    }
}

#[test]
fn what_concerns_nobody_else_adds_no_states() {
    let own =
        "shared x = 0, y = 0;\nthread a { for i in 0..6 { x = x + 1; } }\nthread b { for i in 0..6 { y = y + 1; } }\n";
    for memory in MemoryModel::MACHINES {
        // The first, and the last.
        assert_eq!(states(own, memory, true), 2, "{memory}");
        assert!(states(own, memory, false) > 100, "{memory}");
    }
}
