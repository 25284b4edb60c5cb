//! The monitor `store-buffers`: it says that TSO (or PSO) differs from SC iff it does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Limits, Monitor, Options, Report, StopReason, Unwatched, ViolationKind};
use unthread_generate::{Features, Sketch, Statement, cases, for_all, sketches};

fn parse(text: &str) -> Program {
    let parsed = ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new());
    parsed.unwrap_or_else(|mistakes| panic!("{text}: {mistakes:#?}"))
}

/// All executions, watched.
fn watch(program: &Program, memory: MemoryModel, limits: Limits) -> Report {
    let monitor = Some(Monitor::StoreBuffers);
    let options = Options { engine: Engine::Dpor, monitor, all_violations: true, limits, ..Options::new(memory) };
    check(program, &options, &Unwatched)
}

fn differs(report: &Report) -> bool {
    report.violations.iter().any(|violation| violation.kind == ViolationKind::StoreBuffers)
}

/// Whether TSO and PSO differ from SC.
fn verdicts(text: &str) -> [bool; 2] {
    let program = parse(text);
    [MemoryModel::Tso, MemoryModel::Pso].map(|memory| {
        let report = watch(&program, memory, Options::new(memory).limits);
        assert_eq!(report.stop, StopReason::Exhausted, "{memory}: {text}");
        differs(&report)
    })
}

#[test]
fn loads_that_overtake_stores_make_a_difference() {
    assert_eq!(verdicts("shared x, y; thread a { x = 1; let r = y; } thread b { y = 1; let r = x; }"), [true, true]);
    let fenced = "shared x, y; thread a { x = 1; fence; let r = y; } thread b { y = 1; fence; let r = x; }";
    assert_eq!(verdicts(fenced), [false, false]);
    let half = "shared x, y; thread a { x = 1; fence; let r = y; } thread b { y = 1; let r = x; }";
    assert_eq!(verdicts(half), [true, true]);
}

#[test]
fn stores_that_overtake_stores_make_a_difference_under_pso() {
    let text = "shared x, y; thread a { x = 1; y = 1; } thread b { let r = y; let s = x; }";
    assert_eq!(verdicts(text), [false, true]);
    let text = "shared x, y; thread a { x = 1; y.store(1, release); } thread b { let r = y; let s = x; }";
    assert_eq!(verdicts(text), [false, false]);
}

#[test]
fn coherence_alone_makes_a_difference_under_pso() {
    assert_eq!(verdicts("shared x, y; thread a { x = 1; y = 2; } thread b { y = 1; x = 2; }"), [false, true]);
}

/// What the paper's Figure 3 misses: the load of `x` comes from the buffer, before the other store to `x` arrives.
#[test]
fn a_forwarded_load_comes_after_nothing() {
    let text = "shared x, y; thread a { x = 2; let r = x; let s = y; } thread b { y = 1; x = 1; }";
    assert_eq!(verdicts(text), [true, true]);
}

/// Whether the monitor says that the memory models differ iff there are more traces. Programs with many are left out.
fn is_precise(sketch: &Sketch, memory: MemoryModel) -> Result<bool, String> {
    let stops = |statement: &Statement| matches!(statement, Statement::Assume(_) | Statement::Choose { high: ..1, .. });
    if sketch.any(stops) {
        // Executions that an assumption ends are not counted.
        return Ok(false);
    }
    let program = sketch.program();
    let limits = Limits { executions: 5_000, events: 200, ..Options::new(memory).limits };
    let count = |memory: MemoryModel| {
        let options = Options { engine: Engine::Dpor, all_violations: true, limits, ..Options::new(memory) };
        let report = check(&program, &options, &Unwatched);
        (report.stop == StopReason::Exhausted).then_some(report.statistics.executions)
    };
    let (Some(sc), Some(weak)) = (count(MemoryModel::Sc), count(memory)) else { return Ok(false) };
    let report = watch(&program, memory, limits);
    if matches!(report.stop, StopReason::Unsupported(_)) && sc != weak {
        // A block is freed while a store to it is on its way. That is not followed, and it is a difference.
        return Ok(true);
    }
    if report.stop != StopReason::Exhausted {
        return Err(format!("{memory}: {:?}", report.stop));
    }
    let (found, expected) = (differs(&report), sc != weak);
    if report.statistics.executions != sc || (report.statistics.borderline > Some(0)) != found {
        return Err(format!("{memory}: {:?}, {sc} executions", report.statistics));
    }
    match found == expected {
        true => Ok(true),
        false => Err(format!("{memory}: {weak} traces instead of {sc}, but the monitor says {found}")),
    }
}

fn monitor_is_precise(features: Features, n_cases: u32) {
    for memory in [MemoryModel::Tso, MemoryModel::Pso] {
        let (compared, total) = (AtomicU32::new(0), AtomicU32::new(0));
        for_all(sketches(features), cases(n_cases), |sketch| {
            total.fetch_add(1, Relaxed);
            compared.fetch_add(is_precise(sketch, memory)?.into(), Relaxed);
            Ok(())
        });
        let (compared, total) = (compared.into_inner(), total.into_inner());
        println!("{memory}: {compared} of {total} programs were compared");
        assert!(compared * 10 >= total * 7, "{compared} of {total} programs were compared");
    }
}

#[test]
fn the_monitor_is_precise_on_memory_alone() {
    monitor_is_precise(Features::MEMORY, 2_000);
}

#[test]
fn the_monitor_is_precise() {
    monitor_is_precise(Features::ALL, 2_000);
}

/// The programs of the paper, as they were and corrected, with engine `icb` up to the paper's bounds, but for the longest of them.
#[test]
fn the_papers_programs_are_unsafe_and_their_corrections_are_not() {
    let programs = [("store_buffering", 9), ("dekker", 3), ("bakery", 1), ("takequeue", 5), ("idle", 9)];
    for (name, preemptions) in programs {
        let file = format!("{}/corpus/programs/papers/sober_{name}.ut", env!("CARGO_WORKSPACE_DIR"));
        let source = Arc::new(Source::new(name, std::fs::read_to_string(file).expect("it is there")));
        for (memory, fenced) in [(MemoryModel::Tso, 0), (MemoryModel::Tso, 1), (MemoryModel::Pso, 1)] {
            let defines = BTreeMap::from([("FENCED".to_string(), fenced)]);
            let program = ut::parse(source.clone(), &defines).expect("it is a program");
            let engine = Engine::Icb { preemptions, traces: true };
            let monitor = Some(Monitor::StoreBuffers);
            let options = Options { engine, monitor, all_violations: true, ..Options::new(memory) };
            let report = check(&program, &options, &Unwatched);
            assert!(matches!(report.stop, StopReason::Exhausted | StopReason::PreemptionLimit), "{name}: {report:#?}");
            assert_eq!(differs(&report), fenced == 0, "{name} under {memory}");
            assert!(report.violations.iter().all(|found| found.kind == ViolationKind::StoreBuffers), "{name}");
        }
    }
}

#[test]
fn sampling_reports_only_programs_that_differ() {
    for_all(sketches(Features::MEMORY), cases(300), |sketch| {
        let program = sketch.program();
        for memory in [MemoryModel::Tso, MemoryModel::Pso] {
            let limits = Limits { executions: 30, ..Options::new(memory).limits };
            let expected = differs(&watch(&program, memory, Options::new(memory).limits));
            for engine in [Engine::Random { seed: 5 }, Engine::Pct { seed: 5, depth: 3 }] {
                let monitor = Some(Monitor::StoreBuffers);
                let options = Options { engine, monitor, all_violations: true, limits, ..Options::new(memory) };
                let report = check(&program, &options, &Unwatched);
                if report.stop != StopReason::ExecutionLimit || (differs(&report) && !expected) {
                    return Err(format!("{memory} {engine}: {report:#?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_free_that_may_come_before_a_store_is_refused_rather_than_misjudged() {
    let stop = |text: &str, memory: MemoryModel| watch(&parse(text), memory, Options::new(memory).limits).stop;
    let own = "struct Node { value }\nthread t { let p = new Node; p.value = 1; free(p); }\n";
    let other = "struct Node { value } shared ptr = null;\nthread u { let p = new Node; ptr = p; fence; p.value = 2; }\n\
                 thread t { let p = ptr; if p != null { free(p); } }";
    for memory in [MemoryModel::Tso, MemoryModel::Pso] {
        assert_eq!(stop(own, memory), StopReason::Exhausted);
        assert!(matches!(stop(other, memory), StopReason::Unsupported(_)), "{memory}");
        assert_eq!(stop(&other.replace("p.value = 2;", "p.value.store(2, seqcst);"), memory), StopReason::Exhausted);
    }
}
