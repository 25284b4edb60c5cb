//! Gates: steps that are possible only after certain others, and whether they would be after fewer.

use super::footprint::{Mode, Object};
use super::happens_before::{Order, Taken};
use super::rows::{self, Row};
use crate::execution::ThreadKey;
use crate::program::{Loc, LockMode};

/// What a step waits for.
#[derive(Clone, Debug)]
pub(super) enum Gate {
    /// Nothing.
    Open,
    /// The lock is free for this mode.
    Lock(Object, LockMode),
    /// The thread has been notified, and the lock is free.
    Notified(Object),
    /// One of the cells shows another value, has been freed, or has been accessed by others.
    Changed(Vec<Awaited>),
    /// The thread has ended, or has never been started.
    Ended(ThreadKey, Object),
}

/// A cell that a spinning thread looks at.
#[derive(Clone, Debug)]
pub(super) struct Awaited {
    pub(super) loc: Loc,
    pub(super) cell: Object,
    pub(super) block: Option<Object>,
    /// What it showed.
    pub(super) value: i64,
    /// How often the thread wrote it, if others matter that have accessed it since.
    pub(super) writes: u32,
}

impl Gate {
    /// Whether the step would be possible after these events of an execution alone. They contain the step's past.
    pub(super) fn is_open(&self, order: &Order, taken: &Taken, after: &Row) -> bool {
        match self {
            Gate::Open => true,
            Gate::Lock(lock, mode) => is_free(order, *lock, *mode, after),
            Gate::Notified(lock) => {
                let told = |&(at, thread): &(u32, ThreadKey)| thread == taken.thread && rows::has(after, at as usize);
                let waits = order.last_of(taken.label.process);
                let since = |&&(at, _): &&(u32, ThreadKey)| waits.is_some_and(|waits| at as usize > waits);
                order.notified.iter().filter(since).any(told) && is_free(order, *lock, LockMode::Exclusive, after)
            }
            Gate::Changed(cells) => cells.iter().any(|awaited| {
                let Awaited { loc, cell, block, value, writes } = *awaited;
                block.is_some_and(|block| is_written(order, block, after))
                    || view(order, taken.thread, loc, cell, after) != value
                    || writes > 0 && run_of(order, taken.thread, cell, after) < writes
            }),
            Gate::Ended(thread, object) => {
                let ends = |at: usize| order.events[at].thread == *thread;
                let writes: Vec<usize> =
                    order.chain(*object).filter(|touch| touch.1 == Mode::Write).map(|touch| touch.0).collect();
                let is_among = |&at: &usize| rows::has(after, at);
                let fork = writes.iter().copied().find(|&at| !ends(at));
                writes.iter().copied().filter(|&at| ends(at)).any(|at| is_among(&at))
                    || fork.is_some_and(|fork| !is_among(&fork))
            }
        }
    }
}

/// Whether one of these events writes an object.
fn is_written(order: &Order, object: Object, after: &Row) -> bool {
    order.chain(object).any(|(at, mode)| mode == Mode::Write && rows::has(after, at))
}

/// Whether a lock is free after these events.
pub(super) fn is_free(order: &Order, lock: Object, wanted: LockMode, after: &Row) -> bool {
    let (mut alone, mut shared) = (0, 0);
    for (at, mode) in order.chain(lock).filter(|touch| rows::has(after, touch.0)) {
        let held = if mode == Mode::Share { &mut shared } else { &mut alone };
        *held += i32::from(order.events[at].holds);
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
pub(super) fn view(order: &Order, thread: ThreadKey, loc: Loc, cell: Object, after: &Row) -> i64 {
    let newest = order.issues(thread, cell).find(|&at| rows::has(after, at));
    if let Some(issue) = newest.filter(|&issue| !order.arrived(issue, after)) {
        return order.events[issue].value;
    }
    let mut writes = order.chain(cell).filter(|&(at, mode)| mode == Mode::Write && rows::has(after, at));
    match writes.next() {
        Some((at, _)) => order.events[at].value,
        None => loc.as_global().and_then(|index| order.initial.get(index).copied()).unwrap_or(0),
    }
}
