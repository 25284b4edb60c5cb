//! Which steps led to a violation: those that matter, and backwards from there what they depend on.
//!
//! What a thread does is a function of what it read, so a step depends on its thread's earlier reads, choices and locks, a read on the
//! store that it saw, and a store's arrival on the store. What is left is shown folded.

use super::graph::Relation;
use super::{Explanation, graph};
use crate::report::story::{StepKind, Story};

/// Marks the relevant steps of a story.
pub(super) fn mark(story: &mut Story, explanation: &Explanation) {
    let mut relevant = vec![false; story.steps.len()];
    let mut work: Vec<usize> = explanation.events.clone();
    work.extend(explanation.cycle.iter().flat_map(|edge| [edge.from, edge.to]));
    let failed = story.steps.iter().rposition(|step| step.failure.is_some());
    work.extend(failed);
    for pending in &story.pending {
        work.extend(story.steps.iter().rposition(|step| step.thread == pending.thread));
    }
    if work.is_empty() {
        return;
    }
    let synchronises =
        |edge: &graph::Edge| matches!(edge.relation, Relation::Synchronisation | Relation::SynchronisesWith);
    let synchronised: Vec<_> = graph::edges(story).into_iter().filter(synchronises).collect();
    while let Some(at) = work.pop() {
        if std::mem::replace(&mut relevant[at], true) {
            continue;
        }
        let step = &story.steps[at];
        work.extend(step.reads_from.into_iter().chain(step.store).chain(step.commit));
        work.extend(synchronised.iter().filter(|edge| edge.to == at).map(|edge| edge.from));
        let earlier = story.steps[..at].iter().enumerate().filter(|(_, other)| other.thread == step.thread);
        work.extend(earlier.filter(|(_, other)| decides(other.kind)).map(|(at, _)| at));
    }
    for (step, relevant) in story.steps.iter_mut().zip(relevant) {
        step.relevant = relevant;
    }
}

/// Whether what a thread does later can depend on it.
fn decides(kind: StepKind) -> bool {
    use StepKind::{Begin, Cas, Choose, Join, Lock, Read, Rmw, TryLock, Wake};
    matches!(kind, Begin | Cas | Choose | Join | Lock | Read | Rmw | TryLock | Wake)
}
