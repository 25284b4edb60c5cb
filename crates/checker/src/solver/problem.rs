//! Problems: clauses, and nodes that must be put in a total order.
//!
//! Definition. Given an assignment of the variables, some nodes are *active*. The problem is solved by an assignment that satisfies the
//! clauses together with a total order `<` of the active nodes such that
//! 1. each chain is in order, and `a < b` for every edge whose condition (if any) is true;
//! 2. for every source `(r, w)` that is true (read `r` sees write `w`, both of one cell, or the cell's initial value):
//!    `w < r` unless `w` is the reader's *own* (it may see it early), and every other active write `v` to the cell has
//!    `v < w` or `r < v`; with the initial value, `r < v`;
//!    If the reader wrote to the cell itself before, what it sees of others is later than that write;
//! 3. the reason of a choice holds iff one of its sources does;
//! 4. of two sections of one group that are both taken, unless both are shared, one ends before the other begins;
//! 5. a *last* read comes after everything.
//!
//! Nothing here knows of threads, events or programs.

/// A literal: a Boolean variable or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lit(pub(super) u32);

/// Something to be put in order.
pub type Node = u32;

/// An index into [`Problem::writes`].
pub type WriteId = u32;

/// An index into [`Problem::reads`].
pub type ReadId = u32;

/// Clauses and an ordering problem over the same variables.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// How many variables there are.
    pub n_vars: u32,
    /// Each is a disjunction.
    pub clauses: Vec<Vec<Lit>>,
    /// Nodes by chain, in order. Active nodes of a chain come before inactive ones.
    pub chains: Vec<Vec<Node>>,
    /// For each node, its chain, its place there, and the literals any of which makes it active.
    pub nodes: Vec<NodeInfo>,
    /// Orders that always hold between active nodes.
    pub edges: Vec<(Node, Node)>,
    /// Orders that hold when a literal is true. The literal implies that the first node is active.
    pub conditional: Vec<(Lit, Node, Node)>,
    /// Writes to cells.
    pub writes: Vec<Write>,
    /// Reads of cells.
    pub reads: Vec<Read>,
    /// What reads can see.
    pub sources: Vec<Source>,
    /// Sources of which one is needed.
    pub choices: Vec<Choice>,
    /// Stretches of time that exclude one another.
    pub sections: Vec<Section>,
    /// The node after everything, if there is one. It has no chain.
    pub last: Option<Node>,
}

/// A node's place.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Its chain, or `u32::MAX`.
    pub chain: u32,
    /// Its place in the chain.
    pub index: u32,
    /// It is active when one of these is true.
    pub active: Vec<Lit>,
    /// Where it stood in the execution that the problem is about: only a preference.
    pub hint: u32,
}

/// A write to a cell, at a node.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// The cell.
    pub cell: u32,
    /// When.
    pub node: Node,
    /// Whether it happens. Implies that the node is active.
    pub active: Lit,
}

/// A read of a cell, at a node.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// The cell.
    pub cell: u32,
    /// When.
    pub node: Node,
    /// The latest write to the cell that the reader made itself, if any.
    pub own: Option<WriteId>,
}

/// A reason, and the sources of which one must be true if it is, and only if it is.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Why.
    pub reason: Lit,
    /// Indices into [`Problem::sources`], the likeliest first.
    pub sources: Vec<u32>,
}

/// From one node to another, something is held.
#[derive(Clone, Debug)]
pub struct Section {
    /// What is held.
    pub group: u32,
    /// Others may hold it too, if they share it.
    pub shared: bool,
    /// Where it begins.
    pub begin: Node,
    /// The literals any of which says that it does. Each implies that the node is active.
    pub taken: Vec<Lit>,
    /// Where it ends, and the literal by which it does, which implies that the node is active.
    pub end: Option<(Node, Lit)>,
}

/// "This read sees this write." Implies that both happen.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Whether it does.
    pub lit: Lit,
    /// The read.
    pub read: ReadId,
    /// The write; nothing for the cell's initial value.
    pub write: Option<WriteId>,
    /// The reader wrote it itself and sees it even before it is in its place.
    pub own: bool,
}

impl Lit {
    /// A variable, or its negation.
    pub(crate) fn new(var: u32, is_positive: bool) -> Lit {
        Lit((var << 1) | u32::from(!is_positive))
    }

    /// The variable's number.
    pub fn var(self) -> u32 {
        self.0 >> 1
    }

    /// Whether this is the variable itself.
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

impl Problem {
    /// A new variable, as a literal.
    pub fn var(&mut self) -> Lit {
        self.n_vars += 1;
        Lit((self.n_vars - 1) << 1)
    }

    /// A new chain.
    pub fn chain(&mut self) -> u32 {
        self.chains.push(Vec::new());
        self.chains.len() as u32 - 1
    }

    /// A new node at the end of a chain.
    pub fn node(&mut self, chain: u32, active: Vec<Lit>, hint: u32) -> Node {
        let node = self.nodes.len() as Node;
        let members = &mut self.chains[chain as usize];
        self.nodes.push(NodeInfo { chain, index: members.len() as u32, active, hint });
        members.push(node);
        node
    }

    /// The node after everything, active when the literal is true.
    pub fn last_node(&mut self, active: Lit) -> Node {
        let node = self.nodes.len() as Node;
        self.nodes.push(NodeInfo { chain: u32::MAX, index: 0, active: vec![active], hint: u32::MAX });
        self.last = Some(node);
        node
    }

    /// Adds a clause.
    pub fn clause(&mut self, literals: impl Into<Vec<Lit>>) {
        self.clauses.push(literals.into());
    }

    /// Adds a write.
    pub fn write(&mut self, cell: u32, node: Node, active: Lit) -> WriteId {
        self.writes.push(Write { cell, node, active });
        self.writes.len() as WriteId - 1
    }

    /// Adds a read.
    pub fn read(&mut self, cell: u32, node: Node, own: Option<WriteId>) -> ReadId {
        self.reads.push(Read { cell, node, own });
        self.reads.len() as ReadId - 1
    }

    /// Adds something that a read can see. Gives its number.
    pub fn source(&mut self, read: ReadId, write: Option<WriteId>) -> u32 {
        let own = write.is_some() && write == self.reads[read as usize].own;
        let lit = self.var();
        self.sources.push(Source { lit, read, write, own });
        self.sources.len() as u32 - 1
    }

    /// Adds a choice. Sources near the read, by their hints, are the likeliest.
    pub fn choice(&mut self, reason: Lit, mut sources: Vec<u32>) {
        let hint = |node: Node| i64::from(self.nodes[node as usize].hint);
        sources.sort_by_cached_key(|&at| {
            let source = self.sources[at as usize];
            let seen = source.write.map_or(0, |write| hint(self.writes[write as usize].node));
            let distance = hint(self.reads[source.read as usize].node) - seen;
            (distance.abs(), distance < 0)
        });
        self.choices.push(Choice { reason, sources });
    }

    /// For each cell and each chain in which it is written, the writes there by place.
    pub(crate) fn writes_by_chain(&self) -> Vec<Vec<(u32, Vec<WriteId>)>> {
        let cells = self.writes.iter().map(|write| write.cell).chain(self.reads.iter().map(|read| read.cell));
        let mut writes: Vec<Vec<(u32, Vec<WriteId>)>> = vec![vec![]; cells.max().map_or(0, |cell| cell as usize + 1)];
        for (id, write) in self.writes.iter().enumerate() {
            let chain = self.nodes[write.node as usize].chain;
            let of_cell = &mut writes[write.cell as usize];
            match of_cell.iter_mut().find(|of| of.0 == chain) {
                Some(of) => of.1.push(id as WriteId),
                None => of_cell.push((chain, vec![id as WriteId])),
            }
        }
        for (_, ids) in writes.iter_mut().flatten() {
            ids.sort_by_key(|&id| self.nodes[self.writes[id as usize].node as usize].index);
        }
        writes
    }

    /// The order that a true source brings about besides that of what it sees and the read.
    pub(super) fn after_own(&self, source: &Source) -> Option<(Node, Node)> {
        let own = self.reads[source.read as usize].own.filter(|_| !source.own)?;
        let seen = self.writes[source.write? as usize].node;
        Some((self.writes[own as usize].node, seen))
    }

    /// A literal that implies `a < b`. Requires that it also implies, by clauses, that `a` is active.
    pub fn before(&mut self, a: Node, b: Node) -> Lit {
        let lit = self.var();
        self.conditional.push((lit, a, b));
        lit
    }
}
