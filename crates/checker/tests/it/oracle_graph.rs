//! Engine `graph` against the oracle: as many graphs, the same final states, data races where there are some.

use crate::oracle::{Behaviour, Limits, Model, behaviour};
use crate::oracle_properties::for_most;
use crate::{oracle, oracle_litmus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unthread_checker::base::{FailureKind, Source};
use unthread_checker::engines::{check, graph};
use unthread_checker::execution::graph::{Axioms, ReleaseSequence, SeqCst};
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::frontend::{litmus, ut};
use unthread_checker::program::{FinalState, Instr, LockMode, Program};
use unthread_checker::search::{Engine, Options, Report, StopReason, Unwatched, ViolationKind};
use unthread_generate::{Language, cases, find_counterexample, language};

const LIMITS: Limits = Limits { graphs: 20_000, events: 48 };

const MODELS: [(Model, MemoryModel); 3] =
    [(Model::Sc, MemoryModel::Sc), (Model::Cpp20, MemoryModel::Cpp20), (Model::Rc11, MemoryModel::Rc11)];

fn explored(program: &Program, memory: MemoryModel) -> Report {
    let options = Options { engine: Engine::Graph, all_violations: true, ..Options::new(memory) };
    check(program, &options, &Unwatched)
}

/// Compares what the engine finds with what the oracle has found. The engine puts those who share a lock in an order, which the oracle does not:
/// then it has more graphs. Where blocks are used that are gone, or that nobody has made for certain, threads do what
/// nothing says: that it is found is all that can be compared.
fn compare(program: &Program, report: Report, expected: &Behaviour, model: Model) -> Result<(), String> {
    let explored_all = match &report.stop {
        StopReason::Exhausted => true,
        // Nothing is verified of machines where there are plain cells, and the report says so.
        StopReason::Unsupported(_) => model == Model::Sc,
        _ => false,
    };
    if !explored_all {
        return Err(format!("{model:?}: the search ended with {:?}", report.stop));
    }
    let has = |kind: ViolationKind| report.violations.iter().any(|violation| violation.kind == kind);
    let (races, deadlocks) = (has(ViolationKind::DataRace), has(ViolationKind::Deadlock));
    let freed = has(ViolationKind::Failure(FailureKind::UseAfterFree));
    let executions = report.statistics.executions;
    let mut wrong = Vec::new();
    if model != Model::Sc && freed != expected.uses_freed {
        wrong.push(format!("uses what is freed: {freed}, not {}", expected.uses_freed));
    }
    // A thread does not go on when it has used what was freed.
    if model != Model::Sc && !expected.uses_freed && races == expected.races.is_empty() {
        wrong.push(format!("races: {races}, not {:?}", expected.races));
    }
    let has_sense = !freed && !expected.uses_freed && (model == Model::Sc || !expected.uses_unmade);
    if !has_sense {
        return if wrong.is_empty() { Ok(()) } else { Err(format!("{model:?}: {}", wrong.join("; "))) };
    }
    let states: BTreeSet<FinalState> = report.final_states.iter().cloned().collect();
    if states != expected.final_states {
        let unexpected: Vec<_> = states.difference(&expected.final_states).collect();
        let missing: Vec<_> = expected.final_states.difference(&states).collect();
        wrong.push(format!("unexpected {unexpected:?}, missing {missing:?}"));
    }
    let failures = report.violations.iter().any(|violation| matches!(violation.kind, ViolationKind::Failure(_)));
    if failures == expected.failures.is_empty() {
        wrong.push(format!("failures: {failures}, not {:?}", expected.failures));
    }
    // Threads that wait for one another are at an end, too.
    let graphs = (expected.graphs + expected.deadlocked) as u64;
    let differs = if shares_a_lock(program) { executions < graphs } else { executions != graphs };
    if !failures && differs {
        wrong.push(format!("{executions} graphs, not {} (and {} blocked)", expected.graphs, expected.blocked));
    }
    if deadlocks == expected.deadlocks.is_empty() {
        wrong.push(format!("deadlocks: {deadlocks}, not {:?}", expected.deadlocks));
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("{model:?}: {}", wrong.join("; "))) }
}

fn shares_a_lock(program: &Program) -> bool {
    let shares = |instr: &Instr| matches!(instr, Instr::Lock { mode: LockMode::Shared, .. });
    program.routines.iter().any(|routine| routine.code.iter().any(shares))
}

fn graph_is_the_oracle(of: Language, number: u32) {
    for_most(of, cases(number), |program| {
        for (model, memory) in MODELS {
            let Ok(expected) = behaviour(program, oracle::Axioms::of(model), LIMITS) else { return Ok(false) };
            compare(program, explored(program, memory), &expected, model)?;
        }
        Ok(true)
    });
}

#[test]
fn atomics_have_the_oracles_graphs() {
    graph_is_the_oracle(Language::ATOMICS, 500);
}

#[test]
fn cycles_have_the_oracles_graphs() {
    graph_is_the_oracle(Language { cycles: true, ..Language::ATOMICS }, 500);
}

#[test]
fn plain_cells_have_the_oracles_graphs_and_races() {
    graph_is_the_oracle(Language { plain: true, ..Language::ATOMICS }, 500);
}

#[test]
fn locks_have_the_oracles_graphs() {
    graph_is_the_oracle(Language { plain: true, locks: true, ..Language::ATOMICS }, 500);
}

#[test]
fn condition_variables_have_the_oracles_graphs() {
    graph_is_the_oracle(Language { plain: true, waits: true, ..Language::ATOMICS }, 500);
}

#[test]
fn blocks_have_the_oracles_graphs_and_races() {
    graph_is_the_oracle(Language { blocks: true, ..Language::ATOMICS }, 500);
    graph_is_the_oracle(Language { blocks: true, locks: true, forks: true, ..Language::ATOMICS }, 500);
}

#[test]
fn forks_and_joins_have_the_oracles_graphs() {
    graph_is_the_oracle(Language { plain: true, forks: true, ..Language::ATOMICS }, 500);
}

#[test]
fn programs_of_the_language_have_the_oracles_graphs() {
    graph_is_the_oracle(Language::ALL, 2000);
}

/// Store buffering with a fork or a join between the store and the load: what is before a fork is before all that the
/// thread does, also for the order of `SeqCst` operations. Otherwise programs in which everything is `SeqCst` would
/// not be sequentially consistent.
#[test]
fn forks_and_joins_order_seqcst_operations() {
    let forked = "shared x, y; thread b { y.store(1, seqcst); let s = x.load(seqcst); }
        thread child { let r = y.load(seqcst); } main { fork b(); x.store(1, seqcst); fork child(); }";
    let joined = "shared x, y; thread b { y.store(1, seqcst); let s = x.load(seqcst); }
        thread child { x.store(1, seqcst); } main { fork b(); let t = fork child(); join t; let r = y.load(seqcst); }";
    for text in [forked, joined] {
        let program = ut::parse(Arc::new(Source::new("fork", text)), &BTreeMap::new()).expect(text);
        for (model, memory) in MODELS {
            let expected = behaviour(&program, oracle::Axioms::of(model), LIMITS).expect("small");
            assert_eq!((expected.graphs, explored(&program, memory).statistics.executions), (3, 3), "{text} {memory}");
        }
    }
}

/// Races whose schedules did not show them: of the first half of an update, and where a thread waits for a lock that
/// is free by then.
#[test]
fn schedules_of_races_show_them() {
    let race = |program: &Program, memory: MemoryModel| {
        let report = explored(program, memory);
        assert!(
            matches!(report.stop, StopReason::Exhausted | StopReason::Unsupported(_)),
            "{program} under {memory}: {:?}",
            report.stop
        );
        report.violations.iter().any(|violation| violation.kind == ViolationKind::DataRace)
    };
    let source = |text: &str| Arc::new(Source::new("race", text));
    let update = "C race\n{}\nP0(int *x) { *x = 1; }\nP1(int *x) { atomic_fetch_add(x, 1); }\nexists (x=1)\n";
    let update = litmus::parse(source(update)).expect("a test").program;
    let lock = "shared x; plain y; mutex m; thread a { let r = y; lock(m); x = 0; unlock(m); }
        thread b { x = 1; lock(m); y = 1; let r = x; unlock(m); y = 2; }";
    let lock = ut::parse(source(lock), &BTreeMap::new()).expect("a program");
    for memory in [MemoryModel::Sc, MemoryModel::Cpp20, MemoryModel::Rc11] {
        assert!(race(&update, memory) && race(&lock, memory), "{memory}");
    }
}

/// A race is looked for in executions only: here one access of it could also be in a graph in which the SeqCst
/// operations have no order.
#[test]
fn races_are_those_of_consistent_graphs() {
    let text = "struct N { a, b } shared z;
        thread w0 { let p = new N; let r0 = p.a.swap(0); z = p; let r1 = p.b.load(seqcst); }
        thread w1 { let p = z; if p != null { p.b.store(2, seqcst); let r2 = p.a.load(seqcst); } }";
    let program = ut::parse(Arc::new(Source::new("race", text)), &BTreeMap::new()).expect("a program");
    for memory in [MemoryModel::Cpp20, MemoryModel::Rc11] {
        let report = explored(&program, memory);
        assert_eq!((report.stop, report.violations.len()), (StopReason::Exhausted, 2), "{memory}");
    }
}

#[test]
fn every_known_outcome_of_the_language_is_the_engines() {
    oracle_litmus::every_outcome_is_known(|program, model| {
        let (_, memory) = MODELS.into_iter().find(|(of, _)| *of == model).expect("one of them");
        let report = explored(program, memory);
        assert_eq!(report.stop, StopReason::Exhausted);
        let race = report.violations.iter().any(|violation| violation.kind == ViolationKind::DataRace);
        (report.final_states.into_iter().collect(), report.statistics.executions, race)
    });
}

/// Each axiom of the engine, broken.
fn twins(right: Axioms) -> Vec<Axioms> {
    let without_rb = Axioms { sc_reads_before: false, ..right };
    let all = [
        Axioms { seq_cst: SeqCst::None, ..right },
        Axioms { sc_fence_is_global: true, ..right },
        Axioms { release_sequence: ReleaseSequence::OwnWrites, ..right },
        Axioms { atomicity: false, ..right },
        Axioms { failure_ordering: false, ..right },
        Axioms { coherent_reads: false, ..right },
    ];
    // Under C++20 the condition on SeqCst operations has no read-before of its own.
    let is_rc11 = right.seq_cst == SeqCst::Rc11;
    all.into_iter().chain(is_rc11.then_some(without_rb)).collect()
}

/// The final states, and whether there are races.
fn shown(program: &Program, axioms: Axioms) -> (Vec<FinalState>, bool) {
    let options = Options { all_violations: true, ..Options::new(MemoryModel::Rc11) };
    let report = graph::check(&interpret(program), axioms, &options, &Unwatched);
    let race = report.violations.iter().any(|violation| violation.kind == ViolationKind::DataRace);
    (report.final_states, race)
}

#[test]
fn generated_programs_catch_broken_twins_of_the_engine() {
    let of = Language { cycles: true, ..Language::ATOMICS };
    for right in [Axioms::RC11, Axioms::CPP20] {
        for twin in twins(right) {
            let caught = find_counterexample(language(of), 100_000, |sketch| {
                let program = sketch.program();
                let same = shown(&program, right) == shown(&program, twin);
                if same { Ok(()) } else { Err("they differ".to_string()) }
            });
            assert!(caught.is_some(), "{twin:?} was not noticed");
        }
    }
}
