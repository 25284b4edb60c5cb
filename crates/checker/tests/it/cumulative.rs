//! Engine `cumulative`: several workers, comparisons of memory models, coverages, and how few executions it needs. (`engines.rs` compares it with `exhaustive`.)

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::engines::learning::cumulative::{Comparison, compare};
use unthread_checker::engines::states::exhaustive;
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Coverage, Engine, Options, Report, StopReason, Unwatched, replay};
use unthread_generate::{Features, cases, for_all, sketches};

/// Programs with more states than this are left out.
const BUDGET: u64 = 40_000;

fn options(memory: MemoryModel, coverage: Coverage) -> Options {
    Options { engine: Engine::Cumulative, all_violations: true, coverage, first_sources: 1, ..Options::new(memory) }
}

/// What is wrong, in words that do not depend on the schedule.
fn violations(report: &Report) -> Vec<String> {
    let told = |violation: &unthread_checker::search::Violation| {
        format!("{} of {:?} at {:?}: {}", violation.kind.name(), violation.thread, violation.span, violation.message)
    };
    let mut all: Vec<String> = report.violations.iter().map(told).collect();
    all.sort();
    all
}

/// A program of the corpus.
fn program(name: &str, defines: &[(&str, i64)]) -> Program {
    let file: PathBuf = [env!("CARGO_WORKSPACE_DIR"), "corpus/programs", name].iter().collect();
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let defines: BTreeMap<String, i64> = defines.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    ut::parse(Arc::new(Source::new(name, text)), &defines).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:?}"))
}

#[test]
fn several_workers_of_cumulative_find_what_one_finds() {
    for_all(sketches(Features::ALL), cases(2_000) / 8, |sketch| {
        let program = sketch.program();
        let subject = interpret(&program);
        for memory in MemoryModel::MACHINES {
            let options = options(memory, Coverage::States);
            if exhaustive::histories(&subject, &options, BUDGET, &Unwatched).is_none() {
                continue;
            }
            let one = check(&program, &options, &Unwatched);
            for jobs in [2, 3] {
                let several = check(&program, &Options { jobs, ..options.clone() }, &Unwatched);
                let same = violations(&one) == violations(&several)
                    && one.stop == several.stop
                    && one.final_states == several.final_states
                    && one.statistics.histories == several.statistics.histories;
                if !same {
                    return Err(format!("{memory}: one worker: {one:#?}\n{jobs}: {several:#?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_comparison_of_memory_models_finds_a_difference_where_there_is_one() {
    for_all(sketches(Features::ALL), cases(2_000) / 4, |sketch| {
        let program = sketch.program();
        let subject = interpret(&program);
        for (memory, other) in [
            (MemoryModel::Tso, MemoryModel::Sc),
            (MemoryModel::Pso, MemoryModel::Sc),
            (MemoryModel::Pso, MemoryModel::Tso),
            (MemoryModel::Sc, MemoryModel::Tso),
        ] {
            let histories = |memory| {
                exhaustive::histories(&subject, &Options::new(memory), BUDGET, &Unwatched).map(|h| h.combinations())
            };
            let (Some(here), Some(there)) = (histories(memory), histories(other)) else { continue };
            let compared = compare(&program, &options(memory, Coverage::Behaviours), other, &Unwatched);
            let is_right = match &compared {
                Comparison::Same(n) => here.is_subset(&there) && *n == here.len() as u64,
                Comparison::Differs(difference) => {
                    let shown = replay(&program, memory.rules().unbounded(), &difference.schedule);
                    let combination = &difference.combination;
                    shown.is_ok() && here.contains(combination) && !there.contains(combination)
                }
                Comparison::Unknown(_) => false,
            };
            if !is_right {
                return Err(format!("{memory} with {other}: {compared:?}\nhere {here:?}\nthere {there:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn coverage_of_behaviours_shows_everything_that_is_wrong() {
    for_all(sketches(Features::ALL), cases(2_000) / 4, |sketch| {
        let program = sketch.program();
        for memory in MemoryModel::MACHINES {
            let mut oracle = Options { all_violations: true, ..Options::new(memory) };
            oracle.limits.states = BUDGET;
            let oracle = check(&program, &oracle, &Unwatched);
            if oracle.stop != StopReason::Exhausted {
                continue;
            }
            let behaviours = check(&program, &options(memory, Coverage::Behaviours), &Unwatched);
            let finals = check(&program, &options(memory, Coverage::FinalStates), &Unwatched);
            for report in [&behaviours, &finals] {
                if report.stop != StopReason::Exhausted || violations(report) != violations(&oracle) {
                    return Err(format!("{memory}: expected {oracle:#?}\nfound {report:#?}"));
                }
            }
            if !behaviours.final_states.iter().all(|state| oracle.final_states.contains(state))
                || finals.final_states != oracle.final_states
            {
                return Err(format!("{memory}: expected {oracle:#?}\nfound {finals:#?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn values_and_ways_that_are_known_cost_no_executions() {
    use MemoryModel::{Pso, Sc, Tso};
    let all = vec![Sc, Tso, Pso];
    let most = [
        ("trylock0", 8, 5, all.clone()),
        ("trylock0", 40, 5, all.clone()),
        ("trylock", 4, 5, vec![Sc, Tso]),
        ("trylock", 8, 5, vec![Sc, Tso]),
        ("trylock", 15, 5, vec![Sc, Tso]),
        ("nwsame", 3, 2, all.clone()),
        ("nwsame", 9, 2, all.clone()),
        ("nwsame", 30, 2, all.clone()),
        ("mcr_example", 4, 60, vec![Sc, Tso]),
        ("mcr_example", 4, 200, vec![Pso]),
        ("lastzero", 10, 80, all.clone()),
        ("readers", 12, 30, all.clone()),
        ("seqlock", 8, 100, vec![Sc, Tso]),
        ("fib_bench", 3, 100, all),
    ];
    for (name, n, most, memories) in most {
        let program = program(&format!("peers/{name}.ut"), &[("N", n)]);
        for memory in memories {
            let options = Options { engine: Engine::Cumulative, all_violations: true, ..Options::new(memory) };
            let report = check(&program, &options, &Unwatched);
            assert_eq!(report.stop, StopReason::Exhausted, "{name} {n}, {memory}");
            let executions = report.statistics.executions;
            assert!(executions <= most, "{name} {n}, {memory}: {executions} executions");
        }
    }
}

#[test]
fn auto_runs_visits_or_learns_whichever_is_least() {
    let engine_of = |name: &str, n: i64| {
        let program = program(&format!("peers/{name}.ut"), &[("N", n)]);
        let options = Options { engine: Engine::Auto, ..Options::new(MemoryModel::Tso) };
        let report = check(&program, &options, &Unwatched);
        assert_eq!(report.stop, StopReason::Exhausted, "{name}");
        report.engine
    };
    // There is but one execution.
    assert_eq!(engine_of("indep", 16), Engine::Mcr);
    assert_eq!(engine_of("msqueue", 3), Engine::Exhaustive);
    assert_eq!(engine_of("lastzero", 13), Engine::Cumulative);
    // Two million states, of which most show nothing new.
    assert_eq!(engine_of("fib_bench", 5), Engine::Exhaustive);
}

/// A program that cumulative explores to its end, with what an exhaustive search finds.
fn is_explored(text: &str) {
    let program = ut::parse(Arc::new(Source::new("locks.ut", text)), &BTreeMap::new()).expect("it is a program");
    for memory in MemoryModel::MACHINES {
        let oracle = Options { all_violations: true, count_histories: true, ..Options::new(memory) };
        let oracle = check(&program, &oracle, &Unwatched);
        assert_eq!(oracle.stop, StopReason::Exhausted, "{memory}");
        let found = check(&program, &options(memory, Coverage::States), &Unwatched);
        assert_eq!(found.stop, StopReason::Exhausted, "{memory}: {text}");
        assert_eq!(found.final_states, oracle.final_states, "{memory}: {text}");
        assert_eq!(violations(&found), violations(&oracle), "{memory}: {text}");
        assert_eq!(found.statistics.histories, oracle.statistics.histories, "{memory}: {text}");
    }
}

/// Whoever tries again takes a lock in another place than whoever succeeds at once. Both give it back in the same place, and it was not seen that the first one does.
#[test]
fn a_lock_that_is_taken_in_a_loop_is_given_back_whichever_lap_took_it() {
    is_explored(
        "shared x;\nthread t0 { let r2 = x.fetch_add(1); }\n\
         thread t2 { while x.cas(0, 1) == 0 {} x = 0; }\nexists (t0.r2 == 77);\n",
    );
    for n in [2, 3] {
        is_explored(&format!(
            "shared data = 0, state = 0;\nthread worker(index) * {n} {{\n\
             loop {{ while state != 0 {{}} if !state.swap(1) {{ break; }} }}\n\
             data = index; assert(data == index); state = 0; }}\n",
        ));
    }
}

/// Who has the lock may have taken it before or after it was given back once: where it is given back for good, that cannot be told from the place alone.
#[test]
fn a_lock_that_may_be_given_back_in_between_is_a_lock_with_sources() {
    for take in ["while x.cas(0, 1) == 0 {}", "while x.swap(1) != 0 {}", "assume(x.cas(0, 1));"] {
        is_explored(&format!(
            "shared x, y;\nthread a {{ {take} if y == 1 {{ x = 0; {take} }} x = 0; }}\n\
             thread b {{ y = 1; {take} let r = y; y = r + 1; x = 0; }}\nexists (b.r == 0);\n",
        ));
    }
    is_explored(
        "shared y; mutex m;\nthread a { lock(m); if y == 1 { unlock(m); lock(m); } unlock(m); }\n\
         thread b { y = 1; lock(m); y = 2; unlock(m); }\nthread c { lock(m); let r = y; unlock(m); }\n",
    );
}

/// Two orders of writes that followed at once contradicted each other; one was forgotten, and a wrong final memory hid a right one.
#[test]
fn orders_that_follow_at_once_are_all_kept() {
    let text = "shared x = 0;\nthread a { let r = x.fetch_add(1); r = x.fetch_add(0); r = x; }\n\
                thread b { let r = x; x = 1; }\nthread c { x = 0; let r = x.fetch_or(2); }\n";
    let program = ut::parse(Arc::new(Source::new("orders.ut", text)), &BTreeMap::new()).expect("it is a program");
    for memory in MemoryModel::MACHINES {
        let oracle = check(&program, &Options { all_violations: true, ..Options::new(memory) }, &Unwatched);
        let found = check(&program, &options(memory, Coverage::States), &Unwatched);
        assert_eq!(found.final_states, oracle.final_states, "{memory}");
        assert_eq!(found.statistics.histories, oracle.statistics.histories, "{memory}");
    }
}

/// An answer of the solver could not be put in order, and it was asked for again and again: sections of a lock that is given back in the middle are not what others are.
#[test]
fn a_lock_that_is_given_back_while_its_holder_waits_is_no_ordinary_lock() {
    let program = program("condvar.ut", &[]);
    for memory in MemoryModel::MACHINES {
        let report = check(&program, &Options { engine: Engine::Cumulative, ..Options::new(memory) }, &Unwatched);
        assert_eq!(report.stop, StopReason::Exhausted, "{memory}");
    }
}
