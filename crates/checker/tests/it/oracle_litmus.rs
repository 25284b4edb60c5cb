//! The oracle of the language's memory models against known outcomes of C litmus tests: every final state, verdict,
//! data race and number of graphs. The material stands beside the repository; where it is absent this test says so and
//! passes.

use crate::litmus_truth::{as_map, load, read_json, text};
use crate::oracle::{Axioms, Limits, Model, behaviour};
use crate::{litmus_corpus, tell_skipped};
use expect_test::expect_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::frontend::litmus::{Arch, Litmus, parse};
use unthread_checker::program::{FinalState, Program};

/// The folder of known outcomes, if it is there.
fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_WORKSPACE_DIR")).join("../shared/litmus-rc11");
    if !folder.join("truth.json").exists() {
        tell_skipped(&format!("there are no known outcomes at {}", folder.display()));
        return None;
    }
    Some(folder)
}

#[test]
fn every_known_outcome_of_the_language_is_the_oracles() {
    every_outcome_is_known(|program, model| {
        let all = behaviour(program, Axioms::of(model), Limits::USUAL).unwrap_or_else(|what| panic!("{what}"));
        (all.final_states, all.graphs as u64, !all.races.is_empty())
    });
}

/// Our own tests in C: what the language says of them.
#[test]
fn every_outcome_of_our_own_tests_is_as_it_was() {
    let mut table = String::from("test\tmemory\tverdict\tobservation\tstates\tgraphs\trace\n");
    for (name, text) in litmus_corpus::corpus() {
        let litmus = parse(Arc::new(Source::new(&name, text))).unwrap_or_else(|wrong| panic!("{name}: {wrong:#?}"));
        let loops = litmus.program.routines.iter().any(|routine| !routine.loops.is_empty());
        if litmus.arch != Arch::C || loops {
            continue;
        }
        for (model, memory) in [(Model::Rc11, "rc11"), (Model::Cpp20, "cpp20")] {
            let all = behaviour(&litmus.program, Axioms::of(model), Limits::USUAL)
                .unwrap_or_else(|what| panic!("{name}: {what}"));
            let outcome = litmus.outcome(&all.final_states);
            let (verdict, frequency, states) = (outcome.verdict(), outcome.frequency(), outcome.states().len());
            let (graphs, race) = (all.graphs, !all.races.is_empty());
            let _ = writeln!(table, "{name}\t{memory}\t{verdict}\t{frequency}\t{states}\t{graphs}\t{race}");
        }
    }
    let file = Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/litmus/language.tsv");
    expect_file![file].assert_eq(&table);
}

/// Compares final states, number of graphs and whether there is a data race with what is known of every test.
pub(crate) fn every_outcome_is_known(run: impl Fn(&Program, Model) -> (BTreeSet<FinalState>, u64, bool)) {
    let Some(folder) = folder() else { return };
    let truth = read_json(folder.join("truth.json"));
    let records = truth.as_array().expect("an array");
    let mut tests: BTreeMap<&str, Litmus> = BTreeMap::new();
    let mut wrong = Vec::new();
    for record in records {
        let file = text(record, "file");
        let litmus = tests.entry(file).or_insert_with(|| load(&folder.join(file)));
        let model = match text(record, "model") {
            "rc11" => Model::Rc11,
            "cpp20" => Model::Cpp20,
            other => panic!("there is no memory model {other}"),
        };
        let (final_states, graphs, race) = run(&litmus.program, model);
        let outcome = litmus.outcome(&final_states);
        let states: BTreeSet<_> = outcome.states().into_iter().map(as_map).collect();
        let known = record["states"].as_array().expect("an array");
        let known: BTreeSet<_> = known.iter().map(|state| as_map(state.as_str().expect("text"))).collect();
        // Where a test names nothing to look at there are no states to count.
        let positive = if litmus.observed.is_empty() { 0 } else { outcome.positive.len() as u64 };
        let counts = [positive, outcome.negative.len() as u64, graphs].map(Some);
        if states != known
            || litmus.name != text(record, "name")
            || outcome.verdict() != text(record, "verdict")
            || outcome.frequency().to_string() != text(record, "observation")
            || counts != ["pos_states", "neg_states", "executions"].map(|field| record[field].as_u64())
            || Some(race) != record["race"].as_bool()
        {
            wrong.push(format!("{file} under {model:?}: {outcome:?}, {graphs} graphs, race {race}, not {record}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), records.len(), wrong.join("\n"));
    eprintln!("{} outcomes of {} tests are as known", records.len(), tests.len());
}
