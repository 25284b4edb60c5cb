//! The `dpor` engine: one execution for each trace, and the same findings as `exhaustive`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Limits, Options, Report, StopReason, Unwatched, Violation, ViolationKind};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

fn parse(text: &str) -> Program {
    let parsed = ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new());
    parsed.unwrap_or_else(|mistakes| panic!("{text}: {mistakes:#?}"))
}

fn dpor(program: &Program, memory: MemoryModel) -> Report {
    let options = Options { engine: Engine::Dpor, all_violations: true, ..Options::new(memory) };
    let report = check(program, &options, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted);
    report
}

/// Executions under SC, TSO and PSO.
fn executions(text: &str) -> [u64; 3] {
    let program = parse(text);
    MemoryModel::MACHINES.map(|memory| {
        let report = dpor(&program, memory);
        assert_eq!(report.statistics.redundant, 0, "{memory}");
        report.statistics.executions
    })
}

#[test]
fn store_buffering_has_three_traces_and_one_more_with_buffers() {
    assert_eq!(executions("shared x, y; thread a { x = 1; let r = y; } thread b { y = 1; let r = x; }"), [3, 4, 4]);
}

#[test]
fn message_passing_has_three_traces_and_one_more_where_stores_overtake() {
    let text = "shared x, y; thread a { x = 1; y = 1; } thread b { let r = y; let s = x; }";
    assert_eq!(executions(text), [3, 3, 4]);
}

#[test]
fn coherence_counts_even_if_nobody_reads() {
    assert_eq!(executions("shared x, y; thread a { x = 1; y = 2; } thread b { y = 1; x = 2; }"), [3, 3, 4]);
}

#[test]
fn independent_reads_of_independent_writes_have_fifteen_traces() {
    let text = "shared x, y; thread a { x = 1; } thread b { y = 1; }
        thread c { let r = x; let s = y; } thread d { let r = y; let s = x; }";
    assert_eq!(executions(text), [15, 15, 15]);
}

#[test]
fn when_a_forwarded_store_arrives_is_not_part_of_a_trace() {
    let text = "shared x, y; thread a { x = 1; let r = x; let s = y; } thread b { y = 1; let r = y; let s = x; }";
    assert_eq!(executions(text), [3, 4, 4]);
}

#[test]
fn writers_of_one_cell_come_in_any_order() {
    assert_eq!(executions("shared x; thread t * 4 { x = 1; }"), [24, 24, 24]);
}

#[test]
fn updates_and_locks_come_in_any_order() {
    assert_eq!(executions("shared x; thread t * 4 { x.fetch_add(1); }"), [24, 24, 24]);
    assert_eq!(executions("shared x; mutex m; thread t * 4 { lock(m); x += 1; unlock(m); }"), [24, 24, 24]);
}

/// What is wrong, in words that do not depend on what was found first: of two racing accesses, or of two ways into
/// the same deadlock.
pub(crate) fn violations(report: &Report) -> BTreeSet<String> {
    let show = |violation: &Violation| {
        let place = violation.span.map(|span| span.start);
        let words = match violation.kind {
            ViolationKind::DataRace => {
                let mut words: Vec<&str> = violation.message.split(' ').collect();
                words.sort();
                return words.join(" ");
            }
            ViolationKind::Deadlock | ViolationKind::Livelock => {
                let sentences = violation.message.split("; ");
                let mut names: Vec<&str> = sentences.filter_map(|sentence| sentence.split(' ').next()).collect();
                names.sort();
                return format!("{}: {}", violation.kind.name(), names.join(" "));
            }
            _ => violation.message.clone(),
        };
        format!("{} {:?} {place:?}: {words}", violation.kind.name(), violation.thread)
    };
    report.violations.iter().map(show).collect()
}

/// Whether `dpor` finds what `exhaustive` finds. Programs with many traces are left out.
fn agrees(sketch: &Sketch, memory: MemoryModel) -> Result<bool, String> {
    let program = sketch.program();
    let options = Options { all_violations: true, ..Options::new(memory) };
    let limits = Limits { states: 30_000, ..options.limits };
    let expected = check(&program, &Options { limits, ..options.clone() }, &Unwatched);
    if expected.stop != StopReason::Exhausted {
        return Ok(false);
    }
    let limits = Limits { executions: 20_000, ..options.limits };
    let found = check(&program, &Options { engine: Engine::Dpor, limits, ..options }, &Unwatched);
    if matches!(found.stop, StopReason::ExecutionLimit | StopReason::EventLimit) {
        return Ok(false);
    }
    if found.stop != StopReason::Exhausted {
        return Err(format!("{memory}: {:?}", found.stop));
    }
    let (have, want) = (violations(&found), violations(&expected));
    if have != want {
        return Err(format!("{memory}: violations\n{have:#?}\n{want:#?}"));
    }
    if found.final_states != expected.final_states {
        return Err(format!("{memory}: final states\n{:#?}\n{:#?}", found.final_states, expected.final_states));
    }
    let answers = |report: &Report| report.observations.iter().map(|o| o.witness.is_some()).collect::<Vec<_>>();
    if answers(&found) != answers(&expected) {
        return Err(format!("{memory}: observations"));
    }
    if found.statistics.redundant > 0 {
        return Err(format!("{memory}: {} executions were redundant", found.statistics.redundant));
    }
    Ok(true)
}

fn agrees_with_exhaustive(memory: MemoryModel, features: Features) {
    let (compared, total) = (AtomicU32::new(0), AtomicU32::new(0));
    for_all(sketches(features), cases(2000), |sketch| {
        total.fetch_add(1, Relaxed);
        compared.fetch_add(agrees(sketch, memory)?.into(), Relaxed);
        Ok(())
    });
    let (compared, total) = (compared.into_inner(), total.into_inner());
    println!("{memory}: {compared} of {total} programs were small enough to be compared");
    assert!(compared * 10 >= total * 8, "{compared} of {total} programs were compared");
}

#[test]
fn dpor_agrees_with_exhaustive_under_sc() {
    agrees_with_exhaustive(MemoryModel::Sc, Features::ALL);
}

#[test]
fn dpor_agrees_with_exhaustive_under_tso() {
    agrees_with_exhaustive(MemoryModel::Tso, Features::ALL);
}

#[test]
fn dpor_agrees_with_exhaustive_under_pso() {
    agrees_with_exhaustive(MemoryModel::Pso, Features::ALL);
}

#[test]
fn dpor_agrees_with_exhaustive_on_blocks_that_are_shared_and_freed() {
    MemoryModel::MACHINES.into_iter().for_each(|memory| agrees_with_exhaustive(memory, Features::BLOCKS));
}

#[test]
fn dpor_agrees_with_exhaustive_on_locks_that_are_shared() {
    MemoryModel::MACHINES.into_iter().for_each(|memory| agrees_with_exhaustive(memory, Features::READERS));
}

#[test]
fn who_wants_a_lock_alone_may_come_before_all_who_share_it() {
    // Readers that need one another to give the lock back: leaving out one of them leaves the other one with the lock.
    let meet = "rwlock l; shared a, b;
        thread r { read_lock(l); a = 1; while b == 0 {} read_unlock(l); }
        thread s { read_lock(l); b = 1; while a == 0 {} read_unlock(l); }
        thread w { write_lock(l); let seen = a; assert(seen == 1); write_unlock(l); }";
    // Readers that never give it back.
    let keep = "rwlock l; shared x;
        thread r { read_lock(l); }
        thread s { read_lock(l); }
        thread w { write_lock(l); x = 1; }";
    for (text, n_violations) in [(meet, 1), (keep, 2)] {
        let program = parse(text);
        for memory in MemoryModel::MACHINES {
            let options = Options { all_violations: true, ..Options::new(memory) };
            let expected = violations(&check(&program, &options, &Unwatched));
            let found = check(&program, &Options { engine: Engine::Dpor, ..options }, &Unwatched);
            assert_eq!((found.statistics.redundant, violations(&found)), (0, expected.clone()), "{memory}: {text}");
            assert_eq!(expected.len(), n_violations, "{memory}: {text}");
        }
    }
}

#[test]
fn dpor_agrees_with_exhaustive_on_memory_alone() {
    MemoryModel::MACHINES.into_iter().for_each(|memory| agrees_with_exhaustive(memory, Features::MEMORY));
}

#[test]
fn an_exchange_does_not_see_later_stores_of_its_thread() {
    let text = "shared x;
        thread a { let r = x.compare_exchange(0, 1); x = r + 1; }
        thread b { let r = x; }
        thread c { let r = x.compare_exchange(1, 0); }";
    assert_eq!(executions(text), [11, 11, 11]);
}

#[test]
fn a_thread_that_waits_for_its_own_store_notices_that_the_block_is_freed() {
    let text = "struct Pair { a, b } shared z = null;
        thread w { let p = z; if p != null { p.b = 2; while p.b != 0 {} } }
        thread f { let p = new Pair {}; z = p; free(p); }";
    let program = parse(text);
    for memory in MemoryModel::MACHINES {
        let of = |engine| {
            let options = Options { engine, all_violations: true, ..Options::new(memory) };
            let report = check(&program, &options, &Unwatched);
            assert_eq!(report.stop, StopReason::Exhausted, "{memory}");
            violations(&report)
        };
        assert_eq!(of(Engine::Dpor), of(Engine::Exhaustive), "{memory}");
    }
}
