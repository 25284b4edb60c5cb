//! From a solution to what has to be done.

use super::Book;
use super::ordering::{Happening, loc_of};
use super::solve::Solution;
use crate::knowledge::causality::{Predicted, PredictedStep, Prediction};

impl Book<'_> {
    /// What a solution says, as far as its last operation by an edge that is not known, or else as far as its last operation.
    pub(crate) fn prediction(&self, solution: &Solution) -> Prediction {
        let leaves = |happening: &Happening| match happening {
            Happening::Issue(edge) => !self.edges[*edge as usize].known,
            Happening::Commit(_) => false,
        };
        let is_issue = |happening: &Happening| matches!(happening, Happening::Issue(_));
        let last = solution.order.iter().rposition(leaves).or_else(|| solution.order.iter().rposition(is_issue));
        self.steps(solution, &solution.order[..last.map_or(0, |last| last + 1)])
    }

    /// What a solution says, with all its commits.
    pub(crate) fn whole_prediction(&self, solution: &Solution) -> Prediction {
        self.steps(solution, &solution.order)
    }

    /// The steps of a part of a solution's order.
    pub(crate) fn steps(&self, solution: &Solution, order: &[Happening]) -> Prediction {
        Prediction(order.iter().filter_map(|&happening| self.step(solution, happening)).collect())
    }

    fn step(&self, solution: &Solution, happening: Happening) -> Option<Predicted> {
        let (edge, step) = match happening {
            Happening::Issue(edge) => {
                let this = &self.edges[edge as usize];
                let result = this.key.result.unwrap_or_else(|| self.value_read(solution, edge));
                (edge, PredictedStep::Perform { result, wakes: this.key.wakes })
            }
            Happening::Commit(write) => (self.writes[write as usize].edge, PredictedStep::Commit(loc_of(self, write)?)),
        };
        let node = &self.nodes[self.edges[edge as usize].node as usize];
        Some(Predicted { thread: self.threads[node.thread as usize].key, step })
    }

    /// The value that the operation of an edge reads in a solution.
    pub(crate) fn value_read(&self, solution: &Solution, edge: u32) -> i64 {
        let edge = &self.edges[edge as usize];
        let Some(list) = edge.list.map(|list| &self.lists[list as usize]) else { return 0 };
        let seen = list.members.iter().find(|&&write| {
            let source = self.source_numbers[&(list.access, write)];
            solution.holds(self.sources[source as usize].lit)
        });
        match seen {
            Some(&Some(write)) => self.writes[write as usize].value,
            _ => self.cells[self.accesses[list.access as usize].cell as usize].initial,
        }
    }
}
