//! Engine `auto`: whichever engine is best for the program, found by trying.
//!
//! A search of states and the engine that learns from executions take turns, longer ones each time. Most programs have few states, and where data multiplies but states do not, nothing
//! beats visiting them; where threads and stores multiply, learning does. It has the last turn, without a bound; but if executions are without end (threads that go round in circles),
//! the search of states goes on for as long as it takes. The bounds are counts, so the same program is always searched in the same way.
//!
//! The first turn visits all states, so that of small programs the shortest way to a failure is found and told; later ones only those that can show something new (`Options::reduced`).

use super::{Coverage, Engine, Options, Progress, Stage, Watch, cumulative, exhaustive};
use crate::execution::{Interpreter, Subject};
use crate::report::{Report, StopReason};
use crate::solver::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// The turns: how much is visited (states, times their parts: memory, and each thread), and then how often the engine that learns may look up from its work.
const TURNS: [(u64, u64); 3] = [(30_000, 40), (1_200_000, 800), (32_000_000, u64::MAX)];

/// How many executions are tried where threads can go round in circles, and each lap may show something new.
const MOST_LAPPING_EXECUTIONS: u64 = 2_000;

/// Searches with one engine after the other until one comes to an end. The report names that one.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let states = |options: &Options| exhaustive::check(subject, options, watch);
    let exhaustive = Options { engine: Engine::Exhaustive, reduced: true, ..options.clone() };
    if subject.program().automata.is_some() {
        // Whether a goal is reached is a question about states.
        return states(&exhaustive);
    }
    let n_parts = subject.initial().len() as u64 + 1;
    for (turn, (most_parts, most_looks)) in TURNS.into_iter().enumerate() {
        let visited = states(&Options { reduced: turn > 0, ..bounded(subject, options, most_parts / n_parts) });
        if !met_bound(&visited, options) {
            return visited;
        }
        let learning = Turn { watch, left: AtomicU64::new(most_looks) };
        let learnt = learn(subject, options, &learning);
        if !learning.is_over() {
            return learnt.unwrap_or_else(|| states(&exhaustive));
        }
    }
    unreachable!("the last turn has no end of its own")
}

/// Whether a search of states ended because of the bound that was added here.
fn met_bound(report: &Report, options: &Options) -> bool {
    report.stop == StopReason::StateLimit && report.statistics.states < options.limits.states
}

/// Learns from executions. Nothing, if they are without end, or if that failed.
fn learn(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Option<Report> {
    let mut learning = Engine::Cumulative.adapt(&Options { engine: Engine::Cumulative, ..options.clone() });
    if subject.has_cycles() {
        learning.limits.executions = learning.limits.executions.min(MOST_LAPPING_EXECUTIONS);
    }
    let report = cumulative::check(subject, &learning, watch);
    let met_bound = match report.stop {
        // A search of states needs no solver, and may yet come to an end.
        StopReason::EventLimit | StopReason::Failed(_) => true,
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
struct Turn<'w> {
    watch: &'w dyn Watch,
    left: AtomicU64,
}

impl Turn<'_> {
    fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

impl Watch for Turn<'_> {
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

    fn reads_queries(&self) -> bool {
        self.watch.reads_queries()
    }

    fn enter(&self, stage: Stage) {
        self.watch.enter(stage);
    }

    fn leave(&self, stage: Stage) {
        self.watch.leave(stage);
    }
}
