//! Events in the words of the source: `x = 1`, `r: x → 0`, `flush x = 1`, `lock m`, `cas x 0→1 ok`.

use super::story::StepKind;
use crate::base::{Action, FailureKind, Loc, ThreadId, ThreadKey};
use crate::execution::Operation;
use crate::program::{LockMode, Ordering, Program};
use crate::search::ViolationKind;
use crate::trace::{Event, Trace};

/// Speaks of the events of one trace.
pub(super) struct Words<'a> {
    pub(super) program: &'a Program,
    pub(super) trace: &'a Trace,
}

impl Words<'_> {
    /// What the event did.
    pub(super) fn event(&self, event: &Event) -> String {
        let done = match &event.operation {
            None => self.flush(event),
            Some(operation) => self.operation(operation, event),
        };
        match (&event.failure, &event.operation) {
            (Some(_), Some(Operation::Fail(_))) | (None, _) => done,
            (Some(failure), _) => format!("{done} {}", failed(failure.kind)),
        }
    }

    /// What kind of event it is.
    pub(super) fn kind(event: &Event) -> StepKind {
        event.operation.as_ref().map_or(StepKind::Flush, StepKind::of)
    }

    /// A thread by number and name.
    pub(super) fn thread(&self, id: ThreadId) -> String {
        match self.trace.threads.get(id.index()) {
            Some(thread) => format!("{} {}", id.0, thread.name),
            None => id.0.to_string(),
        }
    }

    fn flush(&self, event: &Event) -> String {
        event.written.map_or("flush".into(), |(loc, value)| format!("flush {} = {}", self.loc(loc), self.value(value)))
    }

    fn operation(&self, operation: &Operation, event: &Event) -> String {
        let target = event.target.as_ref().map_or(String::new(), |name| format!("{name}: "));
        let result = self.value(event.result);
        match operation {
            Operation::Read { loc, ordering, .. } => {
                format!("{target}{} → {result}{}", self.loc(*loc), suffix(*ordering))
            }
            Operation::Write { loc, value, ordering, .. } => {
                format!("{} = {}{}", self.loc(*loc), self.value(*value), suffix(*ordering))
            }
            Operation::Rmw { loc, op, operand, ordering } => {
                let new = self.value(op.apply(event.result, *operand));
                format!("{target}{} {} {result}→{new}{}", op.name(), self.loc(*loc), suffix_of_update(*ordering))
            }
            Operation::Cas { loc, expected, desired, success, failure } => {
                let (old, new) = (self.value(*expected), self.value(*desired));
                let (outcome, ordering) = match event.result == *expected {
                    true => ("ok".to_string(), *success),
                    false => (format!("failed on {result}"), *failure),
                };
                format!("cas {} {old}→{new} {outcome}{}", self.loc(*loc), suffix_of_update(ordering))
            }
            Operation::Touch { loc, writes } => {
                format!("{} {}", if *writes { "write" } else { "read" }, self.loc(*loc))
            }
            Operation::Count { loc, by, .. } => format!("count {} {result}→{}", self.loc(*loc), event.result + by),
            Operation::Fence { ordering: Ordering::SeqCst } => "fence".to_string(),
            Operation::Fence { ordering } => format!("fence{}", suffix(*ordering)),
            Operation::Lock { lock, mode, .. } => format!("{} {}", lock_verb(*mode), self.lock(*lock)),
            Operation::TryLock { lock, mode } => {
                let outcome = if event.result == 1 { "ok" } else { "failed" };
                format!("try {} {} {outcome}", lock_verb(*mode), self.lock(*lock))
            }
            Operation::Unlock { lock, .. } => format!("unlock {}", self.lock(*lock)),
            Operation::Downgrade { lock } => format!("downgrade {}", self.lock(*lock)),
            Operation::Wait { condvar, lock } => {
                format!("wait {}, unlock {}", self.condvar(*condvar), self.lock(*lock))
            }
            Operation::Reacquire { condvar, lock } => {
                format!("woken by {}, lock {}", self.condvar(*condvar), self.lock(*lock))
            }
            Operation::Notify { condvar, all } => self.notify(*condvar, *all, event.step.action),
            Operation::Fork { child } => format!("{target}fork {}", self.key(*child)),
            Operation::Join { thread } => format!("join {}", self.key(*thread)),
            Operation::HasEnded { thread } => format!("has {} ended → {result}", self.key(*thread)),
            Operation::JoinAll => "begin".to_string(),
            Operation::Free { block } => format!("free {}", self.loc(*block)),
            Operation::Choose { .. } => format!("{target}choose → {result}"),
            Operation::Yield => "yield".to_string(),
            Operation::Fail(kind) => failed(*kind),
            Operation::Stop => "stop".to_string(),
            Operation::End => "end".to_string(),
        }
    }

    fn notify(&self, condvar: u32, all: bool, action: Action) -> String {
        let condvar = self.condvar(condvar);
        match action {
            Action::Choose(thread) => format!("notify {condvar}: {}", self.thread(ThreadId(thread as u16))),
            _ if all => format!("notify all {condvar}"),
            _ => format!("notify {condvar}"),
        }
    }

    fn key(&self, key: ThreadKey) -> String {
        let found = self.trace.threads.iter().position(|thread| thread.key == key);
        found.map_or_else(|| format!("{}", key.0), |at| self.thread(ThreadId(at as u16)))
    }

    pub(super) fn loc(&self, loc: Loc) -> String {
        self.program.loc_name(loc)
    }

    pub(super) fn value(&self, value: i64) -> String {
        self.program.value_name(value)
    }

    pub(super) fn lock(&self, lock: u32) -> &str {
        &self.program.locks[lock as usize].name
    }

    pub(super) fn condvar(&self, condvar: u32) -> &str {
        &self.program.condvars[condvar as usize]
    }
}

/// The message stands elsewhere.
fn failed(kind: FailureKind) -> String {
    format!("✗ {}", ViolationKind::Failure(kind).name())
}

/// Updates are sequentially consistent unless something else is written.
fn suffix_of_update(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => " (relaxed)",
        Ordering::SeqCst => "",
        other => suffix(other),
    }
}

/// Relaxed goes without saying.
fn suffix(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "",
        Ordering::Acquire => " (acquire)",
        Ordering::Release => " (release)",
        Ordering::AcqRel => " (acqrel)",
        Ordering::SeqCst => " (seqcst)",
    }
}

fn lock_verb(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Exclusive => "lock",
        LockMode::Shared => "lock shared",
    }
}
