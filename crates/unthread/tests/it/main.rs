//! Tests of the library. Each module is one kind of claim.

// SAFETY: threads under test are coroutines of one thread, so what they do to a cell never happens at the same time; whether it
// could is what the tests are about.
#![allow(clippy::undocumented_unsafe_blocks)]

#[cfg(unix)]
mod aborting;
mod apart;
// It has an allocator of its own.
#[cfg(not(feature = "global-allocator"))]
mod allocation;
mod beyond_loom;
mod const_new;
mod environment;
mod first;
mod generated;
mod generated_language;
mod generated_lifetimes;
mod generated_polling;
#[cfg(unix)]
mod hanging;
mod language;
mod learning;
mod lifetimes;
mod loom_is_wrong;
mod nondeterminism;
#[allow(dead_code, unused_imports)]
#[path = "../../../checker/tests/it/oracle/mod.rs"]
mod oracle;
mod orderings;
mod polling;
mod raw;
mod read_again;
mod scripts;
mod shapes;
mod spinning;
mod statics;
mod surface;
mod thread_panics;
mod timed_waits;
mod types;
mod weak_memory;
mod words;

/// Whether the check knows what is on the heap: `allocation.rs` has made its allocator that of the program, or the feature has.
const KNOWS_THE_HEAP: bool = true;

use unthread::model::{Builder, MemoryModel, Report, Verdict};

/// Checks a closure under a memory model.
fn under(memory: MemoryModel, f: impl Fn() + Send + Sync + 'static) -> Report {
    Builder::new().memory(memory).report(f)
}

/// The closure is fine, whatever happens. Gives the number of executions.
#[track_caller]
fn holds(f: impl Fn() + Send + Sync + 'static) -> u64 {
    let report = under(MemoryModel::Tso, f);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    report.statistics.executions
}

/// Something is wrong with the closure. Gives the kind and the message.
#[track_caller]
fn fails(f: impl Fn() + Send + Sync + 'static) -> (&'static str, String) {
    let report = under(MemoryModel::Tso, f);
    let violation = report.violations.first().unwrap_or_else(|| panic!("nothing is wrong: {report:?}"));
    (violation.kind.name(), violation.message.clone())
}
