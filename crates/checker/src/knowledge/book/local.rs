//! Local states of threads: what a thread's future depends on, apart from what it is given. Each has a number, which is that of its node in the book.
//!
//! Threads of a program can be asked what they would do, and states that are met again are the same one ([`ByState`]). Of code that is run rather than interpreted nothing is known but what runs
//! have shown: its states are histories (`history.rs`), so the graph of a thread is a tree.

use super::effect::{Held, held_after};
use super::own::{Own, Owners};
use crate::base::{Loc, ThreadKey};
use crate::execution::{Comparable, Laps, Operation};
use crate::program::Reg;
use crate::trace::{Histories, History, RunEvent};
use rustc_hash::FxHashMap;

/// The number of a local state.
pub(crate) type Local = u32;

/// Where a thread is.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) operation: Operation,
    /// The opaque object that it is an operation on.
    pub(crate) object: Option<Loc>,
    /// What the thread waits for, if it spins.
    pub(crate) awaiting: Vec<(Loc, i64)>,
    /// Where it stands in the source.
    pub(crate) place: u32,
}

/// The local states of a subject's threads.
pub(crate) trait Locals {
    /// Where the initial threads begin.
    fn initial(&mut self) -> Vec<(ThreadKey, Local)>;

    /// Where a thread begins that is forked here.
    fn child(&mut self, local: Local, child: ThreadKey) -> Local;

    /// Where an operation with this result leads a thread.
    fn after(&mut self, local: Local, operation: &Operation, result: i64) -> Local;

    /// What an operation with this result leaves in an opaque object.
    fn version_after(&mut self, local: Local, result: i64) -> i64;

    /// A run has shown where a thread is.
    fn note(&mut self, local: Local, at: At);

    /// Where a thread is. Requires that a run has come here.
    fn at(&self, local: Local) -> At;

    /// Whether a thread is known to fail here.
    fn fails(&self, local: Local) -> bool;

    /// Whether a thread here can see what was left in an opaque object by whoever has come to this history. "No" is certain.
    fn may_see(&self, local: Local, version: History) -> bool;

    /// The locks that a thread holds here.
    fn held(&self, local: Local) -> &Held;

    /// What an operation reads, if nobody else can have written it.
    fn own_value(&self, local: Local, operation: &Operation) -> Option<i64>;

    /// What is in some registers.
    fn registers(&self, local: Local, of: &[Reg]) -> Vec<i64>;

    /// Whether states are histories.
    fn are_histories(&self) -> bool;

    /// The numbers of histories, if states are.
    fn histories(&mut self) -> Option<&mut Histories>;
}

impl At {
    /// Where a thread was when it did something.
    pub(crate) fn of<T>(event: &RunEvent<T>) -> At {
        At {
            operation: event.operation,
            object: event.object,
            awaiting: event.awaiting.clone(),
            place: event.span.start,
        }
    }
}

/// The threads of a program.
pub(crate) struct ByState<'a, S: Comparable> {
    subject: &'a S,
    owners: Owners,
    numbers: FxHashMap<LocalState<S::Thread>, Local>,
    states: Vec<(ThreadKey, LocalState<S::Thread>)>,
}

/// A thread that can be asked what it would do.
#[derive(Clone, PartialEq, Eq, Hash)]
struct LocalState<T> {
    thread: T,
    laps: Laps,
    held: Held,
    own: Own,
}

impl<'a, S: Comparable> ByState<'a, S> {
    pub(crate) fn new(subject: &'a S) -> ByState<'a, S> {
        let owners = Owners::of(subject.code());
        ByState { subject, owners, numbers: FxHashMap::default(), states: vec![] }
    }

    fn start(&mut self, key: ThreadKey, thread: S::Thread) -> Local {
        self.number(key, LocalState { thread, laps: Laps::default(), held: vec![], own: vec![] })
    }

    fn number(&mut self, key: ThreadKey, state: LocalState<S::Thread>) -> Local {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        self.states.push((key, state.clone()));
        self.numbers.insert(state, self.states.len() as Local - 1);
        self.states.len() as Local - 1
    }

    fn state(&self, local: Local) -> &LocalState<S::Thread> {
        &self.states[local as usize].1
    }
}

impl<S: Comparable> Locals for ByState<'_, S> {
    fn initial(&mut self) -> Vec<(ThreadKey, Local)> {
        self.subject.initial().into_iter().map(|(key, thread)| (key, self.start(key, thread))).collect()
    }

    fn child(&mut self, local: Local, child: ThreadKey) -> Local {
        let thread = self.subject.fork(&self.state(local).thread);
        self.start(child, thread)
    }

    fn after(&mut self, local: Local, operation: &Operation, result: i64) -> Local {
        let (key, mut state) = self.states[local as usize].clone();
        self.subject.resume_counting(&mut state.thread, result, &mut state.laps);
        state.held = held_after(operation, result, &state.held);
        let pc = self.subject.instruction(&state.thread).1;
        state.own = self.owners.after(key, operation, result, &state.own, pc);
        self.number(key, state)
    }

    fn version_after(&mut self, _: Local, _: i64) -> i64 {
        0
    }

    fn note(&mut self, _: Local, _: At) {}

    fn at(&self, local: Local) -> At {
        let thread = &self.state(local).thread;
        At {
            operation: self.subject.operation(thread),
            object: None,
            awaiting: self.subject.awaiting(thread).to_vec(),
            place: self.subject.span(thread).start,
        }
    }

    fn fails(&self, local: Local) -> bool {
        self.subject.operation(&self.state(local).thread).is_failure()
    }

    fn may_see(&self, _: Local, _: History) -> bool {
        true
    }

    fn held(&self, local: Local) -> &Held {
        &self.state(local).held
    }

    fn own_value(&self, local: Local, operation: &Operation) -> Option<i64> {
        let loc = operation.read()?;
        let (key, state) = &self.states[local as usize];
        self.owners.value(*key, loc, &state.own)
    }

    fn registers(&self, local: Local, of: &[Reg]) -> Vec<i64> {
        of.iter().map(|&reg| self.subject.register(&self.state(local).thread, reg)).collect()
    }

    fn are_histories(&self) -> bool {
        false
    }

    fn histories(&mut self) -> Option<&mut Histories> {
        None
    }
}
