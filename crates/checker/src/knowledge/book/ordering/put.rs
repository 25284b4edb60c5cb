//! The places of operations and their writes.
//!
//! An operation's index in its thread is its depth in the book's graph. It gets its place as soon as its edge is true, whether or not those before it have theirs; but
//! only where the graph says that it comes after the one before it and before the one after it. (Other ways may yet become known.)

use super::undo::Undo;
use super::{Consistency, Happening, NONE, Ordered};
use crate::base::Loc;
use crate::knowledge::book::{Book, EdgeId, Meaning, NodeId, WriteId};
use crate::knowledge::causality::{commit_chain, drains, is_barrier, is_buffered};
use crate::solver::{Point, Reasons};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// The chains of commits: for each thread one for each key of [`commit_chain`].
pub(crate) struct CommitChains {
    numbers: FxHashMap<(u32, Option<Loc>), u32>,
    of_thread: Vec<Vec<u32>>,
}

impl CommitChains {
    pub(crate) fn new(book: &Book<'_>) -> CommitChains {
        let n_threads = book.threads.len();
        let mut chains = CommitChains { numbers: FxHashMap::default(), of_thread: vec![vec![]; n_threads] };
        for write in &book.writes {
            let id = book.edges[write.edge as usize].node;
            let node = &book.nodes[id as usize];
            let buffered = is_buffered(book.memory, book.operation(id));
            if let Some(loc) = book.cells[write.cell as usize].cell.loc().filter(|_| buffered) {
                let next = (n_threads + chains.numbers.len()) as u32;
                let of_thread = &mut chains.of_thread[node.thread as usize];
                chains.numbers.entry((node.thread, commit_chain(book.memory, loc))).or_insert_with(|| {
                    of_thread.push(next);
                    next
                });
            }
        }
        chains
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl Ordered<'_, '_> {
    /// Puts what had to wait into place, where it can be now.
    pub(crate) fn put_waiting(&mut self) -> Consistency {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&node| self.taken[node as usize] != NONE && self.issues[node as usize] == NONE);
        waiting.sort_unstable_by_key(|&node| self.book.nodes[node as usize].depth);
        waiting.into_iter().try_for_each(|node| self.put(node))
    }

    /// Puts the operation of a node, whose edge is true, and the writes that it makes into their places, if they have one.
    pub(crate) fn put(&mut self, id: NodeId) -> Consistency {
        let book = self.book;
        let node = &book.nodes[id as usize];
        let (thread, index) = (node.thread, node.depth);
        let before = self.precedence.last_before(thread, index);
        let after = self.precedence.first_from(thread, index);
        if before.is_some_and(|before| !book.leads_to(self.node_at(before), id))
            || after.is_some_and(|after| !book.leads_to(id, self.node_at(after)))
        {
            self.waiting.push(id);
            return Ok(());
        }
        let by = self.taken[id as usize];
        let edge = &book.edges[by as usize];
        let issue = self.precedence.place(thread, index);
        self.happenings.push(Happening::Issue(by));
        self.issues[id as usize] = issue;
        self.undo.push(Undo::Issued(id));
        self.put_fork(thread, issue, before.is_none())?;
        self.put_after_commits(thread, issue, by)?;
        for &write in &edge.writes {
            let place = self.put_commit(thread, issue, by, write)?;
            self.writes[write as usize] = place;
            self.note_write(write);
        }
        for at in 0..self.late.len() {
            self.put_late(self.late[at])?;
        }
        for &access in &node.accesses {
            for at in 0..self.sources_of_access[access as usize].len() {
                self.see(self.sources_of_access[access as usize][at])?;
            }
        }
        edge.writes.iter().try_for_each(|&write| self.write_is_there(write))?;
        self.exclude_at(issue, None)?;
        for &write in &edge.writes {
            self.exclude_at(self.writes[write as usize], None)?;
            self.exclude_from(write)?;
        }
        edge.key.child.map_or(Ok(()), |child| self.fork(by, child, issue))
    }

    pub(crate) fn node_at(&self, place: Point) -> NodeId {
        match self.happenings[place as usize] {
            Happening::Issue(edge) => self.book.edges[edge as usize].node,
            Happening::Commit(write) => self.book.edges[self.book.writes[write as usize].edge as usize].node,
        }
    }

    /// The first operation of a thread comes after its fork.
    fn put_fork(&mut self, thread: u32, issue: Point, is_first: bool) -> Consistency {
        let by = self.forked[thread as usize];
        if !is_first || by == NONE {
            return Ok(());
        }
        let edge = &self.book.edges[by as usize];
        let fork = self.issues[edge.node as usize];
        self.precedence.arc(fork, issue, smallvec![edge.lit])
    }

    fn fork(&mut self, by: EdgeId, child: NodeId, issue: Point) -> Consistency {
        let thread = self.book.nodes[child as usize].thread;
        if self.forked[thread as usize] != NONE {
            return Ok(());
        }
        self.forked[thread as usize] = by;
        self.undo.push(Undo::Forked(thread));
        match self.precedence.chain(thread).first() {
            Some(&(_, first)) => self.precedence.arc(issue, first, smallvec![self.book.edges[by as usize].lit]),
            None => Ok(()),
        }
    }

    /// Rules 2 and 3 of the memory models, for an operation: what it drains, and what it keeps apart.
    fn put_after_commits(&mut self, thread: u32, issue: Point, by: EdgeId) -> Consistency {
        let edge = &self.book.edges[by as usize];
        let operation = self.book.operation(edge.node);
        let index = self.book.nodes[edge.node as usize].depth;
        if drains(operation) {
            self.drains[thread as usize].insert(index, by);
            self.undo.push(Undo::Drain(thread, index));
            for at in 0..self.commit_chains.of_thread[thread as usize].len() {
                let chain = self.commit_chains.of_thread[thread as usize][at];
                if let Some(commit) = self.precedence.last_before(chain, index) {
                    self.precedence.arc(commit, issue, smallvec![edge.lit])?;
                }
            }
        }
        if is_barrier(self.book.memory, operation) {
            self.barriers[thread as usize].insert(index, by);
            self.undo.push(Undo::Barrier(thread, index));
            let chains: SmallVec<[u32; 8]> = self.commit_chains.of_thread[thread as usize].iter().copied().collect();
            for &chain in &chains {
                let Some(earlier) = self.precedence.last_before(chain, index) else { continue };
                self.keep_apart(earlier, chain, index, by, &chains)?;
            }
        }
        Ok(())
    }

    /// A commit comes before those of other chains from an index on, because of a barrier.
    fn keep_apart(&mut self, earlier: Point, own: u32, index: u32, barrier: EdgeId, chains: &[u32]) -> Consistency {
        for &chain in chains.iter().filter(|&&chain| chain != own) {
            if let Some(later) = self.precedence.first_from(chain, index) {
                self.precedence.arc(earlier, later, smallvec![self.book.edges[barrier as usize].lit])?;
            }
        }
        Ok(())
    }

    /// The place where a write takes effect: its commit, or its issue.
    fn put_commit(&mut self, thread: u32, issue: Point, by: EdgeId, write: WriteId) -> Result<Point, Reasons> {
        let book = self.book;
        let node = book.edges[by as usize].node;
        let buffered = is_buffered(book.memory, book.operation(node));
        let Some(loc) = super::loc_of(book, write).filter(|_| buffered) else { return Ok(issue) };
        let index = book.nodes[node as usize].depth;
        let chain = self.commit_chains.numbers[&(thread, commit_chain(book.memory, loc))];
        let commit = self.precedence.place(chain, index);
        self.happenings.push(Happening::Commit(write));
        self.precedence.arc(issue, commit, Reasons::new())?;
        let draining = self.drains[thread as usize].range(index + 1..).next();
        if let Some((_, &draining)) = draining {
            let drain = self.issues[book.edges[draining as usize].node as usize];
            self.precedence.arc(commit, drain, smallvec![book.edges[draining as usize].lit])?;
        }
        let chains: SmallVec<[u32; 8]> = self.commit_chains.of_thread[thread as usize].iter().copied().collect();
        let passed = self.barriers[thread as usize].range(..=index).next_back().map(|(&at, &by)| (at, by));
        if let Some((at, barrier)) = passed {
            for &other in chains.iter().filter(|&&other| other != chain) {
                if let Some(earlier) = self.precedence.last_before(other, at) {
                    self.precedence.arc(earlier, commit, smallvec![book.edges[barrier as usize].lit])?;
                }
            }
        }
        let ahead = self.barriers[thread as usize].range(index + 1..).next().map(|(&at, &by)| (at, by));
        match ahead {
            Some((at, barrier)) => self.keep_apart(commit, chain, at, barrier, &chains).map(|()| commit),
            None => Ok(commit),
        }
    }

    fn note_write(&mut self, write: WriteId) {
        let thread = self.writer(write);
        let at = self.written[self.book.writes[write as usize].cell as usize]
            .iter()
            .find(|of| of.0 == thread)
            .map(|of| of.1.partition_point(|&other| self.depth(other) < self.depth(write)));
        let of_cell = &mut self.written[self.book.writes[write as usize].cell as usize];
        match of_cell.iter_mut().find(|of| of.0 == thread) {
            Some(of_thread) => of_thread.1.insert(at.unwrap_or(0), write),
            None => of_cell.push((thread, vec![write])),
        }
        self.undo.push(Undo::Written(write));
    }

    /// A commit that comes late, as far as what it comes after is there.
    pub(crate) fn put_late(&mut self, meaning: Meaning) -> Consistency {
        let (Meaning::Late(write) | Meaning::AfterFree(write, _)) = meaning else { return Ok(()) };
        let (commit, lit) = (self.writes[write as usize], self.book.late_literals[&meaning]);
        if commit == NONE {
            return Ok(());
        }
        if let Meaning::AfterFree(_, free) = meaning {
            let free = self.issues[self.book.edges[free as usize].node as usize];
            return if free == NONE { Ok(()) } else { self.precedence.arc(free, commit, smallvec![lit]) };
        }
        for thread in 0..self.book.threads.len() as u32 {
            if let Some(&(_, issue)) = self.precedence.chain(thread).last()
                && issue != commit
                && !self.precedence.is_before(issue, commit)
            {
                self.precedence.arc(issue, commit, smallvec![lit])?;
            }
        }
        Ok(())
    }
}
