//! The executions seen, kept so that what they mean for a run is found without looking at each of them.
//!
//! Thread by thread, histories are a radix tree in which every node knows the executions below it. To a run, an execution is no more than
//! where each of its threads parts from the thread of the run: off the path that the run itself takes through the tree. The executions
//! that part alike are intersections of such sets, one set per thread. There are few of those, however many executions have been seen.

use crate::base::ThreadKey;
use crate::knowledge::causality::{CausalThread, Causality, Parting};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Every execution, once.
#[derive(Default)]
pub(super) struct Seen {
    trees: FxHashMap<ThreadKey, Tree>,
    /// By the ends of the threads' histories in their trees, whether it is a complete combination: it is not if an assumption did not hold.
    complete: FxHashMap<Vec<(ThreadKey, u32)>, bool>,
    all: RoaringBitmap,
}

/// Executions whose threads all part from the run in the same way `P`.
type Alike<P> = Vec<(P, RoaringBitmap)>;

impl Seen {
    pub(super) fn len(&self) -> u32 {
        self.all.len() as u32
    }

    /// Adds an execution, given by the histories of its threads in the order of their keys. Says whether it is new.
    pub(super) fn add(&mut self, histories: &[(ThreadKey, Vec<i64>)], complete: bool) -> bool {
        let mut end = |(key, history): &(ThreadKey, Vec<i64>)| (*key, self.trees.entry(*key).or_default().end(history));
        let ends: Vec<_> = histories.iter().map(&mut end).collect();
        if self.complete.contains_key(&ends) {
            return false;
        }
        let number = self.len();
        for (key, end) in &ends {
            self.trees.get_mut(key).expect("it has an end").mark(*end, number);
        }
        self.complete.insert(ends, complete);
        self.all.insert(number);
        true
    }

    /// The ways in which executions from a number on part from the run.
    pub(super) fn partings(&self, causality: &Causality, since: u32) -> Vec<Vec<Parting>> {
        let alike = |thread: &CausalThread| {
            let mut alike: BTreeMap<Parting, RoaringBitmap> = BTreeMap::new();
            self.walk(causality, thread, |agreed, next, executions| {
                *alike.entry(causality.parting(thread, agreed, next)).or_default() |= executions;
            });
            alike.into_iter().collect()
        };
        self.combine(&causality.threads.iter().map(alike).collect::<Vec<_>>(), since)
    }

    /// For each execution from a number on that is a beginning of the run, how much each thread does in it.
    pub(super) fn beginnings(&self, causality: &Causality, since: u32) -> Vec<Vec<usize>> {
        let alike = |thread: &CausalThread| {
            let mut alike = Vec::new();
            self.walk(causality, thread, |agreed, next, executions| {
                if next.is_none() {
                    alike.push((agreed, executions.clone()));
                }
            });
            alike
        };
        self.combine(&causality.threads.iter().map(alike).collect::<Vec<_>>(), since)
    }

    /// Shows the executions in which the thread agrees with the run for so long, and then has this result, or ends.
    fn walk(
        &self,
        causality: &Causality,
        thread: &CausalThread,
        mut show: impl FnMut(usize, Option<i64>, &RoaringBitmap),
    ) {
        let Some(tree) = self.trees.get(&thread.key) else { return show(0, None, &self.all) };
        let history = causality.history(thread);
        let not_started = &self.all - &tree.nodes[0].executions;
        if !not_started.is_empty() {
            show(0, None, &not_started);
        }
        let (mut at, mut agreed) = (0, 0);
        loop {
            let node = &tree.nodes[at];
            let mut ending = node.executions.clone();
            let mut follow = None;
            for &child in &node.children {
                let TreeNode { results, executions, .. } = &tree.nodes[child as usize];
                ending -= executions;
                match history.get(agreed) {
                    Some(&result) if result == results[0] => follow = Some((child, results.len())),
                    _ => show(agreed, Some(results[0]), executions),
                }
            }
            if !ending.is_empty() {
                show(agreed, None, &ending);
            }
            let Some((child, n_results)) = follow else { return };
            (at, agreed) = (child as usize, agreed + n_results);
        }
    }

    /// Every combination that some execution from a number on belongs to, in the order of the first executions that do.
    fn combine<P: Copy>(&self, threads: &[Alike<P>], since: u32) -> Vec<Vec<P>> {
        let mut new = self.all.clone();
        new.remove_range(..since);
        let mut combinations = Vec::new();
        intersect(threads, &new, &mut Vec::new(), &mut combinations);
        combinations.sort_unstable_by_key(|combination| combination.0);
        combinations.into_iter().map(|combination| combination.1).collect()
    }

    /// The histories of every complete combination.
    pub(super) fn combinations(&self) -> impl Iterator<Item = Vec<(ThreadKey, Vec<i64>)>> {
        let complete = self.complete.iter().filter(|execution| *execution.1);
        complete.map(|(ends, _)| ends.iter().map(|(key, end)| (*key, self.trees[key].spell(*end))).collect())
    }
}

fn intersect<P: Copy>(
    threads: &[Alike<P>],
    executions: &RoaringBitmap,
    chosen: &mut Vec<P>,
    combinations: &mut Vec<(Option<u32>, Vec<P>)>,
) {
    let Some((thread, rest)) = threads.split_first() else {
        return combinations.push((executions.min(), chosen.clone()));
    };
    for (way, alike) in thread {
        let both = executions & alike;
        if !both.is_empty() {
            chosen.push(*way);
            intersect(rest, &both, chosen, combinations);
            chosen.pop();
        }
    }
}

/// The histories of one thread.
struct Tree {
    nodes: Vec<TreeNode>,
}

/// A part of one or more histories.
struct TreeNode {
    parent: u32,
    /// What it adds to its parent: nothing at the root, something everywhere else.
    results: Vec<i64>,
    children: Vec<u32>,
    /// Those that come here, whether they go on or not.
    executions: RoaringBitmap,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { nodes: vec![TreeNode::new(0, Vec::new())] }
    }
}

impl TreeNode {
    fn new(parent: u32, results: Vec<i64>) -> TreeNode {
        TreeNode { parent, results, children: Vec::new(), executions: RoaringBitmap::new() }
    }
}

impl Tree {
    /// The node at which the history ends, made if there is none. Nodes keep their numbers.
    fn end(&mut self, history: &[i64]) -> u32 {
        let (mut at, mut rest) = (0, history);
        while let Some(&next) = rest.first() {
            let starts = |&&child: &&u32| self.nodes[child as usize].results[0] == next;
            let Some(&child) = self.nodes[at as usize].children.iter().find(starts) else {
                return self.push(at, rest.to_vec());
            };
            let common = self.nodes[child as usize].results.iter().zip(rest).take_while(|(a, b)| a == b).count();
            at = if common < self.nodes[child as usize].results.len() { self.split(child, common) } else { child };
            rest = &rest[common..];
        }
        at
    }

    fn push(&mut self, parent: u32, results: Vec<i64>) -> u32 {
        let number = self.nodes.len() as u32;
        self.nodes.push(TreeNode::new(parent, results));
        self.nodes[parent as usize].children.push(number);
        number
    }

    /// Puts a node before this one that takes over its first results.
    fn split(&mut self, node: u32, n_first: usize) -> u32 {
        let number = self.nodes.len() as u32;
        let this = &mut self.nodes[node as usize];
        let rest = this.results.split_off(n_first);
        let before = TreeNode {
            parent: std::mem::replace(&mut this.parent, number),
            results: std::mem::replace(&mut this.results, rest),
            children: vec![node],
            executions: this.executions.clone(),
        };
        let siblings = &mut self.nodes[before.parent as usize].children;
        let place = siblings.iter().position(|&child| child == node).expect("it is its parent's child");
        siblings[place] = number;
        self.nodes.push(before);
        number
    }

    /// Notes that an execution ends in this node.
    fn mark(&mut self, end: u32, execution: u32) {
        let mut at = end;
        loop {
            self.nodes[at as usize].executions.insert(execution);
            if at == 0 {
                return;
            }
            at = self.nodes[at as usize].parent;
        }
    }

    /// The history that ends in this node.
    fn spell(&self, end: u32) -> Vec<i64> {
        let path = std::iter::successors(Some(end), |&at| (at != 0).then(|| self.nodes[at as usize].parent));
        let mut path: Vec<_> = path.collect();
        path.reverse();
        path.into_iter().flat_map(|at| &self.nodes[at as usize].results).copied().collect()
    }
}
