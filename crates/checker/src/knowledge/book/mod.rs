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

mod choices;
mod effect;
mod ends;
mod history;
mod learn;
mod local;
mod one_of;
mod ordering;
mod own;
mod prediction;
mod problem;
mod references;
mod sections;
mod solve;
mod sources;
mod waiters;
mod ways;

pub(crate) use effect::{Cell, Test, is_quiet};
pub(crate) use ends::Ends;
pub(crate) use history::ByHistory;
pub(crate) use local::{ByState, Locals};
pub(crate) use one_of::OneOf;
pub(crate) use ordering::Happening;
pub(crate) use solve::{Asker, NoAnswer, Solution, taken};

use crate::base::{Loc, ThreadKey};
use crate::execution::{MemoryModel, Operation};
use crate::program::{Instr, Program};
use crate::solver::Lit;
use effect::RUNNING;
use hashbrown::HashTable;
use local::{At, Local};
use references::References;
use rustc_hash::{FxHashMap, FxHashSet};
use sections::Sections;
use std::collections::BTreeSet;
use waiters::Waiters;
use ways::Earlier;

pub(crate) type NodeId = u32;
pub(crate) type EdgeId = u32;
pub(crate) type WriteId = u32;
pub(crate) type AccessId = u32;

/// Everything known.
pub(crate) struct Book<'a> {
    pub(crate) locals: Box<dyn Locals + 'a>,
    pub(crate) memory: MemoryModel,
    pub(crate) waiters: Waiters,
    /// What is in memory where an opaque object has a version.
    pub(crate) left: FxHashMap<i64, i64>,
    /// Whether the program frees anything.
    pub(crate) frees: bool,
    /// First values of locations.
    pub(crate) first: FxHashMap<Loc, i64>,
    /// There are no locations from here on.
    pub(crate) n_globals: usize,
    /// How many sources a list names at first.
    pub(crate) first_sources: usize,
    pub(crate) nodes: Vec<Node>,
    pub(crate) threads: Vec<Thread>,
    /// How many of them run from the start.
    pub(crate) n_initial: usize,
    pub(crate) edges: Vec<Edge>,
    /// Edges by their nodes and keys.
    pub(crate) edge_numbers: HashTable<EdgeId>,
    pub(crate) writes: Vec<Write>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) cells: Vec<CellInfo>,
    pub(crate) cell_numbers: FxHashMap<Cell, u32>,
    pub(crate) lists: Vec<List>,
    pub(crate) sources: Vec<Source>,
    pub(crate) source_numbers: FxHashMap<(AccessId, Option<WriteId>), u32>,
    /// Edges that lead to what is not in the book.
    pub(crate) unknown: BTreeSet<EdgeId>,
    /// Edges that may have become known.
    pub(crate) unsettled: Vec<EdgeId>,
    /// The literals of the meanings that say when a commit comes.
    pub(crate) late_literals: FxHashMap<Meaning, Lit>,
    /// The cells that are used as locks.
    pub(crate) sections: Sections,
    pub(crate) references: References,
    pub(crate) formula: Formula,
}

/// Variables and clauses that the core has not been told of, and what variables mean.
#[derive(Default)]
pub(crate) struct Formula {
    pub(crate) meanings: Vec<Meaning>,
    pub(crate) clauses: Vec<Vec<Lit>>,
    /// Those that it has been told of, if somebody will read them.
    pub(crate) told: Vec<Vec<Lit>>,
    pub(crate) keeps_told: bool,
}

/// What a variable means to the ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
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
pub(crate) struct Node {
    pub(crate) thread: u32,
    /// Its number in the thread.
    pub(crate) number: u32,
    /// The thread's nodes from which ways lead to here.
    pub(crate) earlier: Earlier,
    /// Present once the node is in the book.
    pub(crate) entry: Option<Entry>,
    /// Edges to here.
    pub(crate) incoming: Vec<EdgeId>,
    /// What is looked at when the operation is performed.
    pub(crate) accesses: Vec<AccessId>,
    /// A run ended or failed here.
    pub(crate) seen_last: bool,
    /// The length of the longest way to here: smaller for everything that can come before.
    pub(crate) depth: u32,
    /// When it was first performed, in its run.
    pub(crate) hint: u32,
    /// The thread is known to fail here.
    pub(crate) fails: bool,
}

/// What is written of a node.
pub(crate) struct Entry {
    pub(crate) at: At,
    pub(crate) reached: Lit,
    /// The list of edges to here has more.
    pub(crate) more: Lit,
    pub(crate) edges: Vec<EdgeId>,
    /// "One of the edges so far is taken."
    pub(crate) ladder: Option<Lit>,
    pub(crate) decisive: Option<AccessId>,
    pub(crate) second: Option<AccessId>,
    /// What must hold, unless the operation fails.
    pub(crate) guards: Vec<Lit>,
    /// For a thread that waits for a change: literals that say that something which the operation itself does not read has changed.
    pub(crate) changes: Vec<Lit>,
}

/// A way of performing an operation.
pub(crate) struct Edge {
    pub(crate) node: NodeId,
    pub(crate) lit: Lit,
    pub(crate) key: EdgeKey,
    /// The list of sources that it needs, if it depends on a value.
    pub(crate) list: Option<u32>,
    pub(crate) writes: Vec<WriteId>,
    pub(crate) known: bool,
    /// A run took it.
    pub(crate) taken: bool,
}

/// What tells the edges of a node apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeKey {
    /// Nothing after an end or a failure.
    pub(crate) target: Option<NodeId>,
    pub(crate) child: Option<NodeId>,
    pub(crate) result: Option<i64>,
    pub(crate) writes: Vec<(Cell, i64)>,
    pub(crate) wakes: Option<ThreadKey>,
    pub(crate) fails: bool,
    /// The operation itself reads nothing that has changed.
    pub(crate) unchanged: bool,
}

pub(crate) struct Write {
    pub(crate) edge: EdgeId,
    pub(crate) cell: u32,
    pub(crate) value: i64,
}

/// A look at a cell, by an operation or, without a node, when all is over.
pub(crate) struct Access {
    pub(crate) node: Option<NodeId>,
    pub(crate) cell: u32,
    /// If the value decides how the operation is performed: the edges of each value.
    pub(crate) decides: bool,
    pub(crate) edges: FxHashMap<i64, Vec<EdgeId>>,
}

/// "This access sees this write", or the initial value.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) lit: Lit,
    pub(crate) access: AccessId,
    pub(crate) write: Option<WriteId>,
}

/// A literal that needs one of several sources.
pub(crate) struct List {
    pub(crate) access: AccessId,
    pub(crate) values: Wanted,
    pub(crate) members: FxHashSet<Option<WriteId>>,
    pub(crate) more: Lit,
}

/// The values that a list is about.
pub(crate) enum Wanted {
    These(Vec<i64>),
    Those(Test),
}

pub(crate) struct CellInfo {
    pub(crate) cell: Cell,
    pub(crate) initial: i64,
    /// What is in memory then.
    pub(crate) first: i64,
    pub(crate) accesses: Vec<AccessId>,
    /// The writes of each value, values in the order in which they were met.
    pub(crate) values: Vec<(i64, Vec<WriteId>)>,
}

pub(crate) struct Thread {
    pub(crate) key: ThreadKey,
    pub(crate) n_nodes: u32,
    pub(crate) roots: Vec<NodeId>,
}

impl Formula {
    pub(crate) fn var(&mut self, meaning: Meaning) -> Lit {
        self.meanings.push(meaning);
        Lit::new(self.meanings.len() as u32 - 1, true)
    }

    pub(crate) fn clause(&mut self, literals: impl Into<Vec<Lit>>) {
        self.clauses.push(literals.into());
    }
}

impl<'a> Book<'a> {
    pub(crate) fn new(
        mut locals: Box<dyn Locals + 'a>,
        program: Option<&Program>,
        memory: MemoryModel,
        first_sources: usize,
        keeps_told: bool,
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
            formula: Formula { keeps_told: keeps_told || cfg!(debug_assertions), ..Formula::default() },
        };
        for (key, local) in initial {
            let number = book.thread(key);
            let root = book.node(number, local);
            book.threads[number as usize].roots.push(root);
        }
        book
    }

    /// The number of a thread.
    pub(crate) fn thread(&mut self, key: ThreadKey) -> u32 {
        if let Some(number) = self.threads.iter().position(|thread| thread.key == key) {
            return number as u32;
        }
        self.threads.push(Thread { key, n_nodes: 0, roots: vec![] });
        self.guard_joins_of_all(key);
        self.threads.len() as u32 - 1
    }

    /// The node of a local state.
    pub(crate) fn node(&mut self, thread: u32, local: Local) -> NodeId {
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
    pub(crate) fn operation(&self, node: NodeId) -> &Operation {
        &self.entry(node).at.operation
    }

    pub(crate) fn entry(&self, node: NodeId) -> &Entry {
        self.nodes[node as usize].entry.as_ref().expect("the node is in the book")
    }

    pub(crate) fn entry_mut(&mut self, node: NodeId) -> &mut Entry {
        self.nodes[node as usize].entry.as_mut().expect("the node is in the book")
    }

    /// Whether the thread fails at once if it goes this way.
    pub(crate) fn fails(&self, edge: EdgeId) -> bool {
        let key = &self.edges[edge as usize].key;
        key.fails || key.target.is_some_and(|node| self.nodes[node as usize].fails)
    }

    /// A number that edges of one thread about one cell have in common.
    pub(crate) fn number_of(&self, edge: EdgeId) -> usize {
        let node = self.edges[edge as usize].node;
        let cell = self.entry(node).decisive.map_or(0, |access| self.accesses[access as usize].cell);
        self.nodes[node as usize].thread as usize + cell as usize
    }

    pub(crate) fn cell(&mut self, cell: Cell) -> u32 {
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
    pub(crate) fn cell_at(&self, loc: Loc) -> Cell {
        let opaque = Cell::Opaque(loc);
        if self.cell_numbers.contains_key(&opaque) { opaque } else { Cell::Memory(loc) }
    }

    /// What is in memory when a cell holds this.
    pub(crate) fn in_memory(&self, cell: u32, value: i64) -> i64 {
        let info = &self.cells[cell as usize];
        match info.cell {
            Cell::Opaque(_) if value == info.initial => info.first,
            Cell::Opaque(_) => self.left.get(&value).copied().unwrap_or(0),
            _ => value,
        }
    }
}
