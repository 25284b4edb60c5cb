//! How the book grows: from runs, and from asking threads where a value would lead them.

use super::book::{
    Access, AccessId, Book, Edge, EdgeId, EdgeKey, Entry, LocalState, Meaning, NodeId, Wanted, Write, WriteId,
};
use super::effect::{self, Cell, Outcome, RUNNING, Test, held_after};
use crate::execution::{Operation, Subject, ThreadKey};
use crate::program::Loc;
use crate::trace::{FAILED, Run};
use batsat::Lit;
use rustc_hash::FxHashMap;

impl Book<'_> {
    /// Enters everything that happened in a run. Says whether anything was new.
    pub(super) fn learn(&mut self, run: &Run) -> bool {
        let n_unknown = (self.unknown.len(), self.edges.len());
        let locks = effect::lock_values(run);
        for (thread, locks) in run.threads.iter().zip(locks) {
            let number = self.thread(thread.key);
            let first = thread.events.first().or(thread.pending.as_ref());
            let Some(first) = first.and_then(|event| event.before.clone()) else { continue };
            let state = LocalState::start(first);
            let mut node = self.node(number, state);
            for (event, lock) in thread.events.iter().zip(locks) {
                self.enter(node);
                let place = &mut self.nodes[node as usize];
                place.hint = place.hint.min(event.at);
                self.see(node, event.result, lock);
                if event.result == FAILED || event.operation == Operation::End {
                    break;
                }
                node = self.after(node, event.result);
            }
            self.enter(node);
        }
        self.settle();
        n_unknown != (self.unknown.len(), self.edges.len())
    }

    /// A run performed the node's operation, with this result, when its lock (if it has one) had this value.
    fn see(&mut self, node: NodeId, result: i64, lock: i64) {
        let is_end = result == FAILED || self.nodes[node as usize].operation == Operation::End;
        self.nodes[node as usize].seen_last |= is_end;
        let decisive = self.entry(node).decisive;
        let read = decisive.and_then(|access| match self.cells[self.cell_of(access)].cell {
            Cell::Memory(_) => Some((access, result)),
            Cell::Lock(_) => Some((access, lock)),
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

    fn cell_of(&self, access: AccessId) -> usize {
        self.accesses[access as usize].cell as usize
    }

    /// The node that a result leads to.
    fn after(&mut self, node: NodeId, result: i64) -> NodeId {
        let at = &self.nodes[node as usize];
        let mut state = at.state.clone();
        self.subject.resume_counting(&mut state.thread, result, &mut state.laps);
        state.held = held_after(&at.operation, result, &state.held);
        let (key, pc) = (self.threads[at.thread as usize].key, self.subject.site(&state.thread).1);
        state.own = self.owners.after(key, &at.operation, result, &state.own, pc);
        self.node(at.thread, state)
    }

    /// Puts a node into the book, with all ways to go on from it. Gives the literal that says that it is reached.
    pub(super) fn enter(&mut self, node: NodeId) -> Lit {
        if let Some(entry) = &self.nodes[node as usize].entry {
            return entry.reached;
        }
        let reached = self.formula.var(Meaning::Follows);
        let more = self.formula.var(Meaning::More(u32::MAX));
        if self.is_start(node) {
            self.formula.clause([reached]);
        } else {
            self.formula.clause([!reached, more]);
        }
        let awaiting = self.awaiting(node);
        self.nodes[node as usize].entry = Some(Entry {
            reached,
            more,
            edges: vec![],
            ladder: None,
            decisive: None,
            guards: vec![],
            changes: vec![],
            awaiting,
        });
        self.await_changes(node);
        self.add_guards(node);
        self.add_ways_on(node);
        let incoming = self.nodes[node as usize].incoming.clone();
        self.unsettled.extend(incoming);
        reached
    }

    /// Whether a thread is here from the start.
    fn is_start(&self, node: NodeId) -> bool {
        (self.nodes[node as usize].thread as usize) < self.n_initial && self.is_root(node)
    }

    /// Whether a thread can begin here.
    pub(super) fn is_root(&self, node: NodeId) -> bool {
        self.threads[self.nodes[node as usize].thread as usize].roots.contains(&node)
    }

    /// What the thread waits for, unless that is no condition: two values of one cell cannot both be there.
    fn awaiting(&self, node: NodeId) -> Vec<(Loc, i64)> {
        let awaiting = self.subject.awaiting(&self.nodes[node as usize].state.thread);
        let twice = awaiting.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if twice { vec![] } else { awaiting.to_vec() }
    }

    fn await_changes(&mut self, node: NodeId) {
        let own = self.nodes[node as usize].operation.loc();
        for (loc, value) in self.entry(node).awaiting.clone() {
            let mut looks = vec![];
            if Some(loc) != own {
                looks.push(self.look(Some(node), Cell::Memory(loc), Test::IsNot(value)));
            }
            // A cell that was freed shows nothing at all.
            if let Some(block) = loc.block().filter(|_| self.frees) {
                looks.push(self.look(Some(node), Cell::Freed(block), Test::Is(1)));
            }
            self.entry_mut(node).changes.extend(looks);
        }
    }

    /// A literal that says that a cell is found like this.
    pub(super) fn look(&mut self, node: Option<NodeId>, cell: Cell, test: Test) -> Lit {
        let access = self.access(node, cell, false);
        let lit = self.formula.var(Meaning::Other);
        self.list(access, Wanted::Those(test), lit);
        lit
    }

    pub(super) fn access(&mut self, node: Option<NodeId>, cell: Cell, decides: bool) -> AccessId {
        let (cell, access) = (self.cell(cell), self.accesses.len() as AccessId);
        self.accesses.push(Access { node, cell, decides, edges: FxHashMap::default() });
        self.cells[cell as usize].accesses.push(access);
        if let Some(node) = node {
            self.nodes[node as usize].accesses.push(access);
        }
        access
    }

    fn add_guards(&mut self, node: NodeId) {
        let operation = self.nodes[node as usize].operation.clone();
        if let Some((cell, test)) = effect::guard(&operation, self.frees) {
            let guard = self.look(Some(node), cell, test);
            self.entry_mut(node).guards.push(guard);
            if let Cell::Freed(_) = cell {
                let access = self.access(Some(node), cell, false);
                let edge = self.edge(node, Outcome::failure(), 0, true);
                self.list(access, Wanted::Those(Test::Is(1)), self.edges[edge as usize].lit);
            }
        }
        if operation == Operation::JoinAll {
            for key in self.threads.iter().map(|thread| thread.key).collect::<Vec<_>>() {
                self.guard_join_of_all(node, key);
            }
        }
    }

    /// A thread has become known: whoever waits for all waits for it too.
    pub(super) fn guard_joins_of_all(&mut self, key: ThreadKey) {
        let waits = |node: &NodeId| {
            let node = &self.nodes[*node as usize];
            node.operation == Operation::JoinAll && node.entry.is_some()
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

    fn add_ways_on(&mut self, node: NodeId) {
        let place = &self.nodes[node as usize];
        // A place that does not exist: the thread fails, whatever there is elsewhere.
        let cells = self.subject.program().cells.len();
        if place.operation.loc().and_then(Loc::as_global).is_some_and(|index| index >= cells) {
            self.edge(node, Outcome::failure(), 0, true);
            return;
        }
        if let Some(value) = self.own_value(node) {
            let unchanged = self.is_unchanged(node, value);
            for outcome in self.outcomes(node, value) {
                self.edge(node, Outcome { result: Some(value), ..outcome }, value, unchanged);
            }
            return;
        }
        match effect::decisive(&place.operation, &place.state.held) {
            Some(cell) => {
                let access = self.access(Some(node), cell, true);
                self.entry_mut(node).decisive = Some(access);
                let values: Vec<i64> = self.cells[self.cell_of(access)].values.iter().map(|v| v.0).collect();
                for value in values {
                    self.classify(access, value);
                }
            }
            None => {
                for outcome in self.outcomes(node, 0) {
                    self.edge(node, outcome, 0, true);
                }
            }
        }
    }

    /// What the node's operation reads, if nobody else can have written it.
    fn own_value(&self, node: NodeId) -> Option<i64> {
        let place = &self.nodes[node as usize];
        let reads = matches!(place.operation, Operation::Read { .. } | Operation::Rmw { .. } | Operation::Cas { .. });
        let loc = place.operation.loc().filter(|_| reads)?;
        self.owners.value(self.threads[place.thread as usize].key, loc, &place.state.own)
    }

    pub(super) fn outcomes(&mut self, node: NodeId, value: i64) -> Vec<Outcome> {
        let place = &self.nodes[node as usize];
        let me = self.threads[place.thread as usize].key;
        effect::outcomes(&place.operation, me, &place.state.held, value, &mut self.waiters)
    }

    /// Finds out where a value leads the thread that reads it.
    fn classify(&mut self, access: AccessId, value: i64) {
        if !self.accesses[access as usize].decides || self.accesses[access as usize].edges.contains_key(&value) {
            return;
        }
        let node = self.accesses[access as usize].node.expect("operations decide");
        let unchanged = self.is_unchanged(node, value);
        let outcomes = self.outcomes(node, value);
        let edges = outcomes.into_iter().map(|outcome| self.edge(node, outcome, value, unchanged));
        let edges: Vec<EdgeId> = edges.collect();
        self.accesses[access as usize].edges.insert(value, edges.clone());
        for edge in edges {
            match self.edges[edge as usize].list {
                Some(list) => {
                    if let Wanted::These(values) = &mut self.lists[list as usize].values {
                        values.push(value);
                    }
                    self.sections.up_to_date = false;
                }
                None => {
                    let list = self.list(access, Wanted::These(vec![value]), self.edges[edge as usize].lit);
                    self.edges[edge as usize].list = Some(list);
                }
            }
        }
    }

    /// Whether a thread that waits for a change finds none in the cell that its operation reads.
    fn is_unchanged(&self, node: NodeId, value: i64) -> bool {
        let own = self.nodes[node as usize].operation.loc();
        let awaited = self.entry(node).awaiting.iter().find(|cell| Some(cell.0) == own);
        awaited.is_none_or(|cell| cell.1 == value)
    }

    /// The edge of an outcome.
    fn edge(&mut self, node: NodeId, outcome: Outcome, value: i64, unchanged: bool) -> EdgeId {
        let operation = self.nodes[node as usize].operation.clone();
        let goes_on = !outcome.fails && operation != Operation::End;
        let target = goes_on.then(|| self.after(node, outcome.result.unwrap_or(value)));
        let child = match operation {
            Operation::Fork { child } if goes_on => {
                let thread = self.subject.fork(&self.nodes[node as usize].state.thread);
                let number = self.thread(child);
                let root = self.node(number, LocalState::start(thread));
                let roots = &mut self.threads[number as usize].roots;
                if !roots.contains(&root) {
                    roots.push(root);
                }
                Some(root)
            }
            _ => None,
        };
        let Outcome { result, writes, wakes, fails } = outcome;
        let key = EdgeKey { target, child, result, writes, wakes, fails, unchanged };
        let known = self.entry(node).edges.iter().find(|&&edge| self.edges[edge as usize].key == key);
        if let Some(&edge) = known {
            return edge;
        }
        self.new_edge(node, key)
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
        if key.unchanged && !entry.awaiting.is_empty() {
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

    /// Sees which edges have become known, and what follows from that.
    pub(super) fn settle(&mut self) {
        while let Some(edge) = self.unsettled.pop() {
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
            !matches!(cell.cell, Cell::Memory(_) | Cell::Lock(_))
                || cell.values.iter().any(|value| value.0 == write.value)
        };
        let needs_no_value = self.entry(edge.node).decisive.is_none();
        nexts.into_iter().all(|node| self.nodes[node as usize].entry.is_some())
            && (edge.taken || needs_no_value || edge.writes.iter().all(is_old))
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
                    self.classify(access, value);
                }
            }
        }
    }
}
