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

use crate::execution::{MemoryModel, Operation};
use crate::program::{Loc, Ordering};
use crate::solver::{Lit, Node, Problem};
use std::collections::BTreeMap;

/// The commits of one thread so far, and the chains that they are in.
pub(crate) struct Commits {
    memory: MemoryModel,
    /// Under TSO one chain, under PSO one per location.
    chains: BTreeMap<Option<Loc>, u32>,
    latest: BTreeMap<Option<Loc>, Node>,
    /// The latest commits when the last barrier was passed.
    barrier: Vec<Node>,
    /// That it was passed, where that is not a matter of course.
    because: Option<Lit>,
    /// Locations committed to since then.
    since_barrier: Vec<Loc>,
}

impl Commits {
    pub(crate) fn new(memory: MemoryModel) -> Commits {
        Commits {
            memory,
            chains: BTreeMap::new(),
            latest: BTreeMap::new(),
            barrier: vec![],
            because: None,
            since_barrier: vec![],
        }
    }

    /// Rules 1 to 3 for an operation whose issue is this node, before its own commit if it has one.
    /// Orders across a barrier hold because of a literal, if one is given.
    pub(crate) fn issue(&mut self, problem: &mut Problem, operation: &Operation, issue: Node, because: Option<Lit>) {
        if drains(operation) {
            problem.edges.extend(self.latest.values().map(|&commit| (commit, issue)));
        }
        if self.memory == MemoryModel::Pso && is_barrier(operation) {
            self.barrier = self.latest.values().copied().collect();
            self.because = because;
            self.since_barrier.clear();
        }
    }

    /// Rules 1 and 2 for the commit of a buffered write. Gives the commit's node.
    pub(crate) fn commit(&mut self, problem: &mut Problem, issue: Node, loc: Loc) -> Node {
        let key = (self.memory == MemoryModel::Pso).then_some(loc);
        let chain = *self.chains.entry(key).or_insert_with(|| problem.chain());
        let (active, hint) = (problem.nodes[issue as usize].active.clone(), problem.nodes[issue as usize].hint);
        let commit = problem.node(chain, active, hint);
        problem.edges.push((issue, commit));
        if !self.since_barrier.contains(&loc) {
            self.since_barrier.push(loc);
            let across = self.barrier.iter().map(|&earlier| (earlier, commit));
            match self.because {
                None => problem.edges.extend(across),
                Some(lit) => problem.conditional.extend(across.map(|(earlier, commit)| (lit, earlier, commit))),
            }
        }
        self.latest.insert(key, commit);
        commit
    }
}

/// Whether the operation waits until the thread's writes are in memory.
fn drains(operation: &Operation) -> bool {
    match operation {
        Operation::Read { .. } | Operation::Yield | Operation::Choose { .. } | Operation::Fail(_) | Operation::Stop => {
            false
        }
        Operation::Write { ordering, .. } | Operation::Fence { ordering } => *ordering == Ordering::SeqCst,
        _ => true,
    }
}

/// Whether later writes of the thread are committed after all earlier ones (also when it drains, but then they are anyway).
fn is_barrier(operation: &Operation) -> bool {
    match operation {
        Operation::Write { ordering, .. } | Operation::Fence { ordering } => {
            matches!(ordering, Ordering::Release | Ordering::AcqRel)
        }
        _ => false,
    }
}
