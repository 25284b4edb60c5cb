//! An execution that can be taken back, step by step.
//!
//! Threads of IR programs can be copied, so what a step changes is put aside before it is taken. (A subject whose threads
//! cannot be copied would run `path` again from the start: nothing outside of this file would notice.)

use crate::execution::{Interpreter, IrThread, Machine, Operation, Performed, Shared, State, ThreadState};
use crate::program::Loc;
use crate::schedule::{Action, Step};

/// A machine's state, and how it came about.
pub(super) struct Rewindable<'a> {
    machine: &'a Machine<'a, Interpreter<'a>>,
    /// The present state.
    pub(super) state: State<IrThread>,
    /// The steps taken.
    pub(super) path: Vec<Step>,
    before: Vec<Before>,
}

/// What a step may change, as it was before it.
struct Before {
    shared: SharedBefore,
    thread: ThreadState<IrThread>,
    n_threads: usize,
}

/// What a step may change of what is shared.
enum SharedBefore {
    Nothing,
    Cell(Loc, i64),
    Anything(Box<Shared>),
}

impl<'a> Rewindable<'a> {
    pub(super) fn new(machine: &'a Machine<'a, Interpreter<'a>>) -> Rewindable<'a> {
        Rewindable { machine, state: machine.start(), path: Vec::new(), before: Vec::new() }
    }

    /// Takes a step, which must be possible. Its operation is given, unless it is a flush.
    pub(super) fn take(&mut self, step: Step, operation: Option<&Operation>) -> Performed {
        let thread = self.state.threads[step.thread.index()].clone();
        let shared = self.shared_before(&thread, step, operation);
        self.before.push(Before { shared, thread, n_threads: self.state.threads.len() });
        self.path.push(step);
        self.machine.apply(&mut self.state, step)
    }

    fn shared_before(&self, thread: &ThreadState<IrThread>, step: Step, operation: Option<&Operation>) -> SharedBefore {
        let shared = &self.state.shared;
        let loc = match (step.action, operation) {
            (Action::Flush(at), _) => Some(thread.buffer.entries()[at as usize].loc),
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

    /// The thread of the last step, before that step.
    pub(super) fn thread_before(&self) -> &ThreadState<IrThread> {
        &self.before.last().expect("a step was taken").thread
    }

    /// Takes the last step back.
    pub(super) fn undo(&mut self) {
        let (Some(step), Some(before)) = (self.path.pop(), self.before.pop()) else { return };
        match before.shared {
            SharedBefore::Nothing => {}
            SharedBefore::Cell(loc, value) => self.state.shared.write(loc, value),
            SharedBefore::Anything(shared) => self.state.shared = *shared,
        }
        self.state.threads.truncate(before.n_threads);
        self.state.threads[step.thread.index()] = before.thread;
    }
}
