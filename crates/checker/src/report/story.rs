//! Stories: an execution told in names instead of numbers, with what follows from its steps: which store each read saw, and when each store
//! reached memory. Tables, explanations, graphs and the viewer are made from stories, whoever ran the program.

use super::words::Words;
use crate::base::{LineColumn, Loc, Span};
use crate::execution::{Entry, Operation, Stuck};
use crate::program::{Access, Ordering, Program};
use crate::trace::{Advice, Change, Event, Obstacle, Related, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// An execution for people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct Story {
    pub threads: Vec<String>,
    pub initial: Vec<JsonStore>,
    pub steps: Vec<JsonStep>,
    pub pending: Vec<JsonPending>,
    #[serde(skip)]
    pub next: Vec<JsonPending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<JsonGraph>,
}

/// One step of a schedule and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonStep {
    pub step: String,
    pub thread: u16,
    pub name: String,
    pub kind: StepKind,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub line: usize,
    pub column: usize,
    pub cell: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    pub read: Option<i64>,
    pub written: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub buffered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
    pub buffer: Vec<JsonStore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_from: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<usize>,
    pub relevant: bool,
}

/// What an execution graph says besides its steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonGraph {
    pub modification_order: Vec<JsonOrder>,
    pub synchronises: Vec<(usize, usize)>,
    pub too_weak: Vec<JsonChange>,
    pub stale: Option<usize>,
    /// Whether stronger orderings would order what races.
    #[serde(skip)]
    pub races: bool,
    /// The orderings of steps, as far as they have one.
    #[serde(skip)]
    pub orderings: Vec<Option<Ordering>>,
}

/// The writes to a cell, first to last.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonOrder {
    pub cell: String,
    pub writes: Vec<usize>,
}

/// An ordering that is too weak, and one that would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonChange {
    pub step: usize,
    pub from: String,
    pub to: String,
}

/// A value of a cell, in memory or on its way there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonStore {
    pub cell: String,
    pub value: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_as: Option<String>,
}

/// What a thread is at when the story ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/report-format.md documents each field")]
pub struct JsonPending {
    pub thread: u16,
    pub kind: StepKind,
    pub object: Option<String>,
    pub line: usize,
}

/// Kinds of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is its own name")]
pub enum StepKind {
    Read,
    Write,
    Flush,
    Rmw,
    Cas,
    Touch,
    Count,
    Fence,
    Lock,
    TryLock,
    Unlock,
    Wait,
    Wake,
    Notify,
    Fork,
    Join,
    HasEnded,
    Begin,
    Free,
    Choose,
    #[default]
    Yield,
    Fail,
    Stop,
    End,
}

impl Story {
    /// The story of a trace.
    pub fn of(program: &Program, trace: &Trace) -> Story {
        let words = Words { program, trace };
        let mut story = Story {
            threads: trace.threads.iter().map(|thread| thread.name.clone()).collect(),
            initial: Vec::new(),
            steps: trace.events.iter().map(|event| step(&words, event)).collect(),
            pending: pending(&words),
            next: next(&words),
            graph: trace.related.as_ref().map(|related| graph(&words, related)),
        };
        let used = |name: &str| story.steps.iter().any(|step| step.cell.as_deref() == Some(name));
        let cells = program.cells.iter().filter(|cell| used(&cell.name));
        story.initial = cells.map(|cell| words.store(cell.name.clone(), cell.initial)).collect();
        story.link();
        if let Some(related) = &trace.related {
            story.relate(related);
        }
        story
    }

    /// Works out which store each read saw, when each store reached memory, and where each flushed store was made. All steps count as
    /// relevant until [`super::explain::explain`] says otherwise.
    pub fn link(&mut self) {
        let mut waiting: Vec<Vec<usize>> = Vec::new();
        let mut newest: BTreeMap<String, usize> = BTreeMap::new();
        for at in 0..self.steps.len() {
            self.steps[at].relevant = true;
            let thread = usize::from(self.steps[at].thread);
            waiting.resize_with(waiting.len().max(thread + 1), Vec::new);
            let Some(cell) = self.steps[at].cell.clone() else { continue };
            let own = |store: &&usize| self.steps[**store].cell.as_ref() == Some(&cell);
            if self.steps[at].kind == StepKind::Flush {
                // Stores to one cell stay in order, whatever the memory model.
                let Some(&store) = waiting[thread].iter().find(own) else { continue };
                waiting[thread].retain(|&other| other != store);
                self.steps[at].store = Some(store);
                self.steps[store].commit = Some(at);
                newest.insert(cell, store);
                continue;
            }
            if self.steps[at].read.is_some() {
                let forwarded = waiting[thread].iter().rfind(own).copied();
                self.steps[at].reads_from = forwarded.or_else(|| newest.get(&cell).copied());
            }
            if self.steps[at].buffered {
                waiting[thread].push(at);
            } else if self.steps[at].written.is_some() {
                newest.insert(cell, at);
            }
        }
    }

    /// In a graph, reads need not see the newest write: takes over which they have seen, and says so in their texts.
    pub fn relate(&mut self, related: &Related) {
        for at in 0..self.steps.len() {
            if !self.steps[at].is_read() {
                continue;
            }
            let source = related.reads_from.get(at).copied().flatten();
            let cell = self.steps[at].cell.as_deref().unwrap_or_default();
            let order = self.graph.as_ref().and_then(|graph| graph.order_of(cell)).unwrap_or_default();
            let newest = order.iter().copied().rfind(|&write| write < at);
            let step = &mut self.steps[at];
            (step.reads_from, step.newest) = (source, newest.filter(|_| newest != source));
            let from = source.map_or("the start".to_string(), |write| (write + 1).to_string());
            let newer = step.newest.map_or(String::new(), |write| format!(", not {}", write + 1));
            step.text += &format!("  [from {from}{newer}]");
        }
    }

    /// When what the step wrote was in memory: the number of a step, or the largest number if it never was.
    pub(super) fn arrival(&self, store: usize) -> usize {
        let step = &self.steps[store];
        if step.buffered { step.commit.unwrap_or(usize::MAX) } else { store }
    }
}

impl JsonGraph {
    /// The writes to a cell, first to last.
    pub(super) fn order_of(&self, cell: &str) -> Option<&[usize]> {
        self.modification_order.iter().find(|order| order.cell == cell).map(|order| order.writes.as_slice())
    }
}

impl StepKind {
    /// What kind of step an operation is.
    pub fn of(operation: &Operation) -> StepKind {
        match operation {
            Operation::Read { .. } => StepKind::Read,
            Operation::Write { .. } => StepKind::Write,
            Operation::Rmw { .. } => StepKind::Rmw,
            Operation::Cas { .. } => StepKind::Cas,
            Operation::Touch { .. } => StepKind::Touch,
            Operation::Count { .. } => StepKind::Count,
            Operation::Fence { .. } => StepKind::Fence,
            Operation::Lock { .. } => StepKind::Lock,
            Operation::TryLock { .. } => StepKind::TryLock,
            Operation::Unlock { .. } | Operation::Downgrade { .. } => StepKind::Unlock,
            Operation::Wait { .. } => StepKind::Wait,
            Operation::Reacquire { .. } => StepKind::Wake,
            Operation::Notify { .. } => StepKind::Notify,
            Operation::Fork { .. } => StepKind::Fork,
            Operation::Join { .. } => StepKind::Join,
            Operation::HasEnded { .. } => StepKind::HasEnded,
            Operation::JoinAll => StepKind::Begin,
            Operation::Free { .. } => StepKind::Free,
            Operation::Choose { .. } => StepKind::Choose,
            Operation::Yield => StepKind::Yield,
            Operation::Fail(_) => StepKind::Fail,
            Operation::Stop => StepKind::Stop,
            Operation::End => StepKind::End,
        }
    }
}

impl JsonStep {
    /// Whether the step read a cell.
    pub(super) fn is_read(&self) -> bool {
        self.read.is_some() && self.cell.is_some()
    }

    /// Whether the step wrote a cell, be it to the buffer.
    pub(super) fn is_store(&self) -> bool {
        self.written.is_some() && self.kind != StepKind::Flush
    }
}

fn step(words: &Words<'_>, event: &Event) -> JsonStep {
    let LineColumn { line, column } = words.program.source.line_column(event.span.start);
    let store = |entry: &Entry| words.store(words.loc(entry.loc), entry.value);
    let accessed = event.operation.as_ref().and_then(Operation::loc).or(event.written.map(|(loc, _)| loc));
    let returns = matches!(
        event.operation,
        Some(
            Operation::Read { .. }
                | Operation::Rmw { .. }
                | Operation::Cas { .. }
                | Operation::TryLock { .. }
                | Operation::Choose { .. }
        )
    );
    JsonStep {
        step: event.step.to_string(),
        thread: event.step.thread.0,
        name: words.trace.threads[event.step.thread.index()].name.clone(),
        kind: Words::kind(event),
        text: words.event(event),
        line,
        column,
        cell: accessed.map(|loc| words.loc(loc)),
        object: event.operation.as_ref().and_then(|operation| object(words, operation)).or(block(words, accessed)),
        read: (returns && event.failure.is_none()).then_some(event.result),
        written: event.written.map(|(_, value)| value),
        written_as: event.written.and_then(|(_, value)| words.spelled(value)),
        buffered: event.buffered,
        failure: event.failure.as_ref().map(|failure| crate::search::ViolationKind::Failure(failure.kind).name()),
        buffer: event.buffer.iter().map(store).collect(),
        ..JsonStep::default()
    }
}

fn graph(words: &Words<'_>, related: &Related) -> JsonGraph {
    let order = |(loc, writes): &(Loc, Vec<usize>)| JsonOrder { cell: words.loc(*loc), writes: writes.clone() };
    let mut graph = JsonGraph {
        modification_order: related.modification_order.iter().map(order).collect(),
        synchronises: related.synchronises.clone(),
        orderings: words.trace.events.iter().map(ordering).collect(),
        ..JsonGraph::default()
    };
    if let Some(Advice { changes, obstacle }) = &related.advice {
        let change = |change: &Change| JsonChange {
            step: change.event,
            from: format!("{:?}", change.from),
            to: format!("{:?}", change.to),
        };
        graph.too_weak = changes.iter().map(change).collect();
        graph.races = *obstacle == Obstacle::Ordered;
        graph.stale = if let Obstacle::Access(at) = obstacle { Some(*at) } else { None };
    }
    graph
}

/// The ordering that an event had.
fn ordering(event: &Event) -> Option<Ordering> {
    match event.operation? {
        Operation::Read { ordering, access, .. } | Operation::Write { ordering, access, .. } => {
            (access == Access::Atomic).then_some(ordering)
        }
        Operation::Rmw { ordering, .. } | Operation::Fence { ordering } => Some(ordering),
        Operation::Cas { expected, success, failure, .. } => {
            Some(if event.result == expected { success } else { failure })
        }
        _ => None,
    }
}

/// What the operation is about, if that is no cell.
fn object(words: &Words<'_>, operation: &Operation) -> Option<String> {
    let thread = |key| words.trace.threads.iter().find(|thread| thread.key == key).map(|thread| thread.name.clone());
    match *operation {
        Operation::Lock { lock, .. }
        | Operation::TryLock { lock, .. }
        | Operation::Unlock { lock, .. }
        | Operation::Downgrade { lock } => Some(words.lock(lock).to_string()),
        Operation::Wait { condvar, .. } | Operation::Reacquire { condvar, .. } | Operation::Notify { condvar, .. } => {
            Some(words.condvar(condvar).to_string())
        }
        Operation::Fork { child } => thread(child),
        Operation::Join { thread: joined } => thread(joined),
        Operation::Free { block } => Some(words.loc(block)),
        _ => None,
    }
}

/// The heap block of a cell.
fn block(words: &Words<'_>, cell: Option<Loc>) -> Option<String> {
    cell.and_then(Loc::block).map(|block| words.loc(block))
}

fn pending(words: &Words<'_>) -> Vec<JsonPending> {
    let Some(Stuck::Deadlock(blocked) | Stuck::Livelock(blocked)) = &words.trace.end else { return Vec::new() };
    let line = |span: Span| words.program.source.line_column(span.start).line;
    let pending = blocked.iter().map(|blocked| {
        let spins = blocked.spins_on.first().map(|&loc| words.loc(loc));
        JsonPending {
            thread: blocked.thread.0,
            kind: if spins.is_some() { StepKind::Read } else { StepKind::of(&blocked.operation) },
            object: spins.or_else(|| object(words, &blocked.operation)),
            line: words.trace.threads[blocked.thread.index()].at.map_or(0, line),
        }
    });
    pending.collect()
}

/// What threads are at that have not ended, if something could happen yet.
fn next(words: &Words<'_>) -> Vec<JsonPending> {
    let threads = words.trace.threads.iter().enumerate().filter(|_| words.trace.end.is_none());
    let next = threads.filter_map(|(at, thread)| {
        let operation = thread.next.as_ref()?;
        Some(JsonPending {
            thread: at as u16,
            kind: StepKind::of(operation),
            object: operation.loc().map(|loc| words.loc(loc)).or_else(|| object(words, operation)),
            line: words.program.source.line_column(thread.at?.start).line,
        })
    });
    next.collect()
}

impl Words<'_> {
    fn store(&self, cell: String, value: i64) -> JsonStore {
        JsonStore { cell, value, value_as: self.spelled(value) }
    }

    /// How a value is written, if it is a pointer or larger than numbers are exact everywhere.
    fn spelled(&self, value: i64) -> Option<String> {
        (Loc::from_pointer(value).is_some() || value.unsigned_abs() > 1 << 53).then(|| self.value(value))
    }
}
