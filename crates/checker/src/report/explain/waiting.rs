//! Threads that wait for ever: for locks, for notifications, for one another, for a value.

use super::teller::{Teller, Told};
use crate::report::story::{JsonPending, StepKind};

impl Teller<'_> {
    /// Who took what, and who missed which notification.
    pub(super) fn deadlock(&self) -> Told {
        let pending = &self.story.pending;
        let lost = pending.iter().filter(|pending| pending.kind == StepKind::Wake);
        let lock = pending.iter().filter(|pending| pending.kind == StepKind::Lock);
        lost.map(|pending| self.missed(pending))
            .chain(lock.map(|pending| self.locked(pending)))
            .find_map(|told| told)
            .or_else(|| self.joined())
    }

    /// A thread waits for a notification that came too early, or never.
    fn missed(&self, pending: &JsonPending) -> Told {
        let about = |at: &usize| self.step(*at).object == pending.object;
        let wait = self.steps_of(pending.thread).rfind(|&at| self.step(at).kind == StepKind::Wait)?;
        let notify = (0..wait).filter(about).rfind(|&at| self.step(at).kind == StepKind::Notify);
        let (who, line) = (self.who(wait), self.line(wait));
        let condvar = pending.object.as_deref().unwrap_or_default();
        Some(match notify {
            Some(notify) => {
                let (notifier, when) = (self.who(notify), self.line(notify));
                (
                    format!(
                        "{notifier} notified `{condvar}` ({when}) before {who} waited for it ({line}), and nobody does so again"
                    ),
                    vec![notify, wait],
                )
            }
            None => (format!("{who} waits for `{condvar}` ({line}), and nobody notifies it"), vec![wait]),
        })
    }

    /// A thread waits for a lock that is not given back.
    fn locked(&self, pending: &JsonPending) -> Told {
        let taken = self.holding(pending.object.as_deref()?)?;
        let waiter = self.thread(pending.thread);
        let (lock, line) = (pending.object.as_deref()?, pending.line);
        let (holder, where_taken) = (self.who(taken), self.line(taken));
        let wait = format!("{waiter} waits for `{lock}` (line {line})");
        if self.step(taken).thread == pending.thread {
            return Some((format!("{wait}, which it took itself ({where_taken})"), vec![taken]));
        }
        let holders_wait = self.story.pending.iter().find(|other| other.thread == self.step(taken).thread);
        let own = holders_wait.and_then(|other| Some((other, self.holding(other.object.as_deref()?)?)));
        match own.filter(|(other, _)| other.kind == StepKind::Lock) {
            Some((other, own)) => {
                let mine = self.who(own);
                let other_lock = other.object.as_deref().unwrap_or_default();
                let other_wait = format!("waits for `{other_lock}` (line {})", other.line);
                let sentence = format!(
                    "{wait}, which {holder} took ({where_taken}); {holder} {other_wait}, which {mine} took ({})",
                    self.line(own)
                );
                Some((sentence, vec![own, taken]))
            }
            None => Some((format!("{wait}, which {holder} took ({where_taken}) and does not give back"), vec![taken])),
        }
    }

    /// The step by which a lock was taken that is still held.
    fn holding(&self, lock: &str) -> Option<usize> {
        use StepKind::{Lock, TryLock, Unlock};
        let failed = |at: usize| self.step(at).kind == TryLock && self.step(at).read == Some(0);
        let about = |&at: &usize| self.step(at).object.as_deref() == Some(lock) && !failed(at);
        let last = |kinds: &[StepKind], before: usize, thread: Option<u16>| {
            let of = |at: usize| thread.is_none_or(|thread| self.step(at).thread == thread);
            (0..before).filter(about).rfind(|&at| kinds.contains(&self.step(at).kind) && of(at))
        };
        let taken = last(&[Lock, TryLock], self.story.steps.len(), None)?;
        let released = last(&[Unlock], self.story.steps.len(), Some(self.step(taken).thread));
        (released.is_none_or(|released| released < taken)).then_some(taken)
    }

    /// A thread waits for another to end, and it does not.
    fn joined(&self) -> Told {
        let pending = self.story.pending.iter().find(|pending| pending.kind == StepKind::Join)?;
        let (who, other) = (self.thread(pending.thread), pending.object.as_deref()?);
        let last = (0..self.story.steps.len()).rfind(|&at| self.step(at).name == other);
        Some((format!("{who} waits for {other} to end (line {})", pending.line), last.into_iter().collect()))
    }

    /// A thread waits for a value that nobody stores, or tries again and again what cannot succeed.
    pub(super) fn livelock(&self) -> Told {
        self.spins().or_else(|| self.story.next.iter().find_map(|next| self.tries(next)))
    }

    fn tries(&self, next: &JsonPending) -> Told {
        let (who, object, line) = (self.thread(next.thread), next.object.as_deref()?, next.line);
        match next.kind {
            StepKind::TryLock => {
                let taken = self.holding(object)?;
                let (holder, where_taken) = (self.who(taken), self.line(taken));
                let tries = format!("{who} tries again and again to take `{object}` (line {line})");
                Some((format!("{tries}, which {holder} took ({where_taken}) and does not give back"), vec![taken]))
            }
            StepKind::Read | StepKind::Cas => {
                let (why, last) = self.last_store(object, "nobody has stored to it yet");
                let looks = format!("{who} looks again and again at `{object}` (line {line})");
                Some((format!("{looks}, and {why}"), last.into_iter().collect()))
            }
            _ => None,
        }
    }

    /// Who stored to a cell last, and where.
    fn last_store(&self, cell: &str, otherwise: &str) -> (String, Option<usize>) {
        let about = |&at: &usize| self.step(at).cell.as_deref() == Some(cell) && self.step(at).is_store();
        let last = (0..self.story.steps.len()).filter(about).max_by_key(|&at| (self.story.arrival(at), at));
        let why = match last {
            Some(last) => format!("the last store to it was {}'s ({})", self.who(last), self.line(last)),
            None => otherwise.to_string(),
        };
        (why, last)
    }

    fn spins(&self) -> Told {
        let pending = self.story.pending.iter().find(|pending| pending.kind == StepKind::Read)?;
        let (who, cell) = (self.thread(pending.thread), pending.object.as_deref()?);
        let about = |&at: &usize| self.step(at).cell.as_deref() == Some(cell);
        let read = self.steps_of(pending.thread).filter(about).rfind(|&at| self.step(at).is_read());
        let (why, last) = self.last_store(cell, "nobody stores to it");
        let spins = format!("{who} waits for `{cell}` to change (line {})", pending.line);
        Some((format!("{spins}, and {why}"), last.into_iter().chain(read).collect()))
    }

    fn steps_of(&self, thread: u16) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.story.steps.len()).filter(move |&at| self.step(at).thread == thread)
    }
}
