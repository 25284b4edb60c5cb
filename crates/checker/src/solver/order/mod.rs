//! The theory of ordering: is there a total order, for the literals that are true?
//!
//! It goes along with the core: what becomes true is [noted](Order::note), what the core takes back is [forgotten](Order::forget). Nodes are places of a [`Precedence`], whose
//! clocks say at any time what is known to be before what; a cycle is a conflict as soon as it closes. *What follows* is added as orders of its own (`follow.rs` from what reads see,
//! `exclude.rs` from sections), each time only for what a clock has come to know.
//!
//! Invariant: whatever is before an active node by chains and unconditional edges is active too (clauses say so), and a conditional order counts once its first node is active. So
//! every way that ends at an active node leads through active nodes only, and inactive ones need not be told apart.
//!
//! What is open when everything has a truth value is settled by *linearization* (`linearize.rs`): nodes are laid down one after the other, close to the execution that
//! the problem came from, never a write while the value it replaces is still to be read. If that gets stuck at a write
//! `v` and a read `r` of the current value `w`, both `r < v` and `v < w` are tried.
//!
//! Every order carries the literals it follows from, so a conflict is explained by a set of literals that cannot all
//! be true. Tried orders are marked in the same sets and resolved away when both alternatives failed.

mod exclude;
mod follow;
mod linearize;
mod meanings;

use super::precedence::{Consistency, Precedence};
use super::problem::{Lit, Node, Problem, WriteId};
use exclude::Groups;
use meanings::{Meaning, Meanings};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// What is known of the order of a problem's nodes.
pub(crate) struct Order<'p> {
    problem: &'p Problem,
    precedence: Precedence,
    meanings: Meanings,
    /// For each cell and each chain in which it is written, the writes there by place.
    writes: Vec<Vec<(u32, Vec<WriteId>)>>,
    writes_at: Vec<SmallVec<[WriteId; 2]>>,
    groups: Groups,
    /// Conditional orders by variable, and by their first node.
    conditional: FxHashMap<u32, Vec<(Node, Node)>>,
    conditional_from: FxHashMap<Node, Vec<(Lit, Node)>>,
    is_true: Vec<bool>,
    noted: Vec<Lit>,
    /// Sources that are true: by the node that reads, by cell, by what is seen (the initial value of cell `c` is at `n_writes + c`), and those of the last node.
    at_node: Vec<SmallVec<[u32; 2]>>,
    on_cell: Vec<Vec<u32>>,
    seers: Vec<SmallVec<[u32; 2]>>,
    last_sources: Vec<u32>,
    n_splits: u32,
    /// The order found last.
    pub(crate) found: Vec<Node>,
}

impl<'p> Order<'p> {
    pub(crate) fn new(problem: &'p Problem) -> Order<'p> {
        let mut order = Order {
            problem,
            precedence: places(problem),
            meanings: Meanings::new(problem),
            writes: problem.writes_by_chain(),
            writes_at: vec![smallvec![]; problem.nodes.len()],
            groups: Groups::new(problem),
            conditional: FxHashMap::default(),
            conditional_from: FxHashMap::default(),
            is_true: vec![false; problem.n_vars as usize * 2],
            noted: vec![],
            at_node: vec![smallvec![]; problem.nodes.len()],
            on_cell: vec![],
            seers: vec![],
            last_sources: vec![],
            n_splits: 0,
            found: vec![],
        };
        order.on_cell = vec![vec![]; order.writes.len()];
        order.seers = vec![smallvec![]; problem.writes.len() + order.writes.len()];
        for (id, write) in problem.writes.iter().enumerate() {
            order.writes_at[write.node as usize].push(id as WriteId);
        }
        for &(lit, from, to) in &problem.conditional {
            order.add_conditional(lit, from, to);
        }
        order
    }

    /// From now on the literal implies that `from` is before `to`. Requires that it is not true yet.
    pub(super) fn add_conditional(&mut self, lit: Lit, from: Node, to: Node) {
        self.conditional.entry(lit.var()).or_default().push((from, to));
        self.conditional_from.entry(from).or_default().push((lit, to));
    }

    /// Takes note of literals that have become true. An error is for good until some of them are forgotten. If this says that it is over, what follows from them is left open.
    pub(crate) fn note(&mut self, literals: impl Iterator<Item = Lit>, is_over: &dyn Fn() -> bool) -> Consistency {
        let first = self.noted.len();
        for lit in literals {
            self.noted.push(lit);
            self.mark(lit, true);
        }
        for at in (first..self.noted.len()).take_while(|_| !is_over()) {
            self.bring_about(self.noted[at])?;
        }
        for at in (first..self.noted.len()).take_while(|_| !is_over()) {
            self.derive(self.noted[at])?;
        }
        self.saturate(is_over)
    }

    /// Where to go back to.
    pub(crate) fn here(&self) -> (usize, usize) {
        (self.noted.len(), self.precedence.mark())
    }

    /// Forgets what was noted since.
    pub(crate) fn forget(&mut self, since: (usize, usize)) {
        while self.noted.len() > since.0 {
            let lit = self.noted.pop().expect("there is more");
            self.mark(lit, false);
        }
        self.precedence.go_back(since.1);
    }

    /// Lists what is true.
    fn mark(&mut self, lit: Lit, is_true: bool) {
        let code = lit.0 as usize;
        if code >= self.is_true.len() {
            self.is_true.resize(code + 2, false);
        }
        self.is_true[code] = is_true;
        if !lit.is_positive() {
            return;
        }
        for at in self.meanings.of(lit) {
            if let Meaning::Source(source) = self.meanings[at] {
                self.list_source(source, is_true);
            }
        }
    }

    fn list_source(&mut self, at: u32, is_true: bool) {
        let source = self.problem.sources[at as usize];
        let read = self.problem.reads[source.read as usize];
        if Some(read.node) == self.problem.last {
            match is_true {
                true => self.last_sources.push(at),
                false => self.last_sources.truncate(self.last_sources.len() - 1),
            }
            return;
        }
        let seen = self.seen(source.write, read.cell);
        let on_cell = &mut self.on_cell[read.cell as usize];
        let few = [&mut self.at_node[read.node as usize], &mut self.seers[seen]];
        if is_true {
            on_cell.push(at);
            few.into_iter().for_each(|list| list.push(at));
        } else {
            on_cell.pop();
            few.into_iter().for_each(|list| list.truncate(list.len() - 1));
        }
    }

    /// The number of what is seen among [`Order::seers`].
    fn seen(&self, write: Option<WriteId>, cell: u32) -> usize {
        write.map_or(self.problem.writes.len() + cell as usize, |write| write as usize)
    }

    /// Adds the orders that a literal says.
    fn bring_about(&mut self, lit: Lit) -> Consistency {
        if !lit.is_positive() {
            return Ok(());
        }
        for at in self.meanings.of(lit) {
            match self.meanings[at] {
                Meaning::Source(source) => self.see(source)?,
                Meaning::Active(node) => {
                    for at in 0..self.conditional_from.get(&node).map_or(0, Vec::len) {
                        let (condition, to) = self.conditional_from[&node][at];
                        if self.holds(condition) {
                            self.precedence.arc(node, to, smallvec![condition, lit])?;
                        }
                    }
                }
                _ => {}
            }
        }
        for at in 0..self.conditional.get(&lit.var()).map_or(0, Vec::len) {
            let (from, to) = self.conditional[&lit.var()][at];
            if let Some(active) = self.is_active(from) {
                self.precedence.arc(from, to, smallvec![lit, active])?;
            }
        }
        Ok(())
    }

    /// What follows from a literal and what is known.
    fn derive(&mut self, lit: Lit) -> Consistency {
        for at in self.meanings.of(lit) {
            match self.meanings[at] {
                Meaning::Source(source) if lit.is_positive() => self.follow_source(source)?,
                Meaning::Write(write) if lit.is_positive() => self.follow_write(write)?,
                Meaning::Taken(section) if lit.is_positive() => self.exclude(section)?,
                Meaning::Ends(section) if !lit.is_positive() => self.exclude(section)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds every order that follows, until nothing new follows.
    fn saturate(&mut self, is_over: &dyn Fn() -> bool) -> Consistency {
        while let Some((node, chain, was)) = self.precedence.grown.pop().filter(|_| !is_over()) {
            let now = self.precedence.clock(node, chain);
            self.look_back(node, chain, was, now)?;
            self.exclude_earlier(node, chain, was, now)?;
        }
        Ok(())
    }

    fn holds(&self, lit: Lit) -> bool {
        self.is_true.get(lit.0 as usize) == Some(&true)
    }

    /// A true literal that makes the node active.
    fn is_active(&self, node: Node) -> Option<Lit> {
        self.problem.nodes[node as usize].active.iter().copied().find(|&lit| self.holds(lit))
    }

    /// Whether one node is known to be before another, or is it.
    fn is_before(&self, first: Node, second: Node) -> bool {
        self.precedence.is_before(first, second)
    }

    fn index(&self, write: WriteId) -> u32 {
        self.problem.nodes[self.problem.writes[write as usize].node as usize].index
    }

    fn happens(&self, write: WriteId) -> bool {
        self.holds(self.problem.writes[write as usize].active)
    }
}

/// Every node in its place. The last one has a chain of its own.
fn places(problem: &Problem) -> Precedence {
    let n_chains = problem.chains.len() as u32;
    let position = |node: &super::NodeInfo| (node.chain.min(n_chains), node.index);
    let positions: Vec<(u32, u32)> = problem.nodes.iter().map(position).collect();
    Precedence::of(problem.chains.len() + usize::from(problem.last.is_some()), &positions, &problem.edges)
}
