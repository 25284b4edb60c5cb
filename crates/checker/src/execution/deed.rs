//! What a step did, as far as it must be the same whenever the same steps are taken.

use super::{Describe, Operation, Performed, ThreadState};
use crate::base::{Failure, Loc, Span, ThreadKey};

/// What a step did.
pub(crate) struct Deed {
    thread: ThreadKey,
    span: Span,
    /// Nothing if a store arrived.
    operation: Option<Operation>,
    failure: Option<Failure>,
    result: i64,
    written: Option<(Loc, i64)>,
    created: Vec<(Loc, i64)>,
}

/// Addresses are larger.
const SMALL: u64 = if cfg!(target_pointer_width = "64") { 1 << 32 } else { 1 << 16 };

/// An address has so many bits. Some code keeps marks in those above.
const ADDRESS_BITS: u32 = 48;

impl Deed {
    pub(crate) fn new(thread: ThreadKey, span: Span, performed: &Performed) -> Deed {
        Deed {
            thread,
            span,
            operation: performed.operation,
            failure: performed.failure.clone(),
            result: performed.result,
            written: performed.written,
            created: performed.created.clone(),
        }
    }

    /// Whether a thread is about to do this again, be it with other values. Says what is different, if something is.
    pub(crate) fn compare_next<S: Describe>(&self, thread: &ThreadState<S::Thread>, subject: &S) -> Result<(), String> {
        let (span, now) = (subject.span(&thread.local), subject.operation(&thread.local));
        let is_it = match &self.operation {
            Some(before) => thread.key == self.thread && span == self.span && is_same(before, &now, |_, _| true),
            None => thread.key == self.thread,
        };
        let now = || {
            let failure = now.is_failure().then(|| subject.failure(&thread.local));
            format!("{} at {}", words(&now, None, failure.as_ref(), subject), subject.place(span))
        };
        is_it.then_some(()).ok_or_else(|| self.told(&subject.name(&thread.local), &now(), subject))
    }

    /// Whether the same came of it this time. Says what is different, if something is.
    pub(crate) fn compare<S: Describe>(
        &self,
        now: &Performed,
        subject: &S,
        name: impl Fn() -> String,
    ) -> Result<(), String> {
        let operations = self.operation.iter().zip(&now.operation);
        let is_it = may_be_same(self.result, now.result)
            && operations.into_iter().all(|(before, now)| is_alike(before, now))
            && are_same(self.written.as_slice(), now.written.as_slice())
            && are_same(&self.created, &now.created);
        is_it.then_some(()).ok_or_else(|| {
            let now = Deed::new(self.thread, self.span, now).words(subject);
            match self.words(subject) {
                before if before == now => {
                    format!("{} {before}; what it makes then has another value the next time", name())
                }
                _ => self.told(&name(), &now, subject),
            }
        })
    }

    fn told<S: Describe>(&self, name: &str, now: &str, subject: &S) -> String {
        format!("{name} {}; the next time it {now}", self.words(subject))
    }

    fn words<S: Describe>(&self, subject: &S) -> String {
        match (&self.operation, self.written) {
            (Some(operation), _) => {
                let done = words(operation, Some(self.result), self.failure.as_ref(), subject);
                format!("{done} at {}", subject.place(self.span))
            }
            (None, Some((loc, value))) => format!("lets its store of {value} to {} arrive", subject.loc_name(loc)),
            (None, None) => "lets a store arrive".to_string(),
        }
    }
}

/// Whether two operations are the same, but for values that may be addresses, the numbers of references and the words of failures.
pub(crate) fn is_alike(one: &Operation, other: &Operation) -> bool {
    is_same(one, other, may_be_same)
}

/// Whether two operations are the same, where values are as these say.
fn is_same(one: &Operation, other: &Operation, values: fn(i64, i64) -> bool) -> bool {
    let align = |value: &mut i64, to: i64| *value = if values(*value, to) { to } else { *value };
    let mut one = *one;
    match (&mut one, other) {
        (Operation::Write { value, .. }, Operation::Write { value: to, .. }) => align(value, *to),
        (Operation::Rmw { operand, .. }, Operation::Rmw { operand: to, .. }) => align(operand, *to),
        (Operation::Cas { expected, desired, .. }, Operation::Cas { expected: to, desired: and, .. }) => {
            align(expected, *to);
            align(desired, *and);
        }
        (Operation::Count { reference, .. }, Operation::Count { reference: to, .. }) => *reference = *to,
        _ => {}
    }
    one == *other
}

/// Whether two values are equal, or may be two addresses: memory is not in the same place when the same is done again. Counters, small negative numbers and most
/// random numbers look different.
fn may_be_same(one: i64, other: i64) -> bool {
    let may_be_address = |value: i64| value as u64 & ((1 << ADDRESS_BITS) - 1) >= SMALL && value >> ADDRESS_BITS != -1;
    one == other || one >> ADDRESS_BITS == other >> ADDRESS_BITS && may_be_address(one) && may_be_address(other)
}

fn are_same(some: &[(Loc, i64)], others: &[(Loc, i64)]) -> bool {
    let is_same = |(one, other): (&(Loc, i64), &(Loc, i64))| one.0 == other.0 && may_be_same(one.1, other.1);
    some.len() == others.len() && some.iter().zip(others).all(is_same)
}

/// What a thread does. Its result, if there is one already, and what is wrong.
fn words<S: Describe>(operation: &Operation, result: Option<i64>, failure: Option<&Failure>, subject: &S) -> String {
    let found = result.map_or(String::new(), |result| format!(" and finds {result}"));
    match operation {
        Operation::Read { loc, .. } => format!("reads {}{found}", subject.loc_name(*loc)),
        Operation::Write { loc, value, .. } => format!("writes {value} to {}", subject.loc_name(*loc)),
        Operation::Rmw { loc, op, operand, .. } => {
            format!("does {} {operand} to {}{found}", op.name(), subject.loc_name(*loc))
        }
        Operation::Cas { loc, expected, desired, .. } => {
            format!("exchanges {expected} for {desired} in {}{found}", subject.loc_name(*loc))
        }
        Operation::Touch { loc, writes } => {
            format!("{} {}", if *writes { "writes" } else { "reads" }, subject.loc_name(*loc))
        }
        Operation::Count { loc, .. } => format!("counts references in {}", subject.loc_name(*loc)),
        Operation::Fence { .. } => "is at a fence".to_string(),
        Operation::Lock { lock, .. } => format!("locks {}", subject.lock_name(*lock)),
        Operation::TryLock { lock, .. } => format!("tries to lock {}", subject.lock_name(*lock)),
        Operation::Unlock { lock, .. } => format!("unlocks {}", subject.lock_name(*lock)),
        Operation::Downgrade { lock } => format!("downgrades {}", subject.lock_name(*lock)),
        Operation::Wait { condvar, .. } => format!("waits for {}", subject.condvar_name(*condvar)),
        Operation::Reacquire { condvar, .. } => format!("is woken by {}", subject.condvar_name(*condvar)),
        Operation::Notify { condvar, .. } => format!("notifies {}", subject.condvar_name(*condvar)),
        Operation::Fork { .. } => "spawns a thread".to_string(),
        Operation::Join { .. } | Operation::JoinAll => "joins a thread".to_string(),
        Operation::HasEnded { .. } => "asks whether a thread has ended".to_string(),
        Operation::Free { .. } => "frees memory".to_string(),
        Operation::Choose { .. } => format!("chooses{}", result.map_or(String::new(), |result| format!(" {result}"))),
        Operation::Yield => "spins".to_string(),
        Operation::Fail(_) => {
            let message = failure.and_then(|failure| failure.message.lines().next());
            format!("fails ({})", message.unwrap_or_default())
        }
        Operation::Stop => "stops at an assumption".to_string(),
        Operation::End => "ends".to_string(),
    }
}
