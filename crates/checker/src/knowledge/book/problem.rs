//! The book as a [`Problem`], for others to judge: an independent check of answers, and other solvers by way of SMT-LIB.
//!
//! Written from the rules of the memory models over the whole graph, not from how `ordering/` applies them to what is true. Each operation of a node
//! is one of the problem's nodes, and so is the commit of each write that waits in a store buffer; other writes take effect where they are issued.
//! The problem's variables are the book's, and further ones that stand for several conditions at once.
//!
//! [`Book::problem`] is the whole book. [`Book::problem_of`] is the execution that a solution describes, and says of it the same: conditions have been
//! looked up, and what happens is all there is.

use super::ordering::{Happening, loc_of};
use super::solve::Solution;
use super::{AccessId, Book, EdgeId, Meaning, NodeId, WriteId};
use crate::base::Loc;
use crate::knowledge::causality::{commit_chain, drains, is_barrier, is_buffered};
use crate::solver::{Lit, Node, Problem, Section, Source};
use rustc_hash::FxHashMap;

impl Book<'_> {
    /// The whole book: its solutions are the executions inside of it.
    pub(crate) fn problem(&self) -> Problem {
        Encoding::new(self, None).encoded().problem
    }

    /// The execution that a solution describes, and its order as one of the problem's nodes.
    pub(crate) fn problem_of(&self, solution: &Solution) -> (Problem, crate::solver::Solution) {
        let encoding = Encoding::new(self, Some(solution)).encoded();
        let happenings = solution.order.iter().map(|happening| match happening {
            Happening::Issue(edge) => encoding.issues.get(&self.edges[*edge as usize].node),
            Happening::Commit(write) => encoding.commits.get(write),
        });
        // What is none of the problem's nodes has no number there.
        let order = happenings.map(|node| node.copied().unwrap_or(Node::MAX));
        let last = encoding.problem.last.filter(|_| encoding.over.is_some_and(|over| solution.holds(over)));
        let order = order.chain(last).collect();
        (encoding.problem, solution.in_order(order))
    }
}

/// A problem under construction.
struct Encoding<'b, 'a> {
    book: &'b Book<'a>,
    /// The solution whose execution is encoded, if it is not the whole book.
    solution: Option<&'b Solution>,
    problem: Problem,
    /// The nodes and the writes that are encoded, in order.
    nodes: Vec<NodeId>,
    writes: Vec<WriteId>,
    /// Where operations are performed, and where writes take effect.
    issues: FxHashMap<NodeId, Node>,
    commits: FxHashMap<WriteId, Node>,
    /// The problem's number of each write.
    numbers: FxHashMap<WriteId, u32>,
    /// The writes to each cell.
    of_cell: FxHashMap<u32, Vec<WriteId>>,
    /// "All is over", if that is asked.
    over: Option<Lit>,
}

impl<'b, 'a> Encoding<'b, 'a> {
    fn new(book: &'b Book<'a>, solution: Option<&'b Solution>) -> Encoding<'b, 'a> {
        let happens = |edge: EdgeId| solution.is_none_or(|solution| solution.holds(book.edges[edge as usize].lit));
        let nodes = book.nodes.iter().enumerate().filter(|(_, node)| match (&node.entry, solution) {
            (Some(entry), Some(_)) => entry.edges.iter().any(|&edge| happens(edge)),
            (_, solution) => solution.is_none(),
        });
        let nodes: Vec<NodeId> = nodes.map(|node| node.0 as NodeId).collect();
        let writes = (0..book.writes.len() as WriteId).filter(|&write| happens(book.writes[write as usize].edge));
        let over = book.formula.meanings.iter().position(|&meaning| meaning == Meaning::Over);
        Encoding {
            book,
            solution,
            problem: Problem { n_vars: book.formula.meanings.len() as u32, ..Problem::default() },
            nodes,
            writes: writes.collect(),
            issues: FxHashMap::default(),
            commits: FxHashMap::default(),
            numbers: FxHashMap::default(),
            of_cell: FxHashMap::default(),
            over: over.map(|var| Lit::new(var as u32, true)),
        }
    }

    fn encoded(mut self) -> Self {
        self.add_nodes();
        self.add_closed_lists();
        self.add_threads();
        self.add_commits();
        self.add_barriers();
        self.add_sources();
        self.add_meanings();
        self.add_locks();
        self
    }

    fn add_node(&mut self, active: Vec<Lit>) -> Node {
        let chain = self.problem.chain();
        self.problem.node(chain, active, 0)
    }

    fn add_nodes(&mut self) {
        for node in self.nodes.clone() {
            let active = self.happens(node);
            let issue = self.add_node(active);
            self.issues.insert(node, issue);
        }
        for write in self.writes.clone() {
            let lit = self.lit(write);
            let place = match self.waits(write) {
                true => self.add_node(vec![lit]),
                false => self.issues[&self.node_of(write)],
            };
            let cell = self.book.writes[write as usize].cell;
            self.commits.insert(write, place);
            self.numbers.insert(write, self.problem.write(cell, place, lit));
            self.of_cell.entry(cell).or_default().push(write);
        }
        if let Some(over) = self.over {
            self.problem.last_node(over);
        }
    }

    /// There is nothing in any list that it does not say.
    fn add_closed_lists(&mut self) {
        let needs_nothing = &self.book.sections.needs_nothing;
        for (at, list) in self.book.lists.iter().enumerate() {
            if needs_nothing.get(at) != Some(&true) {
                self.problem.clause([!list.more]);
            }
        }
        for entry in self.book.nodes.iter().filter_map(|node| node.entry.as_ref()) {
            self.problem.clause([!entry.more]);
        }
    }

    /// If these hold, one node is before another, where both are active. A node at which one write takes effect may be active by way of another
    /// write, so that a certain write happens is a condition of its own.
    fn before(&mut self, conditions: &[Lit], first: Node, second: Node) {
        match (self.solution, conditions) {
            (_, []) => self.problem.edges.push((first, second)),
            (Some(solution), _) if conditions.iter().all(|&lit| solution.holds(lit)) => {
                self.problem.edges.push((first, second));
            }
            (Some(_), _) => {}
            (None, [lit]) => self.problem.conditional.push((*lit, first, second)),
            (None, _) => {
                let all = self.problem.before(first, second);
                let clause: Vec<Lit> = conditions.iter().map(|&lit| !lit).chain([all]).collect();
                self.problem.clause(clause);
            }
        }
    }

    /// A thread's operations are in order, and its first comes after its fork.
    fn add_threads(&mut self) {
        for edge in &self.book.edges {
            for next in edge.key.target.into_iter().chain(edge.key.child).filter(|_| edge.known) {
                if let (Some(&first), Some(&second)) = (self.issues.get(&edge.node), self.issues.get(&next)) {
                    self.before(&[edge.lit], first, second);
                }
            }
        }
    }

    /// Writes that wait take effect after their issue, in the order of their chains, and before what drains them.
    fn add_commits(&mut self) {
        let waiting: Vec<WriteId> = self.writes.iter().copied().filter(|&write| self.waits(write)).collect();
        for &first in &waiting {
            let (node, commit) = (self.node_of(first), self.commits[&first]);
            self.before(&[], self.issues[&node], commit);
            for later in self.nodes.clone() {
                if self.is_earlier(node, later)
                    && self.book.nodes[later as usize].entry.is_some()
                    && drains(self.book.operation(later))
                {
                    self.before(&[], commit, self.issues[&later]);
                }
            }
            for &second in &waiting {
                if self.is_earlier(node, self.node_of(second)) && self.chain(first) == self.chain(second) {
                    self.before(&[], commit, self.commits[&second]);
                }
            }
        }
    }

    /// What waits before a barrier takes effect before what waits after it.
    fn add_barriers(&mut self) {
        let book = self.book;
        let is_in_book = |node: &NodeId| book.nodes[*node as usize].entry.is_some();
        for barrier in self.nodes.clone().into_iter().filter(is_in_book) {
            if !is_barrier(book.memory, book.operation(barrier)) {
                continue;
            }
            let (thread, depth) = (book.nodes[barrier as usize].thread, book.nodes[barrier as usize].depth);
            let waiting = self.writes.iter().copied().filter(|&write| self.waits(write));
            let waiting = waiting.filter(|&write| book.nodes[self.node_of(write) as usize].thread == thread);
            let (earlier, later): (Vec<WriteId>, Vec<WriteId>) =
                waiting.partition(|&write| book.nodes[self.node_of(write) as usize].depth < depth);
            for &first in &earlier {
                for &second in &later {
                    for lit in self.happens(barrier) {
                        self.before(&[lit], self.commits[&first], self.commits[&second]);
                    }
                }
            }
        }
    }

    /// What is seen is the latest write that is in memory or is the reader's own.
    fn add_sources(&mut self) {
        for source in &self.book.sources {
            let Some(node) = self.book.accesses[source.access as usize].node else {
                self.add_source(source.access, source.write, source.lit, self.problem.last);
                continue;
            };
            let Some(&place) = self.issues.get(&node) else { continue };
            let Some(seen) = self.if_performed(source.lit, node) else { continue };
            self.add_source(source.access, source.write, seen, Some(place));
            let others = self.of_cell.get(&self.book.accesses[source.access as usize].cell).cloned();
            for other in others.into_iter().flatten().filter(|&other| Some(other) != source.write) {
                if !self.is_earlier(self.node_of(other), node) {
                    continue;
                }
                // The reader's own write must have been replaced by what is seen.
                match source.write {
                    Some(write) if self.commits.contains_key(&write) => {
                        self.before(&[seen, self.lit(other)], self.commits[&other], self.commits[&write]);
                    }
                    _ => self.problem.clause([!seen, !self.lit(other)]),
                }
            }
        }
    }

    /// A literal that is true if this one is and the node's operation is performed. Nothing if it is known to be false.
    fn if_performed(&mut self, lit: Lit, node: NodeId) -> Option<Lit> {
        if let Some(solution) = self.solution {
            return solution.holds(lit).then_some(lit);
        }
        let both = self.problem.var();
        for edge in self.happens(node) {
            self.problem.clause([!lit, !edge, both]);
        }
        Some(both)
    }

    fn add_source(&mut self, access: AccessId, write: Option<WriteId>, lit: Lit, place: Option<Node>) {
        let Some(place) = place else { return };
        let access = &self.book.accesses[access as usize];
        if self.solution.is_some_and(|solution| !solution.holds(lit)) {
            return;
        }
        let own = write.zip(access.node).is_some_and(|(write, node)| self.is_earlier(self.node_of(write), node));
        let write = match write {
            Some(write) => match self.numbers.get(&write) {
                Some(&number) => Some(number),
                // It does not happen: a contradiction.
                None => return self.problem.clause([!lit]),
            },
            None => None,
        };
        let read = self.problem.read(access.cell, place, None);
        self.problem.sources.push(Source { lit, read, write, own });
    }

    fn add_meanings(&mut self) {
        let book = self.book;
        for (var, &meaning) in book.formula.meanings.iter().enumerate() {
            let lit = Lit::new(var as u32, true);
            match meaning {
                Meaning::Order(first, second) => {
                    let happen = [self.lit(first), self.lit(second)];
                    if let (Some(&first), Some(&second)) = (self.commits.get(&first), self.commits.get(&second)) {
                        self.before(&[lit, happen[0], happen[1]], first, second);
                        self.before(&[!lit, happen[0], happen[1]], second, first);
                    }
                }
                Meaning::Late(write) => {
                    let Some(&commit) = self.commits.get(&write) else { continue };
                    for node in self.nodes.clone() {
                        self.before(&[lit], self.issues[&node], commit);
                    }
                }
                Meaning::AfterFree(write, free) => {
                    let by = self.issues.get(&book.edges[free as usize].node);
                    if let (Some(&by), Some(&commit)) = (by, self.commits.get(&write)) {
                        self.before(&[lit], by, commit);
                    }
                }
                _ => {}
            }
        }
    }

    /// Sections of locks are apart.
    fn add_locks(&mut self) {
        let book = self.book;
        for (&cell, lock) in &book.sections.locks {
            self.problem.clause([lock.lit]);
            let takers = lock.takers().filter(|taker| self.commits.contains_key(&taker.0));
            let takers: Vec<(WriteId, Vec<WriteId>)> =
                takers.map(|(taker, givers)| (taker, self.writes_of(givers, cell))).collect();
            for (at, first) in takers.iter().enumerate() {
                for second in &takers[at + 1..] {
                    let [one, other] = [first, second].map(|taker| book.nodes[self.node_of(taker.0) as usize].thread);
                    if one != other {
                        self.add_sections(first, second);
                    }
                }
            }
        }
    }

    /// The writes to a cell by which it is given back, as far as they are there.
    fn writes_of(&self, givers: &[EdgeId], cell: u32) -> Vec<WriteId> {
        let writes = givers.iter().flat_map(|&giver| &self.book.edges[giver as usize].writes).copied();
        writes
            .filter(|write| self.book.writes[*write as usize].cell == cell && self.commits.contains_key(write))
            .collect()
    }

    /// Of two sections that are both taken, one is given back before the other is taken.
    fn add_sections(&mut self, first: &(WriteId, Vec<WriteId>), second: &(WriteId, Vec<WriteId>)) {
        if let Some(solution) = self.solution {
            let group = self.problem.sections.len() as u32;
            for (taker, givers) in [first, second] {
                let place = |&giver: &WriteId| {
                    let node = self.node_of(giver);
                    solution.order.iter().position(|happening| match happening {
                        Happening::Issue(edge) => self.book.edges[*edge as usize].node == node,
                        Happening::Commit(_) => false,
                    })
                };
                let giver = givers.iter().copied().min_by_key(place);
                let end = giver.map(|giver| (self.commits[&giver], self.lit(giver)));
                let (begin, taken) = (self.commits[taker], vec![self.lit(*taker)]);
                self.problem.sections.push(Section { group, shared: false, begin, taken, end });
            }
            return;
        }
        let mut apart = vec![!self.lit(first.0), !self.lit(second.0)];
        for ((_, givers), next) in [(first, second.0), (second, first.0)] {
            for &giver in givers {
                let before = self.problem.before(self.commits[&giver], self.commits[&next]);
                self.problem.clause([!before, self.lit(giver)]);
                apart.push(before);
            }
        }
        self.problem.clause(apart);
    }

    /// The literals any of which says that the node's operation is performed.
    fn happens(&self, node: NodeId) -> Vec<Lit> {
        let entry = self.book.nodes[node as usize].entry.as_ref();
        let edges = entry.map_or(&[][..], |entry| &entry.edges);
        edges.iter().map(|&edge| self.book.edges[edge as usize].lit).collect()
    }

    /// The literal by which a write happens.
    fn lit(&self, write: WriteId) -> Lit {
        self.book.edges[self.book.writes[write as usize].edge as usize].lit
    }

    fn node_of(&self, write: WriteId) -> NodeId {
        self.book.edges[self.book.writes[write as usize].edge as usize].node
    }

    /// Whether one node is of the other's thread and before it, where a thread comes to both.
    fn is_earlier(&self, first: NodeId, second: NodeId) -> bool {
        let [first, second] = [first, second].map(|node| &self.book.nodes[node as usize]);
        first.thread == second.thread && first.depth < second.depth
    }

    fn waits(&self, write: WriteId) -> bool {
        is_buffered(self.book.memory, self.book.operation(self.node_of(write))) && self.chain(write).is_some()
    }

    /// The chain of a write that goes to memory.
    fn chain(&self, write: WriteId) -> Option<Option<Loc>> {
        loc_of(self.book, write).map(|loc| commit_chain(self.book.memory, loc))
    }
}
