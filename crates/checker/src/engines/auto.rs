//! Engine `auto`: whichever engine is best for the program, found by trying.
//!
//! Three engines take turns, longer ones each time: one that runs executions one by one, a search of states that leaves out what shows nothing new, and the engine that learns from all executions. Where a
//! failure is near or there is next to nothing to explore, nothing beats a few executions; most programs have few states, and where data multiplies but states do not, nothing beats visiting them; where
//! threads and stores multiply, learning does. It has the last turn, without a bound; but if executions are without end (threads that go round in circles), the search of states goes on for as long as it
//! takes. The bounds are counts, so the same program is always searched in the same way.

use super::learning::{cumulative, mcr};
use super::states::exhaustive;
use crate::execution::Comparable;
use crate::search::{Coverage, Engine, EngineFailure, Options, Progress, Report, Stage, StopReason, Watch};
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
const FIRST_EVENTS: u64 = 1_000;

/// How many executions are tried where threads can go round in circles, and each lap may show something new.
const MOST_LAPPING_EXECUTIONS: u64 = 2_000;

/// How an engine is asked.
type Check<S> = fn(&S, &Options, &dyn Watch) -> Report;

/// The engines that take turns with the search of states.
struct Engines<S> {
    mcr: Check<S>,
    cumulative: Check<S>,
}

/// Searches with one engine after the other until one comes to an end. The report names that one, and those that failed before.
pub fn check<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    check_with(&Engines { mcr: mcr::check, cumulative: cumulative::check }, subject, options, watch)
}

fn check_with<S: Comparable>(engines: &Engines<S>, subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let mut failures = Vec::new();
    let report = take_turns(engines, subject, options, watch, &mut failures);
    Report { failures, ..report }
}

fn take_turns<S: Comparable>(
    engines: &Engines<S>,
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
    failures: &mut Vec<EngineFailure>,
) -> Report {
    let exhaustive = Options { engine: Engine::Exhaustive, reduced: true, ..options.clone() };
    let states = || exhaustive::check(subject, &exhaustive, watch);
    if subject.code().automata.is_some() {
        // Whether a goal is reached is a question about states.
        return states();
    }
    for turn in TURNS {
        let report = match turn {
            Turn::Executions(looks) => {
                within(looks, watch, |watch| run(engines.mcr, subject, options, watch, failures)).flatten()
            }
            Turn::States(parts) => {
                let reduced = parts > FEW || !is_limited(options);
                let options = Options { reduced, ..visiting(subject, options) };
                exhaustive::check_within(parts, subject, &options, watch)
            }
            Turn::Learning(looks) => {
                let learnt = within(looks, watch, |watch| learn(engines.cumulative, subject, options, watch, failures));
                learnt.map(|learnt| learnt.unwrap_or_else(states))
            }
        };
        if let Some(report) = report {
            return report;
        }
    }
    learn(engines.cumulative, subject, options, watch, failures).unwrap_or_else(states)
}

/// That an engine failed is a mistake of ours, and said, whatever the others find.
fn note_failure(report: &Report, failures: &mut Vec<EngineFailure>) {
    if let StopReason::Failed(why) = &report.stop {
        let failure = EngineFailure { engine: report.engine, why: why.clone() };
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
}

/// Runs executions one by one. Nothing, if somebody else has to find out.
fn run<S: Comparable>(
    mcr: Check<S>,
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
    failures: &mut Vec<EngineFailure>,
) -> Option<Report> {
    if subject.has_cycles() || is_limited(options) {
        return None;
    }
    let mut running = Engine::Mcr.adapt(&Options { engine: Engine::Mcr, jobs: 1, ..options.clone() });
    running.limits.events = running.limits.events.min(FIRST_EVENTS);
    let report = mcr(subject, &running, watch);
    note_failure(&report, failures);
    let is_over = matches!(
        report.stop,
        StopReason::Exhausted
            | StopReason::Violation
            | StopReason::TimeLimit
            | StopReason::MemoryLimit
            | StopReason::Interrupted
    );
    is_over.then_some(report)
}

/// Whether somebody has set a limit: then they want to know how far a search comes with it, and all states are visited while they are few.
fn is_limited(options: &Options) -> bool {
    let limits = &options.limits;
    [limits.states, limits.executions, limits.events].into_iter().any(|limit| limit != u64::MAX)
}

/// Learns from executions. Nothing, if that comes to no end or failed.
fn learn<S: Comparable>(
    cumulative: Check<S>,
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
    failures: &mut Vec<EngineFailure>,
) -> Option<Report> {
    let mut learning = Engine::Cumulative.adapt(&Options { engine: Engine::Cumulative, ..options.clone() });
    if subject.has_cycles() {
        learning.limits.executions = learning.limits.executions.min(MOST_LAPPING_EXECUTIONS);
    }
    let report = cumulative(subject, &learning, watch);
    note_failure(&report, failures);
    let met_bound = match report.stop {
        // A search of states needs no solver, and may yet come to an end.
        StopReason::EventLimit | StopReason::Failed(_) => true,
        StopReason::ExecutionLimit => learning.limits.executions < options.limits.executions,
        _ => false,
    };
    (!met_bound).then_some(report)
}

/// A search of states in which stores may wait as long as they like, unless threads can go round in circles and store for ever.
fn visiting<S: Comparable>(subject: &S, options: &Options) -> Options {
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

    fn stop(&self) -> Option<StopReason> {
        self.watch.stop()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Source, Verdict};
    use crate::execution::{MemoryModel, interpret};
    use crate::frontend::ut;
    use crate::program::Program;
    use crate::report::Style;
    use crate::report::json::json;
    use crate::report::text::Text;
    use crate::search::Unwatched;
    use std::sync::Arc;

    /// An engine that contradicts itself.
    fn broken<S: Comparable>(subject: &S, options: &Options, _: &dyn Watch) -> Report {
        let mut nothing = options.clone();
        nothing.limits.states = 0;
        let stop = StopReason::Failed(format!("engine {} is broken", options.engine));
        Report { engine: options.engine, stop, ..exhaustive::check(subject, &nothing, &Unwatched) }
    }

    const FINE: &str = "shared x; thread t * 2 { x.fetch_add(1); } finally { assert(x == 2); }";
    const WRONG: &str = "shared x; thread t * 2 { x += 1; } finally { assert(x == 2); }";

    fn parsed(text: &str) -> Program {
        ut::parse(Arc::new(Source::new("test.ut", text)), &Default::default()).expect("it is a program")
    }

    fn checked<S: Comparable>(subject: &S, engines: &Engines<S>) -> Report {
        let options = Options { engine: Engine::Auto, ..Options::new(MemoryModel::Tso) };
        check_with(engines, subject, &options, &Unwatched)
    }

    #[test]
    fn an_engine_that_fails_is_in_the_report_whatever_the_others_find() {
        for (text, verdict) in [(FINE, Verdict::Verified), (WRONG, Verdict::Violation)] {
            let program = parsed(text);
            let report = checked(&interpret(&program), &Engines { mcr: broken, cumulative: cumulative::check });
            assert_eq!(report.verdict(), verdict);
            let failure = EngineFailure { engine: Engine::Mcr, why: "engine mcr is broken".to_string() };
            assert_eq!(report.failures, [failure]);
            let object = json(&program, MemoryModel::Tso.rules(), &report, None);
            let object = serde_json::to_value(&object).expect("it is JSON");
            assert_eq!(object["engine_failures"][0]["engine"], "mcr");
            assert_eq!(object["engine_failures"][0]["message"], "engine mcr is broken");
            let text = Text {
                program: &program,
                memory: MemoryModel::Tso,
                rules: MemoryModel::Tso.rules(),
                style: Style::PLAIN,
                replay_command: &|schedule| schedule.to_string(),
            };
            let told = text.report(&report, None);
            assert!(told.contains("warning: engine mcr contradicts itself: engine mcr is broken"), "{told}");
        }
    }

    #[test]
    fn where_no_engine_fails_none_is_named() {
        for text in [FINE, WRONG] {
            let program = parsed(text);
            let report = checked(&interpret(&program), &Engines { mcr: mcr::check, cumulative: cumulative::check });
            assert_eq!(report.failures, []);
            let object = serde_json::to_value(json(&program, MemoryModel::Tso.rules(), &report, None));
            assert!(object.expect("it is JSON").get("engine_failures").is_none());
        }
    }

    /// So many threads that the search of states has not ended when learning begins.
    #[test]
    fn learning_that_fails_is_in_the_report_too() {
        let text = "shared x; thread t * 7 { x.fetch_add(1); let r = x; x.fetch_add(1); } finally { assert(x == 14); }";
        let report = checked(&interpret(&parsed(text)), &Engines { mcr: broken, cumulative: broken });
        assert_eq!(report.verdict(), Verdict::Verified);
        let engines: Vec<Engine> = report.failures.iter().map(|failure| failure.engine).collect();
        assert_eq!(engines, [Engine::Mcr, Engine::Cumulative]);
    }
}
