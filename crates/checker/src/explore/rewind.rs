//! An execution that can be taken back, step by step.
//!
//! Where threads can be copied, what a step changes is put aside before it is taken. An execution of other threads is run again from
//! its start, once it is known how far back to go.

use crate::execution::{Describe, Entry, Machine, Operation, Performed, Shared, State, ThreadKey, ThreadState};
use crate::program::{Loc, Span};
use crate::schedule::{Action, Step};

/// A machine's state, and how it came about.
pub(super) struct Rewindable<'a, S: Describe> {
    machine: &'a Machine<'a, S>,
    /// The present state.
    pub(super) state: State<S::Thread>,
    /// The steps taken.
    pub(super) path: Vec<Step>,
    before: Vec<Before<S::Thread>>,
    /// The state is not the one that the path leads to: steps were taken back that could not be undone. The first of them.
    ahead: Option<(Step, Acting)>,
    possible: Vec<Step>,
}

/// Who takes a step: the thread as it was before.
pub(super) struct Acting {
    pub(super) key: ThreadKey,
    /// Where its operation stands.
    pub(super) span: Span,
    /// The store that arrives.
    pub(super) flushed: Option<Entry>,
}

/// What a step may change, as it was before it.
struct Before<T> {
    acting: Acting,
    /// What to put back, where that is possible.
    undo: Option<Undo<T>>,
}

struct Undo<T> {
    shared: SharedBefore,
    thread: ThreadState<T>,
    n_threads: usize,
}

/// What a step may change of what is shared.
enum SharedBefore {
    Nothing,
    Cell(Loc, i64),
    Anything(Box<Shared>),
}

impl<'a, S: Describe> Rewindable<'a, S> {
    pub(super) fn new(machine: &'a Machine<'a, S>) -> Rewindable<'a, S> {
        Rewindable {
            machine,
            state: machine.start(),
            path: Vec::new(),
            before: Vec::new(),
            ahead: None,
            possible: Vec::new(),
        }
    }

    /// Takes a step, which must be possible. Its operation is given, unless it is a flush.
    pub(super) fn take(&mut self, step: Step, operation: Option<&Operation>) -> Performed {
        let thread = &self.state.threads[step.thread.index()];
        let flushed = match step.action {
            Action::Flush(at) => Some(thread.buffer.entries()[at as usize]),
            _ => None,
        };
        let acting = Acting { key: thread.key, span: self.machine.subject.span(&thread.local), flushed };
        let undo = self.machine.subject.copy(&thread.local).map(|local| Undo {
            shared: self.shared_before(flushed.as_ref(), operation),
            thread: ThreadState { key: thread.key, local, buffer: thread.buffer.clone(), status: thread.status },
            n_threads: self.state.threads.len(),
        });
        self.before.push(Before { acting, undo });
        self.path.push(step);
        self.machine.apply(&mut self.state, step)
    }

    fn shared_before(&self, flushed: Option<&Entry>, operation: Option<&Operation>) -> SharedBefore {
        let shared = &self.state.shared;
        let loc = match (flushed, operation) {
            (Some(entry), _) => Some(entry.loc),
            (_, Some(Operation::Read { .. } | Operation::Fence { .. } | Operation::End)) => {
                return SharedBefore::Nothing;
            }
            (_, operation) => operation.and_then(Operation::loc),
        };
        match loc {
            Some(loc) if shared.check(loc).is_ok() => SharedBefore::Cell(loc, shared.read(loc)),
            _ => SharedBefore::Anything(Box::new(shared.clone())),
        }
    }

    /// Who took the last step.
    pub(super) fn acting(&self) -> &Acting {
        &self.before.last().expect("a step was taken").acting
    }

    /// Takes the last step back. [`Rewindable::settle`] must follow before anything else is done.
    pub(super) fn undo(&mut self) {
        let (Some(step), Some(before)) = (self.path.pop(), self.before.pop()) else { return };
        let Some(undo) = before.undo else {
            self.ahead = Some((step, before.acting));
            return;
        };
        match undo.shared {
            SharedBefore::Nothing => {}
            SharedBefore::Cell(loc, value) => self.state.shared.write(loc, value),
            SharedBefore::Anything(shared) => self.state.shared = *shared,
        }
        self.state.threads.truncate(undo.n_threads);
        self.state.threads[step.thread.index()] = undo.thread;
    }

    /// Makes the state the one that the path leads to. Shows every step that is taken again: values that are addresses may be others this time. Says
    /// what is different that should not be, if anything is.
    pub(super) fn settle(&mut self, mut show: impl FnMut(usize, &Performed)) -> Result<(), String> {
        let Some((next, undone)) = self.ahead.take() else { return Ok(()) };
        self.state = self.machine.start();
        for (at, (&step, before)) in self.path.iter().zip(&self.before).enumerate() {
            self.compare(step, &before.acting)?;
            if !self.machine.may_take(&self.state, step, &mut self.possible)
                && self.machine.another_turn(&self.state) != Some(step)
            {
                return Err(format!("step {step} is not possible this time"));
            }
            let done = self.machine.apply(&mut self.state, step);
            show(at, &done);
        }
        self.compare(next, &undone)
    }

    /// Whether the thread that is to take a step is where it was when it took that step before.
    fn compare(&self, step: Step, before: &Acting) -> Result<(), String> {
        let subject = self.machine.subject;
        let is_same = |thread: &&ThreadState<S::Thread>| {
            thread.key == before.key && (before.flushed.is_some() || subject.span(&thread.local) == before.span)
        };
        match self.state.threads.get(step.thread.index()) {
            thread if thread.filter(is_same).is_some() => Ok(()),
            Some(thread) => {
                let [before, now] = [before.span, subject.span(&thread.local)].map(|span| subject.place(span));
                Err(format!("{} was at {before} and is at {now} this time", subject.name(&thread.local)))
            }
            None => Err(format!("thread {} was there before and is not this time", step.thread.0)),
        }
    }
}
