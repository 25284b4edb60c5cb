//! A search of SC executions that a monitor watches, in place of one of the memory model's own.

use crate::base::{Action, Schedule, Step};
use crate::execution::{Describe, Machine, Rules};
use crate::search::{Engine, Options, Report, ViolationKind};

/// The options of the search whose executions are watched: no store waits.
pub(crate) fn below(options: &Options) -> Options {
    let engine = match options.engine {
        Engine::Icb { preemptions, .. } => Engine::Icb { preemptions, traces: true },
        engine if engine.runs_executions() => engine,
        _ => Engine::Dpor,
    };
    Options { rules: Rules::SEQUENTIAL.unbounded(), engine, ..options.clone() }
}

/// The report with schedules for the machine with store buffers, where every store arrives at once.
pub(crate) fn lifted<S: Describe>(subject: &S, rules: Rules, mut report: Report) -> Report {
    let sc = report.violations.iter_mut().filter(|violation| violation.kind != ViolationKind::StoreBuffers);
    let witnesses = report.observations.iter_mut().filter_map(|observation| observation.witness.as_mut());
    for schedule in sc.map(|violation| &mut violation.schedule).chain(witnesses) {
        *schedule = with_flushes(subject, rules, schedule);
    }
    report
}

fn with_flushes<S: Describe>(subject: &S, rules: Rules, schedule: &Schedule) -> Schedule {
    let machine = Machine::new(subject, rules.unbounded());
    let mut state = machine.start();
    let mut steps = Vec::new();
    for &step in &schedule.0 {
        steps.push(step);
        machine.apply(&mut state, step);
        if !state.threads[step.thread.index()].buffer.is_empty() {
            let flush = Step { thread: step.thread, action: Action::Flush(0) };
            steps.push(flush);
            machine.apply(&mut state, flush);
        }
    }
    Schedule(steps)
}
