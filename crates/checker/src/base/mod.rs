//! What every module may name: threads, locations, steps and schedules, failures, verdicts, places in a source text.

pub(crate) mod failure;
pub(crate) mod ids;
pub(crate) mod loc;
pub(crate) mod paged;
pub(crate) mod schedule;
pub(crate) mod source;
pub(crate) mod verdict;

pub use failure::{FAILED, Failure, FailureKind};
pub use ids::{ThreadId, ThreadKey};
pub use loc::Loc;
pub use schedule::{Action, Schedule, Step};
pub use source::{Diagnostic, Label, LineColumn, Source, Span};
pub use verdict::Verdict;
