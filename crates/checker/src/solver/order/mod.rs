//! The theory of ordering: is there a total order, for the literals that are true?
//!
//! *Saturation* adds the orders that follow. For a true source `(r, w)` and another active write `v` to the cell: if
//! `v` is before `r`, it is before `w`; if `w` is before `v`, then `r` is before `v` (from-read). Reachability is kept as vector clocks over the chains (`clocks.rs`), so per
//! source only one write of each chain has to be looked at: the latest before `r` and the earliest after `w`. A cycle is a conflict.
//!
//! What saturation leaves open is settled by *linearization* (`linearize.rs`): nodes are laid down one after the other, close to the execution that
//! the problem came from, never a write while the value it replaces is still to be read. If that gets stuck at a write
//! `v` and a read `r` of the current value `w`, both `r < v` and `v < w` are tried.
//!
//! Every derived order carries the literals it follows from, so a conflict is explained by a set of literals that cannot all
//! be true. Tried orders are marked in the same sets and resolved away when both alternatives failed.

mod clocks;
mod linearize;

use super::problem::{Lit, Node, Problem, Read, Source, WriteId};
use rustc_hash::FxHashMap;

/// Literals that cannot all be true.
pub(crate) type Explanation = Vec<Lit>;

/// A reusable checker for one problem.
pub(crate) struct Order<'p> {
    problem: &'p Problem,
    /// For each cell and chain, the writes there by place.
    writes: Vec<Vec<Vec<WriteId>>>,
    static_out: Vec<Vec<Node>>,
    /// The source of each variable that is one; else `u32::MAX`.
    source_of: Vec<u32>,
    /// Conditional edges by variable.
    conditional: FxHashMap<u32, Vec<(Node, Node)>>,
    // What holds for the literals at hand.
    true_literals: Vec<Lit>,
    is_true: Vec<bool>,
    lengths: Vec<u32>,
    sources: Vec<u32>,
    edges: Vec<Edge>,
    out: Vec<Vec<u32>>,
    clocks: Vec<u32>,
    topological: Vec<Node>,
    in_degree: Vec<u32>,
    n_splits: u32,
    /// How many edges there were when the clocks were made.
    n_clocked: u32,
    /// The order found last.
    pub(crate) found: Vec<Node>,
}

struct Edge {
    from: Node,
    to: Node,
    reasons: Explanation,
}

/// Marks of tried orders: literals that no problem has.
fn mark(split: u32) -> Lit {
    Lit(u32::MAX - split)
}

impl<'p> Order<'p> {
    pub(crate) fn new(problem: &'p Problem) -> Order<'p> {
        let n_cells = problem.writes.iter().map(|write| write.cell + 1).max().unwrap_or(0) as usize;
        let n_cells = n_cells.max(problem.reads.iter().map(|read| read.cell as usize + 1).max().unwrap_or(0));
        let mut writes: Vec<Vec<Vec<WriteId>>> = vec![vec![]; n_cells];
        for (id, write) in problem.writes.iter().enumerate() {
            let chain = problem.nodes[write.node as usize].chain;
            let chains = &mut writes[write.cell as usize];
            let of_chain = |w: &WriteId| problem.nodes[problem.writes[*w as usize].node as usize].chain;
            match chains.iter_mut().find(|ids| of_chain(&ids[0]) == chain) {
                Some(ids) => ids.push(id as WriteId),
                None => chains.push(vec![id as WriteId]),
            }
        }
        for ids in writes.iter_mut().flatten() {
            ids.sort_by_key(|&w| problem.nodes[problem.writes[w as usize].node as usize].index);
        }
        let mut static_out = vec![vec![]; problem.nodes.len()];
        for &(from, to) in &problem.edges {
            static_out[from as usize].push(to);
        }
        let mut source_of = vec![u32::MAX; problem.n_vars as usize];
        for (at, source) in problem.sources.iter().enumerate() {
            source_of[source.lit.var() as usize] = at as u32;
        }
        let mut conditional: FxHashMap<u32, Vec<(Node, Node)>> = FxHashMap::default();
        for &(lit, from, to) in &problem.conditional {
            conditional.entry(lit.var()).or_default().push((from, to));
        }
        let n = problem.nodes.len();
        Order {
            problem,
            writes,
            static_out,
            source_of,
            conditional,
            true_literals: Vec::new(),
            is_true: vec![false; problem.n_vars as usize * 2],
            lengths: vec![0; problem.chains.len()],
            sources: Vec::new(),
            edges: Vec::new(),
            out: vec![vec![]; n],
            clocks: vec![0; n * problem.chains.len()],
            topological: Vec::new(),
            in_degree: vec![0; n],
            n_splits: 0,
            n_clocked: 0,
            found: Vec::new(),
        }
    }

    /// From now on the literal implies that `from` is before `to`.
    pub(super) fn add_conditional(&mut self, lit: Lit, from: Node, to: Node) {
        self.conditional.entry(lit.var()).or_default().push((from, to));
    }

    /// Whether the true literals can hold together. If so, finds an order.
    pub(crate) fn check(&mut self, true_literals: impl Iterator<Item = Lit>) -> Result<(), Explanation> {
        self.load(true_literals);
        let result = self.search();
        for edge in self.edges.drain(..) {
            self.out[edge.from as usize].clear();
        }
        result
    }

    fn load(&mut self, true_literals: impl Iterator<Item = Lit>) {
        for lit in self.true_literals.drain(..) {
            self.is_true[lit.0 as usize] = false;
        }
        self.true_literals.extend(true_literals);
        self.sources.clear();
        self.n_splits = 0;
        for at in 0..self.true_literals.len() {
            let lit = self.true_literals[at];
            if lit.0 as usize >= self.is_true.len() {
                self.is_true.resize(lit.0 as usize + 1, false);
            }
            self.is_true[lit.0 as usize] = true;
        }
        for (chain, members) in self.problem.chains.iter().enumerate() {
            self.lengths[chain] = members.iter().take_while(|&&node| self.is_active(node)).count() as u32;
        }
        for at in 0..self.true_literals.len() {
            let lit = self.true_literals[at];
            if !lit.is_positive() {
                continue;
            }
            if let Some(&source) = self.source_of.get(lit.var() as usize).filter(|&&source| source != u32::MAX) {
                self.load_source(source);
            }
            for edge in 0..self.conditional.get(&lit.var()).map_or(0, Vec::len) {
                let (from, to) = self.conditional[&lit.var()][edge];
                self.add_edge(from, to, vec![lit]);
            }
        }
        if let Some(last) = self.problem.last.filter(|&last| self.is_active(last)) {
            for chain in 0..self.lengths.len() {
                if self.lengths[chain] > 0 {
                    let node = self.problem.chains[chain][self.lengths[chain] as usize - 1];
                    self.add_edge(node, last, vec![]);
                }
            }
        }
    }

    fn load_source(&mut self, at: u32) {
        let source = self.problem.sources[at as usize];
        if !self.takes_part(self.problem.reads[source.read as usize].node) {
            return;
        }
        self.sources.push(at);
        if let Some((own, seen)) = self.problem.after_own(&source) {
            self.add_edge(own, seen, vec![source.lit]);
        }
        let (Some(write), false) = (source.write, source.own) else { return };
        let from = self.problem.writes[write as usize].node;
        let to = self.problem.reads[source.read as usize].node;
        self.add_edge(from, to, vec![source.lit]);
    }

    fn is_active(&self, node: Node) -> bool {
        self.problem.nodes[node as usize].active.iter().any(|lit| self.is_true[lit.0 as usize])
    }

    /// Whether the node takes part: active, and so is everything before it in its chain.
    fn takes_part(&self, node: Node) -> bool {
        let info = &self.problem.nodes[node as usize];
        match self.lengths.get(info.chain as usize) {
            Some(&length) => info.index < length,
            None => self.is_active(node),
        }
    }

    fn add_edge(&mut self, from: Node, to: Node, reasons: Explanation) {
        self.out[from as usize].push(self.edges.len() as u32);
        self.edges.push(Edge { from, to, reasons });
    }

    fn search(&mut self) -> Result<(), Explanation> {
        self.saturate()?;
        let Err(stuck) = self.linearize() else { return Ok(()) };
        let source = self.problem.sources[stuck.source as usize];
        let read = self.problem.reads[source.read as usize].node;
        let seen = source.write.map(|write| self.problem.writes[write as usize].node);
        let write = self.problem.writes[stuck.write as usize];
        let because = [source.lit, write.active];
        self.n_splits += 1;
        let marked = mark(self.n_splits);
        let alternatives = [Some((read, write.node)), seen.map(|seen| (write.node, seen))];
        let mut explanation = because.to_vec();
        for (from, to) in alternatives.into_iter().flatten() {
            let n_edges = self.edges.len();
            self.add_edge(from, to, vec![marked]);
            let Err(why) = self.search() else { return Ok(()) };
            self.retract(n_edges);
            if !why.contains(&marked) {
                return Err(why);
            }
            explanation.extend(why.into_iter().filter(|&lit| lit != marked));
        }
        tidy(&mut explanation);
        Err(explanation)
    }

    fn retract(&mut self, n_edges: usize) {
        for edge in self.edges.drain(n_edges..).rev() {
            self.out[edge.from as usize].pop();
        }
    }

    /// Adds every order that follows, until nothing new follows.
    fn saturate(&mut self) -> Result<(), Explanation> {
        loop {
            self.compute_clocks()?;
            let before = self.edges.len();
            for at in 0..self.sources.len() {
                self.derive(self.sources[at]);
            }
            if self.edges.len() == before {
                return Ok(());
            }
        }
    }

    /// The orders that follow from one source and the clocks.
    fn derive(&mut self, at: u32) {
        let source = self.problem.sources[at as usize];
        let read = self.problem.reads[source.read as usize];
        let seen = source.write.map(|write| self.problem.writes[write as usize].node);
        for chain in 0..self.writes[read.cell as usize].len() {
            if let Some(seen) = seen {
                self.derive_before(&source, seen, chain);
            }
            self.derive_after(&source, seen, chain);
        }
    }

    /// The latest write of a chain that is before the read is before what is seen.
    fn derive_before(&mut self, source: &Source, seen: Node, chain: usize) {
        let Read { cell, node: read, .. } = self.problem.reads[source.read as usize];
        let ids = self.writes_in(cell, chain);
        let before = |&w: &WriteId| {
            let node = self.problem.writes[w as usize].node;
            node != read && self.is_before(node, read)
        };
        let latest = ids[..ids.partition_point(before)].iter().rev().copied();
        let Some(other) = latest.filter(|&w| self.happens(w)).find(|&w| Some(w) != source.write) else { return };
        let write = self.problem.writes[other as usize];
        if write.node == seen || self.is_before(write.node, seen) {
            return;
        }
        let mut reasons = self.explain_path(write.node, read);
        reasons.extend([source.lit, write.active]);
        tidy(&mut reasons);
        self.add_edge(write.node, seen, reasons);
    }

    /// The read is before the earliest write of a chain that is after what is seen.
    fn derive_after(&mut self, source: &Source, seen: Option<Node>, chain: usize) {
        let Read { cell, node: read, .. } = self.problem.reads[source.read as usize];
        let ids = self.writes_in(cell, chain);
        let not_after = |&w: &WriteId| match seen {
            Some(seen) => !self.is_before(seen, self.problem.writes[w as usize].node),
            None => false,
        };
        let earliest = ids[ids.partition_point(not_after)..].iter().copied();
        let differs = |w: &WriteId| Some(*w) != source.write && self.problem.writes[*w as usize].node != read;
        let Some(other) = earliest.filter(|&w| self.happens(w)).find(differs) else { return };
        let write = self.problem.writes[other as usize];
        if self.is_before(read, write.node) {
            return;
        }
        let mut reasons = seen.map_or_else(Vec::new, |seen| self.explain_path(seen, write.node));
        reasons.extend([source.lit, write.active]);
        tidy(&mut reasons);
        self.add_edge(read, write.node, reasons);
    }

    /// The writes to a cell in one chain at nodes that take part, by place.
    fn writes_in(&self, cell: u32, chain: usize) -> &[WriteId] {
        let ids = &self.writes[cell as usize][chain];
        &ids[..ids.partition_point(|&w| self.takes_part(self.problem.writes[w as usize].node))]
    }

    fn happens(&self, write: WriteId) -> bool {
        self.is_true[self.problem.writes[write as usize].active.0 as usize]
    }
}

fn tidy(explanation: &mut Explanation) {
    explanation.sort_unstable();
    explanation.dedup();
}
