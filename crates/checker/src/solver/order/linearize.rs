//! From orders that must hold to one order of all nodes, close to the execution that the problem came from.

use super::{Consistency, Order};
use crate::solver::precedence::Reasons;
use crate::solver::problem::{Lit, Node, Problem, WriteId};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Linearization got stuck: the read's current value would be replaced by the write.
struct Stuck {
    source: u32,
    write: WriteId,
}

/// Marks of tried orders: literals that no problem has.
fn mark(split: u32) -> Lit {
    Lit(u32::MAX - split)
}

impl Order<'_> {
    /// Finds an order. Requires that every literal has a truth value and has been noted.
    pub(crate) fn settle(&mut self) -> Consistency {
        self.n_splits = 0;
        debug_assert!(self.active_after_active(), "something inactive is before an active node");
        self.search()
    }

    fn active_after_active(&self) -> bool {
        let is_active = |node: Node| self.is_active(node).is_some();
        let chains = self.problem.chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| (pair[0], pair[1]));
        chains.chain(self.problem.edges.iter().copied()).all(|(from, to)| is_active(from) || !is_active(to))
    }

    fn search(&mut self) -> Consistency {
        let Err(stuck) = self.linearize() else { return Ok(()) };
        let source = self.problem.sources[stuck.source as usize];
        let read = self.problem.reads[source.read as usize].node;
        let seen = source.write.map(|write| self.problem.writes[write as usize].node);
        let write = self.problem.writes[stuck.write as usize];
        self.n_splits += 1;
        let marked = mark(self.n_splits);
        let alternatives = [Some((read, write.node)), seen.map(|seen| (write.node, seen))];
        let mut reasons: Reasons = smallvec![source.lit, write.active];
        for (from, to) in alternatives.into_iter().flatten() {
            let before = self.precedence.mark();
            let tried = self.precedence.arc(from, to, smallvec![marked]);
            let outcome = tried.and_then(|()| self.saturate(&|| false)).and_then(|()| self.search());
            self.precedence.go_back(before);
            let Err(why) = outcome else { return Ok(()) };
            if !why.contains(&marked) {
                return Err(why);
            }
            reasons.extend(why.into_iter().filter(|&lit| lit != marked));
        }
        reasons.sort_unstable();
        reasons.dedup();
        Err(reasons)
    }

    /// Lays the nodes down one after the other. Requires saturated orders.
    fn linearize(&mut self) -> Result<(), Stuck> {
        let problem = self.problem;
        let mut laid = Laid::new(self);
        let is_active: Vec<bool> = (0..problem.nodes.len() as Node)
            .map(|node| Some(node) != problem.last && self.is_active(node).is_some())
            .collect();
        let active = || (0..problem.nodes.len() as Node).filter(|&node| is_active[node as usize]);
        let mut n_open = vec![0; problem.nodes.len()];
        active().for_each(|node| self.precedence.successors(node).for_each(|next| n_open[next as usize] += 1));
        let priority = |node: Node| Reverse((problem.nodes[node as usize].hint, node));
        let mut ready: BinaryHeap<_> = active().filter(|&node| n_open[node as usize] == 0).map(priority).collect();
        let mut waiting = Vec::new();
        self.found.clear();
        loop {
            let Some(Reverse((hint, node))) = ready.pop() else {
                // Sections that hinder each other are laid down so that they overlap: whoever looks at the solution will see.
                let hindered = waiting.iter().position(|Reverse((_, node))| laid.allows(problem, *node));
                let Some(at) = hindered else { break };
                ready.push(waiting.swap_remove(at));
                laid.heeds_sections = false;
                continue;
            };
            if !laid.allows(problem, node) || !laid.is_free(self, node) {
                waiting.push(Reverse((hint, node)));
                continue;
            }
            self.found.push(node);
            laid.lay(self, node);
            for next in self.precedence.successors(node) {
                n_open[next as usize] -= 1;
                if n_open[next as usize] == 0 && is_active[next as usize] {
                    ready.push(priority(next));
                }
            }
            ready.extend(waiting.drain(..));
        }
        let hindrance = waiting.iter().find_map(|Reverse((_, node))| laid.hindrance(problem, *node));
        if let Some(stuck) = hindrance {
            return Err(stuck);
        }
        assert!(waiting.is_empty(), "a read waits only for writes that wait");
        self.found.extend(problem.last.filter(|&last| self.is_active(last).is_some()));
        Ok(())
    }
}

/// Cells and sections while nodes are laid down.
struct Laid {
    /// The current write of each cell.
    current: Vec<Option<WriteId>>,
    is_laid: Vec<bool>,
    /// True sources at each node, and by what they see.
    at_node: Vec<SmallVec<[u32; 2]>>,
    unread: Vec<SmallVec<[u32; 2]>>,
    /// Writes that happen at each node.
    writes: Vec<SmallVec<[WriteId; 2]>>,
    /// Sections that are taken, by where they begin; those that are held, by group.
    beginning: FxHashMap<Node, SmallVec<[u32; 2]>>,
    held: FxHashMap<u32, Vec<u32>>,
    heeds_sections: bool,
}

impl Laid {
    fn new(order: &Order<'_>) -> Laid {
        let problem = order.problem;
        let writes = order.writes_at.iter();
        let happening = |ids: &SmallVec<[WriteId; 2]>| ids.iter().copied().filter(|&id| order.happens(id)).collect();
        let mut beginning: FxHashMap<Node, SmallVec<[u32; 2]>> = FxHashMap::default();
        for (at, section) in problem.sections.iter().enumerate() {
            if order.taken(at as u32).is_some() {
                beginning.entry(section.begin).or_default().push(at as u32);
            }
        }
        Laid {
            current: vec![None; order.writes.len()],
            is_laid: vec![false; problem.nodes.len()],
            at_node: order.at_node.clone(),
            unread: order.seers.clone(),
            writes: writes.map(happening).collect(),
            beginning,
            held: FxHashMap::default(),
            heeds_sections: true,
        }
    }

    fn allows(&self, problem: &Problem, node: Node) -> bool {
        let can_read = self.at_node[node as usize].iter().all(|&at| {
            let source = problem.sources[at as usize];
            let read = problem.reads[source.read as usize];
            let is_early = source.own && !self.is_laid[problem.writes[source.write.unwrap() as usize].node as usize];
            is_early || self.current[read.cell as usize] == source.write
        });
        can_read && self.hindrance(problem, node).is_none()
    }

    /// A read elsewhere that still needs the value which a write at this node replaces.
    fn hindrance(&self, problem: &Problem, node: Node) -> Option<Stuck> {
        self.writes[node as usize].iter().find_map(|&write| {
            let cell = problem.writes[write as usize].cell;
            let seen = self.current[cell as usize].unwrap_or(problem.writes.len() as u32 + cell);
            let source = self.unread[seen as usize].iter().copied().find(|&at| {
                let reader = problem.reads[problem.sources[at as usize].read as usize].node;
                reader != node && !self.is_laid[reader as usize]
            });
            source.map(|source| Stuck { source, write })
        })
    }

    /// Whether nobody holds what a section that begins at the node needs.
    fn is_free(&self, order: &Order<'_>, node: Node) -> bool {
        let Some(beginning) = self.beginning.get(&node).filter(|_| self.heeds_sections) else { return true };
        beginning.iter().all(|&this| {
            let this = &order.problem.sections[this as usize];
            let mut held = self.held.get(&this.group).into_iter().flatten();
            held.all(|&other| this.shared && order.problem.sections[other as usize].shared)
        })
    }

    fn lay(&mut self, order: &Order<'_>, node: Node) {
        let problem = order.problem;
        self.is_laid[node as usize] = true;
        for &write in &self.writes[node as usize] {
            self.current[problem.writes[write as usize].cell as usize] = Some(write);
        }
        for ended in order.ending(node) {
            let group = problem.sections[ended as usize].group;
            self.held.entry(group).or_default().retain(|&held| held != ended);
        }
        for &begun in self.beginning.get(&node).into_iter().flatten() {
            self.held.entry(problem.sections[begun as usize].group).or_default().push(begun);
        }
    }
}
