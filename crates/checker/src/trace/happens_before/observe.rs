//! What a step of a machine means for the order of an execution: what it touches, waits for, and brings about.

use super::footprint::{Footprint, Mode, Object, Objects};
use super::gate::{Awaited, Gate};
use super::process::Label;
use super::{Holds, Order, Outcome, Taken};
use crate::base::{Action, Loc, Step, ThreadId};
use crate::execution::{Dropped, Machine, ObjectKind, Operation, Performed, Poll, State, Subject};
use crate::program::{LockMode, Ordering};
use smallvec::SmallVec;

/// Looks at a step before it is taken. An operation that may fail to write or to lock is taken to succeed, until [`performed`]
/// says what came of it.
pub(crate) fn observe<S: Subject>(
    machine: &Machine<'_, S>,
    objects: &mut Objects,
    order: &Order,
    state: &State<S::Thread>,
    step: Step,
    label: Label,
    operation: Option<&Operation>,
) -> Taken {
    let thread = &state.threads[step.thread.index()];
    let mut taken = Taken {
        label,
        thread: thread.key,
        footprint: Footprint::default(),
        value: 0,
        stored: None,
        flushed: None,
        drains: false,
        joins_all: false,
        barrier: false,
        holds: Holds::default(),
        tells_pollers: operation.is_some_and(Operation::tells_pollers),
        forks: None,
        notified: SmallVec::new(),
        gate: Gate::Open,
        outcome: Outcome::Fixed,
    };
    match operation {
        None => {
            let Action::Flush(at) = step.action else { return taken };
            let entry = &thread.buffer.entries()[at as usize];
            taken.flushed = Some(at);
            taken.value = entry.value;
            taken.footprint.whose = Some(thread.key);
            touch(&mut taken.footprint, objects, entry.loc, Mode::Write);
        }
        Some(operation) => {
            taken.drains = machine.drains(state, step.thread, operation);
            let mut observer = Observer { machine, objects, order, state, thread: step.thread, taken: &mut taken };
            observer.guard();
            observer.operation(operation, step);
            let (whole, through) = (machine.subject.part_of(&thread.local), machine.subject.through(&thread.local));
            for used in whole.into_iter().chain(through.iter().copied()) {
                taken.footprint.add(objects.cell(used), Mode::Read);
            }
        }
    }
    taken
}

/// Completes what was observed with what came of the step.
pub(crate) fn performed(taken: &mut Taken, performed: &Performed) {
    if let Some((_, value)) = performed.written {
        taken.value = value;
    }
    if performed.failure.is_some() {
        taken.holds = Holds::default();
    }
    match taken.outcome {
        Outcome::Exchange(_, cell, _) if performed.written.is_none() => taken.footprint.set(cell, Mode::Read),
        Outcome::Update(_, cell, ..) if performed.written.is_some_and(|(_, value)| value == performed.result) => {
            taken.footprint.set(cell, Mode::Read);
        }
        Outcome::TryLock(lock, _) if performed.result == 0 => {
            taken.holds = Holds::default();
            taken.footprint.set(lock, Mode::Read);
        }
        _ => {}
    }
}

/// The thread drops an object after its operation.
///
/// That conflicts with uses by other threads, as far as they come before. One that comes later fails, and is a violation: there is nothing to reverse. So an object that no other thread has used in
/// this execution need not be looked at, and most are of that kind.
pub(crate) fn end(taken: &mut Taken, objects: &Objects, order: &Order, &Dropped { object, kind }: &Dropped) {
    let number = object.as_global().unwrap_or_default() as u32;
    let cell = objects.known_cell(object).filter(|_| kind != ObjectKind::Condvar);
    let other = match kind {
        ObjectKind::Cell => None,
        ObjectKind::Lock => objects.known_lock(number),
        ObjectKind::Condvar => objects.known_condvar(number),
    };
    let is_shared = |object: &Object| order.chain(*object).any(|(at, _)| order.events[at].thread != taken.thread);
    let shared: SmallVec<[Object; 2]> = cell.into_iter().chain(other).filter(is_shared).collect();
    for object in shared {
        taken.footprint.whose = Some(taken.thread);
        taken.footprint.add(object, Mode::End);
    }
}

/// A cell; and its block, which must not have been freed.
fn touch(footprint: &mut Footprint, objects: &mut Objects, loc: Loc, mode: Mode) {
    footprint.add(objects.cell(loc), mode);
    alive(footprint, objects, loc);
}

fn alive(footprint: &mut Footprint, objects: &mut Objects, loc: Loc) {
    if let Some(block) = loc.block() {
        footprint.add(objects.block(block), Mode::Read);
    }
}

struct Observer<'a, 'm, S: Subject> {
    machine: &'a Machine<'m, S>,
    objects: &'a mut Objects,
    order: &'a Order,
    state: &'a State<S::Thread>,
    thread: ThreadId,
    taken: &'a mut Taken,
}

impl<S: Subject> Observer<'_, '_, S> {
    /// A thread that spins goes on when one of the cells that it read has changed.
    fn guard(&mut self) {
        let local = &self.state.threads[self.thread.index()].local;
        let (awaiting, polls) = (self.machine.subject.awaiting(local), self.machine.subject.polls(local));
        if awaiting.is_empty() && polls.is_empty() {
            return;
        }
        let mut cells = Vec::new();
        for &(loc, value) in awaiting {
            let mode = self.read(loc);
            touch(&mut self.taken.footprint, self.objects, loc, mode);
            let block = loc.block().map(|block| self.objects.block(block));
            cells.push(Awaited { loc, cell: self.objects.cell(loc), block, value, writes: 0 });
        }
        for &(loc, writes) in self.machine.subject.unseen(local) {
            touch(&mut self.taken.footprint, self.objects, loc, Mode::Look);
            for awaited in cells.iter_mut().filter(|awaited| awaited.loc == loc) {
                awaited.writes = writes;
            }
        }
        let mut polled = Vec::new();
        for &poll in polls {
            let (object, mode) = match poll {
                Poll::Free(lock, _) | Poll::Visited(lock, _) => (self.objects.lock(lock), Mode::Look),
                Poll::Ended(thread) => (self.objects.thread(thread), Mode::Read),
            };
            self.taken.footprint.add(object, mode);
            polled.push((poll, object));
        }
        self.taken.gate = Gate::Changed(cells, polled);
    }

    /// How the thread reads a cell: from memory, or a store of its own.
    fn read(&mut self, loc: Loc) -> Mode {
        if !self.machine.rules.delays_stores() {
            return Mode::Read;
        }
        let thread = &self.state.threads[self.thread.index()];
        let waiting = thread.buffer.entries().iter().filter(|entry| entry.loc == loc).count();
        let cell = self.objects.cell(loc);
        let newest = self.order.chain(cell).find(|touch| touch.1 == Mode::Write);
        match newest {
            _ if waiting > 0 => Mode::Own(waiting as u8),
            Some((at, _)) if self.order.events[at].thread == thread.key => Mode::Own(0),
            _ => Mode::Read,
        }
    }

    fn operation(&mut self, operation: &Operation, step: Step) {
        match *operation {
            Operation::Read { loc, .. } => {
                let mode = self.read(loc);
                touch(&mut self.taken.footprint, self.objects, loc, mode);
            }
            Operation::Write { loc, value, ordering, .. } => self.write(loc, value, ordering),
            Operation::Rmw { loc, op, operand, .. } => {
                touch(&mut self.taken.footprint, self.objects, loc, Mode::Write);
                if self.machine.subject.may_be_silent(operation) {
                    self.taken.outcome = Outcome::Update(loc, self.objects.cell(loc), op, operand);
                }
            }
            Operation::Touch { loc, writes } => {
                let mode = if writes { Mode::Write } else { Mode::Read };
                touch(&mut self.taken.footprint, self.objects, loc, mode);
            }
            Operation::Count { loc, by, sees_last, .. } => {
                let mode = Mode::of_count(self.state.shared.read(loc), by, sees_last);
                self.taken.footprint.add(self.objects.cell(loc), mode);
            }
            Operation::Cas { loc, expected, .. } => {
                touch(&mut self.taken.footprint, self.objects, loc, Mode::Write);
                self.taken.outcome = Outcome::Exchange(loc, self.objects.cell(loc), expected);
            }
            Operation::Fence { ordering } => {
                self.taken.barrier = matches!(ordering, Ordering::Release | Ordering::AcqRel);
            }
            Operation::Fork { child } => {
                self.taken.forks = Some(child);
                self.taken.footprint.add(self.objects.thread(child), Mode::Write);
            }
            Operation::Join { thread } => {
                let object = self.objects.thread(thread);
                self.taken.footprint.add(object, Mode::Read);
                self.taken.gate = Gate::Ended(thread, object);
            }
            Operation::HasEnded { thread } => self.taken.footprint.add(self.objects.thread(thread), Mode::Read),
            Operation::JoinAll => self.taken.joins_all = true,
            Operation::End => {
                let object = self.objects.thread(self.taken.thread);
                self.taken.footprint.add(object, Mode::Write);
            }
            Operation::Free { block } => self.taken.footprint.add(self.objects.block(block), Mode::Write),
            Operation::Yield | Operation::Choose { .. } | Operation::Fail(_) | Operation::Stop => {}
            ref other => self.lock_operation(other, step),
        }
    }

    fn write(&mut self, loc: Loc, value: i64, ordering: Ordering) {
        self.taken.value = value;
        let buffered = self.machine.rules.delays_stores() && ordering != Ordering::SeqCst;
        self.taken.barrier = matches!(ordering, Ordering::Release | Ordering::AcqRel);
        if buffered {
            self.taken.stored = Some((loc, self.objects.cell(loc)));
            alive(&mut self.taken.footprint, self.objects, loc);
        } else {
            touch(&mut self.taken.footprint, self.objects, loc, Mode::Write);
        }
    }

    fn lock_operation(&mut self, operation: &Operation, step: Step) {
        let touch = |mode| if mode == LockMode::Shared { Mode::Share } else { Mode::Write };
        let objects = &mut *self.objects;
        let footprint = &mut self.taken.footprint;
        match *operation {
            Operation::Lock { lock: index, mode, .. } => {
                footprint.add(objects.lock(index), touch(mode));
                self.taken.holds = Holds::new(mode, 1);
                self.taken.gate = Gate::Lock(objects.lock(index), mode);
            }
            Operation::TryLock { lock: index, mode } => {
                footprint.add(objects.lock(index), touch(mode));
                self.taken.holds = Holds::new(mode, 1);
                self.taken.outcome = Outcome::TryLock(objects.lock(index), mode);
            }
            Operation::Unlock { lock: index, mode, .. } => {
                footprint.add(objects.lock(index), touch(mode));
                self.taken.holds = Holds::new(mode, -1);
            }
            Operation::Downgrade { lock: index } => {
                footprint.add(objects.lock(index), Mode::Write);
                self.taken.holds = Holds { alone: -1, shared: 1 };
            }
            Operation::Wait { condvar, lock: index } => {
                footprint.add(objects.lock(index), Mode::Write);
                footprint.add(objects.condvar(condvar), Mode::Read);
                self.taken.holds = Holds::new(LockMode::Exclusive, -1);
            }
            Operation::Reacquire { condvar, lock: index } => {
                footprint.add(objects.lock(index), Mode::Write);
                footprint.add(objects.condvar(condvar), Mode::Read);
                self.taken.holds = Holds::new(LockMode::Exclusive, 1);
                self.taken.gate = Gate::Notified(objects.lock(index));
            }
            Operation::Notify { condvar, all } => {
                footprint.add(objects.condvar(condvar), Mode::Write);
                self.taken.notified = self.notified(condvar, all, step);
            }
            _ => {}
        }
    }

    /// The threads that a notify wakes.
    fn notified(&self, condvar: u32, all: bool, step: Step) -> SmallVec<[crate::base::ThreadKey; 2]> {
        let shared = &self.state.shared;
        let key = |thread: ThreadId| self.state.threads[thread.index()].key;
        match step.action {
            _ if all => shared.waiters(condvar).map(key).collect(),
            Action::Choose(waiter) => [key(ThreadId(waiter as u16))].into_iter().collect(),
            _ => shared.waiters(condvar).take(1).map(key).collect(),
        }
    }
}
