//! The book: everything known of a program, as a graph and as a formula at the same time.
//!
//! *Graph.* A node is a thread at an operation, in a local state; an edge is a way of performing it. All values that lead on to the same local state (and
//! leave the same behind) are one edge. Local states that are met again are the same node, so independent choices add up instead of multiplying.
//! An edge is *known* when what it leads to is in the book; the others are what is still to be looked for.
//!
//! *Formula.* A literal per node ("the thread gets here") and per edge ("it goes on this way"); clauses make the edges taken by a thread a path. A path
//! may stop anywhere. An edge that depends on a value needs a *source*, a write of that value, and the ordering (`ordering.rs`) decides
//! which sources are possible together. The book only grows, so nothing that a solver has learnt about it is ever wrong later: a list that may grow ends in a literal that stands for
//! "something that is not listed", and every question assumes that those are false.

use super::effect::{Cell, RUNNING, Test};
use super::local::{At, Local, Locals};
use super::references::References;
use super::sections::Sections;
use super::waiters::Waiters;
use super::ways::Earlier;
use crate::base::{Loc, ThreadKey};
use crate::execution::{MemoryModel, Operation};
use crate::program::{Instr, Program};
use batsat::{Lit, Var};
use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

pub(super) type NodeId = u32;
pub(super) type EdgeId = u32;
pub(super) type WriteId = u32;
pub(super) type AccessId = u32;

/// Everything known.
pub(super) struct Book<'a> {
    pub(super) locals: Box<dyn Locals + 'a>,
    pub(super) memory: MemoryModel,
    pub(super) waiters: Waiters,
    /// What is in memory where an opaque object has a version.
    pub(super) left: FxHashMap<i64, i64>,
    /// Whether the program frees anything.
    pub(super) frees: bool,
    /// First values of locations.
    pub(super) first: FxHashMap<Loc, i64>,
    /// There are no locations from here on.
    pub(super) n_globals: usize,
    /// How many sources a list names at first.
    pub(super) first_sources: usize,
    pub(super) nodes: Vec<Node>,
    pub(super) threads: Vec<Thread>,
    /// How many of them run from the start.
    pub(super) n_initial: usize,
    pub(super) edges: Vec<Edge>,
    /// Edges by their nodes and keys.
    pub(super) edge_numbers: HashTable<EdgeId>,
    pub(super) writes: Vec<Write>,
    pub(super) accesses: Vec<Access>,
    pub(super) cells: Vec<CellInfo>,
    pub(super) cell_numbers: FxHashMap<Cell, u32>,
    pub(super) lists: Vec<List>,
    pub(super) sources: Vec<Source>,
    pub(super) source_numbers: FxHashMap<(AccessId, Option<WriteId>), u32>,
    /// Edges that lead to what is not in the book.
    pub(super) unknown: BTreeSet<EdgeId>,
    /// Edges that may have become known.
    pub(super) unsettled: Vec<EdgeId>,
    /// The literals of the meanings that say when a commit comes.
    pub(super) late_literals: FxHashMap<Meaning, Lit>,
    /// The cells that are used as locks.
    pub(super) sections: Sections,
    pub(super) references: References,
    pub(super) formula: Formula,
}

/// Variables and clauses that the core has not been told of, and what variables mean.
#[derive(Default)]
pub(super) struct Formula {
    pub(super) meanings: Vec<Meaning>,
    pub(super) clauses: Vec<Vec<Lit>>,
    /// Those that it has been told of, if somebody will read them.
    pub(super) told: Vec<Vec<Lit>>,
    pub(super) keeps_told: bool,
}

/// What a variable means to the ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Meaning {
    /// Nothing.
    Other,
    /// Nothing. Other literals make it true; clauses in which it stands by itself are true if it is false.
    Follows,
    /// Nothing, but that it is looked for.
    Goal,
    /// "The thread goes on this way."
    Edge(EdgeId),
    /// "This read sees this write."
    Source(u32),
    /// "The first of these writes to a cell is before the second." If it is false and both happen, it is after it.
    Order(WriteId, WriteId),
    /// "There is something in this list that it does not say."
    More(u32),
    /// "Nothing is in any list that it does not say", as lists are when a question is asked.
    Closed,
    /// "All is over": everything that happens has happened, and every write is in memory.
    Over,
    /// "The commit of this write comes after everything else has been issued."
    Late(WriteId),
    /// "The commit of this write comes after the block was freed by this edge."
    AfterFree(WriteId, EdgeId),
    /// "This cell is used as a lock", in one way.
    Lock(u32),
    /// "What was taken is given back."
    GivenBack,
}

/// A thread at an operation.
pub(super) struct Node {
    pub(super) thread: u32,
    /// Its number in the thread.
    pub(super) number: u32,
    /// The thread's nodes from which ways lead to here.
    pub(super) earlier: Earlier,
    /// Present once the node is in the book.
    pub(super) entry: Option<Entry>,
    /// Edges to here.
    pub(super) incoming: Vec<EdgeId>,
    /// What is looked at when the operation is performed.
    pub(super) accesses: Vec<AccessId>,
    /// A run ended or failed here.
    pub(super) seen_last: bool,
    /// The length of the longest way to here: smaller for everything that can come before.
    pub(super) depth: u32,
    /// When it was first performed, in its run.
    pub(super) hint: u32,
    /// The thread is known to fail here.
    pub(super) fails: bool,
}

/// What is written of a node.
pub(super) struct Entry {
    pub(super) at: At,
    pub(super) reached: Lit,
    /// The list of edges to here has more.
    pub(super) more: Lit,
    pub(super) edges: Vec<EdgeId>,
    /// "One of the edges so far is taken."
    pub(super) ladder: Option<Lit>,
    pub(super) decisive: Option<AccessId>,
    pub(super) second: Option<AccessId>,
    /// What must hold, unless the operation fails.
    pub(super) guards: Vec<Lit>,
    /// For a thread that waits for a change: literals that say that something which the operation itself does not read has changed.
    pub(super) changes: Vec<Lit>,
}

/// A way of performing an operation.
pub(super) struct Edge {
    pub(super) node: NodeId,
    pub(super) lit: Lit,
    pub(super) key: EdgeKey,
    /// The list of sources that it needs, if it depends on a value.
    pub(super) list: Option<u32>,
    pub(super) writes: Vec<WriteId>,
    pub(super) known: bool,
    /// A run took it.
    pub(super) taken: bool,
}

/// What tells the edges of a node apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EdgeKey {
    /// Nothing after an end or a failure.
    pub(super) target: Option<NodeId>,
    pub(super) child: Option<NodeId>,
    pub(super) result: Option<i64>,
    pub(super) writes: Vec<(Cell, i64)>,
    pub(super) wakes: Option<ThreadKey>,
    pub(super) fails: bool,
    /// The operation itself reads nothing that has changed.
    pub(super) unchanged: bool,
}

pub(super) struct Write {
    pub(super) edge: EdgeId,
    pub(super) cell: u32,
    pub(super) value: i64,
}

/// A look at a cell, by an operation or, without a node, when all is over.
pub(super) struct Access {
    pub(super) node: Option<NodeId>,
    pub(super) cell: u32,
    /// If the value decides how the operation is performed: the edges of each value.
    pub(super) decides: bool,
    pub(super) edges: FxHashMap<i64, Vec<EdgeId>>,
}

/// "This access sees this write", or the initial value.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) lit: Lit,
    pub(super) access: AccessId,
    pub(super) write: Option<WriteId>,
}

/// A literal that needs one of several sources.
pub(super) struct List {
    pub(super) access: AccessId,
    pub(super) values: Wanted,
    pub(super) members: FxHashSet<Option<WriteId>>,
    pub(super) more: Lit,
}

/// The values that a list is about.
pub(super) enum Wanted {
    These(Vec<i64>),
    Those(Test),
}

pub(super) struct CellInfo {
    pub(super) cell: Cell,
    pub(super) initial: i64,
    /// What is in memory then.
    pub(super) first: i64,
    pub(super) accesses: Vec<AccessId>,
    /// The writes of each value, values in the order in which they were met.
    pub(super) values: Vec<(i64, Vec<WriteId>)>,
}

pub(super) struct Thread {
    pub(super) key: ThreadKey,
    pub(super) n_nodes: u32,
    pub(super) roots: Vec<NodeId>,
}

impl Formula {
    pub(super) fn var(&mut self, meaning: Meaning) -> Lit {
        self.meanings.push(meaning);
        Lit::new(Var::unsafe_from_idx(self.meanings.len() as u32 - 1), true)
    }

    pub(super) fn clause(&mut self, literals: impl Into<Vec<Lit>>) {
        self.clauses.push(literals.into());
    }
}

impl<'a> Book<'a> {
    pub(super) fn new(
        mut locals: Box<dyn Locals + 'a>,
        program: Option<&Program>,
        memory: MemoryModel,
        first_sources: usize,
        is_read: bool,
    ) -> Book<'a> {
        let code = program.iter().flat_map(|program| &program.routines).flat_map(|routine| &routine.code);
        let frees = code.into_iter().any(|instr| matches!(instr, Instr::Free { .. }));
        let cells = program.iter().flat_map(|program| program.cells.iter().enumerate());
        let initial = locals.initial();
        let mut book = Book {
            locals,
            memory,
            waiters: Waiters::default(),
            left: FxHashMap::default(),
            frees,
            first: cells.map(|(index, cell)| (Loc::global(index), cell.initial)).collect(),
            n_globals: program.map_or(usize::MAX, |program| program.cells.len()),
            first_sources,
            nodes: vec![],
            threads: vec![],
            n_initial: initial.len(),
            edges: vec![],
            edge_numbers: HashTable::new(),
            writes: vec![],
            accesses: vec![],
            cells: vec![],
            cell_numbers: FxHashMap::default(),
            lists: vec![],
            sources: vec![],
            source_numbers: FxHashMap::default(),
            unknown: BTreeSet::new(),
            unsettled: vec![],
            late_literals: FxHashMap::default(),
            sections: Sections::default(),
            references: References::default(),
            formula: Formula { keeps_told: is_read, ..Formula::default() },
        };
        for (key, local) in initial {
            let number = book.thread(key);
            let root = book.node(number, local);
            book.threads[number as usize].roots.push(root);
        }
        book
    }

    /// The number of a thread.
    pub(super) fn thread(&mut self, key: ThreadKey) -> u32 {
        if let Some(number) = self.threads.iter().position(|thread| thread.key == key) {
            return number as u32;
        }
        self.threads.push(Thread { key, n_nodes: 0, roots: vec![] });
        self.guard_joins_of_all(key);
        self.threads.len() as u32 - 1
    }

    /// The node of a local state.
    pub(super) fn node(&mut self, thread: u32, local: Local) -> NodeId {
        if (local as usize) < self.nodes.len() {
            return local;
        }
        let of_thread = &mut self.threads[thread as usize].n_nodes;
        let number = *of_thread;
        *of_thread += 1;
        self.nodes.push(Node {
            thread,
            number,
            earlier: Earlier::default(),
            entry: None,
            incoming: vec![],
            accesses: vec![],
            seen_last: false,
            depth: 0,
            hint: u32::MAX,
            fails: self.locals.fails(local),
        });
        local
    }

    /// The operation of a node that is in the book.
    pub(super) fn operation(&self, node: NodeId) -> &Operation {
        &self.entry(node).at.operation
    }

    pub(super) fn entry(&self, node: NodeId) -> &Entry {
        self.nodes[node as usize].entry.as_ref().expect("the node is in the book")
    }

    pub(super) fn entry_mut(&mut self, node: NodeId) -> &mut Entry {
        self.nodes[node as usize].entry.as_mut().expect("the node is in the book")
    }

    /// Whether the thread fails at once if it goes this way.
    pub(super) fn fails(&self, edge: EdgeId) -> bool {
        let key = &self.edges[edge as usize].key;
        key.fails || key.target.is_some_and(|node| self.nodes[node as usize].fails)
    }

    /// A number that edges of one thread about one cell have in common.
    pub(super) fn number_of(&self, edge: EdgeId) -> usize {
        let node = self.edges[edge as usize].node;
        let cell = self.entry(node).decisive.map_or(0, |access| self.accesses[access as usize].cell);
        self.nodes[node as usize].thread as usize + cell as usize
    }

    pub(super) fn cell(&mut self, cell: Cell) -> u32 {
        if let Some(&number) = self.cell_numbers.get(&cell) {
            return number;
        }
        let first = cell.loc().and_then(|loc| self.first.get(&loc).copied()).unwrap_or(0);
        let runs = |key: ThreadKey| self.threads[..self.n_initial].iter().any(|thread| thread.key == key);
        let initial = match cell {
            Cell::Thread(key) if runs(key) => RUNNING,
            _ => cell.initial(first),
        };
        self.cells.push(CellInfo { cell, initial, first, accesses: vec![], values: vec![(initial, vec![])] });
        self.cell_numbers.insert(cell, self.cells.len() as u32 - 1);
        self.cells.len() as u32 - 1
    }
    /// The cell that a location is.
    pub(super) fn cell_at(&self, loc: Loc) -> Cell {
        let opaque = Cell::Opaque(loc);
        if self.cell_numbers.contains_key(&opaque) { opaque } else { Cell::Memory(loc) }
    }

    /// What is in memory when a cell holds this.
    pub(super) fn in_memory(&self, cell: u32, value: i64) -> i64 {
        let info = &self.cells[cell as usize];
        match info.cell {
            Cell::Opaque(_) if value == info.initial => info.first,
            Cell::Opaque(_) => self.left.get(&value).copied().unwrap_or(0),
            _ => value,
        }
    }
}
