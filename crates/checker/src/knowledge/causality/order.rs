//! The memory models as ordering rules: the second place, after the machine, that says what they are.
//!
//! Every operation has an *issue*; a buffered write also has a *commit*. An execution is legal iff there is a total order with
//! 1. issues of one thread in program order; a write's issue before its commit;
//! 2. commits of one thread: under TSO in program order; under PSO in program order for the same location, and across a store-store barrier;
//! 3. an operation that drains comes after the commits of all program-earlier writes;
//! 4. a read sees the latest by commit among the writes committed before it and those program-earlier in its own thread. (Part of the
//!    solver's definition of a source.)
//!
//! Under SC nothing is buffered, and only the first rule is left.

use crate::base::Loc;
use crate::execution::{MemoryModel, Operation};
use crate::program::Ordering;
use crate::solver::{Node, Problem};
use std::collections::BTreeMap;

/// The commits of one thread so far, and the chains that they are in.
pub(super) struct Commits {
    memory: MemoryModel,
    /// Under TSO one chain, under PSO one per location.
    chains: BTreeMap<Option<Loc>, u32>,
    latest: BTreeMap<Option<Loc>, Node>,
    /// The latest commits when the last barrier was passed.
    barrier: Vec<Node>,
    /// Locations committed to since then.
    since_barrier: Vec<Loc>,
}

impl Commits {
    pub(super) fn new(memory: MemoryModel) -> Commits {
        Commits { memory, chains: BTreeMap::new(), latest: BTreeMap::new(), barrier: vec![], since_barrier: vec![] }
    }

    /// Rules 1 to 3 for an operation whose issue is this node, before its own commit if it has one.
    pub(super) fn issue(&mut self, problem: &mut Problem, operation: &Operation, issue: Node) {
        if drains(operation) {
            problem.edges.extend(self.latest.values().map(|&commit| (commit, issue)));
        }
        if is_barrier(self.memory, operation) {
            self.barrier = self.latest.values().copied().collect();
            self.since_barrier.clear();
        }
    }

    /// Rules 1 and 2 for the commit of a buffered write. Gives the commit's node.
    pub(super) fn commit(&mut self, problem: &mut Problem, issue: Node, loc: Loc) -> Node {
        let key = commit_chain(self.memory, loc);
        let chain = *self.chains.entry(key).or_insert_with(|| problem.chain());
        let (active, hint) = (problem.nodes[issue as usize].active.clone(), problem.nodes[issue as usize].hint);
        let commit = problem.node(chain, active, hint);
        problem.edges.push((issue, commit));
        if !self.since_barrier.contains(&loc) {
            self.since_barrier.push(loc);
            problem.edges.extend(self.barrier.iter().map(|&earlier| (earlier, commit)));
        }
        self.latest.insert(key, commit);
        commit
    }
}

/// Whether the operation waits until the thread's writes are in memory.
pub(crate) fn drains(operation: &Operation) -> bool {
    match operation {
        Operation::Read { .. }
        | Operation::Yield
        | Operation::Choose { .. }
        | Operation::Touch { .. }
        | Operation::HasEnded { .. }
        | Operation::Fail(_)
        | Operation::Stop => false,
        Operation::Write { ordering, .. } | Operation::Fence { ordering } => *ordering == Ordering::SeqCst,
        _ => true,
    }
}

/// Whether later writes of the thread are committed after all earlier ones (also when it drains, but then they are anyway).
pub(crate) fn is_barrier(memory: MemoryModel, operation: &Operation) -> bool {
    match operation {
        Operation::Write { ordering, .. } | Operation::Fence { ordering } => {
            memory.reorders_stores() && matches!(ordering, Ordering::Release | Ordering::AcqRel)
        }
        _ => false,
    }
}

/// Whether the operation's write waits in a buffer, so that its commit is later than its issue.
pub(crate) fn is_buffered(memory: MemoryModel, operation: &Operation) -> bool {
    memory.delays_stores() && matches!(operation, Operation::Write { ordering, .. } if *ordering != Ordering::SeqCst)
}

/// Which of a thread's commits keep their order: those with the same key.
pub(crate) fn commit_chain(memory: MemoryModel, loc: Loc) -> Option<Loc> {
    (memory.reorders_stores()).then_some(loc)
}
