//! Engine `icb`: iterative context bounding (Musuvathi and Qadeer, PLDI 2007).
//!
//! All executions without a preemption, then all with one, and so on up to a bound. A preemption is a switch from a thread that
//! could go on to another thread; leaving a thread that cannot go on is free, and so are stores that reach memory:
//! no thread runs then.
//!
//! Sleep sets and backtracking by races are unsound under a bound: the execution that they would keep may need more preemptions
//! than the one that they drop. What is sound is not to go on twice from the same state with the same
//! thread running, since the first time costs the fewest preemptions. CHESS does so for executions with the same
//! happens-before order; threads of IR programs can be compared, so this is done for states, and merges more.

use super::endless::Edges;
use crate::base::paged::Paged;
use crate::base::{Action, Step, ThreadId};
use crate::execution::visited::{NO_STEP, Visited};
use crate::execution::{Comparable, Machine, State};
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};

/// How often the watch is asked, in states.
const LOOK_EVERY: u64 = 4096;

/// Nobody has run yet.
const NOBODY: u32 = u32::MAX;

/// Searches bound by bound and reports.
pub fn check<S: Comparable>(subject: &S, preemptions: u32, options: &Options, watch: &dyn Watch) -> Report {
    let mut search = Icb {
        machine: Machine::new(subject, options.rules),
        visited: Visited::new(),
        findings: Findings::new(subject, options),
        work: Vec::new(),
        preempting: Paged::new(),
        expanded: 0,
        edges: subject.has_cycles().then(Edges::default),
    };
    let mut covered = None;
    let stop = search.run(preemptions, &mut covered, watch);
    search.findings.coverage = coverage(covered, &stop);
    search.findings.report(stop)
}

/// What has been covered, up to which bound.
pub(crate) fn coverage(covered: Option<u32>, stop: &StopReason) -> Option<String> {
    match (covered, stop) {
        (_, StopReason::Exhausted) => None,
        (None, _) => Some("not even all executions without preemptions".to_string()),
        (Some(bound), _) => Some(format!("all executions with at most {bound} preemptions")),
    }
}

struct Icb<'a, S: Comparable> {
    machine: Machine<'a, S>,
    /// States, each with the thread that runs.
    visited: Visited<S::Thread>,
    findings: Findings<'a, S>,
    /// States to go on from.
    work: Vec<u32>,
    /// Steps that need one preemption more.
    preempting: Paged<(u32, Step)>,
    expanded: u64,
    /// Which state leads to which, where threads can go round in circles.
    edges: Option<Edges>,
}

impl<S: Comparable> Icb<'_, S> {
    fn run(&mut self, preemptions: u32, covered: &mut Option<u32>, watch: &dyn Watch) -> StopReason {
        let start = self.machine.start();
        let mut row = vec![self.visited.intern_shared(&start.shared)];
        row.extend(start.threads.iter().map(|thread| self.visited.intern_thread(thread)));
        row.push(NOBODY);
        self.work.push(self.visited.insert(&row, 0, NO_STEP));
        for bound in 0..=preemptions {
            let preempting = std::mem::replace(&mut self.preempting, Paged::new());
            for (at, step) in (0..preempting.len()).map(|next| preempting[next]) {
                if let Some(stop) = watch.stop() {
                    return stop;
                }
                let mut state = self.state(at);
                self.take(&mut state, at, step);
            }
            while let Some(at) = self.work.pop() {
                self.expand(at, watch);
                if let Some(stop) = self.stop(watch) {
                    return stop;
                }
            }
            if self.findings.incomplete.is_none() {
                *covered = Some(bound);
            }
            if self.preempting.len() == 0 {
                return self.exhausted();
            }
        }
        StopReason::PreemptionLimit
    }

    /// No execution has more preemptions, so this was an exhaustive search.
    fn exhausted(&mut self) -> StopReason {
        if self.findings.incomplete.is_none()
            && let Some(edges) = self.edges.take()
        {
            edges.look_for_endless_runs(&self.visited, 1, &mut self.findings);
        }
        self.findings.exhausted()
    }

    fn stop(&mut self, watch: &dyn Watch) -> Option<StopReason> {
        self.expanded += 1;
        self.findings.statistics.states = self.visited.len() as u64;
        if self.visited.is_full() {
            return Some(StopReason::StateLimit);
        }
        let waiting = (self.work.len() + self.preempting.len()) as u64;
        let is_due = self.expanded.is_multiple_of(LOOK_EVERY);
        self.findings.stop().or_else(|| self.findings.look(is_due, waiting, watch))
    }

    fn state(&self, at: u32) -> State<S::Thread> {
        let row = self.visited.row_of(at);
        self.visited.state(row, row.len() - 2)
    }

    fn expand(&mut self, at: u32, watch: &dyn Watch) {
        let mut state = self.state(at);
        if let Some(thread) = state.threads.iter().find(|thread| self.machine.is_at_buffer_bound(thread)) {
            self.findings.met_buffer_bound(thread);
        }
        self.findings.judge.look_at(&state, || self.visited.path(at));
        let mut steps = Vec::new();
        self.machine.steps(&state, &mut steps);
        if steps.is_empty() {
            self.findings.ended(&self.machine, &state, || self.visited.path(at));
            if let Some(edges) = &mut self.edges {
                edges.end(at);
            }
            return;
        }
        let running = self.visited.row_of(at).last().copied().unwrap_or(NOBODY);
        let is_operation = |step: &Step| !matches!(step.action, Action::Flush(_));
        let can_go_on = steps.iter().any(|step| is_operation(step) && u32::from(step.thread.0) == running);
        for step in steps {
            if watch.stop().is_some() {
                return;
            }
            if can_go_on && is_operation(&step) && u32::from(step.thread.0) != running {
                self.preempting.push((at, step));
            } else {
                self.take(&mut state, at, step);
            }
        }
    }

    /// Takes a step from a state, notes what comes of it, and restores the state.
    fn take(&mut self, state: &mut State<S::Thread>, at: u32, step: Step) {
        self.findings.statistics.steps += 1;
        let ThreadId(number) = step.thread;
        let index = step.thread.index();
        let n_threads = state.threads.len();
        let (shared, thread) = (state.shared.clone(), state.threads[index].clone());
        let performed = self.machine.apply(state, step);
        if let Some(failure) = &performed.failure {
            let path = || [self.visited.path(at), vec![step]].concat();
            let span = self.findings.subject.span(&thread.local);
            self.findings.judge.failed(&thread, span, step, failure, path);
        }
        let mut next = self.visited.row_of(at).to_vec();
        let running = next.pop().filter(|_| matches!(step.action, Action::Flush(_)));
        next[0] = self.visited.intern_shared(&state.shared);
        next[1 + index] = self.visited.intern_thread(&state.threads[index]);
        next.extend(state.threads[n_threads..].iter().map(|forked| self.visited.intern_thread(forked)));
        next.push(running.unwrap_or(u32::from(number)));
        let n_known = self.visited.len();
        let reached = self.visited.insert(&next, at, step);
        if reached as usize == n_known {
            self.work.push(reached);
        }
        if let Some(edges) = &mut self.edges {
            edges.add(at, reached);
        }
        state.shared = shared;
        state.threads.truncate(n_threads);
        state.threads[index] = thread;
    }
}
