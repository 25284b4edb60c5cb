//! Reports for programs: one JSON object per program and memory model. `docs/report-format.md` specifies it.
//!
//! The types here mirror the report's and are the format: a report can change without the format changing, and a change here needs
//! a new [`SCHEMA`] unless it only adds fields.

use super::explain::graph::Edge;
use super::explain::{Explanation, explain};
pub use super::story::{JsonChange, JsonGraph, JsonOrder, JsonPending, JsonStep, JsonStore, StepKind, Story};
use crate::base::{LineColumn, Loc, Schedule, Span};
use crate::engines;
use crate::engines::{Survey, SurveyedRead};
use crate::execution::{Rules, Stuck};
use crate::program::{Program, Quantifier};
use crate::search;
use crate::search::{EngineFailure, Involved, Observation, Options, Report, StopReason, Violation, ViolationKind};
use serde::Serialize;
use std::collections::BTreeMap;

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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub engine_failures: Vec<JsonEngineFailure>,
    pub violations: Vec<JsonViolation>,
    pub observations: Vec<JsonObservation>,
    pub executions: u64,
    pub states: u64,
    pub steps: u64,
    pub histories: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub borderline: Option<u64>,
    pub final_states: u64,
    pub seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<JsonEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exploration: Option<JsonExploration>,
}

/// An engine that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonEngineFailure {
    pub engine: &'static str,
    pub message: String,
}

/// What was covered, in more detail.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonExploration {
    pub complete: bool,
    pub reads: Vec<JsonRead>,
    pub histories: Vec<JsonHistories>,
    pub progress: Vec<JsonProgress>,
}

/// A read of the source and the values that it saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonRead {
    pub line: usize,
    pub column: usize,
    pub text: String,
    pub cells: Vec<String>,
    pub values: Vec<JsonSeen>,
}

/// A value that a read saw.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonSeen {
    pub value: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_as: Option<String>,
    pub count: u64,
}

/// How many histories a thread has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonHistories {
    pub thread: String,
    pub count: u64,
}

/// How far the search was at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonProgress {
    pub seconds: f64,
    pub states: u64,
    pub executions: u64,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    pub sentence: String,
    pub events: Vec<usize>,
    pub cycle: Vec<Edge>,
    #[serde(flatten)]
    pub story: Story,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<&'static str, bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential: Option<JsonSequential>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness: Option<JsonViolation>,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonLocation {
    pub file: String,
    pub line: usize,
    pub column: usize,
}

/// What sequential consistency would have made of the same order of operations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonSequential {
    pub outcome: String,
    #[serde(flatten)]
    pub story: Story,
}

/// Makes the object for a report. The steps of its violations come from replaying them under the same rules.
pub fn json(program: &Program, rules: Rules, report: &Report, seconds: Option<f64>) -> JsonReport {
    let options = Options { rules, engine: report.engine, ..Options::new(report.memory) };
    let violations = report.violations.iter().map(|found| violation(program, &options, found));
    let observations = report.observations.iter().map(|observation| JsonObservation {
        quantifier: quantifier(observation.quantifier),
        condition: program.source.excerpt(observation.span),
        location: location(program, observation.span),
        // Not to have found something means nothing until everything was covered.
        found: (observation.witness.is_some() || report.stop == StopReason::Exhausted)
            .then_some(observation.witness.is_some()),
        schedule: observation.witness.as_ref().map(Schedule::to_string),
        witness: None,
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
        engine_failures: engine_failures(report),
        violations: violations.collect(),
        observations: observations.collect(),
        executions: report.statistics.executions,
        states: report.statistics.states,
        steps: report.statistics.steps,
        histories: report.statistics.histories,
        borderline: report.statistics.borderline,
        final_states: report.final_memories() as u64,
        seconds,
        effort: None,
        exploration: None,
    }
}

/// The objects for engines that failed.
pub fn engine_failures(report: &Report) -> Vec<JsonEngineFailure> {
    let object =
        |failure: &EngineFailure| JsonEngineFailure { engine: failure.engine.name(), message: failure.why.clone() };
    report.failures.iter().map(object).collect()
}

/// The object for a survey; what a clock knows is added by whoever has one.
pub fn exploration(program: &Program, survey: &Survey) -> JsonExploration {
    let seen = |(&value, &count): (&i64, &u64)| JsonSeen {
        value,
        value_as: Loc::from_pointer(value).map(|_| program.value_name(value)),
        count,
    };
    let read = |read: &SurveyedRead| {
        let LineColumn { line, column } = program.source.line_column(read.span.start);
        JsonRead {
            line,
            column,
            text: program.source.excerpt(read.span),
            cells: read.cells.iter().cloned().collect(),
            values: read.values.iter().map(seen).collect(),
        }
    };
    let histories = survey.histories.iter();
    let histories = histories.map(|(thread, count)| JsonHistories { thread: thread.clone(), count: *count });
    JsonExploration {
        complete: survey.complete,
        reads: survey.reads.iter().map(read).collect(),
        histories: histories.collect(),
        progress: Vec::new(),
    }
}

/// What SC would have made of a schedule.
pub fn sequential(program: &Program, schedule: &Schedule) -> JsonSequential {
    let replay = search::sequential(program, schedule);
    let outcome = match (replay.violations.first(), &replay.trace.end) {
        (Some(shown), _) => format!("Under sequential consistency this fails, too: {}", shown.message),
        (None, Some(Stuck::Finished)) => {
            "Under sequential consistency every thread ends, and nothing is wrong".to_string()
        }
        (None, _) => "Under sequential consistency nothing is wrong as far as this goes".to_string(),
    };
    JsonSequential { outcome, story: Story::of(program, &replay.trace) }
}

/// The object for a violation.
pub fn violation(program: &Program, options: &Options, violation: &Violation) -> JsonViolation {
    // A violation that does not replay is never in a report.
    let trace = engines::tell(program, options, violation);
    let mut story = trace.map_or_else(|_| Story::default(), |trace| Story::of(program, &trace));
    let Explanation { sentence, events, cycle } = explain(violation.kind.name(), &mut story);
    JsonViolation {
        kind: violation.kind.name(),
        message: violation.message.clone(),
        thread: violation.thread.clone(),
        location: violation.span.map(|span| location(program, span)),
        also: violation.also.iter().map(|involved| self::involved(program, involved)).collect(),
        schedule: violation.schedule.to_string(),
        replay: None,
        sentence: sentence.unwrap_or_else(|| violation.message.clone()),
        events,
        cycle,
        story,
        machines: machines(violation),
        sequential: None,
    }
}

/// On which machines it shows, by name.
fn machines(violation: &Violation) -> BTreeMap<&'static str, bool> {
    violation.machines.iter().map(|&(memory, shows)| (memory.name(), shows)).collect()
}

/// The object for the execution that answers an `exists`, if there is one: told like a violation.
pub fn witness(program: &Program, options: &Options, observation: &Observation) -> Option<JsonViolation> {
    let shown = Violation {
        kind: ViolationKind::Condition,
        message: program.source.excerpt(observation.span),
        thread: None,
        span: Some(observation.span),
        also: Vec::new(),
        schedule: observation.witness.clone()?,
        machines: Vec::new(),
    };
    Some(JsonViolation { kind: "witness", ..violation(program, options, &shown) })
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
