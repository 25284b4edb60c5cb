//! The three verdicts.

/// The judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that can happen was covered, and nothing is wrong.
    Verified,
    /// Something is wrong.
    Violation,
    /// Nothing wrong was seen, but not everything was covered.
    Inconclusive,
}

impl Verdict {
    /// The verdict as reports and expectations write it.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Violation => "violation",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}
