//! One order of everything that happens, close to the executions in which it was first seen.

use super::{Happening, NONE, Ordered};
use crate::knowledge::book::WriteId;
use crate::solver::Point;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

impl Ordered<'_, '_> {
    /// Lays everything down, never a write while the value that it replaces is still to be read. If that gets stuck: pairs of writes whose order has to be decided.
    pub(crate) fn linearize(&mut self) -> Result<(), Vec<(WriteId, WriteId)>> {
        let n = self.precedence.len() as Point;
        let mut in_degree = vec![0; n as usize];
        for place in 0..n {
            self.precedence.successors(place).for_each(|next| in_degree[next as usize] += 1);
        }
        let mut laid = vec![false; n as usize];
        let mut current: Vec<Option<WriteId>> = vec![None; self.book.cells.len()];
        let free = (0..n).filter(|&place| in_degree[place as usize] == 0);
        let mut ready: BinaryHeap<_> = free.map(|place| Reverse((self.hint(place), place))).collect();
        let mut waiting = vec![];
        self.found.clear();
        while let Some(Reverse((hint, place))) = ready.pop() {
            if !self.can_read(place, &current, &laid) || !self.hindrances(place, &current, &laid).is_empty() {
                waiting.push(Reverse((hint, place)));
                continue;
            }
            laid[place as usize] = true;
            self.found.push(self.happenings[place as usize]);
            for write in self.writes_at(place) {
                current[self.book.writes[write as usize].cell as usize] = Some(write);
            }
            for next in self.precedence.successors(place) {
                in_degree[next as usize] -= 1;
                if in_degree[next as usize] == 0 {
                    ready.push(Reverse((self.hint(next), next)));
                }
            }
            ready.extend(waiting.drain(..));
        }
        self.is_whole = waiting.is_empty();
        if self.is_whole {
            return Ok(());
        }
        let hindering = waiting.iter().flat_map(|Reverse((_, place))| self.hindrances(*place, &current, &laid));
        let hindering: Vec<_> = hindering.filter(|&pair| self.is_undecided(pair)).collect();
        Err(if hindering.is_empty() { self.undecided() } else { hindering })
    }

    /// Pairs of writes to a cell that can be in either order. What is in the way may follow from something that was laid down long before, and not be undecided itself.
    fn undecided(&self) -> Vec<(WriteId, WriteId)> {
        let mut pairs = vec![];
        for of_cell in &self.written {
            for (at, (_, writes)) in of_cell.iter().enumerate() {
                let others = of_cell[at + 1..].iter().flat_map(|of_thread| &of_thread.1);
                pairs.extend(others.flat_map(|&other| writes.iter().map(move |&write| (write, other))));
            }
        }
        pairs.retain(|&pair| self.is_undecided(pair));
        pairs
    }

    fn is_undecided(&self, (first, second): (WriteId, WriteId)) -> bool {
        let [first, second] = [first, second].map(|write| self.writes[write as usize]);
        !self.precedence.is_before(first, second) && !self.precedence.is_before(second, first)
    }

    /// Whether everything was laid down.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// When it was first performed.
    fn hint(&self, place: Point) -> u32 {
        let edge = match self.happenings[place as usize] {
            Happening::Issue(edge) => edge,
            Happening::Commit(write) => self.book.writes[write as usize].edge,
        };
        self.book.nodes[self.book.edges[edge as usize].node as usize].hint
    }

    /// A lock that would be taken at this place although it is not free: the write that takes it, and what is there.
    fn taken(&self, place: Point, current: &[Option<WriteId>]) -> Option<(WriteId, WriteId)> {
        let mut takers = self.takers_at(place).into_iter();
        takers.find_map(|taker| {
            let cell = self.book.writes[taker as usize].cell as usize;
            let write = current[cell]?;
            (self.book.writes[write as usize].value != self.book.cells[cell].initial).then_some((taker, write))
        })
    }

    fn can_read(&self, place: Point, current: &[Option<WriteId>], laid: &[bool]) -> bool {
        let Happening::Issue(edge) = self.happenings[place as usize] else { return true };
        let node = self.book.edges[edge as usize].node;
        self.at_node[node as usize].iter().all(|&number| {
            let source = self.book.sources[number as usize];
            let cell = self.book.accesses[source.access as usize].cell;
            let is_early = source.write.is_some_and(|write| !laid[self.writes[write as usize] as usize]);
            let is_own = || self.own(&source, cell) == source.write;
            current[cell as usize] == source.write || (is_early && is_own())
        })
    }

    /// Writes at this place, each with the current one that it would replace although it is still to be read elsewhere.
    fn hindrances(&self, place: Point, current: &[Option<WriteId>], laid: &[bool]) -> Vec<(WriteId, WriteId)> {
        let mut hindrances: Vec<_> = self.taken(place, current).into_iter().collect();
        for write in self.writes_at(place) {
            let Some(replaced) = current[self.book.writes[write as usize].cell as usize] else { continue };
            let is_unread = self.seers[replaced as usize].iter().any(|&number| {
                let access = &self.book.accesses[self.book.sources[number as usize].access as usize];
                let read = access.node.map_or(NONE, |node| self.issues[node as usize]);
                read != NONE && read != place && !laid[read as usize]
            });
            if is_unread {
                hindrances.push((write, replaced));
            }
        }
        hindrances
    }
}
