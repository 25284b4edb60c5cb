//! Exploration: [`check`] runs an engine on a program and makes the report.
//!
//! Engines know nothing of clocks, files or terminals. A [`Watch`] is asked now and then whether to go on.

mod again;
mod alone;
pub mod auto;
pub mod cumulative;
mod data_races;
mod deed;
pub mod dfs;
pub mod dpor;
mod endless;
mod engine;
pub mod exhaustive;
mod findings;
mod footprint;
mod futures;
mod gate;
mod happens_before;
pub mod histories;
pub mod icb;
mod icb_traces;
mod judge;
pub mod mcr;
mod monitor;
mod moves;
mod node;
mod observe;
mod paged;
pub mod pct;
mod process;
pub mod random;
mod replay;
mod reversal;
mod rewind;
pub mod robustness;
mod rows;
mod runner;
mod sampling;
mod sequential;
mod simplest;
mod spectators;
mod survey;
mod visited;
mod wakeup_tree;

pub(crate) use deed::is_alike;
pub use engine::Engine;
pub use monitor::Monitor;
pub use replay::{Replay, replay, replay_subject};
pub use sequential::sequential;
pub use simplest::{price, simplify};
pub use survey::{Survey, SurveyedRead, survey};

use crate::execution::{Describe, Interpreter, MemoryModel, Rules};
use crate::program::Program;
use crate::report::{EngineFailure, Report, StopReason, Violation, ViolationKind};
use crate::solver::Query;
use crate::trace::ReplayError;

/// What to check, and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// The memory model.
    pub memory: MemoryModel,
    /// Its rules; tests break them on purpose.
    pub rules: Rules,
    /// How to search.
    pub engine: Engine,
    /// What to watch for on the side. SC executions are run, whatever the memory model, and the engine is `dpor` unless it is another
    /// that runs them.
    pub monitor: Option<Monitor>,
    /// Visit fewer states where a search of states can tell that the others show nothing new: steps that concern nobody else go first, and threads that only
    /// read are looked at one at a time.
    pub reduced: bool,
    /// Find everything that is wrong, not just the first.
    pub all_violations: bool,
    /// Count combinations of thread histories, however long it takes. Otherwise they are counted where it is cheap.
    pub count_histories: bool,
    /// What has to be covered, for engines that can choose.
    pub coverage: Coverage,
    /// How many workers explore, for engines that can use several.
    pub jobs: usize,
    /// Bounds.
    pub limits: Limits,
    /// How many sources of a read the solver knows before it needs more, and how many other values a read has before they share a literal. Tests make them few:
    /// generated programs are small.
    pub first_sources: usize,
}

/// What has to be covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// Everything that any thread can do, and everything that can go wrong.
    #[default]
    Behaviours,
    /// As `Behaviours`, and every final state.
    FinalStates,
    /// As `FinalStates`, and every combination of what all threads do.
    States,
}

/// Bounds on a search. A search that met one has not verified anything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions.
    pub executions: u64,
    /// Distinct states.
    pub states: u64,
    /// Steps of one execution.
    pub events: u64,
    /// Preemptions of one execution, for `dpor`.
    pub preemptions: Option<u32>,
}

impl Limits {
    /// The most events of an execution: what was asked for, or this many.
    pub(crate) fn events_or(&self, most: u64) -> u64 {
        if self.events == u64::MAX { most } else { self.events }
    }
}

/// Looks at a search from outside: time, interrupts, progress.
pub trait Watch: Sync {
    /// Called now and then. An answer ends the search.
    fn look(&self, progress: &Progress) -> Option<StopReason>;

    /// Asked in the middle of whatever may take long, and so it costs next to nothing: why to stop at once. Once there is a reason, there always is one.
    fn stop(&self) -> Option<StopReason> {
        None
    }

    /// Called for every question that was put to a solver.
    fn query(&self, _: &Query<'_>) {}

    /// Whether questions will be read: then solvers remember what they need to write them down.
    fn reads_queries(&self) -> bool {
        false
    }

    /// A worker begins a stage of its work: whoever has a clock can measure it.
    fn enter(&self, _: Stage) {}

    /// A worker is done with the stage that it began last.
    fn leave(&self, _: Stage) {}
}

/// What a worker of an engine that learns from executions is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Running the program.
    Run,
    /// Turning an execution into constraints.
    Learn,
    /// Waiting for the solver.
    Solve,
}

/// A stage under way: it is left when this is dropped.
struct During<'w> {
    watch: &'w dyn Watch,
    stage: Stage,
}

impl<'w> During<'w> {
    fn new(watch: &'w dyn Watch, stage: Stage) -> During<'w> {
        watch.enter(stage);
        During { watch, stage }
    }
}

impl Drop for During<'_> {
    fn drop(&mut self) {
        self.watch.leave(self.stage);
    }
}

/// How far a search is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// States that are known and have not been looked at.
    pub waiting: u64,
    /// Executions so far.
    pub executions: u64,
}

/// Never stops a search.
pub struct Unwatched;

impl Options {
    /// Everything under this memory model, without bounds.
    pub fn new(memory: MemoryModel) -> Options {
        let limits = Limits { executions: u64::MAX, states: u64::MAX, events: u64::MAX, preemptions: None };
        let (rules, engine) = (memory.rules(), Engine::Exhaustive);
        Options {
            memory,
            rules,
            engine,
            monitor: None,
            reduced: false,
            all_violations: false,
            count_histories: false,
            coverage: Coverage::default(),
            jobs: 1,
            limits,
            first_sources: 4,
        }
    }
}

/// Checks a program with the engine that the options name. Every violation has been replayed.
pub fn check(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = Interpreter::new(program);
    let options = &options.engine.adapt(options);
    if program.automata.is_some() && !options.engine.sees_states() {
        let why = format!("engine {} does not see where all threads are at the same time", options.engine);
        return findings::Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    let report = match options.monitor {
        Some(_) => monitor::lifted(&subject, options.rules, search(&subject, &monitor::below(options), watch)),
        None => search(&subject, options, watch),
    };
    confirmed(options, report, |violation| replay_violation(&subject, options, violation))
}

/// Checks any subject with the engine that the options name, if that engine can: some need threads that can be copied. Every violation
/// has been replayed.
pub fn check_subject<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let options = &Options { rules: options.rules.unbounded(), ..options.clone() };
    let samples = matches!(options.engine, Engine::Random { .. } | Engine::Pct { .. });
    let rehearsal = if samples { None } else { again::Rehearsal::new(subject, options) };
    let mut report = match options.engine {
        Engine::Random { seed } => random::check(subject, seed, options, watch),
        Engine::Pct { seed, depth } => pct::check(subject, seed, depth, options, watch),
        Engine::Exhaustive => dfs::check(subject, options, watch),
        Engine::Mcr | Engine::Cumulative if options.limits.preemptions.is_none() => {
            by_learning(subject, options, watch)
        }
        _ => match options.limits.preemptions {
            Some(most) => bounded(subject, most, options, watch),
            None => by_dpor(subject, options, watch),
        },
    };
    report = confirmed(options, report, |violation| replay_subject(subject, options.rules, &violation.schedule));
    let says_something =
        matches!(report.stop, StopReason::Exhausted | StopReason::PreemptionLimit | StopReason::Failed(_));
    if says_something
        && report.violations.is_empty()
        && let Some(Err(why)) = rehearsal.map(|rehearsal| rehearsal.repeat(subject, options))
    {
        (report.stop, report.coverage) = (StopReason::Nondeterminism(why), None);
    }
    report
}

/// What cannot be predicted is left to `dpor`.
fn by_learning<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let report = match options.engine {
        Engine::Mcr => mcr::check_subject(subject, options, watch),
        _ => cumulative::check_subject(subject, options, watch),
    };
    or_by_dpor(report, subject, options, watch)
}

/// A report of an engine that learns, or of `dpor` where that engine has found nothing and cannot go on. That it failed is said.
fn or_by_dpor<S: Describe>(report: Report, subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    match report.stop {
        StopReason::Unsupported(_) if report.violations.is_empty() => by_dpor(subject, options, watch),
        StopReason::Failed(why) if report.violations.is_empty() => {
            let failures = vec![EngineFailure { engine: options.engine, why }];
            Report { failures, ..by_dpor(subject, options, watch) }
        }
        _ => report,
    }
}

/// What is covered where `dpor` has come to its end within a bound on preemptions, and `icb` has not.
const INCOMPLETE: &str = "within the bound, incomplete";

/// A bound on preemptions: `dpor` soon finds what is wrong, but leaves out executions that it would find only by way of others with more of them. `icb` covers all, as far as it gets
/// with a multiple of the effort.
fn bounded<S: Describe>(subject: &S, most: u32, options: &Options, watch: &dyn Watch) -> Report {
    const TIMES: u64 = 20;
    const STEPS: u64 = 500_000;
    let report = by_dpor(subject, options, watch);
    if report.stop != StopReason::PreemptionLimit {
        return report;
    }
    let options = Options { engine: Engine::Icb { preemptions: most, traces: true }, ..options.clone() };
    let steps = STEPS.max(report.statistics.steps.saturating_mul(TIMES));
    let covered = icb_traces::within(subject, most, steps, &options, watch);
    match covered.stop {
        StopReason::Violation | StopReason::PreemptionLimit | StopReason::Exhausted | StopReason::Nondeterminism(_) => {
            covered
        }
        _ => Report { coverage: Some(INCOMPLETE.to_string()), ..report },
    }
}

fn by_dpor<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    dpor::check(subject, &Options { engine: Engine::Dpor, ..options.clone() }, watch)
}

fn search(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    match options.engine {
        Engine::Auto => auto::check(subject, options, watch),
        Engine::Exhaustive => exhaustive::check(subject, options, watch),
        Engine::Cumulative => cumulative::check(subject, options, watch),
        Engine::Mcr => mcr::check(subject, options, watch),
        Engine::Dpor => dpor::check(subject, options, watch),
        Engine::Lazy => robustness::lazy::check(subject.program(), options, watch),
        Engine::Icb { preemptions, traces: true } => icb_traces::check(subject, preemptions, options, watch),
        Engine::Icb { preemptions, traces: false } => icb::check(subject, preemptions, options, watch),
        Engine::Random { seed } => random::check(subject, seed, options, watch),
        Engine::Pct { seed, depth } => pct::check(subject, seed, depth, options, watch),
    }
}

/// Runs one execution and reports everything wrong that its causality implies, whatever the options say of engines. Every violation
/// has been replayed.
pub fn predict(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = Interpreter::new(program);
    let options = Options { engine: Engine::Mcr, ..options.clone() };
    let options = &options.engine.adapt(&options);
    let report = mcr::predict(&subject, options, watch);
    confirmed(options, report, |violation| replay_violation(&subject, options, violation))
}

/// The report without violations that do not show when they are replayed; if there are any, with that.
fn confirmed(
    options: &Options,
    mut report: Report,
    replay: impl Fn(&Violation) -> Result<Replay, ReplayError>,
) -> Report {
    let mut unconfirmed = None;
    report.violations.retain(|violation| match confirm(violation, replay(violation)) {
        Ok(()) => true,
        Err(why) => {
            unconfirmed = Some(why);
            false
        }
    });
    if !options.all_violations {
        // One step can show several; one was asked for.
        report.violations.truncate(1);
    }
    if let Some(why) = unconfirmed {
        report.stop = StopReason::Failed(why);
    }
    report
}

/// Replays the schedule of a program's violation, and looks for that violation.
fn replay_violation(
    subject: &Interpreter<'_>,
    options: &Options,
    violation: &Violation,
) -> Result<Replay, ReplayError> {
    let patience = if violation.kind == ViolationKind::Livelock { usize::MAX } else { 0 };
    let replay = replay::judged(subject, options.rules, &violation.schedule, replay::endless(patience))?;
    let is_not_sc = || monitor::is_not_sc(subject, options.rules, &violation.schedule);
    Ok(Replay { is_sequential: violation.kind != ViolationKind::StoreBuffers || !is_not_sc(), ..replay })
}

/// Whether a program's violation shows when its schedule is replayed.
fn is_shown(subject: &Interpreter<'_>, options: &Options, violation: &Violation) -> bool {
    confirm(violation, replay_violation(subject, options, violation)).is_ok()
}

/// Sees whether a violation shows when its schedule is replayed.
fn confirm(violation: &Violation, replayed: Result<Replay, ReplayError>) -> Result<(), String> {
    let replayed = replayed.map_err(|error| error.to_string())?;
    let Violation { schedule, kind, .. } = violation;
    if *kind == ViolationKind::StoreBuffers {
        return (!replayed.is_sequential).then_some(()).ok_or_else(|| format!("schedule {schedule} is one of sc"));
    }
    // Which of the two accesses of a race comes first depends on where along the schedule it is noticed.
    let same_place = |shown: &Violation| shown.span == violation.span || *kind == ViolationKind::DataRace;
    let same = |shown: &Violation| shown.kind == *kind && same_place(shown);
    let shown = replayed.violations.iter().any(same);
    shown.then_some(()).ok_or_else(|| format!("schedule {schedule} does not show the {}", kind.name()))
}

impl Watch for Unwatched {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::MemoryModel;
    use crate::frontend::ut;
    use crate::program::Source;

    #[test]
    fn an_engine_that_failed_is_named_where_dpor_takes_over() {
        let text = "shared x; thread t * 2 { x.fetch_add(1); }";
        let source = std::sync::Arc::new(Source::new("test.ut", text));
        let program = ut::parse(source, &Default::default()).expect("it is a program");
        let (subject, options) =
            (Interpreter::new(&program), Options { engine: Engine::Mcr, ..Options::new(MemoryModel::Sc) });
        let report = mcr::check(&subject, &options, &Unwatched);
        let after = |stop| or_by_dpor(Report { stop, ..report.clone() }, &subject, &options, &Unwatched);
        let failed = after(StopReason::Failed("it is broken".to_string()));
        assert_eq!((failed.engine, &failed.stop), (Engine::Dpor, &StopReason::Exhausted));
        assert_eq!(failed.failures, [EngineFailure { engine: Engine::Mcr, why: "it is broken".to_string() }]);
        let refused = after(StopReason::Unsupported("it is not for me".to_string()));
        assert_eq!((refused.engine, refused.failures), (Engine::Dpor, vec![]));
        assert_eq!(after(StopReason::Exhausted).engine, Engine::Mcr);
    }
}
