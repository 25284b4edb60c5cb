//! Every combination of thread histories, enumerated from the finished book without running anything.

use super::Cumulative;
use crate::execution::Describe;
use crate::knowledge::book::{Ends, Meaning, NodeId, Solution, Wanted, taken};
use crate::search::StopReason;
use crate::solver::{Goal, Lit};
use crate::trace::Combination;
use std::collections::BTreeMap;

/// An enumeration under way.
pub(super) struct Enumeration {
    goal: Lit,
    ends: Ends,
    /// Literals that are true when a node's operation has a certain result.
    results: BTreeMap<(NodeId, i64), Lit>,
}

impl<S: Describe> Cumulative<'_, S> {
    /// Begins to enumerate all combinations of complete histories. Requires that the book is finished.
    pub(super) fn enumerate(&mut self, ends: Ends) -> Enumeration {
        let goal = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!goal, ends.over]);
        self.book.nobody_stops(goal);
        Enumeration { goal, ends, results: BTreeMap::new() }
    }

    /// One more combination, with an execution that has it.
    pub(super) fn next_combination(
        &mut self,
        enumeration: &mut Enumeration,
    ) -> Result<Option<(Combination, Solution)>, StopReason> {
        let Some(solution) = self.ask(Goal::Finish, &[enumeration.goal])? else { return Ok(None) };
        let Enumeration { goal, ends, results } = enumeration;
        let clause = self.other_combination(*goal, &solution, ends, results);
        self.book.formula.clause(clause);
        Ok(Some((self.combination(&solution), solution)))
    }

    fn combination(&self, solution: &Solution) -> Combination {
        let mut histories: BTreeMap<_, Vec<i64>> = BTreeMap::new();
        for edge in taken(solution) {
            let this = &self.book.edges[edge as usize];
            let thread = self.book.nodes[this.node as usize].thread;
            if let Some(number) = this.key.child.map(|child| self.book.nodes[child as usize].thread) {
                histories.entry(self.book.threads[number as usize].key).or_default();
            }
            let result = this.key.result.unwrap_or_else(|| self.book.value_read(solution, edge));
            histories.entry(self.book.threads[thread as usize].key).or_default().push(result);
        }
        for thread in &self.book.threads[..self.book.n_initial] {
            histories.entry(thread.key).or_default();
        }
        histories.into_iter().collect()
    }

    /// A clause that is true of every solution with another combination.
    fn other_combination(
        &mut self,
        goal: Lit,
        solution: &Solution,
        ends: &Ends,
        results: &mut BTreeMap<(NodeId, i64), Lit>,
    ) -> Vec<Lit> {
        let mut clause = vec![!goal];
        for edge in taken(solution).collect::<Vec<_>>() {
            let result = self.book.edges[edge as usize].key.result;
            let result = result.unwrap_or_else(|| self.book.value_read(solution, edge));
            let node = self.book.edges[edge as usize].node;
            let can_wait = ends.stuck.binary_search_by_key(&node, |stuck| stuck.0).is_ok();
            let is_only = self.book.ways_on(node).len() == 1 && self.book.edges[edge as usize].key.result.is_some();
            if is_only && !can_wait {
                // Whoever comes here goes on like this; whoever need not come here differs elsewhere.
                continue;
            }
            if !results.contains_key(&(node, result)) {
                self.name_results(node, results);
            }
            clause.push(!results[&(node, result)]);
        }
        for node in self.book.entered() {
            let reached = solution.holds(self.book.entry(node).reached);
            let ways = self.book.ways_on(node);
            if reached && !ways.iter().any(|&way| solution.holds(way)) {
                clause.extend(ways);
            }
        }
        clause
    }

    /// Literals that are true when the node's operation has a certain result.
    fn name_results(&mut self, node: NodeId, results: &mut BTreeMap<(NodeId, i64), Lit>) {
        let edges = self.book.entry(node).edges.clone();
        for edge in edges.into_iter().filter(|&edge| self.book.edges[edge as usize].known).collect::<Vec<_>>() {
            let lit = self.book.edges[edge as usize].lit;
            match (self.book.edges[edge as usize].key.result, self.book.edges[edge as usize].list) {
                (None, Some(list)) => {
                    let list = &self.book.lists[list as usize];
                    let access = list.access;
                    let Wanted::These(values) = &list.values else { continue };
                    let mut one = vec![!lit];
                    for value in values.clone() {
                        let is = self.book.formula.var(Meaning::Other);
                        self.book.list(access, Wanted::These(vec![value]), is);
                        results.insert((node, value), is);
                        one.push(is);
                    }
                    self.book.formula.clause(one);
                }
                (result, _) => {
                    let result = result.unwrap_or(0);
                    let is = *results.entry((node, result)).or_insert_with(|| self.book.formula.var(Meaning::Other));
                    self.book.formula.clause([!lit, is]);
                }
            }
        }
    }
}
