//! The definition that the monitor `store-buffers` is measured by: every execution of the machine is enumerated with its trace (program order, reads-from,
//! coherence), and the memory models differ iff some trace has a cycle. For programs of loads, stores, read-modify-writes, fences and spinning.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::{Action, Loc, Step, ThreadKey};
use unthread_checker::engines::check;
use unthread_checker::execution::{Comparable, Machine, MemoryModel, Operation, State, interpret};
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Monitor, Options, StopReason, Unwatched, ViolationKind};
use unthread_generate::{Features, Sketch, cases, for_all, sketches};

/// How many programs of each kind are compared.
const CASES: u32 = 1_250;

/// The n-th event of a thread.
type Event = (ThreadKey, usize);

/// What an event read, and from which write.
type Reads = Vec<(Loc, Option<Event>)>;

/// What an execution so far comes to.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Trace {
    /// For each event of a thread, what it read and from which write.
    reads: BTreeMap<ThreadKey, Vec<Reads>>,
    /// The writes to a cell, in order of arrival.
    coherence: BTreeMap<Loc, Vec<Event>>,
    /// Stores on their way.
    waiting: BTreeMap<ThreadKey, Vec<(Loc, Event)>>,
}

impl Trace {
    fn source(&self, thread: ThreadKey, loc: Loc) -> Option<Event> {
        let own = self.waiting.get(&thread).and_then(|stores| stores.iter().rev().find(|store| store.0 == loc));
        own.map(|store| store.1).or_else(|| self.coherence.get(&loc).and_then(|writes| writes.last().copied()))
    }

    fn step<S: Comparable>(&mut self, machine: &Machine<'_, S>, state: &mut State<S::Thread>, step: Step) {
        let thread = &state.threads[step.thread.index()];
        let key = thread.key;
        if let Action::Flush(at) = step.action {
            let (loc, store) = self.waiting.get_mut(&key).expect("something waits").remove(at as usize);
            self.coherence.entry(loc).or_default().push(store);
            machine.apply(state, step);
            return;
        }
        let mut locs: BTreeSet<Loc> = machine.subject.awaiting(&thread.local).iter().map(|cell| cell.0).collect();
        if let Operation::Read { loc, .. } | Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } =
            machine.subject.operation(&thread.local)
        {
            locs.insert(loc);
        }
        let reads = locs.into_iter().map(|loc| (loc, self.source(key, loc))).collect();
        let events = self.reads.entry(key).or_default();
        let event = (key, events.len());
        events.push(reads);
        let done = machine.apply(state, step);
        match done.written {
            Some((loc, _)) if done.buffered => self.waiting.entry(key).or_default().push((loc, event)),
            Some((loc, _)) => self.coherence.entry(loc).or_default().push(event),
            None => {}
        }
    }

    /// Whether program order, reads-from, coherence and from-reads have a cycle: then the execution is not one of SC.
    fn has_cycle(&self) -> bool {
        let mut edges: BTreeMap<Event, BTreeSet<Event>> = BTreeMap::new();
        let mut add = |from: Event, to: Event| _ = (from != to).then(|| edges.entry(from).or_default().insert(to));
        for (&thread, events) in &self.reads {
            for (at, reads) in events.iter().enumerate() {
                if at > 0 {
                    add((thread, at - 1), (thread, at));
                }
                for (loc, source) in reads {
                    let writes = self.coherence.get(loc).map_or(&[][..], Vec::as_slice);
                    let next = source.map_or(0, |source| {
                        add(source, (thread, at));
                        writes.iter().position(|&write| write == source).expect("it has arrived") + 1
                    });
                    writes.get(next).into_iter().for_each(|&write| add((thread, at), write));
                }
            }
        }
        for writes in self.coherence.values() {
            writes.windows(2).for_each(|pair| add(pair[0], pair[1]));
        }
        let mut left: BTreeSet<Event> =
            self.reads.iter().flat_map(|(&key, events)| (0..events.len()).map(move |at| (key, at))).collect();
        loop {
            let targets: BTreeSet<Event> =
                left.iter().filter_map(|event| edges.get(event)).flatten().copied().collect();
            let n_left = left.len();
            left.retain(|event| targets.contains(event));
            if left.len() == n_left {
                return n_left > 0;
            }
        }
    }
}

/// Whether some execution is not one of SC; nothing if there are too many.
fn differs(program: &Program, memory: MemoryModel) -> Option<bool> {
    let subject = interpret(program);
    let machine = Machine::new(&subject, memory.rules());
    let start = (machine.start(), Trace::default());
    let mut seen = HashSet::from([start.clone()]);
    let mut work = vec![start];
    while let Some((state, trace)) = work.pop() {
        let mut steps = Vec::new();
        machine.steps(&state, &mut steps);
        if steps.is_empty() && trace.has_cycle() {
            return Some(true);
        }
        for step in steps {
            let mut next = (state.clone(), trace.clone());
            next.1.step(&machine, &mut next.0, step);
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
        if seen.len() > 8_000 {
            return None;
        }
    }
    Some(false)
}

fn compare(sketch: &Sketch, memory: MemoryModel) -> Result<Option<bool>, String> {
    let program = sketch.program();
    let Some(expected) = differs(&program, memory) else { return Ok(None) };
    for engine in [Engine::Dpor, Engine::Icb { preemptions: u32::MAX - 1, traces: true }] {
        let monitor = Some(Monitor::StoreBuffers);
        let options = Options { engine, monitor, all_violations: true, ..Options::new(memory) };
        let report = check(&program, &options, &Unwatched);
        let found = report.violations.iter().any(|violation| violation.kind == ViolationKind::StoreBuffers);
        if report.stop != StopReason::Exhausted || found != expected {
            return Err(format!("{memory}: {engine} says {found} ({:?}), but it is {expected}", report.stop));
        }
    }
    Ok(Some(expected))
}

/// Compares, and says how many programs behave as under SC and how many do not.
fn compare_all(features: Features, memory: MemoryModel) -> [u32; 2] {
    let counts = [(); 3].map(|()| AtomicU32::new(0));
    for_all(sketches(features), cases(CASES), |sketch| {
        let at = compare(sketch, memory)?.map_or(2, usize::from);
        counts[at].fetch_add(1, Relaxed);
        Ok(())
    });
    let [same, differ, left_out] = counts.map(AtomicU32::into_inner);
    println!("{memory}: {same} programs behave as under sc, {differ} do not, {left_out} are too large");
    assert!(left_out * 5 <= same + differ, "{left_out} programs were left out");
    [same, differ]
}

#[test]
fn the_monitor_says_that_memory_models_differ_iff_a_trace_has_a_cycle() {
    let bare = Features { synchronisation: false, ..Features::MEMORY };
    let with_loops = Features { control: true, spins: true, ..Features::MEMORY };
    for memory in [MemoryModel::Tso, MemoryModel::Pso] {
        let counts = [bare, with_loops].map(|features| compare_all(features, memory));
        let [same, differ] = [0, 1].map(|at| counts[0][at] + counts[1][at]);
        assert!(same.min(differ) >= cases(CASES) / 50, "{memory}: {same} and {differ}: the programs are all alike");
    }
}
