//! Generated programs of the language as closures: as many graphs as the oracle has, which enumerates them from the definitions, with races iff it has some, and the
//! histories of the interpreted twin.

use crate::generated::{Cells, Histories, run};
use crate::oracle::{Axioms, Limits, Model, behaviour};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use unthread::model::{Builder, Engine, MemoryModel, StopReason, Verdict};
use unthread_checker::engines::graph::explore;
use unthread_checker::execution::interpret;
use unthread_checker::program::{Access, Instr, LockMode, Program};
use unthread_checker::search::{Options, Unwatched};
use unthread_generate::{Language, PlaceSketch, Sketch, Statement, cases, for_all, language};

const LIMITS: Limits = Limits { graphs: 2_000, events: 40 };

const MODELS: [(Model, MemoryModel); 2] = [(Model::Cpp20, MemoryModel::Cpp20), (Model::Rc11, MemoryModel::Rc11)];

#[test]
fn closures_have_the_oracles_graphs() {
    let (cases, compared) = (cases(400), AtomicU32::new(0));
    let of = Language { forks: false, ..Language::ALL };
    for_all(language(of), cases, |sketch| {
        if updates_plain_data(sketch) {
            return Ok(());
        }
        for (model, memory) in MODELS {
            if compare(sketch, model, memory)? {
                compared.fetch_add(1, Relaxed);
            }
        }
        Ok(())
    });
    let compared = compared.into_inner();
    assert!(compared >= cases / 2, "only {compared} of {} were compared", 2 * cases);
}

/// Rust code has no such thing.
fn updates_plain_data(sketch: &Sketch) -> bool {
    let is_plain = |place: &PlaceSketch| match place {
        PlaceSketch::Cell(index) => sketch.cells[index % sketch.cells.len()].access == Access::Plain,
        _ => false,
    };
    sketch.any(|statement| match statement {
        Statement::Rmw { place, .. } | Statement::Cas { place, .. } => is_plain(place),
        _ => false,
    })
}

/// The closure against the oracle and the twin. Says whether it was compared.
fn compare(sketch: &Sketch, model: Model, memory: MemoryModel) -> Result<bool, String> {
    let program = sketch.program();
    let Ok(expected) = behaviour(&program, Axioms::of(model), LIMITS) else { return Ok(false) };
    let (seen, shared): (Arc<Mutex<BTreeSet<Histories>>>, _) = (Arc::default(), Arc::new(sketch.clone()));
    let notes = seen.clone();
    let report = Builder::new().memory(memory).report(move || run(&shared, &notes, Cells::atomics));
    let is_wrong = !expected.races.is_empty() || !expected.deadlocks.is_empty();
    match report.verdict() {
        Verdict::Violation if is_wrong => return Ok(true),
        Verdict::Verified if !is_wrong => {}
        // In no execution does every assumption hold.
        Verdict::Inconclusive if report.stop == StopReason::NoExecution && expected.graphs == 0 => return Ok(true),
        _ => return Err(format!("{memory}: {report:?}, and the oracle has {expected:?}")),
    }
    let (executions, graphs) = (report.statistics.executions, expected.graphs as u64);
    if if shares_a_lock(&program) { executions < graphs } else { executions != graphs } {
        return Err(format!("{memory}: {executions} executions, not {graphs}"));
    }
    let (twins, seen) = (histories(&program, memory)?, seen.lock().unwrap().clone());
    match (twins.difference(&seen).next(), seen.difference(&twins).next()) {
        (None, None) => Ok(true),
        (missing, extra) => Err(format!("{memory}: missing {missing:?}, too many {extra:?}")),
    }
}

fn shares_a_lock(program: &Program) -> bool {
    let shares = |instr: &Instr| matches!(instr, Instr::Lock { mode: LockMode::Shared, .. });
    program.routines.iter().any(|routine| routine.code.iter().any(shares))
}

/// What the threads of the interpreted twin read, in all graphs.
fn histories(program: &Program, memory: MemoryModel) -> Result<BTreeSet<Histories>, String> {
    let options = Options { engine: Engine::Graph, ..Options::new(memory) };
    let mut all = BTreeSet::new();
    let report = explore(&interpret(program), memory.axioms(), &options, &Unwatched, |graph, _| {
        let results = |thread: usize| {
            let events = graph.thread(thread as u16).iter().map(|&id| graph.event(id));
            events.filter(|event| event.completes).map(|event| event.result).collect()
        };
        all.insert((0..graph.n_threads()).map(results).collect());
    });
    let is_whole = report.stop == StopReason::Exhausted;
    is_whole.then_some(all).ok_or_else(|| format!("{memory}: the twin: {:?}", report.stop))
}
