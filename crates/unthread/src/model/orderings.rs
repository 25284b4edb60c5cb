//! Which ordering is too weak, in an execution of the language's memory model.
//!
//! A step says which write a read saw, counted from the newest, and which place a write took. So reads-from is known, and with it the reads that saw another
//! thread's write without coming after what was done before it.

use super::words::shown;
use crate::runtime::ClosureSubject;
use rustc_hash::FxHashMap;
use unthread_checker::base::{Action, Loc};
use unthread_checker::execution::{Describe, Operation};
use unthread_checker::program::{Access, Ordering};
use unthread_checker::trace::{Event, Trace};

/// The last read that saw a write of another thread and does not synchronise with it, or else the last that did not see the newest write.
pub(super) fn too_weak(subject: &ClosureSubject, trace: &Trace) -> Option<String> {
    let (mut orders, mut unordered, mut stale) = (FxHashMap::<Loc, Vec<usize>>::default(), None, None);
    for (at, event) in trace.events.iter().enumerate() {
        let Some((loc, operation)) = event.operation.as_ref().and_then(|it| Some((it.loc()?, it))) else { continue };
        let newer = newer_than(event);
        let order = orders.entry(loc).or_default();
        let place = order.len().saturating_sub(newer);
        if let Some(ordering) = ordering_of_read(operation, event.result) {
            let source = place.checked_sub(1).map(|place| order[place]);
            if let Some(&newest) = order.last().filter(|_| newer > 0) {
                stale = Some((at, newest));
            }
            let is_other = |source: &usize| trace.events[*source].step.thread != event.step.thread;
            if let Some(source) = source.filter(is_other) {
                let synchronises = acquires(ordering) || has_fence(&trace.events[at..], event, acquires);
                let released = is_release(&trace.events[source])
                    || has_fence(&trace.events[..source], &trace.events[source], releases);
                if !(synchronises && released) {
                    unordered = Some((at, source, synchronises));
                }
            }
        }
        if operation.written(event.result).is_some() {
            order.insert(place, at);
        }
    }
    let story = Story { subject, trace };
    match (unordered, stale) {
        (Some((read, write, acquires)), _) => Some(story.unordered(read, write, acquires)),
        (None, Some((read, newest))) => Some(story.stale(read, newest)),
        (None, None) => None,
    }
}

/// How many writes are newer than the one that an event saw, or than itself.
pub(super) fn newer_than(event: &Event) -> usize {
    match (event.step.action, &event.operation) {
        (Action::Choose(newer), Some(operation)) if operation.loc().is_some() => usize::try_from(newer).unwrap_or(0),
        _ => 0,
    }
}

fn ordering_of_read(operation: &Operation, result: i64) -> Option<Ordering> {
    match *operation {
        Operation::Read { ordering, access: Access::Atomic, .. } | Operation::Rmw { ordering, .. } => Some(ordering),
        Operation::Cas { expected, success, failure, .. } => Some(if result == expected { success } else { failure }),
        _ => None,
    }
}

fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

fn is_release(event: &Event) -> bool {
    event.operation.as_ref().and_then(Operation::ordering).is_some_and(releases)
}

/// Whether the event's thread has such a fence among these events.
fn has_fence(among: &[Event], of: &Event, is_such: fn(Ordering) -> bool) -> bool {
    among.iter().any(|event| match event.operation {
        Some(Operation::Fence { ordering }) => event.step.thread == of.step.thread && is_such(ordering),
        _ => false,
    })
}

struct Story<'a> {
    subject: &'a ClosureSubject,
    trace: &'a Trace,
}

impl Story<'_> {
    fn name(&self, at: usize) -> &str {
        &self.trace.threads[self.trace.events[at].step.thread.index()].name
    }

    fn place(&self, at: usize) -> String {
        self.subject.site(self.trace.events[at].span).map_or(String::new(), |site| format!("line {}", site.line))
    }

    fn cell(&self, at: usize) -> String {
        let operation = self.trace.events[at].operation.as_ref();
        operation.and_then(Operation::loc).map_or(String::new(), |loc| self.subject.loc_name(loc))
    }

    fn value(&self, at: usize, value: i64) -> String {
        let loc = self.trace.events[at].operation.as_ref().and_then(Operation::loc).and_then(Loc::as_global);
        shown(loc.map_or("", |number| self.subject.kind(number as u32)), value)
    }

    fn ordering(&self, at: usize) -> Option<Ordering> {
        let event = &self.trace.events[at];
        let operation = event.operation.as_ref()?;
        ordering_of_read(operation, event.result).or_else(|| operation.ordering())
    }

    fn unordered(&self, read: usize, write: usize, acquires: bool) -> String {
        let (reads, writes) = (self.ordering(read), self.ordering(write));
        let word = |ordering: Option<Ordering>| ordering.map_or(String::new(), |ordering| format!("{ordering:?}"));
        let (reader, writer, cell) = (self.name(read), self.name(write), self.cell(read));
        let (seen, here, there) =
            (self.value(read, self.trace.events[read].result), self.place(read), self.place(write));
        let why = match acquires {
            false => format!(
                "but a {} load does not synchronise with it: {reader} need not see what {writer} did before. An Acquire load at {here}{} would order that",
                word(reads),
                if is_release(&self.trace.events[write]) { "" } else { ", together with a Release store," },
            ),
            true => format!(
                "but a {} store hands nothing over: {reader} need not see what {writer} did before. A Release store at {there} would order that",
                word(writes),
            ),
        };
        format!(
            "{reader} reads `{cell}` = {seen} ({here}, {}) from {writer}'s {} store ({there}), {why}",
            word(reads),
            word(writes)
        )
    }

    fn stale(&self, read: usize, newest: usize) -> String {
        let (reader, writer, cell) = (self.name(read), self.name(newest), self.cell(read));
        let (seen, here, there) =
            (self.value(read, self.trace.events[read].result), self.place(read), self.place(newest));
        format!(
            "{reader} reads `{cell}` = {seen} ({here}), not what {writer} has stored ({there}): nothing orders that before the read. SeqCst operations, or SeqCst fences, on both \
             sides would"
        )
    }
}
