//! The `graph` engine: each consistent graph once.

use crate::places;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::{check, graph};
use unthread_checker::execution::graph::{Axioms, Event, Graph, INITIAL, Kind, NOWHERE, Names, Object};
use unthread_checker::execution::{MemoryModel, interpret};
use unthread_checker::frontend::ut;
use unthread_checker::program::{FinalState, Program};
use unthread_checker::search::{Engine, Limits, Options, Report, StopReason, Unwatched, Violation, ViolationKind};
use unthread_generate::{Features, Language, Sketch, cases, for_all, language, sketches};

fn parse(text: &str) -> Program {
    let parsed = ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new());
    parsed.unwrap_or_else(|mistakes| panic!("{text}: {mistakes:#?}"))
}

/// What an event did, without numbers of threads, which depend on who was come across first.
fn deed(event: &Event, names: &Names) -> String {
    let object = (event.loc != NOWHERE).then(|| names.object(event.loc));
    let (value, choice) = match object {
        Some(Object::Lock(_)) => (event.value.max(-1), event.choice.to_string()),
        Some(Object::Condvar(_)) if event.choice >= 0 && event.is_write() => {
            (event.value, format!("{:?}", names.key(event.choice as u16)))
        }
        _ => (event.value, event.choice.to_string()),
    };
    let kind = if let Kind::Fork(_) = event.kind { Kind::Silent } else { event.kind };
    format!("{kind:?} {object:?} {value} {choice}")
}

/// What a graph is, whichever way it was come to: what each thread did and read, and the modification orders.
fn shape(graph: &Graph, names: &Names) -> String {
    let name = |id: u32| match id {
        INITIAL => "initial".to_string(),
        id => format!("{:?}.{}", names.key(graph.event(id).thread), graph.event(id).index),
    };
    let mut lines = Vec::new();
    for thread in 0..graph.n_threads() as u16 {
        for &id in graph.thread(thread) {
            let event = graph.event(id);
            let source = if event.is_read() { name(event.source) } else { String::new() };
            lines.push(format!("{}: {} {source}", name(id), deed(event, names)));
        }
    }
    for (loc, object) in names.objects().take(graph.n_locs()) {
        let writes: Vec<String> = graph.writes(loc).iter().map(|&id| name(id)).collect();
        if writes.is_empty() {
            continue;
        }
        lines.push(format!("{object:?}: {}", writes.join(" ")));
    }
    lines.sort();
    lines.join("\n")
}

/// Explores, and makes sure that no graph comes twice.
fn explored(program: &Program, axioms: Axioms) -> (Report, BTreeSet<String>) {
    let subject = interpret(program);
    let options = Options { all_violations: true, ..Options::new(MemoryModel::Sc) };
    let mut shapes = BTreeSet::new();
    let report = graph::explore(&subject, axioms, &options, &Unwatched, |graph, names| {
        let shape = shape(graph, names);
        assert!(shapes.insert(shape.clone()), "twice: {shape}");
    });
    assert_eq!(report.stop, StopReason::Exhausted);
    (report, shapes)
}

fn graphs(text: &str, axioms: Axioms) -> u64 {
    explored(&parse(text), axioms).0.statistics.executions
}

/// Graphs under SC, TSO, PSO, C++20 and RC11.
fn counts(text: &str) -> [u64; 5] {
    [Axioms::SC, Axioms::TSO, Axioms::PSO, Axioms::CPP20, Axioms::RC11].map(|axioms| graphs(text, axioms))
}

#[test]
fn store_buffering() {
    let relaxed = "shared x, y; thread a { x = 1; let r = y; } thread b { y = 1; let r = x; }";
    assert_eq!(counts(relaxed), [3, 4, 4, 4, 4]);
    let fenced = "shared x, y; thread a { x = 1; fence; let r = y; } thread b { y = 1; fence; let r = x; }";
    assert_eq!(counts(fenced), [3; 5]);
    let seqcst = "shared x, y; thread a { x.store(1, seqcst); let r = y.load(seqcst); }
        thread b { y.store(1, seqcst); let r = x.load(seqcst); }";
    assert_eq!(counts(seqcst), [3; 5]);
    let acquire = "shared x, y; thread a { x.store(1, seqcst); let r = y.load(acquire); }
        thread b { y.store(1, seqcst); let r = x.load(acquire); }";
    assert_eq!(counts(acquire), [3, 3, 3, 4, 4]);
}

#[test]
fn message_passing() {
    let relaxed = "shared x, y; thread a { x = 1; y = 1; } thread b { let r = y; let s = x; }";
    assert_eq!(counts(relaxed), [3, 3, 4, 4, 4]);
    let released =
        "shared x, y; thread a { x = 1; y.store(1, release); } thread b { let r = y.load(acquire); let s = x; }";
    assert_eq!(counts(released), [3; 5]);
    let fenced =
        "shared x, y; thread a { x = 1; fence(release); y = 1; } thread b { let r = y; fence(acquire); let s = x; }";
    assert_eq!(counts(fenced), [3; 5]);
    let half = "shared x, y; thread a { x = 1; y.store(1, release); } thread b { let r = y; let s = x; }";
    assert_eq!(counts(half), [3, 3, 3, 4, 4]);
}

#[test]
fn independent_reads_of_independent_writes() {
    let text = |store: &str, load: &str| {
        format!(
            "shared x, y; thread a {{ x.store(1, {store}); }} thread b {{ y.store(1, {store}); }}
            thread c {{ let r = x.load({load}); let s = y.load({load}); }}
            thread d {{ let r = y.load({load}); let s = x.load({load}); }}"
        )
    };
    assert_eq!(counts(&text("release", "acquire")), [15, 15, 15, 16, 16]);
    assert_eq!(counts(&text("seqcst", "seqcst")), [15; 5]);
}

#[test]
fn writers_and_updates_come_in_any_order() {
    assert_eq!(counts("shared x; thread t * 4 { x = 1; }"), [24; 5]);
    assert_eq!(counts("shared x; thread t * 4 { x.fetch_add(1); }"), [24; 5]);
    assert_eq!(counts("shared x; mutex m; thread t * 4 { lock(m); x += 1; unlock(m); }"), [24; 5]);
}

#[test]
fn a_global_view_of_fences_is_too_strong() {
    let text = "shared a, x, y; thread p { a = 1; fence; x = 1; } thread q { let r = x; y = 1; }
        thread s { let r = y; fence; let t = a; }";
    assert_eq!(counts(text), [7, 7, 7, 8, 8]);
    assert_eq!(graphs(text, Axioms { sc_fence_is_global: true, ..Axioms::RC11 }), 7);
}

/// All graphs by the engine and by adding events in every order.
fn compare(program: &Program, axioms: Axioms) -> Result<(), String> {
    let subject = interpret(program);
    let options = Options { all_violations: true, ..Options::new(MemoryModel::Sc) };
    let (mut once, mut all, mut twice) = (BTreeSet::new(), BTreeSet::new(), None);
    let found = graph::explore(&subject, axioms, &options, &Unwatched, |graph, names| {
        let shape = shape(graph, names);
        if !once.insert(shape.clone()) {
            twice = Some(shape);
        }
    });
    let every = graph::every_order(&subject, axioms, &options, &Unwatched, |graph, names| {
        all.insert(shape(graph, names));
    });
    let kinds = |report: &Report| -> BTreeSet<String> {
        // Who holds a lock that others wait for is said of the first that was found.
        let place = |violation: &Violation| (violation.thread.clone(), violation.span.map(|span| span.start));
        report.violations.iter().map(|violation| format!("{:?} {:?}", violation.kind, place(violation))).collect()
    };
    match twice {
        _ if found.stop != StopReason::Exhausted || every.stop != StopReason::Exhausted => {
            Err(format!("{:?} {:?}", found.stop, every.stop))
        }
        Some(shape) => Err(format!("twice: {shape}")),
        None if once != all => Err(format!("{} graphs, and there are {}", once.len(), all.len())),
        None if found.final_states != every.final_states => Err("final states differ".to_string()),
        None if kinds(&found) != kinds(&every) => Err(format!("{:?} and {:?}", kinds(&found), kinds(&every))),
        None => Ok(()),
    }
}

const MODELS: [(&str, Axioms); 5] =
    [("sc", Axioms::SC), ("tso", Axioms::TSO), ("pso", Axioms::PSO), ("cpp20", Axioms::CPP20), ("rc11", Axioms::RC11)];

fn compare_all(features: Features) {
    for_all(sketches(features), cases(40), |sketch: &Sketch| {
        let program = sketch.program();
        MODELS.iter().try_for_each(|&(name, axioms)| compare(&program, axioms).map_err(|why| format!("{name}: {why}")))
    });
}

/// Reads and writes of all kinds, without loops that may not end.
const ACCESSES: Features = Features {
    locks: false,
    pointers: false,
    forks: false,
    control: false,
    spins: false,
    retries: false,
    faults: false,
    questions: false,
    ..Features::ALL
};

#[test]
fn no_graph_is_missed_and_none_comes_twice() {
    compare_all(ACCESSES);
    compare_all(Features { questions: true, faults: true, control: true, ..ACCESSES });
}

#[test]
fn no_graph_with_locks_is_missed() {
    compare_all(Features { locks: true, ..ACCESSES });
    compare_all(Features { locks: true, readers: true, ..ACCESSES });
}

#[test]
fn no_graph_with_forks_blocks_or_spinning_is_missed() {
    compare_all(Features { forks: true, control: true, ..ACCESSES });
    compare_all(Features { pointers: true, blocks: true, ..ACCESSES });
    compare_all(Features { spins: true, ..ACCESSES });
}

/// The machines as graphs have the final states, the races and the failures that `dpor` finds, and every violation has been replayed.
fn machines_agree_with_dpor(features: Features, number: u32) {
    for_all(sketches(features), cases(number), |sketch: &Sketch| {
        let program = sketch.program();
        for memory in MemoryModel::MACHINES {
            let [dpor, graph] = [Engine::Dpor, Engine::Graph].map(|engine| {
                let options = Options { engine, all_violations: true, ..Options::new(memory) };
                check(&program, &options, &Unwatched)
            });
            let kinds = |report: &Report| -> BTreeSet<String> {
                let race = |violation: &Violation| match violation.kind {
                    ViolationKind::DataRace => format!("{:?}", places(violation)),
                    _ => String::new(),
                };
                report.violations.iter().map(|found| format!("{:?} {}", found.kind, race(found))).collect()
            };
            if graph.stop != dpor.stop || graph.final_states != dpor.final_states || kinds(&graph) != kinds(&dpor) {
                let told = |report: &Report| format!("{:?} {:?} {:?}", report.stop, report.final_states, kinds(report));
                return Err(format!("{memory}: graph {} and dpor {}", told(&graph), told(&dpor)));
            }
        }
        Ok(())
    });
}

#[test]
fn machines_as_graphs_agree_with_dpor() {
    machines_agree_with_dpor(Features { locks: true, forks: true, control: true, faults: true, ..ACCESSES }, 60);
}

/// Sampling finds nothing that is not there, and adding events in every order finds what is there.
#[test]
fn other_engines_of_graphs_agree_with_graph() {
    for_all(language(Language { blocks: true, ..Language::ALL }), cases(60), |sketch: &Sketch| {
        let program = sketch.program();
        for memory in [MemoryModel::Cpp20, MemoryModel::Rc11] {
            let run = |engine: Engine, executions: u64| {
                let limits = Limits { executions, ..Options::new(memory).limits };
                let options = Options { engine, all_violations: true, limits, ..Options::new(memory) };
                check(&program, &options, &Unwatched)
            };
            let kinds = |report: &Report| -> BTreeSet<String> {
                report.violations.iter().map(|found| format!("{:?} {:?}", found.kind, places(found))).collect()
            };
            let [graph, every] = [Engine::Graph, Engine::Exhaustive].map(|engine| run(engine, u64::MAX));
            if (kinds(&graph), &graph.final_states) != (kinds(&every), &every.final_states) {
                return Err(format!("{memory}: {:?}, and exhaustive {:?}", kinds(&graph), kinds(&every)));
            }
            for engine in [Engine::Random { seed: 1 }, Engine::Pct { seed: 1, depth: 3 }] {
                let sampled = run(engine, 50);
                let is_known = |state: &FinalState| graph.final_states.contains(state);
                let unknown = !sampled.final_states.iter().all(is_known);
                if unknown || !kinds(&sampled).is_subset(&kinds(&graph)) || sampled.stop != StopReason::ExecutionLimit {
                    return Err(format!("{memory}: {engine} {:?} {:?}", sampled.stop, kinds(&sampled)));
                }
            }
        }
        Ok(())
    });
}
