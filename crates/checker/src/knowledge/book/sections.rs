//! Cells that are used as locks, whoever made them: a mutex, or a location that is taken by compare-and-swap and given back by a store.
//!
//! A cell is a lock if every write to it in the book *takes* it (reads the initial value and writes another, in a thread that cannot have it already), *gives it back* (writes the initial value, in a thread whose last such
//! write has taken it, on every way to there), or *keeps* it as it is (reads another value and writes another). By induction over the order of the writes, the cell has
//! another value than the initial one if and only if there is exactly one thread whose last write, but for those that keep it, has taken it. So
//! *sections*, from taking to giving back, are apart: of two, one is over before the other begins. The ordering may conclude that at once (`ordering/exclude.rs`); it follows
//! from sources as well, but only by an induction over all sections, and a core that has to find it for itself does not come to an end.
//!
//! New writes and new ways can break the rule or change who gives back what. So every conclusion has a reason that says "this is how the cell is used", a literal
//! that questions assume for as long as it is true.

use super::effect::Cell;
use super::{Book, EdgeId, Meaning, NodeId, Wanted, WriteId};
use crate::knowledge::causality::is_buffered;
use crate::solver::Lit;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Writes that can have taken a cell.
type Takers = SmallVec<[WriteId; 2]>;

/// The locks that there are in a book.
#[derive(Default)]
pub(crate) struct Sections {
    /// For each cell that is one: how it is used.
    pub(crate) locks: BTreeMap<u32, Lock>,
    /// For each list whether it is about taking a lock of which it is known who gives it back: that is possible whenever nobody holds it, and the ordering sees to that.
    pub(crate) needs_nothing: Vec<bool>,
    /// For each node, the cells that its thread holds there, and who can have taken them and cannot have been followed by another.
    pub(crate) held: Vec<SmallVec<[(u32, Takers); 1]>>,
    /// Nothing has been added to the book since.
    pub(crate) up_to_date: bool,
}

pub(crate) struct Lock {
    /// "This is how the cell is used."
    pub(crate) lit: Lit,
    usage: Usage,
    /// For each write that takes the cell: "it is given back".
    pub(crate) given_back: FxHashMap<WriteId, Lit>,
    /// Whatever a thread stores while it holds the cell is in memory before it gives it back.
    pub(crate) drains: bool,
}

impl Lock {
    /// The writes that take the lock, each with the edges that give it back next.
    pub(crate) fn takers(&self) -> impl Iterator<Item = (WriteId, &[EdgeId])> {
        self.usage.takers.iter().map(|(&taker, edges)| (taker, edges.as_slice()))
    }
}

/// How a cell is used.
#[derive(Default, PartialEq, Eq)]
struct Usage {
    /// The writes that take the cell, each with the edges that give it back next.
    takers: BTreeMap<WriteId, Vec<EdgeId>>,
    held: BTreeMap<NodeId, Takers>,
    /// Wherever the cell is given back, the place says who can have taken it last, and of those that have their place there is one. Otherwise the ordering keeps only some sections apart.
    is_told_by_place: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Takes,
    GivesBack,
    Keeps,
}

/// Who can hold a cell when its thread is at a node.
#[derive(Clone, Default)]
struct Holding {
    nobody: bool,
    takers: Takers,
}

impl Book<'_> {
    /// Finds out which cells are locks now.
    pub(crate) fn find_sections(&mut self) {
        let all_nodes = self.sections.held.len() == self.nodes.len();
        if std::mem::replace(&mut self.sections.up_to_date, true) && all_nodes {
            return;
        }
        let mut found = self.usages();
        for (cell, lock) in std::mem::take(&mut self.sections.locks) {
            match found.remove(&cell) {
                Some(usage) if usage == lock.usage => drop(self.sections.locks.insert(cell, lock)),
                usage => {
                    self.formula.clause([!lock.lit]);
                    found.extend(usage.map(|usage| (cell, usage)));
                }
            }
        }
        for (cell, usage) in found {
            let lock = self.lock(cell, usage);
            self.sections.locks.insert(cell, lock);
        }
        self.sections.needs_nothing = vec![false; self.lists.len()];
        let told = self.sections.locks.values().filter(|lock| lock.usage.is_told_by_place);
        for &taker in told.flat_map(|lock| lock.usage.takers.keys()) {
            let write = &self.writes[taker as usize];
            let list = self.edges[write.edge as usize].list;
            let is_cell = |list: &u32| self.accesses[self.lists[*list as usize].access as usize].cell == write.cell;
            if let Some(list) = list.filter(is_cell) {
                self.sections.needs_nothing[list as usize] = true;
            }
        }
        self.sections.held = vec![SmallVec::new(); self.nodes.len()];
        for (&cell, lock) in &self.sections.locks {
            for (&node, takers) in &lock.usage.held {
                self.sections.held[node as usize].push((cell, takers.clone()));
            }
        }
    }

    fn lock(&mut self, cell: u32, usage: Usage) -> Lock {
        let lit = self.formula.var(Meaning::Lock(cell));
        let mut given_back = FxHashMap::default();
        let mut drains = true;
        for (&taker, edges) in &usage.takers {
            let is = self.formula.var(Meaning::GivenBack);
            let by = edges.iter().map(|&edge| self.edges[edge as usize].lit);
            let clause: Vec<Lit> = [!lit, !is].into_iter().chain(by).collect();
            self.formula.clause(clause);
            given_back.insert(taker, is);
            let operation = |edge: &EdgeId| self.operation(self.edges[*edge as usize].node);
            drains &= !edges.iter().any(|edge| is_buffered(self.memory, operation(edge)));
        }
        Lock { lit, usage, given_back, drains }
    }

    /// How each cell that is a lock is used, if several threads do.
    fn usages(&self) -> BTreeMap<u32, Usage> {
        let mut kinds: Vec<Option<FxHashMap<WriteId, Kind>>> = vec![Some(FxHashMap::default()); self.cells.len()];
        for (number, write) in self.writes.iter().enumerate() {
            let kind = self.kind(number as WriteId);
            let of_cell = &mut kinds[write.cell as usize];
            match (of_cell.as_mut(), kind) {
                (Some(of_cell), Some(kind)) => drop(of_cell.insert(number as WriteId, kind)),
                _ => *of_cell = None,
            }
        }
        let locks = kinds.into_iter().enumerate().filter_map(|(cell, kinds)| Some((cell as u32, kinds?)));
        let locks: Vec<_> = locks.filter(|(_, kinds)| self.is_taken_by_several(kinds)).collect();
        if locks.is_empty() {
            return BTreeMap::new();
        }
        let mut nodes = self.entered();
        nodes.sort_by_key(|&node| self.nodes[node as usize].depth);
        locks.into_iter().filter_map(|(cell, kinds)| Some((cell, self.usage(cell, &kinds, &nodes)?))).collect()
    }

    fn is_taken_by_several(&self, kinds: &FxHashMap<WriteId, Kind>) -> bool {
        let takers = kinds.iter().filter(|kind| *kind.1 == Kind::Takes);
        let mut threads = takers.map(|(&write, _)| self.nodes[self.node_of(write) as usize].thread);
        let first = threads.next();
        threads.any(|thread| Some(thread) != first)
    }

    fn node_of(&self, write: WriteId) -> NodeId {
        self.edges[self.writes[write as usize].edge as usize].node
    }

    /// What a write does, if its cell is a lock. Nothing if it cannot be one.
    fn kind(&self, write: WriteId) -> Option<Kind> {
        let write = &self.writes[write as usize];
        let free = self.cells[write.cell as usize].initial;
        if write.value == free {
            return Some(Kind::GivesBack);
        }
        let edge = &self.edges[write.edge as usize];
        let operation = self.operation(edge.node);
        // Who waits for a notification gives the lock back in the middle, and what the sections mean for condition variables the ordering does not know.
        if operation.reacquired().is_some() && matches!(self.cells[write.cell as usize].cell, Cell::Lock(_)) {
            return None;
        }
        let list = edge.list.map(|list| &self.lists[list as usize])?;
        let Wanted::These(values) = &list.values else { return None };
        if self.accesses[list.access as usize].cell != write.cell {
            return None;
        }
        match values.iter().filter(|&&value| value == free).count() {
            0 => Some(Kind::Keeps),
            n if n == values.len() => Some(Kind::Takes),
            _ => None,
        }
    }

    /// How a cell is used. Nothing if it is given back by somebody who may not have it, or taken by somebody who may have it already: nobody
    /// else would keep them from it. Requires that nodes are in order.
    fn usage(&self, cell: u32, kinds: &FxHashMap<WriteId, Kind>, nodes: &[NodeId]) -> Option<Usage> {
        let mut usage = Usage { is_told_by_place: true, ..Usage::default() };
        usage.takers.extend(kinds.iter().filter(|kind| *kind.1 == Kind::Takes).map(|kind| (*kind.0, vec![])));
        let mut holdings: Vec<Holding> = vec![Holding::default(); self.nodes.len()];
        for &node in nodes {
            let holding = self.holding(node, cell, kinds, &holdings);
            let is_last = |taker: &WriteId| self.is_last(*taker, &holding.takers);
            for &edge in &self.entry(node).edges {
                let does =
                    |kind: Kind| self.edges[edge as usize].writes.iter().any(|write| kinds.get(write) == Some(&kind));
                if does(Kind::Takes) && !holding.takers.is_empty() {
                    return None;
                }
                if does(Kind::GivesBack) {
                    if holding.nobody || holding.takers.is_empty() {
                        return None;
                    }
                    usage.is_told_by_place &= holding.takers.iter().all(is_last);
                    for taker in &holding.takers {
                        usage.takers.get_mut(taker).expect("it takes").push(edge);
                    }
                }
            }
            if !holding.nobody {
                let takers: Takers = holding.takers.iter().copied().filter(is_last).collect();
                if !takers.is_empty() {
                    usage.held.insert(node, takers);
                }
            }
            holdings[node as usize] = holding;
        }
        Some(usage)
    }

    fn holding(&self, node: NodeId, cell: u32, kinds: &FxHashMap<WriteId, Kind>, holdings: &[Holding]) -> Holding {
        let mut holding = Holding { nobody: self.is_root(node), takers: Takers::new() };
        for &edge in &self.nodes[node as usize].incoming {
            let edge = &self.edges[edge as usize];
            if !edge.known || edge.key.target != Some(node) {
                continue;
            }
            let writes = edge.writes.iter().filter(|&&write| self.writes[write as usize].cell == cell);
            let last = writes.rev().find(|write| kinds[write] != Kind::Keeps);
            match last {
                Some(write) if kinds[write] == Kind::Takes => holding.takers.push(*write),
                Some(_) => holding.nobody = true,
                None => {
                    let before = &holdings[edge.node as usize];
                    holding.nobody |= before.nobody;
                    holding.takers.extend_from_slice(&before.takers);
                }
            }
        }
        holding.takers.sort_unstable();
        holding.takers.dedup();
        holding
    }

    /// Whether none of the others can have come after a write on the way to where all of them can have been the last. What counts is where the write leads, not what else its thread could
    /// have done there: whoever fails to take a lock tries again, and that is another write.
    fn is_last(&self, taker: WriteId, takers: &Takers) -> bool {
        let edge = &self.edges[self.writes[taker as usize].edge as usize];
        let comes_later = |after: NodeId, other: NodeId| after == other || !self.never_leads_to(after, other);
        let mut others = takers.iter().filter(|&&other| other != taker).map(|&other| self.node_of(other));
        edge.key.target.is_none_or(|after| !others.any(|other| comes_later(after, other)))
    }
}
