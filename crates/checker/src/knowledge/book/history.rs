//! Local states that are histories: of threads of which only their runs are known, so that the graph of a thread is a tree.
//!
//! A version of an opaque object is the history of whoever left it, and so it says what that thread had seen: which versions, and by way of them what other threads had done. Whoever sees it has a *past* that must agree: of
//! each thread one way, and of each object, where all operations are ordered, no version that is known to be followed by another. Most versions that there are a thread cannot see, and that is found here without asking the solver.

use super::effect::{Held, held_after};
use super::local::{At, Local, Locals};
use crate::base::{Loc, ThreadKey};
use crate::execution::{LockAction, Operation};
use crate::program::{LockMode, Reg};
use crate::trace::{Histories, History, sees_contents};
use rustc_hash::FxHashMap;

/// Threads of which only their runs are known.
#[derive(Default)]
pub(crate) struct ByHistory {
    n_initial: usize,
    histories: Histories,
    numbers: FxHashMap<History, Local>,
    states: Vec<Seen>,
}

/// A history, and what is known of the thread after it.
struct Seen {
    history: History,
    /// Where the thread was before, and how often it has gone on since it began.
    before: Option<Local>,
    length: u32,
    /// For each thread that something is known of through versions, and its own: where it has been.
    past: Past,
    held: Held,
    at: Option<At>,
}

/// What a thread knows through the versions that it has seen, and those that they were made from.
#[derive(Clone, Default)]
struct Past {
    /// Where each thread has been.
    threads: Vec<(ThreadKey, Local)>,
    /// The newest version of each object that nobody changes without seeing it, by the state of who made it.
    newest: Vec<(Loc, Local)>,
}

impl ByHistory {
    pub(crate) fn new(n_initial: usize) -> ByHistory {
        ByHistory { n_initial, ..ByHistory::default() }
    }

    /// The state after a history, which is the first one of a thread or continues another.
    fn number(&mut self, history: History, key: ThreadKey, before: Option<Local>, mut past: Past, held: Held) -> Local {
        let next = self.states.len() as Local;
        let number = *self.numbers.entry(history).or_insert(next);
        if number == next {
            past.threads.retain(|known| known.0 != key);
            past.threads.push((key, number));
            let length = before.map_or(0, |before| self.states[before as usize].length + 1);
            self.states.push(Seen { history, before, length, past, held, at: None });
        }
        number
    }

    fn past(&self, local: Local) -> &Past {
        &self.states[local as usize].past
    }

    /// The thread of a state.
    fn key(&self, local: Local) -> ThreadKey {
        self.past(local).threads.last().expect("it knows of itself").0
    }

    /// Whether a thread comes from one state to the other.
    fn leads_to(&self, from: Local, mut to: Local) -> bool {
        while self.states[to as usize].length > self.states[from as usize].length {
            match self.states[to as usize].before {
                Some(before) => to = before,
                None => return false,
            }
        }
        from == to
    }

    /// Whether somebody who has come to a state knows of another state.
    fn knows_of(&self, local: Local, other: Local) -> bool {
        let known = self.past(local).threads.iter().find(|known| known.0 == self.key(other));
        known.is_some_and(|known| self.leads_to(other, known.1))
    }

    /// What is known after an operation that saw this version of an object.
    fn past_after(&self, local: Local, at: &At, result: i64) -> Past {
        let mut past = self.past(local).clone();
        let (Some(object), Some(&seen)) = (at.object, self.numbers.get(&result)) else { return past };
        if !sees_version(&at.operation) {
            return past;
        }
        let Past { threads, newest } = self.past(seen);
        for &(key, other) in threads {
            match past.threads.iter_mut().find(|known| known.0 == key) {
                Some(known) if self.leads_to(known.1, other) => known.1 = other,
                Some(_) => {}
                None => past.threads.push((key, other)),
            }
        }
        for &(loc, other) in newest {
            self.renew(&mut past, loc, other);
        }
        if is_ordered(&at.operation) {
            self.renew(&mut past, object, seen);
        }
        past
    }

    /// There is a version of an object.
    fn renew(&self, past: &mut Past, object: Loc, version: Local) {
        match past.newest.iter_mut().find(|known| known.0 == object) {
            Some(known) if self.knows_of(version, known.1) => known.1 = version,
            Some(_) => {}
            None => past.newest.push((object, version)),
        }
    }

    fn history(&self, local: Local) -> History {
        self.states[local as usize].history
    }
}

impl Locals for ByHistory {
    fn initial(&mut self) -> Vec<(ThreadKey, Local)> {
        let n_initial = self.n_initial;
        let start = |key: ThreadKey| {
            let history = self.histories.empty(None, key);
            (key, self.number(history, key, None, Past::default(), vec![]))
        };
        (0..n_initial).map(ThreadKey::initial).map(start).collect()
    }

    fn child(&mut self, local: Local, child: ThreadKey) -> Local {
        let history = self.histories.empty(Some(self.history(local)), child);
        self.number(history, child, None, self.past(local).clone(), vec![])
    }

    fn after(&mut self, local: Local, operation: &Operation, result: i64) -> Local {
        let history = self.version_after(local, result);
        let held = held_after(operation, result, self.held(local));
        let at = self.states[local as usize].at.as_ref();
        let past = at.map_or_else(|| self.past(local).clone(), |at| self.past_after(local, at, result));
        let made = at.filter(|at| makes_version(&at.operation)).and_then(|at| at.object);
        let after = self.number(history, self.key(local), Some(local), past, held);
        if let Some(object) = made {
            let newest = &mut self.states[after as usize].past.newest;
            newest.retain(|known| known.0 != object);
            newest.push((object, after));
        }
        after
    }

    fn version_after(&mut self, local: Local, result: i64) -> i64 {
        self.histories.longer(self.history(local), result)
    }

    fn note(&mut self, local: Local, at: At) {
        self.states[local as usize].at.get_or_insert(at);
    }

    fn at(&self, local: Local) -> At {
        // A thread that is at nothing has given up.
        let given_up = At { operation: Operation::Stop, object: None, awaiting: vec![], place: 0 };
        self.states[local as usize].at.clone().unwrap_or(given_up)
    }

    fn fails(&self, _: Local) -> bool {
        // Nothing is known before a run has come here.
        false
    }

    fn may_see(&self, local: Local, version: History) -> bool {
        let at = self.states[local as usize].at.as_ref();
        let object = at.filter(|at| is_ordered(&at.operation)).and_then(|at| at.object);
        let newest = self.past(local).newest.iter().find(|known| Some(known.0) == object);
        let Some(&seen) = self.numbers.get(&version) else { return newest.is_none() };
        if newest.is_some_and(|&(_, newest)| newest != seen && !self.knows_of(seen, newest)) {
            return false;
        }
        let key = self.key(local);
        self.past(seen).threads.iter().all(|&(thread, other)| {
            // What the version's past says of this thread has happened; of other threads it is one way, and cannot be two.
            let known = self.past(local).threads.iter().find(|known| known.0 == thread);
            known
                .is_none_or(|&(_, known)| self.leads_to(other, known) || (thread != key && self.leads_to(known, other)))
        })
    }

    fn held(&self, local: Local) -> &Held {
        &self.states[local as usize].held
    }

    fn own_value(&self, _: Local, _: &Operation) -> Option<i64> {
        None
    }

    fn registers(&self, _: Local, of: &[Reg]) -> Vec<i64> {
        vec![0; of.len()]
    }

    fn are_histories(&self) -> bool {
        true
    }

    fn histories(&mut self) -> Option<&mut Histories> {
        Some(&mut self.histories)
    }
}

/// Whether an operation on an opaque object has a version for a result.
fn sees_version(operation: &Operation) -> bool {
    sees_contents(operation) || operation.joined().is_some()
}

/// Whether an operation on an opaque object is one that all others on it are ordered with: nothing of them waits in buffers, and nobody changes the object without seeing it.
fn is_ordered(operation: &Operation) -> bool {
    let takes_lock = operation.acquired().or(operation.tried()).is_some();
    takes_lock || operation.is_update() || operation.touch().is_some()
}

/// Whether an operation on an opaque object that is so ordered certainly leaves a new version.
fn makes_version(operation: &Operation) -> bool {
    matches!(operation.lock_action(), Some((_, LockAction::Release(LockMode::Exclusive))))
        || operation.touch() == Some(true)
        || operation.operand().is_some()
}
