//! Which configurations of a run are known: those that are the beginning of an execution that has been seen.
//!
//! To a run, another execution is no more than where each of its threads parts from the thread of the run. A configuration is its beginning iff no thread
//! goes further than that, or goes elsewhere.

use super::{CausalEvent, CausalThread, Causality, Values};
use crate::solver::{Lit, Solver};
use rustc_hash::{FxHashMap, FxHashSet};

/// Tells a solver which configurations are known.
pub struct Known<'c> {
    causality: &'c Causality,
    told: FxHashSet<Vec<Parting>>,
    /// For an event and a value that has no literal of its own: "it reads another one of those".
    besides: FxHashMap<(usize, i64), Lit>,
}

/// Where a history parts from the run: so many results are equal, and then comes this one of the other results known to be possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Parting {
    agreed: u32,
    other: Option<i64>,
}

impl<'c> Known<'c> {
    /// Nothing is known.
    pub fn new(causality: &'c Causality) -> Known<'c> {
        Known { causality, told: FxHashSet::default(), besides: FxHashMap::default() }
    }

    /// From now on the goal is reached only by configurations that are not the beginning of an execution that parts from the run like this, thread by thread.
    pub fn tell(&mut self, solver: &mut Solver<'_>, goal: Lit, partings: Vec<Parting>) {
        if self.told.contains(&partings) {
            return;
        }
        let mut clause = vec![!goal];
        for (thread, parting) in self.causality.threads.iter().zip(&partings) {
            self.goes_elsewhere(solver, thread, parting, &mut clause);
        }
        solver.clause(clause);
        self.told.insert(partings);
    }

    /// Adds literals that together say that the thread goes further than to the parting, or elsewhere.
    fn goes_elsewhere(
        &mut self,
        solver: &mut Solver<'_>,
        thread: &CausalThread,
        parting: &Parting,
        clause: &mut Vec<Lit>,
    ) {
        let number = thread.events.start + parting.agreed as usize;
        let Some(event) = self.causality.events[..thread.events.end].get(number) else {
            // The execution covers the thread's whole part of the run, and everything that deviates from it goes elsewhere.
            let last = self.causality.events[thread.events.clone()].last();
            clause.extend(thread.deviates_before.last());
            clause.extend(last.into_iter().flat_map(CausalEvent::deviations));
            return;
        };
        clause.extend(event.same);
        clause.push(thread.deviates_before[parting.agreed as usize]);
        let others = event.others.iter().filter(|other| Some(other.0) != parting.other);
        clause.extend(others.map(|other| other.1));
        if let Some(rest) = &event.rest {
            let covered = parting.other.filter(|&value| rest.contains(value));
            clause.push(covered.map_or(rest.lit, |value| self.besides(solver, number, value)));
        }
    }

    fn besides(&mut self, solver: &mut Solver<'_>, number: usize, value: i64) -> Lit {
        let causality = self.causality;
        *self.besides.entry((number, value)).or_insert_with(|| {
            let rest = causality.events[number].rest.as_ref().expect("it has such a value");
            let besides = solver.var();
            solver.clause(vec![!besides, rest.lit]);
            match &rest.values {
                Values::Read { choice, .. } => {
                    let sources = causality.problem.choices[*choice].sources.iter();
                    for &source in sources.filter(|&&source| causality.result_of(source) == value) {
                        solver.clause(vec![!besides, !causality.problem.sources[source as usize].lit]);
                    }
                }
                Values::Chosen(chosen) => {
                    solver.clause(chosen.spelling(value).map(|bit| !bit).chain([!besides]).collect());
                }
            }
            besides
        })
    }
}

impl Causality {
    /// What the thread's history in the run is.
    pub fn history(&self, thread: &CausalThread) -> Vec<i64> {
        let performed = &self.events[thread.events.start..][..thread.n_performed];
        performed.iter().map(|event| event.result).collect()
    }

    /// Where another history of the thread parts from its part of the run: they agree for so long, and then it has this result, or ends.
    pub fn parting(&self, thread: &CausalThread, agreed: usize, next: Option<i64>) -> Parting {
        let event = self.events[thread.events.clone()].get(agreed);
        let other = next.filter(|&next| event.is_some_and(|event| event.can_have(next)));
        Parting { agreed: agreed as u32, other }
    }

    /// A clause that is true of every stuck configuration but the one in which each thread does so much of its part of the run.
    pub fn not_stuck_at(&self, lengths: &[usize]) -> Vec<Lit> {
        let mut clause = Vec::new();
        for (thread, &length) in self.threads.iter().zip(lengths) {
            let events = &self.events[thread.events.clone()];
            clause.extend(events.get(length).and_then(|next| next.same));
            let last = length.checked_sub(1).and_then(|last| events[last].same);
            clause.extend(last.map(|last| !last));
        }
        clause
    }
}

impl CausalEvent {
    /// Whether it can have this other result.
    fn can_have(&self, result: i64) -> bool {
        let is_rest = self.rest.as_ref().is_some_and(|rest| rest.contains(result));
        is_rest || self.others.iter().any(|other| other.0 == result)
    }
}
