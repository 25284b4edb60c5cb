//! What all searches share: options and limits, the watch, findings and verdicts, replays and their confirmation.

pub(crate) mod again;
pub(crate) mod confirm;
mod engine;
pub(crate) mod findings;
pub(crate) mod judge;
mod never_ends;
mod options;
pub(crate) mod replay;
mod report;
mod sequential;
mod watch;

pub(crate) use confirm::{confirmed, is_shown, replay_violation};
pub use engine::Engine;
pub(crate) use engine::engine_table;
pub use options::{Coverage, Limits, Monitor, Options};
pub use replay::{Replay, replay, replay_subject};
pub use report::{
    EngineFailure, Involved, Observation, Report, SolverStatistics, Statistics, StopReason, Violation, ViolationKind,
};
pub use sequential::sequential;
pub(crate) use watch::During;
pub use watch::{Progress, Stage, Unwatched, Watch};
