//! Gates: steps that are possible only after certain others, and whether they would be after fewer.

use super::footprint::{Mode, Object};
use super::rows::Row;
use super::{Holds, Order, Taken, rows};
use crate::base::{Loc, ThreadKey};
use crate::execution::Poll;
use crate::program::LockMode;

/// What a step waits for.
#[derive(Clone, Debug)]
pub(crate) enum Gate {
    /// Nothing.
    Open,
    /// The lock is free for this mode.
    Lock(Object, LockMode),
    /// The thread has been notified, and the lock is free.
    Notified(Object),
    /// One of the cells shows another value, has been freed, or has been accessed by others; or something else has come about.
    Changed(Vec<Awaited>, Vec<(Poll, Object)>),
    /// The thread has ended, or has never been started.
    Ended(ThreadKey, Object),
}

/// A cell that a spinning thread looks at.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    pub(crate) loc: Loc,
    pub(crate) cell: Object,
    pub(crate) block: Option<Object>,
    /// What it showed.
    pub(crate) value: i64,
    /// How often the thread wrote it, if others matter that have accessed it since.
    pub(crate) writes: u32,
}

/// What is seen in a cell that has come to its end: nothing that anyone waits for.
const ENDED: i64 = i64::MIN + 1;

impl Gate {
    /// Whether the step would be possible after these events of an execution alone. They contain the step's past.
    pub(crate) fn is_open(&self, order: &Order, taken: &Taken, after: &Row) -> bool {
        match self {
            Gate::Open => true,
            Gate::Lock(lock, mode) => is_free(order, *lock, *mode, after),
            Gate::Notified(lock) => {
                let told = |&(at, thread): &(u32, ThreadKey)| thread == taken.thread && rows::has(after, at as usize);
                let waits = order.last_of(taken.label.process);
                let since = |&&(at, _): &&(u32, ThreadKey)| waits.is_some_and(|waits| at as usize > waits);
                order.notified.iter().filter(since).any(told) && is_free(order, *lock, LockMode::Exclusive, after)
            }
            Gate::Changed(cells, polled) => {
                let changed = |awaited: &Awaited| {
                    let Awaited { loc, cell, block, value, writes } = *awaited;
                    block.is_some_and(|block| is_written(order, block, after))
                        || view(order, taken.thread, loc, cell, after) != value
                        || writes > 0 && run_of(order, taken.thread, cell, after) < writes
                };
                let come_about = |&(poll, object): &(Poll, Object)| match poll {
                    Poll::Free(_, mode) => is_free(order, object, mode, after),
                    Poll::Visited(_, times) => visits_of(order, taken.thread, object, after) < times,
                    Poll::Ended(thread) => has_ended(order, thread, object, after),
                };
                cells.iter().any(changed) || polled.iter().any(come_about)
            }
            Gate::Ended(thread, object) => {
                let mut writes = order.chain(*object).filter(|touch| touch.1 == Mode::Write).map(|touch| touch.0);
                let fork = writes.find(|&at| order.events[at].thread != *thread);
                has_ended(order, *thread, *object, after) || fork.is_some_and(|fork| !rows::has(after, fork))
            }
        }
    }
}

impl Gate {
    /// Locks that are to be taken exclusively: one that no thread holds any more opens the gate.
    pub(crate) fn locks_wanted_alone(&self) -> impl Iterator<Item = Object> + '_ {
        let wanted = match self {
            Gate::Lock(lock, LockMode::Exclusive) => Some(*lock),
            _ => None,
        };
        let polls = if let Gate::Changed(_, polls) = self { &polls[..] } else { &[] };
        let polled = polls.iter().filter(|poll| matches!(poll.0, Poll::Free(_, LockMode::Exclusive)));
        wanted.into_iter().chain(polled.map(|poll| poll.1))
    }
}

/// Whether a thread has ended, by one of these events.
fn has_ended(order: &Order, thread: ThreadKey, object: Object, after: &Row) -> bool {
    let ends = |&(at, mode): &(usize, Mode)| mode == Mode::Write && order.events[at].thread == thread;
    order.chain(object).filter(ends).any(|(at, _)| rows::has(after, at))
}

/// How often a thread has taken or given back a lock since another thread did something that threads which poll it must know.
fn visits_of(order: &Order, thread: ThreadKey, lock: Object, after: &Row) -> u32 {
    let is_own = |at: usize| order.events[at].thread == thread;
    let among = order.chain(lock).filter(|touch| rows::has(after, touch.0) && touch.1 != Mode::Look);
    let since = among.take_while(|touch| is_own(touch.0) || !order.events[touch.0].tells_pollers);
    since.filter(|touch| is_own(touch.0) && touch.1 != Mode::Read).count() as u32
}

/// Whether one of these events writes an object.
fn is_written(order: &Order, object: Object, after: &Row) -> bool {
    order.chain(object).any(|(at, mode)| mode == Mode::Write && rows::has(after, at))
}

/// Whether a lock is free after these events.
pub(crate) fn is_free(order: &Order, lock: Object, wanted: LockMode, after: &Row) -> bool {
    let (mut alone, mut shared) = (0, 0);
    for (at, _) in order.chain(lock).filter(|touch| rows::has(after, touch.0)) {
        let Holds { alone: by_one, shared: by_some } = order.events[at].holds;
        alone += i32::from(by_one);
        shared += i32::from(by_some);
    }
    alone == 0 && (wanted == LockMode::Shared || shared == 0)
}

/// How often a thread has written a cell since anyone else accessed it, with its stores that are underway.
fn run_of(order: &Order, thread: ThreadKey, cell: Object, after: &Row) -> u32 {
    let among = order.chain(cell).filter(|touch| rows::has(after, touch.0) && !matches!(touch.1, Mode::Own(_)));
    let own = among.take_while(|touch| order.events[touch.0].thread == thread);
    let arrived = own.filter(|touch| touch.1 == Mode::Write).count();
    let underway = order.issues(thread, cell).filter(|&at| rows::has(after, at) && !order.arrived(at, after)).count();
    (arrived + underway) as u32
}

/// What a thread sees in a cell after these events.
pub(crate) fn view(order: &Order, thread: ThreadKey, loc: Loc, cell: Object, after: &Row) -> i64 {
    let newest = order.issues(thread, cell).find(|&at| rows::has(after, at));
    if let Some(issue) = newest.filter(|&issue| !order.arrived(issue, after)) {
        return order.events[issue].value;
    }
    // References that are taken and given back may have been so in another order: they are counted.
    let mut count = 0;
    for (at, mode) in order.chain(cell).filter(|&(at, _)| rows::has(after, at)) {
        match mode {
            Mode::Write => return order.events[at].value + count,
            // A thread that waits for another value reads again, and fails.
            Mode::End => return ENDED,
            Mode::Reference => count += 1,
            Mode::ReleaseEarly | Mode::ReleaseLate | Mode::Drop(_) => count -= 1,
            _ => {}
        }
    }
    loc.as_global().and_then(|index| order.initial.get(index).copied()).unwrap_or(0) + count
}
