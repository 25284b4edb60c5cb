//! What concerns several threads at once: an execution that cannot go on, and data races.
//!
//! Definition. Two accesses to a plain cell *race* if one of them is a write and both can be the next thing to happen.
//! An access is the next operation of a thread. Where stores can overtake one another (PSO), it is also a store on its
//! way to memory, because another thread may already have read a later store of the same thread.
//! `Operation::cell_access` says what an operation accesses in this sense. A read lock that a thread takes again while
//! another thread waits to write is such a pair, too.

use super::{CellAccess, Machine, Operation, Poll, State, Status, Subject, Waits};
use crate::base::{Action, Loc, Step, ThreadId};
use crate::program::Access;
use smallvec::SmallVec;

/// Why a state has no steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Every thread has ended that must.
    Finished,
    /// An assumption did not hold: of no interest.
    Assumed,
    /// A thread has failed, which was reported when it did, and others may wait for it in vain.
    Failed,
    /// Threads wait for locks, notifications or one another.
    Deadlock(Vec<Blocked>),
    /// At least one thread spins, and none can end it.
    Livelock(Vec<Blocked>),
}

/// A thread that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The thread.
    pub thread: ThreadId,
    /// What it is at.
    pub operation: Operation,
    /// Threads that would have to do something first, where that can be said.
    pub waits_for: Vec<ThreadId>,
    /// It spins on these cells.
    pub spins_on: Vec<Loc>,
    /// And on these, which are no cells.
    pub polls: Vec<Poll>,
}

impl Blocked {
    /// Whether the thread spins.
    pub fn spins(&self) -> bool {
        !(self.spins_on.is_empty() && self.polls.is_empty())
    }
}

/// Two threads that can access a plain cell at the same time, one of them writing; or a thread that takes a lock again for which another one waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell, or the lock's queue.
    pub loc: Loc,
    /// The two accesses: a thread's next operation, or a store's way to memory. At least the first is an operation.
    pub accesses: [Step; 2],
}

/// Accesses that can be next. They are looked at after every step: few enough to need no memory.
type Nexts = SmallVec<[Next; 8]>;

/// An access that can be next.
struct Next {
    step: Step,
    access: CellAccess,
}

impl<S: Subject> Machine<'_, S> {
    /// Says why nothing can happen. Requires a state without steps.
    pub fn stuck(&self, state: &State<S::Thread>) -> Stuck {
        let unfinished = |status: Status| state.threads.iter().any(|thread| thread.status == status);
        let blocked: Vec<Blocked> = self.blocked(state).collect();
        let waits = |blocked: &Blocked| self.subject.waits(&state.threads[blocked.thread.index()].local);
        let is_endless = |blocked: &Blocked| match waits(blocked) {
            Waits::For(_) => false,
            waits => blocked.spins() || waits == Waits::InVain,
        };
        if blocked.iter().any(|blocked| blocked.operation.is_stop()) {
            Stuck::Assumed
        } else if unfinished(Status::Failed) {
            Stuck::Failed
        } else if blocked.is_empty() || self.subject.is_over(state) {
            Stuck::Finished
        } else if blocked.iter().any(is_endless) {
            Stuck::Livelock(blocked)
        } else {
            Stuck::Deadlock(blocked)
        }
    }

    fn blocked(&self, state: &State<S::Thread>) -> impl Iterator<Item = Blocked> {
        let running = state.threads.iter().enumerate().filter(|(_, thread)| thread.status == Status::Running);
        let blocked = running.map(|(index, thread)| {
            let id = ThreadId(index as u16);
            let operation = self.subject.operation(&thread.local);
            let waits_for = match (operation.acquired(), operation.joined()) {
                (Some((lock, _)), _) => state.shared.holders(lock).collect(),
                (None, Some(key)) => {
                    let joined = state.threads.iter().position(|other| other.key == key);
                    joined.map(|at| ThreadId(at as u16)).into_iter().collect()
                }
                (None, None) => Vec::new(),
            };
            let (awaiting, polls) = match self.is_awaiting(state, id) {
                true => (self.subject.awaiting(&thread.local), self.subject.polls(&thread.local)),
                false => Default::default(),
            };
            let spins_on = awaiting.iter().map(|cell| cell.0).collect();
            Blocked { thread: id, operation, waits_for, spins_on, polls: polls.to_vec() }
        });
        // `finally` waits for all others: that it does says nothing new.
        blocked.filter(|blocked| !blocked.operation.is_join_all())
    }

    /// Data races that the state shows: two threads whose next operations access the same plain cell, at least one of
    /// them a write, and not both read-modify-writes. A thread that spins is at its read all the time.
    ///
    /// Where stores can overtake one another, one that still waits can race too: others may already have seen
    /// that its thread went on. In a FIFO no store does, so such a race shows when the store is the next operation.
    pub fn races(&self, state: &State<S::Thread>) -> Vec<Race> {
        let running = state.threads.iter().enumerate().filter(|(_, thread)| thread.status == Status::Running);
        let operations: Nexts = running
            .filter_map(|(index, thread)| {
                let step = Step { thread: ThreadId(index as u16), action: Action::Run };
                let access = self.subject.operation(&thread.local).cell_access()?;
                Some(Next { step, access })
            })
            .collect();
        let waiting = self.waiting_stores(state);
        if !operations.iter().chain(&waiting).any(|next| next.access.plain) {
            return Vec::new();
        }
        let mut races = Vec::new();
        for (at, first) in operations.iter().enumerate() {
            let others = operations[at + 1..].iter().chain(&waiting);
            races.extend(
                others
                    .filter(|second| conflict(first, second))
                    .map(|second| Race { loc: first.access.loc, accesses: [first.step, second.step] }),
            );
        }
        races
    }

    /// Stores that may go to memory next and that later stores may have overtaken.
    fn waiting_stores(&self, state: &State<S::Thread>) -> Nexts {
        if !self.rules.reorders_stores() {
            return Nexts::new();
        }
        let stores = state.threads.iter().enumerate().flat_map(|(index, thread)| {
            thread.buffer.flushable(&self.rules).map(move |at| {
                let entry = &thread.buffer.entries()[at];
                let step = Step { thread: ThreadId(index as u16), action: Action::Flush(at as u8) };
                let plain = entry.access == Access::Plain;
                Next { step, access: CellAccess { loc: entry.loc, writes: true, plain } }
            })
        });
        stores.collect()
    }
}

fn conflict(first: &Next, second: &Next) -> bool {
    first.step.thread != second.step.thread && first.access.conflicts(&second.access)
}
