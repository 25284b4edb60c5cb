//! Whether operations of two threads ever meet: on one object, and one of them changes it. A test in which none do may share something else than `unthread` types.

use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::{Loc, ThreadKey};
use unthread_checker::execution::Operation;

/// What all executions of a check have shown.
#[derive(Default)]
pub(crate) struct Meetings {
    /// More than one thread performed operations.
    several: AtomicBool,
    /// Operations of two of them met.
    met: AtomicBool,
}

/// Who has accessed what in one execution.
#[derive(Default)]
pub(crate) struct Visits(RefCell<FxHashMap<u32, Visit>>);

#[derive(Clone, Copy)]
struct Visit {
    first: ThreadKey,
    by_others: bool,
    written: bool,
}

impl Meetings {
    /// Whether several threads ran and no operations of theirs met.
    pub(crate) fn are_missing(&self) -> bool {
        self.several.load(Relaxed) && !self.met.load(Relaxed)
    }

    /// A thread has performed an operation.
    pub(super) fn note(&self, visits: &Visits, thread: ThreadKey, operation: &Operation) {
        if self.met.load(Relaxed) {
            return;
        }
        self.several.fetch_or(matches!(operation, Operation::Fork { .. }), Relaxed);
        let Some((object, writes)) = visited(operation) else { return };
        let mut visits = visits.0.borrow_mut();
        let visit = visits.entry(object).or_insert(Visit { first: thread, by_others: false, written: false });
        visit.by_others |= visit.first != thread;
        visit.written |= writes;
        self.met.fetch_or(visit.by_others && visit.written, Relaxed);
    }
}

/// The object that an operation is on, and whether it may change it. References to something are taken and given back also where nobody uses it.
fn visited(operation: &Operation) -> Option<(u32, bool)> {
    let writes = match *operation {
        Operation::Count { .. } => return None,
        Operation::Notify { condvar, .. } => return Some((condvar, true)),
        Operation::Read { .. } => false,
        Operation::Touch { writes, .. } => writes,
        _ => true,
    };
    let object = operation.lock().or_else(|| Some(operation.loc().and_then(Loc::as_global)? as u32))?;
    Some((object, writes))
}
