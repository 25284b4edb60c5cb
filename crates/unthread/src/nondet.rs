//! Input that may be anything.

use crate::runtime::perform;
use unthread_checker::execution::Operation;

/// Any value of a range; every one is tried.
///
/// # Panics
/// If the range is empty.
#[track_caller]
pub fn choose(range: std::ops::Range<usize>) -> usize {
    assert!(!range.is_empty(), "there is nothing to choose from");
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
