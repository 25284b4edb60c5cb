//! Replays: one schedule, followed from the start, and everything that is wrong along it.

use super::judge::Judge;
use super::never_ends::never_ends;
use super::{Observation, Violation};
use crate::base::{Schedule, Step};
use crate::execution::{Comparable, Describe, Machine, Rules, State, Stuck, interpret};
use crate::monitor::is_not_sc;
use crate::program::Program;
use crate::trace::{ReplayError, Trace, follow};

/// What following one schedule showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// What happened.
    pub trace: Trace,
    /// What is wrong along it or at its end, in that order.
    pub violations: Vec<Violation>,
    /// Which `exists` conditions its end satisfies.
    pub observations: Vec<Observation>,
    /// Whether SC has this execution: one with the same program order, reads-from and coherence.
    pub is_sequential: bool,
    /// How it could go on.
    pub possible: Vec<Step>,
}

/// States that are looked at, after a schedule that could go on, to see whether there is an end.
const PATIENCE: usize = 20_000;

/// Follows a schedule and judges what happens.
pub fn replay(program: &Program, rules: Rules, schedule: &Schedule) -> Result<Replay, ReplayError> {
    let subject = interpret(program);
    let replay = judged(&subject, rules, schedule, endless(PATIENCE))?;
    Ok(Replay { is_sequential: !is_not_sc(&subject, rules, schedule), ..replay })
}

/// Follows a schedule of any subject and judges what happens.
pub fn replay_subject<S: Describe>(subject: &S, rules: Rules, schedule: &Schedule) -> Result<Replay, ReplayError> {
    judged(subject, rules, schedule, |_, _| false)
}

/// Looks at as many states as `patience` says to find out whether there is an end.
pub(crate) fn endless<S: Comparable>(patience: usize) -> impl Fn(&Machine<'_, S>, &State<S::Thread>) -> bool {
    move |machine, state| machine.subject.has_cycles() && never_ends(machine, state, patience)
}

/// Follows a schedule and judges what happens, but for whether SC has it, too; asks whether its end is one.
pub(crate) fn judged<S: Describe>(
    subject: &S,
    rules: Rules,
    schedule: &Schedule,
    endless: impl Fn(&Machine<'_, S>, &State<S::Thread>) -> bool,
) -> Result<Replay, ReplayError> {
    let machine = Machine::new(subject, rules);
    let mut judge = Judge::new(subject, rules);
    let mut possible = Vec::new();
    let steps = &schedule.0;
    let trace = follow(subject, rules, schedule, |state, at| {
        judge.look_at(state, || steps[..at].to_vec());
        if at == steps.len() {
            machine.steps(state, &mut possible);
            let stuck = possible.is_empty().then(|| machine.stuck(state));
            match stuck {
                Some(stuck) => {
                    if let Some(failure) = subject.left_behind(state).filter(|_| stuck == Stuck::Finished) {
                        judge.left_behind(&failure, || steps.clone());
                    }
                    judge.stuck(state, &stuck, || steps.clone());
                }
                None if endless(&machine, state) => {
                    judge.endless(state, || steps.clone());
                }
                None => {}
            }
        }
    })?;
    for (at, event) in trace.events.iter().enumerate() {
        judge.failed_event(&trace.threads[event.step.thread.index()], event, || steps[..=at].to_vec());
    }
    if let (Some(Stuck::Finished), Some(values)) = (&trace.end, &trace.final_state) {
        judge.finished(values, || steps.clone());
    }
    let (violations, observations) = judge.findings();
    Ok(Replay { trace, violations, observations, is_sequential: true, possible })
}
