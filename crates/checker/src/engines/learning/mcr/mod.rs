//! Engine `mcr`: maximal causality reduction, complete and without redundant executions under SC, TSO and PSO.
//!
//! Every run tells, through [`Causality`], which other configurations must be possible. The engine asks for one that
//! deviates from the run and is not the beginning of any execution already seen, runs it to its end, and learns from that run in turn.
//!
//! *No redundancy.* A configuration that is run is not the beginning of any execution seen before. So the execution that it begins is a new
//! combination of thread histories: executions and combinations are equal in number.
//!
//! *Completeness.* Let σ be any execution, and of all runs seen let C agree with the longest beginning of σ: the first event of σ
//! that is not in C is e. If e has a result that differs from C's, or C ends before e, then σ up to e is a configuration of C that deviates. It is the
//! beginning of some execution seen, or the engine would have asked for it; that execution agrees with σ for longer than C does: a
//! contradiction. If all of σ is in C but σ is over, then it is a stuck configuration of C: the engine asks for those too. This is
//! where the published algorithm (Huang, PLDI 2015; Huang & Huang, OOPSLA 2016) differs: it asks for each read and value by itself and keeps prefixes, which both
//! repeats executions (its §4.6) and, with its order for reads of a thread's own writes, misses some.
//!
//! *Workers.* Runs are independent of one another, so workers share nothing but the executions seen (`seen.rs`) and the runs to
//! learn from (`pool.rs`). Two workers may come to the same execution at the same time; then one of the two is dropped. What is found in the end does not depend on who
//! found it first, except where the search ends at the first violation: then it is repeated by one worker, so that it is the same one for every number of workers.

mod pool;
mod predict;
mod seen;
mod worker;

use crate::execution::{Comparable, Describe};
use crate::knowledge::causality::Prediction;
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};
use pool::{Pool, State};
use std::collections::BTreeSet;
use worker::Worker;

/// Explores and reports.
pub fn check<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let (state, findings) = explore(subject, options, watch);
    if options.jobs > 1 && state.stop == Some(StopReason::Violation) {
        return check_subject(subject, &Options { jobs: 1, ..options.clone() }, watch);
    }
    report(state, findings)
}

/// Explores any subject and reports, or says that it cannot: what threads do must depend on nothing but the results of their operations and the contents
/// of opaque objects.
pub fn check_subject<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let (state, findings) = explore_alone(subject, options, watch);
    report(state, findings)
}

/// Runs one execution and reports what its causality implies.
pub fn predict<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let options = Options { all_violations: true, jobs: 1, ..options.clone() };
    let pool = Pool::new();
    let mut worker = Worker::new(subject, &options, &pool, watch);
    let stop = worker.predict().unwrap_or_else(|stop| stop);
    let findings = worker.findings;
    pool.end(stop);
    let mut report = report(pool.into_state(), findings);
    // The others were run as far as it takes to show what is wrong with them, and nothing was learnt from them.
    report.statistics.executions = 1;
    report.statistics.histories = None;
    report
}

/// Each execution is another combination of thread histories.
fn report<S: Describe>(state: State<S::Thread>, mut findings: Findings<'_, S>) -> Report {
    findings.statistics.histories = Some(findings.statistics.executions);
    findings.report(state.stop.unwrap_or(StopReason::Exhausted))
}

/// Every combination of thread histories, or why not everything could be explored.
pub fn histories<S: Comparable>(
    subject: &S,
    options: &Options,
) -> Result<BTreeSet<crate::trace::Combination>, StopReason> {
    let options = Options { all_violations: true, ..options.clone() };
    let (state, _) = explore(subject, &options, &crate::search::Unwatched);
    if let Some(stop) = state.stop {
        return Err(stop);
    }
    Ok(state.seen.combinations().collect())
}

/// Lets the workers work until nothing is left to do.
fn explore<'a, S: Comparable>(
    subject: &'a S,
    options: &'a Options,
    watch: &dyn Watch,
) -> (State<S::Thread>, Findings<'a, S>) {
    if options.jobs <= 1 {
        return explore_alone(subject, options, watch);
    }
    let pool = Pool::new();
    let mut first = Worker::new(subject, options, &pool, watch);
    let mut findings = match first.execute(&Prediction(Vec::new())) {
        Err(stop) => {
            pool.end(stop);
            first.findings
        }
        Ok(()) => std::thread::scope(|scope| {
            let spawn = |_| {
                scope.spawn(|| {
                    let mut worker = Worker::new(subject, options, &pool, watch);
                    worker.work();
                    worker.findings
                })
            };
            let others: Vec<_> = (1..options.jobs).map(spawn).collect();
            first.work();
            let mut findings = first.findings;
            for other in others {
                findings.merge(other.join().expect("workers do not panic"));
            }
            findings
        }),
    };
    findings.judge.sort();
    (pool.into_state(), findings)
}

/// Lets one worker work until nothing is left to do.
fn explore_alone<'a, S: Describe>(
    subject: &'a S,
    options: &'a Options,
    watch: &dyn Watch,
) -> (State<S::Thread>, Findings<'a, S>) {
    let pool = Pool::new();
    let mut worker = Worker::new(subject, options, &pool, watch);
    match worker.execute(&Prediction(Vec::new())) {
        Err(stop) => pool.end(stop),
        Ok(()) => worker.work(),
    }
    let findings = worker.findings;
    (pool.into_state(), findings)
}
