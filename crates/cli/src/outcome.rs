//! Exit codes.

use std::process::ExitCode;
use unthread_checker::base::Verdict;

/// How a command went. The greatest of several is the most serious, and decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Verified,
    Inconclusive,
    Violation,
    BadInput,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Outcome {
        match verdict {
            Verdict::Verified => Outcome::Verified,
            Verdict::Inconclusive => Outcome::Inconclusive,
            Verdict::Violation => Outcome::Violation,
        }
    }
}

impl Outcome {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Verified => 0,
            Outcome::Violation => 1,
            Outcome::BadInput => 2,
            Outcome::Inconclusive => 3,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(outcome.code())
    }
}
