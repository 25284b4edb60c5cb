//! Every engine against `exhaustive`, on generated programs.

use unthread_checker::execution::{Interpreter, MemoryModel};
use unthread_checker::explore::{Engine, Options, Unwatched, check, exhaustive, mcr};
use unthread_checker::report::{Report, StopReason};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

/// Programs with more states than this are left out.
const BUDGET: u64 = 40_000;

/// What two engines must agree on.
fn findings(report: &Report) -> (Vec<String>, Vec<bool>, Vec<unthread_checker::report::FinalState>) {
    let mut violations: Vec<String> = report
        .violations
        .iter()
        .map(|violation| {
            let place = violation.span.map(|span| span.start);
            format!("{} at {place:?} of {:?}: {}", violation.kind.name(), violation.thread, violation.message)
        })
        .collect();
    violations.sort();
    let observed = report.observations.iter().map(|observation| observation.witness.is_some()).collect();
    (violations, observed, report.final_states.clone())
}

fn mcr_agrees(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let subject = Interpreter::new(&program);
    let options = Options { all_violations: true, ..Options::new(memory) };
    let Some(expected) = exhaustive::histories(&subject, &options, BUDGET, &Unwatched) else { return Ok(()) };
    let oracle = check(&program, &options, &Unwatched);
    if oracle.stop != StopReason::Exhausted {
        return Ok(());
    }
    let options = Options { engine: Engine::Mcr, ..options };
    let report = check(&program, &options, &Unwatched);
    if report.stop != StopReason::Exhausted {
        return Err(format!("{memory}: stopped: {:?}", report.stop));
    }
    let expected = expected.combinations();
    let found = mcr::histories(&subject, &options).map_err(|stop| format!("{stop:?}"))?;
    let missing: Vec<_> = expected.difference(&found).collect();
    let wrong: Vec<_> = found.difference(&expected).collect();
    if !missing.is_empty() || !wrong.is_empty() {
        return Err(format!("{memory}: histories: missing {missing:?}\nwrong {wrong:?}"));
    }
    if report.statistics.executions != expected.len() as u64 {
        return Err(format!(
            "{memory}: {} executions for {} combinations",
            report.statistics.executions,
            expected.len()
        ));
    }
    let (oracle, report) = (findings(&oracle), findings(&report));
    if oracle != report {
        return Err(format!("{memory}: expected {oracle:#?}\nfound {report:#?}"));
    }
    Ok(())
}

#[test]
fn mcr_finds_what_exhaustive_finds_without_repeating_an_execution() {
    for_all(sketches(Features::ALL), cases(2_000), |sketch| {
        MemoryModel::ALL.into_iter().try_for_each(|memory| mcr_agrees(sketch, memory))
    });
}

#[test]
fn mcr_agrees_on_memory_alone() {
    for_all(sketches(Features::MEMORY), cases(2_000), |sketch| {
        MemoryModel::ALL.into_iter().try_for_each(|memory| mcr_agrees(sketch, memory))
    });
}

#[test]
fn several_workers_find_what_one_finds() {
    for_all(sketches(Features::ALL), cases(2_000) / 8, |sketch| {
        let program = sketch.program();
        for memory in MemoryModel::ALL {
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

#[test]
fn whichever_of_two_frees_comes_first_succeeds() {
    use unthread_checker::frontend::ut;
    let text = "struct Node { value }\nshared p = null;\nthread a { let q = new Node; p = q; if p != null { free(q); } }\n\
                thread b { let r = p; if r != null { free(r); } }\n";
    let source = std::sync::Arc::new(unthread_checker::program::Source::new("frees.ut", text));
    let program = ut::parse(source, &Default::default()).expect("it is a program");
    let subject = Interpreter::new(&program);
    for memory in MemoryModel::ALL {
        let options = Options { engine: Engine::Mcr, all_violations: true, ..Options::new(memory) };
        let found = mcr::histories(&subject, &options).expect("everything is explored");
        let expected = exhaustive::histories(&subject, &options, u64::MAX, &Unwatched).expect("they are finite");
        assert_eq!(found, expected.combinations(), "{memory}");
    }
}
