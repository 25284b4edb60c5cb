//! Versions: the contents of opaque objects, as numbers.
//!
//! What is in an opaque object only the code under test knows: data behind a lock, messages in a channel. It is what the last thread that changed it made of
//! all that this thread had seen, which is its history. So a number for "this thread, after this history" stands for the contents, and an operation that sees them has
//! that number for a result. Histories that agree in such numbers agree in what the threads saw.

use crate::base::{Action, Loc, Span, ThreadKey};
use crate::execution::{Operation, Performed, is_alike};
use crate::program::{Access, LockMode};
use rustc_hash::FxHashMap;

/// Numbers for histories: the same in all executions of a search.
#[derive(Default)]
pub(crate) struct Histories {
    /// By what came before, and the last result.
    longer: FxHashMap<(History, i64), History>,
    /// By what the thread that forked it had seen, and the thread.
    empty: FxHashMap<(Option<History>, ThreadKey), History>,
    /// What a thread did that had seen this.
    next: FxHashMap<History, (Operation, Span)>,
}

/// A thread and what it has seen.
pub(crate) type History = i64;

/// The version of an object that nobody has changed. Histories have larger numbers, and a lock that could not be taken a smaller one.
pub(crate) const INITIAL: i64 = 1;

/// What opaque objects hold in one execution.
pub(crate) struct Versions<'j> {
    histories: &'j mut Histories,
    memory: FxHashMap<Loc, i64>,
    threads: Vec<ThreadVersions>,
}

struct ThreadVersions {
    key: ThreadKey,
    history: History,
    /// What it has changed and others cannot see yet, in order.
    waiting: Vec<(Loc, i64)>,
}

impl Histories {
    /// The history of a thread that begins. What it does may depend on everything that the thread which forked it has seen.
    pub(crate) fn empty(&mut self, parent: Option<History>, thread: ThreadKey) -> History {
        let next = self.next();
        *self.empty.entry((parent, thread)).or_insert(next)
    }

    /// The history that goes on with a result.
    pub(crate) fn longer(&mut self, history: History, result: i64) -> History {
        let next = self.next();
        *self.longer.entry((history, result)).or_insert(next)
    }

    fn next(&self) -> History {
        INITIAL + 1 + (self.empty.len() + self.longer.len()) as History
    }
}

impl<'j> Versions<'j> {
    pub(crate) fn new(histories: &'j mut Histories) -> Versions<'j> {
        Versions { histories, memory: FxHashMap::default(), threads: Vec::new() }
    }

    /// There is one more thread. If it was forked, another one is about to go on with that.
    pub(crate) fn add_thread(&mut self, key: ThreadKey, parent: Option<usize>) {
        let parent = parent.map(|parent| self.threads[parent].history);
        let history = self.histories.empty(parent, key);
        self.threads.push(ThreadVersions { key, history, waiting: Vec::new() });
    }

    /// A thread has performed an operation, which is still to be noted. Says whether it did the same whenever it had seen the same.
    pub(crate) fn does_the_same(&mut self, thread: usize, operation: &Operation, span: Span) -> bool {
        let next = self.histories.next.entry(self.threads[thread].history);
        let (before, at) = next.or_insert_with(|| (*operation, span));
        *at == span && is_alike(before, operation)
    }

    /// A thread has taken a step; if it was an operation on an opaque object, on this one. Gives what its history says of it, and the version that it leaves.
    pub(crate) fn note(
        &mut self,
        thread: usize,
        action: Action,
        object: Option<Loc>,
        performed: &Performed,
    ) -> (i64, Option<i64>) {
        if let Action::Flush(_) = action {
            let this = &mut self.threads[thread];
            let at = performed.written.and_then(|(loc, _)| this.waiting.iter().position(|store| store.0 == loc));
            if let Some((loc, version)) = at.map(|at| this.waiting.remove(at)) {
                self.memory.insert(loc, version);
            }
            return (0, None);
        }
        let mut result = performed.history_entry();
        match performed.operation {
            Some(Operation::Count { by, sees_last, .. }) => result = seen_of_count(by, sees_last, result),
            // Who waits for a thread may be given what it has come to.
            Some(Operation::Join { thread: of }) if object.is_some() && performed.failure.is_none() => {
                result = self.history(of);
            }
            _ => {}
        }
        let this = &mut self.threads[thread];
        let opaque = object.zip(performed.operation.as_ref()).filter(|_| performed.failure.is_none());
        if let Some((loc, operation)) = opaque
            && sees_contents(operation)
            && !(matches!(operation, Operation::TryLock { .. }) && result == 0)
        {
            let own = this.waiting.iter().rev().find(|store| store.0 == loc).map(|store| store.1);
            result = own.or_else(|| self.memory.get(&loc).copied()).unwrap_or(INITIAL);
        }
        this.history = self.histories.longer(this.history, result);
        let changed = opaque.filter(|(_, operation)| changes_contents(operation, performed));
        let Some((loc, _)) = changed else { return (result, None) };
        match performed.buffered {
            true => this.waiting.push((loc, this.history)),
            false => drop(self.memory.insert(loc, this.history)),
        }
        (result, Some(this.history))
    }
}

impl Versions<'_> {
    fn history(&self, thread: ThreadKey) -> History {
        self.threads.iter().find(|other| other.key == thread).map_or(INITIAL, |other| other.history)
    }
}

/// What who changes a count of references sees of it: nothing, or whether it gives back the last. Who changes nothing sees the count.
pub(crate) fn seen_of_count(by: i64, sees_last: bool, count: i64) -> i64 {
    match by {
        0 => count,
        1.. => 0,
        _ => i64::from(sees_last && count == 1),
    }
}

/// Whether an operation on an opaque object sees its contents (a try-lock: unless it fails).
pub(crate) fn sees_contents(operation: &Operation) -> bool {
    match operation {
        Operation::Lock { .. }
        | Operation::TryLock { .. }
        | Operation::Reacquire { .. }
        | Operation::Touch { .. }
        | Operation::Read { .. }
        | Operation::Rmw { .. }
        | Operation::Cas { .. } => true,
        // Whoever can write plain data can read it first.
        Operation::Write { access, .. } => *access == Access::Plain,
        _ => false,
    }
}

fn changes_contents(operation: &Operation, performed: &Performed) -> bool {
    match operation {
        Operation::Touch { writes, .. } => *writes,
        Operation::Unlock { mode, .. } => *mode == LockMode::Exclusive,
        Operation::Downgrade { .. } | Operation::Wait { .. } => true,
        _ => performed.written.is_some(),
    }
}
