//! Engines that look at a part of all executions: `icb`, `random` and `pct`.

use crate::dpor::violations;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use unthread_checker::base::{Source, Verdict};
use unthread_checker::engines::{check, check_subject};
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Limits, Options, Progress, Report, StopReason, Unwatched, Watch};
use unthread_generate::{Features, cases, for_all, sketches};

fn parse(text: &str) -> Program {
    let parsed = ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new());
    parsed.unwrap_or_else(|mistakes| panic!("{text}: {mistakes:#?}"))
}

fn run(program: &Program, engine: Engine, memory: MemoryModel) -> Report {
    check(program, &Options { engine, all_violations: true, ..Options::new(memory) }, &Unwatched)
}

fn icb(program: &Program, preemptions: u32) -> Report {
    run(program, Engine::Icb { preemptions, traces: false }, MemoryModel::Sc)
}

/// A lost update takes one preemption, between the load and the store of one of the threads.
const LOST_UPDATE: &str = "shared x; thread t * 2 { x += 1; } finally { assert(x == 2); }";

/// The second thread has to run twice in the middle of the first.
const TWO_PREEMPTIONS: &str = "shared x, y;
    thread a { x = 1; y = 1; x = 2; }
    thread b { let r = x; let s = y; let t = x; assert(!(r == 1 && s == 0 && t == 2)); }";

#[test]
fn icb_needs_the_preemptions_that_a_bug_needs() {
    let found = |text: &str| [0, 1, 2].map(|bound| icb(&parse(text), bound).verdict() == Verdict::Violation);
    assert_eq!(found(LOST_UPDATE), [false, true, true]);
    assert_eq!(found(TWO_PREEMPTIONS), [false, false, true]);
}

#[test]
fn icb_says_what_it_covered() {
    let program = parse("shared x; thread t * 2 { x = 1; x = 2; }");
    let report = icb(&program, 1);
    assert_eq!(report.stop, StopReason::PreemptionLimit);
    assert_eq!(report.coverage.as_deref(), Some("all executions with at most 1 preemptions"));
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let report = icb(&program, 100);
    assert_eq!(report.coverage.as_deref(), Some("all executions"));
    assert_eq!(report.verdict(), Verdict::Verified);
}

#[test]
fn icb_without_a_bound_is_exhaustive_and_with_one_finds_less() {
    for memory in MemoryModel::MACHINES {
        for_all(sketches(Features::ALL), cases(300), |sketch| {
            let program = sketch.program();
            let limits = Limits { states: 20_000, ..Options::new(memory).limits };
            let options = Options { all_violations: true, limits, ..Options::new(memory) };
            let all = check(&program, &options, &Unwatched);
            if all.stop != StopReason::Exhausted {
                return Ok(());
            }
            let mut before = BTreeSet::new();
            for preemptions in [0, 1, 2, u32::MAX - 1] {
                let report = run(&program, Engine::Icb { preemptions, traces: false }, memory);
                let states: BTreeSet<_> = report.final_states.iter().cloned().collect();
                if !states.is_superset(&before) {
                    return Err(format!("{memory}: {preemptions} preemptions find less than fewer"));
                }
                if report.stop == StopReason::Exhausted && !states.iter().eq(&all.final_states) {
                    return Err(format!("{memory}: final states {states:?}, expected {:?}", all.final_states));
                }
                if report.stop == StopReason::Exhausted && violations(&report) != violations(&all) {
                    return Err(format!("{memory}: {:#?}, expected {:#?}", violations(&report), violations(&all)));
                }
                before = states;
            }
            Ok(())
        });
    }
}

#[test]
fn sampling_finds_bugs_and_never_verifies() {
    let buggy = parse(LOST_UPDATE);
    let fine = parse("shared x; thread t * 2 { x.fetch_add(1); } finally { assert(x == 2); }");
    for engine in [Engine::Random { seed: 7 }, Engine::Pct { seed: 7, depth: 2 }] {
        assert_eq!(run(&buggy, engine, MemoryModel::Tso).verdict(), Verdict::Violation, "{engine:?}");
        let report = run(&fine, engine, MemoryModel::Tso);
        assert_eq!(report.verdict(), Verdict::Inconclusive, "{engine:?}");
        assert_eq!(report.stop, StopReason::ExecutionLimit, "{engine:?}");
    }
}

#[test]
fn equal_seeds_give_equal_reports() {
    let program = parse(LOST_UPDATE);
    for engine in [Engine::Random { seed: 3 }, Engine::Pct { seed: 3, depth: 3 }] {
        let limits = Limits { executions: 50, ..Options::new(MemoryModel::Pso).limits };
        let options = Options { engine, limits, all_violations: true, ..Options::new(MemoryModel::Pso) };
        let reports = [(), ()].map(|()| check(&program, &options, &Unwatched));
        assert_eq!(reports[0], reports[1], "{engine:?}");
        assert_eq!(reports[0].statistics.executions, 50, "{engine:?}");
    }
}

#[test]
fn sampling_finds_only_what_can_happen() {
    for memory in MemoryModel::MACHINES {
        for_all(sketches(Features::ALL), cases(200), |sketch| {
            let program = sketch.program();
            let limits = Limits { states: 20_000, ..Options::new(memory).limits };
            let options = Options { all_violations: true, limits, ..Options::new(memory) };
            let all = check(&program, &options, &Unwatched);
            if all.stop != StopReason::Exhausted {
                return Ok(());
            }
            for engine in [Engine::Random { seed: 1 }, Engine::Pct { seed: 1, depth: 3 }] {
                let limits = Limits { executions: 30, ..options.limits };
                let report = check(&program, &Options { engine, limits, ..options.clone() }, &Unwatched);
                if !report.final_states.iter().all(|state| all.final_states.contains(state)) {
                    return Err(format!("{memory} {engine:?}: {:?}", report.final_states));
                }
                let is_known = |kind| all.violations.iter().any(|violation| violation.kind == kind);
                if !report.violations.iter().all(|violation| is_known(violation.kind)) {
                    return Err(format!("{memory} {engine:?}: {:?}", report.violations));
                }
            }
            Ok(())
        });
    }
}

#[test]
fn pct_states_its_guarantee() {
    let report = run(&parse(LOST_UPDATE), Engine::Pct { seed: 0, depth: 2 }, MemoryModel::Sc);
    let coverage = report.coverage.unwrap_or_default();
    assert!(coverage.contains("a bug of depth 2 with a probability of at least"), "{coverage}");
}

#[test]
fn icb_over_traces_finds_what_icb_over_states_finds() {
    icb_over_traces_agrees(MemoryModel::Sc, 500);
}

#[test]
fn icb_over_traces_finds_what_icb_over_states_finds_with_store_buffers() {
    icb_over_traces_agrees(MemoryModel::Tso, 150);
    icb_over_traces_agrees(MemoryModel::Pso, 150);
}

fn icb_over_traces_agrees(memory: MemoryModel, programs: u32) {
    for_all(sketches(Features::ALL), cases(programs), |sketch| {
        let program = sketch.program();
        let search = |engine, states| {
            let limits = Limits { states, events: 200, ..Options::new(memory).limits };
            let options = Options { engine, all_violations: true, limits, ..Options::new(memory) };
            check(&program, &options, &Unwatched)
        };
        let exhaustive = search(Engine::Exhaustive, 10_000);
        let dpor = search(Engine::Dpor, 10_000);
        if [&exhaustive, &dpor].iter().any(|report| report.stop != StopReason::Exhausted) {
            return Ok(());
        }
        for preemptions in [0, 1, 2, u32::MAX - 1] {
            // The thread that goes on makes states differ here: there are more of them than there are for the others.
            let states = search(Engine::Icb { preemptions, traces: false }, u64::MAX);
            let traces = search(Engine::Icb { preemptions, traces: true }, u64::MAX);
            if traces.final_states != states.final_states || violations(&traces) != violations(&states) {
                return Err(format!("{preemptions} preemptions:\n{traces:#?}\n{states:#?}"));
            }
            let all = traces.stop == StopReason::Exhausted;
            // With store buffers, traces of `dpor` are those of Shasha and Snir, which are fewer.
            if memory == MemoryModel::Sc && all && traces.statistics.executions != dpor.statistics.executions {
                return Err(format!("{} traces, not {}", traces.statistics.executions, dpor.statistics.executions));
            }
            if preemptions > 2 && !all {
                return Err(format!("{:?}", traces.stop));
            }
        }
        Ok(())
    });
}

/// In which order the first stores came to memory was forgotten as soon as the second ones did.
#[test]
fn icb_over_traces_remembers_all_stores_that_have_come_to_memory() {
    let program = parse("shared x, y; thread a { y = 1; x = 0; } thread b { y = 0; x = 0; }");
    for memory in MemoryModel::MACHINES {
        let [states, traces] =
            [false, true].map(|traces| run(&program, Engine::Icb { preemptions: 9, traces }, memory));
        assert_eq!(states.final_states.len(), 2, "{memory}");
        assert_eq!(traces.stop, StopReason::Exhausted, "{memory}");
        assert_eq!(traces.final_states, states.final_states, "{memory}");
    }
}

#[test]
fn icb_over_traces_counts_them_by_preemptions() {
    let program = parse("shared x; thread t * 2 { x.fetch_add(1); x.fetch_add(1); }");
    let traces = |preemptions| run(&program, Engine::Icb { preemptions, traces: true }, MemoryModel::Sc);
    assert_eq!([0, 1, 2].map(|bound| traces(bound).statistics.executions), [2, 4, 6]);
    assert_eq!(traces(1).coverage.as_deref(), Some("all executions with at most 1 preemptions"));
    assert_eq!(traces(9).stop, StopReason::Exhausted);
}

/// Gives up when it has been asked so often.
struct Patience(AtomicU64);

impl Watch for Patience {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        let left = self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
        left.is_err().then_some(StopReason::TimeLimit)
    }
}

#[test]
fn a_bound_that_is_not_covered_is_said_to_be_incomplete() {
    let program = parse("shared x; thread t * 3 { for i in 0..6 { x.fetch_add(1); } }");
    let subject = interpret(&program);
    let limits = Limits { preemptions: Some(2), ..Options::new(MemoryModel::Sc).limits };
    let options = Options { engine: Engine::Dpor, limits, ..Options::new(MemoryModel::Sc) };
    let covered = |patience: u64| {
        let report = check_subject(&subject, &options, &Patience(AtomicU64::new(patience)));
        (report.stop, report.coverage.unwrap_or_default())
    };
    let seen: Vec<_> = (0..60).map(|times| covered(1.5f64.powi(times) as u64)).collect();
    let all = (StopReason::PreemptionLimit, "all executions with at most 2 preemptions".to_string());
    let incomplete = (StopReason::PreemptionLimit, "within the bound, incomplete".to_string());
    let cut = (StopReason::TimeLimit, String::new());
    let mut kinds = seen.clone();
    kinds.dedup();
    assert_eq!(kinds, [cut, incomplete, all]);
}
