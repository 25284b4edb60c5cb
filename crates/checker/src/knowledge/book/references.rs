//! Where references are taken and given back that nobody counts: it is not seen who gives back the last one.

use super::NodeId;
use super::effect::is_quiet;
use crate::base::Loc;
use crate::execution::{Count, Operation};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// References to what nobody sees go, by where they are taken; or there from the start.
#[derive(Default)]
pub(crate) struct References {
    /// Where each is given back.
    pub(crate) given_back: BTreeMap<(Loc, Option<NodeId>), BTreeSet<NodeId>>,
    /// In the run that is looked at: where each is taken and given back, by the run's own number of it.
    taken: FxHashMap<(Loc, u32), NodeId>,
    returned: Vec<(Loc, u32, NodeId)>,
    /// What has references that nobody counts, and what somebody looks at.
    quiet: BTreeSet<Loc>,
    seen: BTreeSet<Loc>,
}

impl References {
    /// Says whether what these operations, and those before, look at is never something that nobody counts.
    pub(crate) fn tell_apart<'r>(&mut self, operations: impl Iterator<Item = &'r Operation>) -> bool {
        for operation in operations {
            let kind = if is_quiet(operation) { &mut self.quiet } else { &mut self.seen };
            kind.extend(operation.loc());
        }
        self.quiet.is_disjoint(&self.seen)
    }

    /// A run is looked at.
    pub(crate) fn begin(&mut self) {
        self.taken.clear();
        self.returned.clear();
    }

    /// The run performed a node's operation.
    pub(crate) fn note(&mut self, node: NodeId, operation: &Operation) {
        if let Some(Count { loc, by, reference, .. }) = operation.count()
            && is_quiet(operation)
        {
            match by > 0 {
                true => drop(self.taken.insert((loc, reference), node)),
                false => self.returned.push((loc, reference, node)),
            }
        }
    }

    /// The run is over.
    pub(crate) fn end(&mut self) {
        for (&(loc, _), &node) in &self.taken {
            self.given_back.entry((loc, Some(node))).or_default();
        }
        for (loc, reference, node) in self.returned.drain(..) {
            let taken = self.taken.get(&(loc, reference)).copied();
            self.given_back.entry((loc, taken)).or_default().insert(node);
        }
    }
}
