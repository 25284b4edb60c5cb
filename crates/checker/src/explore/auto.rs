//! Engine `auto`: whichever engine is best for the program, found by trying.
//!
//! Three engines take turns, longer ones each time: one that runs executions one by one, a search of states that leaves out what shows nothing new, and the engine that learns from all executions. Where a
//! failure is near or there is next to nothing to explore, nothing beats a few executions; most programs have few states, and where data multiplies but states do not, nothing beats visiting them; where
//! threads and stores multiply, learning does. It has the last turn, without a bound; but if executions are without end (threads that go round in circles), the search of states goes on for as long as it
//! takes. The bounds are counts, so the same program is always searched in the same way.

use super::{Coverage, Engine, Options, Progress, Stage, Watch, cumulative, exhaustive, mcr};
use crate::execution::Interpreter;
use crate::report::{Report, StopReason};
use crate::solver::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// A turn, and how much is done in it.
#[derive(Clone, Copy)]
enum Turn {
    /// Executions are run one by one: so many looks up from the work, about one for each question to the solver.
    Executions(u64),
    /// States are visited: so many parts (memory, and each thread).
    States(usize),
    /// Everything is learnt that executions show: so many looks up from the work, one for each question and for every thousand literals that the solver tries.
    Learning(u64),
}

/// The turns. Each takes about as long as those before it together, or longer, so that what was tried in vain costs little. What was measured with `unthread bench engines`: eight questions (less than half a
/// millisecond) find the failures for which `mcr` is quicker than the others, and are the end of programs in which next to nothing can happen; 1,300 states of two threads cost up to a millisecond, and most
/// of the programs have fewer; 60 looks a few milliseconds, in which most of the others are learnt; 10,000 states another few, with which those are done that have much data (`msqueue`, `bubblesort`,
/// `waitnotify`). From there on programs are large, and thousands of looks take longer than millions of states, which most of what was
/// measured has (`fib_bench 6`, `trylock 250`, SATCheck's `seqlock 20`).
const TURNS: [Turn; 10] = [
    Turn::Executions(8),
    Turn::States(FEW),
    Turn::Learning(60),
    Turn::States(30_000),
    Turn::Learning(200),
    Turn::States(1_200_000),
    Turn::Learning(1_000),
    Turn::States(6_000_000),
    Turn::Learning(6_400),
    Turn::States(32_000_000),
];

/// So much is visited first.
const FEW: usize = 4_000;

/// Longer executions are not run one by one.
const MOST_EVENTS: u64 = 1_000;

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
    for turn in TURNS {
        let report = match turn {
            Turn::Executions(looks) => within(looks, watch, |watch| run(subject, options, watch)).flatten(),
            Turn::States(parts) => {
                let reduced = parts > FEW || !is_limited(options);
                let options = Options { reduced, ..visiting(subject, options) };
                exhaustive::check_within(parts, subject, &options, watch)
            }
            Turn::Learning(looks) => {
                let learnt = within(looks, watch, |watch| learn(subject, options, watch));
                learnt.map(|learnt| learnt.unwrap_or_else(|why| after_all(why, states(&exhaustive))))
            }
        };
        if let Some(report) = report {
            return report;
        }
    }
    learn(subject, options, watch).unwrap_or_else(|why| after_all(why, states(&exhaustive)))
}

/// A search of states that had to be made because learning came to no end. That the solver failed is a mistake of ours, and said.
fn after_all(why: StopReason, mut report: Report) -> Report {
    if let (StopReason::Failed(why), Some(coverage)) = (why, &mut report.coverage) {
        *coverage += &format!(" (engine cumulative failed: {why})");
    }
    report
}

/// Runs executions one by one. Nothing, if somebody else has to find out.
fn run(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Option<Report> {
    if subject.has_cycles() || is_limited(options) {
        return None;
    }
    let mut running = Engine::Mcr.adapt(&Options { engine: Engine::Mcr, jobs: 1, ..options.clone() });
    running.limits.events = running.limits.events.min(MOST_EVENTS);
    let report = mcr::check(subject, &running, watch);
    let is_over = matches!(
        report.stop,
        StopReason::Exhausted | StopReason::Violation | StopReason::TimeLimit | StopReason::Interrupted
    );
    is_over.then_some(report)
}

/// Whether somebody has set a limit: then they want to know how far a search comes with it, and all states are visited while they are few.
fn is_limited(options: &Options) -> bool {
    let limits = &options.limits;
    [limits.states, limits.executions, limits.events].into_iter().any(|limit| limit != u64::MAX)
}

/// Learns from executions. Otherwise says why that comes to no end, or failed.
fn learn(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Result<Report, StopReason> {
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
    if met_bound { Err(report.stop) } else { Ok(report) }
}

/// A search of states in which stores may wait as long as they like, unless threads can go round in circles and store for ever.
fn visiting(subject: &Interpreter<'_>, options: &Options) -> Options {
    let count_histories = options.count_histories || options.coverage == Coverage::States;
    let mut options = Options { engine: Engine::Exhaustive, count_histories, ..options.clone() };
    if !subject.has_cycles() {
        options.rules = options.rules.unbounded();
    }
    options
}

/// Searches for so many looks. Nothing, if that was not enough.
fn within<T>(looks: u64, watch: &dyn Watch, search: impl FnOnce(&dyn Watch) -> T) -> Option<T> {
    let patience = Patience { watch, left: AtomicU64::new(looks) };
    let found = search(&patience);
    (patience.left.load(Ordering::Relaxed) > 0).then_some(found)
}

/// Ends a search after so many looks: a bound on work without a clock.
struct Patience<'w> {
    watch: &'w dyn Watch,
    left: AtomicU64,
}

impl Watch for Patience<'_> {
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
