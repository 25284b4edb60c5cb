//! A flag to wait for, as loom has it.

use crate::runtime::{Kind, Name, Signal};
use unthread_checker::execution::Waits;
use unthread_checker::program::{Ordering, RmwOp};

/// Somebody waits, somebody notifies. One notification is remembered.
#[derive(Debug)]
pub struct Notify {
    name: Name,
}

impl Notify {
    constructors! {
        /// Nobody has been notified.
        new() -> Notify { Notify { name: Name::new(Kind::Notify) } } const { Notify { name: Name::constant(Kind::Notify) } }
    }

    /// Lets the waiting thread go on, or the next that waits.
    #[track_caller]
    pub fn notify(&self) {
        Signal::flag(self.name.get()).update(RmwOp::Swap, 1, Ordering::Release);
    }

    /// Waits for a notification and uses it up.
    #[track_caller]
    pub fn wait(&self) {
        Signal::flag(self.name.get()).update_when_changed(0, RmwOp::Swap, 0, Waits::For("a notification".to_string()));
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Notify::new()
    }
}
