//! How executions end, said of the finished book: which threads are stuck for ever, and what cells hold in the end.

use super::effect::{Found, RUNNING};
use super::{Book, Cell, Meaning, NodeId, Test, Wanted};
use crate::base::ThreadKey;
use crate::solver::Lit;
use std::collections::BTreeMap;

/// Literals about the end.
pub(crate) struct Ends {
    /// Everything that can happen has happened.
    pub(crate) over: Lit,
    /// Nodes at which a thread can be stuck for ever, with the literals that say that it is.
    pub(crate) stuck: Vec<(NodeId, Lit)>,
    looks: BTreeMap<(Cell, bool, i64), Lit>,
}

impl Book<'_> {
    /// The edges of a node that can be taken. Requires that the book is finished.
    pub(crate) fn ways_on(&self, node: NodeId) -> Vec<Lit> {
        let edges = self.entry(node).edges.iter().map(|&edge| &self.edges[edge as usize]);
        edges.filter(|edge| edge.known).map(|edge| edge.lit).collect()
    }

    /// All nodes in the book.
    pub(crate) fn entered(&self) -> Vec<NodeId> {
        (0..self.nodes.len() as NodeId).filter(|&node| self.nodes[node as usize].entry.is_some()).collect()
    }

    /// Says what the end of an execution is. Requires that the book is finished.
    pub(crate) fn ends(&mut self) -> Ends {
        let over = self.formula.var(Meaning::Over);
        let mut ends = Ends { over, stuck: vec![], looks: BTreeMap::new() };
        for node in self.entered() {
            if self.operation(node).is_stop() {
                continue;
            }
            let mut clause = self.ways_on(node);
            clause.extend([!over, !self.entry(node).reached]);
            if let Some(blocked) = self.blocked(node, &mut ends) {
                let stuck = self.formula.var(Meaning::Other);
                self.formula.clause([!stuck, blocked]);
                self.formula.clause([!stuck, self.entry(node).reached]);
                for way in self.ways_on(node) {
                    self.formula.clause([!stuck, !way]);
                }
                ends.stuck.push((node, stuck));
                clause.push(stuck);
            }
            self.formula.clause(clause);
        }
        ends
    }

    /// A literal that says that the node's operation can never be performed. Nothing if it always can.
    fn blocked(&mut self, node: NodeId, ends: &mut Ends) -> Option<Lit> {
        let mut reasons = vec![];
        if let Some(access) = self.entry(node).decisive {
            for value in self.values(access) {
                if self.may_find(node, access, value) && self.ways_of(node, access, value).is_empty() {
                    let cell = self.cells[self.accesses[access as usize].cell as usize].cell;
                    reasons.push(self.finally(cell, Test::Is(value), ends));
                }
            }
        }
        if let Some(access) = self.entry(node).second {
            let cell = self.accesses[access as usize].cell;
            for value in self.values(access) {
                if self.never_with(node, value) {
                    reasons.push(self.finally(self.cells[cell as usize].cell, Test::Is(value), ends));
                }
            }
        }
        let at = self.entry(node).at.clone();
        if let Some(lock) = at.operation.reacquired().filter(|_| at.object.is_none()) {
            reasons.push(self.finally(Cell::Lock(lock), Test::IsNot(0), ends));
        }
        if at.operation.is_join_all() {
            let me = self.nodes[node as usize].thread as usize;
            for thread in (0..self.threads.len()).filter(|&thread| thread != me) {
                reasons.push(self.finally(Cell::Thread(self.threads[thread].key), Test::Is(RUNNING), ends));
            }
        }
        if !at.awaiting.is_empty() {
            let unchanged = self.formula.var(Meaning::Other);
            for (loc, value) in at.awaiting {
                let same = self.finally(self.cell_at(loc), Test::Is(value), ends);
                self.formula.clause([!unchanged, same]);
                if let Some(block) = loc.block().filter(|_| self.frees) {
                    let there = self.finally(Cell::Freed(block), Test::Is(0), ends);
                    self.formula.clause([!unchanged, there]);
                }
            }
            reasons.push(unchanged);
        }
        if reasons.is_empty() {
            return None;
        }
        let blocked = self.formula.var(Meaning::Other);
        self.formula.clause([&[!blocked], reasons.as_slice()].concat());
        Some(blocked)
    }

    /// Whether a node's operation cannot be performed while its second cell holds this.
    fn never_with(&mut self, node: NodeId, second: i64) -> bool {
        let Some(access) = self.entry(node).decisive else { return false };
        let mut values = self.values(access).into_iter();
        values.all(|value| self.outcomes(node, Found { value, memory: value, second }).is_empty())
    }

    /// A literal that says what a cell holds when all is over.
    pub(crate) fn finally(&mut self, cell: Cell, test: Test, ends: &mut Ends) -> Lit {
        let key = match test {
            Test::Is(value) => (cell, true, value),
            Test::IsNot(value) => (cell, false, value),
        };
        if let Some(&lit) = ends.looks.get(&key) {
            return lit;
        }
        let access = self.access(None, cell, false);
        let lit = self.formula.var(Meaning::Other);
        self.formula.clause([!lit, ends.over]);
        self.list(access, Wanted::Those(test), lit);
        ends.looks.insert(key, lit);
        lit
    }

    /// Makes a literal imply that no thread fails and none gives up.
    pub(crate) fn all_is_well(&mut self, lit: Lit) {
        for edge in 0..self.edges.len() {
            let edge = &self.edges[edge];
            if edge.known && edge.key.fails {
                self.formula.clause([!lit, !edge.lit]);
            }
        }
        self.nobody_stops(lit);
    }

    /// Makes a literal imply that every thread comes to its end.
    pub(crate) fn all_end(&mut self, lit: Lit) {
        self.all_is_well(lit);
        for node in self.entered() {
            let ways = self.ways_on(node);
            let reached = self.entry(node).reached;
            self.formula.clause([&[!lit, !reached], ways.as_slice()].concat());
        }
    }

    /// Makes a literal imply that no assumption is broken.
    pub(crate) fn nobody_stops(&mut self, lit: Lit) {
        for node in self.entered() {
            if self.operation(node).is_stop() {
                self.formula.clause([!lit, !self.entry(node).reached]);
            }
        }
    }

    /// Whose the node is, and where it stands.
    pub(crate) fn place(&self, node: NodeId) -> (ThreadKey, u32) {
        let (place, node) = (self.entry(node).at.place, &self.nodes[node as usize]);
        (self.threads[node.thread as usize].key, place)
    }
}
