//! Every engine against `exhaustive`, on generated programs.

use super::places;
use crate::retries::Patience;
use unthread_checker::engines::check;
use unthread_checker::engines::learning::{cumulative, mcr};
use unthread_checker::engines::states::exhaustive;
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::search::{Coverage, Engine, Options, Report, StopReason, Unwatched, ViolationKind};
use unthread_checker::trace::Combination;
use unthread_generate::{Features, Sketch, Statement, cases, for_all, sketches};

/// Programs with more states than this are left out.
const BUDGET: u64 = 40_000;

/// What two engines must agree on.
fn findings(report: &Report) -> (Vec<String>, Vec<bool>, Vec<unthread_checker::program::FinalState>) {
    let mut violations: Vec<String> = report
        .violations
        .iter()
        .map(|violation| {
            // One execution stands for all that are stuck at the same places; which thread holds a lock, or was notified, may differ between them.
            let message = match violation.kind {
                ViolationKind::Deadlock | ViolationKind::Livelock => "",
                _ => &violation.message,
            };
            format!("{} at {:?}: {message}", violation.kind.name(), places(violation))
        })
        .collect();
    violations.sort();
    let observed = report.observations.iter().map(|observation| observation.witness.is_some()).collect();
    (violations, observed, report.final_states.clone())
}

/// Compares both engines that learn from executions with an exhaustive search.
pub(crate) fn agree(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    agree_within(ALL_LOOKS, sketch, memory).map(|_| ())
}

/// The same, for so many looks of each engine. Says whether they came to an end.
pub(crate) fn agree_within(looks: u32, sketch: &Sketch, memory: MemoryModel) -> Result<bool, String> {
    all_agree(&[Engine::Mcr, Engine::Cumulative], looks, sketch, memory)
}

/// No search takes so many.
const ALL_LOOKS: u32 = u32::MAX;

fn all_agree(engines: &[Engine], looks: u32, sketch: &Sketch, memory: MemoryModel) -> Result<bool, String> {
    let program = sketch.program();
    let subject = interpret(&program);
    let options = Options { all_violations: true, ..Options::new(memory) };
    let Some(expected) = exhaustive::histories(&subject, &options, BUDGET, &Unwatched) else { return Ok(true) };
    let oracle = check(&program, &options, &Unwatched);
    if oracle.stop != StopReason::Exhausted {
        return Ok(true);
    }
    let expected = expected.combinations();
    let gives_up = sketch.any(|s| matches!(s, Statement::Assume(_) | Statement::Choose { .. }));
    for &engine in engines {
        let options = Options { engine, coverage: Coverage::States, first_sources: 1, ..options.clone() };
        let report = check(&program, &options, &Patience::new(looks));
        if report.stop == StopReason::Interrupted {
            return Ok(false);
        }
        if report.stop != StopReason::Exhausted {
            return Err(format!("{memory}: {engine}: stopped: {:?}", report.stop));
        }
        let found = match engine {
            Engine::Mcr => mcr::histories(&subject, &options),
            _ => cumulative::histories(&subject, &options),
        };
        let found = found.map_err(|stop| format!("{engine}: {stop:?}"))?;
        let missing: Vec<_> = expected.difference(&found).collect();
        let wrong: Vec<_> = found.difference(&expected).collect();
        if !missing.is_empty() || !wrong.is_empty() {
            return Err(format!("{memory}: {engine}: histories: missing {missing:?}\nwrong {wrong:?}"));
        }
        let counted = (report.statistics.executions, report.statistics.histories);
        let combinations = expected.len() as u64;
        let is_right = match engine {
            Engine::Mcr => counted == (combinations, Some(combinations)),
            // Executions in which a thread gives up have no part in the histories.
            _ => counted.1 == Some(combinations) && (gives_up || counted.0 <= most_executions(&expected)),
        };
        if !is_right {
            return Err(format!("{memory}: {engine}: {counted:?} executions and histories for {combinations}"));
        }
        let (oracle, report) = (findings(&oracle), findings(&report));
        if oracle != report {
            return Err(format!("{memory}: {engine}: expected {oracle:#?}\nfound {report:#?}"));
        }
    }
    Ok(true)
}

/// The number of distinct histories of single threads, and of their beginnings: an engine that runs only what is new needs no more executions.
fn most_executions(combinations: &std::collections::BTreeSet<Combination>) -> u64 {
    let histories = combinations.iter().flatten();
    let beginnings = histories.flat_map(|(key, history)| (0..=history.len()).map(move |n| (key, &history[..n])));
    beginnings.collect::<std::collections::BTreeSet<_>>().len() as u64
}

#[test]
fn engines_that_learn_find_what_exhaustive_finds_and_run_nothing_twice() {
    for_all(sketches(Features::ALL), cases(2_000), |sketch| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| agree(sketch, memory))
    });
}

#[test]
fn engines_that_learn_agree_on_memory_alone() {
    for_all(sketches(Features::MEMORY), cases(2_000), |sketch| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| agree(sketch, memory))
    });
}

#[test]
fn mcr_agrees_on_locks_that_are_shared() {
    for_all(sketches(Features::READERS), cases(1_000), |sketch| {
        let agrees = |memory| all_agree(&[Engine::Mcr], ALL_LOOKS, sketch, memory).map(|_| ());
        MemoryModel::MACHINES.into_iter().try_for_each(agrees)
    });
}

#[test]
fn engines_that_learn_agree_on_blocks_that_are_shared_and_freed() {
    for_all(sketches(Features::BLOCKS), cases(2_000), |sketch| {
        MemoryModel::MACHINES.into_iter().try_for_each(|memory| agree(sketch, memory))
    });
}

#[test]
fn several_workers_find_what_one_finds() {
    for_all(sketches(Features::ALL), cases(2_000) / 8, |sketch| {
        let program = sketch.program();
        for memory in MemoryModel::MACHINES {
            for all_violations in [false, true] {
                let options = Options { engine: Engine::Mcr, all_violations, ..Options::new(memory) };
                let one = check(&program, &options, &Unwatched);
                let several = check(&program, &Options { jobs: 3, ..options }, &Unwatched);
                if findings(&one) != findings(&several) || one.statistics.histories != several.statistics.histories {
                    return Err(format!("{memory}: one worker: {one:#?}\nthree: {several:#?}"));
                }
            }
        }
        Ok(())
    });
}

/// Engine mcr and an exhaustive search see the same histories of a program.
fn mcr_sees_the_histories_of(text: &str) {
    use unthread_checker::frontend::ut;
    let source = std::sync::Arc::new(unthread_checker::base::Source::new("frees.ut", text));
    let program = ut::parse(source, &Default::default()).expect("it is a program");
    let subject = interpret(&program);
    for memory in MemoryModel::MACHINES {
        let options = Options { engine: Engine::Mcr, all_violations: true, ..Options::new(memory) };
        let found = mcr::histories(&subject, &options).expect("everything is explored");
        let expected = exhaustive::histories(&subject, &options, u64::MAX, &Unwatched).expect("they are finite");
        assert_eq!(found, expected.combinations(), "{memory}");
    }
}

#[test]
fn whichever_of_two_frees_comes_first_succeeds() {
    mcr_sees_the_histories_of(
        "struct Node { value }\nshared p = null;\nthread a { let q = new Node; p = q; if p != null { free(q); } }\n\
         thread b { let r = p; if r != null { free(r); } }\n",
    );
}

/// Some of the numbers that `w0` makes are pointers as to their form, and lead to cells that do not exist.
#[test]
fn a_pointer_that_leads_nowhere_always_fails() {
    mcr_sees_the_histories_of(
        "struct Node { a, b }\nshared x = 0, y = 0;\n\
         thread w0 { let r = 0; loop { r = y.fetch_or(r + 1); if x == 1 { break; } } }\n\
         thread w1 { let p = y; let r = p.b.swap(0); }\n",
    );
}

/// A thread that spins on a block goes on when it is freed, whichever of the cells that it looks at comes first.
#[test]
fn a_thread_that_spins_on_a_block_notices_that_it_is_freed() {
    for condition in ["p.value == 0", "x == 0 && p.value == 0", "p.value == 0 && x == 0"] {
        mcr_sees_the_histories_of(&format!(
            "struct Node {{ value }}\nshared x = 0;\nmain {{ let p = new Node; fork other(p); while {condition} {{ }} }}\n\
             thread other(p) {{ free(p); x = 1; }}\n",
        ));
    }
}

/// A thread may do so much by itself, and no more. What it does from the read at the end of one turn to the read in the next is too much, so it fails where it spins, once it goes on.
#[test]
fn a_thread_that_spins_goes_on_to_fail() {
    use unthread_checker::frontend::ut;
    let long = "for i in 0..24_000 { }";
    let text = format!(
        "shared x = 0, y = 0;\nthread a {{ x = 2; let r = y; assume(r == 1); }}\n\
         thread b {{ x = 1; let seen = 1; while seen == 1 {{ {long} seen = x; if seen == 1 {{ {long} }} }} }}\n",
    );
    mcr_sees_the_histories_of(&text);
    let source = std::sync::Arc::new(unthread_checker::base::Source::new("fails.ut", text));
    let program = ut::parse(source, &Default::default()).expect("it is a program");
    for memory in MemoryModel::MACHINES {
        for engine in [Engine::Exhaustive, Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Auto] {
            let report = check(&program, &Options { engine, ..Options::new(memory) }, &Unwatched);
            assert_eq!(report.stop, StopReason::Violation, "{memory}: {engine}");
        }
    }
}

/// Under PSO the flag can be there before the value is, and the block be gone before the value is.
#[test]
fn a_store_that_reaches_its_block_after_it_was_freed_is_found() {
    use unthread_checker::frontend::ut;
    let text = "struct Node { value }\nshared p = 0, flag = 0;\n\
                thread a { let q = new Node; p = q; fence; q.value = 1; flag = 1; }\n\
                thread b { if flag == 1 { free(p); } }\n";
    let source = std::sync::Arc::new(unthread_checker::base::Source::new("late.ut", text));
    let program = ut::parse(source, &Default::default()).expect("it is a program");
    for (memory, stop) in
        MemoryModel::MACHINES.into_iter().zip([StopReason::Exhausted, StopReason::Exhausted, StopReason::Violation])
    {
        for engine in [Engine::Exhaustive, Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Auto] {
            let report = check(&program, &Options { engine, ..Options::new(memory) }, &Unwatched);
            assert_eq!(report.stop, stop, "{memory}: {engine}");
        }
    }
}

/// Executions until the first error, under SC, TSO and PSO: no more than the tool of the paper needed (S. Huang and J. Huang, OOPSLA 2016,
/// Table 4; of Example only the error under PSO is known to be the paper's).
#[test]
fn mcr_finds_the_errors_of_the_papers_as_soon_as_published() {
    const PUBLISHED: [(&str, &str, [u64; 3]); 7] = [
        ("dekker", "", [10, 4, 5]),
        ("lamport", "", [2, 2, 3]),
        ("bakery", "CHECK", [8, 8, 15]),
        ("peterson_check", "", [7, 2, 3]),
        ("stack_unsafe", "", [2, 2, 2]),
        ("rvexample", "", [53, 54, 39]),
        ("example", "", [u64::MAX, u64::MAX, 3]),
    ];
    let folder = std::path::Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/programs/papers");
    for (name, define, most) in PUBLISHED {
        let text = std::fs::read_to_string(folder.join(name).with_extension("ut")).expect("it is in the corpus");
        let source = std::sync::Arc::new(unthread_checker::base::Source::new(name, text));
        let defines = [define].into_iter().filter(|define| !define.is_empty()).map(|define| (define.to_string(), 1));
        let program = unthread_checker::frontend::ut::parse(source, &defines.collect()).expect("it is a program");
        for (memory, most) in MemoryModel::MACHINES.into_iter().zip(most) {
            let report = check(&program, &Options { engine: Engine::Mcr, ..Options::new(memory) }, &Unwatched);
            let executions = report.statistics.executions;
            assert!(executions <= most, "{name}, {memory}: {executions} executions instead of {most}");
            assert!(most == u64::MAX || report.stop == StopReason::Violation, "{name}, {memory}: no error");
        }
    }
}
