//! What a thread can do next, remembered.
//!
//! A step depends on what is shared, on the stepping thread and on its number, and changes only these (`execution/machine.rs`). So the same
//! pair of parts, which many states have in common, always leads to the same pairs. A thread that is about to join looks at
//! others: its moves are worked out every time.

use crate::base::{Failure, Step, ThreadId};
use crate::execution::visited::Visited;
use crate::execution::{Comparable, Machine, State};
use crate::search::Watch;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The numbers of the shared part and of the thread, and which thread it is.
pub(crate) type Key = (u32, u32, u16);

/// Moves of threads, by what they depend on.
#[derive(Default)]
pub(crate) struct Moves {
    known: FxHashMap<Key, Rc<[Move]>>,
}

/// A step, and the parts that it leads to.
pub(crate) struct Move {
    pub(crate) step: Step,
    pub(crate) shared: u32,
    pub(crate) thread: u32,
    pub(crate) forked: Option<u32>,
    pub(crate) history_entry: i64,
    pub(crate) failure: Option<Failure>,
}

/// Forget everything rather than remember more than this: it is only ever needed soon.
const MOST_KNOWN: usize = 1 << 20;

impl Moves {
    /// The moves, if they are remembered.
    pub(crate) fn get(&self, key: Key) -> Option<Rc<[Move]>> {
        self.known.get(&key).cloned()
    }

    /// Works out the moves of a thread of a state, and leaves the state as it was. If the watch says to stop, the first of them will do.
    pub(crate) fn find<S: Comparable>(
        &mut self,
        key: Key,
        machine: &Machine<'_, S>,
        state: &mut State<S::Thread>,
        visited: &mut Visited<S::Thread>,
        watch: &dyn Watch,
    ) -> Rc<[Move]> {
        let thread = ThreadId(key.2);
        let mut steps = Vec::new();
        machine.steps_of(state, thread, &mut steps);
        // A thread that can go on is never taken for one that cannot: the first step is always there.
        let steps = steps.into_iter().enumerate().take_while(|&(at, _)| at == 0 || watch.stop().is_none());
        let moves = steps.map(|(_, step)| take(machine, state, visited, step)).collect::<Rc<[Move]>>();
        let operation = machine.subject.operation(&state.threads[thread.index()].local);
        if !operation.is_join() {
            if self.known.len() >= MOST_KNOWN {
                self.known.clear();
            }
            self.known.insert(key, Rc::clone(&moves));
        }
        moves
    }
}

/// Takes one step from a state, notes what comes of it, and restores the state.
fn take<S: Comparable>(
    machine: &Machine<'_, S>,
    state: &mut State<S::Thread>,
    visited: &mut Visited<S::Thread>,
    step: Step,
) -> Move {
    let index = step.thread.index();
    let n_threads = state.threads.len();
    let (shared, thread) = (state.shared.clone(), state.threads[index].clone());
    let performed = machine.apply(state, step);
    let next = Move {
        step,
        shared: visited.intern_shared(&state.shared),
        thread: visited.intern_thread(&state.threads[index]),
        forked: state.threads.get(n_threads).map(|child| visited.intern_thread(child)),
        history_entry: performed.history_entry(),
        failure: performed.failure,
    };
    state.shared = shared;
    state.threads.truncate(n_threads);
    state.threads[index] = thread;
    next
}
