//! A program with some delays built in, run by the machine that has them all.
//!
//! The machine is that of the memory model. A store that may not wait is flushed at once. One that may, and every store behind it, stays in the buffer
//! until it is flushed by a step of its own; a load goes ahead only if all stores that wait may wait for it. Filling
//! a buffer is invisible to other threads, so a thread goes on with its stores until it comes to something else.

use super::delays::{Delays, Site, site};
use crate::base::{Action, Loc, Step, ThreadId};
use crate::execution::{Comparable, Machine, MemoryModel, Operation, Performed, State};
use crate::program::{LockMode, Ordering};
use smallvec::SmallVec;

/// What to search.
pub(crate) struct Plan {
    /// The memory model. Delays that are built in are TSO's.
    pub(crate) memory: MemoryModel,
    pub(crate) delays: Delays,
    pub(crate) bound: usize,
    pub(crate) eager: bool,
    /// Whether to look for attacks.
    pub(crate) attacks: bool,
    /// Whether steps that are independent of all other threads go first.
    pub(crate) reduces: bool,
}

/// The program with its delays.
pub(crate) struct Emulation<'a, S> {
    pub(crate) machine: Machine<'a, S>,
    pub(crate) delays: Delays,
    /// Most stores that wait in one buffer.
    pub(crate) bound: usize,
    /// Whether threads go on with their stores by themselves. Where races matter, threads have to be seen at their stores.
    pub(crate) eager: bool,
}

/// Something that steps touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Object {
    Cell(Loc),
    Block(Loc),
    Lock(u32),
    Condvar(u32),
    Thread(u64),
}

/// How a step touches an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Sees what was there.
    Read,
    /// Changes it in a way that other sharers do not see: a shared lock.
    Share,
    /// Changes it.
    Write,
}

impl Mode {
    /// Whether the order of two steps that touch the same object so can be told.
    pub(crate) fn conflicts(self, other: Mode) -> bool {
        self != other || self == Mode::Write
    }
}

/// What a step touches, and how.
pub(crate) type Touched = SmallVec<[(Object, Mode); 2]>;

/// Whether an operation only fills the thread's buffer.
pub(crate) fn is_buffered(operation: &Operation) -> bool {
    operation.is_write() && operation.ordering() != Some(Ordering::SeqCst)
}

impl<'a, S: Comparable> Emulation<'a, S> {
    pub(crate) fn new(subject: &'a S, plan: Plan) -> Emulation<'a, S> {
        let Plan { memory, delays, bound, eager, .. } = plan;
        let machine = Machine::new(subject, memory.rules().unbounded());
        Emulation { machine, delays, bound, eager }
    }

    /// Whether a thread that is at a load may go ahead of all the stores that wait.
    pub(crate) fn may_read(&self, load: Site, waiting: impl IntoIterator<Item = Site>) -> bool {
        waiting.into_iter().all(|store| self.delays.allow(store, load))
    }

    /// Whether the thread would store but for the bound on its buffer.
    pub(crate) fn is_full(&self, operation: &Operation, n_waiting: usize) -> bool {
        n_waiting >= self.bound && is_buffered(operation)
    }

    /// Lets a thread perform its operation, and go on as long as its steps are invisible to others. Requires that the machine can take the step. Notes every
    /// step of the machine.
    pub(crate) fn perform(
        &self,
        state: &mut State<S::Thread>,
        sites: &mut Vec<Site>,
        step: Step,
        steps: &mut Vec<Step>,
    ) -> Performed {
        let at = self.site(state, step.thread);
        let performed = self.machine.apply(state, step);
        steps.push(step);
        match step.action {
            Action::Flush(_) => drop(sites.remove(0)),
            _ if !performed.buffered => {}
            _ if sites.is_empty() && !self.delays.may_wait(at) => {
                let flush = Step { thread: step.thread, action: Action::Flush(0) };
                self.machine.apply(state, flush);
                steps.push(flush);
            }
            _ => sites.push(at),
        }
        self.fill(state, sites, step.thread, steps);
        performed
    }

    /// Lets a thread go on with stores that may wait.
    pub(crate) fn fill(
        &self,
        state: &mut State<S::Thread>,
        sites: &mut Vec<Site>,
        thread: ThreadId,
        steps: &mut Vec<Step>,
    ) {
        let run = Step { thread, action: Action::Run };
        while self.eager && sites.len() < self.bound {
            let at = self.site(state, thread);
            let waits = !sites.is_empty() || self.delays.may_wait(at);
            let operation = self.machine.subject.operation(&state.threads[thread.index()].local);
            // A store that fails is a step of its own.
            let exists = operation.loc().is_some_and(|loc| state.shared.check(loc).is_ok());
            if !waits || !exists || !is_buffered(&operation) || !self.machine.can_take(state, run) {
                return;
            }
            self.machine.apply(state, run);
            sites.push(at);
            steps.push(run);
        }
    }

    pub(crate) fn site(&self, state: &State<S::Thread>, thread: ThreadId) -> Site {
        site(self.machine.subject, &state.threads[thread.index()].local)
    }

    /// What an operation touches. A store that waits, or a load that sees one, is invisible to others: then it is not done `at_once`.
    pub(crate) fn touched(
        &self,
        state: &State<S::Thread>,
        thread: ThreadId,
        operation: &Operation,
        performed: &Performed,
        at_once: bool,
    ) -> Touched {
        let others = state.threads.iter().map(|other| other.key.0);
        let thread = state.threads[thread.index()].key.0;
        let mut touched = Touched::new();
        match *operation {
            Operation::Read { loc, .. } if at_once => touch_cell(&mut touched, loc, Mode::Read),
            Operation::Write { loc, .. } if at_once => touch_cell(&mut touched, loc, Mode::Write),
            Operation::Rmw { loc, .. } => touch_cell(&mut touched, loc, Mode::Write),
            Operation::Cas { loc, .. } => {
                let mode = if performed.written.is_some() { Mode::Write } else { Mode::Read };
                touch_cell(&mut touched, loc, mode);
            }
            // Each access to memory conflicts with the thread that holds the bus.
            Operation::Lock { lock, .. } | Operation::Unlock { lock, .. }
                if self.machine.subject.bus() == Some(lock) => {}
            Operation::Lock { lock, mode, .. } | Operation::Unlock { lock, mode, .. } => {
                touched.push((Object::Lock(lock), lock_mode(mode)));
            }
            Operation::TryLock { lock, mode } => {
                let mode = if performed.result == 1 { lock_mode(mode) } else { Mode::Read };
                touched.push((Object::Lock(lock), mode));
            }
            Operation::Wait { condvar, lock } | Operation::Reacquire { condvar, lock } => {
                touched.extend([(Object::Lock(lock), Mode::Write), (Object::Condvar(condvar), Mode::Write)]);
            }
            Operation::Notify { condvar, .. } => touched.push((Object::Condvar(condvar), Mode::Write)),
            Operation::Fork { child } => touched.push((Object::Thread(child.0), Mode::Write)),
            Operation::Join { thread } => touched.push((Object::Thread(thread.0), Mode::Read)),
            Operation::JoinAll => touched.extend(others.map(|other| (Object::Thread(other), Mode::Read))),
            Operation::End => touched.push((Object::Thread(thread), Mode::Write)),
            Operation::Free { block } => touched.push((Object::Block(block), Mode::Write)),
            _ => {}
        }
        touched
    }
}

/// The block of a cell, which must not have been freed. Numbered cells never are.
pub(crate) fn touch_block(touched: &mut Touched, loc: Loc) {
    let block = loc.block().filter(|_| !loc.is_numbered());
    touched.extend(block.map(|block| (Object::Block(block), Mode::Read)));
}

/// A cell and its block, alone.
pub(crate) fn touched_cell(loc: Loc, mode: Mode) -> Touched {
    let mut touched = Touched::new();
    touch_cell(&mut touched, loc, mode);
    touched
}

/// A cell and its block.
pub(crate) fn touch_cell(touched: &mut Touched, loc: Loc, mode: Mode) {
    touched.push((Object::Cell(loc), mode));
    touch_block(touched, loc);
}

fn lock_mode(mode: LockMode) -> Mode {
    match mode {
        LockMode::Exclusive => Mode::Write,
        LockMode::Shared => Mode::Share,
    }
}
