//! The ordering as the core sees it: whether what the true literals say can be put in order.
//!
//! The edges that are true are, for each thread, on a path through the book, if perhaps not all of it. Their operations have their places in a
//! [`Precedence`] (`put.rs`); true sources bring orders about, and orders that follow from them (`see.rs`). That of two writes one comes first is given a
//! literal as soon as it matters, so that the core can learn about orders too. A conflict is explained by sources, edges and such literals; that a thread's operations are in
//! the order of the graph needs no explanation, as the graph has no cycles. When everything has a truth value, what has no order yet is laid down in
//! any (`linearize.rs`). What follows, and what cannot be, is told to the core (`tell.rs`), and taken back when it backtracks (`undo.rs`).

mod exclude;
mod linearize;
mod put;
mod see;
mod tell;
mod undo;

use super::{Book, EdgeId, Meaning, NodeId, WriteId};
use crate::base::Loc;
use crate::solver::{Consistency, Levels, Lit, Point, Precedence, Reasons, Trail};
use put::CommitChains;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;
use undo::{Mark, Undo};

/// No place, no node, no edge.
const NONE: u32 = u32::MAX;

/// The literals that say which of two writes comes first, kept for as long as a search lasts.
#[derive(Default)]
pub(crate) struct Orders {
    /// For each pair, the smaller number first: the literal that says that it is before the other.
    literals: FxHashMap<(WriteId, WriteId), Lit>,
    /// For each write: another, and the literal that says that this one is before it.
    of_write: Vec<Vec<(WriteId, Lit)>>,
}

impl Orders {
    /// There are so many writes now.
    pub(crate) fn make_room(&mut self, n_writes: usize) {
        self.of_write.resize(n_writes, vec![]);
    }

    /// The literal that says that one write is before another, if there is one.
    pub(crate) fn literal(&self, first: WriteId, second: WriteId) -> Option<Lit> {
        match first < second {
            true => self.literals.get(&(first, second)).copied(),
            false => self.literals.get(&(second, first)).map(|&lit| !lit),
        }
    }

    pub(crate) fn insert(&mut self, first: WriteId, second: WriteId, lit: Lit) {
        let pair = if first < second { ((first, second), lit) } else { ((second, first), !lit) };
        self.literals.insert(pair.0, pair.1);
        self.of_write[first as usize].push((second, lit));
        self.of_write[second as usize].push((first, !lit));
    }
}

/// The book together with what the ordering needs while the core searches.
pub(crate) struct Ordered<'b, 'a> {
    book: &'b Book<'a>,
    orders: &'b mut Orders,
    /// Pairs that have been given a literal since the core was told of the book.
    pub(crate) named: Vec<(WriteId, WriteId)>,
    /// Called now and then: whoever has a clock can look at it.
    look: &'b dyn Fn(),
    /// Literals since then.
    n_unlooked: usize,
    /// A literal that is true, for explanations that need none.
    truth: Lit,
    precedence: Precedence,
    commit_chains: CommitChains,
    /// What is at each place.
    happenings: Vec<Happening>,
    /// Where each node's operation is, and each write.
    issues: Vec<Point>,
    writes: Vec<Point>,
    /// The edge that is true, of each node.
    taken: Vec<EdgeId>,
    /// Nodes whose edge is true and that may have no place yet.
    waiting: Vec<NodeId>,
    /// For each thread, the fork by which it runs.
    forked: Vec<EdgeId>,
    /// For each thread, its operations that drain and those that are barriers, by their indices, with their edges.
    drains: Vec<BTreeMap<u32, EdgeId>>,
    barriers: Vec<BTreeMap<u32, EdgeId>>,
    /// Sources that are true, by access and by write.
    sources_of_access: Vec<SmallVec<[u32; 2]>>,
    sources_of_write: Vec<SmallVec<[u32; 2]>>,
    /// Sources that are in force, both ends being in their places: by node, by cell, by write, by cell for the initial value, by cell for the end.
    at_node: Vec<SmallVec<[u32; 2]>>,
    on_cell: Vec<Vec<u32>>,
    seers: Vec<SmallVec<[u32; 2]>>,
    initial_seers: Vec<Vec<u32>>,
    last_seers: Vec<Vec<u32>>,
    in_force: Vec<bool>,
    /// For each cell and thread, the writes that are in their places, in order.
    written: Vec<Vec<(u32, Vec<WriteId>)>>,
    /// For each cell, whether it is known to be a lock.
    locks: Vec<bool>,
    /// Which literals of orders are true, and which say that something is given back.
    true_orders: FxHashSet<Lit>,
    /// The literal that says that all is over, if it is true; and those that put commits late.
    over: Option<Lit>,
    late: Vec<Meaning>,
    /// Orders of writes that follow and are not known to the core.
    implied: Vec<(WriteId, WriteId, Reasons)>,
    /// Other literals that follow.
    following: Vec<(Lit, Reasons)>,
    /// The literal that says that lists are closed, if it is true, and whether the core was told what follows.
    closed: Reasons,
    told_closed: bool,
    /// What the core has asked to explain since it last looked for something: in the end, why there is no solution.
    pub(crate) asked: Vec<Lit>,
    /// Why literals are true that the core was told of.
    why: FxHashMap<Lit, Reasons>,
    undo: Vec<Undo>,
    n_seen: usize,
    levels: Levels<Mark>,
    /// The order found last.
    pub(crate) found: Vec<Happening>,
    /// Whether that is all of it.
    is_whole: bool,
}

/// Something that happens in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// An operation is performed, by an edge.
    Issue(EdgeId),
    /// A write goes to memory.
    Commit(WriteId),
}

impl<'b, 'a> Ordered<'b, 'a> {
    pub(crate) fn new(book: &'b Book<'a>, orders: &'b mut Orders, truth: Lit, look: &'b dyn Fn()) -> Ordered<'b, 'a> {
        let (n_nodes, n_writes, n_threads) = (book.nodes.len(), book.writes.len(), book.threads.len());
        orders.make_room(n_writes);
        let commit_chains = CommitChains::new(book);
        Ordered {
            book,
            orders,
            named: vec![],
            look,
            n_unlooked: 0,
            truth,
            precedence: Precedence::new(n_threads + commit_chains.len()),
            commit_chains,
            happenings: vec![],
            issues: vec![NONE; n_nodes],
            writes: vec![NONE; n_writes],
            taken: vec![NONE; n_nodes],
            waiting: vec![],
            forked: vec![NONE; n_threads],
            drains: vec![BTreeMap::new(); n_threads],
            barriers: vec![BTreeMap::new(); n_threads],
            sources_of_access: vec![smallvec![]; book.accesses.len()],
            sources_of_write: vec![smallvec![]; n_writes],
            at_node: vec![smallvec![]; n_nodes],
            on_cell: vec![vec![]; book.cells.len()],
            seers: vec![smallvec![]; n_writes],
            initial_seers: vec![vec![]; book.cells.len()],
            last_seers: vec![vec![]; book.cells.len()],
            in_force: vec![false; book.sources.len()],
            written: vec![vec![]; book.cells.len()],
            locks: vec![false; book.cells.len()],
            true_orders: FxHashSet::default(),
            over: None,
            late: vec![],
            implied: vec![],
            following: vec![],
            closed: Reasons::new(),
            told_closed: false,
            asked: vec![],
            why: FxHashMap::default(),
            undo: vec![],
            n_seen: 0,
            levels: Levels::default(),
            found: vec![],
            is_whole: false,
        }
    }

    fn meaning(&self, lit: Lit) -> Meaning {
        let (var, known) = (lit.var() as usize, &self.book.formula.meanings);
        match known.get(var) {
            Some(&meaning) => meaning,
            None => {
                let (first, second) = self.named[var - known.len()];
                Meaning::Order(first, second)
            }
        }
    }

    /// The literal by which a write happens.
    fn happens(&self, write: WriteId) -> Lit {
        self.book.edges[self.book.writes[write as usize].edge as usize].lit
    }

    fn writer(&self, write: WriteId) -> u32 {
        let node = self.book.edges[self.book.writes[write as usize].edge as usize].node;
        self.book.nodes[node as usize].thread
    }

    /// Takes note of everything that has become true.
    fn note(&mut self, trail: &Trail<'_, '_>) -> Consistency {
        self.put_waiting()?;
        while let Some(lit) = trail.get(self.n_seen) {
            self.n_seen += 1;
            self.note_one(lit)?;
        }
        loop {
            let n_places = self.precedence.len();
            self.put_waiting()?;
            if self.precedence.len() == n_places {
                return self.saturate();
            }
        }
    }

    fn note_one(&mut self, lit: Lit) -> Consistency {
        match self.meaning(lit) {
            Meaning::Order(first, second) => {
                self.undo.push(Undo::Order(lit));
                self.true_orders.insert(lit);
                let (first, second) = if lit.is_positive() { (first, second) } else { (second, first) };
                self.apply_order(lit, first, second)
            }
            _ if !lit.is_positive() => Ok(()),
            Meaning::Edge(edge) => {
                let node = self.book.edges[edge as usize].node;
                self.undo.push(Undo::Taken(node));
                self.taken[node as usize] = edge;
                self.put(node)
            }
            Meaning::Source(source) => {
                let of = self.book.sources[source as usize];
                self.undo.push(Undo::TrueSource(source));
                self.sources_of_access[of.access as usize].push(source);
                if let Some(write) = of.write {
                    self.sources_of_write[write as usize].push(source);
                }
                self.see(source)
            }
            Meaning::Over => {
                self.undo.push(Undo::Over);
                self.over = Some(lit);
                let waiting: Vec<u32> = self.last_sources();
                waiting.into_iter().try_for_each(|source| self.see(source))
            }
            Meaning::Lock(cell) if self.lock(cell).is_some_and(|lock| lock.lit == lit) => {
                self.undo.push(Undo::Lock(cell));
                self.locks[cell as usize] = true;
                self.exclude_all(cell)
            }
            Meaning::Closed => {
                self.undo.push(Undo::Closed);
                self.closed = smallvec![lit];
                self.told_closed = false;
                Ok(())
            }
            Meaning::GivenBack => {
                self.undo.push(Undo::Order(lit));
                self.true_orders.insert(lit);
                Ok(())
            }
            meaning @ (Meaning::Late(_) | Meaning::AfterFree(..)) => {
                self.undo.push(Undo::Late);
                self.late.push(meaning);
                self.put_late(meaning)
            }
            Meaning::Other | Meaning::Follows | Meaning::Goal | Meaning::More(_) | Meaning::Lock(_) => Ok(()),
        }
    }

    /// True sources of what is looked at when all is over.
    fn last_sources(&self) -> Vec<u32> {
        let accesses = self.book.accesses.iter().zip(&self.sources_of_access);
        let last = accesses.filter(|(access, _)| access.node.is_none());
        last.flat_map(|(_, sources)| sources.iter().copied()).collect()
    }

    /// One write is before the other, by a literal, if both are in their places.
    fn apply_order(&mut self, lit: Lit, first: WriteId, second: WriteId) -> Consistency {
        let [from, to] = [first, second].map(|write| self.writes[write as usize]);
        if from == NONE || to == NONE {
            return Ok(());
        }
        self.precedence.arc(from, to, smallvec![lit, self.happens(first), self.happens(second)])
    }
}

/// The location that a write goes to, if it is one in memory.
pub(crate) fn loc_of(book: &Book<'_>, write: WriteId) -> Option<Loc> {
    book.cells[book.writes[write as usize].cell as usize].cell.loc()
}
