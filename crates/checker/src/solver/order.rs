//! The theory of ordering: is there a total order, for the literals that are true?
//!
//! *Saturation* adds the orders that follow. For a true source `(r, w)` and another active write `v` to the cell: if
//! `v` is before `r`, it is before `w`; if `w` is before `v`, then `r` is before `v` (from-read). Reachability is kept as vector clocks over the chains, so per
//! source only one write of each chain has to be looked at: the latest before `r` and the earliest after `w`. A cycle is a conflict.
//!
//! What saturation leaves open is settled by *linearization*: nodes are laid down one after the other, close to the execution that
//! the problem came from, never a write while the value it replaces is still to be read. If that gets stuck at a write
//! `v` and a read `r` of the current value `w`, both `r < v` and `v < w` are tried.
//!
//! Every derived order carries the literals it follows from, so a conflict is explained by a set of literals that cannot all
//! be true. Tried orders are marked in the same sets and resolved away when both alternatives failed.

use super::problem::{Lit, Node, Problem, WriteId};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// Linearization got stuck: the read's current value would be replaced by the write.
struct Stuck {
    source: u32,
    write: WriteId,
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
            self.derive_before(source.lit, read.cell, chain, read.node, seen, source.write);
            self.derive_after(source.lit, read.cell, chain, read.node, seen, source.write);
        }
    }

    /// The latest write of a chain that is before the read is before what is seen.
    fn derive_before(
        &mut self,
        lit: Lit,
        cell: u32,
        chain: usize,
        read: Node,
        seen: Option<Node>,
        seen_write: Option<WriteId>,
    ) {
        let Some(seen) = seen else { return };
        let ids = self.writes_in(cell, chain);
        let before = |&w: &WriteId| {
            let node = self.problem.writes[w as usize].node;
            node != read && self.is_before(node, read)
        };
        let latest = ids[..ids.partition_point(before)].iter().rev().copied();
        let Some(other) = latest.filter(|&w| self.happens(w)).find(|&w| Some(w) != seen_write) else { return };
        let write = self.problem.writes[other as usize];
        if write.node == seen || self.is_before(write.node, seen) {
            return;
        }
        let mut reasons = self.explain_path(write.node, read);
        reasons.extend([lit, write.active]);
        tidy(&mut reasons);
        self.add_edge(write.node, seen, reasons);
    }

    /// The read is before the earliest write of a chain that is after what is seen.
    fn derive_after(
        &mut self,
        lit: Lit,
        cell: u32,
        chain: usize,
        read: Node,
        seen: Option<Node>,
        seen_write: Option<WriteId>,
    ) {
        let ids = self.writes_in(cell, chain);
        let not_after = |&w: &WriteId| match seen {
            Some(seen) => !self.is_before(seen, self.problem.writes[w as usize].node),
            None => false,
        };
        let earliest = ids[ids.partition_point(not_after)..].iter().copied();
        let differs = |w: &WriteId| Some(*w) != seen_write && self.problem.writes[*w as usize].node != read;
        let Some(other) = earliest.filter(|&w| self.happens(w)).find(differs) else { return };
        let write = self.problem.writes[other as usize];
        if self.is_before(read, write.node) {
            return;
        }
        let mut reasons = seen.map_or_else(Vec::new, |seen| self.explain_path(seen, write.node));
        reasons.extend([lit, write.active]);
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

    /// Whether `a` is before or is `b`, by the clocks.
    fn is_before(&self, a: Node, b: Node) -> bool {
        let info = &self.problem.nodes[a as usize];
        if info.chain == u32::MAX {
            return a == b;
        }
        self.clocks[b as usize * self.lengths.len() + info.chain as usize] > info.index
    }

    /// A clock holds, for each chain, how many of its nodes are before or are the node.
    fn compute_clocks(&mut self) -> Result<(), Explanation> {
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

    fn for_each_successor(&mut self, node: Node, mut visit: impl FnMut(&mut Vec<u32>, Node)) {
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
    fn explain_path(&self, a: Node, b: Node) -> Explanation {
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

    /// Lays the nodes down one after the other. Requires saturated orders.
    fn linearize(&mut self) -> Result<(), Stuck> {
        let problem = self.problem;
        let mut cells = Cells::new(self);
        self.in_degree.fill(0);
        for at in 0..self.topological.len() {
            self.for_each_successor(self.topological[at], |in_degree, to| in_degree[to as usize] += 1);
        }
        let priority = |node: Node| Reverse((problem.nodes[node as usize].hint, node));
        let free = self.topological.iter().copied().filter(|&node| self.in_degree[node as usize] == 0);
        let mut ready: BinaryHeap<_> = free.map(priority).collect();
        let mut waiting = Vec::new();
        self.found.clear();
        while let Some(Reverse((hint, node))) = ready.pop() {
            if !cells.allows(problem, node) {
                waiting.push(Reverse((hint, node)));
                continue;
            }
            self.found.push(node);
            cells.place(problem, node);
            self.for_each_successor(node, |in_degree, to| {
                in_degree[to as usize] -= 1;
                if in_degree[to as usize] == 0 {
                    ready.push(priority(to));
                }
            });
            ready.extend(waiting.drain(..));
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let hindered = waiting.iter().find_map(|Reverse((_, node))| cells.hindrance(problem, *node));
        Err(hindered.expect("a read waits only for writes that wait"))
    }
}

/// The cells while nodes are laid down.
struct Cells {
    /// The current write of each cell.
    current: Vec<Option<WriteId>>,
    placed: Vec<bool>,
    /// True sources at each node, and by what they see (the initial value of cell `c` is at `n_writes + c`).
    at_node: Vec<Vec<u32>>,
    unread: Vec<Vec<u32>>,
    /// Writes that happen at each node.
    writes: Vec<Vec<WriteId>>,
}

impl Cells {
    fn new(order: &Order<'_>) -> Cells {
        let problem = order.problem;
        let n_cells = order.writes.len();
        let mut cells = Cells {
            current: vec![None; n_cells],
            placed: vec![false; problem.nodes.len()],
            at_node: vec![vec![]; problem.nodes.len()],
            unread: vec![vec![]; problem.writes.len() + n_cells],
            writes: vec![vec![]; problem.nodes.len()],
        };
        for &at in &order.sources {
            let source = problem.sources[at as usize];
            let read = problem.reads[source.read as usize];
            cells.at_node[read.node as usize].push(at);
            let seen = cells.seen(problem, source.write, read.cell);
            cells.unread[seen].push(at);
        }
        for (id, write) in problem.writes.iter().enumerate() {
            if order.happens(id as WriteId) {
                cells.writes[write.node as usize].push(id as WriteId);
            }
        }
        cells
    }

    fn seen(&self, problem: &Problem, write: Option<WriteId>, cell: u32) -> usize {
        write.map_or(problem.writes.len() + cell as usize, |write| write as usize)
    }

    fn allows(&self, problem: &Problem, node: Node) -> bool {
        let can_read = self.at_node[node as usize].iter().all(|&at| {
            let source = problem.sources[at as usize];
            let read = problem.reads[source.read as usize];
            let is_early = source.own && !self.placed[problem.writes[source.write.unwrap() as usize].node as usize];
            is_early || self.current[read.cell as usize] == source.write
        });
        can_read && self.hindrance(problem, node).is_none()
    }

    /// A read elsewhere that still needs the value which a write at this node replaces.
    fn hindrance(&self, problem: &Problem, node: Node) -> Option<Stuck> {
        self.writes[node as usize].iter().find_map(|&write| {
            let cell = problem.writes[write as usize].cell;
            let unread = &self.unread[self.seen(problem, self.current[cell as usize], cell)];
            let source = unread.iter().copied().find(|&at| {
                let reader = problem.reads[problem.sources[at as usize].read as usize].node;
                reader != node && !self.placed[reader as usize]
            });
            source.map(|source| Stuck { source, write })
        })
    }

    fn place(&mut self, problem: &Problem, node: Node) {
        self.placed[node as usize] = true;
        for &write in &self.writes[node as usize] {
            self.current[problem.writes[write as usize].cell as usize] = Some(write);
        }
    }
}

fn tidy(explanation: &mut Explanation) {
    explanation.sort_unstable();
    explanation.dedup();
}
