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
//! SC has an event that comes last in its thread and that no event reads, without which it is SC: a load, or a store, or a read-modify-write, which some
//! store that happens before it has come after in memory. So those are asked for too: can this store have arrived before one that happens before it? Nothing
//! may come between a read-modify-write and what it reads. Locks and the like never are that event: they act in
//! one order that everything agrees with. A free could be, but only of a block that a store may still be on its way to; that is asked by itself.

use super::clocks::{After, Clocks, EventId};
use crate::base::ThreadKey;
use crate::execution::{MemoryModel, Operation};
use crate::trace::happens_before::footprint::{Mode, Object};
use crate::trace::happens_before::gate::Gate;
use crate::trace::happens_before::{Outcome, Taken};
use smallvec::SmallVec;

/// Watches one SC execution, event by event. Events can be taken back in reverse order.
pub(super) struct Borderline {
    memory: MemoryModel,
    clocks: Clocks,
    threads: Vec<ThreadKey>,
    /// For each object, the events that wrote it, in order.
    writes: Vec<Vec<EventId>>,
    initial: Vec<i64>,
}

/// How an event could have gone otherwise: for each object, how many of its writes come before the event.
pub(super) type Positions = SmallVec<[(Object, usize); 2]>;

/// An object that an event touches, and the least position that it can have there.
struct Choice {
    object: Object,
    least: usize,
    inserts: bool,
}

impl Borderline {
    pub(super) fn new(memory: MemoryModel, initial: Vec<i64>) -> Borderline {
        Borderline { memory, clocks: Clocks::new(memory), threads: Vec::new(), writes: Vec::new(), initial }
    }

    /// Adds the next event of the execution. Says how it could have gone otherwise, if the execution before it is borderline.
    pub(super) fn add(&mut self, taken: &Taken, operation: &Operation) -> Option<Positions> {
        let thread = self.thread(taken.thread);
        self.make_room(taken);
        let otherwise = self.otherwise(taken, operation, thread);
        self.enter(taken, operation);
        otherwise
    }

    /// Adds the next event of the execution.
    pub(super) fn enter(&mut self, taken: &Taken, operation: &Operation) {
        let thread = self.thread(taken.thread);
        let child = taken.forks.map(|key| self.thread(key));
        self.make_room(taken);
        let id = self.clocks.len() as EventId;
        self.clocks.add(thread, child, taken, operation);
        for access in taken.footprint.accesses.iter().filter(|access| access.mode == Mode::Write) {
            self.writes[access.object as usize].push(id);
        }
    }

    fn make_room(&mut self, taken: &Taken) {
        for access in &taken.footprint.accesses {
            if self.writes.len() <= access.object as usize {
                self.writes.resize_with(access.object as usize + 1, Vec::new);
            }
        }
    }

    /// Whether the next event frees a block while a store of another thread to it may not have arrived.
    pub(super) fn frees_too_early(&mut self, taken: &Taken, operation: &Operation) -> bool {
        if operation.freed().is_none() {
            return false;
        }
        let thread = self.thread(taken.thread);
        let mut touches = taken.footprint.accesses.iter().flat_map(|access| self.clocks.touches_since(access.object));
        touches.any(|touch| {
            let event = self.clocks.event(touch);
            event.is_store && event.thread != thread && !self.clocks.is_weakly_before_next(touch, thread, After::Stores)
        })
    }

    /// Takes the last event back.
    pub(super) fn undo(&mut self) {
        let writes = &mut self.writes;
        self.clocks.undo(|object| _ = writes[object as usize].pop());
        self.threads.truncate(self.clocks.n_threads());
    }

    /// How many events there have been.
    pub(super) fn len(&self) -> usize {
        self.clocks.len()
    }

    fn thread(&mut self, key: ThreadKey) -> u16 {
        let known = self.threads.iter().position(|&other| other == key);
        known.unwrap_or_else(|| {
            self.threads.push(key);
            self.threads.len() - 1
        }) as u16
    }

    fn writes(&self, object: Object) -> &[EventId] {
        &self.writes[object as usize]
    }

    /// What of its own thread an event comes after, if it is one of those that could go otherwise.
    fn after(&self, taken: &Taken, operation: &Operation) -> Option<After> {
        let stores_overtake = self.memory.reorders_stores();
        // A compare-exchange may turn out to be a load.
        let always_stores = operation.is_write() || operation.operand().is_some();
        if taken.footprint.accesses.is_empty() || always_stores && !stores_overtake {
            None
        } else if operation.is_update() || operation.is_write() && (taken.drains || taken.barrier) {
            Some(After::Stores)
        } else if operation.is_write() {
            Some(After::Held)
        } else {
            (!taken.drains).then_some(After::Loads)
        }
    }

    /// Whether there is anything to ask about an event.
    pub(super) fn asks(&self, taken: &Taken, operation: &Operation) -> bool {
        operation.freed().is_some() || self.after(taken, operation).is_some()
    }

    /// How the event could go otherwise, so that it makes a trace that the memory model has and SC does not.
    fn otherwise(&self, taken: &Taken, operation: &Operation, thread: u16) -> Option<Positions> {
        let after = self.after(taken, operation)?;
        let accesses = &taken.footprint.accesses;
        if let [access] = accesses[..] {
            // The common case: if any write that is missed happens before the event, then the first does.
            let missed = self.writes(access.object).get(self.least(access.object, thread, after));
            if !missed.is_some_and(|&missed| self.clocks.is_before_next(missed, thread)) {
                return None;
            }
        }
        let choices: SmallVec<[Choice; 2]> = accesses
            .iter()
            .map(|access| {
                let least = self.least(access.object, thread, after);
                Choice { object: access.object, least, inserts: access.mode == Mode::Write }
            })
            .collect();
        let mut positions = Positions::new();
        self.search(&choices, &mut positions, taken, thread).then_some(positions)
    }

    /// The least number of an object's writes that must come before a thread's next event: its own, and those that happen before it.
    fn least(&self, object: Object, thread: u16, after: After) -> usize {
        let must_be = |&write: &EventId| {
            self.clocks.event(write).thread == thread || self.clocks.is_weakly_before_next(write, thread, after)
        };
        self.writes(object).iter().rposition(must_be).map_or(0, |at| at + 1)
    }

    /// Tries all positions, the latest first.
    fn search(&self, choices: &[Choice], positions: &mut Positions, taken: &Taken, thread: u16) -> bool {
        let Some(choice) = choices.get(positions.len()) else {
            return self.is_open(taken, positions) && self.is_not_sc(positions, thread);
        };
        for position in (choice.least..=self.writes(choice.object).len()).rev() {
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
        let next = self.writes(choice.object).get(position).map(|&next| self.clocks.event(next));
        let writes = match taken.outcome {
            Outcome::Exchange(_, cell, expected) if cell == choice.object => self.value(cell, position) == expected,
            _ => choice.inserts,
        };
        match next {
            Some(next) if writes => self.memory.reorders_stores() && !next.updates,
            _ => true,
        }
    }

    /// Whether no write that the event misses happens before one that it sees. A load may see its own thread's store in the buffer.
    fn agree(&self, positions: &Positions, taken: &Taken, thread: u16) -> bool {
        let missed = |&(object, position): &(Object, usize)| self.writes(object).get(position).copied();
        let seen = |&(object, position): &(Object, usize)| {
            let seen = *self.writes(object)[..position].last()?;
            let reads = taken.footprint.mode(object) == Some(Mode::Read) && !taken.drains;
            let write = self.clocks.event(seen);
            (!(reads && write.is_store && write.thread == thread)).then_some(seen)
        };
        let mut all_missed = positions.iter().filter_map(missed);
        !all_missed.any(|missed| {
            let mut all_seen = positions.iter().filter_map(seen);
            all_seen.any(|seen| self.clocks.is_weakly_before(missed, seen))
        })
    }

    /// Whether a thread that spins would go on.
    fn is_open(&self, taken: &Taken, positions: &Positions) -> bool {
        let Gate::Changed(cells, _) = &taken.gate else { return true };
        positions.iter().any(|&(object, position)| {
            let mut awaited = cells.iter().filter(|awaited| awaited.cell == object);
            awaited.any(|awaited| self.value(object, position) != awaited.value)
        })
    }

    /// Whether some write that the event misses happens before it under SC.
    fn is_not_sc(&self, positions: &Positions, thread: u16) -> bool {
        positions.iter().any(|&(object, position)| {
            let Some(&missed) = self.writes(object).get(position) else { return false };
            let is_seen = |&(object, position): &(Object, usize)| {
                let seen = self.writes(object)[..position].last();
                seen.is_some_and(|&seen| self.clocks.is_before(missed, seen))
            };
            self.clocks.is_before_next(missed, thread) || positions.iter().any(is_seen)
        })
    }

    /// The value of a cell after so many writes.
    fn value(&self, object: Object, position: usize) -> i64 {
        match position.checked_sub(1) {
            Some(at) => self.clocks.event(self.writes(object)[at]).value,
            None => self.initial.get(object as usize).copied().unwrap_or(0),
        }
    }
}
