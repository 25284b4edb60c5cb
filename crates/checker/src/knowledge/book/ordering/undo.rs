//! What has been noted can be taken back when the core backtracks.

use super::{NONE, Ordered};
use crate::knowledge::book::{NodeId, WriteId};
use crate::solver::Lit;

/// Where a level began.
pub(crate) struct Mark {
    pub(crate) precedence: usize,
    pub(crate) undo: usize,
    pub(crate) n_seen: usize,
}

/// What has been noted, to be taken back.
pub(crate) enum Undo {
    Taken(NodeId),
    Issued(NodeId),
    Written(WriteId),
    Drain(u32, u32),
    Barrier(u32, u32),
    Forked(u32),
    TrueSource(u32),
    InForce(u32),
    Order(Lit),
    Lock(u32),
    Closed,
    Over,
    Late,
}

impl Ordered<'_, '_> {
    pub(crate) fn take_back(&mut self, undo: Undo) {
        match undo {
            Undo::Taken(node) => self.taken[node as usize] = NONE,
            Undo::Issued(node) => {
                self.issues[node as usize] = NONE;
                self.waiting.push(node);
            }
            Undo::Written(write) => {
                self.writes[write as usize] = NONE;
                let thread = self.writer(write);
                let of_cell = &mut self.written[self.book.writes[write as usize].cell as usize];
                let of_thread = of_cell.iter_mut().find(|of| of.0 == thread).expect("it was noted");
                of_thread.1.retain(|&other| other != write);
            }
            Undo::Drain(thread, index) => drop(self.drains[thread as usize].remove(&index)),
            Undo::Barrier(thread, index) => drop(self.barriers[thread as usize].remove(&index)),
            Undo::Forked(thread) => self.forked[thread as usize] = NONE,
            Undo::TrueSource(source) => {
                let of = self.book.sources[source as usize];
                self.sources_of_access[of.access as usize].pop();
                if let Some(write) = of.write {
                    self.sources_of_write[write as usize].pop();
                }
            }
            Undo::InForce(source) => self.forget(source),
            Undo::Order(lit) => {
                self.true_orders.remove(&lit);
            }
            Undo::Closed => self.closed.clear(),
            Undo::Lock(cell) => self.locks[cell as usize] = false,
            Undo::Over => self.over = None,
            Undo::Late => drop(self.late.pop()),
        }
    }
}
