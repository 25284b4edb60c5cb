//! Events in words: what each did, to what, in the terms of the type that the code under test uses.

use super::orderings::newer_than;
use crate::runtime::ClosureSubject;
use crate::sync::mpsc;
use unthread_checker::base::{Action, Failure, FailureKind, Loc, ThreadKey};
use unthread_checker::execution::{Describe, Operation};
use unthread_checker::program::{LockMode, Ordering, RmwOp};
use unthread_checker::search::{Violation, ViolationKind};
use unthread_checker::trace::{Event, Trace};

/// Speaks of the events of one trace.
pub(super) struct Words<'a> {
    pub(super) subject: &'a ClosureSubject,
    pub(super) trace: &'a Trace,
}

impl Words<'_> {
    /// What an event did.
    pub(super) fn event(&self, event: &Event) -> String {
        let Some(operation) = &event.operation else {
            let arrives = |(at, value)| format!("{} arrives", self.stored(at, value, " = "));
            return event.written.map_or(String::new(), arrives);
        };
        let done = operation
            .loc()
            .and_then(|loc| self.of_object(operation, loc, event.result))
            .or_else(|| self.of_cell(operation, event.result))
            .unwrap_or_else(|| self.of_other(operation, event));
        let done = match newer_than(event) {
            0 => done,
            _ if operation.is_write() => format!("{done}, before what is there"),
            _ => format!("{done}, not the newest"),
        };
        match (&event.failure, operation) {
            (Some(_), Operation::Fail(_)) | (None, _) => done,
            (Some(failure), _) => format!("{done} {}", failed(failure)),
        }
    }

    /// What is or will be in a cell.
    pub(super) fn stored(&self, loc: Loc, value: i64, is: &str) -> String {
        let name = self.subject.loc_name(loc);
        match self.kind(loc) {
            "Mutex" | "RwLock" => format!("{} {name}", poisoning(value)),
            kind => format!("{name}{is}{}", shown(kind, value)),
        }
    }

    fn kind(&self, loc: Loc) -> &'static str {
        loc.as_global().and_then(|index| u32::try_from(index).ok()).map_or("", |object| self.subject.kind(object))
    }

    /// Whether a cell is one that the code under test reads and writes, and not a part of an object that does something else.
    pub(super) fn is_memory(&self, loc: Loc) -> bool {
        let kind = self.kind(loc);
        kind.starts_with(char::is_uppercase) && !matches!(kind, "Arc" | "Mutex" | "RwLock")
    }

    /// An operation on the cell of an object that is no atomic: as the object's method.
    fn of_object(&self, operation: &Operation, loc: Loc, result: i64) -> Option<String> {
        let name = self.subject.loc_name(loc);
        let object = loc.as_global()? as u32;
        Some(match (self.kind(loc), operation) {
            ("channel", Operation::Rmw { op, operand, .. }) => mpsc::in_words(*op, *operand, result, &name),
            ("channel", Operation::Cas { expected, desired, .. }) => match result == *expected {
                true => mpsc::in_words(RmwOp::Add, desired - expected, result, &name),
                false => format!("try to send to {name} again"),
            },
            ("Mutex" | "RwLock", Operation::Read { .. }) => {
                format!("is {name} poisoned → {}", if result == 0 { "no" } else { "yes" })
            }
            ("Mutex" | "RwLock", Operation::Write { value, .. }) => format!("{} {name}", poisoning(*value)),
            ("park token", Operation::Rmw { operand, .. }) => match (*operand, result) {
                (0, 0) => "park gives up".to_string(),
                (0, _) => "park: unparked".to_string(),
                _ => format!("unpark {}", self.subject.owner(object).unwrap_or(name)),
            },
            ("waker", Operation::Rmw { operand: 0, .. }) => format!("woken by {name}"),
            ("waker", Operation::Rmw { .. }) => format!("wake {name}"),
            ("task", Operation::Rmw { op: RmwOp::Swap, .. }) => format!("{name} ends"),
            ("task", Operation::Rmw { .. }) => {
                format!("has {name} ended → {}", if result == 0 { "no" } else { "yes" })
            }
            ("message", Operation::Rmw { op: RmwOp::Swap, .. }) => format!("{name} is taken, or never will be"),
            ("message", Operation::Rmw { .. }) => format!("{name} has been taken, or never will be"),
            ("Arc", Operation::Count { by, .. }) => {
                let what = match by {
                    0 => "count",
                    by if *by > 0 => "clone",
                    _ => "drop",
                };
                format!("{what} {name} {result}→{}", result + by)
            }
            _ => return None,
        })
    }

    /// An operation on the cell of an atomic, or on plain data.
    fn of_cell(&self, operation: &Operation, result: i64) -> Option<String> {
        let loc = operation.loc()?;
        let (name, kind) = (self.subject.loc_name(loc), self.kind(loc));
        let value = |number: i64| shown(kind, number);
        Some(match operation {
            Operation::Read { ordering, .. } => format!("load {name} → {}{}", value(result), suffix(*ordering)),
            Operation::Write { value: new, ordering, .. } => {
                format!("store {name} = {}{}", value(*new), suffix(*ordering))
            }
            Operation::Rmw { op, operand, ordering, .. } => {
                let new = value(op.apply(result, *operand));
                format!("{} {name} {}→{new}{}", op.name(), value(result), suffix(*ordering))
            }
            Operation::Cas { expected, desired, success, failure, .. } => match result == *expected {
                true => format!("exchange {name} {}→{}{}", value(*expected), value(*desired), suffix(*success)),
                false => {
                    let (found, expected) = (value(result), value(*expected));
                    format!("exchange {name} fails: {found}, not {expected}{}", suffix(*failure))
                }
            },
            Operation::Touch { writes, .. } => format!("{} {name}", if *writes { "write" } else { "read" }),
            Operation::Count { by, .. } => format!("{name} {result}→{}", result + by),
            _ => return None,
        })
    }

    fn of_other(&self, operation: &Operation, event: &Event) -> String {
        let (subject, result) = (self.subject, event.result);
        let thread = |key| name_of_thread(self.trace, key);
        match operation {
            Operation::Fence { ordering } => format!("fence{}", suffix(*ordering)),
            Operation::Lock { lock, mode, .. } => format!("lock{} {}", shared(*mode), subject.lock_name(*lock)),
            Operation::TryLock { lock, mode } => {
                let outcome = if result == 1 { "" } else { " fails" };
                format!("try to lock{} {}{outcome}", shared(*mode), subject.lock_name(*lock))
            }
            Operation::Unlock { lock, .. } => format!("unlock {}", subject.lock_name(*lock)),
            Operation::Downgrade { lock } => format!("downgrade {}", subject.lock_name(*lock)),
            Operation::Wait { condvar, .. } => format!("wait for {}", subject.condvar_name(*condvar)),
            Operation::Reacquire { condvar, .. } if result != 0 => {
                format!("wait for {} times out", subject.condvar_name(*condvar))
            }
            Operation::Reacquire { condvar, .. } => format!("woken by {}", subject.condvar_name(*condvar)),
            Operation::Notify { condvar, all } => match (event.step.action, all) {
                (Action::Choose(_), _) | (_, false) => format!("notify one of {}", subject.condvar_name(*condvar)),
                _ => format!("notify all of {}", subject.condvar_name(*condvar)),
            },
            Operation::Fork { child } => format!("spawn {}", thread(*child)),
            Operation::Join { thread: key } => format!("join {}", thread(*key)),
            Operation::HasEnded { thread: key } => {
                format!("has {} ended → {}", thread(*key), if result == 0 { "no" } else { "yes" })
            }
            Operation::Choose { .. } => format!("choose {result}"),
            Operation::Yield => "spin".to_string(),
            Operation::Fail(_) => event.failure.as_ref().map_or(String::new(), failed),
            Operation::End => "end".to_string(),
            other => format!("{other:?}"),
        }
    }
}

/// Whose references to something that is leaked have not been given back.
pub(super) fn references_left(subject: &ClosureSubject, violation: &Violation, trace: &Trace) -> Option<String> {
    if violation.kind != ViolationKind::Failure(FailureKind::Leak) {
        return None;
    }
    let counted = |event: &Event| match event.operation {
        Some(Operation::Count { loc, by, reference, .. }) => Some((loc, by, reference, event.step.thread, event.span)),
        _ => None,
    };
    let is_named = |loc: Loc| violation.message.contains(&format!("`{}`", subject.loc_name(loc)));
    let counted: Vec<_> = trace.events.iter().filter_map(counted).filter(|count| is_named(count.0)).collect();
    let given_back = |which: u32| counted.iter().any(|&(_, by, reference, ..)| by < 0 && reference == which);
    let taken = counted.iter().filter(|count| count.1 > 0 && !given_back(count.2)).map(|&(_, _, _, thread, span)| {
        let place = subject.site(span).map_or(String::new(), |site| format!(" at {site}"));
        format!("the reference that {} took{place}", trace.threads[thread.index()].name)
    });
    let first = (!given_back(0)).then(|| "the reference that it was made with".to_string());
    let left: Vec<String> = first.into_iter().chain(taken).collect();
    match left.len() {
        0 => None,
        1 => Some(format!("{} is never given back", left[0])),
        _ => Some(format!("{} are never given back", left.join(" and "))),
    }
}

/// A thread's name, by its key.
pub(super) fn name_of_thread(trace: &Trace, key: ThreadKey) -> String {
    let found = trace.threads.iter().find(|thread| thread.key == key);
    found.map_or("a thread".to_string(), |thread| thread.name.clone())
}

/// A number as the value of an object of that type.
pub(super) fn shown(kind: &str, number: i64) -> String {
    match (kind, number) {
        ("AtomicBool", 0) => "false".to_string(),
        ("AtomicBool", _) => "true".to_string(),
        ("AtomicPtr", 0) => "null".to_string(),
        ("AtomicPtr", _) => format!("{number:#x}"),
        ("Once", 0) => "not yet".to_string(),
        ("Once", 1) => "done".to_string(),
        ("Once", 2) => "poisoned".to_string(),
        ("AtomicU64" | "AtomicUsize", _) => (number as u64).to_string(),
        _ => number.to_string(),
    }
}

fn poisoning(value: i64) -> &'static str {
    if value == 0 { "clear the poison of" } else { "poison" }
}

fn failed(failure: &Failure) -> String {
    let line = failure.message.lines().next().unwrap_or_default();
    format!("✗ {line}")
}

fn shared(mode: LockMode) -> &'static str {
    if mode == LockMode::Shared { " shared" } else { "" }
}

fn suffix(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "",
        Ordering::Acquire => " (Acquire)",
        Ordering::Release => " (Release)",
        Ordering::AcqRel => " (AcqRel)",
        Ordering::SeqCst => " (SeqCst)",
    }
}
