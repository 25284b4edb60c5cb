//! The `exhaustive` engine and the machine under it against the reference semantics, on generated programs.

use crate::reference::{Behaviour, behaviour};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::ThreadKey;
use unthread_checker::engines::check;
use unthread_checker::engines::states::exhaustive;
use unthread_checker::execution::{MemoryModel, Rules, interpret};
use unthread_checker::program::{Program, Quantifier, validate};
use unthread_checker::search::{Options, Report, StopReason, Unwatched, ViolationKind};
use unthread_checker::trace::Combination;
use unthread_generate::{Features, Sketch, Statement, cases, for_all, sketches};

/// Programs with more states than this are left out: the reference is slow.
const BUDGET: usize = 30_000;

/// Compares an engine's findings under some rules with the reference under the memory model. Says whether it did: programs that
/// are too large are left out.
pub(crate) fn agree(sketch: &Sketch, memory: MemoryModel, rules: Rules) -> Result<bool, String> {
    let program = sketch.program();
    validate(&program)?;
    let spins = sketch.any(|statement| statement.is_loop());
    let Some(expected) = behaviour(&program, memory, !spins, BUDGET) else { return Ok(false) };
    let mut found = found(&program, memory, rules, !spins)?;
    if spins {
        found.histories.clone_from(&expected.histories);
    }
    // Whether the other threads go on for ever where one has failed or given up: the reference does not ask.
    let retries = sketch.any(|statement| statement.is_loop() && !matches!(statement, Statement::Spin { .. }));
    let gives_up = sketch.any(|statement| matches!(statement, Statement::Assume(_) | Statement::Choose { .. }));
    if retries && (gives_up || !expected.failures.is_empty()) {
        found.endless = expected.endless;
    }
    if found == expected {
        return Ok(true);
    }
    Err(format!("{memory}:\n{}", difference(&found, &expected)))
}

/// What the engine finds.
pub(crate) fn found(
    program: &Program,
    memory: MemoryModel,
    rules: Rules,
    with_histories: bool,
) -> Result<Behaviour, String> {
    let options = Options { rules, all_violations: true, ..Options::new(memory) };
    let report = check(program, &options, &Unwatched);
    if report.stop != StopReason::Exhausted {
        return Err(format!("the search ended with {:?}", report.stop));
    }
    let mut found = behaviour_of(program, &report);
    if with_histories {
        let histories = exhaustive::histories(&interpret(program), &options, u64::MAX, &Unwatched);
        let combinations = histories.ok_or("histories were not counted")?.combinations().into_iter();
        let plain = |combination: Combination| combination.into_iter().map(|(ThreadKey(key), results)| (key, results));
        found.histories = combinations.map(|combination| plain(combination).collect()).collect();
    }
    Ok(found)
}

fn behaviour_of(program: &Program, report: &Report) -> Behaviour {
    let mut found = Behaviour::default();
    for state in &report.final_states {
        found.final_states.insert(state.clone());
    }
    for violation in &report.violations {
        let words: Vec<&str> = violation.message.split(' ').collect();
        match violation.kind {
            ViolationKind::Failure(_) => {
                let thread = violation.thread.clone().expect("a thread failed");
                let place = violation.span.expect("somewhere").start;
                found.failures.insert((violation.kind.name().into(), thread, place, violation.message.clone()));
            }
            ViolationKind::Deadlock => {
                let name = |sentence: &str| sentence.split(' ').next().expect("a name").to_string();
                let mut names: Vec<String> = violation.message.split("; ").map(name).collect();
                names.sort();
                found.deadlocks.insert(names);
            }
            ViolationKind::Livelock => found.endless = true,
            ViolationKind::DataRace => {
                let mut pair = [words[0].to_string(), words[2].to_string()];
                pair.sort();
                let [first, second] = pair;
                found.races.insert((first, second));
            }
            ViolationKind::StoreBuffers => panic!("nobody looks for it here"),
            ViolationKind::Goal => panic!("generated programs have no goal"),
            ViolationKind::Condition => {
                let is_it = |condition: &unthread_checker::program::Condition| Some(condition.span) == violation.span;
                found.conditions.extend(program.conditions.iter().position(is_it));
            }
        }
    }
    for (index, condition) in program.conditions.iter().enumerate() {
        let observed = report.observations.iter().any(|o| o.span == condition.span && o.witness.is_some());
        if condition.quantifier == Quantifier::Exists && observed {
            found.conditions.insert(index);
        }
    }
    found
}

/// What is in one and not in the other.
pub(crate) fn difference(found: &Behaviour, expected: &Behaviour) -> String {
    fn sets<T: Ord + std::fmt::Debug>(what: &str, found: &BTreeSet<T>, expected: &BTreeSet<T>) -> String {
        let show = |sign: &str, items: Vec<&T>| {
            items.into_iter().take(4).map(|item| format!("{sign} {what} {item:?}\n")).collect::<String>()
        };
        show("unexpected", found.difference(expected).collect())
            + &show("missing", expected.difference(found).collect())
    }
    [
        sets("final state", &found.final_states, &expected.final_states),
        sets("failure", &found.failures, &expected.failures),
        sets("deadlock", &found.deadlocks, &expected.deadlocks),
        sets("livelock", &[found.endless].into(), &[expected.endless].into()),
        sets("race", &found.races, &expected.races),
        sets("condition", &found.conditions, &expected.conditions),
        sets("history", &found.histories, &expected.histories),
    ]
    .concat()
}

fn agrees_with_reference(memory: MemoryModel, features: Features) {
    let (compared, total) = (AtomicU32::new(0), AtomicU32::new(0));
    for_all(sketches(features), cases(2000), |sketch| {
        total.fetch_add(1, Relaxed);
        compared.fetch_add(agree(sketch, memory, memory.rules().unbounded())?.into(), Relaxed);
        Ok(())
    });
    let (compared, total) = (compared.into_inner(), total.into_inner());
    println!("{memory}: {compared} of {total} programs were small enough to be compared");
    assert!(compared * 10 >= total * 8, "{compared} of {total} programs were compared");
}

#[test]
fn the_machine_agrees_with_the_reference_on_blocks_that_are_shared_and_freed() {
    MemoryModel::MACHINES.into_iter().for_each(|memory| agrees_with_reference(memory, Features::BLOCKS));
}

#[test]
fn exhaustive_agrees_with_the_reference_under_sc() {
    agrees_with_reference(MemoryModel::Sc, Features::ALL);
}

#[test]
fn exhaustive_agrees_with_the_reference_under_tso() {
    agrees_with_reference(MemoryModel::Tso, Features::ALL);
}

#[test]
fn exhaustive_agrees_with_the_reference_under_pso() {
    agrees_with_reference(MemoryModel::Pso, Features::ALL);
}
