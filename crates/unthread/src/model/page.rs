//! A failure told by the checker: in a sentence, and as a file to look at.

use super::words::{Words, name_of_thread};
use super::{Report, Verdict};
use crate::runtime::{ClosureSubject, read_source};
use std::path::{Path, PathBuf};
use std::time::Duration;
use unthread_checker::base::Span;
use unthread_checker::execution::{Describe, Operation, Stuck};
use unthread_checker::report::explain::{Explanation, explain};
use unthread_checker::report::json::{
    JsonInvolved, JsonLocation, JsonPending, JsonReport, JsonStep, JsonStore, JsonViolation, SCHEMA, StepKind, Story,
    engine_failures,
};
use unthread_checker::report::page::Page;
use unthread_checker::search::{Violation, ViolationKind};
use unthread_checker::trace::{Event, Trace};

/// What happened, and why that is wrong.
pub(super) fn tell(subject: &ClosureSubject, violation: &Violation, trace: &Trace, replay: String) -> JsonViolation {
    let mut story = Story {
        threads: trace.threads.iter().map(|thread| thread.name.clone()).collect(),
        initial: Vec::new(),
        steps: trace.events.iter().map(|event| step(subject, event, trace)).collect(),
        pending: pending(subject, trace),
        ..Story::default()
    };
    story.link();
    let Explanation { sentence, events, cycle } = explain(violation.kind.name(), &mut story);
    let involved = |also: &unthread_checker::search::Involved| JsonInvolved {
        thread: also.thread.clone(),
        location: location(subject, also.span),
    };
    JsonViolation {
        kind: violation.kind.name(),
        message: violation.message.clone(),
        thread: violation.thread.clone(),
        location: violation.span.map(|span| location(subject, span)),
        also: violation.also.iter().map(involved).collect(),
        schedule: violation.schedule.to_string(),
        replay: Some(replay),
        sentence: sentence.unwrap_or_else(|| violation.message.clone()),
        events,
        cycle,
        story,
        machines: Default::default(),
        sequential: None,
    }
}

/// Writes the file into a folder. Gives its path.
pub(super) fn write(
    folder: &Path,
    report: &Report,
    told: &[JsonViolation],
    took: Duration,
) -> std::io::Result<PathBuf> {
    let mut page = Page { title: report.program.clone(), ..Page::default() };
    let steps = told.iter().flat_map(|violation| &violation.story.steps);
    for file in steps.filter_map(|step| step.file.as_deref()) {
        if let Some(text) = read_source(file) {
            page.add_source(file, &text);
        }
    }
    page.reports.push(json(report, told, took));
    let name = report.program.replace(|c: char| !c.is_alphanumeric() && c != '_' && c != '-', "-");
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("{name}.html"));
    std::fs::write(&path, page.html())?;
    Ok(path)
}

fn json(report: &Report, told: &[JsonViolation], took: Duration) -> JsonReport {
    let first = told.first().and_then(|violation| violation.location.as_ref());
    JsonReport {
        schema: SCHEMA,
        file: first.map_or(String::new(), |location| location.file.clone()),
        program: report.program.clone(),
        memory: report.memory.to_string(),
        engine: report.engine.name(),
        verdict: Verdict::Violation.name(),
        stop: report.stop.name(),
        coverage: report.coverage.clone(),
        stop_location: None,
        stop_loop: None,
        stop_message: None,
        engine_failures: engine_failures(report),
        violations: told.to_vec(),
        observations: Vec::new(),
        executions: report.statistics.executions,
        states: report.statistics.states,
        steps: report.statistics.steps,
        histories: None,
        borderline: None,
        final_states: 0,
        seconds: Some(took.as_secs_f64()),
        effort: None,
        exploration: None,
    }
}

fn location(subject: &ClosureSubject, span: Span) -> JsonLocation {
    let site = subject.site(span);
    let (line, column) = site.as_ref().map_or((0, 0), |site| (site.line as usize, site.column as usize));
    JsonLocation { file: site.map_or(String::new(), |site| site.file), line, column }
}

fn step(subject: &ClosureSubject, event: &Event, trace: &Trace) -> JsonStep {
    let JsonLocation { file, line, column } = location(subject, event.span);
    let operation = event.operation.as_ref();
    let accessed = operation.and_then(Operation::loc).or(event.written.map(|(loc, _)| loc));
    let returns = matches!(
        operation,
        Some(
            Operation::Read { .. }
                | Operation::Rmw { .. }
                | Operation::Cas { .. }
                | Operation::Count { .. }
                | Operation::TryLock { .. }
                | Operation::Choose { .. }
        )
    );
    // What objects keep in their cells is not what the code under test reads and writes.
    let is_memory = |loc| Words { subject, trace }.is_memory(loc);
    let inside = accessed.filter(|&loc| !is_memory(loc)).map(|loc| subject.loc_name(loc));
    let store = |cell: String, value: i64| JsonStore { cell, value, value_as: spelled(value) };
    JsonStep {
        step: event.step.to_string(),
        thread: event.step.thread.0,
        name: trace.threads[event.step.thread.index()].name.clone(),
        kind: operation.map_or(StepKind::Flush, StepKind::of),
        text: Words { subject, trace }.event(event),
        file: Some(file).filter(|file| !file.is_empty()),
        line,
        column,
        cell: accessed.filter(|&loc| is_memory(loc)).map(|loc| subject.loc_name(loc)),
        object: operation.and_then(|operation| object(subject, operation, trace)).or(inside),
        read: (returns && event.failure.is_none()).then_some(event.result),
        written: event.written.map(|(_, value)| value),
        written_as: event.written.and_then(|(_, value)| spelled(value)),
        buffered: event.buffered,
        failure: event.failure.as_ref().map(|failure| ViolationKind::Failure(failure.kind).name()),
        buffer: event.buffer.iter().map(|entry| store(subject.loc_name(entry.loc), entry.value)).collect(),
        ..JsonStep::default()
    }
}

/// A value that is larger than numbers are exact everywhere.
fn spelled(value: i64) -> Option<String> {
    (value.unsigned_abs() > 1 << 53).then(|| value.to_string())
}

/// What an operation is about, if that is no cell.
fn object(subject: &ClosureSubject, operation: &Operation, trace: &Trace) -> Option<String> {
    match *operation {
        Operation::Lock { lock, .. }
        | Operation::TryLock { lock, .. }
        | Operation::Unlock { lock, .. }
        | Operation::Downgrade { lock } => Some(subject.lock_name(lock)),
        Operation::Wait { condvar, .. } | Operation::Reacquire { condvar, .. } | Operation::Notify { condvar, .. } => {
            Some(subject.condvar_name(condvar))
        }
        Operation::Fork { child } => Some(name_of_thread(trace, child)),
        Operation::Join { thread } => Some(name_of_thread(trace, thread)),
        _ => None,
    }
}

/// What threads are at that cannot go on.
fn pending(subject: &ClosureSubject, trace: &Trace) -> Vec<JsonPending> {
    let Some(Stuck::Deadlock(blocked) | Stuck::Livelock(blocked)) = &trace.end else { return Vec::new() };
    let pending = blocked.iter().map(|blocked| {
        let spins = blocked.spins_on.first().map(|&loc| subject.loc_name(loc));
        let at = trace.threads[blocked.thread.index()].at;
        JsonPending {
            thread: blocked.thread.0,
            kind: if spins.is_some() { StepKind::Read } else { StepKind::of(&blocked.operation) },
            object: spins.or_else(|| object(subject, &blocked.operation, trace)),
            line: at.map_or(0, |span| location(subject, span).line),
        }
    });
    pending.collect()
}
