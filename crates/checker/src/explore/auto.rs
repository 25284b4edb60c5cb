//! Engine `auto`: whichever engine is best for the program, found by trying.
//!
//! A search of states comes first, a short one: most programs have few, and where data multiplies but states do not, nothing beats it. Then the engine that learns
//! from executions has a go, then again the search of states, for as many as it visits in a few seconds, and what is left is up to learning. If executions
//! are without end (threads that go round in circles), the search of states goes on for as long as it takes. The bounds are counts, so the same program is always searched in the same way.

use super::{Coverage, Engine, Options, Progress, Stage, Watch, cumulative, exhaustive};
use crate::execution::{Interpreter, Subject};
use crate::report::{Report, StopReason};
use crate::solver::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much is visited at first, and how much before learning is all that is left: states, times their parts (memory, and each thread).
const FIRST_PARTS: u64 = 30_000;
const MOST_PARTS: u64 = 32_000_000;

/// How often the engine that learns may look up from its work, the first time.
const FIRST_LOOKS: u64 = 400;

/// How many executions are tried where threads can go round in circles, and each lap may show something new.
const MOST_LAPPING_EXECUTIONS: u64 = 2_000;

/// Searches with one engine after the other until one comes to an end. The report names that one.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let states = |options: &Options| exhaustive::check(subject, options, watch);
    let exhaustive = Options { engine: Engine::Exhaustive, ..options.clone() };
    if subject.program().automata.is_some() {
        // Whether a goal is reached is a question about states.
        return states(&exhaustive);
    }
    let n_parts = subject.initial().len() as u64 + 1;
    let first = states(&bounded(subject, options, FIRST_PARTS / n_parts));
    if !met_bound(&first, options) {
        return first;
    }
    let short = Short { watch, left: AtomicU64::new(FIRST_LOOKS) };
    let learnt = learn(subject, options, &short);
    if !short.is_over() {
        match learnt {
            Some(report) => return report,
            None => return states(&exhaustive),
        }
    }
    let second = states(&bounded(subject, options, MOST_PARTS / n_parts));
    if !met_bound(&second, options) {
        return second;
    }
    learn(subject, options, watch).unwrap_or_else(|| states(&exhaustive))
}

/// Whether a search of states ended because of the bound that was added here.
fn met_bound(report: &Report, options: &Options) -> bool {
    report.stop == StopReason::StateLimit && report.statistics.states < options.limits.states
}

/// Learns from executions. Nothing, if they are without end.
fn learn(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Option<Report> {
    let mut learning = Engine::Cumulative.adapt(&Options { engine: Engine::Cumulative, ..options.clone() });
    if subject.has_cycles() {
        learning.limits.executions = learning.limits.executions.min(MOST_LAPPING_EXECUTIONS);
    }
    let report = cumulative::check(subject, &learning, watch);
    let met_bound = match report.stop {
        StopReason::EventLimit => true,
        StopReason::ExecutionLimit => learning.limits.executions < options.limits.executions,
        _ => false,
    };
    (!met_bound).then_some(report)
}

/// A search of states whose number is the only bound, so that stores may wait as long as they like, unless threads can go round in circles and store for ever.
fn bounded(subject: &Interpreter<'_>, options: &Options, most_states: u64) -> Options {
    let count_histories = options.count_histories || options.coverage == Coverage::States;
    let mut options = Options { engine: Engine::Exhaustive, count_histories, ..options.clone() };
    if !subject.has_cycles() {
        options.rules = options.rules.unbounded();
    }
    options.limits.states = options.limits.states.min(most_states);
    options
}

/// Ends a search after so many looks: a bound on work without a clock.
struct Short<'w> {
    watch: &'w dyn Watch,
    left: AtomicU64,
}

impl Short<'_> {
    fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

impl Watch for Short<'_> {
    fn look(&self, progress: &Progress) -> Option<StopReason> {
        if let Some(stop) = self.watch.look(progress) {
            return Some(stop);
        }
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(1)));
        (left == Ok(0)).then_some(StopReason::ExecutionLimit)
    }

    fn query(&self, query: &Query<'_>) {
        self.watch.query(query);
    }

    fn enter(&self, stage: Stage) {
        self.watch.enter(stage);
    }

    fn leave(&self, stage: Stage) {
        self.watch.leave(stage);
    }
}
