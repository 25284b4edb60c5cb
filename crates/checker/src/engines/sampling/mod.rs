//! Sampling: one execution after the other, each with a schedule that a `Picker` chooses. It never covers everything, so it
//! never verifies anything; it ends when there have been as many executions as allowed.

pub mod pct;
pub mod random;

use crate::base::Step;
use crate::execution::{Describe, Machine, State};
use crate::monitor;
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};

/// How many executions to run by default.
const EXECUTIONS: u64 = 10_000;
/// How often the watch is asked, in executions.
const LOOK_EVERY: u64 = 64;

/// Picks the steps of executions.
pub(crate) trait Picker {
    /// A new execution begins.
    fn begin(&mut self);

    /// Picks one of the steps that are possible in a state; there is at least one.
    fn pick<T>(&mut self, state: &State<T>, steps: &[Step]) -> Step;

    /// What this many executions say about the program.
    fn coverage(&self, executions: u64) -> String;
}

/// Runs executions and reports.
pub(crate) fn check<S: Describe>(
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
    picker: &mut impl Picker,
) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut findings = Findings::new(subject, options);
    let executions = if options.limits.executions == u64::MAX { EXECUTIONS } else { options.limits.executions };
    let mut stop = StopReason::ExecutionLimit;
    let mut done = 0;
    while done < executions {
        picker.begin();
        if let Some(why) = run(&machine, &mut findings, watch, picker) {
            stop = why;
            break;
        }
        done += 1;
        let look = || findings.look(done.is_multiple_of(LOOK_EVERY), executions - done, watch);
        if let Some(why) = findings.stop().or_else(look) {
            stop = why;
            break;
        }
    }
    findings.coverage = Some(picker.coverage(done));
    findings.report(stop)
}

/// Runs one execution to its end, unless it is too long. Otherwise says why it stopped.
fn run<'a, S: Describe>(
    machine: &Machine<'a, S>,
    findings: &mut Findings<'a, S>,
    watch: &dyn Watch,
    picker: &mut impl Picker,
) -> Option<StopReason> {
    if let Some(watcher) = &mut findings.watcher {
        watcher.restart();
    }
    let mut state = machine.start();
    let (mut path, mut steps) = (Vec::new(), Vec::new());
    let events = findings.options.limits.most_events();
    while (path.len() as u64) < events {
        findings.judge.look_at(&state, || path.clone());
        steps.clear();
        machine.steps(&state, &mut steps);
        if steps.is_empty() {
            findings.ended(machine, &state, || path.clone());
            return None;
        }
        if let Some(stop) = watch.stop() {
            return Some(stop);
        }
        let step = picker.pick(&state, &steps);
        let span = machine.subject.span(&state.threads[step.thread.index()].local);
        let seen = findings.watcher.as_mut().map(|watcher| watcher.look(&state, step));
        let performed = machine.apply(&mut state, step);
        path.push(step);
        if let (Some(watcher), Some((taken, operation))) = (&mut findings.watcher, seen) {
            let taken = monitor::came_of(taken, &performed);
            let witness = watcher.step(&taken, &operation, span, || path.clone());
            witness.into_iter().for_each(|witness| findings.judge.not_sequential(witness));
        }
        findings.statistics.steps += 1;
        if let Some(failure) = &performed.failure {
            let thread = &state.threads[step.thread.index()];
            findings.judge.failed(thread, span, step, failure, || path.clone());
        }
    }
    None
}
