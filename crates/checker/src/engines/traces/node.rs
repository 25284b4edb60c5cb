//! A node of the search for traces: what sleeps there, and what is still to be explored.

use super::reversal::Reversal;
use super::wakeup_tree::{Forest, Tree};
use crate::trace::happens_before::Taken;
use crate::trace::happens_before::footprint::Footprint;
use crate::trace::happens_before::process::{Label, Processes};

/// Where the search stands before an event.
pub(crate) struct Node {
    /// Steps that were explored from here or from an earlier node, and that nothing since conflicts with.
    pub(crate) sleep: Vec<Asleep>,
    /// What is still to be explored from here.
    pub(crate) tree: Tree,
    /// Preemptions so far.
    pub(crate) preemptions: u32,
    /// The thread that ran last.
    pub(crate) running: Option<usize>,
}

/// A step that need not be taken.
pub(crate) struct Asleep {
    pub(crate) label: Label,
    pub(crate) footprint: Footprint,
}

impl Node {
    /// Adds a reversed race to what is to be explored from here, unless that is covered.
    pub(crate) fn wake(&mut self, forest: &mut Forest, reversal: &mut Reversal<'_>) {
        if !self.sleep.iter().any(|asleep| reversal.can_begin_with(asleep.label, &asleep.footprint)) {
            forest.insert(&mut self.tree, reversal);
        }
    }

    /// The memory of its sleeping steps.
    pub(crate) fn into_spare(mut self) -> Vec<Asleep> {
        self.sleep.clear();
        self.sleep
    }

    /// Adds what still sleeps after a step: all that the step does not conflict with.
    pub(crate) fn add_still_asleep(&self, left: &mut Vec<Asleep>, taken: &Taken, processes: &Processes) {
        for asleep in &self.sleep {
            let process = asleep.label.process;
            if process == taken.label.process {
                continue;
            }
            let mut footprint = asleep.footprint.clone();
            if taken.flushed.is_some() && processes.get(process).thread == taken.thread {
                footprint.own_store_arrived(&taken.footprint);
            } else if footprint.is_woken_by(&taken.footprint) {
                continue;
            }
            left.push(Asleep { label: asleep.label, footprint });
        }
    }
}
