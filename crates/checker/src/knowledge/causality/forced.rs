//! What must have happened before, whatever the order: which writes a read can see at all.
//!
//! Definition. Of each node two clocks over the chains are kept: the nodes that are before it in every configuration in which it is active (*before*), and those that are before it in every
//! configuration in which its event has the result of the run (*with*). They differ for reads: a read that returns what it returned in the run comes after whatever is common to all writes of that value. A read `r`
//! cannot see a write `w` if
//! - `r`, with its result in the run, is among what `w` must come after; or
//! - another write to the cell is before `r` (or is the reader's own), and `w` is before that in any case; or
//! - `w` is the initial value and some write is before `r`.
//!
//! Without it the solver would have to find that out for every pair of a read and a write, in every run: a counter under a lock has as many values as there are writes, and nearly none of them
//! can be seen by any one read.

use super::Causality;
use crate::base::FAILED;
use crate::solver::{Lit, Node, WriteId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Where more writes than these have the value that was read, nothing is common to them.
const MOST_COMMON: usize = 4;

/// What comes before what in any case.
pub(super) struct Forced {
    n_chains: usize,
    before: Vec<u32>,
    with: Vec<u32>,
    /// For each cell and each chain in which it is written, the writes there by place, but for those that may not happen though their event does.
    writes: Vec<Vec<(u32, Vec<WriteId>)>>,
}

/// What is before a read in any case.
pub(super) struct Horizon {
    read: Node,
    /// The latest writes to the cell, one for each chain that has any.
    latest: SmallVec<[WriteId; 4]>,
    /// The reader's own latest.
    own: Option<WriteId>,
}

impl Forced {
    /// Requires that events, forks and joins have been added, and nothing else.
    pub(super) fn new(causality: &Causality) -> Forced {
        let problem = &causality.problem;
        let n_chains = problem.chains.len();
        let clocks = vec![0; problem.nodes.len() * n_chains];
        let mut writes = problem.writes_by_chain();
        writes.resize(causality.cells.len(), vec![]);
        writes.iter_mut().flatten().for_each(|of| of.1.retain(|&write| is_certain(causality, write)));
        let mut forced = Forced { n_chains, before: clocks.clone(), with: clocks, writes };
        forced.go_through(causality);
        forced
    }

    /// Sets the clocks in the order of the run, in which everything comes after what is before it.
    fn go_through(&mut self, causality: &Causality) {
        let problem = &causality.problem;
        let mut into: FxHashMap<Node, SmallVec<[Node; 2]>> = FxHashMap::default();
        for &(from, to) in &problem.edges {
            into.entry(to).or_default().push(from);
        }
        let mut joined: FxHashMap<(Lit, Node), SmallVec<[Node; 2]>> = FxHashMap::default();
        for &(lit, from, to) in &problem.conditional {
            joined.entry((lit, to)).or_default().push(from);
        }
        let mut by_value: FxHashMap<(u32, i64), Vec<WriteId>> = FxHashMap::default();
        for (id, write) in problem.writes.iter().enumerate() {
            by_value.entry((write.cell, causality.writes[id].contents.result)).or_default().push(id as WriteId);
        }
        let mut own: FxHashMap<(usize, u32), WriteId> = FxHashMap::default();
        let mut events: Vec<usize> = (0..causality.events.len()).collect();
        events.sort_by_key(|&event| problem.nodes[causality.events[event].issue as usize].hint);
        for event in events {
            let this = &causality.events[event];
            self.set(causality, this.issue, &into);
            for &end in this.same.and_then(|same| joined.get(&(same, this.issue))).into_iter().flatten() {
                self.pass_on(end, this.issue);
            }
            if let Some(loc) = causality.reads_of(event).filter(|_| this.same.is_some() && this.result != FAILED) {
                let cell = causality.cell(loc);
                let of_value = by_value.get(&(cell, this.result)).map_or(&[][..], Vec::as_slice);
                self.read(causality, event, cell, own.get(&(this.thread, cell)).copied(), of_value);
            }
            if let Some(commit) = this.commit {
                self.set(causality, commit, &into);
            }
            if let Some(write) = this.write {
                own.insert((this.thread, problem.writes[write as usize].cell), write);
            }
        }
    }

    /// Sets the clocks of a node to what all say that are right before it.
    fn set(&mut self, causality: &Causality, node: Node, into: &FxHashMap<Node, SmallVec<[Node; 2]>>) {
        let info = &causality.problem.nodes[node as usize];
        let previous = info.index.checked_sub(1).map(|at| causality.problem.chains[info.chain as usize][at as usize]);
        for from in previous.into_iter().chain(into.get(&node).into_iter().flatten().copied()) {
            self.pass_on(from, node);
        }
        let row = self.row(node);
        self.with[row.start + info.chain as usize] = info.index + 1;
        self.before[row.clone()].copy_from_slice(&self.with[row.clone()]);
        self.before[row.start + info.chain as usize] = info.index;
    }

    fn row(&self, node: Node) -> std::ops::Range<usize> {
        let start = node as usize * self.n_chains;
        start..start + self.n_chains
    }

    fn pass_on(&mut self, from: Node, to: Node) {
        for chain in 0..self.n_chains {
            let known = self.with[from as usize * self.n_chains + chain];
            let clock = &mut self.with[to as usize * self.n_chains + chain];
            *clock = (*clock).max(known);
        }
    }

    /// A read that returns what it returned in the run comes after what is common to all writes of that value that it can see.
    fn read(&mut self, causality: &Causality, event: usize, cell: u32, own: Option<WriteId>, of_value: &[WriteId]) {
        let this = &causality.events[event];
        let horizon = self.horizon(causality, event, cell, own);
        let is_initial =
            causality.initial[cell as usize].result == this.result && self.can_see(causality, &horizon, None);
        let is_own = own.is_some_and(|own| of_value.contains(&own));
        let are_certain = of_value.iter().all(|&write| is_certain(causality, write));
        if is_initial || is_own || !are_certain || of_value.len() > MOST_COMMON {
            return;
        }
        let of_others = |&&write: &&WriteId| causality.thread_of(write) != this.thread;
        let seen = of_value.iter().filter(of_others).copied();
        let seen: SmallVec<[WriteId; 4]> =
            seen.filter(|&write| self.can_see(causality, &horizon, Some(write))).collect();
        let row = self.row(this.issue);
        for chain in 0..self.n_chains {
            // The clock of a write that comes later in the run is still zero: nothing is known to be before it.
            let of_write =
                |&write: &WriteId| self.with[self.row(causality.problem.writes[write as usize].node).start + chain];
            let common = seen.iter().map(of_write).min().unwrap_or(0);
            self.with[row.start + chain] = self.with[row.start + chain].max(common);
        }
    }

    /// What is before a read of a cell in any case.
    pub(super) fn horizon(&self, causality: &Causality, event: usize, cell: u32, own: Option<WriteId>) -> Horizon {
        let read = causality.events[event].issue;
        let index =
            |&write: &WriteId| causality.problem.nodes[causality.problem.writes[write as usize].node as usize].index;
        let latest = self.writes[cell as usize].iter().filter_map(|(chain, writes)| {
            let known = self.before[self.row(read).start + *chain as usize];
            writes[..writes.partition_point(|write| index(write) < known)].last().copied()
        });
        Horizon { read, latest: latest.collect(), own }
    }

    /// Whether a read can see a write, or the initial value.
    pub(super) fn can_see(&self, causality: &Causality, horizon: &Horizon, write: Option<WriteId>) -> bool {
        let Some(write) = write else { return horizon.latest.is_empty() };
        let (node, read) = (causality.problem.writes[write as usize].node, horizon.read);
        if horizon.own == Some(write) {
            return true;
        }
        let mut hiding = horizon.latest.iter().chain(&horizon.own).filter(|&&other| other != write);
        !self.is_before(causality, read, node)
            && !hiding.any(|&other| self.is_before(causality, node, causality.problem.writes[other as usize].node))
    }

    /// Whether one node is before another whenever the event of the other is as in the run.
    fn is_before(&self, causality: &Causality, first: Node, second: Node) -> bool {
        let info = &causality.problem.nodes[first as usize];
        self.with[self.row(second).start + info.chain as usize] > info.index
    }
}

/// Whether the write happens whenever its event has the result of the run. Of the writes by which a reference count changes only one does.
fn is_certain(causality: &Causality, write: WriteId) -> bool {
    causality.events[causality.writes[write as usize].event].write == Some(write)
}
