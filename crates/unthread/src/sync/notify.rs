//! A flag to wait for, as loom has it.

use crate::runtime::{create_cell, update, update_when_changed};
use unthread_checker::execution::Waits;
use unthread_checker::program::RmwOp;

/// Somebody waits, somebody notifies. One notification is remembered.
#[derive(Debug)]
pub struct Notify {
    cell: u32,
}

impl Notify {
    /// Nobody has been notified.
    #[track_caller]
    pub fn new() -> Notify {
        Notify { cell: create_cell("Notify", 0) }
    }

    /// Lets the waiting thread go on, or the next that waits.
    #[track_caller]
    pub fn notify(&self) {
        update(self.cell, RmwOp::Swap, 1);
    }

    /// Waits for a notification and uses it up.
    #[track_caller]
    pub fn wait(&self) {
        update_when_changed(self.cell, 0, RmwOp::Swap, 0, Waits::For("a notification".to_string()));
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}
