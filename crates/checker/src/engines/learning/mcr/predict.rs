//! Prediction from a single execution: everything wrong that its causality implies.
//!
//! - A thread that reads another value can fail right away (a null dereference, an assertion): for every read and every other value the solver is asked
//!   once, and the answer is followed until the thread looks at something shared again.
//! - Deadlocks, lost wakeups, data races and other final values are the same questions as in the search.
//!
//! If there is nothing to deviate to and no other way to get stuck, then this execution was all that can happen.

use super::worker::Worker;
use crate::execution::Describe;
use crate::knowledge::causality::{Causality, Prediction};
use crate::search::{During, Stage, StopReason};
use crate::solver::{Goal, Lit, Solver};
use std::collections::BTreeSet;

impl<S: Describe> Worker<'_, '_, S> {
    /// Runs one execution and asks what it implies. Says whether that was everything.
    pub(super) fn predict(&mut self) -> Result<StopReason, StopReason> {
        self.execute(&Prediction(Vec::new()))?;
        let Some((run, _busy)) = self.pool.next() else { return Ok(StopReason::Exhausted) };
        let causality = self.causality(&run, &|_, _| true)?;
        let mut solver = self.solver(&causality);
        let outcome = self.predict_from(&causality, &mut solver);
        self.note_effort(&solver);
        outcome
    }

    fn predict_from(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<StopReason, StopReason> {
        let deviates = self.deviate_everywhere(causality, solver)?;
        self.get_stuck(causality, solver)?;
        let is_alone = !deviates && self.pool.lock().seen.len() == 1;
        self.race(causality, solver)?;
        self.commit_late(causality, solver)?;
        self.finish_otherwise(causality, solver)?;
        Ok(if is_alone { StopReason::Exhausted } else { StopReason::Predicted })
    }

    /// Follows every deviation that is possible until its thread looks at something shared again. Says whether there is any.
    fn deviate_everywhere(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<bool, StopReason> {
        let mut done: BTreeSet<Lit> = BTreeSet::new();
        for (_, deviation) in causality.deviations() {
            if done.contains(&deviation) {
                continue;
            }
            let Some(solution) = self.ask(solver, Goal::Deviate, deviation)? else { continue };
            let _running = During::new(self.watch, Stage::Run);
            let most = self.options.limits.most_events();
            let mut runner = self.runner();
            runner.follow(&causality.prediction(&solution)).map_err(StopReason::Failed)?;
            for (thread, other) in causality.deviations().filter(|&(_, other)| solution.holds(other)) {
                done.insert(other);
                runner.go_on_alone(thread, most);
            }
        }
        Ok(!done.is_empty())
    }
}
