//! Whether a state has no end: a replay asks that where a schedule could go on.

use crate::execution::{Comparable, Machine, State};
use rustc_hash::FxHashSet;

/// Whether no end can be reached from a state, as far as a number of states tells.
pub(crate) fn never_ends<S: Comparable>(
    machine: &Machine<'_, S>,
    state: &State<S::Thread>,
    most_states: usize,
) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![state.clone()];
    seen.insert(state.clone());
    let mut steps = Vec::new();
    while let Some(state) = work.pop() {
        steps.clear();
        machine.steps(&state, &mut steps);
        if steps.is_empty() || seen.len() > most_states {
            return false;
        }
        for &step in &steps {
            let mut next = state.clone();
            machine.apply(&mut next, step);
            if seen.insert(next.clone()) {
                work.push(next);
            }
        }
    }
    true
}
