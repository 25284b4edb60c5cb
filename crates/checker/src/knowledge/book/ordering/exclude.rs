//! Sections of a lock are apart (`sections.rs` says why). If one begins before another ends, it ends before the other begins.
//!
//! The end of a section may not be known yet, but whatever its thread does while it holds the lock is before it.

use super::{Consistency, Happening, NONE, Ordered};
use crate::knowledge::book::sections::Lock;
use crate::knowledge::book::{NodeId, WriteId};
use crate::solver::{Lit, Point, Reasons};
use smallvec::{SmallVec, smallvec};

impl Ordered<'_, '_> {
    /// A cell has been found to be a lock.
    pub(crate) fn exclude_all(&mut self, cell: u32) -> Consistency {
        let writes = self.written[cell as usize].iter().flat_map(|of_thread| of_thread.1.iter().copied());
        let takers: Vec<WriteId> = writes.filter(|&write| self.takes(cell, write)).collect();
        takers.into_iter().try_for_each(|taker| self.exclude_later(cell, taker))
    }

    /// Something has its place, or has come to be after something in a chain: sections that began before it were over before its own began.
    pub(crate) fn exclude_at(&mut self, place: Point, chain: Option<u32>) -> Consistency {
        for (cell, taker) in self.sections_at(place) {
            let thread = self.writer(taker);
            for at in 0..self.written[cell as usize].len() {
                let (other, writes) = &self.written[cell as usize][at];
                if *other == thread || chain.is_some_and(|chain| chain != *other) {
                    continue;
                }
                let before = |&write: &WriteId| self.precedence.is_before(self.writes[write as usize], place);
                let mut earlier = writes[..writes.partition_point(before)].iter().rev().copied();
                if let Some(first) = earlier.find(|&write| self.takes(cell, write)) {
                    self.exclude(cell, first, taker, place)?;
                }
            }
        }
        Ok(())
    }

    /// A write has its place. If it begins a section or ends it, there may be sections of others that come later.
    pub(crate) fn exclude_from(&mut self, write: WriteId) -> Consistency {
        let cell = self.book.writes[write as usize].cell;
        if !self.locks[cell as usize] {
            return Ok(());
        }
        if self.takes(cell, write) {
            // What its thread does in the section may have had its place before.
            self.exclude_at(self.latest(cell, write), None)?;
            return self.exclude_later(cell, write);
        }
        let node = self.book.edges[self.book.writes[write as usize].edge as usize].node;
        self.taker(cell, node).map_or(Ok(()), |taker| self.exclude_later(cell, taker))
    }

    /// A section, and the next of each other thread that does not end before it begins.
    fn exclude_later(&mut self, cell: u32, first: WriteId) -> Consistency {
        let (from, thread) = (self.writes[first as usize], self.writer(first));
        for at in 0..self.written[cell as usize].len() {
            let (other, writes) = &self.written[cell as usize][at];
            if *other == thread {
                continue;
            }
            let not_after = |&write: &WriteId| !self.precedence.is_before(from, self.writes[write as usize]);
            let (earlier, later) = writes.split_at(writes.partition_point(not_after));
            let takes = |write: &WriteId| self.takes(cell, *write);
            // One that may have begun before may yet be known to end after.
            let candidates = earlier.iter().rev().copied().find(takes).into_iter();
            let mut candidates = candidates.chain(later.iter().copied().find(takes));
            let next = candidates.find(|&second| self.precedence.is_before(from, self.latest(cell, second)));
            if let Some(second) = next {
                self.exclude(cell, first, second, self.latest(cell, second))?;
            }
        }
        Ok(())
    }

    /// One section begins before a place in another: it is over before the other begins.
    fn exclude(&mut self, cell: u32, first: WriteId, second: WriteId, place: Point) -> Consistency {
        let Some(lock) = self.lock(cell) else { return Ok(()) };
        let (is_lock, given_back) = (lock.lit, lock.given_back[&first]);
        let [from, to] = [first, second].map(|write| self.writes[write as usize]);
        let giver = self.giver(cell, first);
        let giver = giver.filter(|&giver| !self.precedence.is_before(self.writes[giver as usize], to));
        let is_known = self.true_orders.contains(&given_back);
        if is_known && giver.is_none() {
            return Ok(());
        }
        let mut why: Reasons = smallvec![is_lock, self.happens(first), self.happens(second), self.happens_at(place)];
        self.precedence.explain(from, place, &mut why);
        if !is_known {
            self.following.push((given_back, why.clone()));
        }
        giver.map_or(Ok(()), |giver| {
            why.push(self.happens(giver));
            self.precedence.arc(self.writes[giver as usize], to, why)
        })
    }

    /// How a cell is used, if it is known to be a lock.
    pub(crate) fn lock(&self, cell: u32) -> Option<&Lock> {
        self.book.sections.locks.get(&cell)
    }

    /// The locks that a thread holds at a place, each with the write that has taken it.
    fn sections_at(&self, place: Point) -> SmallVec<[(u32, WriteId); 2]> {
        let (edge, commit) = match self.happenings[place as usize] {
            Happening::Issue(edge) => (&self.book.edges[edge as usize], None),
            Happening::Commit(write) => (&self.book.edges[self.book.writes[write as usize].edge as usize], Some(write)),
        };
        let mut sections = SmallVec::new();
        for &(cell, _) in &self.book.sections.held[edge.node as usize] {
            // A store may come after the one that gives the lock back.
            let is_inside = commit.is_none_or(|write| {
                !self.book.memory.reorders_stores()
                    || self.book.writes[write as usize].cell == cell
                    || self.lock(cell).is_some_and(|lock| lock.drains)
            });
            let taker = self.taker(cell, edge.node).filter(|_| is_inside && self.locks[cell as usize]);
            sections.extend(taker.map(|taker| (cell, taker)));
        }
        let takers = self.takers_at(place).into_iter();
        sections.extend(takers.map(|taker| (self.book.writes[taker as usize].cell, taker)));
        sections
    }

    /// The writes at a place that take locks.
    pub(crate) fn takers_at(&self, place: Point) -> SmallVec<[WriteId; 2]> {
        let cell = |write: WriteId| self.book.writes[write as usize].cell;
        let takes = |write: &WriteId| self.locks[cell(*write) as usize] && self.takes(cell(*write), *write);
        self.writes_at(place).into_iter().filter(takes).collect()
    }

    /// Whether a write to a lock takes it.
    fn takes(&self, cell: u32, write: WriteId) -> bool {
        self.lock(cell).is_some_and(|lock| lock.given_back.contains_key(&write))
    }

    /// The write by which the lock is held at a node, if it has its place.
    fn taker(&self, cell: u32, node: NodeId) -> Option<WriteId> {
        let held = self.book.sections.held[node as usize].iter().find(|held| held.0 == cell)?;
        held.1.iter().copied().find(|&taker| self.writes[taker as usize] != NONE)
    }

    /// The write that gives back what a write has taken, if it has its place.
    fn giver(&self, cell: u32, taker: WriteId) -> Option<WriteId> {
        let of_thread = &self.written[cell as usize].iter().find(|of| of.0 == self.writer(taker))?.1;
        let after = of_thread.partition_point(|&write| self.depth(write) <= self.depth(taker));
        let free = self.book.cells[cell as usize].initial;
        let gives_back = |write: &WriteId| self.book.writes[*write as usize].value == free;
        let giver = of_thread[after..].iter().copied().find(gives_back)?;
        let node = self.book.edges[self.book.writes[giver as usize].edge as usize].node;
        (self.taker(cell, node) == Some(taker)).then_some(giver)
    }

    /// The last place that is known to be in a section.
    fn latest(&self, cell: u32, taker: WriteId) -> Point {
        if let Some(giver) = self.giver(cell, taker) {
            return self.writes[giver as usize];
        }
        let chain = self.writer(taker);
        let rest = &self.precedence.chain(chain)[self.precedence.position(chain, self.depth(taker) + 1)..];
        let inside = rest.iter().map(|member| member.1);
        let inside = inside.take_while(|&place| self.taker(cell, self.node_at(place)) == Some(taker));
        inside.last().unwrap_or(self.writes[taker as usize])
    }

    fn happens_at(&self, place: Point) -> Lit {
        match self.happenings[place as usize] {
            Happening::Issue(edge) => self.book.edges[edge as usize].lit,
            Happening::Commit(write) => self.happens(write),
        }
    }
}
