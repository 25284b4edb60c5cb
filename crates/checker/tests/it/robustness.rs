//! Robustness, lazy TSO reachability and fences, each against its definition on generated programs; and published automata.

use super::places;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use unthread_checker::base::{Action, Loc, Source, ThreadKey, Verdict};
use unthread_checker::engines::check;
use unthread_checker::execution::{Comparable, Machine, MemoryModel, Operation, Rules, State, interpret};
use unthread_checker::frontend::{trencher, ut};
use unthread_checker::program::{FinalState, LockMode, Program};
use unthread_checker::robustness::{Answer, FenceOptions, Purpose, fenced, fences, robust, robust_by_graph};
use unthread_checker::search::{Engine, Limits, Options, Report, StopReason, Unwatched, ViolationKind};
use unthread_checker::trace::happens_before_cycle;
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

const NO_LIMITS: Limits = Limits { executions: u64::MAX, states: u64::MAX, events: u64::MAX, preemptions: None };

/// Programs whose executions have more prefixes than this are left out.
const BUDGET: usize = 10_000;

fn program(text: &str) -> Program {
    ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new()).expect("it is a program")
}

fn automata(text: &str) -> Program {
    trencher::parse(Arc::new(Source::new("test.trencher", text))).expect("these are automata")
}

// The definition: the traces of all executions.

/// An event by its thread and its number within. (Not by the order in which threads are created: that is no part of a look.)
type EventId = (ThreadKey, u32);

/// What of an execution can be told from its happens-before order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    /// For each thread, the result of each operation, where it came from, and whether it failed.
    events: BTreeMap<ThreadKey, Vec<(i64, Vec<EventId>, bool)>>,
    /// For each cell, the stores in the order in which they reached memory; for each lock and so on, the events that changed it.
    changes: BTreeMap<(u8, u64), Vec<EventId>>,
}

#[derive(Clone)]
struct Execution<T> {
    state: State<T>,
    look: Look,
    /// For each thread, its stores that wait.
    waiting: BTreeMap<ThreadKey, Vec<(EventId, Loc)>>,
}

/// What all executions look like, or nothing if there are too many.
fn looks<S: Comparable>(subject: &S, rules: Rules) -> Option<BTreeSet<Look>> {
    let machine = Machine::new(subject, rules.unbounded());
    let start = Execution { state: machine.start(), look: Look::default(), waiting: BTreeMap::new() };
    let (mut seen, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut work = vec![start];
    while let Some(execution) = work.pop() {
        let mut steps = Vec::new();
        machine.steps(&execution.state, &mut steps);
        if steps.is_empty() {
            ends.insert(execution.look.clone());
        }
        for step in steps {
            let mut next = execution.clone();
            next.take(&machine, step);
            let key = (next.look.clone(), next.waiting.clone());
            if seen.insert(key) {
                work.push(next);
            }
            if seen.len() > BUDGET {
                return None;
            }
        }
    }
    Some(ends)
}

impl<T: Clone> Execution<T> {
    fn take<S: Comparable<Thread = T>>(&mut self, machine: &Machine<'_, S>, step: unthread_checker::base::Step) {
        let thread = self.state.threads[step.thread.index()].key;
        let performed = machine.apply(&mut self.state, step);
        if let Action::Flush(at) = step.action {
            let (event, loc) = self.waiting(thread).remove(at as usize);
            self.changes(cell(loc)).push(event);
            // Whether its block had been freed when it arrived.
            let freed = loc.block().and_then(|block| self.changes(heap(block)).last().copied());
            self.events(thread)[event.1 as usize].1.extend(freed);
            return;
        }
        let event = (thread, self.events(thread).len() as u32);
        let operation = performed.operation.expect("it is no flush");
        let mut sources = Vec::new();
        if let Operation::Free { block } = operation {
            sources.extend(self.changes(heap(block)).last().copied());
            self.changes(heap(block)).push(event);
        }
        if let Some(loc) = operation.loc() {
            let freed = loc.block().and_then(|block| self.changes(heap(block)).last().copied());
            sources.extend(freed);
            if !matches!(operation, Operation::Write { .. }) {
                let own = self.waiting(thread).iter().rfind(|(_, waiting)| *waiting == loc).map(|(event, _)| *event);
                sources.extend(own.or_else(|| self.changes(cell(loc)).last().copied()));
            }
            match performed.written {
                Some(_) if performed.buffered => self.waiting(thread).push((event, loc)),
                Some(_) => self.changes(cell(loc)).push(event),
                None => {}
            }
        }
        for (object, exclusive) in objects(&operation, performed.result) {
            match exclusive {
                // Shared accesses and reads are ordered after the changes before them.
                Some(false) => sources.extend(self.changes(object).last().copied()),
                Some(true) => self.changes(object).push(event),
                None => sources.extend(self.look.changes.get(&(object.0 + 100, object.1)).into_iter().flatten()),
            }
            if exclusive == Some(false) {
                self.changes((object.0 + 100, object.1)).push(event);
                self.changes((object.0 + 100, object.1)).sort_unstable();
            }
        }
        let failed = performed.failure.is_some();
        self.events(thread).push((performed.result, sources, failed));
    }

    fn events(&mut self, thread: ThreadKey) -> &mut Vec<(i64, Vec<EventId>, bool)> {
        self.look.events.entry(thread).or_default()
    }

    fn waiting(&mut self, thread: ThreadKey) -> &mut Vec<(EventId, Loc)> {
        self.waiting.entry(thread).or_default()
    }

    fn changes(&mut self, object: (u8, u64)) -> &mut Vec<EventId> {
        self.look.changes.entry(object).or_default()
    }
}

fn cell(loc: Loc) -> (u8, u64) {
    (0, loc.pointer() as u64)
}

fn heap(block: Loc) -> (u8, u64) {
    (3, block.pointer() as u64)
}

/// Locks and condition variables that an operation touches: alone, shared, or only looking.
fn objects(operation: &Operation, result: i64) -> Vec<((u8, u64), Option<bool>)> {
    let lock = |lock: u32, mode: LockMode| ((1, u64::from(lock)), Some(mode == LockMode::Exclusive));
    match *operation {
        Operation::Lock { lock: l, mode, .. } | Operation::Unlock { lock: l, mode, .. } => vec![lock(l, mode)],
        Operation::TryLock { lock: l, mode } if result == 1 => vec![lock(l, mode)],
        Operation::TryLock { lock: l, .. } => vec![((1, l.into()), None)],
        Operation::Wait { condvar, lock: l } | Operation::Reacquire { condvar, lock: l } => {
            vec![lock(l, LockMode::Exclusive), ((2, condvar.into()), Some(true))]
        }
        Operation::Notify { condvar, .. } => vec![((2, condvar.into()), Some(true))],
        _ => vec![],
    }
}

/// Whether a program is robust, by the definition. Nothing if it is too large.
fn is_robust(program: &Program, memory: MemoryModel) -> Option<bool> {
    let subject = interpret(program);
    let sc = looks(&subject, MemoryModel::Sc.rules())?;
    let weak = looks(&subject, memory.rules())?;
    Some(weak.is_subset(&sc))
}

fn robustness_is_as_defined(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let Some(expected) = is_robust(&program, memory) else { return Ok(()) };
    match robust(&program, memory, &NO_LIMITS, &Unwatched).answer {
        Answer::Robust if expected => Ok(()),
        Answer::NotRobust(witness) if !expected => match happens_before_cycle(&witness.trace) {
            Some(_) => Ok(()),
            None => Err("the witness has no cycle".to_string()),
        },
        Answer::Unknown(stop) => Err(format!("stopped: {stop:?}")),
        answer => Err(format!("expected robust: {expected}, found {answer:?}")),
    }
}

fn robustness_against_both_is_as_defined(features: Features, n_programs: u32) {
    for_all(sketches(features), cases(n_programs), |sketch| {
        [MemoryModel::Tso, MemoryModel::Pso].into_iter().try_for_each(|memory| robustness_is_as_defined(sketch, memory))
    });
}

#[test]
fn robustness_of_straight_line_code_is_as_defined() {
    robustness_against_both_is_as_defined(Features::MEMORY, 2_000);
}

#[test]
fn robustness_of_generated_programs_is_as_defined() {
    robustness_against_both_is_as_defined(Features::ALL, 2_000);
}

#[test]
fn robustness_of_programs_that_share_and_free_blocks_is_as_defined() {
    robustness_against_both_is_as_defined(Features::BLOCKS, 500);
}

/// What two engines must agree on.
fn findings(report: &Report) -> (BTreeSet<String>, Vec<bool>, Vec<FinalState>) {
    let describe = |violation: &unthread_checker::search::Violation| match violation.kind {
        // Which threads go on for ever depends on which of the states without an end is looked at.
        ViolationKind::Livelock => "livelock".to_string(),
        // One execution stands for all that are stuck at the same places; which thread holds a lock, or was notified, may differ between them.
        ViolationKind::Deadlock => format!("deadlock at {:?}", places(violation)),
        kind => format!("{} at {:?} of {:?}: {}", kind.name(), violation.span, violation.thread, violation.message),
    };
    let violations = report.violations.iter().map(describe).collect();
    let observed = report.observations.iter().map(|observation| observation.witness.is_some()).collect();
    (violations, observed, report.final_states.clone())
}

pub(crate) fn lazy_agrees(sketch: &Sketch, memory: MemoryModel) -> Result<(), String> {
    let program = sketch.program();
    let mut options = Options { all_violations: true, ..Options::new(memory) };
    options.limits.states = 40_000;
    let expected = check(&program, &options, &Unwatched);
    if expected.stop != StopReason::Exhausted {
        return Ok(());
    }
    options.limits.states = u64::MAX;
    let found = check(&program, &Options { engine: Engine::Lazy, ..options }, &Unwatched);
    if found.stop != StopReason::Exhausted {
        return Err(format!("{memory}: stopped: {:?}", found.stop));
    }
    let (expected, found) = (findings(&expected), findings(&found));
    if expected == found { Ok(()) } else { Err(format!("{memory}: expected {expected:#?}\nfound {found:#?}")) }
}

#[test]
fn lazy_finds_what_exhaustive_finds() {
    for_all(sketches(Features::ALL), cases(2_000), |sketch| {
        [MemoryModel::Sc, MemoryModel::Tso].into_iter().try_for_each(|memory| lazy_agrees(sketch, memory))
    });
}

#[test]
fn lazy_finds_what_exhaustive_finds_on_memory_alone() {
    for_all(sketches(Features::MEMORY), cases(2_000), |sketch| lazy_agrees(sketch, MemoryModel::Tso));
}

#[test]
fn lazy_finds_what_exhaustive_finds_on_blocks_that_are_shared_and_freed() {
    for_all(sketches(Features::BLOCKS), cases(2_000), |sketch| lazy_agrees(sketch, MemoryModel::Tso));
}

#[test]
fn lazy_says_the_same_with_any_number_of_workers() {
    let features = Features { control: true, faults: true, ..Features::MEMORY };
    for_all(sketches(features), cases(300), |sketch| {
        let program = sketch.program();
        let verdict = |jobs: usize| {
            let options = Options { engine: Engine::Lazy, jobs, ..Options::new(MemoryModel::Tso) };
            check(&program, &options, &Unwatched).verdict()
        };
        let alone = verdict(1);
        match [2, 4].into_iter().find(|&jobs| verdict(jobs) != alone) {
            Some(jobs) => Err(format!("{jobs} workers do not say {alone:?}")),
            None => Ok(()),
        }
    });
}

/// Two ways that share nothing but the definition: attacks on states that all threads reach in turns, and a question to the graph of all local states.
fn the_cumulative_engines_graph_says_the_same(features: Features) {
    let answers = [const { AtomicU32::new(0) }; 3];
    for_all(sketches(features), cases(1_000), |sketch| {
        let program = sketch.program();
        for memory in [MemoryModel::Tso, MemoryModel::Pso] {
            let answer = robust(&program, memory, &NO_LIMITS, &Unwatched).answer;
            let from_graph = robust_by_graph(&program, memory, &NO_LIMITS, &Unwatched).answer;
            let which = match (&answer, &from_graph) {
                (Answer::Robust, Answer::Robust) => 0,
                (Answer::NotRobust(_), Answer::NotRobust(_)) => 1,
                // Some loops have no end, and some wait.
                (_, Answer::Unknown(_)) => 2,
                _ => return Err(format!("{memory}: {answer:?} and from the graph {from_graph:?}")),
            };
            answers[which].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let [robust, not_robust, unknown] = answers.map(AtomicU32::into_inner);
    let all_kinds = robust > unknown && not_robust > 0;
    assert!(all_kinds, "{robust} robust, {not_robust} not, {unknown} unknown: the programs are all alike");
}

#[test]
fn the_cumulative_engines_graph_says_the_same_of_robustness() {
    the_cumulative_engines_graph_says_the_same(Features::ALL);
}

#[test]
fn the_cumulative_engines_graph_says_the_same_of_robustness_of_memory_alone() {
    the_cumulative_engines_graph_says_the_same(Features { control: true, ..Features::MEMORY });
}

/// The reader comes before the second store to `x` because it saw the first, which is of the same thread.
#[test]
fn who_sees_a_store_comes_before_the_next_one_of_its_thread() {
    let text = "shared x = 0, y = 0;\nthread reader { let a = y; let b = x; }\n\
                thread writer { x = 1; x.store(2, release); y = 1; }\n";
    let program = program(text);
    for (memory, is_robust) in [(MemoryModel::Tso, true), (MemoryModel::Pso, false)] {
        let answers = [
            robust(&program, memory, &NO_LIMITS, &Unwatched).answer,
            robust_by_graph(&program, memory, &NO_LIMITS, &Unwatched).answer,
        ];
        assert!(answers.iter().all(|answer| matches!(answer, Answer::Robust) == is_robust), "{memory}: {answers:?}");
    }
}

/// Whether a set of fences does what it is for, by exhaustive search.
fn suffices(program: &Program, memory: MemoryModel, purpose: Purpose) -> Option<bool> {
    match purpose {
        Purpose::Robustness => is_robust(program, memory),
        Purpose::Correctness => {
            let report = check(program, &Options::new(memory), &Unwatched);
            (report.verdict() != Verdict::Inconclusive).then_some(report.verdict() == Verdict::Verified)
        }
    }
}

fn fences_are_minimal(sketch: &Sketch, memory: MemoryModel, purpose: Purpose, orderings: bool) -> Result<(), String> {
    let program = sketch.program();
    if suffices(&program, memory, purpose).is_none() {
        return Ok(());
    }
    // With orderings there are many sets: the cheapest will do.
    let options = FenceOptions { memory, purpose, all: !orderings, orderings, limits: NO_LIMITS };
    let found = fences(&program, &options, &Unwatched);
    if !found.verified {
        return Err(format!("stopped: {:?}", found.stop));
    }
    if found.sets.is_empty() {
        let report = check(&program, &Options::new(MemoryModel::Sc), &Unwatched);
        let is_wrong_anyway = report.verdict() == Verdict::Violation;
        return if is_wrong_anyway { Ok(()) } else { Err("no fences help".to_string()) };
    }
    for set in &found.sets {
        if suffices(&fenced(&program, set), memory, purpose) == Some(false) {
            return Err(format!("{set:?} is not enough"));
        }
        for left_out in 0..set.len() {
            let mut smaller = set.clone();
            smaller.remove(left_out);
            if suffices(&fenced(&program, &smaller), memory, purpose) == Some(true) {
                return Err(format!("{set:?} is more than {smaller:?}, which is enough"));
            }
        }
    }
    Ok(())
}

fn fences_are_minimal_under_both(features: Features, purpose: Purpose, orderings: bool) {
    for_all(sketches(features), cases(1_000), |sketch| {
        let mut both = [MemoryModel::Tso, MemoryModel::Pso].into_iter();
        both.try_for_each(|memory| fences_are_minimal(sketch, memory, purpose, orderings))
    });
}

#[test]
fn fences_that_make_programs_robust_are_enough_and_minimal() {
    let features = Features { control: true, ..Features::MEMORY };
    fences_are_minimal_under_both(features, Purpose::Robustness, false);
}

#[test]
fn stronger_orderings_that_make_programs_robust_are_enough_and_minimal() {
    fences_are_minimal_under_both(Features::MEMORY, Purpose::Robustness, true);
}

#[test]
fn fences_that_make_assertions_hold_are_enough_and_minimal() {
    let features = Features { control: true, faults: true, questions: true, ..Features::MEMORY };
    fences_are_minimal_under_both(features, Purpose::Correctness, false);
    fences_are_minimal_under_both(features, Purpose::Correctness, true);
}

// Small programs.

/// Whether a program is robust against TSO and against PSO.
fn answers(text: &str) -> [bool; 2] {
    let program = program(text);
    [MemoryModel::Tso, MemoryModel::Pso].map(|memory| {
        let found = matches!(robust(&program, memory, &NO_LIMITS, &Unwatched).answer, Answer::Robust);
        assert_eq!(is_robust(&program, memory), Some(found), "{memory}: {text}");
        found
    })
}

#[test]
fn stores_that_overtake_stores_matter_under_pso_alone() {
    let messages = |publish: &str| {
        answers(&format!("shared x, y; thread a {{ x = 1; {publish} }} thread b {{ let r = y; let s = x; }}"))
    };
    assert_eq!(messages("y = 1;"), [true, false]);
    assert_eq!(messages("y.store(1, release);"), [true, true]);
    assert_eq!(messages("fence(release); y = 1;"), [true, true]);
    // What comes after a release may not overtake what comes before it.
    assert_eq!(messages("let z = 0; y.store(z, release); y = 1;"), [true, true]);
    assert_eq!(answers("shared x, y; thread a { x = 1; y = 2; } thread b { y = 1; x = 2; }"), [true, false]);
    assert_eq!(answers("shared x, y; thread a { x = 1; let r = y; } thread b { y = 1; let r = x; }"), [false, false]);
}

#[test]
fn a_block_that_is_freed_while_a_store_to_it_waits_is_a_difference() {
    let text = "struct Node { value } shared flag; shared ptr = null;\n\
                thread u { let p = new Node; ptr = p; fence; p.value = 2; FENCE let r = flag; }\n\
                thread t { let p = ptr; flag = 1; fence; if p != null { free(p); } }";
    assert_eq!(answers(&text.replace("FENCE", "")), [false, false]);
    assert_eq!(answers(&text.replace("p.value = 2; FENCE", "p.value.store(2, seqcst);")), [true, true]);
    // Nothing else goes ahead of the store.
    let alone = "struct Node { value } thread stores(p) { p.value = 1; }\n\
                 main { let p = new Node; let t = fork stores(p); free(p); }";
    assert_eq!(answers(alone), [false, false]);
    // The failure on arrival is found though no load goes ahead.
    let lazy = Options { engine: Engine::Lazy, all_violations: true, ..Options::new(MemoryModel::Tso) };
    let report = check(&program(alone), &lazy, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted);
    assert!(report.violations.iter().all(|violation| violation.kind.name() == "use-after-free"), "{report:?}");
    assert_eq!(report.violations.len(), 1);
}

#[test]
fn a_goal_that_only_delays_reach_is_found_and_others_are_not() {
    let dekker = |fence: &str| {
        let thread = |name: &str, own: u32, other: u32| {
            format!(
                "thread {name}\ninitial a\nfinal goal\ntransition a b write 1 {own}\ntransition b c {fence}\n\
                 transition c d read r {other}\ntransition d goal check == r 0\nend\n"
            )
        };
        automata(&(thread("left", 0, 1) + &thread("right", 1, 0)))
    };
    let verdict = |program: &Program, memory: MemoryModel, engine: Engine| {
        check(program, &Options { engine, ..Options::new(memory) }, &Unwatched).verdict()
    };
    for engine in [Engine::Exhaustive, Engine::Lazy] {
        assert_eq!(verdict(&dekker("noop"), MemoryModel::Sc, engine), Verdict::Verified);
        assert_eq!(verdict(&dekker("noop"), MemoryModel::Tso, engine), Verdict::Violation);
        assert_eq!(verdict(&dekker("mfence"), MemoryModel::Tso, engine), Verdict::Verified);
    }
}

#[test]
fn robust_programs_with_loops_without_bounds_are_verified() {
    let text = "shared x, y; thread a { loop { x = 1; fence; if y == 2 { break; } x = 0; fence; } }\n\
                thread b { loop { y = choose(0..3); fence; if x == 1 { break; } } y = 2; }";
    let program = program(text);
    assert!(matches!(robust(&program, MemoryModel::Tso, &NO_LIMITS, &Unwatched).answer, Answer::Robust));
    let found = check(&program, &Options { engine: Engine::Lazy, ..Options::new(MemoryModel::Tso) }, &Unwatched);
    let exhaustive = check(&program, &Options::new(MemoryModel::Sc), &Unwatched);
    assert_eq!(found.violations.is_empty(), exhaustive.violations.is_empty());
}

// Published automata.

fn published() -> Option<Vec<(String, Program, String, String)>> {
    let folder = Path::new(env!("CARGO_WORKSPACE_DIR")).join("../shared/trencher");
    let verdicts = std::fs::read_to_string(folder.join("verdicts.csv")).ok()?;
    let rows = verdicts.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let text = std::fs::read_to_string(folder.join(fields[0])).expect("the example is there");
        (fields[0].to_string(), automata(&text), fields[1].to_string(), fields[2].to_string())
    });
    Some(rows.collect())
}

#[test]
fn published_automata_are_as_robust_as_published_and_need_no_more_fences() {
    let Some(rows) = published() else {
        return crate::tell_skipped("there are no published automata in ../shared/trencher");
    };
    for (name, program, is_robust, n_fences) in rows {
        let found = robust(&program, MemoryModel::Tso, &NO_LIMITS, &Unwatched);
        let robust = matches!(found.answer, Answer::Robust);
        assert!(!matches!(found.answer, Answer::Unknown(_)), "{name}: {found:?}");
        assert!(is_robust == "crash" || robust == (is_robust == "yes"), "{name}: {robust}");
        let (memory, purpose) = (MemoryModel::Tso, Purpose::Robustness);
        let options = FenceOptions { memory, purpose, all: false, orderings: false, limits: NO_LIMITS };
        let found = fences(&program, &options, &Unwatched);
        assert!(found.verified, "{name}: {:?}", found.stop);
        let n_found = found.sets[0].len();
        println!("{name}: robust {robust}, {n_found} fences in {} checks", found.checks);
        assert!(
            n_fences.parse().is_ok_and(|n_fences: usize| n_found <= n_fences) || n_fences == "crash",
            "{name}: {n_found}"
        );
    }
}
