//! Exploration: [`check`] runs an engine on a program and makes the report.
//!
//! Engines know nothing of clocks, files or terminals. A [`Watch`] is asked now and then whether to go on.

pub mod exhaustive;
pub mod histories;
mod judge;
pub mod mcr;
mod runner;
mod visited;

use crate::execution::{Interpreter, MemoryModel, Rules, Stuck};
use crate::program::Program;
use crate::report::{Report, StopReason, Violation, ViolationKind};
use crate::trace;

/// What to check, and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engine.
    pub engine: Engine,
    /// The memory model.
    pub memory: MemoryModel,
    /// Its rules; tests break them on purpose.
    pub rules: Rules,
    /// Find everything that is wrong, not just the first.
    pub all_violations: bool,
    /// Count combinations of thread histories, however long it takes. Otherwise they are counted where it is cheap.
    pub count_histories: bool,
    /// Bounds.
    pub limits: Limits,
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Explicit-state search: the oracle.
    Exhaustive,
    /// Maximal causality reduction.
    Mcr,
}

/// Bounds on a search. A search that met one has not verified anything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions.
    pub executions: u64,
    /// Distinct states.
    pub states: u64,
    /// Steps of one execution.
    pub events: u64,
}

/// Looks at a search from outside: time, interrupts, progress.
pub trait Watch {
    /// Called now and then. An answer ends the search.
    fn look(&self, progress: &Progress) -> Option<StopReason>;
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

impl Options {
    /// Everything under this memory model, without bounds.
    pub fn new(memory: MemoryModel) -> Options {
        let limits = Limits { executions: u64::MAX, states: u64::MAX, events: u64::MAX };
        Options { engine: Engine::Exhaustive, memory, rules: memory.rules(), all_violations: false, count_histories: false, limits }
    }
}

/// Checks a program. Every violation has been replayed.
pub fn check(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = Interpreter::new(program);
    let mut report = match options.engine {
        Engine::Exhaustive => exhaustive::check(&subject, options, watch),
        Engine::Mcr => mcr::check(&subject, options, watch),
    };
    if let Some(why) = report.violations.iter().find_map(|violation| confirm(&subject, options, violation).err()) {
        report.stop = StopReason::Failed(why);
    }
    report
}

/// Replays a violation's schedule and sees whether it ends in that violation.
fn confirm(subject: &Interpreter<'_>, options: &Options, violation: &Violation) -> Result<(), String> {
    let trace = trace::replay(subject, options.rules, &violation.schedule).map_err(|error| error.to_string())?;
    let shown = match violation.kind {
        ViolationKind::Failure(kind) => {
            trace.events.last().and_then(|event| event.failure.as_ref()).is_some_and(|failure| failure.kind == kind)
        }
        ViolationKind::Deadlock => matches!(trace.end, Some(Stuck::Deadlock(_))),
        ViolationKind::Livelock => matches!(trace.end, Some(Stuck::Livelock(_))),
        ViolationKind::Condition => trace.end == Some(Stuck::Finished),
        ViolationKind::DataRace => true,
    };
    let schedule = &violation.schedule;
    shown.then_some(()).ok_or_else(|| format!("schedule {schedule} does not show {}", violation.kind.name()))
}

impl Watch for Unwatched {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        None
    }
}
