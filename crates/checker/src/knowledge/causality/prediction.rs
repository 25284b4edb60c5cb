//! From a solution to what has to be done: the shortest prefix that has all of the configuration's operations.

use super::{CausalEvent, Causality, Values};
use crate::base::{Loc, ThreadKey};
use crate::solver::{Node, Solution};

/// Steps, and what they must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction(pub Vec<Predicted>);

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicted {
    /// Whose.
    pub thread: ThreadKey,
    /// What.
    pub step: PredictedStep,
}

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictedStep {
    /// It performs its operation, with this result in its history.
    Perform {
        /// What its history will say.
        result: i64,
        /// The thread that it notifies, if it notifies one.
        wakes: Option<ThreadKey>,
    },
    /// A write to this location goes from its buffer to memory.
    Commit(Loc),
}

impl Causality {
    /// What a solution says, as far as its last operation: the machine can do without the commits that follow.
    pub fn prediction(&self, solution: &Solution) -> Prediction {
        let mut steps = self.steps(solution, None);
        let is_commit = |step: &Predicted| matches!(step.step, PredictedStep::Commit(_));
        let n_needed = steps.iter().rposition(|step| !is_commit(step)).map_or(0, |at| at + 1);
        steps.truncate(n_needed);
        Prediction(steps)
    }

    /// What a solution says, with all its commits.
    pub fn whole_prediction(&self, solution: &Solution) -> Prediction {
        Prediction(self.steps(solution, None))
    }

    /// What a solution says of the time before a node.
    pub fn prediction_until(&self, solution: &Solution, node: Node) -> Prediction {
        Prediction(self.steps(solution, Some(node)))
    }

    fn steps(&self, solution: &Solution, until: Option<Node>) -> Vec<Predicted> {
        let n_nodes = self.problem.nodes.len();
        let mut meaning: Vec<Option<(usize, bool)>> = vec![None; n_nodes];
        for (index, event) in self.events.iter().enumerate() {
            meaning[event.issue as usize] = Some((index, false));
            if let Some(commit) = event.commit {
                meaning[commit as usize] = Some((index, true));
            }
        }
        let mut steps = Vec::new();
        for &node in solution.order.iter().take_while(|&&node| Some(node) != until) {
            let Some((index, is_commit)) = meaning[node as usize] else { continue };
            let thread = self.threads[self.events[index].thread].key;
            let step = match is_commit {
                true => self.commit(index),
                false => self.perform(index, solution),
            };
            steps.push(Predicted { thread, step });
        }
        steps
    }

    fn commit(&self, event: usize) -> PredictedStep {
        PredictedStep::Commit(self.events[event].operation.loc().expect("only accesses are committed"))
    }

    fn perform(&self, index: usize, solution: &Solution) -> PredictedStep {
        let event = &self.events[index];
        let result = self.other_result(event, solution).unwrap_or(event.result);
        let wakes = match event.operation.notified() {
            Some((_, false)) => {
                let woken = self.wakes(index).find(|(lit, _)| solution.holds(*lit));
                woken.map(|(_, thread)| self.threads[thread].key)
            }
            _ => None,
        };
        PredictedStep::Perform { result, wakes }
    }

    /// The event's result in the solution, if it is not that of the run.
    fn other_result(&self, event: &CausalEvent, solution: &Solution) -> Option<i64> {
        if let Some(rest) = event.rest.as_ref().filter(|rest| solution.holds(rest.lit)) {
            let choice = match &rest.values {
                Values::Chosen(chosen) => return Some(chosen.value(solution)),
                Values::Read { choice, .. } => *choice,
            };
            let sources = &self.problem.choices[choice].sources;
            let is_seen = |source: &&u32| solution.holds(self.problem.sources[**source as usize].lit);
            return sources.iter().find(is_seen).map(|&source| self.result_of(source));
        }
        event.others.iter().find(|other| solution.holds(other.1)).map(|other| other.0)
    }
}
