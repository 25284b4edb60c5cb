//! How the book grows: from runs, and from asking threads where a value would lead them.

use super::effect;
use super::effect::{Cell, Effect, RUNNING, Test};
use super::local::At;
use super::{Access, AccessId, Book, Edge, EdgeId, EdgeKey, Entry, Meaning, NodeId, Wanted, Write, WriteId};
use crate::base::{FAILED, Loc, ThreadKey};
use crate::solver::Lit;
use crate::trace::Run;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

impl Book<'_> {
    /// Enters everything that happened in a run, unless it is over. Says whether anything was new.
    pub(crate) fn learn<T>(&mut self, run: &Run<T>, is_over: &dyn Fn() -> bool) -> bool {
        let n_unknown = (self.unknown.len(), self.edges.len());
        let values = effect::values_before(run);
        let mut roots: FxHashMap<ThreadKey, NodeId> = FxHashMap::default();
        self.references.begin();
        // Threads come one after the other here, and may see what one that comes later has left.
        let events = run.threads.iter().flat_map(|thread| &thread.events);
        self.left
            .extend(events.filter_map(|event| Some((event.version?, event.written.map_or(0, |written| written.1)))));
        roots.extend(self.threads[..self.n_initial].iter().map(|thread| (thread.key, thread.roots[0])));
        if self.locals.are_histories() {
            self.meet(run);
        }
        for (thread, values) in run.threads.iter().zip(values) {
            let mut node = roots[&thread.key];
            for (event, value) in thread.events.iter().zip(values) {
                if is_over() {
                    return true;
                }
                self.locals.note(node, At::of(event));
                self.enter(node, is_over);
                let place = &mut self.nodes[node as usize];
                place.hint = place.hint.min(event.at);
                self.references.note(node, &event.operation);
                self.see(node, event.result, value);
                if event.result == FAILED || event.operation.is_end() {
                    break;
                }
                if let Some(child) = event.operation.forked() {
                    roots.insert(child, self.root(node, child));
                }
                node = self.after(node, event.result);
            }
            if let Some(pending) = &thread.pending {
                self.locals.note(node, At::of(pending));
            }
            self.enter(node, is_over);
        }
        self.references.end();
        self.settle(is_over);
        n_unknown != (self.unknown.len(), self.edges.len())
    }

    /// Gives everything that a run came to its node, in the order in which it happened: whoever sees something comes after whoever has left it.
    fn meet<T>(&mut self, run: &Run<T>) {
        let events = run.threads.iter().enumerate().flat_map(|(thread, of)| of.events.iter().map(move |e| (thread, e)));
        let mut events: Vec<_> = events.collect();
        events.sort_unstable_by_key(|event| event.1.at);
        let mut nodes: FxHashMap<ThreadKey, NodeId> = FxHashMap::default();
        nodes.extend(self.threads[..self.n_initial].iter().map(|thread| (thread.key, thread.roots[0])));
        for (thread, event) in events {
            let key = run.threads[thread].key;
            let node = nodes[&key];
            self.locals.note(node, At::of(event));
            if let Some(child) = event.operation.forked() {
                nodes.insert(child, self.root(node, child));
            }
            if event.result != FAILED && !event.operation.is_end() {
                let local = self.locals.after(node, &event.operation, event.result);
                let next = self.node(self.nodes[node as usize].thread, local);
                nodes.insert(key, next);
            }
        }
    }

    /// Threads have made cells with these first values. Says whether that is what they always hold at first.
    pub(crate) fn note_created(&mut self, created: &[(Loc, i64)]) -> bool {
        created.iter().all(|&(loc, value)| *self.first.entry(loc).or_insert(value) == value)
    }

    /// Where a thread begins that is forked at a node.
    fn root(&mut self, node: NodeId, child: ThreadKey) -> NodeId {
        let number = self.thread(child);
        let local = self.locals.child(node, child);
        let root = self.node(number, local);
        let roots = &mut self.threads[number as usize].roots;
        if !roots.contains(&root) {
            roots.push(root);
        }
        root
    }

    /// A run performed the node's operation, with this result, when its lock or its count (if it has one) had this value.
    fn see(&mut self, node: NodeId, result: i64, value: i64) {
        let operation = self.operation(node);
        let is_end = result == FAILED || operation.is_end();
        let is_count = operation.count().is_some();
        let is_look = operation.is_read();
        self.nodes[node as usize].seen_last |= is_end;
        let decisive = self.entry(node).decisive;
        let read = decisive.and_then(|access| match self.cells[self.cell_of(access)].cell {
            Cell::Memory(_) if is_count => Some((access, value)),
            Cell::Memory(_) | Cell::Opaque(_) => Some((access, result)),
            Cell::Lock(_) => Some((access, value)),
            Cell::Guarded(_) if !is_look => Some((access, value)),
            _ => None,
        });
        match read.filter(|_| !is_end) {
            Some((access, value)) => {
                self.classify(access, value);
                let edges = self.accesses[access as usize].edges[&value].clone();
                for edge in edges {
                    self.edges[edge as usize].taken = true;
                    self.unsettled.push(edge);
                }
            }
            None => {
                let edges = self.entry(node).edges.clone();
                self.unsettled.extend(edges);
            }
        }
    }

    pub(crate) fn cell_of(&self, access: AccessId) -> usize {
        self.accesses[access as usize].cell as usize
    }

    /// The node that a result leads to.
    fn after(&mut self, node: NodeId, result: i64) -> NodeId {
        let entry = self.nodes[node as usize].entry.as_ref().expect("the node is in the book");
        let local = self.locals.after(node, &entry.at.operation, result);
        self.node(self.nodes[node as usize].thread, local)
    }

    /// Puts a node into the book, with all ways to go on from it, unless it is over.
    fn enter(&mut self, node: NodeId, is_over: &dyn Fn() -> bool) {
        if self.nodes[node as usize].entry.is_some() {
            return;
        }
        let reached = self.formula.var(Meaning::Follows);
        let more = self.formula.var(Meaning::More(u32::MAX));
        if self.is_start(node) {
            self.formula.clause([reached]);
        } else {
            self.formula.clause([!reached, more]);
        }
        let mut at = self.locals.at(node);
        // Two values of one cell cannot both be there: that is no condition.
        if at.awaiting.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            at.awaiting.clear();
        }
        self.nodes[node as usize].entry = Some(Entry {
            at,
            reached,
            more,
            edges: vec![],
            ladder: None,
            decisive: None,
            second: None,
            guards: vec![],
            changes: vec![],
        });
        self.await_changes(node);
        self.add_guards(node);
        self.add_ways_on(node, is_over);
        let incoming = self.nodes[node as usize].incoming.clone();
        self.unsettled.extend(incoming);
    }

    /// Whether a thread is here from the start.
    fn is_start(&self, node: NodeId) -> bool {
        (self.nodes[node as usize].thread as usize) < self.n_initial && self.is_root(node)
    }

    /// Whether a thread can begin here.
    pub(crate) fn is_root(&self, node: NodeId) -> bool {
        self.threads[self.nodes[node as usize].thread as usize].roots.contains(&node)
    }

    fn await_changes(&mut self, node: NodeId) {
        let own = self.operation(node).loc();
        for (loc, value) in self.entry(node).at.awaiting.clone() {
            let mut looks = vec![];
            if Some(loc) != own {
                looks.push(self.look(Some(node), self.cell_at(loc), Test::IsNot(value)));
            }
            // A cell that was freed shows nothing at all.
            if let Some(block) = loc.block().filter(|_| self.frees) {
                looks.push(self.look(Some(node), Cell::Freed(block), Test::Is(1)));
            }
            self.entry_mut(node).changes.extend(looks);
        }
    }

    /// A literal that says that a cell is found like this.
    pub(crate) fn look(&mut self, node: Option<NodeId>, cell: Cell, test: Test) -> Lit {
        let access = self.access(node, cell, false);
        let lit = self.formula.var(Meaning::Other);
        self.list(access, Wanted::Those(test), lit);
        lit
    }

    pub(crate) fn access(&mut self, node: Option<NodeId>, cell: Cell, decides: bool) -> AccessId {
        let (cell, access) = (self.cell(cell), self.accesses.len() as AccessId);
        self.accesses.push(Access { node, cell, decides, edges: FxHashMap::default() });
        self.cells[cell as usize].accesses.push(access);
        if let Some(node) = node {
            self.nodes[node as usize].accesses.push(access);
        }
        access
    }

    fn add_guards(&mut self, node: NodeId) {
        let at = &self.entry(node).at;
        let joins_all = at.operation.is_join_all();
        if let Some((cell, test)) = effect::guard(at, self.frees) {
            let guard = self.look(Some(node), cell, test);
            self.entry_mut(node).guards.push(guard);
            if let Cell::Freed(_) = cell {
                let access = self.access(Some(node), cell, false);
                let edge = self.edge(node, Effect::failure(), 0, true);
                self.list(access, Wanted::Those(Test::Is(1)), self.edges[edge as usize].lit);
            }
        }
        if joins_all {
            for key in self.threads.iter().map(|thread| thread.key).collect::<Vec<_>>() {
                self.guard_join_of_all(node, key);
            }
        }
    }

    /// A thread has become known: whoever waits for all waits for it too.
    pub(crate) fn guard_joins_of_all(&mut self, key: ThreadKey) {
        let waits = |node: &NodeId| {
            let entry = self.nodes[*node as usize].entry.as_ref();
            entry.is_some_and(|entry| entry.at.operation.is_join_all())
        };
        for node in (0..self.nodes.len() as NodeId).filter(waits).collect::<Vec<_>>() {
            self.guard_join_of_all(node, key);
        }
    }

    fn guard_join_of_all(&mut self, node: NodeId, key: ThreadKey) {
        if self.threads[self.nodes[node as usize].thread as usize].key == key {
            return;
        }
        let guard = self.look(Some(node), Cell::Thread(key), Test::IsNot(RUNNING));
        self.entry_mut(node).guards.push(guard);
        for edge in self.entry(node).edges.clone() {
            self.formula.clause([!self.edges[edge as usize].lit, guard]);
        }
    }

    /// The edge of an outcome.
    pub(crate) fn edge(&mut self, node: NodeId, outcome: Effect, value: i64, unchanged: bool) -> EdgeId {
        let operation = *self.operation(node);
        let goes_on = !outcome.fails && !operation.is_end();
        let target = goes_on.then(|| self.after(node, outcome.result.unwrap_or(value)));
        let child = operation.forked().filter(|_| goes_on).map(|child| self.root(node, child));
        let Effect { result, writes, wakes, fails, .. } = outcome;
        let key = EdgeKey { target, child, result, writes, wakes, fails, unchanged };
        let hash = |node: NodeId, key: &EdgeKey| FxBuildHasher.hash_one((node, key));
        let is_it = |&edge: &EdgeId| self.edges[edge as usize].node == node && self.edges[edge as usize].key == key;
        let this = hash(node, &key);
        if let Some(&edge) = self.edge_numbers.find(this, is_it) {
            return edge;
        }
        let edge = self.new_edge(node, key);
        let edges = &self.edges;
        self.edge_numbers.insert_unique(this, edge, |&edge| hash(edges[edge as usize].node, &edges[edge as usize].key));
        edge
    }

    fn new_edge(&mut self, node: NodeId, key: EdgeKey) -> EdgeId {
        let edge = self.edges.len() as EdgeId;
        let lit = self.formula.var(Meaning::Edge(edge));
        let entry = self.nodes[node as usize].entry.as_mut().expect("the node is in the book");
        self.formula.clause([!lit, entry.reached]);
        entry.edges.push(edge);
        if !key.fails {
            for &guard in &entry.guards {
                self.formula.clause([!lit, guard]);
            }
        }
        if key.unchanged && !entry.at.awaiting.is_empty() {
            self.formula.clause([&[!lit], entry.changes.as_slice()].concat());
        }
        // At most one edge is taken.
        if let Some(before) = entry.ladder {
            self.formula.clause([!lit, !before]);
        }
        let ladder = self.formula.var(Meaning::Follows);
        self.formula.clause([!lit, ladder]);
        if let Some(before) = entry.ladder.replace(ladder) {
            self.formula.clause([!before, ladder]);
        }
        for next in key.target.into_iter().chain(key.child) {
            self.nodes[next as usize].incoming.push(edge);
        }
        let writes = key.writes.clone().into_iter().map(|(cell, value)| {
            let cell = self.cell(cell);
            self.writes.push(Write { edge, cell, value });
            self.writes.len() as WriteId - 1
        });
        let writes = writes.collect();
        self.edges.push(Edge { node, lit, key, list: None, writes, known: false, taken: false });
        self.unknown.insert(edge);
        self.unsettled.push(edge);
        self.sections.up_to_date = false;
        edge
    }

    /// Sees which edges have become known, and what follows from that, unless it is over.
    fn settle(&mut self, is_over: &dyn Fn() -> bool) {
        while let Some(edge) = self.unsettled.pop().filter(|_| !is_over()) {
            if !self.edges[edge as usize].known && self.leads_to_what_is_known(edge) {
                self.make_known(edge);
            }
        }
    }

    fn leads_to_what_is_known(&self, edge: EdgeId) -> bool {
        let edge = &self.edges[edge as usize];
        let nexts = edge.key.target.into_iter().chain(edge.key.child);
        if edge.key.target.is_none() {
            return self.nodes[edge.node as usize].seen_last;
        }
        // A value that nobody has written yet must be seen to be possible, or values would be invented without end.
        let is_old = |&write: &WriteId| {
            let write = &self.writes[write as usize];
            let cell = &self.cells[write.cell as usize];
            !matches!(cell.cell, Cell::Memory(_) | Cell::Opaque(_) | Cell::Lock(_) | Cell::Guarded(_))
                || cell.values.iter().any(|value| value.0 == write.value)
        };
        let needs_no_value = self.entry(edge.node).decisive.is_none();
        // Threads that share a lock may all do so at once.
        let are_few =
            |write: &WriteId| effect::readers(self.writes[*write as usize].value) <= self.threads.len() as i64;
        let is_said = self.locals.are_histories()
            && match effect::is_told_by_result(self.operation(edge.node)) {
                true => true,
                false => effect::shares(self.operation(edge.node)) && edge.writes.iter().all(are_few),
            };
        nexts.into_iter().all(|node| self.nodes[node as usize].entry.is_some())
            && (edge.taken || needs_no_value || is_said || edge.writes.iter().all(is_old))
    }

    fn make_known(&mut self, edge: EdgeId) {
        let this = &mut self.edges[edge as usize];
        this.known = true;
        self.unknown.remove(&edge);
        self.sections.up_to_date = false;
        let (lit, from, target, writes) = (this.lit, this.node, this.key.target, this.writes.clone());
        for next in this.key.target.into_iter().chain(this.key.child) {
            let more = self.formula.var(Meaning::More(u32::MAX));
            let entry = self.entry_mut(next);
            let before = std::mem::replace(&mut entry.more, more);
            let reached = entry.reached;
            self.formula.clause([!lit, reached]);
            self.formula.clause([!before, lit, more]);
            self.deepen(next, self.nodes[from as usize].depth + 1);
        }
        if let Some(target) = target {
            self.lead_on(from, target);
        }
        for write in writes {
            self.publish(write);
        }
    }

    fn deepen(&mut self, node: NodeId, depth: u32) {
        let mut work = vec![(node, depth)];
        while let Some((node, depth)) = work.pop() {
            if self.nodes[node as usize].depth >= depth {
                continue;
            }
            self.nodes[node as usize].depth = depth;
            let Some(entry) = &self.nodes[node as usize].entry else { continue };
            for &edge in entry.edges.iter().filter(|&&edge| self.edges[edge as usize].known) {
                let key = &self.edges[edge as usize].key;
                work.extend(key.target.into_iter().chain(key.child).map(|next| (next, depth + 1)));
            }
        }
    }

    /// From now on others can see the write.
    fn publish(&mut self, write: WriteId) {
        let Write { cell, value, .. } = self.writes[write as usize];
        let values = &mut self.cells[cell as usize].values;
        match values.iter_mut().find(|known| known.0 == value) {
            Some(known) => known.1.push(write),
            None => {
                values.push((value, vec![write]));
                for access in self.cells[cell as usize].accesses.clone() {
                    self.reconsider(access, value);
                }
            }
        }
    }
}
