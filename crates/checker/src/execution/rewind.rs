//! An execution that can be taken back, step by step.
//!
//! Where threads can be copied, what a step changes is put aside before it is taken. An execution of other threads is run again from
//! its start, once it is known how far back to go.

use super::deed::Deed;
use super::{Describe, Entry, Machine, Operation, Performed, Shared, State, ThreadState};
use crate::base::{Action, Loc, Span, Step, ThreadKey};

/// A machine's state, and how it came about.
pub(crate) struct Rewindable<'a, S: Describe> {
    machine: &'a Machine<'a, S>,
    /// The present state.
    pub(crate) state: State<S::Thread>,
    /// The steps taken.
    pub(crate) path: Vec<Step>,
    before: Vec<Before<S::Thread>>,
    /// The state is not the one that the path leads to: steps were taken back that could not be undone. The first of them.
    ahead: Option<(Step, Deed)>,
    /// Threads have done the same with other values, and this is the first time that they did.
    differs: Option<String>,
}

/// The thread that takes a step, as it was before.
pub(crate) struct Acting {
    pub(crate) key: ThreadKey,
    /// Where its operation stands.
    pub(crate) span: Span,
    /// The store that arrives.
    pub(crate) flushed: Option<Entry>,
}

/// What a step may change, as it was before it.
struct Before<T> {
    acting: Acting,
    after: After<T>,
}

/// How to come back to where a step was taken.
enum After<T> {
    /// Put this back.
    Undo(Undo<T>),
    /// Take all steps again from the start. This must come of it then.
    Again(Deed),
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
    pub(crate) fn new(machine: &'a Machine<'a, S>) -> Rewindable<'a, S> {
        Rewindable { machine, state: machine.start(), path: Vec::new(), before: Vec::new(), ahead: None, differs: None }
    }

    /// Takes a step, which must be possible. Its operation is given, unless it is a flush.
    pub(crate) fn take(&mut self, step: Step, operation: Option<&Operation>) -> Performed {
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
        let performed = self.machine.apply(&mut self.state, step);
        let after = undo.map_or_else(|| After::Again(Deed::new(acting.key, acting.span, &performed)), After::Undo);
        self.before.push(Before { acting, after });
        self.path.push(step);
        performed
    }

    fn shared_before(&self, flushed: Option<&Entry>, operation: Option<&Operation>) -> SharedBefore {
        let shared = &self.state.shared;
        let loc = match (flushed, operation) {
            (Some(entry), _) => Some(entry.loc),
            (_, Some(operation)) if operation.is_read() || operation.is_fence() || operation.is_end() => {
                return SharedBefore::Nothing;
            }
            (_, operation) => operation.and_then(Operation::loc),
        };
        match loc {
            Some(loc) if shared.check(loc).is_ok() => SharedBefore::Cell(loc, shared.read(loc)),
            _ => SharedBefore::Anything(Box::new(shared.clone())),
        }
    }

    /// The thread that took the last step.
    pub(crate) fn acting(&self) -> &Acting {
        &self.before.last().expect("a step was taken").acting
    }

    /// Takes the last step back. [`Rewindable::settle`] must follow before anything else is done.
    pub(crate) fn undo(&mut self) {
        let (Some(step), Some(before)) = (self.path.pop(), self.before.pop()) else { return };
        let undo = match before.after {
            After::Undo(undo) => undo,
            After::Again(deed) => {
                self.ahead = Some((step, deed));
                return;
            }
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
    pub(crate) fn settle(&mut self, show: impl FnMut(usize, &Performed)) -> Result<(), String> {
        let Some((next, undone)) = self.ahead.take() else { return Ok(()) };
        let deeds = self.before.iter().filter_map(|before| match &before.after {
            After::Again(deed) => Some(deed),
            After::Undo(_) => None,
        });
        // What was done is dropped before it is done again.
        self.state = self.machine.start();
        let steps = self.path.iter().copied().zip(deeds);
        take_again(self.machine, &mut self.state, steps, &mut self.differs, show)?;
        undone.compare_next(thread_of(&self.state, next)?, self.machine.subject)
    }

    /// What was different when steps were taken again, though the threads did the same. What they do next is still worth a look, but nothing is verified by that.
    pub(crate) fn take_difference(&mut self) -> Option<String> {
        self.differs.take()
    }
}

/// Takes steps from the start, which the state is at, and shows them. An error says which one is not what it was before. Values that are others than before are said first, too.
pub(crate) fn take_again<'d, S: Describe>(
    machine: &Machine<'_, S>,
    state: &mut State<S::Thread>,
    steps: impl Iterator<Item = (Step, &'d Deed)>,
    differs: &mut Option<String>,
    mut show: impl FnMut(usize, &Performed),
) -> Result<(), String> {
    let (subject, mut possible) = (machine.subject, Vec::new());
    for (at, (step, before)) in steps.enumerate() {
        let thread = thread_of(state, step)?;
        // Whose operation is another because of a value that is another is not to blame.
        before.compare_next(thread, subject).map_err(|why| differs.take().unwrap_or(why))?;
        if !machine.may_take(state, step, &mut possible) && !machine.last_resorts(state).contains(&step) {
            let (name, place) = (subject.name(&thread.local), subject.place(subject.span(&thread.local)));
            return Err(format!("{name} goes on at {place}; the next time it cannot"));
        }
        let done = machine.apply(state, step);
        let name = || subject.name(&state.threads[step.thread.index()].local);
        let other_values = before.compare(&done, subject, name).err();
        *differs = differs.take().or(other_values);
        show(at, &done);
    }
    Ok(())
}

fn thread_of<T>(state: &State<T>, step: Step) -> Result<&ThreadState<T>, String> {
    let thread = state.threads.get(step.thread.index());
    thread.ok_or_else(|| format!("thread {} was there before and is not this time", step.thread.0))
}
