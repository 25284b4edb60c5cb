//! Every execution, one after the other, without any reduction: depth first, for subjects whose states cannot be stored.
//!
//! The oracle for small tests of code that is run rather than interpreted.

use crate::base::Step;
use crate::execution::rewind::Rewindable;
use crate::execution::{Describe, Machine};
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};

/// How often the watch is asked, in executions.
const LOOK_EVERY: u64 = 256;

/// Runs every execution and reports.
pub fn check<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut findings = Findings::new(subject, options);
    let stop = run(&machine, &mut findings, watch).unwrap_or_else(StopReason::Nondeterminism);
    findings.report(stop)
}

fn run<'a, S: Describe>(
    machine: &Machine<'a, S>,
    findings: &mut Findings<'a, S>,
    watch: &dyn Watch,
) -> Result<StopReason, String> {
    let mut running = Rewindable::new(machine);
    // For each step of the path and for its end, what is still to be tried there, last first.
    let mut left: Vec<Vec<Step>> = vec![possible(machine, &running)];
    loop {
        let too_long = running.path.len() as u64 >= findings.options.limits.most_steps_taken_back();
        findings.judge.look_at(&running.state, || running.path.clone());
        if let Some(step) = left.last_mut().filter(|_| !too_long).and_then(Vec::pop) {
            let operation = machine.subject.operation(&running.state.threads[step.thread.index()].local);
            let done = running.take(step, Some(&operation));
            findings.statistics.steps += 1;
            if let Some(failure) = &done.failure {
                let thread = &running.state.threads[step.thread.index()];
                findings.judge.failed(thread, running.acting().span, step, failure, || running.path.clone());
            }
            left.push(possible(machine, &running));
            continue;
        }
        if too_long {
            findings.incomplete = Some(StopReason::EventLimit);
        } else {
            findings.ended(machine, &running.state, || running.path.clone());
        }
        let is_due = findings.statistics.executions.is_multiple_of(LOOK_EVERY);
        if let Some(stop) = findings.stop().or_else(|| findings.look(is_due, 0, watch)) {
            return Ok(stop);
        }
        while left.pop().is_some() && left.last().is_some_and(Vec::is_empty) {
            running.undo();
        }
        if left.is_empty() {
            return Ok(findings.exhausted());
        }
        running.undo();
        running.settle(|_, _| {})?;
        findings.note_difference(running.take_difference());
    }
}

fn possible<S: Describe>(machine: &Machine<'_, S>, running: &Rewindable<'_, S>) -> Vec<Step> {
    let mut steps = Vec::new();
    machine.steps(&running.state, &mut steps);
    steps.reverse();
    steps
}
