//! The book as SMT-LIB text, for other solvers to judge. Written from the rules of the memory models over the whole graph, not from how `ordering/` applies them to what is true.

use super::book::{AccessId, Book, EdgeId, Meaning, NodeId, Source, WriteId};
use super::effect::Cell;
use crate::knowledge::causality::{commit_chain, drains, is_barrier, is_buffered};
use batsat::Lit;
use std::fmt::Write as _;

/// The question whether there is an execution inside of the book in which the assumptions hold, as a script in the logic QF_IDL that ends with `check-sat`.
pub(super) fn to_smtlib(book: &Book<'_>, assumptions: &[Lit]) -> String {
    let mut script = Script { book, text: String::from("(set-logic QF_IDL)\n") };
    script.declare();
    script.clauses();
    script.threads();
    script.commits();
    script.barriers();
    (0..book.sources.len()).for_each(|source| script.source(book.sources[source]));
    script.writes();
    script.meanings();
    script.locks();
    for &lit in assumptions {
        script.assert(&literal(lit));
    }
    script.text.push_str("(check-sat)\n");
    script.text
}

struct Script<'b, 'a> {
    book: &'b Book<'a>,
    text: String,
}

impl Script<'_, '_> {
    fn assert(&mut self, what: &str) {
        let _ = writeln!(self.text, "(assert {what})");
    }

    /// If all conditions hold, one event is before another.
    fn before(&mut self, conditions: &[String], first: &str, second: &str) {
        self.assert(&format!("(=> (and true {}) (< {first} {second}))", conditions.join(" ")));
    }

    fn declare(&mut self) {
        for var in 0..self.book.formula.meanings.len() {
            let _ = writeln!(self.text, "(declare-const b{var} Bool)");
        }
        for node in 0..self.book.nodes.len() {
            let _ = writeln!(self.text, "(declare-const i{node} Int)");
        }
        for write in 0..self.book.writes.len() {
            let _ = writeln!(self.text, "(declare-const w{write} Int)");
        }
    }

    fn clauses(&mut self) {
        for clause in &self.book.formula.told {
            self.assert(&any(clause.iter().map(|&lit| literal(lit))));
        }
        let needs_nothing = &self.book.sections.needs_nothing;
        for (at, list) in self.book.lists.iter().enumerate() {
            if needs_nothing.get(at) != Some(&true) {
                self.assert(&literal(!list.more));
            }
        }
        for entry in self.book.nodes.iter().filter_map(|node| node.entry.as_ref()) {
            self.assert(&literal(!entry.more));
        }
    }

    /// A thread's operations are in order, and its first comes after its fork.
    fn threads(&mut self) {
        for edge in &self.book.edges {
            for next in edge.key.target.into_iter().chain(edge.key.child).filter(|_| edge.known) {
                let conditions = [literal(edge.lit), self.happens(next)];
                self.before(&conditions, &issue(edge.node), &issue(next));
            }
        }
    }

    /// Where writes take effect: at once, or after their issue, in the order of their chains, and before what drains them.
    fn commits(&mut self) {
        for first in 0..self.book.writes.len() as WriteId {
            let (node, happens) = (self.node_of(first), vec![self.writes_happen(&[first])]);
            if !self.waits(first) {
                self.assert(&format!("(= {} {})", commit(first), issue(node)));
                continue;
            }
            self.before(&happens, &issue(node), &commit(first));
            for later in self.later(node) {
                if drains(self.book.operation(later)) {
                    self.before(&[happens.clone(), vec![self.happens(later)]].concat(), &commit(first), &issue(later));
                }
            }
            for second in self.waiting_after(first) {
                if self.chain(first) == self.chain(second) {
                    self.before(&[self.writes_happen(&[first, second])], &commit(first), &commit(second));
                }
            }
        }
    }

    fn barriers(&mut self) {
        let book = self.book;
        for barrier in 0..book.nodes.len() as NodeId {
            let at = &book.nodes[barrier as usize];
            if at.entry.is_none() || !is_barrier(self.book.memory, book.operation(barrier)) {
                continue;
            }
            let waits = |write: &WriteId| self.waits(*write) && self.thread_of(*write) == at.thread;
            let waiting: Vec<WriteId> = (0..self.book.writes.len() as WriteId).filter(waits).collect();
            let (earlier, later): (Vec<WriteId>, Vec<WriteId>) =
                waiting.into_iter().partition(|&write| self.depth(write) < at.depth);
            for &first in &earlier {
                for &second in &later {
                    let conditions = [self.writes_happen(&[first, second]), self.happens(barrier)];
                    self.before(&conditions, &commit(first), &commit(second));
                }
            }
        }
    }

    /// What is seen is the latest write that is in memory or is the reader's own.
    fn source(&mut self, source: Source) {
        let access = &self.book.accesses[source.access as usize];
        let lit = literal(source.lit);
        let Some(node) = access.node else { return self.last_source(source, access.cell) };
        if let Some(seen) = source.write.filter(|&seen| !self.is_own(seen, node)) {
            let conditions = [lit.clone(), self.happens(node)];
            self.before(&conditions, &commit(seen), &issue(node));
        }
        for other in self.others(source.access, source.write) {
            if self.node_of(other) == node {
                continue;
            }
            let hidden = source.write.map(|seen| format!("(< {} {})", commit(other), commit(seen)));
            let later = (!self.is_own(other, node)).then(|| format!("(< {} {})", issue(node), commit(other)));
            let holds = any(hidden.into_iter().chain(later));
            let happens = [self.writes_happen(&[other]), self.happens(node)].join(" ");
            self.assert(&format!("(=> (and {lit} {happens}) {holds})"));
        }
    }

    /// What is seen when all is over is the latest write of all.
    fn last_source(&mut self, source: Source, cell: u32) {
        let over = self.book.formula.meanings.iter().position(|&meaning| meaning == Meaning::Over);
        let over = over.map_or("true".to_string(), |var| format!("b{var}"));
        let others = (0..self.book.writes.len() as WriteId).filter(|&write| Some(write) != source.write);
        for other in others.filter(|&write| self.book.writes[write as usize].cell == cell).collect::<Vec<_>>() {
            let hidden = source.write.map(|seen| format!("(< {} {})", commit(other), commit(seen)));
            let conditions = [literal(source.lit), over.clone(), self.writes_happen(&[other])].join(" ");
            self.assert(&format!("(=> (and {conditions}) {})", any(hidden.into_iter())));
        }
    }

    /// No two writes to a cell take effect at once.
    fn writes(&mut self) {
        for first in 0..self.book.writes.len() as WriteId {
            for second in first + 1..self.book.writes.len() as WriteId {
                let same_cell = self.book.writes[first as usize].cell == self.book.writes[second as usize].cell;
                if same_cell && self.node_of(first) != self.node_of(second) {
                    self.assert(&format!("(not (= {} {}))", commit(first), commit(second)));
                }
            }
        }
    }

    fn meanings(&mut self) {
        for (var, &meaning) in self.book.formula.meanings.iter().enumerate() {
            match meaning {
                Meaning::Order(first, second) => {
                    let happen = self.writes_happen(&[first, second]);
                    self.before(&[format!("b{var}"), happen.clone()], &commit(first), &commit(second));
                    self.before(&[format!("(not b{var})"), happen], &commit(second), &commit(first));
                }
                Meaning::Late(write) => {
                    for node in self.book.entered() {
                        self.before(&[format!("b{var}"), self.happens(node)], &issue(node), &commit(write));
                    }
                }
                Meaning::AfterFree(write, free) => {
                    let by = self.book.edges[free as usize].node;
                    self.before(&[format!("b{var}")], &issue(by), &commit(write));
                }
                _ => {}
            }
        }
    }

    /// Sections of locks are apart.
    fn locks(&mut self) {
        for (cell, lock) in &self.book.sections.locks {
            self.assert(&literal(lock.lit));
            let takers: Vec<(WriteId, &[EdgeId])> = lock.takers().collect();
            for (at, &(first, givers)) in takers.iter().enumerate() {
                for &(second, other_givers) in &takers[at + 1..] {
                    if self.thread_of(first) == self.thread_of(second) {
                        continue;
                    }
                    let over = |givers: &[EdgeId], next: WriteId| self.given_back_before(*cell, givers, next);
                    let apart = any([over(givers, second), over(other_givers, first)].into_iter());
                    let happen = self.writes_happen(&[first, second]);
                    self.assert(&format!("(=> {happen} {apart})"));
                }
            }
        }
    }

    fn given_back_before(&self, cell: u32, givers: &[EdgeId], next: WriteId) -> String {
        any(givers.iter().map(|&giver| {
            let edge = &self.book.edges[giver as usize];
            let write = edge.writes.iter().find(|&&write| self.book.writes[write as usize].cell == cell);
            let write = write.expect("it gives the cell back");
            format!("(and {} (< {} {}))", literal(edge.lit), commit(*write), commit(next))
        }))
    }

    /// Other writes to the cell of an access.
    fn others(&self, access: AccessId, seen: Option<WriteId>) -> Vec<WriteId> {
        let cell = self.book.accesses[access as usize].cell;
        let other = |write: &WriteId| self.book.writes[*write as usize].cell == cell && Some(*write) != seen;
        (0..self.book.writes.len() as WriteId).filter(other).collect()
    }

    /// Whether a write is by a node's own thread and before it.
    fn is_own(&self, write: WriteId, node: NodeId) -> bool {
        let node = &self.book.nodes[node as usize];
        self.thread_of(write) == node.thread && self.depth(write) < node.depth
    }

    fn waits(&self, write: WriteId) -> bool {
        let operation = self.book.operation(self.node_of(write));
        is_buffered(self.book.memory, operation) && self.chain(write).is_some()
    }

    /// The chain of a write that goes to memory.
    fn chain(&self, write: WriteId) -> Option<Option<crate::base::Loc>> {
        match self.book.cells[self.book.writes[write as usize].cell as usize].cell {
            Cell::Memory(loc) => Some(commit_chain(self.book.memory, loc)),
            _ => None,
        }
    }

    fn waiting_after(&self, first: WriteId) -> Vec<WriteId> {
        let is_later = |write: &WriteId| {
            self.waits(*write)
                && self.thread_of(*write) == self.thread_of(first)
                && self.depth(*write) > self.depth(first)
        };
        (0..self.book.writes.len() as WriteId).filter(is_later).collect()
    }

    fn later(&self, node: NodeId) -> Vec<NodeId> {
        let this = &self.book.nodes[node as usize];
        let is_later = |other: &NodeId| {
            let other = &self.book.nodes[*other as usize];
            other.thread == this.thread && other.depth > this.depth
        };
        self.book.entered().into_iter().filter(is_later).collect()
    }

    fn node_of(&self, write: WriteId) -> NodeId {
        self.book.edges[self.book.writes[write as usize].edge as usize].node
    }

    fn thread_of(&self, write: WriteId) -> u32 {
        self.book.nodes[self.node_of(write) as usize].thread
    }

    fn depth(&self, write: WriteId) -> u32 {
        self.book.nodes[self.node_of(write) as usize].depth
    }

    fn writes_happen(&self, writes: &[WriteId]) -> String {
        let edges = writes.iter().map(|&write| self.book.writes[write as usize].edge);
        let literals: Vec<String> = edges.map(|edge| literal(self.book.edges[edge as usize].lit)).collect();
        format!("(and true {})", literals.join(" "))
    }

    /// The node's operation is performed.
    fn happens(&self, node: NodeId) -> String {
        let entry = self.book.nodes[node as usize].entry.as_ref();
        let edges = entry.map_or(&[][..], |entry| &entry.edges);
        any(edges.iter().map(|&edge| literal(self.book.edges[edge as usize].lit)))
    }
}

fn any(parts: impl Iterator<Item = String>) -> String {
    format!("(or false {})", parts.collect::<Vec<_>>().join(" "))
}

fn literal(lit: Lit) -> String {
    let var = lit.var().idx();
    if lit.sign() { format!("b{var}") } else { format!("(not b{var})") }
}

fn issue(node: NodeId) -> String {
    format!("i{node}")
}

fn commit(write: WriteId) -> String {
    format!("w{write}")
}
