//! Two memory models compared: is everything that can happen under one possible under the other?
//!
//! Both books are finished. Combinations of thread histories are enumerated from one, and each is asked of the other.

use super::Cumulative;
use crate::base::Schedule;
use crate::execution::{Comparable, MemoryModel, interpret};
use crate::knowledge::book::{Book, Ends, Meaning, NodeId, Solution, Wanted};
use crate::program::Program;
use crate::search::{Engine, Options, StopReason, Watch};
use crate::solver::{Goal, Lit};
use crate::trace::Combination;
use std::collections::BTreeMap;

/// How two memory models compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same can happen under both: so many combinations of thread histories.
    Same(u64),
    /// This can happen under the first alone.
    Differs(Difference),
    /// Not everything could be explored.
    Unknown(StopReason),
}

/// Something that can happen under one memory model alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What each thread has seen.
    pub combination: Combination,
    /// An execution with it, which has been run.
    pub schedule: Schedule,
}

/// Says whether everything that can happen under the memory model of the options can happen under another one.
pub fn compare(program: &Program, options: &Options, other: MemoryModel, watch: &dyn Watch) -> Comparison {
    let subject = interpret(program);
    let options = Options { all_violations: true, engine: Engine::Cumulative, ..options.clone() };
    let options = options.engine.adapt(&options);
    let rules = crate::execution::Rules { max_buffer: options.rules.max_buffer, ..other.rules() };
    let other = Options { memory: other, rules, ..options.clone() };
    let mut searches = [&options, &other].map(|options| Cumulative::new(&subject, options, watch));
    compare_books(&mut searches).unwrap_or_else(Comparison::Unknown)
}

fn compare_books<S: Comparable>(searches: &mut [Cumulative<'_, S>; 2]) -> Result<Comparison, StopReason> {
    let [search, other] = searches;
    let (ends, other_ends) = (search.finish()?, other.finish()?);
    let mut enumeration = search.enumerate(ends);
    let mut question = Question { ends: other_ends, results: BTreeMap::new() };
    let mut n = 0;
    while let Some((combination, solution)) = search.next_combination(&mut enumeration)? {
        if !other.has(&combination, &mut question)? {
            let schedule = search.schedule(&solution)?;
            return Ok(Comparison::Differs(Difference { combination, schedule }));
        }
        n += 1;
    }
    Ok(Comparison::Same(n))
}

/// What is needed to ask a book whether a combination is possible.
struct Question {
    ends: Ends,
    /// Literals that make a node's operation have a certain result.
    results: BTreeMap<(NodeId, i64), Lit>,
}

impl<S: Comparable> Cumulative<'_, S> {
    /// Whether a combination of complete histories is possible. Requires that the book is finished.
    fn has(&mut self, combination: &Combination, question: &mut Question) -> Result<bool, StopReason> {
        let goal = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!goal, question.ends.over]);
        self.book.nobody_stops(goal);
        for (key, history) in combination {
            let Some(thread) = self.book.threads.iter().position(|thread| thread.key == *key) else {
                return Ok(false);
            };
            // A thread can begin in several ways; each is another thread as far as its results go.
            let mut ways = vec![];
            for root in self.book.threads[thread].roots.clone() {
                let way = self.book.formula.var(Meaning::Other);
                if self.follow(root, history, way, &mut question.results) {
                    ways.push(way);
                }
            }
            self.book.formula.clause([&[!goal], ways.as_slice()].concat());
        }
        Ok(self.ask(Goal::Finish, &[goal])?.is_some())
    }

    /// Makes a literal imply that a thread begins here, has these results, and no more. Says whether the book knows of that.
    fn follow(&mut self, root: NodeId, history: &[i64], lit: Lit, results: &mut BTreeMap<(NodeId, i64), Lit>) -> bool {
        let Some(entry) = &self.book.nodes[root as usize].entry else { return false };
        self.book.formula.clause([!lit, entry.reached]);
        let mut at = Some(root);
        for &result in history {
            let Some(node) = at else { return false };
            let Some(is) = self.book.with_result(node, result, results) else { return false };
            self.book.formula.clause([!lit, is]);
            at = self.book.next_node(node, result);
        }
        let ways = at.filter(|&node| self.book.nodes[node as usize].entry.is_some());
        for way in ways.map_or(vec![], |node| self.book.ways_on(node)) {
            self.book.formula.clause([!lit, !way]);
        }
        true
    }

    /// Runs a solution in which all is over.
    fn schedule(&mut self, solution: &Solution) -> Result<Schedule, StopReason> {
        let prediction = self.book.whole_prediction(solution);
        let mut runner = self.runner();
        runner.follow(&prediction).map_err(StopReason::Failed)?;
        Ok(Schedule(runner.steps))
    }
}

impl Book<'_> {
    /// A literal that makes the node's operation have a result. Nothing if it never has.
    fn with_result(&mut self, node: NodeId, result: i64, results: &mut BTreeMap<(NodeId, i64), Lit>) -> Option<Lit> {
        if let Some(&is) = results.get(&(node, result)) {
            return Some(is);
        }
        let entry = self.nodes[node as usize].entry.as_ref()?;
        let known = entry.edges.iter().map(|&edge| &self.edges[edge as usize]).filter(|edge| edge.known);
        let mut ways: Vec<Lit> = vec![];
        let mut lists = vec![];
        for edge in known {
            match (edge.key.result, edge.list.map(|list| &self.lists[list as usize])) {
                (Some(of), _) if of == result => ways.push(edge.lit),
                (None, Some(list)) if matches!(&list.values, Wanted::These(values) if values.contains(&result)) => {
                    lists.push((edge.lit, list.access));
                }
                _ => {}
            }
        }
        for (edge, access) in lists {
            let sees = self.formula.var(Meaning::Other);
            self.formula.clause([!sees, edge]);
            self.list(access, Wanted::These(vec![result]), sees);
            ways.push(sees);
        }
        if ways.is_empty() {
            return None;
        }
        let is = self.formula.var(Meaning::Other);
        self.formula.clause([&[!is], ways.as_slice()].concat());
        results.insert((node, result), is);
        Some(is)
    }

    /// Where a thread is after a result. Nothing after its end.
    fn next_node(&self, node: NodeId, result: i64) -> Option<NodeId> {
        let known = self.entry(node).edges.iter().map(|&edge| &self.edges[edge as usize]).filter(|edge| edge.known);
        let mut with = known.filter(|edge| match (edge.key.result, edge.list) {
            (Some(of), _) => of == result,
            (None, Some(list)) => {
                matches!(&self.lists[list as usize].values, Wanted::These(values) if values.contains(&result))
            }
            (None, None) => false,
        });
        with.find_map(|edge| edge.key.target)
    }
}
