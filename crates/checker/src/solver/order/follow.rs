//! What follows from reads that see writes.
//!
//! For a true source `(r, w)` and another active write `v` to the cell: if `v` is before `r`, it is before `w`; if `w` is before `v`, then `r` is before `v` (from-read). Writes of one
//! chain are in order, so of each chain only one has to be looked at: the latest before `r`, the earliest after `w`; and, later on, only those that a clock has come to know.

use super::{Consistency, Order};
use crate::solver::precedence::Reasons;
use crate::solver::problem::{Node, Source, WriteId};
use smallvec::{SmallVec, smallvec};

impl Order<'_> {
    /// What is seen comes before the read, unless it is its own; and after what the reader wrote itself.
    pub(super) fn see(&mut self, at: u32) -> Consistency {
        let source = self.problem.sources[at as usize];
        let read = self.problem.reads[source.read as usize].node;
        if let Some((own, seen)) = self.problem.after_own(&source) {
            self.precedence.arc(own, seen, smallvec![source.lit])?;
        }
        match self.seen_at(&source) {
            Some(seen) if !source.own && Some(read) != self.problem.last => {
                self.precedence.arc(seen, read, smallvec![source.lit])
            }
            _ => Ok(()),
        }
    }

    fn seen_at(&self, source: &Source) -> Option<Node> {
        source.write.map(|write| self.problem.writes[write as usize].node)
    }

    /// A read has come to see something.
    pub(super) fn follow_source(&mut self, at: u32) -> Consistency {
        let source = self.problem.sources[at as usize];
        let read = self.problem.reads[source.read as usize];
        let seen = self.seen_at(&source);
        for chain in 0..self.writes[read.cell as usize].len() {
            let ids = &self.writes[read.cell as usize][chain].1;
            let node = |id: WriteId| self.problem.writes[id as usize].node;
            let is_other = |id: &WriteId| Some(*id) != source.write && node(*id) != read.node && self.happens(*id);
            if Some(read.node) == self.problem.last {
                let latest = ids.iter().rev().copied().find(is_other);
                latest.map_or(Ok(()), |latest| self.see_last(&source, latest))?;
                continue;
            }
            let n_before = ids.partition_point(|&id| self.is_before(node(id), read.node));
            let latest = ids[..n_before].iter().rev().copied().find(is_other);
            let n_not_after = seen.map_or(0, |seen| ids.partition_point(|&id| !self.is_before(seen, node(id))));
            let earliest = ids[n_not_after..].iter().copied().find(is_other);
            latest.map_or(Ok(()), |latest| self.hide(&source, latest))?;
            earliest.map_or(Ok(()), |earliest| self.see_before(&source, earliest))?;
        }
        Ok(())
    }

    /// A write happens.
    pub(super) fn follow_write(&mut self, write: WriteId) -> Consistency {
        let (node, cell) = (self.problem.writes[write as usize].node, self.problem.writes[write as usize].cell);
        for at in 0..self.on_cell[cell as usize].len() {
            let source = self.problem.sources[self.on_cell[cell as usize][at] as usize];
            let read = self.problem.reads[source.read as usize].node;
            if source.write == Some(write) || read == node {
                continue;
            }
            if self.is_before(node, read) {
                self.hide(&source, write)?;
            }
            if self.seen_at(&source).is_none_or(|seen| self.is_before(seen, node)) {
                self.see_before(&source, write)?;
            }
        }
        for at in 0..self.last_sources.len() {
            let source = self.problem.sources[self.last_sources[at] as usize];
            if self.problem.reads[source.read as usize].cell == cell && source.write != Some(write) {
                self.see_last(&source, write)?;
            }
        }
        Ok(())
    }

    /// A node has come to be after others, of a chain, with these indices.
    pub(super) fn look_back(&mut self, node: Node, chain: u32, from: u32, to: u32) -> Consistency {
        for at in 0..self.at_node[node as usize].len() {
            let source = self.problem.sources[self.at_node[node as usize][at] as usize];
            let ids = self.writes_between(self.problem.reads[source.read as usize].cell, chain, from, to);
            let is_other = |id: &WriteId| {
                Some(*id) != source.write && self.problem.writes[*id as usize].node != node && self.happens(*id)
            };
            let latest = ids.iter().rev().copied().find(is_other);
            latest.map_or(Ok(()), |latest| self.hide(&source, latest))?;
        }
        for at in 0..self.writes_at[node as usize].len() {
            let write = self.writes_at[node as usize][at];
            if !self.happens(write) {
                continue;
            }
            let ids = self.writes_between(self.problem.writes[write as usize].cell, chain, from, to);
            let seers = ids.iter().flat_map(|&id| self.seers[id as usize].iter().copied());
            for source in seers.collect::<SmallVec<[u32; 8]>>() {
                let source = self.problem.sources[source as usize];
                let is_other = source.write != Some(write);
                if is_other && self.problem.reads[source.read as usize].node != node {
                    self.see_before(&source, write)?;
                }
            }
        }
        Ok(())
    }

    /// The writes to a cell in one chain with these indices.
    fn writes_between(&self, cell: u32, chain: u32, from: u32, to: u32) -> &[WriteId] {
        let Some((_, ids)) = self.writes[cell as usize].iter().find(|of| of.0 == chain) else { return &[] };
        let [from, to] = [from, to].map(|index| ids.partition_point(|&id| self.index(id) < index));
        &ids[from..to]
    }

    /// A write that is before the read is before what the read sees.
    fn hide(&mut self, source: &Source, write: WriteId) -> Consistency {
        // That the initial value is seen puts the read before every write at once.
        let Some(seen) = self.seen_at(source) else { return Ok(()) };
        let node = self.problem.writes[write as usize].node;
        if self.is_before(node, seen) {
            return Ok(());
        }
        let mut why = self.because(source, write);
        self.precedence.explain(node, self.problem.reads[source.read as usize].node, &mut why);
        self.precedence.arc(node, seen, why)
    }

    /// A read is before a write that is after what it sees.
    fn see_before(&mut self, source: &Source, write: WriteId) -> Consistency {
        let (node, read) = (self.problem.writes[write as usize].node, self.problem.reads[source.read as usize].node);
        if self.is_before(read, node) {
            return Ok(());
        }
        let mut why = self.because(source, write);
        if let Some(seen) = self.seen_at(source) {
            self.precedence.explain(seen, node, &mut why);
        }
        self.precedence.arc(read, node, why)
    }

    /// What is seen when all is over comes after every other write.
    fn see_last(&mut self, source: &Source, write: WriteId) -> Consistency {
        let why = self.because(source, write);
        match self.seen_at(source) {
            Some(seen) => self.precedence.arc(self.problem.writes[write as usize].node, seen, why),
            None => Err(why),
        }
    }

    fn because(&self, source: &Source, write: WriteId) -> Reasons {
        smallvec![source.lit, self.problem.writes[write as usize].active]
    }
}
