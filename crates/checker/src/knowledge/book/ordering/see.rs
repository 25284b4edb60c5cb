//! What follows from reads that see writes.
//!
//! For a source in force (`r` sees `w`) and another write `v` to the cell that is in its place: if `v` is before `r`, it is before `w`; if `w` is before `v`, then `r` is
//! before `v`. Writes of one thread to one cell are in order, so of each thread only one has to be looked at: the latest before `r`,
//! the earliest after `w`; and, later on, only those that a clock has come to know.

use super::undo::Undo;
use super::{Consistency, Happening, NONE, Ordered};
use crate::knowledge::book::{EdgeId, Source, WriteId};
use crate::solver::{Point, Reasons};
use smallvec::{SmallVec, smallvec};

impl Ordered<'_, '_> {
    /// Puts a true source into force, if both ends are in their places.
    pub(crate) fn see(&mut self, number: u32) -> Consistency {
        let source = self.book.sources[number as usize];
        let seen = source.write.map(|write| self.writes[write as usize]);
        if self.in_force[number as usize] || seen == Some(NONE) {
            return Ok(());
        }
        let access = &self.book.accesses[source.access as usize];
        let Some(node) = access.node else { return self.see_last(number, access.cell) };
        let read = self.issues[node as usize];
        if read == NONE {
            return Ok(());
        }
        self.in_force[number as usize] = true;
        self.undo.push(Undo::InForce(number));
        self.at_node[node as usize].push(number);
        self.on_cell[access.cell as usize].push(number);
        match source.write {
            Some(write) => self.seers[write as usize].push(number),
            None => self.initial_seers[access.cell as usize].push(number),
        }
        self.see_beyond_own(&source, access.cell, read, seen)?;
        self.hide_earlier(&source, access.cell, read)?;
        self.hide_later(&source, access.cell, read, seen)
    }

    /// What it sees comes before the read, unless it is its own; and after what the reader wrote itself.
    fn see_beyond_own(&mut self, source: &Source, cell: u32, read: Point, seen: Option<Point>) -> Consistency {
        let own = self.own(source, cell);
        if own.is_some() && own == source.write {
            return Ok(());
        }
        // Of writes that do not wait in a buffer the clocks know.
        let waits = |write: &WriteId| matches!(self.happening_of(*write), Happening::Commit(_));
        if let Some(own) = own.filter(waits) {
            let why: Reasons = smallvec![source.lit, self.happens(own)];
            match seen {
                // The initial value is never later.
                None => return Err(why),
                Some(seen) => self.precedence.arc(self.writes[own as usize], seen, why)?,
            }
        }
        seen.map_or(Ok(()), |seen| self.precedence.arc(seen, read, smallvec![source.lit]))
    }

    /// The latest write to the cell that the reader made itself before.
    pub(crate) fn own(&self, source: &Source, cell: u32) -> Option<WriteId> {
        let node = self.book.accesses[source.access as usize].node?;
        let reader = &self.book.nodes[node as usize];
        let of_thread = &self.written[cell as usize].iter().find(|of| of.0 == reader.thread)?.1;
        let is_earlier = |&write: &WriteId| self.depth(write) < reader.depth;
        of_thread[..of_thread.partition_point(is_earlier)].last().copied()
    }

    fn happening_of(&self, write: WriteId) -> Happening {
        self.happenings[self.writes[write as usize] as usize]
    }

    /// How far on in its thread a write is issued.
    pub(crate) fn depth(&self, write: WriteId) -> u32 {
        let edge = self.book.writes[write as usize].edge;
        self.book.nodes[self.book.edges[edge as usize].node as usize].depth
    }

    /// The latest writes before the read are before what it sees.
    fn hide_earlier(&mut self, source: &Source, cell: u32, read: Point) -> Consistency {
        for at in 0..self.written[cell as usize].len() {
            let writes = &self.written[cell as usize][at].1;
            let before = |&write: &WriteId| {
                let place = self.writes[write as usize];
                place != read && self.precedence.is_before(place, read)
            };
            let latest = writes[..writes.partition_point(before)].iter().rev();
            if let Some(&other) = latest.clone().find(|&&write| Some(write) != source.write) {
                self.hide(other, source, read)?;
            }
        }
        Ok(())
    }

    /// A write that is before the read is before what it sees.
    fn hide(&mut self, other: WriteId, source: &Source, read: Point) -> Consistency {
        // That the initial value is seen puts the read before every write at once.
        let Some(seen) = source.write else { return Ok(()) };
        let [from, to] = [other, seen].map(|write| self.writes[write as usize]);
        if self.precedence.is_before(from, to) {
            return Ok(());
        }
        let mut why: Reasons = smallvec![source.lit, self.happens(other)];
        self.precedence.explain(from, read, &mut why);
        self.comes_before(other, seen, why)
    }

    /// One write comes before another: the core is to know.
    fn comes_before(&mut self, first: WriteId, second: WriteId, mut why: Reasons) -> Consistency {
        let [from, to] = [first, second].map(|write| self.writes[write as usize]);
        if self.precedence.is_before(from, to) {
            return Ok(());
        }
        if self.precedence.is_before(to, from) {
            self.precedence.explain(to, from, &mut why);
            return Err(why);
        }
        self.implied.push((first, second, why));
        Ok(())
    }

    /// The read is before the earliest writes after what it sees.
    fn hide_later(&mut self, source: &Source, cell: u32, read: Point, seen: Option<Point>) -> Consistency {
        for at in 0..self.written[cell as usize].len() {
            let writes = &self.written[cell as usize][at].1;
            let not_after = |&write: &WriteId| {
                seen.is_some_and(|seen| !self.precedence.is_before(seen, self.writes[write as usize]))
            };
            let after = writes[writes.partition_point(not_after)..].iter();
            let other = |write: &&WriteId| Some(**write) != source.write && self.writes[**write as usize] != read;
            if let Some(&other) = after.clone().find(other) {
                self.read_before(read, source, other)?;
            }
        }
        Ok(())
    }

    /// The read is before a write that is after what it sees.
    fn read_before(&mut self, read: Point, source: &Source, other: WriteId) -> Consistency {
        let write = self.writes[other as usize];
        if self.precedence.is_before(read, write) {
            return Ok(());
        }
        let mut why: Reasons = smallvec![source.lit, self.happens(other)];
        if let Some(seen) = source.write {
            self.precedence.explain(self.writes[seen as usize], write, &mut why);
        }
        self.precedence.arc(read, write, why)
    }

    /// What is seen when all is over comes after every other write.
    fn see_last(&mut self, number: u32, cell: u32) -> Consistency {
        if self.over.is_none() {
            return Ok(());
        }
        self.in_force[number as usize] = true;
        self.undo.push(Undo::InForce(number));
        self.last_seers[cell as usize].push(number);
        for at in 0..self.written[cell as usize].len() {
            let seen = self.book.sources[number as usize].write;
            let latest = self.written[cell as usize][at].1.iter().rev();
            if let Some(&other) = latest.clone().find(|&&write| Some(write) != seen) {
                self.hide_last(other, number)?;
            }
        }
        Ok(())
    }

    fn hide_last(&mut self, other: WriteId, number: u32) -> Consistency {
        let source = self.book.sources[number as usize];
        let mut why: Reasons = smallvec![source.lit, self.happens(other)];
        why.extend(self.over);
        match source.write {
            Some(seen) if seen == other => Ok(()),
            Some(seen) => self.comes_before(other, seen, why),
            None => Err(why),
        }
    }

    /// A write has come to its place.
    pub(crate) fn write_is_there(&mut self, write: WriteId) -> Consistency {
        let (cell, place) = (self.book.writes[write as usize].cell, self.writes[write as usize]);
        let thread = self.writer(write);
        let of_thread = &self.written[cell as usize].iter().find(|of| of.0 == thread).expect("it was noted").1;
        let at = of_thread.partition_point(|&other| self.depth(other) < self.depth(write));
        let before = at.checked_sub(1).map(|at| of_thread[at]);
        match before {
            None => {
                let seers: SmallVec<[u32; 8]> = self.initial_seers[cell as usize].iter().copied().collect();
                self.seen_before(&seers, write)?;
            }
            Some(before) => {
                let seers: SmallVec<[u32; 8]> = self.seers[before as usize].iter().copied().collect();
                self.seen_before(&seers, write)?;
            }
        }
        for chain in 0..(self.book.threads.len() + self.commit_chains.len()) as u32 {
            let known = before.map_or(0, |before| self.precedence.clock(self.writes[before as usize], chain));
            self.come_to_know(write, chain, known, self.precedence.clock(place, chain))?;
        }
        for at in 0..self.on_cell[cell as usize].len() {
            self.seen_otherwise(self.on_cell[cell as usize][at], write)?;
        }
        for at in 0..self.last_seers[cell as usize].len() {
            self.hide_last(write, self.last_seers[cell as usize][at])?;
        }
        for at in 0..self.orders.of_write[write as usize].len() {
            let (other, lit) = self.orders.of_write[write as usize][at];
            if self.true_orders.contains(&lit) {
                self.apply_order(lit, write, other)?;
            } else if self.true_orders.contains(&!lit) {
                self.apply_order(!lit, other, write)?;
            } else if self.writes[other as usize] != NONE {
                self.imply(write, other);
                self.imply(other, write);
            }
        }
        for at in 0..self.sources_of_write[write as usize].len() {
            self.see(self.sources_of_write[write as usize][at])?;
        }
        Ok(())
    }

    /// What a read that is already there makes of another write.
    fn seen_otherwise(&mut self, number: u32, write: WriteId) -> Consistency {
        let source = self.book.sources[number as usize];
        let node = self.book.accesses[source.access as usize].node.expect("others see it last");
        let (read, place) = (self.issues[node as usize], self.writes[write as usize]);
        if source.write == Some(write) || read == place {
            return Ok(());
        }
        let reader = &self.book.nodes[node as usize];
        if reader.thread == self.writer(write) && self.depth(write) < reader.depth {
            let cell = self.book.writes[write as usize].cell;
            self.see_beyond_own(&source, cell, read, source.write.map(|seen| self.writes[seen as usize]))?;
        }
        if self.precedence.is_before(place, read) { self.hide(write, &source, read) } else { Ok(()) }
    }

    /// Reads that see something earlier come before a write.
    fn seen_before(&mut self, seers: &[u32], write: WriteId) -> Consistency {
        for &number in seers {
            let source = self.book.sources[number as usize];
            let node = self.book.accesses[source.access as usize].node.expect("others see it last");
            let read = self.issues[node as usize];
            if read != self.writes[write as usize] {
                self.read_before(read, &source, write)?;
            }
        }
        Ok(())
    }

    /// A write has come to be after what is at some places of a chain: reads that see that come before it.
    fn come_to_know(&mut self, write: WriteId, chain: u32, from: u32, to: u32) -> Consistency {
        let cell = self.book.writes[write as usize].cell;
        let members = self.precedence.position(chain, from)..self.precedence.position(chain, to);
        for at in members {
            let place = self.precedence.chain(chain)[at].1;
            for earlier in self.writes_at(place) {
                if earlier != write && self.book.writes[earlier as usize].cell == cell {
                    self.imply(earlier, write);
                    let seers: SmallVec<[u32; 8]> = self.seers[earlier as usize].iter().copied().collect();
                    self.seen_before(&seers, write)?;
                }
            }
        }
        Ok(())
    }

    /// If it is known that one write is before another, and the core has a name for that: it is to know.
    fn imply(&mut self, first: WriteId, second: WriteId) {
        let [from, to] = [first, second].map(|write| self.writes[write as usize]);
        let Some(lit) = self.orders.literal(first, second) else { return };
        if self.precedence.is_before(from, to) && !self.true_orders.contains(&lit) {
            let mut why: Reasons = smallvec![self.happens(first), self.happens(second)];
            self.precedence.explain(from, to, &mut why);
            self.implied.push((first, second, why));
        }
    }

    /// The writes that take effect at a place.
    pub(crate) fn writes_at(&self, place: Point) -> SmallVec<[WriteId; 2]> {
        match self.happenings[place as usize] {
            Happening::Commit(write) => smallvec![write],
            Happening::Issue(edge) => {
                let writes = self.book.edges[edge as usize].writes.iter().copied();
                writes.filter(|&write| self.writes[write as usize] == place).collect()
            }
        }
    }

    /// Adds every order that follows, until nothing new follows.
    pub(crate) fn saturate(&mut self) -> Consistency {
        while let Some((place, chain, was)) = self.precedence.grown.pop() {
            let now = self.precedence.clock(place, chain);
            if let Happening::Issue(edge) = self.happenings[place as usize] {
                self.look_back(edge, place, chain, was, now)?;
            }
            for write in self.writes_at(place) {
                self.come_to_know(write, chain, was, now)?;
            }
            self.exclude_at(place, Some(chain))?;
        }
        Ok(())
    }

    /// A read has come to be after what is at some places of a chain.
    fn look_back(&mut self, edge: EdgeId, read: Point, chain: u32, was: u32, now: u32) -> Consistency {
        let node = self.book.edges[edge as usize].node as usize;
        for at in 0..self.at_node[node].len() {
            let source = self.book.sources[self.at_node[node][at] as usize];
            let cell = self.book.accesses[source.access as usize].cell;
            let members = &self.precedence.chain(chain)
                [self.precedence.position(chain, was)..self.precedence.position(chain, now)];
            let latest = members.iter().rev().find_map(|&(_, place)| {
                let other =
                    |write: &WriteId| self.book.writes[*write as usize].cell == cell && Some(*write) != source.write;
                self.writes_at(place).into_iter().filter(|_| place != read).find(other)
            });
            if let Some(other) = latest {
                self.hide(other, &source, read)?;
            }
        }
        Ok(())
    }

    /// Takes a source out of force.
    pub(crate) fn forget(&mut self, number: u32) {
        self.in_force[number as usize] = false;
        let source = self.book.sources[number as usize];
        let access = &self.book.accesses[source.access as usize];
        let Some(node) = access.node else {
            self.last_seers[access.cell as usize].pop();
            return;
        };
        self.at_node[node as usize].pop();
        self.on_cell[access.cell as usize].pop();
        match source.write {
            Some(write) => drop(self.seers[write as usize].pop()),
            None => drop(self.initial_seers[access.cell as usize].pop()),
        }
    }
}
