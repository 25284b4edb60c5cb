//! Wakeup trees: what is still to be explored from the nodes of the present execution.
//!
//! A tree is an ordered list of branches; each is a step and the tree to go on with. Where there is no branch, anything may
//! follow. Invariant (Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction): no branch is a weak
//! initial of a sequence that lies to its right, so that no two leaves lead to the same trace.

use super::reversal::Reversal;
use crate::trace::happens_before::footprint::Footprint;
use crate::trace::happens_before::process::Label;

/// A list of branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree(u32);

/// A step and what comes after it.
pub(crate) struct Branch {
    pub(crate) label: Label,
    pub(crate) footprint: Footprint,
    pub(crate) tree: Tree,
    next: Tree,
}

/// The branches of all trees.
#[derive(Default)]
pub(crate) struct Forest {
    branches: Vec<Branch>,
    free: Vec<u32>,
}

impl Tree {
    pub(crate) const EMPTY: Tree = Tree(u32::MAX);
}

impl Forest {
    /// Takes the first branch off a tree.
    pub(crate) fn take_first(&mut self, tree: &mut Tree) -> Option<(Label, Tree)> {
        let branch = self.branches.get(tree.0 as usize)?;
        let taken = (branch.label, branch.tree);
        self.free.push(tree.0);
        *tree = branch.next;
        Some(taken)
    }

    /// Adds a branch without a tree at the front.
    pub(crate) fn add_first(&mut self, tree: &mut Tree, label: Label, footprint: Footprint) {
        *tree = self.branch(label, footprint, Tree::EMPTY, *tree);
    }

    /// Adds the sequence of a reversed race, unless it is covered already.
    pub(crate) fn insert(&mut self, tree: &mut Tree, reversal: &mut Reversal<'_>) {
        let mut parent: Option<u32> = None;
        loop {
            let list = parent.map_or(*tree, |parent| self.branches[parent as usize].tree);
            let (covering, last) = self.covering(list, reversal);
            match covering {
                Some(branch) if self.branches[branch as usize].tree == Tree::EMPTY => return,
                Some(branch) => {
                    let Branch { label, footprint, .. } = &self.branches[branch as usize];
                    reversal.take(*label, footprint);
                    parent = Some(branch);
                }
                None => {
                    let rest = self.sequence(reversal);
                    match (last, parent) {
                        (Some(last), _) => self.branches[last as usize].next = rest,
                        (None, Some(parent)) => self.branches[parent as usize].tree = rest,
                        (None, None) => *tree = rest,
                    }
                    return;
                }
            }
        }
    }

    /// The first branch of a list that the sequence can begin with, and the last branch.
    fn covering(&self, list: Tree, reversal: &Reversal<'_>) -> (Option<u32>, Option<u32>) {
        let (mut at, mut last) = (list, None);
        while let Some(branch) = self.branches.get(at.0 as usize) {
            if reversal.can_begin_with(branch.label, &branch.footprint) {
                return (Some(at.0), last);
            }
            last = Some(at.0);
            at = branch.next;
        }
        (None, last)
    }

    /// A tree with one leaf: what is left of the sequence.
    fn sequence(&mut self, reversal: &Reversal<'_>) -> Tree {
        let mut tree = Tree::EMPTY;
        reversal.for_each_backwards(|label, footprint| tree = self.branch(label, footprint, tree, Tree::EMPTY));
        tree
    }

    fn branch(&mut self, label: Label, footprint: Footprint, tree: Tree, next: Tree) -> Tree {
        let branch = Branch { label, footprint, tree, next };
        match self.free.pop() {
            Some(at) => {
                self.branches[at as usize] = branch;
                Tree(at)
            }
            None => {
                self.branches.push(branch);
                Tree(self.branches.len() as u32 - 1)
            }
        }
    }
}
