//! The machine: performs steps on a state, under the rules of a memory model.
//!
//! Requires / ensures: [`Machine::steps`] lists exactly the steps that [`Machine::apply`] accepts. A step changes `shared`, the stepping
//! thread, and nothing else, except that a fork adds a thread at the end. Explicit-state search relies on that.

use super::{Dropped, Forwarding, Operation, Poll, Rules, Shared, State, Status, Subject, ThreadState, Waits};
use crate::base::{Action, Failure, FailureKind, Loc, Step, ThreadId};
use crate::program::{LockMode, Ordering, RmwOp};

/// A subject on a memory model.
pub struct Machine<'s, S> {
    /// What runs.
    pub subject: &'s S,
    /// On what.
    pub rules: Rules,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// The operation; nothing for a flush.
    pub operation: Option<Operation>,
    /// The value that a read, a read-modify-write, a choice, … returned.
    pub result: i64,
    /// The value that went to the buffer or to memory, and where.
    pub written: Option<(Loc, i64)>,
    /// Whether the written value went to the buffer only.
    pub buffered: bool,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Cells that the thread made after its operation, with their first values.
    pub created: Vec<(Loc, i64)>,
    /// Objects that the thread dropped after its operation.
    ///
    /// A drop is no step of its own. Between the operation and the drop the thread does nothing that others can see, so whatever can happen before the drop
    /// and after the operation can happen after both.
    pub dropped: Vec<Dropped>,
}

impl Performed {
    /// What the thread's history says of it: the result, or that it failed.
    pub fn history_entry(&self) -> i64 {
        if self.failure.is_some() { crate::base::FAILED } else { self.result }
    }
}

impl<'s, S: Subject> Machine<'s, S> {
    /// A machine under these rules.
    pub fn new(subject: &'s S, rules: Rules) -> Machine<'s, S> {
        Machine { subject, rules }
    }

    /// The state before anything ran.
    pub fn start(&self) -> State<S::Thread> {
        let mut shared = Shared::new(self.subject.initial_cells());
        let mut threads: Vec<_> =
            self.subject.initial().into_iter().map(|(key, local)| ThreadState::new(key, local)).collect();
        if self.subject.has_unseen() {
            shared.watch_accesses();
        }
        for thread in &mut threads {
            self.subject.take_new_cells(&mut thread.local, &mut |loc, value| shared.create(loc, value));
        }
        State { shared, threads }
    }

    /// Adds to `steps` every step that is possible, by thread, operations before flushes.
    pub fn steps(&self, state: &State<S::Thread>, steps: &mut Vec<Step>) {
        for index in 0..state.threads.len() {
            self.steps_of(state, ThreadId(index as u16), steps);
        }
        if steps.is_empty() {
            steps.extend(self.last_resorts(state));
        }
    }

    /// What can happen where nothing else can, though nothing has changed: any thread that waits for some time gives up; or else a thread that said that it spins takes
    /// another turn. When the execution is over, nobody gives up any more.
    pub fn last_resorts(&self, state: &State<S::Thread>) -> Vec<Step> {
        let step = |index: usize| Step { thread: ThreadId(index as u16), action: Action::Run };
        let waiting = |waits: Waits| {
            let is_one = move |&index: &usize| self.is_last_resort(state, ThreadId(index as u16), &waits);
            (0..state.threads.len()).filter(is_one).map(step)
        };
        let late: Vec<Step> = if self.subject.is_over(state) { Vec::new() } else { waiting(Waits::Timed).collect() };
        if late.is_empty() { waiting(Waits::Spinning).take(1).collect() } else { late }
    }

    /// Whether the thread waits like this, and could go on though what it waits for has not come about.
    fn is_last_resort(&self, state: &State<S::Thread>, thread: ThreadId, waits: &Waits) -> bool {
        let this = &state.threads[thread.index()];
        this.status == Status::Running
            && self.subject.waits(&this.local) == *waits
            && self.has_been_in_vain(state, thread)
            && match self.subject.operation(&this.local) {
                Operation::Reacquire { lock, .. } => state.shared.can_lock(lock, LockMode::Exclusive),
                _ => true,
            }
    }

    /// Whether what the thread waits for has not come about: its next operation is a last resort.
    pub fn has_been_in_vain(&self, state: &State<S::Thread>, thread: ThreadId) -> bool {
        match self.subject.operation(&state.threads[thread.index()].local) {
            Operation::Reacquire { condvar, .. } => !state.shared.is_notified(condvar, thread),
            _ => self.is_awaiting(state, thread),
        }
    }

    /// Adds to `steps` the steps of one thread. They depend on what is shared, on the thread and on its number alone, but for a thread
    /// that joins others.
    pub fn steps_of(&self, state: &State<S::Thread>, thread: ThreadId, steps: &mut Vec<Step>) {
        self.operation_steps(state, thread, steps);
        if self.bus_is_taken(state, thread) {
            return;
        }
        let flushes = state.threads[thread.index()].buffer.flushable(&self.rules);
        steps.extend(flushes.map(|at| Step { thread, action: Action::Flush(at as u8) }));
    }

    /// Whether the thread would store, but for the bound on its buffer.
    pub fn is_at_buffer_bound(&self, thread: &ThreadState<S::Thread>) -> bool {
        thread.status == Status::Running
            && thread.buffer.entries().len() >= self.rules.max_buffer
            && self.is_buffered(&self.subject.operation(&thread.local))
    }

    /// What a thread sees in a location.
    pub fn view(&self, state: &State<S::Thread>, thread: ThreadId, loc: Loc) -> i64 {
        let forwarded = state.threads[thread.index()].buffer.forward(loc, self.rules.forwarding);
        forwarded.unwrap_or_else(|| state.shared.read(loc))
    }

    /// Whether a step is possible.
    pub fn can_take(&self, state: &State<S::Thread>, step: Step) -> bool {
        self.may_take(state, step, &mut Vec::new())
    }

    /// Whether a step is possible, with room to work in.
    pub(crate) fn may_take(&self, state: &State<S::Thread>, step: Step, steps: &mut Vec<Step>) -> bool {
        match step.action {
            Action::Flush(at) => {
                let buffer = &state.threads[step.thread.index()].buffer;
                !self.bus_is_taken(state, step.thread) && buffer.flushable(&self.rules).any(|free| free == at as usize)
            }
            _ => {
                steps.clear();
                self.operation_steps(state, step.thread, steps);
                steps.contains(&step)
            }
        }
    }

    /// Adds to `steps` the ways in which a thread's next operation can be performed.
    pub fn operation_steps(&self, state: &State<S::Thread>, thread: ThreadId, steps: &mut Vec<Step>) {
        let this = &state.threads[thread.index()];
        if this.status != Status::Running || self.is_awaiting(state, thread) {
            return;
        }
        let operation = self.subject.operation(&this.local);
        if self.drains(state, thread, &operation) && !this.buffer.is_empty() {
            return;
        }
        if operation.loc().is_some() && !self.is_buffered(&operation) && self.bus_is_taken(state, thread) {
            return;
        }
        let mut choose = |value: i64| steps.push(Step { thread, action: Action::Choose(value) });
        let shared = &state.shared;
        let possible = match operation {
            Operation::Choose { low, high } => return (low..high).for_each(choose),
            Operation::Notify { condvar, all: false } if shared.waiters(condvar).count() > 1 => {
                return shared.waiters(condvar).for_each(|waiter| choose(waiter.0.into()));
            }
            Operation::Lock { lock, mode, .. } => shared.can_lock(lock, mode),
            Operation::Reacquire { condvar, lock } => {
                shared.is_notified(condvar, thread) && shared.can_lock(lock, LockMode::Exclusive)
            }
            Operation::Join { thread: key } => match state.threads.iter().find(|other| other.key == key) {
                Some(other) => other.status == Status::Ended,
                None => true,
            },
            Operation::JoinAll => state
                .threads
                .iter()
                .enumerate()
                .all(|(at, other)| at == thread.index() || other.status == Status::Ended),
            Operation::Stop => false,
            Operation::Read { loc, .. } => self.rules.forwarding != Forwarding::Blocked || !this.buffer.contains(loc),
            Operation::Write { .. } => !self.is_at_buffer_bound(this),
            _ => true,
        };
        if possible {
            steps.push(Step { thread, action: Action::Run });
        }
    }

    /// Whether the thread spins and nothing that it looks at has changed.
    pub fn is_awaiting(&self, state: &State<S::Thread>, thread: ThreadId) -> bool {
        let local = &state.threads[thread.index()].local;
        let (awaiting, polls) = (self.subject.awaiting(local), self.subject.polls(local));
        // A cell that was freed shows nothing at all: the next read of it fails.
        let shows = |loc, value| state.shared.check(loc).is_ok() && self.view(state, thread, loc) == value;
        !(awaiting.is_empty() && polls.is_empty())
            && awaiting.iter().all(|&(loc, value)| shows(loc, value))
            && self.subject.unseen(local).iter().all(|&(loc, writes)| {
                let underway = state.threads[thread.index()].buffer.entries().iter().filter(|entry| entry.loc == loc);
                state.shared.run_of(loc, thread) + underway.count() as u32 >= writes
            })
            && !polls.iter().any(|poll| match *poll {
                Poll::Free(lock, mode) => state.shared.can_lock(lock, mode),
                Poll::Visited(lock, times) => state.shared.visits_of(lock, thread) < times,
                Poll::Ended(key) => has_ended(state, key),
            })
    }

    /// Whether another thread keeps this one from memory.
    pub fn bus_is_taken(&self, state: &State<S::Thread>, thread: ThreadId) -> bool {
        let bus = self.subject.bus();
        bus.is_some_and(|bus| state.shared.holders(bus).any(|holder| holder != thread))
    }

    /// Whether the operation waits until the thread's buffer is empty.
    pub(crate) fn drains(&self, state: &State<S::Thread>, thread: ThreadId, operation: &Operation) -> bool {
        match operation {
            Operation::Read { .. }
            | Operation::Yield
            | Operation::Choose { .. }
            | Operation::Touch { .. }
            | Operation::HasEnded { .. }
            | Operation::Fail(_)
            | Operation::Stop => false,
            Operation::Write { ordering, .. } => *ordering == Ordering::SeqCst && self.rules.fence_drains,
            Operation::Fence { ordering } => *ordering == Ordering::SeqCst && self.rules.fence_drains,
            Operation::Rmw { op, .. } => self.rules.rmw_drains && *op != RmwOp::Draw,
            // An exchange at a place that does not exist has no old value to compare.
            Operation::Cas { loc, expected, .. } => {
                let fails = || state.shared.check(*loc).is_err() || self.view(state, thread, *loc) != *expected;
                self.rules.rmw_drains && (self.rules.failed_cas_drains || !fails())
            }
            _ => true,
        }
    }

    fn is_buffered(&self, operation: &Operation) -> bool {
        self.rules.delays_stores()
            && matches!(operation, Operation::Write { ordering, .. } if *ordering != Ordering::SeqCst)
    }

    /// Performs a step. Requires that [`Machine::steps`] lists it.
    pub fn apply(&self, state: &mut State<S::Thread>, step: Step) -> Performed {
        match step.action {
            Action::Flush(at) => self.flush(state, step.thread, at as usize),
            Action::Run => self.perform(state, step.thread, None),
            Action::Choose(value) => self.perform(state, step.thread, Some(value)),
        }
    }

    fn flush(&self, state: &mut State<S::Thread>, thread: ThreadId, at: usize) -> Performed {
        let entry = state.threads[thread.index()].buffer.flush(at);
        let dropped_by = state.shared.dropped_by(entry.loc);
        let failure = match dropped_by {
            // The thread itself: its store came before that, whenever it arrives.
            Some(by) if by == thread => None,
            Some(_) => Some(self.use_after_drop(state, thread, entry.loc)),
            None => state.shared.check(entry.loc).err(),
        };
        if failure.is_none() && dropped_by.is_none() {
            state.shared.write(entry.loc, entry.value);
            state.shared.note_access(entry.loc, thread, true);
        }
        let written = Some((entry.loc, entry.value));
        let (created, dropped) = Default::default();
        Performed { operation: None, result: 0, written, buffered: false, failure, created, dropped }
    }

    fn perform(&self, state: &mut State<S::Thread>, id: ThreadId, choice: Option<i64>) -> Performed {
        let operation = self.subject.operation(&state.threads[id.index()].local);
        let (mut created, mut dropped) = (Vec::new(), Vec::new());
        let n_threads = state.threads.len();
        let outcome = self.effect(state, id, &operation, choice, &mut created);
        let thread = &mut state.threads[id.index()];
        let (result, written, failure) = match outcome {
            Ok((result, written)) => (result, written, None),
            Err(failure) => (0, None, Some(failure)),
        };
        if failure.is_some() {
            thread.status = Status::Failed;
        } else if operation == Operation::End {
            thread.status = Status::Ended;
        } else {
            self.subject.resume(&mut thread.local, result);
            self.subject.take_new_cells(&mut thread.local, &mut |loc, value| created.push((loc, value)));
        }
        let buffered = written.is_some() && self.is_buffered(&operation);
        created.iter().for_each(|&(loc, value)| state.shared.create(loc, value));
        for at in std::iter::once(id.index()).chain(n_threads..state.threads.len()) {
            let State { shared, threads } = &mut *state;
            self.subject.take_dropped(&mut threads[at].local, &mut |end| {
                shared.drop_object(end.object, ThreadId(at as u16));
                dropped.push(end);
            });
        }
        Performed { operation: Some(operation), result, written, buffered, failure, created, dropped }
    }

    /// Does to memory, buffer and locks what the operation does. Gives its result and what it wrote.
    fn effect(
        &self,
        state: &mut State<S::Thread>,
        id: ThreadId,
        operation: &Operation,
        choice: Option<i64>,
        created: &mut Vec<(Loc, i64)>,
    ) -> Result<(i64, Option<(Loc, i64)>), Failure> {
        if let Some(gone) = self.dropped_in_use(state, id, operation) {
            return Err(self.use_after_drop(state, id, gone));
        }
        if let Operation::Count { loc, by: -1, .. } = *operation
            && self.view(state, id, loc) <= 0
        {
            return Err(self.use_after_drop(state, id, loc));
        }
        if let Some(loc) = operation.loc() {
            state.shared.check(loc)?;
            return Ok(self.access(state, id, operation, loc));
        }
        let shared = &mut state.shared;
        if let Some(lock) = operation.lock() {
            let refused = matches!(*operation, Operation::TryLock { mode, .. } if !shared.can_lock(lock, mode));
            shared.note_visit(lock, id, !refused, operation.tells_pollers());
        }
        let mut result = 0;
        match *operation {
            Operation::Fence { ordering: Ordering::Release | Ordering::AcqRel } => {
                self.barrier(&mut state.threads[id.index()]);
            }
            Operation::Lock { lock, mode, .. } => shared.lock(lock, mode, id),
            Operation::TryLock { lock, mode } if shared.can_lock(lock, mode) => {
                shared.lock(lock, mode, id);
                result = 1;
            }
            Operation::Unlock { lock, mode, .. } => require_held(shared.unlock(lock, mode, id))?,
            Operation::Downgrade { lock } => {
                require_held(shared.unlock(lock, LockMode::Exclusive, id))?;
                shared.lock(lock, LockMode::Shared, id);
            }
            Operation::Wait { condvar, lock } => {
                require_held(shared.unlock(lock, LockMode::Exclusive, id))?;
                shared.wait(condvar, id);
            }
            Operation::Reacquire { condvar, lock } => {
                result = (!shared.is_notified(condvar, id)).into();
                shared.wake(condvar, id);
                shared.lock(lock, LockMode::Exclusive, id);
            }
            Operation::Notify { condvar, all: true } => shared.notify(condvar, None),
            Operation::Notify { condvar, all: false } => {
                let chosen = choice.map(|thread| ThreadId(thread as u16)).or_else(|| shared.waiters(condvar).next());
                if let Some(waiter) = chosen {
                    shared.notify(condvar, Some(waiter));
                }
            }
            Operation::Fork { child } => {
                let mut local = self.subject.fork(&state.threads[id.index()].local);
                self.subject.take_new_cells(&mut local, &mut |loc, value| created.push((loc, value)));
                state.threads.push(ThreadState::new(child, local));
                result = child.0 as i64;
            }
            Operation::Join { thread } if !state.threads.iter().any(|other| other.key == thread) => {
                let message = format!("{} is not the handle of a thread", thread.0);
                return Err(Failure::new(FailureKind::InvalidJoin, message));
            }
            Operation::HasEnded { thread } => {
                result = has_ended(state, thread).into();
            }
            Operation::Free { block } if !shared.free(block) => {
                return Err(Failure::new(FailureKind::UseAfterFree, format!("{block} is freed a second time")));
            }
            Operation::Choose { .. } => result = choice.expect("a choice is made by the step"),
            Operation::Fail(_) => return Err(self.subject.failure(&state.threads[id.index()].local)),
            _ => {}
        }
        Ok((result, None))
    }

    /// An object that the operation uses and that has been dropped.
    pub(crate) fn dropped_in_use(&self, state: &State<S::Thread>, id: ThreadId, operation: &Operation) -> Option<Loc> {
        if !state.shared.has_dropped() {
            return None;
        }
        let local = &state.threads[id.index()].local;
        let (whole, through) = (self.subject.part_of(local), self.subject.through(local));
        operation
            .uses()
            .chain(whole)
            .chain(through.iter().copied())
            .find(|&used| state.shared.dropped_by(used).is_some())
    }

    /// A thread uses an object that has been dropped.
    fn use_after_drop(&self, state: &State<S::Thread>, id: ThreadId, object: Loc) -> Failure {
        let message = self.subject.use_after_drop(&state.threads[id.index()].local, object);
        Failure::new(FailureKind::UseAfterFree, message)
    }

    /// Reads and writes of cells.
    fn access(
        &self,
        state: &mut State<S::Thread>,
        id: ThreadId,
        operation: &Operation,
        loc: Loc,
    ) -> (i64, Option<(Loc, i64)>) {
        let old = self.view(state, id, loc);
        let is_forwarded = || state.threads[id.index()].buffer.contains(loc);
        if matches!(operation, Operation::Read { .. } | Operation::Cas { .. }) && !is_forwarded() {
            state.shared.note_access(loc, id, false);
        }
        let new = match *operation {
            Operation::Read { .. } | Operation::Touch { .. } => return (old, None),
            Operation::Count { by: 0, .. } => return (old, None),
            Operation::Count { by, .. } => old + by,
            Operation::Cas { expected, .. } if old != expected => return (old, None),
            Operation::Cas { desired, .. } => desired,
            Operation::Rmw { op, operand, .. } => op.apply(old, operand),
            Operation::Write { value, ordering, access, .. } => {
                let thread = &mut state.threads[id.index()];
                if ordering == Ordering::Release || ordering == Ordering::AcqRel {
                    self.barrier(thread);
                }
                if self.is_buffered(operation) {
                    thread.buffer.push(loc, value, access);
                    return (0, Some((loc, value)));
                }
                state.shared.write(loc, value);
                state.shared.note_access(loc, id, true);
                return (0, Some((loc, value)));
            }
            _ => unreachable!("only these have a location"),
        };
        state.shared.write(loc, new);
        state.shared.note_access(loc, id, new != old || !self.subject.may_be_silent(operation));
        (old, Some((loc, new)))
    }

    fn barrier(&self, thread: &mut ThreadState<S::Thread>) {
        if self.rules.reorders_stores() {
            thread.buffer.barrier();
        }
    }
}

impl<T> ThreadState<T> {
    fn new(key: crate::base::ThreadKey, local: T) -> ThreadState<T> {
        ThreadState { key, local, buffer: super::Buffer::default(), status: Status::Running }
    }
}

fn has_ended<T>(state: &State<T>, thread: crate::base::ThreadKey) -> bool {
    state.threads.iter().any(|other| other.key == thread && other.status == Status::Ended)
}

fn require_held(held: bool) -> Result<(), Failure> {
    match held {
        true => Ok(()),
        false => Err(Failure::new(FailureKind::LockMisuse, "a lock is released that the thread does not hold")),
    }
}
