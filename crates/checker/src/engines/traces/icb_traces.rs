//! Engine `icb` over traces: one execution for each trace that can be had with few preemptions.
//!
//! Sleep sets and backtracking by races drop executions that may be the only ones within the bound. What CHESS does instead is sound: executions so far that
//! have the same happens-before order, and the same thread running, have the same futures within the same bound, so one of them is
//! gone on with, the one with the fewest preemptions. Such an execution is known by the last event of each thread, because an event here *is* its past: it is
//! stored once for each thing done, thread, and set of events that it comes directly after. Stores that reach memory are events of their own, by nobody's doing, and a read that
//! sees a store on its way touches nothing. Under TSO and PSO that tells some executions apart that `dpor` does not.

use crate::base::{Action, Span, Step, ThreadId};
use crate::execution::rewind::Rewindable;
use crate::execution::visited::Interner;
use crate::execution::{Describe, Machine, Operation};
use crate::monitor::{Eye, came_of};
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};
use crate::trace::happens_before::Taken;
use crate::trace::happens_before::footprint::{Access, Footprint, Mode};
use rustc_hash::{FxHashMap, FxHashSet};

/// How often the watch is asked, in steps.
const LOOK_EVERY: u64 = 4096;

/// No event.
const NONE: u32 = u32::MAX;

/// Searches bound by bound and reports.
pub(crate) fn check<S: Describe>(subject: &S, preemptions: u32, options: &Options, watch: &dyn Watch) -> Report {
    within(subject, preemptions, u64::MAX, options, watch)
}

/// Searches bound by bound and reports; gives up after so many steps, those that are taken again included.
pub(crate) fn within<S: Describe>(
    subject: &S,
    preemptions: u32,
    most_steps: u64,
    options: &Options,
    watch: &dyn Watch,
) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut search = IcbTraces {
        machine: &machine,
        findings: Findings::new(subject, options),
        running: Rewindable::new(&machine),
        eye: Eye::under(subject, options.rules),
        events: Interner::new(),
        undone: Vec::new(),
        last: Vec::new(),
        stores: Vec::new(),
        arrived: Vec::new(),
        objects: Vec::new(),
        effort: 0,
        most_steps,
        known: FxHashMap::default(),
        complete: FxHashSet::default(),
        cut: false,
    };
    let mut covered = None;
    let stop = search.run(preemptions, &mut covered, watch);
    search.findings.coverage = crate::engines::states::icb::coverage(covered, &stop);
    search.findings.report(stop)
}

struct IcbTraces<'a, S: Describe> {
    machine: &'a Machine<'a, S>,
    findings: Findings<'a, S>,
    running: Rewindable<'a, S>,
    eye: Eye<'a, S>,
    /// Events by what they do and what they come directly after.
    events: Interner<Vec<u32>>,
    /// How to take steps back.
    undone: Vec<Undo>,
    /// The last event of each thread, or the one that forked it.
    last: Vec<u32>,
    /// The events by which each thread made the stores in its buffer.
    stores: Vec<Vec<u32>>,
    /// The last store of each process to reach memory.
    arrived: Vec<u32>,
    objects: Vec<Touched>,
    /// Steps taken, and those taken again.
    effort: u64,
    most_steps: u64,
    /// Executions so far, with the most preemptions that were left.
    known: FxHashMap<Vec<u32>, u32>,
    /// Executions that came to an end.
    complete: FxHashSet<Vec<u32>>,
    /// The bound has kept a step from being taken.
    cut: bool,
}

/// Who touched an object: the last to write it, and who shared or read it since.
#[derive(Clone)]
struct Touched {
    write: u32,
    shares: Vec<u32>,
    reads: Vec<u32>,
}

struct Undo {
    last: Vec<u32>,
    stores: Vec<Vec<u32>>,
    arrived: Vec<u32>,
    objects: Vec<(usize, Touched)>,
    /// Whether the monitor was told.
    watched: bool,
}

/// A step that was taken, for the monitor.
struct Seen {
    event: u32,
    taken: Taken,
    operation: Operation,
    span: Span,
}

/// Where the search stands before a step.
struct Branch {
    /// The thread that runs.
    thread: Option<ThreadId>,
    /// Steps to take, the next one last, and the preemptions that are left after them.
    steps: Vec<(Step, u32)>,
}

impl<S: Describe> IcbTraces<'_, S> {
    fn run(&mut self, preemptions: u32, covered: &mut Option<u32>, watch: &dyn Watch) -> StopReason {
        for bound in 0..=preemptions {
            self.known.clear();
            self.complete.clear();
            self.cut = false;
            self.findings.statistics.executions = 0;
            self.findings.statistics.borderline = self.findings.statistics.borderline.map(|_| 0);
            if let Some(stop) = self.search(bound, watch) {
                return stop;
            }
            if self.findings.incomplete.is_none() {
                *covered = Some(bound);
            }
            if !self.cut {
                return self.findings.exhausted();
            }
        }
        StopReason::PreemptionLimit
    }

    /// All executions within the bound, depth first.
    fn search(&mut self, bound: u32, watch: &dyn Watch) -> Option<StopReason> {
        if let Some(stop) = self.settle() {
            return Some(stop);
        }
        let n_threads = self.running.state.threads.len();
        (self.last, self.stores, self.arrived) = (vec![NONE; n_threads], vec![Vec::new(); n_threads], Vec::new());
        let mut nodes = vec![self.node(None, bound, None)];
        while let Some(node) = nodes.last_mut() {
            let Some((step, left)) = node.steps.pop() else {
                nodes.pop();
                if !nodes.is_empty() {
                    self.undo();
                }
                continue;
            };
            let thread = if is_operation(&step) { Some(step.thread) } else { node.thread };
            if let Some(stop) = self.settle() {
                return Some(stop);
            }
            let seen = self.take(step);
            nodes.push(self.node(thread, left, seen));
            if self.effort > self.most_steps {
                return Some(StopReason::StateLimit);
            }
            let is_due = self.findings.statistics.steps.is_multiple_of(LOOK_EVERY);
            if let Some(stop) = self.findings.stop().or_else(|| self.findings.look(is_due, 0, watch)) {
                return Some(stop);
            }
        }
        None
    }

    /// Takes steps again, where they could not be taken back.
    fn settle(&mut self) -> Option<StopReason> {
        let mut again = 0;
        let settled = self.running.settle(|_, _| again += 1);
        self.effort += again;
        self.findings.note_difference(self.running.take_difference());
        settled.err().map(StopReason::Nondeterminism)
    }

    /// What there is to do after a step of this thread, unless it has been done.
    fn node(&mut self, thread: Option<ThreadId>, left: u32, seen: Option<Seen>) -> Branch {
        if self.running.path.len() as u64 >= self.findings.options.limits.most_steps_taken_back() {
            self.findings.incomplete = Some(StopReason::EventLimit);
            return Branch { thread, steps: Vec::new() };
        }
        let mut now = self.last.clone();
        now.sort_unstable();
        now.push(NONE);
        let arrived = now.len();
        now.extend(self.arrived.iter().filter(|&&event| event != NONE));
        now[arrived..].sort_unstable();
        now.push(thread.map_or(NONE, |thread| self.last[thread.index()]));
        if self.known.get(&now).is_some_and(|&known| known >= left) {
            return Branch { thread, steps: Vec::new() };
        }
        self.watch(seen);
        let mut steps = Vec::new();
        self.machine.steps(&self.running.state, &mut steps);
        if steps.is_empty() {
            let running = &self.running;
            if self.complete.insert(now[..now.len() - 1].to_vec()) {
                self.findings.ended(self.machine, &running.state, || running.path.clone());
            }
        } else {
            self.findings.judge.look_at(&self.running.state, || self.running.path.clone());
        }
        self.known.insert(now, left);
        Branch { thread, steps: self.within_bound(steps, thread, left) }
    }

    /// The steps that can be taken within the bound. A thread that can go on is the first to.
    fn within_bound(&mut self, steps: Vec<Step>, thread: Option<ThreadId>, left: u32) -> Vec<(Step, u32)> {
        let goes_on = |step: &&Step| is_operation(step) && Some(step.thread) == thread;
        let can_go_on = steps.iter().any(|step| goes_on(&step));
        let others = steps.iter().filter(|step| is_operation(step) && !goes_on(step));
        let mut chosen = Vec::new();
        if !can_go_on {
            chosen.extend(others.map(|&step| (step, left)));
        } else if left > 0 {
            chosen.extend(others.map(|&step| (step, left - 1)));
        } else {
            self.cut |= others.count() > 0;
        }
        chosen.extend(steps.iter().filter(|step| !is_operation(step)).map(|&step| (step, left)));
        chosen.extend(steps.iter().filter(goes_on).map(|&step| (step, left)));
        chosen
    }

    /// Shows the last step to the monitor. Nothing new is to be seen where an equal execution has been: there the same step was the last.
    fn watch(&mut self, seen: Option<Seen>) {
        let (Some(watcher), Some(seen), Some(undo)) = (&mut self.findings.watcher, seen, self.undone.last_mut()) else {
            return;
        };
        undo.watched = true;
        let path = || self.running.path.clone();
        let Seen { event, taken, operation, span } = seen;
        let witness = watcher.numbered_step(event, taken, operation, span, path);
        witness.into_iter().for_each(|witness| self.findings.judge.not_sequential(witness));
    }

    fn take(&mut self, step: Step) -> Option<Seen> {
        self.findings.statistics.steps += 1;
        self.effort += 1;
        let (taken, operation) = self.eye.look_at(&self.running.state, step);
        let done = self.running.take(step, operation.as_ref());
        let taken = came_of(taken, &done);
        let path = || self.running.path.clone();
        let span = self.running.acting().span;
        if let Some(failure) = &done.failure {
            let thread = &self.running.state.threads[step.thread.index()];
            self.findings.judge.failed(thread, span, step, failure, path);
        }
        self.note(&taken, operation.as_ref(), step, done.buffered);
        let event = self.last[step.thread.index()];
        operation.map(|operation| Seen { event, taken, operation, span })
    }

    /// Finds the event's number, and notes what it touched.
    fn note(&mut self, taken: &Taken, operation: Option<&Operation>, step: Step, buffered: bool) {
        let index = step.thread.index();
        let (stores, arrived) = (self.stores.clone(), self.arrived.clone());
        let mut undo = Undo { last: self.last.clone(), stores, arrived, objects: Vec::new(), watched: false };
        let process = usize::from(taken.label.process);
        let before = match step.action {
            // Of what a process has brought to memory only the last is remembered: whoever knows it knows those before.
            Action::Flush(at) => {
                [self.stores[index].remove(at as usize), self.arrived.get(process).copied().unwrap_or(NONE)]
            }
            _ => [self.last[index], NONE],
        };
        let event = self.event(taken, operation, before);
        match operation {
            Some(_) => {
                let n_threads = self.running.state.threads.len();
                self.last.resize(n_threads, event);
                self.stores.resize_with(n_threads, Vec::new);
                self.last[index] = event;
                self.stores[index].extend(buffered.then_some(event));
            }
            None => {
                self.arrived.resize(self.arrived.len().max(process + 1), NONE);
                self.arrived[process] = event;
            }
        }
        for access in &taken.footprint.accesses {
            let object = access.object as usize;
            undo.objects.push((object, self.objects[object].clone()));
            let touched = &mut self.objects[object];
            match access.mode {
                // References are counted in Rust code alone; here they are never taken to be independent.
                Mode::Write | Mode::End | Mode::Reference | Mode::ReleaseEarly | Mode::ReleaseLate | Mode::Drop(_) => {
                    *touched = Touched { write: event, shares: Vec::new(), reads: Vec::new() };
                }
                Mode::Share => touched.shares.push(event),
                Mode::Read | Mode::Look => touched.reads.push(event),
                Mode::Own(_) => {}
            }
        }
        self.undone.push(undo);
    }

    /// An event's number: what it does, after which one of its own thread (for a store that reaches memory: the one that made it, and the store that reached memory before it), and after
    /// which others.
    fn event(&mut self, taken: &Taken, operation: Option<&Operation>, before: [u32; 2]) -> u32 {
        self.make_room(&taken.footprint);
        let mut past = [halves(taken.thread.0), halves(taken.label.choice.unwrap_or(i64::MIN) as u64)].concat();
        past.push(u32::from(operation.is_some()));
        past.extend(before);
        if operation.is_some_and(Operation::is_join_all) {
            let mut others = self.last.clone();
            others.sort_unstable();
            past.extend(others);
        }
        let seen = |access: &&Access| !matches!(access.mode, Mode::Own(_));
        for access in taken.footprint.accesses.iter().filter(seen) {
            let touched = &self.objects[access.object as usize];
            past.extend([access.object, u32::from(access.mode == Mode::Write), touched.write]);
            let mut since: Vec<u32> = Vec::new();
            if access.mode != Mode::Share {
                since.extend(&touched.shares);
            }
            if access.mode != Mode::Read {
                since.extend(&touched.reads);
            }
            since.sort_unstable();
            past.push(since.len() as u32);
            past.extend(since);
        }
        self.events.intern(&past)
    }

    fn make_room(&mut self, footprint: &Footprint) {
        let n_objects = footprint.accesses.iter().map(|access| access.object as usize + 1).max().unwrap_or(0);
        if self.objects.len() < n_objects {
            self.objects.resize(n_objects, Touched { write: NONE, shares: Vec::new(), reads: Vec::new() });
        }
    }

    fn undo(&mut self) {
        let Some(undo) = self.undone.pop() else { return };
        (self.last, self.stores, self.arrived) = (undo.last, undo.stores, undo.arrived);
        for (object, touched) in undo.objects.into_iter().rev() {
            self.objects[object] = touched;
        }
        self.running.undo();
        if let Some(watcher) = self.findings.watcher.as_mut().filter(|_| undo.watched) {
            watcher.undo();
        }
    }
}

fn is_operation(step: &Step) -> bool {
    !matches!(step.action, Action::Flush(_))
}

/// A long number in two halves.
fn halves(number: u64) -> [u32; 2] {
    [(number >> 32) as u32, number as u32]
}
