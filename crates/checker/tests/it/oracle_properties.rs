//! What must hold of the oracle by itself, and between it and the engines for SC, TSO and PSO, on generated programs.

use crate::oracle::{
    Axioms, Behaviour, Coherence, Limits, Model, ReleaseSequence, SeqCst, behaviour, behaviour_by_interleaving,
};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::{FinalState, Instr, Ordering, Program};
use unthread_checker::search::{Options, StopReason, Unwatched};
use unthread_generate::{Language, Sketch, cases, find_counterexample, for_all, language};

/// Larger programs are left out.
const LIMITS: Limits = Limits { graphs: 20_000, events: 48 };

fn all(program: &Program, model: Model) -> Result<Behaviour, String> {
    behaviour(program, Axioms::of(model), LIMITS)
}

/// The final states that an engine finds.
fn machine(program: &Program, memory: MemoryModel) -> Result<BTreeSet<FinalState>, String> {
    let report = check(program, &Options { all_violations: true, ..Options::new(memory) }, &Unwatched);
    match report.stop {
        StopReason::Exhausted => Ok(report.final_states.into_iter().collect()),
        other => Err(format!("{memory}: the search ended with {other:?}")),
    }
}

/// Runs a test on generated programs and counts those that were not too large for it.
pub(crate) fn for_most(of: Language, cases: u32, test: impl Fn(&Program) -> Result<bool, String>) {
    let compared = AtomicU32::new(0);
    for_all(language(of), cases, |sketch: &Sketch| {
        compared.fetch_add(test(&sketch.program())?.into(), Relaxed);
        Ok(())
    });
    let compared = compared.into_inner();
    println!("{compared} of {cases} programs were compared");
    assert!(compared * 2 > cases, "only {compared} of {cases} programs were compared");
}

fn subset<T: Ord + std::fmt::Debug>(less: &BTreeSet<T>, more: &BTreeSet<T>, what: &str) -> Result<(), String> {
    let only: Vec<&T> = less.difference(more).collect();
    if only.is_empty() { Ok(()) } else { Err(format!("{what}: {only:?}")) }
}

#[test]
fn the_least_order_of_events_builds_each_graph_once() {
    let of = Language { statements: 2, ..Language::ALL };
    for model in [Model::Sc, Model::Rc11, Model::Cpp20] {
        for_most(of, cases(150), |program| {
            let limits = Limits { graphs: 30_000, ..LIMITS };
            let Ok(expected) = behaviour_by_interleaving(program, Axioms::of(model), limits) else { return Ok(false) };
            let found = behaviour(program, Axioms::of(model), limits)?;
            if found == expected { Ok(true) } else { Err(format!("{model:?}: {found:?}, not {expected:?}")) }
        });
    }
}

#[test]
fn stronger_models_have_fewer_outcomes() {
    for_most(Language::ALL, cases(500), |program| {
        let (Ok(sc), Ok(cpp20), Ok(rc11)) =
            (all(program, Model::Sc), all(program, Model::Cpp20), all(program, Model::Rc11))
        else {
            return Ok(false);
        };
        subset(&sc.final_states, &cpp20.final_states, "sc has more than cpp20")?;
        subset(&cpp20.final_states, &rc11.final_states, "cpp20 has more than rc11")?;
        if sc.graphs <= cpp20.graphs && cpp20.graphs <= rc11.graphs {
            return Ok(true);
        }
        Err(format!("{} graphs under sc, {} under cpp20, {} under rc11", sc.graphs, cpp20.graphs, rc11.graphs))
    });
}

#[test]
fn everything_seqcst_is_sc() {
    let of = Language { plain: false, all_seqcst: true, ..Language::ALL };
    for_most(of, cases(500), |program| {
        let expected = machine(program, MemoryModel::Sc)?;
        for model in [Model::Sc, Model::Cpp20, Model::Rc11] {
            let Ok(found) = all(program, model) else { return Ok(false) };
            subset(&found.final_states, &expected, &format!("{model:?} has more than the machine"))?;
            subset(&expected, &found.final_states, &format!("{model:?} has less than the machine"))?;
        }
        Ok(true)
    });
}

#[test]
fn the_oracle_of_sc_is_the_machine() {
    for_most(Language::ALL, cases(500), |program| {
        let Ok(found) = all(program, Model::Sc) else { return Ok(false) };
        let expected = machine(program, MemoryModel::Sc)?;
        subset(&found.final_states, &expected, "the oracle has more than the machine")?;
        subset(&expected, &found.final_states, "the oracle has less than the machine")?;
        Ok(true)
    });
}

#[test]
fn store_buffers_have_no_outcome_that_the_language_lacks() {
    for_most(Language::ALL, cases(500), |program| {
        let Ok(cpp20) = all(program, Model::Cpp20) else { return Ok(false) };
        if !cpp20.races.is_empty() {
            return Ok(true);
        }
        let (tso, pso) = (machine(program, MemoryModel::Tso)?, machine(program, MemoryModel::Pso)?);
        subset(&tso, &pso, "tso has more than pso")?;
        subset(&pso, &cpp20.final_states, "pso has more than cpp20")?;
        Ok(true)
    });
}

/// Each axiom, broken.
fn twins(model: Model) -> Vec<Axioms> {
    let right = Axioms::of(model);
    let seqcst = [SeqCst::Nothing, SeqCst::WithoutRb, SeqCst::FencesShareView].map(|seqcst| Axioms { seqcst, ..right });
    let sequences = [ReleaseSequence::Of2017, ReleaseSequence::Alone];
    let sequences = sequences.map(|release_sequence| Axioms { release_sequence, ..right });
    let coherence = [Coherence::SingleSteps, Coherence::Nothing].map(|coherence| Axioms { coherence, ..right });
    let others = [Axioms { atomicity: false, ..right }, Axioms { failure_ordering: false, ..right }];
    [seqcst.to_vec(), sequences.to_vec(), coherence.to_vec(), others.to_vec()].concat()
}

/// Whether a twin has the final states and data races of the model. Programs that are too large are as good as any.
fn twin_agrees(sketch: &Sketch, twin: Axioms) -> Result<(), String> {
    let program = sketch.program();
    if twin.seqcst == SeqCst::FencesShareView && seqcst_fences(&program) < 2 {
        return Ok(());
    }
    let (Ok(right), Ok(wrong)) = (all(&program, twin.model), behaviour(&program, twin, LIMITS)) else { return Ok(()) };
    let shown = |behaviour: &Behaviour| (behaviour.final_states.clone(), behaviour.races.clone());
    if shown(&right) == shown(&wrong) { Ok(()) } else { Err(format!("{right:?}, not {wrong:?}")) }
}

fn seqcst_fences(program: &Program) -> usize {
    let is_fence = |instr: &&Instr| matches!(instr, Instr::Fence { ordering: Ordering::SeqCst });
    program.routines.iter().flat_map(|routine| &routine.code).filter(is_fence).count()
}

fn twins_are_caught(model: Model) {
    let of = Language { cycles: true, ..Language::ATOMICS };
    for twin in twins(model) {
        let caught = find_counterexample(language(of), 100_000, |sketch| twin_agrees(sketch, twin));
        let caught = caught.unwrap_or_else(|| panic!("{twin:?} was not noticed"));
        println!("{twin:?}:\n{}\n", caught.sketch.program().source.text);
    }
}

#[test]
fn generated_programs_catch_broken_twins_of_rc11() {
    twins_are_caught(Model::Rc11);
}

#[test]
fn generated_programs_catch_broken_twins_of_cpp20() {
    twins_are_caught(Model::Cpp20);
}
