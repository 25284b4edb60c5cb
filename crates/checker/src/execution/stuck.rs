//! What concerns several threads at once: an execution that cannot go on, and data races.

use super::{Machine, Operation, State, Status, Subject, ThreadId};
use crate::program::{Access, Loc};

/// Why a state has no steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Every thread has ended.
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
}

/// Two threads that can access a plain cell at the same time, one of them writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The cell.
    pub loc: Loc,
    /// The threads, by number.
    pub threads: [ThreadId; 2],
}

impl<S: Subject> Machine<'_, S> {
    /// Says why nothing can happen. Requires a state without steps.
    pub fn stuck(&self, state: &State<S::Thread>) -> Stuck {
        let unfinished = |status: Status| state.threads.iter().any(|thread| thread.status == status);
        let blocked: Vec<Blocked> = self.blocked(state).collect();
        if blocked.iter().any(|blocked| blocked.operation == Operation::Stop) {
            Stuck::Assumed
        } else if unfinished(Status::Failed) {
            Stuck::Failed
        } else if blocked.is_empty() {
            Stuck::Finished
        } else if blocked.iter().any(|blocked| !blocked.spins_on.is_empty()) {
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
            let waits_for = match operation {
                Operation::Lock { lock, .. } | Operation::Reacquire { lock, .. } => {
                    state.shared.holders(lock).collect()
                }
                Operation::Join { thread: key } => {
                    let joined = state.threads.iter().position(|other| other.key == key);
                    joined.map(|at| ThreadId(at as u16)).into_iter().collect()
                }
                _ => Vec::new(),
            };
            let spins_on = match self.is_awaiting(state, id) {
                true => self.subject.awaiting(&thread.local).iter().map(|cell| cell.0).collect(),
                false => Vec::new(),
            };
            Blocked { thread: id, operation, waits_for, spins_on }
        });
        // `finally` waits for all others: that it does says nothing new.
        blocked.filter(|blocked| blocked.operation != Operation::JoinAll)
    }

    /// Data races that the state shows: two threads whose next operations access the same plain cell, at least one of
    /// them a write, and not both read-modify-writes. A thread that spins is at its read all the time.
    pub fn races(&self, state: &State<S::Thread>) -> Vec<Race> {
        let running = state.threads.iter().enumerate().filter(|(_, thread)| thread.status == Status::Running);
        let accesses: Vec<_> = running
            .filter_map(|(index, thread)| match self.subject.operation(&thread.local) {
                Operation::Read { loc, access: Access::Plain, .. } => Some((index, loc, false, true)),
                Operation::Write { loc, access: Access::Plain, .. } => Some((index, loc, true, true)),
                Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => Some((index, loc, true, false)),
                _ => None,
            })
            .collect();
        let mut races = Vec::new();
        for (at, &(first, loc, writes, plain)) in accesses.iter().enumerate() {
            for &(second, other_loc, other_writes, other_plain) in &accesses[at + 1..] {
                if loc == other_loc && (writes || other_writes) && (plain || other_plain) {
                    races.push(Race { loc, threads: [ThreadId(first as u16), ThreadId(second as u16)] });
                }
            }
        }
        races
    }
}
