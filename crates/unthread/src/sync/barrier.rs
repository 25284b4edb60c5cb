//! The barrier.

use super::{Condvar, Mutex};
use std::fmt;

/// A barrier, as in [`std::sync`].
pub struct Barrier {
    state: Mutex<State>,
    everyone_is_here: Condvar,
    threads: usize,
}

struct State {
    waiting: usize,
    generation: usize,
}

impl State {
    const NEW: State = State { waiting: 0, generation: 0 };
}

/// Who came last.
#[derive(Debug)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this thread came last.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    constructors! {
        /// A barrier for so many threads.
        new(threads: usize) -> Barrier {
            Barrier { state: Mutex::new(State::NEW), everyone_is_here: Condvar::new(), threads }
        } const {
            Barrier { state: Mutex::const_new(State::NEW), everyone_is_here: Condvar::const_new(), threads }
        }
    }

    /// Waits until all threads are here.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let mut state = self.state.lock().expect("nothing panics inside of a barrier");
        let generation = state.generation;
        state.waiting += 1;
        if state.waiting < self.threads {
            while state.generation == generation {
                state = self.everyone_is_here.wait(state).expect("nothing panics inside of a barrier");
            }
            return BarrierWaitResult(false);
        }
        state.waiting = 0;
        state.generation += 1;
        self.everyone_is_here.notify_all();
        BarrierWaitResult(true)
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}
