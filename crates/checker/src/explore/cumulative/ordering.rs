//! The ordering as the core sees it: whether what the true literals say can be put in order.
//!
//! The edges that are true are, for each thread, a path through the book. Their operations, in the order of the path, are an ordering problem
//! like that of a single run (`solver/problem.rs`), and the same code decides it. A conflict is explained by sources and edges; that a thread's operations are in the order of the
//! graph needs no explanation, as the graph has no cycles.

use super::book::{Book, EdgeId, Meaning, NodeId, WriteId};
use super::effect::Cell;
use crate::causality::Commits;
use crate::execution::{MemoryModel, Operation};
use crate::program::{Loc, Ordering};
use crate::solver::{Lit as Local, Node as Place, Order, Problem};
use batsat::{Lit, Theory, TheoryArg};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// How often the clock is looked at, in checks.
const LOOK_EVERY: u32 = 64;

/// The book together with what the ordering needs while the core searches.
pub(super) struct Ordered<'b, 'a> {
    pub(super) book: &'b Book<'a>,
    n_levels: usize,
    /// Called now and then: whoever has a clock can look at it.
    look: &'b dyn Fn(),
    n_checks: u32,
    /// A literal that is true, for explanations that need none.
    truth: Lit,
    /// Which variables are true.
    is_true: Vec<bool>,
    /// The order found last.
    pub(super) found: Vec<Happening>,
}

/// Something that happens in an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// An operation is performed, by an edge.
    Issue(EdgeId),
    /// A write goes to memory.
    Commit(WriteId),
}

/// An ordering problem made of true literals.
struct Arrangement {
    problem: Problem,
    /// What each of the problem's variables stands for.
    reasons: Vec<SmallVec<[Lit; 2]>>,
    happenings: Vec<Option<Happening>>,
    cells: FxHashMap<u32, u32>,
    /// Where each operation is, and each write; and the write's number in the problem.
    issues: FxHashMap<NodeId, Place>,
    writes: FxHashMap<WriteId, (Place, u32)>,
    /// The latest write to a cell by the reader itself, for each operation that follows one.
    own: FxHashMap<(NodeId, u32), WriteId>,
    last: Option<Place>,
}

impl<'b, 'a> Ordered<'b, 'a> {
    pub(super) fn new(book: &'b Book<'a>, truth: Lit, look: &'b dyn Fn()) -> Ordered<'b, 'a> {
        let is_true = vec![false; book.formula.meanings.len()];
        Ordered { book, n_levels: 0, look, n_checks: 0, truth, is_true, found: vec![] }
    }

    fn holds(&self, lit: Lit) -> bool {
        self.is_true[lit.var().idx() as usize]
    }

    /// The edges that a thread takes, in order.
    fn path(&self, roots: &[NodeId]) -> Vec<EdgeId> {
        let reached = |&&node: &&NodeId| {
            self.book.nodes[node as usize].entry.as_ref().is_some_and(|entry| self.holds(entry.reached))
        };
        let mut path = vec![];
        let mut at = roots.iter().find(reached).copied();
        while let Some(node) = at {
            let Some(entry) = &self.book.nodes[node as usize].entry else { break };
            let taken = entry.edges.iter().find(|&&edge| self.holds(self.book.edges[edge as usize].lit));
            let Some(&edge) = taken else { break };
            path.push(edge);
            let edge = &self.book.edges[edge as usize];
            at = edge.key.target.filter(|_| edge.known);
        }
        path
    }

    fn arrange(&self, sources: &[u32], rest: &[Meaning], over: Option<Lit>) -> Arrangement {
        let mut arrangement = Arrangement::new();
        for thread in &self.book.threads {
            arrangement.add_path(self.book, &self.path(&thread.roots));
        }
        if let Some(over) = over {
            let active = arrangement.var(smallvec![over]);
            arrangement.last = Some(arrangement.problem.last_node(active));
            arrangement.happenings.push(None);
        }
        arrangement.add_forks(self.book);
        for &source in sources {
            arrangement.add_source(self.book, source);
        }
        for &meaning in rest {
            arrangement.add_late(self.book, meaning);
        }
        arrangement
    }

    fn check(&mut self, model: &[Lit]) -> Result<(), Vec<Lit>> {
        let (mut sources, mut rest, mut over) = (vec![], vec![], None);
        self.is_true.fill(false);
        for &lit in model.iter().filter(|lit| lit.sign()) {
            self.is_true[lit.var().idx() as usize] = true;
            match self.book.formula.meanings[lit.var().idx() as usize] {
                Meaning::Source(source) => sources.push(source),
                Meaning::Over => over = Some(lit),
                meaning @ (Meaning::Late(_) | Meaning::AfterFree(..)) => rest.push(meaning),
                Meaning::Other | Meaning::More(_) => {}
            }
        }
        let arrangement = self.arrange(&sources, &rest, over);
        let n_vars = arrangement.problem.n_vars;
        let mut order = Order::new(&arrangement.problem);
        match order.check((0..n_vars).map(Local::of_var)) {
            Ok(()) => {
                self.found = order.found.iter().filter_map(|&at| arrangement.happenings[at as usize]).collect();
                Ok(())
            }
            Err(explanation) => {
                let reasons = explanation.iter().flat_map(|lit| &arrangement.reasons[lit.var() as usize]);
                let mut clause: Vec<Lit> = reasons.map(|&lit| !lit).collect();
                clause.sort_unstable();
                clause.dedup();
                if clause.is_empty() {
                    clause.push(!self.truth);
                }
                Err(clause)
            }
        }
    }
}

impl Arrangement {
    fn new() -> Arrangement {
        Arrangement {
            problem: Problem::default(),
            reasons: vec![],
            happenings: vec![],
            cells: FxHashMap::default(),
            issues: FxHashMap::default(),
            writes: FxHashMap::default(),
            own: FxHashMap::default(),
            last: None,
        }
    }

    fn var(&mut self, reasons: SmallVec<[Lit; 2]>) -> Local {
        self.reasons.push(reasons);
        self.problem.var()
    }

    fn cell(&mut self, cell: u32) -> u32 {
        let next = self.cells.len() as u32;
        *self.cells.entry(cell).or_insert(next)
    }

    /// A thread's operations and their commits.
    fn add_path(&mut self, book: &Book<'_>, path: &[EdgeId]) {
        let chain = self.problem.chain();
        let mut commits = Commits::new(book.memory);
        let mut own: FxHashMap<u32, WriteId> = FxHashMap::default();
        for &id in path {
            let edge = &book.edges[id as usize];
            let node = &book.nodes[edge.node as usize];
            let active = self.var(smallvec![edge.lit]);
            let issue = self.problem.node(chain, vec![active], node.hint);
            self.happenings.push(Some(Happening::Issue(id)));
            self.issues.insert(edge.node, issue);
            commits.issue(&mut self.problem, &node.operation, issue, Some(active));
            if !own.is_empty() {
                let entry = book.entry(edge.node);
                let looked_at = node.operation.loc().into_iter().chain(entry.awaiting.iter().map(|cell| cell.0));
                for loc in looked_at {
                    let Some(&cell) = book.cell_numbers.get(&Cell::Memory(loc)) else { continue };
                    if let Some(&write) = own.get(&cell) {
                        self.own.insert((edge.node, cell), write);
                    }
                }
            }
            for &write in &edge.writes {
                let cell = book.writes[write as usize].cell;
                let mut at = issue;
                if let (Cell::Memory(loc), true) =
                    (book.cells[cell as usize].cell, is_buffered(book.memory, &node.operation))
                {
                    at = commits.commit(&mut self.problem, issue, loc);
                    self.happenings.push(Some(Happening::Commit(write)));
                }
                let local = self.cell(cell);
                let number = self.problem.write(local, at, active);
                self.writes.insert(write, (at, number));
                own.insert(cell, write);
            }
        }
    }

    fn add_forks(&mut self, book: &Book<'_>) {
        let forks: Vec<_> = self
            .happenings
            .iter()
            .filter_map(|happening| match happening {
                Some(Happening::Issue(id)) => book.edges[*id as usize].key.child.map(|child| (*id, child)),
                _ => None,
            })
            .collect();
        for (id, child) in forks {
            let edge = &book.edges[id as usize];
            let Some(&first) = self.issues.get(&child) else { continue };
            let fork = self.issues[&edge.node];
            let lit = self.var(smallvec![edge.lit]);
            self.problem.conditional.push((lit, fork, first));
        }
    }

    fn add_source(&mut self, book: &Book<'_>, source: u32) {
        let source = book.sources[source as usize];
        let access = &book.accesses[source.access as usize];
        let place = access.node.map_or(self.last, |node| self.issues.get(&node).copied());
        let Some(place) = place else { return };
        let seen = match source.write {
            Some(write) => match self.writes.get(&write) {
                Some(&seen) => Some(seen),
                None => return,
            },
            None => None,
        };
        let own = access.node.and_then(|node| self.own.get(&(node, access.cell)).copied());
        let is_own = own.is_some() && own == source.write;
        let cell = self.cell(access.cell);
        let read = self.problem.read(cell, place, seen.filter(|_| is_own).map(|seen| seen.1));
        self.reasons.push(smallvec![source.lit]);
        self.problem.source(read, seen.map(|seen| seen.1));
        if let Some(own) = own.filter(|_| !is_own) {
            // What it sees of others is later than what it wrote itself; the initial value never is.
            let by = book.edges[book.writes[own as usize].edge as usize].lit;
            let lit = self.var(smallvec![source.lit, by]);
            let order = seen.map_or((place, place), |seen| (self.writes[&own].0, seen.0));
            self.problem.conditional.push((lit, order.0, order.1));
        }
    }

    fn add_late(&mut self, book: &Book<'_>, meaning: Meaning) {
        let (write, lit) = match meaning {
            Meaning::Late(write) | Meaning::AfterFree(write, _) => (write, book.late_literals[&meaning]),
            _ => return,
        };
        let Some(&(commit, _)) = self.writes.get(&write) else { return };
        let lit = self.var(smallvec![lit]);
        match meaning {
            Meaning::AfterFree(_, free) => {
                if let Some(&free) = self.issues.get(&book.edges[free as usize].node) {
                    self.problem.conditional.push((lit, free, commit));
                }
            }
            _ => {
                let issues: Vec<Place> = self.issues.values().copied().filter(|&issue| issue != commit).collect();
                self.problem.conditional.extend(issues.into_iter().map(|issue| (lit, issue, commit)));
            }
        }
    }
}

/// Whether the operation's write waits in a buffer.
pub(super) fn is_buffered(memory: MemoryModel, operation: &Operation) -> bool {
    memory != MemoryModel::Sc && matches!(operation, Operation::Write { ordering, .. } if *ordering != Ordering::SeqCst)
}

impl Theory for Ordered<'_, '_> {
    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.n_checks += 1;
        if self.n_checks.is_multiple_of(LOOK_EVERY) {
            (self.look)();
        }
        let model = arguments.model().to_vec();
        if let Err(clause) = self.check(&model) {
            arguments.raise_conflict(&clause, false);
        }
    }

    fn create_level(&mut self) {
        self.n_levels += 1;
    }

    fn pop_levels(&mut self, n: usize) {
        self.n_levels -= n;
    }

    fn n_levels(&self) -> usize {
        self.n_levels
    }

    fn explain_propagation(&mut self, _: Lit) -> &[Lit] {
        unreachable!("this theory does not propagate")
    }
}

/// What a solution says of the happenings in it.
pub(super) fn loc_of(book: &Book<'_>, write: WriteId) -> Option<Loc> {
    match book.cells[book.writes[write as usize].cell as usize].cell {
        Cell::Memory(loc) => Some(loc),
        _ => None,
    }
}
