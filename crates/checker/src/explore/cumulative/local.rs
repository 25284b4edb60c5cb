//! Local states of threads: what a thread's future depends on, apart from what it is given. Each has a number, which is that of its node in the book.
//!
//! Threads of a program can be asked what they would do, and states that are met again are the same one ([`ByState`]). Of code that is run rather than interpreted nothing is known but what runs
//! have shown: its states are histories ([`ByHistory`]), so the graph of a thread is a tree.

use super::effect::{Held, held_after};
use super::own::{Own, Owners};
use crate::execution::{Interpreter, IrThread, Laps, Operation, Subject, ThreadKey};
use crate::program::{Loc, Reg};
use crate::trace::{Histories, History, RunEvent};
use rustc_hash::FxHashMap;

/// The number of a local state.
pub(super) type Local = u32;

/// Where a thread is.
#[derive(Clone)]
pub(super) struct At {
    pub(super) operation: Operation,
    /// The opaque object that it is an operation on.
    pub(super) object: Option<Loc>,
    /// What the thread waits for, if it spins.
    pub(super) awaiting: Vec<(Loc, i64)>,
    /// Where it stands in the source.
    pub(super) place: u32,
}

/// The local states of a subject's threads.
pub(super) trait Locals {
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

    /// The locks that a thread holds here.
    fn held(&self, local: Local) -> &Held;

    /// What an operation reads, if nobody else can have written it.
    fn own_value(&self, local: Local, operation: &Operation) -> Option<i64>;

    /// What is in some registers.
    fn registers(&self, local: Local, of: &[Reg]) -> Vec<i64>;

    /// The numbers of histories, if states are histories.
    fn histories(&mut self) -> Option<&mut Histories>;
}

impl At {
    /// Where a thread was when it did something.
    pub(super) fn of<T>(event: &RunEvent<T>) -> At {
        At {
            operation: event.operation.clone(),
            object: event.object,
            awaiting: event.awaiting.clone(),
            place: event.span.start,
        }
    }
}

/// The threads of a program.
pub(super) struct ByState<'a> {
    subject: &'a Interpreter<'a>,
    owners: Owners,
    numbers: FxHashMap<LocalState, Local>,
    states: Vec<(ThreadKey, LocalState)>,
}

/// A thread that can be asked what it would do.
#[derive(Clone, PartialEq, Eq, Hash)]
struct LocalState {
    thread: IrThread,
    laps: Laps,
    held: Held,
    own: Own,
}

impl<'a> ByState<'a> {
    pub(super) fn new(subject: &'a Interpreter<'a>) -> ByState<'a> {
        let owners = Owners::of(subject.program());
        ByState { subject, owners, numbers: FxHashMap::default(), states: vec![] }
    }

    fn start(&mut self, key: ThreadKey, thread: IrThread) -> Local {
        self.number(key, LocalState { thread, laps: Laps::default(), held: vec![], own: vec![] })
    }

    fn number(&mut self, key: ThreadKey, state: LocalState) -> Local {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        self.states.push((key, state.clone()));
        self.numbers.insert(state, self.states.len() as Local - 1);
        self.states.len() as Local - 1
    }

    fn state(&self, local: Local) -> &LocalState {
        &self.states[local as usize].1
    }
}

impl Locals for ByState<'_> {
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
        let pc = self.subject.site(&state.thread).1;
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

    fn held(&self, local: Local) -> &Held {
        &self.state(local).held
    }

    fn own_value(&self, local: Local, operation: &Operation) -> Option<i64> {
        let reads = matches!(operation, Operation::Read { .. } | Operation::Rmw { .. } | Operation::Cas { .. });
        let loc = operation.loc().filter(|_| reads)?;
        let (key, state) = &self.states[local as usize];
        self.owners.value(*key, loc, &state.own)
    }

    fn registers(&self, local: Local, of: &[Reg]) -> Vec<i64> {
        of.iter().map(|&reg| self.subject.register(&self.state(local).thread, reg)).collect()
    }

    fn histories(&mut self) -> Option<&mut Histories> {
        None
    }
}

/// Threads of which only their runs are known.
#[derive(Default)]
pub(super) struct ByHistory {
    n_initial: usize,
    histories: Histories,
    numbers: FxHashMap<History, Local>,
    states: Vec<Seen>,
}

/// A history, and what is known of the thread after it.
struct Seen {
    history: History,
    held: Held,
    at: Option<At>,
}

impl ByHistory {
    pub(super) fn new(n_initial: usize) -> ByHistory {
        ByHistory { n_initial, ..ByHistory::default() }
    }

    fn number(&mut self, history: History, held: Held) -> Local {
        let next = self.states.len() as Local;
        let number = *self.numbers.entry(history).or_insert(next);
        if number == next {
            self.states.push(Seen { history, held, at: None });
        }
        number
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
            (key, self.number(history, vec![]))
        };
        (0..n_initial).map(ThreadKey::initial).map(start).collect()
    }

    fn child(&mut self, local: Local, child: ThreadKey) -> Local {
        let history = self.histories.empty(Some(self.history(local)), child);
        self.number(history, vec![])
    }

    fn after(&mut self, local: Local, operation: &Operation, result: i64) -> Local {
        let history = self.version_after(local, result);
        let held = held_after(operation, result, self.held(local));
        self.number(history, held)
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

    fn held(&self, local: Local) -> &Held {
        &self.states[local as usize].held
    }

    fn own_value(&self, _: Local, _: &Operation) -> Option<i64> {
        None
    }

    fn registers(&self, _: Local, of: &[Reg]) -> Vec<i64> {
        vec![0; of.len()]
    }

    fn histories(&mut self) -> Option<&mut Histories> {
        Some(&mut self.histories)
    }
}
