//! Borderline executions (Burckhardt and Musuvathi, *Effective program verification for relaxed memory models*, CAV 2008): SC executions that
//! one more event turns into an execution of TSO or PSO that SC does not have.
//!
//! *A trace* is what `dpor` counts: program order, reads-from, coherence, and the order of what is done to locks, condition variables, threads and
//! heap blocks. What a spinning thread looked at before it went on is part of its next step.
//!
//! Let E be the trace of an SC execution so far, and let a thread's next event be a load that could read an earlier write. With that write, the
//! trace is one of SC iff no write that the load misses happens before the thread's last event, and one of TSO iff none of them does under TSO's
//! happens-before, and none is the thread's own (the paper's Lemma 1). The first is asked of one vector clock and the second of another (`clocks.rs`).
//!
//! *PSO.* The paper stops at TSO, where a trace can always be built up so that only loads turn out non-SC: stores in the order in which they reach memory.
//! Where stores overtake one another there is no such order that every thread's program order fits, too. But a smallest trace that is not
//! SC has an event that comes last in its thread and that nobody reads, without which it is SC: a load, or a store, or a read-modify-write, which some
//! store that happens before it has come after in memory. So those are asked for too: can this store have arrived before one that happens before it? Nothing
//! may come between a read-modify-write and what it reads. Locks and the like never are that event: they act in
//! one order that everything agrees with.

use super::super::footprint::{Mode, Object};
use super::super::gate::Gate;
use super::super::happens_before::{Outcome, Taken};
use super::clocks::{After, Clock, Clocks, Moment, Stamp, counts};
use crate::execution::{MemoryModel, Operation, ThreadKey};
use smallvec::SmallVec;

/// Watches one SC execution, event by event. Events can be taken back in reverse order.
pub(super) struct Borderline {
    memory: MemoryModel,
    /// Happens-before of SC.
    full: Clocks,
    /// Happens-before of the memory model in question.
    weak: Clocks,
    threads: Vec<ThreadKey>,
    /// For each object, what was written, in order.
    writes: Vec<Vec<Written>>,
    initial: Vec<i64>,
    frames: Vec<Frame>,
}

/// How an event could have gone otherwise: for each object, how many of its writes come before the event.
pub(super) type Positions = SmallVec<[(Object, usize); 2]>;

struct Written {
    thread: u16,
    /// It can wait in a buffer.
    is_store: bool,
    /// It reads what it replaces.
    updates: bool,
    value: i64,
    full: (Clock, Stamp),
    weak: (Clock, Stamp),
}

/// What an event changed.
struct Frame {
    full: usize,
    weak: usize,
    n_threads: usize,
    written: SmallVec<[Object; 2]>,
}

/// An object that an event touches, and the least position that it can have there.
struct Choice {
    object: Object,
    least: usize,
    inserts: bool,
}

impl Borderline {
    pub(super) fn new(memory: MemoryModel, initial: Vec<i64>) -> Borderline {
        let (full, weak) = (Clocks::new(MemoryModel::Sc), Clocks::new(memory));
        Borderline { memory, full, weak, threads: Vec::new(), writes: Vec::new(), initial, frames: Vec::new() }
    }

    /// Adds the next event of the execution. Says how it could have gone otherwise, if the execution before it is borderline.
    pub(super) fn add(&mut self, taken: &Taken, operation: &Operation) -> Option<Positions> {
        let n_threads = self.threads.len();
        let thread = self.thread(taken.thread);
        let child = taken.forks.map(|key| self.thread(key));
        if let Some(object) = taken.footprint.accesses.iter().map(|access| access.object as usize).max()
            && self.writes.len() <= object
        {
            self.writes.resize_with(object + 1, Vec::new);
        }
        let otherwise = self.otherwise(taken, operation, thread);
        let is_store = matches!(operation, Operation::Write { .. }) && !taken.drains;
        let moment = Moment { thread, taken, is_store, child };
        let mut frame = Frame { full: self.full.mark(), weak: self.weak.mark(), n_threads, written: SmallVec::new() };
        let writes = &self.writes;
        let sees_own = |object: Object| {
            writes[object as usize].last().is_some_and(|newest| newest.is_store && newest.thread == thread)
        };
        let weak = self.weak.add(&moment, sees_own);
        let full = self.full.add(&moment, |_| false);
        let updates = matches!(operation, Operation::Rmw { .. } | Operation::Cas { .. });
        for access in taken.footprint.accesses.iter().filter(|access| access.mode == Mode::Write) {
            let (full, weak, value) = (full.clone(), weak.clone(), taken.value);
            self.writes[access.object as usize].push(Written { thread, is_store, updates, value, full, weak });
            frame.written.push(access.object);
        }
        self.frames.push(frame);
        otherwise
    }

    /// Takes the last event back.
    pub(super) fn undo(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.full.undo(frame.full);
        self.weak.undo(frame.weak);
        self.threads.truncate(frame.n_threads);
        for object in frame.written {
            self.writes[object as usize].pop();
        }
    }

    /// How many events there have been.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    fn thread(&mut self, key: ThreadKey) -> u16 {
        let known = self.threads.iter().position(|&other| other == key);
        known.unwrap_or_else(|| {
            self.threads.push(key);
            self.threads.len() - 1
        }) as u16
    }

    /// How the event could go otherwise, so that it makes a trace that the memory model has and SC does not.
    fn otherwise(&self, taken: &Taken, operation: &Operation, thread: u16) -> Option<Positions> {
        let stores_overtake = self.memory == MemoryModel::Pso;
        let after = match operation {
            Operation::Rmw { .. } | Operation::Write { .. } if !stores_overtake => return None,
            Operation::Rmw { .. } | Operation::Cas { .. } => After::Stores,
            Operation::Write { .. } if taken.drains || taken.barrier => After::Stores,
            Operation::Write { .. } => After::Barrier,
            _ if taken.drains => return None,
            _ => After::Loads,
        };
        let mut choices: SmallVec<[Choice; 2]> = SmallVec::new();
        let mut any_is_missed = false;
        for access in &taken.footprint.accesses {
            let (object, inserts) = (access.object, access.mode == Mode::Write);
            let least = self.least(object, thread, after);
            let writes = &self.writes[object as usize];
            any_is_missed |= least < writes.len();
            choices.push(Choice { object, least, inserts });
        }
        if !any_is_missed {
            return None;
        }
        let mut positions = Positions::new();
        self.search(&choices, &mut positions, taken, thread).then_some(positions)
    }

    /// The least number of an object's writes that must come before a thread's next event: its own, and those that happen before it.
    fn least(&self, object: Object, thread: u16, after: After) -> usize {
        let must_be =
            |written: &Written| written.thread == thread || self.weak.is_before(written.weak.1, thread, after);
        self.writes[object as usize].iter().rposition(must_be).map_or(0, |at| at + 1)
    }

    /// Tries all positions, the latest first.
    fn search(&self, choices: &[Choice], positions: &mut Positions, taken: &Taken, thread: u16) -> bool {
        let Some(choice) = choices.get(positions.len()) else {
            return self.is_open(taken, positions) && self.is_not_sc(positions, thread);
        };
        for position in (choice.least..=self.writes[choice.object as usize].len()).rev() {
            positions.push((choice.object, position));
            if self.fits(choice, position, taken)
                && self.agree(positions, taken, thread)
                && self.search(choices, positions, taken, thread)
            {
                return true;
            }
            positions.pop();
        }
        false
    }

    /// Whether the event can stand at this position of an object at all.
    fn fits(&self, choice: &Choice, position: usize, taken: &Taken) -> bool {
        let next = self.writes[choice.object as usize].get(position);
        let writes = match taken.outcome {
            Outcome::Exchange(_, cell, expected) if cell == choice.object => self.value(cell, position) == expected,
            _ => choice.inserts,
        };
        match next {
            Some(next) if writes => self.memory == MemoryModel::Pso && !next.updates,
            _ => true,
        }
    }

    /// Whether no write that the event misses happens before one that it sees. A load may see its own thread's store in the buffer.
    fn agree(&self, positions: &Positions, taken: &Taken, thread: u16) -> bool {
        let missed = |&(object, position): &(Object, usize)| self.writes[object as usize].get(position);
        let seen = |&(object, position): &(Object, usize)| {
            let seen = self.writes[object as usize][..position].last()?;
            let is_forwarded = || taken.footprint.mode(object) == Some(Mode::Read) && !taken.drains;
            (!(seen.is_store && seen.thread == thread && is_forwarded())).then_some(seen)
        };
        let conflict = |missed: &Written, seen: &Written| counts(&seen.weak.0, missed.weak.1);
        !positions
            .iter()
            .filter_map(missed)
            .any(|missed| positions.iter().filter_map(seen).any(|seen| conflict(missed, seen)))
    }

    /// Whether a thread that spins would go on.
    fn is_open(&self, taken: &Taken, positions: &Positions) -> bool {
        let Gate::Changed(cells) = &taken.gate else { return true };
        positions.iter().any(|&(object, position)| {
            let mut awaited = cells.iter().filter(|awaited| awaited.cell == object);
            awaited.any(|awaited| self.value(object, position) != awaited.value)
        })
    }

    /// Whether some write that the event misses happens before it under SC.
    fn is_not_sc(&self, positions: &Positions, thread: u16) -> bool {
        positions.iter().any(|&(object, position)| {
            let Some(missed) = self.writes[object as usize].get(position) else { return false };
            let is_seen = |&(object, position): &(Object, usize)| {
                let seen = self.writes[object as usize][..position].last();
                seen.is_some_and(|seen| counts(&seen.full.0, missed.full.1))
            };
            self.full.is_before(missed.full.1, thread, After::Stores) || positions.iter().any(is_seen)
        })
    }

    /// The value of a cell after so many writes.
    fn value(&self, object: Object, position: usize) -> i64 {
        match position.checked_sub(1) {
            Some(at) => self.writes[object as usize][at].value,
            None => self.initial.get(object as usize).copied().unwrap_or(0),
        }
    }
}
