//! Robustness, asked of the finished book: is there an execution whose happens-before order goes round in a circle?
//!
//! Happens-before, as in `trace/cycle.rs`: program order, from a write to who sees it, the order of writes to a cell, and from a look at a cell to the writes after
//! the one that was seen; for locks, condition variables and threads just as for memory, as they are cells too. SC has the executions in which it has no cycle.
//!
//! *What is asked.* There is a cycle iff some operations, at least one, can be marked such that each of them has another marked one right before it: going back from
//! one to the next must come round in the end. So a literal per edge, "it is marked", and one clause for each of them is all that there is to say: no path is spelled out.

use super::Cumulative;
use crate::base::Schedule;
use crate::execution::{Comparable, MemoryModel, interpret};
use crate::knowledge::book::{AccessId, Asker, Book, EdgeId, Meaning, NodeId, WriteId};
use crate::program::Program;
use crate::search::{Engine, Limits, Options, StopReason, Watch};
use crate::solver::{Goal, Lit};
use rustc_hash::FxHashMap;

/// A schedule of an execution that no SC execution looks like, if there is one, and how many local states the book has. The loops must be bounded, as for every question to a book, and must not wait for others:
/// the book does not have the turns in which nothing changes.
pub(crate) fn cycle(
    program: &Program,
    memory: MemoryModel,
    limits: &Limits,
    watch: &dyn Watch,
) -> (Result<Option<Schedule>, StopReason>, u64) {
    let subject = interpret(program);
    let options = Options { all_violations: true, limits: *limits, engine: Engine::Cumulative, ..Options::new(memory) };
    let options = options.engine.adapt(&options);
    let mut search = Cumulative::new(&subject, &options, watch);
    let answer = search.find_cycle();
    (answer, search.book.nodes.len() as u64)
}

impl<S: Comparable> Cumulative<'_, S> {
    fn find_cycle(&mut self) -> Result<Option<Schedule>, StopReason> {
        self.finish()?;
        let spins =
            self.book.nodes.iter().filter_map(|node| node.entry.as_ref()).any(|entry| !entry.at.awaiting.is_empty());
        if spins || self.book.frees {
            let why = if spins { "a loop waits for other threads" } else { "memory is freed" };
            return Err(StopReason::Failed(format!("{why}: the graph cannot say what is robust then")));
        }
        // Every source has a part in the question, so every list must name all of its own.
        for list in 0..self.book.lists.len() as u32 {
            while self.book.widen(list) {}
        }
        let goal = Marks::new(&mut self.book, &mut self.asker).goal();
        let Some(solution) = self.ask(Goal::Cycle, &[goal])? else { return Ok(None) };
        let prediction = self.book.whole_prediction(&solution);
        let mut runner = self.runner();
        runner.follow(&prediction).map_err(StopReason::Failed)?;
        Ok(Some(Schedule(runner.steps)))
    }
}

/// The question under construction.
struct Marks<'b, 'a> {
    book: &'b mut Book<'a>,
    asker: &'b mut Asker,
    /// What each access can see, with the literals that say so.
    seen: Vec<Vec<(Lit, Option<WriteId>)>>,
    /// "This is marked."
    marked: FxHashMap<EdgeId, Lit>,
    /// "Something of the thread before this node is marked, or of what led to the thread's fork."
    before: FxHashMap<NodeId, Lit>,
    /// "A marked operation looks here and leaves the cell as it is."
    looks: FxHashMap<AccessId, Lit>,
    /// "This write is marked, or something that sees it": what comes before the writes after it.
    sights: FxHashMap<WriteId, Lit>,
}

impl<'b, 'a> Marks<'b, 'a> {
    fn new(book: &'b mut Book<'a>, asker: &'b mut Asker) -> Marks<'b, 'a> {
        let mut seen = vec![vec![]; book.accesses.len()];
        book.sources.iter().for_each(|source| seen[source.access as usize].push((source.lit, source.write)));
        let mut marked = FxHashMap::default();
        for edge in (0..book.edges.len() as EdgeId).filter(|&edge| book.edges[edge as usize].known).collect::<Vec<_>>()
        {
            let lit = book.formula.var(Meaning::Other);
            book.formula.clause([!lit, book.edges[edge as usize].lit]);
            marked.insert(edge, lit);
        }
        Marks {
            book,
            asker,
            seen,
            marked,
            before: FxHashMap::default(),
            looks: FxHashMap::default(),
            sights: FxHashMap::default(),
        }
    }

    /// A literal that says that something is marked, and whatever is marked has something marked before it.
    fn goal(mut self) -> Lit {
        let goal = self.book.formula.var(Meaning::Other);
        let mut edges: Vec<(EdgeId, Lit)> = self.marked.iter().map(|(&edge, &lit)| (edge, lit)).collect();
        edges.sort_unstable();
        for &(edge, lit) in &edges {
            let mut clause = vec![!lit];
            clause.extend(self.causes(edge));
            self.book.formula.clause(clause);
        }
        let any = edges.iter().map(|edge| edge.1);
        let clause: Vec<Lit> = [!goal].into_iter().chain(any).collect();
        self.book.formula.clause(clause);
        goal
    }

    /// Literals each of which says that something marked comes right before the edge.
    fn causes(&mut self, edge: EdgeId) -> Vec<Lit> {
        let node = self.book.edges[edge as usize].node;
        let mut causes = vec![self.before(node)];
        for access in self.book.nodes[node as usize].accesses.clone() {
            for (lit, write) in self.seen[access as usize].clone() {
                if let Some(write) =
                    write.filter(|&write| self.thread_of(write) != self.book.nodes[node as usize].thread)
                {
                    let writer = self.marked[&self.book.writes[write as usize].edge];
                    causes.push(self.both(lit, writer));
                }
            }
        }
        for write in self.book.edges[edge as usize].writes.clone() {
            causes.extend(self.overwritten(write));
        }
        causes
    }

    /// Literals each of which says that a write which comes before this one, or who sees such a write, is marked.
    fn overwritten(&mut self, write: WriteId) -> Vec<Lit> {
        let cell = self.book.writes[write as usize].cell;
        let mut causes = vec![];
        for access in self.book.cells[cell as usize].accesses.clone() {
            let initial = self.book.source_numbers.get(&(access, None)).copied();
            if let Some(source) = initial.filter(|_| self.book.accesses[access as usize].node.is_some()) {
                let looks = self.looks(access);
                causes.push(self.both(self.book.sources[source as usize].lit, looks));
            }
        }
        let others = self.book.cells[cell as usize].values.iter().flat_map(|value| value.1.iter().copied());
        for other in others.collect::<Vec<_>>() {
            if self.thread_of(other) != self.thread_of(write) {
                let (order, sight) = (self.asker.order(self.book, other, write), self.sight(other));
                causes.push(self.both(order, sight));
            } else if other != write && self.comes_later(other, write) {
                // Program order has the write itself, but not those who see it.
                causes.push(self.sight(other));
            }
        }
        causes
    }

    fn thread_of(&self, write: WriteId) -> u32 {
        let edge = self.book.writes[write as usize].edge;
        self.book.nodes[self.book.edges[edge as usize].node as usize].thread
    }

    /// Whether a thread makes the second of its writes after the first, where it makes both.
    fn comes_later(&self, first: WriteId, second: WriteId) -> bool {
        let [first, second] = [first, second].map(|write| self.book.writes[write as usize].edge);
        self.book.leads_to(self.book.edges[first as usize].node, self.book.edges[second as usize].node)
    }

    fn both(&mut self, first: Lit, second: Lit) -> Lit {
        let both = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!both, first]);
        self.book.formula.clause([!both, second]);
        both
    }

    fn before(&mut self, node: NodeId) -> Lit {
        if let Some(&before) = self.before.get(&node) {
            return before;
        }
        let before = self.book.formula.var(Meaning::Other);
        self.before.insert(node, before);
        let mut clause = vec![!before];
        for edge in self.book.nodes[node as usize].incoming.clone() {
            let Some(&marked) = self.marked.get(&edge) else { continue };
            let earlier = self.before(self.book.edges[edge as usize].node);
            let comes_here = self.book.formula.var(Meaning::Other);
            self.book.formula.clause([!comes_here, self.book.edges[edge as usize].lit]);
            self.book.formula.clause([!comes_here, marked, earlier]);
            clause.push(comes_here);
        }
        self.book.formula.clause(clause);
        before
    }

    /// Who looks and writes at once is before whatever its own write is before, and needs no mention as one who looks.
    fn looks(&mut self, access: AccessId) -> Lit {
        if let Some(&looks) = self.looks.get(&access) {
            return looks;
        }
        let (node, cell) = (self.book.accesses[access as usize].node, self.book.accesses[access as usize].cell);
        let looks = self.book.formula.var(Meaning::Other);
        let mut clause = vec![!looks];
        for &edge in node.map_or(&[][..], |node| &self.book.entry(node).edges) {
            let writes = |&write: &WriteId| self.book.writes[write as usize].cell == cell;
            if !self.book.edges[edge as usize].writes.iter().any(writes) {
                clause.extend(self.marked.get(&edge));
            }
        }
        self.book.formula.clause(clause);
        self.looks.insert(access, looks);
        looks
    }

    fn sight(&mut self, write: WriteId) -> Lit {
        if let Some(&sight) = self.sights.get(&write) {
            return sight;
        }
        let sight = self.book.formula.var(Meaning::Other);
        let mut clause = vec![!sight, self.marked[&self.book.writes[write as usize].edge]];
        let cell = self.book.writes[write as usize].cell;
        for access in self.book.cells[cell as usize].accesses.clone() {
            let source = self.book.source_numbers.get(&(access, Some(write))).copied();
            if let Some(source) = source.filter(|_| self.book.accesses[access as usize].node.is_some()) {
                let looks = self.looks(access);
                clause.push(self.both(self.book.sources[source as usize].lit, looks));
            }
        }
        self.book.formula.clause(clause);
        self.sights.insert(write, sight);
        sight
    }
}
