//! From a solution to what has to be done: the shortest prefix that has all of the configuration's operations.

use super::Causality;
use crate::execution::{Operation, ThreadKey};
use crate::program::Loc;
use crate::solver::Solution;

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
    /// What a solution says. Commits at the very end are left out, unless they are asked for: the machine can do without.
    pub fn prediction(&self, solution: &Solution, with_commits: bool) -> Prediction {
        let n_nodes = self.problem.nodes.len();
        let mut meaning: Vec<Option<(usize, bool)>> = vec![None; n_nodes];
        for (index, event) in self.events.iter().enumerate() {
            meaning[event.issue as usize] = Some((index, false));
            if let Some(commit) = event.commit {
                meaning[commit as usize] = Some((index, true));
            }
        }
        let mut steps = Vec::new();
        for &node in &solution.order {
            let Some((index, is_commit)) = meaning[node as usize] else { continue };
            let thread = self.threads[self.events[index].thread].key;
            let step = match is_commit {
                true => self.commit(index),
                false => self.perform(index, solution),
            };
            steps.push(Predicted { thread, step });
        }
        if !with_commits {
            let is_commit = |step: &Predicted| matches!(step.step, PredictedStep::Commit(_));
            let n_needed = steps.iter().rposition(|step| !is_commit(step)).map_or(0, |at| at + 1);
            steps.truncate(n_needed);
        }
        Prediction(steps)
    }

    fn commit(&self, event: usize) -> PredictedStep {
        PredictedStep::Commit(self.events[event].operation.loc().expect("only accesses are committed"))
    }

    fn perform(&self, index: usize, solution: &Solution) -> PredictedStep {
        let event = &self.events[index];
        let other = event.others.iter().find(|other| solution.holds(other.1));
        let result = other.map_or(event.result, |other| other.0);
        let wakes = match event.operation {
            Operation::Notify { all: false, .. } => {
                let woken = self.wakes(index).find(|(lit, _)| solution.holds(*lit));
                woken.map(|(_, thread)| self.threads[thread].key)
            }
            _ => None,
        };
        PredictedStep::Perform { result, wakes }
    }
}
