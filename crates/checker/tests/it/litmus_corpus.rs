//! Our own litmus tests: what theory says about the well-known shapes, and every outcome as it was.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::litmus::{Outcome, parse};
use unthread_checker::search::{Options, StopReason, Unwatched};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/litmus")
}

/// Names and texts, sorted by name.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the corpus is part of the repository");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut tests: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "litmus"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a text"))
        })
        .collect();
    tests.sort();
    tests
}

fn outcome(name: &str, text: &str, memory: MemoryModel) -> Outcome {
    let litmus = parse(Arc::new(Source::new(name, text))).unwrap_or_else(|wrong| panic!("{name}: {wrong:#?}"));
    assert_eq!(litmus.name, name, "a test is called as its file is");
    let report = check(&litmus.program, &Options { all_violations: true, ..Options::new(memory) }, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted, "{name} under {memory}");
    litmus.outcome(&report.final_states)
}

/// In which memory models the state that a shape is about can be reached.
const THEORY: &[(&str, [bool; 3])] = &[
    ("SB", [false, true, true]),
    ("SB+mfences", [false, false, false]),
    ("SB+mfence+po", [false, true, true]),
    ("SB+sfences", [false, true, true]),
    ("SB+xchgs", [false, false, false]),
    ("SB+lockadds", [false, false, false]),
    ("SB+plainadds", [false, true, true]),
    ("SB+rfis", [false, true, true]),
    ("SB+failedcas", [false, false, false]),
    ("SB3", [false, true, true]),
    ("SB3+mfences", [false, false, false]),
    ("MP", [false, false, true]),
    ("MP+mfence+po", [false, false, false]),
    ("MP+sfence+po", [false, false, false]),
    ("MP+po+mfence", [false, false, true]),
    ("MP+xchg+po", [false, false, false]),
    ("MP+po+branch", [false, false, true]),
    ("MP+ptr", [false, false, true]),
    ("LB", [false, false, false]),
    ("LB+data", [false, false, false]),
    ("S", [false, false, true]),
    ("S+mfence+po", [false, false, false]),
    ("R", [false, true, true]),
    ("R+mfences", [false, false, false]),
    ("R+po+mfence", [false, false, true]),
    ("2+2W", [false, false, true]),
    ("2+2W+mfences", [false, false, false]),
    ("2+2W+xchg+mfence", [false, false, false]),
    ("IRIW", [false, false, false]),
    ("WRC", [false, false, false]),
    ("RWC", [false, true, true]),
    ("RWC+po+mfence", [false, false, false]),
    ("WWC", [false, false, false]),
    ("ISA2", [false, false, true]),
    ("Z6.3", [false, false, true]),
    ("CoRR", [false, false, false]),
    ("CoRR2", [false, false, false]),
    ("CoWR", [false, false, false]),
    ("CoRW", [false, false, false]),
    ("Inc-plain", [true, true, true]),
    ("Dekker", [false, true, true]),
    ("Dekker+mfences", [false, false, false]),
    ("C-SB", [false, true, true]),
    ("C-SB-seqcst", [false, false, false]),
    ("C-MP", [false, false, true]),
    ("C-MP-release", [false, false, false]),
];

#[test]
fn the_well_known_shapes_are_as_theory_says() {
    let corpus = corpus();
    for (name, known) in THEORY {
        let (_, text) = corpus.iter().find(|(of, _)| of == name).unwrap_or_else(|| panic!("{name} is not there"));
        let reached = MemoryModel::MACHINES.map(|memory| !outcome(name, text, memory).positive.is_empty());
        assert_eq!(reached, *known, "{name} under sc, tso, pso");
    }
}

#[test]
fn weaker_memory_models_reach_all_that_stronger_ones_do() {
    for (name, text) in corpus() {
        let [sc, tso, pso] = MemoryModel::MACHINES.map(|memory| outcome(&name, &text, memory));
        assert!(sc.states().is_subset(&tso.states()), "{name}");
        assert!(tso.states().is_subset(&pso.states()), "{name}");
    }
}

#[test]
fn every_outcome_is_as_it_was() {
    let mut table = String::from("test\tmemory\tverdict\tobservation\tstates\n");
    for (name, text) in corpus() {
        for memory in MemoryModel::MACHINES {
            let outcome = outcome(&name, &text, memory);
            let states = outcome.states().len();
            let _ = writeln!(table, "{name}\t{memory}\t{}\t{}\t{states}", outcome.verdict(), outcome.frequency());
        }
    }
    expect_file![folder().join("expected.tsv")].assert_eq(&table);
}
