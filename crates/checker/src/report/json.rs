//! Reports for programs: one JSON object per program and memory model. `docs/report-format.md` specifies it.
//!
//! The types here mirror the report's and are the format: a report can change without the format changing, and a change here needs
//! a new [`SCHEMA`] unless it only adds fields.

use super::words::Words;
use super::{Involved, Report, StopReason};
use crate::execution::{Interpreter, Rules};
use crate::program::{LineColumn, Program, Quantifier, Span};
use crate::schedule::Schedule;
use crate::trace::{self, Event};
use serde::Serialize;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonReport {
    pub schema: u32,
    pub file: String,
    pub program: String,
    pub memory: String,
    pub engine: &'static str,
    pub verdict: &'static str,
    pub stop: &'static str,
    pub coverage: Option<String>,
    pub stop_location: Option<JsonLocation>,
    pub stop_loop: Option<JsonLocation>,
    pub stop_message: Option<String>,
    pub violations: Vec<JsonViolation>,
    pub observations: Vec<JsonObservation>,
    pub executions: u64,
    pub states: u64,
    pub steps: u64,
    pub histories: Option<u64>,
    pub final_states: u64,
    pub seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<JsonEffort>,
}

/// What it took, in more detail.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonEffort {
    pub queries: u64,
    pub decisions: u64,
    pub conflicts: u64,
    pub run_seconds: f64,
    pub learn_seconds: f64,
    pub solve_seconds: f64,
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonViolation {
    pub kind: &'static str,
    pub message: String,
    pub thread: Option<String>,
    pub location: Option<JsonLocation>,
    pub also: Vec<JsonInvolved>,
    pub schedule: String,
    pub steps: Vec<JsonStep>,
}

/// Another thread that takes part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonInvolved {
    pub thread: String,
    pub location: JsonLocation,
}

/// The answer to an `exists`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonObservation {
    pub quantifier: &'static str,
    pub condition: String,
    pub location: JsonLocation,
    pub found: Option<bool>,
    pub schedule: Option<String>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonLocation {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

/// One step of a schedule and what it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonStep {
    pub step: String,
    pub thread: u16,
    pub name: String,
    pub kind: &'static str,
    pub text: String,
    pub line: usize,
    pub column: usize,
    pub cell: Option<String>,
    pub read: Option<i64>,
    pub written: Option<i64>,
    pub buffer: Vec<JsonStore>,
}

/// A store on its way to memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonStore {
    pub cell: String,
    pub value: i64,
}

/// Makes the object for a report. The steps of its violations come from replaying them under the same rules.
pub fn json(program: &Program, rules: Rules, report: &Report, seconds: Option<f64>) -> JsonReport {
    let subject = Interpreter::new(program);
    let violations = report.violations.iter().map(|violation| JsonViolation {
        kind: violation.kind.name(),
        message: violation.message.clone(),
        thread: violation.thread.clone(),
        location: violation.span.map(|span| location(program, span)),
        also: violation.also.iter().map(|involved| self::involved(program, involved)).collect(),
        schedule: violation.schedule.to_string(),
        steps: steps(&subject, rules, &violation.schedule),
    });
    let observations = report.observations.iter().map(|observation| JsonObservation {
        quantifier: quantifier(observation.quantifier),
        condition: program.source.excerpt(observation.span),
        location: location(program, observation.span),
        // Not to have found something means nothing until everything was covered.
        found: (observation.witness.is_some() || report.stop == StopReason::Exhausted)
            .then_some(observation.witness.is_some()),
        schedule: observation.witness.as_ref().map(Schedule::to_string),
    });
    let (stop_location, stop_loop) = match report.stop {
        StopReason::BufferLimit { store, around } => {
            (Some(location(program, store)), around.map(|span| location(program, span)))
        }
        _ => (None, None),
    };
    let stop_message = match &report.stop {
        StopReason::Failed(why) | StopReason::Unsupported(why) => Some(why.clone()),
        _ => None,
    };
    JsonReport {
        schema: SCHEMA,
        file: program.source.name.clone(),
        program: report.program.clone(),
        memory: report.memory.to_string(),
        engine: report.engine.name(),
        verdict: report.verdict().name(),
        stop: report.stop.name(),
        coverage: report.coverage.clone(),
        stop_location,
        stop_loop,
        stop_message,
        violations: violations.collect(),
        observations: observations.collect(),
        executions: report.statistics.executions,
        states: report.statistics.states,
        steps: report.statistics.steps,
        histories: report.statistics.histories,
        final_states: report.final_memories() as u64,
        seconds,
        effort: None,
    }
}

fn steps(subject: &Interpreter<'_>, rules: Rules, schedule: &Schedule) -> Vec<JsonStep> {
    // A violation that does not replay is never in a report.
    let Ok(trace) = trace::replay(subject, rules, schedule) else { return Vec::new() };
    let words = Words { program: subject.program(), trace: &trace };
    trace.events.iter().map(|event| step(&words, event)).collect()
}

pub(super) fn step(words: &Words<'_>, event: &Event) -> JsonStep {
    use crate::execution::Operation;
    let LineColumn { line, column } = words.program.source.line_column(event.span.start);
    let store = |entry: &crate::execution::Entry| JsonStore { cell: words.loc(entry.loc), value: entry.value };
    let accessed = event.operation.as_ref().and_then(Operation::loc).or(event.written.map(|(loc, _)| loc));
    let reads = matches!(event.operation, Some(Operation::Read { .. } | Operation::Rmw { .. } | Operation::Cas { .. }))
        && event.failure.is_none();
    JsonStep {
        step: event.step.to_string(),
        thread: event.step.thread.0,
        name: words.trace.threads[event.step.thread.index()].name.clone(),
        kind: Words::kind(event),
        text: words.event(event),
        line,
        column,
        cell: accessed.map(|loc| words.loc(loc)),
        read: reads.then_some(event.result),
        written: event.written.map(|(_, value)| value),
        buffer: event.buffer.iter().map(store).collect(),
    }
}

pub(super) fn location(program: &Program, span: Span) -> JsonLocation {
    let LineColumn { line, column } = program.source.line_column(span.start);
    JsonLocation { file: program.source.name.clone(), line, column }
}

fn involved(program: &Program, involved: &Involved) -> JsonInvolved {
    JsonInvolved { thread: involved.thread.clone(), location: location(program, involved.span) }
}

fn quantifier(quantifier: Quantifier) -> &'static str {
    match quantifier {
        Quantifier::Exists => "exists",
        Quantifier::Forbidden => "forbidden",
        Quantifier::Always => "always",
    }
}
