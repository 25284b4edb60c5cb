//! From orders that must hold to one order of all nodes, close to the execution that the problem came from.

use super::Order;
use crate::solver::problem::{Node, Problem, WriteId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Linearization got stuck: the read's current value would be replaced by the write.
pub(super) struct Stuck {
    pub(super) source: u32,
    pub(super) write: WriteId,
}

impl Order<'_> {
    /// Lays the nodes down one after the other. Requires saturated orders.
    pub(super) fn linearize(&mut self) -> Result<(), Stuck> {
        let problem = self.problem;
        let mut cells = Cells::new(self);
        self.in_degree.fill(0);
        for at in 0..self.topological.len() {
            self.for_each_successor(self.topological[at], |in_degree, to| in_degree[to as usize] += 1);
        }
        let priority = |node: Node| Reverse((problem.nodes[node as usize].hint, node));
        let free = self.topological.iter().copied().filter(|&node| self.in_degree[node as usize] == 0);
        let mut ready: BinaryHeap<_> = free.map(priority).collect();
        let mut waiting = Vec::new();
        self.found.clear();
        while let Some(Reverse((hint, node))) = ready.pop() {
            if !cells.allows(problem, node) {
                waiting.push(Reverse((hint, node)));
                continue;
            }
            self.found.push(node);
            cells.place(problem, node);
            self.for_each_successor(node, |in_degree, to| {
                in_degree[to as usize] -= 1;
                if in_degree[to as usize] == 0 {
                    ready.push(priority(to));
                }
            });
            ready.extend(waiting.drain(..));
        }
        if waiting.is_empty() {
            return Ok(());
        }
        let hindered = waiting.iter().find_map(|Reverse((_, node))| cells.hindrance(problem, *node));
        Err(hindered.expect("a read waits only for writes that wait"))
    }
}

/// The cells while nodes are laid down.
struct Cells {
    /// The current write of each cell.
    current: Vec<Option<WriteId>>,
    placed: Vec<bool>,
    /// True sources at each node, and by what they see (the initial value of cell `c` is at `n_writes + c`).
    at_node: Vec<Vec<u32>>,
    unread: Vec<Vec<u32>>,
    /// Writes that happen at each node.
    writes: Vec<Vec<WriteId>>,
}

impl Cells {
    fn new(order: &Order<'_>) -> Cells {
        let problem = order.problem;
        let n_cells = order.writes.len();
        let mut cells = Cells {
            current: vec![None; n_cells],
            placed: vec![false; problem.nodes.len()],
            at_node: vec![vec![]; problem.nodes.len()],
            unread: vec![vec![]; problem.writes.len() + n_cells],
            writes: vec![vec![]; problem.nodes.len()],
        };
        for &at in &order.sources {
            let source = problem.sources[at as usize];
            let read = problem.reads[source.read as usize];
            cells.at_node[read.node as usize].push(at);
            let seen = cells.seen(problem, source.write, read.cell);
            cells.unread[seen].push(at);
        }
        for (id, write) in problem.writes.iter().enumerate() {
            if order.happens(id as WriteId) {
                cells.writes[write.node as usize].push(id as WriteId);
            }
        }
        cells
    }

    fn seen(&self, problem: &Problem, write: Option<WriteId>, cell: u32) -> usize {
        write.map_or(problem.writes.len() + cell as usize, |write| write as usize)
    }

    fn allows(&self, problem: &Problem, node: Node) -> bool {
        let can_read = self.at_node[node as usize].iter().all(|&at| {
            let source = problem.sources[at as usize];
            let read = problem.reads[source.read as usize];
            let is_early = source.own && !self.placed[problem.writes[source.write.unwrap() as usize].node as usize];
            is_early || self.current[read.cell as usize] == source.write
        });
        can_read && self.hindrance(problem, node).is_none()
    }

    /// A read elsewhere that still needs the value which a write at this node replaces.
    fn hindrance(&self, problem: &Problem, node: Node) -> Option<Stuck> {
        self.writes[node as usize].iter().find_map(|&write| {
            let cell = problem.writes[write as usize].cell;
            let unread = &self.unread[self.seen(problem, self.current[cell as usize], cell)];
            let source = unread.iter().copied().find(|&at| {
                let reader = problem.reads[problem.sources[at as usize].read as usize].node;
                reader != node && !self.placed[reader as usize]
            });
            source.map(|source| Stuck { source, write })
        })
    }

    fn place(&mut self, problem: &Problem, node: Node) {
        self.placed[node as usize] = true;
        for &write in &self.writes[node as usize] {
            self.current[problem.writes[write as usize].cell as usize] = Some(write);
        }
    }
}
