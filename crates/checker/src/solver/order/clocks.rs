//! What is before what, as vector clocks over the chains, and why.

use super::{Explanation, Order, tidy};
use crate::solver::problem::Node;

impl<'p> Order<'p> {
    /// Whether `a` is before or is `b`, by the clocks.
    pub(super) fn is_before(&self, a: Node, b: Node) -> bool {
        let info = &self.problem.nodes[a as usize];
        if info.chain == u32::MAX {
            return a == b;
        }
        self.clocks[b as usize * self.lengths.len() + info.chain as usize] > info.index
    }

    /// A clock holds, for each chain, how many of its nodes are before or are the node.
    pub(super) fn compute_clocks(&mut self) -> Result<(), Explanation> {
        let problem = self.problem;
        let n_chains = self.lengths.len();
        let last = problem.last.filter(|&last| self.is_active(last));
        self.n_clocked = self.edges.len() as u32;
        self.topological.clear();
        self.in_degree.fill(0);
        let mut n_nodes = 0;
        for chain in 0..=n_chains {
            for &node in self.members(chain, &last) {
                n_nodes += 1;
                self.clocks[node as usize * n_chains..][..n_chains].fill(0);
                self.for_each_successor(node, |this, to| this[to as usize] += 1);
            }
        }
        let mut ready: Vec<Node> = Vec::new();
        for chain in 0..=n_chains {
            let first = self.members(chain, &last).first().copied();
            ready.extend(first.filter(|&node| self.in_degree[node as usize] == 0));
        }
        while let Some(node) = ready.pop() {
            self.topological.push(node);
            let info = &problem.nodes[node as usize];
            if info.chain != u32::MAX {
                self.clocks[node as usize * n_chains + info.chain as usize] = info.index + 1;
            }
            self.relax(node, &mut ready);
        }
        if self.topological.len() == n_nodes { Ok(()) } else { Err(self.explain_cycle()) }
    }

    /// The nodes of a chain that take part; the last node counts as one more chain.
    fn members<'a>(&self, chain: usize, last: &'a Option<Node>) -> &'a [Node]
    where
        'p: 'a,
    {
        match self.problem.chains.get(chain) {
            Some(nodes) => &nodes[..self.lengths[chain] as usize],
            None => last.as_slice(),
        }
    }

    pub(super) fn for_each_successor(&mut self, node: Node, mut visit: impl FnMut(&mut Vec<u32>, Node)) {
        let info = &self.problem.nodes[node as usize];
        let mut in_degree = std::mem::take(&mut self.in_degree);
        if info.chain != u32::MAX && info.index + 1 < self.lengths[info.chain as usize] {
            visit(&mut in_degree, self.problem.chains[info.chain as usize][info.index as usize + 1]);
        }
        for &to in &self.static_out[node as usize] {
            if self.takes_part(to) {
                visit(&mut in_degree, to);
            }
        }
        for &edge in &self.out[node as usize] {
            let to = self.edges[edge as usize].to;
            if self.takes_part(to) {
                visit(&mut in_degree, to);
            }
        }
        self.in_degree = in_degree;
    }

    /// Passes a node's clock on to its successors, and notes those that have all their predecessors.
    fn relax(&mut self, node: Node, ready: &mut Vec<Node>) {
        let n_chains = self.lengths.len();
        let mut clocks = std::mem::take(&mut self.clocks);
        let (from, n) = (node as usize * n_chains, n_chains);
        self.for_each_successor(node, |in_degree, to| {
            for chain in 0..n {
                let known = clocks[from + chain];
                let clock = &mut clocks[to as usize * n_chains + chain];
                *clock = (*clock).max(known);
            }
            in_degree[to as usize] -= 1;
            if in_degree[to as usize] == 0 {
                ready.push(to);
            }
        });
        self.clocks = clocks;
    }

    /// Literals that put `a` before `b`. Requires that the clocks say so.
    pub(super) fn explain_path(&self, a: Node, b: Node) -> Explanation {
        let mut reasons = Vec::new();
        let mut at = a;
        while at != b {
            let info = &self.problem.nodes[at as usize];
            let leads = |to: Node| self.takes_part(to) && (to == b || self.is_before(to, b));
            let next_in_chain = self.problem.chains[info.chain as usize].get(info.index as usize + 1).copied();
            // Edges of this round are not in the clocks: following them could lead in circles.
            let clocked = self.out[at as usize].iter().filter(|&&edge| edge < self.n_clocked);
            let mut clocked = clocked.map(|&edge| &self.edges[edge as usize]);
            if let Some(next) = next_in_chain.filter(|&next| leads(next)) {
                at = next;
            } else if let Some(&next) = self.static_out[at as usize].iter().find(|&&next| leads(next)) {
                at = next;
            } else {
                let edge = clocked.find(|edge| leads(edge.to)).expect("the clocks follow the edges");
                reasons.extend(&edge.reasons);
                at = edge.to;
            }
        }
        reasons
    }

    /// Literals that make a cycle. Requires that the topological order is incomplete.
    fn explain_cycle(&mut self) -> Explanation {
        let mut placed = vec![false; self.problem.nodes.len()];
        for &node in &self.topological {
            placed[node as usize] = true;
        }
        // Every node that is left has a predecessor that is left: walk backwards until one repeats.
        let mut into: Vec<Option<(Node, Option<u32>)>> = vec![None; self.problem.nodes.len()];
        let mut start = None;
        for from in (0..self.problem.nodes.len() as Node).filter(|&n| !placed[n as usize] && self.takes_part(n)) {
            start = start.or(Some(from));
            let info = &self.problem.nodes[from as usize];
            let next = self.problem.chains.get(info.chain as usize).and_then(|c| c.get(info.index as usize + 1));
            let plain = next.into_iter().chain(&self.static_out[from as usize]).map(|&to| (to, None));
            let derived = self.out[from as usize].iter().map(|&edge| (self.edges[edge as usize].to, Some(edge)));
            for (to, edge) in plain.chain(derived) {
                if !placed[to as usize] && self.takes_part(to) && (into[to as usize].is_none() || edge.is_none()) {
                    into[to as usize] = Some((from, edge));
                }
            }
        }
        let mut seen = vec![false; self.problem.nodes.len()];
        let mut at = start.expect("something is left");
        while !std::mem::replace(&mut seen[at as usize], true) {
            at = into[at as usize].expect("it has a predecessor").0;
        }
        let (mut reasons, first) = (Vec::new(), at);
        loop {
            let (from, edge) = into[at as usize].expect("it has a predecessor");
            reasons.extend(edge.into_iter().flat_map(|edge| &self.edges[edge as usize].reasons));
            at = from;
            if at == first {
                tidy(&mut reasons);
                return reasons;
            }
        }
    }
}
