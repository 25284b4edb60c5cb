//! Input that may be anything.

use crate::runtime::perform;
use unthread_checker::execution::Operation;

/// The most values that one choice can have: as many as in programs.
const MOST_CHOICES: usize = 1 << 16;

/// Any value of a range; every one is tried.
///
/// # Panics
/// If the range is empty, or has more than 65,536 values.
#[track_caller]
pub fn choose(range: std::ops::Range<usize>) -> usize {
    assert!(!range.is_empty(), "there is nothing to choose from");
    assert!(
        range.len() <= MOST_CHOICES,
        "`choose` takes a range of at most {MOST_CHOICES} values, not {}",
        range.len()
    );
    perform(Operation::Choose { low: range.start as i64, high: range.end as i64 }) as usize
}

/// Both, in different executions.
#[track_caller]
pub fn any() -> bool {
    choose(0..2) == 1
}

/// Executions in which the condition does not hold do not count.
#[track_caller]
pub fn assume(condition: bool) {
    if !condition {
        perform(Operation::Stop);
    }
}
