//! What workers share: the executions seen, and the runs that nothing has been learnt from yet.

use super::seen::Seen;
use crate::base::ThreadKey;
use crate::execution::Stuck;
use crate::search::StopReason;
use crate::trace::Run;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard};

/// Work and knowledge.
pub(super) struct Pool<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

/// What is behind the lock.
pub(super) struct State<T> {
    pub(super) seen: Seen,
    waiting: Vec<Run<T>>,
    /// Workers that are learning from a run, and so may find more.
    busy: usize,
    /// Why to end early.
    pub(super) stop: Option<StopReason>,
    /// Places of races that have been looked for and found.
    pub(super) races: BTreeSet<[(ThreadKey, u32); 2]>,
    /// Places of stores that are known to reach a freed block.
    pub(super) late_commits: BTreeSet<(ThreadKey, u32)>,
}

impl<T> Pool<T> {
    pub(super) fn new() -> Pool<T> {
        Pool { state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("no worker panics while it holds the lock")
    }

    pub(super) fn into_state(self) -> State<T> {
        self.state.into_inner().expect("no worker panics while it holds the lock")
    }

    /// A run to learn from. Waits while others may still find one; nothing when everything is done.
    pub(super) fn next(&self) -> Option<(Run<T>, Busy<'_, T>)> {
        let mut state = self.lock();
        loop {
            if state.stop.is_some() {
                return None;
            }
            if let Some(run) = state.waiting.pop() {
                state.busy += 1;
                return Some((run, Busy(self)));
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).expect("no worker panics while it holds the lock");
        }
    }

    /// Adds an execution. Says whether it is new.
    pub(super) fn add(&self, run: Run<T>) -> bool {
        let history = |at: usize| (run.threads[at].key, run.history(at).collect());
        let mut histories: Vec<(ThreadKey, Vec<i64>)> = (0..run.threads.len()).map(history).collect();
        histories.sort_unstable_by_key(|history| history.0);
        let mut state = self.lock();
        if !state.seen.add(&histories, run.end != Some(Stuck::Assumed)) {
            return false;
        }
        state.waiting.push(run);
        self.changed.notify_one();
        true
    }

    /// How many executions have been run, by all workers together, also those in which an assumption did not hold.
    pub(super) fn n_executions(&self) -> u64 {
        self.lock().seen.len().into()
    }

    /// Makes all workers end.
    pub(super) fn end(&self, stop: StopReason) {
        self.lock().stop.get_or_insert(stop);
        self.changed.notify_all();
    }
}

impl<T> Default for State<T> {
    fn default() -> State<T> {
        State {
            seen: Seen::default(),
            waiting: Vec::new(),
            busy: 0,
            stop: None,
            races: BTreeSet::new(),
            late_commits: BTreeSet::new(),
        }
    }
}

/// A worker that learns from a run, until it is dropped.
pub(super) struct Busy<'a, T>(&'a Pool<T>);

impl<T> Drop for Busy<'_, T> {
    fn drop(&mut self) {
        // A worker that panics must not leave the others waiting.
        let mut state = self.0.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.busy -= 1;
        if state.busy == 0 || std::thread::panicking() {
            drop(state);
            self.0.changed.notify_all();
        }
    }
}
