//! The machine and the litmus front end against known outcomes: every final state, verdict and count of hundreds of
//! tests in each memory model. The material stands beside the repository; where it is absent these tests say so and pass.

use crate::tell_skipped;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::{Forwarding, MemoryModel, Rules};
use unthread_checker::frontend::litmus::{Litmus, Outcome, parse};
use unthread_checker::search::{Options, StopReason, Unwatched};

/// The folder of known outcomes, if it is there.
fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_WORKSPACE_DIR")).join("../shared/litmus");
    if !folder.join("truth.json").exists() {
        tell_skipped(&format!("there are no known outcomes at {}", folder.display()));
        return None;
    }
    Some(folder)
}

pub(crate) fn read_json(path: PathBuf) -> Value {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn load(path: &Path) -> Litmus {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse(Arc::new(Source::new(path.display().to_string(), text)))
        .unwrap_or_else(|diagnostics| panic!("{}: {diagnostics:#?}", path.display()))
}

/// The outcome under a memory model whose rules may have been broken on purpose.
fn run(litmus: &Litmus, memory: MemoryModel, rules: Rules) -> Outcome {
    let options = Options { rules, all_violations: true, ..Options::new(memory) };
    let report = check(&litmus.program, &options, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted, "{} under {memory}", litmus.name);
    litmus.outcome(&report.final_states)
}

/// A printed state as a map, so that the order of its parts does not matter.
pub(crate) fn as_map(state: &str) -> BTreeMap<&str, &str> {
    state.split(';').filter_map(|part| part.trim().split_once('=')).collect()
}

pub(crate) fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field].as_str().unwrap_or_else(|| panic!("{field} of {record}"))
}

#[test]
fn every_known_outcome_is_ours() {
    let Some(folder) = folder() else { return };
    let truth = read_json(folder.join("truth.json"));
    let records = truth.as_array().expect("an array");
    let mut tests: BTreeMap<&str, Litmus> = BTreeMap::new();
    let mut wrong = Vec::new();
    for record in records {
        let file = text(record, "file");
        let litmus = tests.entry(file).or_insert_with(|| load(&folder.join(file)));
        let memory: MemoryModel = text(record, "model").parse().expect("a memory model");
        let outcome = run(litmus, memory, memory.rules());
        let states: BTreeSet<_> = outcome.states().into_iter().map(as_map).collect();
        let known = record["states"].as_array().expect("an array");
        let known: BTreeSet<_> = known.iter().map(|state| as_map(state.as_str().expect("text"))).collect();
        let counts = (outcome.positive.len() as u64, outcome.negative.len() as u64);
        let known_counts = (record["pos_states"].as_u64(), record["neg_states"].as_u64());
        if states != known
            || litmus.name != text(record, "name")
            || outcome.verdict() != text(record, "verdict")
            || outcome.frequency().to_string() != text(record, "observation")
            || (Some(counts.0), Some(counts.1)) != known_counts
        {
            wrong.push(format!("{file} under {memory}: {outcome:?}, not {record}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), records.len(), wrong.join("\n"));
    eprintln!("{} outcomes of {} tests are as known", records.len(), tests.len());
}

/// The rules of `memory`, broken in a known way.
fn broken(memory: MemoryModel, mutant: &str) -> Rules {
    let mut rules = memory.rules();
    match mutant {
        "nofwd-block" => rules.forwarding = Forwarding::Blocked,
        "nofwd-stale" => rules.forwarding = Forwarding::Stale,
        "fwd-oldest" => rules.forwarding = Forwarding::Oldest,
        "mfence-noop" => rules.fence_drains = false,
        "rmw-nodrain" => rules.rmw_drains = false,
        "casfail-nodrain" => rules.failed_cas_drains = false,
        "pso-sameloc-reorder" => rules.same_location_order = false,
        other => panic!("there is no way to break the machine that is called {other}"),
    }
    rules
}

#[test]
fn a_broken_machine_is_caught_by_the_tests_that_are_known_to_catch_it() {
    let Some(folder) = folder() else { return };
    let sensitivity = read_json(folder.join("sensitivity.json"));
    let mut insensitive = Vec::new();
    for (mutant, models) in sensitivity.as_object().expect("an object") {
        for (model, files) in models.as_object().expect("an object") {
            let memory: MemoryModel = model.parse().expect("a memory model");
            for file in files.as_array().expect("an array") {
                let litmus = load(&folder.join(file.as_str().expect("text")));
                let right = run(&litmus, memory, memory.rules());
                if run(&litmus, memory, broken(memory, mutant)).states() == right.states() {
                    insensitive.push(format!("{mutant} under {memory}: {file}"));
                }
            }
        }
    }
    assert!(insensitive.is_empty(), "not caught:\n{}", insensitive.join("\n"));
}
