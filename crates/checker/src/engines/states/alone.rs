//! Which thread may go first, alone: one whose next step is independent of all others, now and later (partial order reduction).
//!
//! Such a step can be swapped with every step of other threads, and with the thread's own flushes, and none of them can keep it from happening. So whatever can be
//! reached without taking it first can be reached, or the same with the step on top, by taking it first: every end, every failure and every data race.
//! - A store that goes to the thread's buffer, a barrier, a choice, a failure, an end: no other thread sees them.
//! - A read of what no other thread can write any more, and no other thread's buffer holds.
//! - A write to memory, also a flush, of what no other thread can access any more.
//!
//! "Can still" is what the code from there on says (`futures.rs`). A thread that waits for this one to end is no other thread: all that it does comes later. Required: no thread
//! can go round in circles, or one that goes alone could keep the others waiting for ever. Data races are looked for between steps, so accesses of plain cells go first only if no other
//! thread accesses the cell.

use crate::base::{Action, Loc, ThreadKey};
use crate::execution::visited::Visited;
use crate::execution::{Comparable, Machine, Operation, Status, ThreadState};
use crate::program::futures::{Futures, Named};
use crate::program::{Access, Ordering};
use crate::search::{Limits, Options};
use smallvec::SmallVec;

/// Knows which threads may go first.
pub(crate) struct Alone<'a, S: Comparable> {
    machine: Machine<'a, S>,
    futures: Futures,
    /// By the numbers of threads' parts.
    outlooks: Vec<Option<Outlook>>,
    /// Threads that are left out until nothing else can happen, and only read (`spectators.rs`).
    left_out: Vec<bool>,
}

/// What can be said of a thread without looking at what is shared.
struct Outlook {
    key: ThreadKey,
    /// What its operation touches.
    operation: Touch,
    /// Stores that may go to memory next: where they are in the buffer, and what they touch.
    flushes: SmallVec<[(u8, Touch); 2]>,
    /// Cells that its waiting stores will change.
    waiting: SmallVec<[Loc; 4]>,
    /// Where it is in its code, unless it has come to its end.
    site: Option<(usize, u32)>,
    waits_for: WaitsFor,
}

/// What a step touches, as far as others could be concerned.
#[derive(Clone, Copy)]
enum Touch {
    Nothing,
    Reads(Loc, Named),
    Changes(Loc, Named),
    /// Or it cannot be taken.
    More,
}

enum WaitsFor {
    Nobody,
    One(ThreadKey),
    All,
}

/// A thread's number, and which of its steps.
pub(crate) struct First {
    pub(crate) thread: usize,
    /// The store at this position, or the operation.
    flush: Option<u8>,
}

impl First {
    /// Whether the step is one of those that may go first.
    pub(crate) fn includes(&self, action: Action) -> bool {
        match (self.flush, action) {
            (Some(first), Action::Flush(at)) => first == at,
            (None, Action::Run | Action::Choose(_)) => true,
            _ => false,
        }
    }
}

impl<'a, S: Comparable> Alone<'a, S> {
    /// Nothing where it is not asked for, or cannot be.
    pub(crate) fn new(subject: &'a S, options: &Options, left_out: Vec<bool>) -> Option<Alone<'a, S>> {
        let Limits { events, .. } = options.limits;
        let is_possible = options.rules.unbounded() == options.memory.rules().unbounded()
            && subject.bus().is_none()
            && subject.code().automata.is_none()
            && !subject.has_cycles()
            && events == u64::MAX;
        (options.reduced && is_possible).then(|| Alone {
            machine: Machine::new(subject, options.rules),
            futures: Futures::of(subject.code()),
            outlooks: Vec::new(),
            left_out,
        })
    }

    /// Whether a thread is left out until nothing else can happen.
    pub(crate) fn leaves_out(&self, thread: usize) -> bool {
        self.left_out.get(thread).is_some_and(|&is_left_out| is_left_out)
    }

    /// A thread that may go first in a state with these parts.
    pub(crate) fn first(&mut self, threads: &[u32], visited: &Visited<S::Thread>) -> Option<First> {
        for &number in threads {
            self.look_at(number, visited);
        }
        (0..threads.len()).filter(|&thread| !self.leaves_out(thread)).find_map(|thread| {
            let outlook = self.outlook(threads[thread]);
            if self.concerns_nobody(threads, thread, outlook.operation) {
                return Some(First { thread, flush: None });
            }
            let flush = outlook.flushes.iter().find(|flush| self.concerns_nobody(threads, thread, flush.1));
            flush.map(|&(at, _)| First { thread, flush: Some(at) })
        })
    }

    fn concerns_nobody(&self, threads: &[u32], thread: usize, touch: Touch) -> bool {
        let (loc, cell, changes) = match touch {
            Touch::Nothing => return true,
            Touch::More => return false,
            Touch::Reads(loc, cell) => (loc, cell, false),
            Touch::Changes(loc, cell) => (loc, cell, true),
        };
        let key = self.outlook(threads[thread]).key;
        let others = threads.iter().enumerate().filter(|&(other, _)| other != thread && !self.leaves_out(other));
        !others.map(|(_, &number)| self.outlook(number)).any(|other| {
            let comes_later = match other.waits_for {
                WaitsFor::Nobody => false,
                WaitsFor::One(joined) => joined == key,
                WaitsFor::All => true,
            };
            let future = other.site.filter(|_| !comes_later).map(|(routine, pc)| self.futures.at(routine, pc));
            other.waiting.contains(&loc)
                || future.is_some_and(|future| future.may_write(cell) || changes && future.may_read(cell))
        })
    }

    fn outlook(&self, number: u32) -> &Outlook {
        self.outlooks[number as usize].as_ref().expect("every part of the state was looked at")
    }

    fn look_at(&mut self, number: u32, visited: &Visited<S::Thread>) {
        let index = number as usize;
        if self.outlooks.len() <= index {
            self.outlooks.resize_with(index + 1, || None);
        }
        if self.outlooks[index].is_none() {
            self.outlooks[index] = Some(self.outlook_of(visited.thread(number)));
        }
    }

    fn outlook_of(&self, thread: &ThreadState<S::Thread>) -> Outlook {
        let subject = self.machine.subject;
        let operation = (thread.status == Status::Running).then(|| subject.operation(&thread.local));
        let entries = thread.buffer.entries();
        let flushes = thread.buffer.flushable(&self.machine.rules);
        Outlook {
            key: thread.key,
            operation: operation.as_ref().map_or(Touch::More, |operation| self.touch(thread, operation)),
            flushes: flushes.map(|at| (at as u8, self.change(entries[at].loc))).collect(),
            waiting: entries.iter().map(|entry| entry.loc).collect(),
            site: operation.as_ref().map(|_| subject.instruction(&thread.local)),
            waits_for: match operation {
                Some(Operation::Join { thread }) => WaitsFor::One(thread),
                Some(Operation::JoinAll) => WaitsFor::All,
                _ => WaitsFor::Nobody,
            },
        }
    }

    fn touch(&self, thread: &ThreadState<S::Thread>, operation: &Operation) -> Touch {
        let goes_to_buffer = |ordering: Ordering| self.machine.rules.delays_stores() && ordering != Ordering::SeqCst;
        match *operation {
            Operation::Write { loc, ordering, access, .. } if goes_to_buffer(ordering) => match access {
                _ if self.machine.is_at_buffer_bound(thread) => Touch::More,
                Access::Atomic if !self.may_vanish(loc) => Touch::Nothing,
                _ => self.change(loc),
            },
            Operation::Read { loc, .. } if !self.may_vanish(loc) => Touch::Reads(loc, self.futures.named(loc)),
            Operation::Write { loc, .. } | Operation::Rmw { loc, .. } | Operation::Cas { loc, .. }
                if thread.buffer.is_empty() =>
            {
                self.change(loc)
            }
            Operation::End | Operation::Fence { ordering: Ordering::SeqCst } if !thread.buffer.is_empty() => {
                Touch::More
            }
            Operation::End
            | Operation::Fence { .. }
            | Operation::Yield
            | Operation::Choose { .. }
            | Operation::Fail(_) => Touch::Nothing,
            _ => Touch::More,
        }
    }

    fn change(&self, loc: Loc) -> Touch {
        if self.may_vanish(loc) { Touch::More } else { Touch::Changes(loc, self.futures.named(loc)) }
    }

    /// Whether a thread could free the cell: then accesses can fail.
    fn may_vanish(&self, loc: Loc) -> bool {
        loc.block().is_some() && self.machine.subject.code().frees()
    }
}
