//! A search, seen from outside: whether to go on, and how far it is.

use super::StopReason;
use crate::solver::Query;

/// Looks at a search from outside: time, interrupts, progress.
pub trait Watch: Sync {
    /// Called now and then. An answer ends the search.
    fn look(&self, progress: &Progress) -> Option<StopReason>;

    /// An alarm, for the middle of work that may take long: why to stop at once. It costs next to nothing. Once there is a
    /// reason, there always is one, so work may be left half done as long as nothing is concluded from it.
    fn stop(&self) -> Option<StopReason> {
        None
    }

    /// Called for every question that was put to a solver.
    fn query(&self, _: &Query<'_>) {}

    /// Whether questions will be read: then solvers remember what they need to write them down.
    fn reads_queries(&self) -> bool {
        false
    }

    /// A worker begins a stage of its work: a watch with a clock can measure it.
    fn enter(&self, _: Stage) {}

    /// A worker is done with the stage that it began last.
    fn leave(&self, _: Stage) {}
}

/// What a worker of an engine that learns from executions is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Running the program.
    Run,
    /// Turning an execution into constraints.
    Learn,
    /// Waiting for the solver.
    Solve,
}

/// A stage under way: it is left when this is dropped.
pub(crate) struct During<'w> {
    watch: &'w dyn Watch,
    stage: Stage,
}

impl<'w> During<'w> {
    pub(crate) fn new(watch: &'w dyn Watch, stage: Stage) -> During<'w> {
        watch.enter(stage);
        During { watch, stage }
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.watch.leave(self.stage);
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// States that are known and have not been looked at.
    pub waiting: u64,
    /// Executions so far.
    pub executions: u64,
}

/// Never stops a search.
pub struct Unwatched;

impl Watch for Unwatched {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        None
    }
}
