//! Engines: [`check`] runs one of them on a program and makes the report.
//!
//! Engines know nothing of clocks, files or terminals. They ask a [`Watch`] whether to go on. `states/` visits states,
//! `traces/` takes steps and takes them back, `learning/` runs executions and asks a solver which others must be possible,
//! `sampling/` picks schedules at random, `lazy/` adds store buffers where they make a difference.

pub mod auto;
pub mod graph;
pub mod lazy;
pub mod learning;
mod monitored;
pub mod sampling;
pub mod states;
pub mod traces;

pub use states::survey::{Survey, SurveyedRead, survey};

use crate::base::Schedule;
use crate::execution::{Comparable, Describe, interpret};
use crate::program::Program;
use crate::search::again::Rehearsal;
use crate::search::findings::Findings;
use crate::search::{
    Engine, EngineFailure, Options, Replay, Report, StopReason, Watch, confirmed, replay_subject, replay_violation,
};
use crate::trace::ReplayError;
use learning::{cumulative, mcr};
use sampling::{pct, random};
use states::{exhaustive, icb};
use traces::{dfs, dpor, icb_traces};

/// Checks a program with the engine that the options name. Every violation has been replayed.
pub fn check(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = interpret(program);
    let options = &options.engine.adapt(options);
    if let Some(why) = options.engine.refuses(options.memory) {
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    if program.automata.is_some() && !options.engine.sees_states() {
        let why = format!("engine {} does not see where all threads are at the same time", options.engine);
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    let mut report = match options.monitor {
        Some(_) => monitored::lifted(&subject, options.rules, search(&subject, &monitored::below(options), watch)),
        None => search(&subject, options, watch),
    };
    if options.engine == Engine::Graph && report.stop == StopReason::Exhausted {
        report = graph::unproven(program, options).map_or(report.clone(), |why| Report {
            stop: StopReason::Unsupported(why),
            coverage: None,
            ..report
        });
    }
    confirmed(options, report, |violation| match options.engine {
        Engine::Graph => graph::replay(&subject, options.memory.axioms(), options, &violation.schedule),
        _ => replay_violation(&subject, options, violation),
    })
}

/// Checks any subject with the engine that the options name, if that engine can: some need threads that can be copied. Every violation
/// has been replayed.
pub fn check_subject<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let options = &Options { rules: options.rules.unbounded(), ..options.clone() };
    if let Some(why) = options.engine.refuses(options.memory) {
        return Findings::new(subject, options).report(StopReason::Unsupported(why));
    }
    let samples = matches!(options.engine, Engine::Random { .. } | Engine::Pct { .. });
    let rehearsal = if samples { None } else { Rehearsal::new(subject, options) };
    let mut report = match options.engine {
        Engine::Random { seed } => random::check(subject, seed, options, watch),
        Engine::Pct { seed, depth } => pct::check(subject, seed, depth, options, watch),
        Engine::Exhaustive => dfs::check(subject, options, watch),
        Engine::Graph => graph::check(subject, options.memory.axioms(), options, watch),
        Engine::Mcr | Engine::Cumulative if options.limits.preemptions.is_none() => {
            by_learning(subject, options, watch)
        }
        _ => match options.limits.preemptions {
            Some(most) => bounded(subject, most, options, watch),
            None => by_dpor(subject, options, watch),
        },
    };
    report = confirmed(options, report, |violation| replay_closure(subject, options, &violation.schedule));
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

/// Follows a schedule that an engine has found for any subject, and judges what happens.
pub fn replay_closure<S: Describe>(subject: &S, options: &Options, schedule: &Schedule) -> Result<Replay, ReplayError> {
    match options.engine {
        Engine::Graph => graph::replay(subject, options.memory.axioms(), options, schedule),
        _ => replay_subject(subject, options.rules.unbounded(), schedule),
    }
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

fn search<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    match options.engine {
        Engine::Auto => auto::check(subject, options, watch),
        Engine::Exhaustive => exhaustive::check(subject, options, watch),
        Engine::Cumulative => cumulative::check(subject, options, watch),
        Engine::Mcr => mcr::check(subject, options, watch),
        Engine::Dpor => dpor::check(subject, options, watch),
        Engine::Graph => graph::check(subject, options.memory.axioms(), options, watch),
        Engine::Lazy => lazy::check(subject.code(), options, watch),
        Engine::Icb { preemptions, traces: true } => icb_traces::check(subject, preemptions, options, watch),
        Engine::Icb { preemptions, traces: false } => icb::check(subject, preemptions, options, watch),
        Engine::Random { seed } => random::check(subject, seed, options, watch),
        Engine::Pct { seed, depth } => pct::check(subject, seed, depth, options, watch),
    }
}

/// Runs one execution and reports everything wrong that its causality implies, whatever the options say of engines. Every violation
/// has been replayed.
pub fn predict(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = interpret(program);
    let options = Options { engine: Engine::Mcr, ..options.clone() };
    let options = &options.engine.adapt(&options);
    let report = mcr::predict(&subject, options, watch);
    confirmed(options, report, |violation| replay_violation(&subject, options, violation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Source;
    use crate::execution::MemoryModel;
    use crate::frontend::ut;
    use crate::search::Unwatched;

    #[test]
    fn an_engine_that_failed_is_named_where_dpor_takes_over() {
        let text = "shared x; thread t * 2 { x.fetch_add(1); }";
        let source = std::sync::Arc::new(Source::new("test.ut", text));
        let program = ut::parse(source, &Default::default()).expect("it is a program");
        let (subject, options) =
            (interpret(&program), Options { engine: Engine::Mcr, ..Options::new(MemoryModel::Sc) });
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
