//! Engines: [`check`] runs one of them on a program and makes the report.
//!
//! Engines know nothing of clocks, files or terminals. They ask a [`Watch`] whether to go on. `states/` visits states,
//! `traces/` takes steps and takes them back, `learning/` runs executions and asks a solver which others must be possible,
//! `sampling/` picks schedules at random, `lazy/` adds store buffers where they make a difference.

pub mod auto;
mod elsewhere;
pub mod graph;
pub mod lazy;
pub mod learning;
mod monitored;
pub mod sampling;
pub mod states;
pub mod traces;

pub use elsewhere::look_elsewhere;
pub use states::survey::{Survey, SurveyedRead, survey};

use crate::base::Schedule;
use crate::execution::{Comparable, Describe, MemoryModel, Rules, interpret};
use crate::program::Program;
use crate::search::again::Rehearsal;
use crate::search::findings::Findings;
use crate::search::{
    Engine, EngineFailure, Options, Replay, Report, StopReason, Violation, Watch, confirmed, engine_table,
    replay_subject, replay_violation,
};
use crate::trace::{ReplayError, Trace};
use crate::{search as checks, trace};

/// Makes the calls of the table's engines: `search` for programs, and `search_code` for any subject.
macro_rules! dispatch {
    ($(
        $(#[$about:meta])*
        $engine:ident $({ $($(#[$meaning:meta])* $parameter:ident: $type:ty = $default:expr,)* })?, $name:literal: $does:literal,
            is { $($trait:ident: $is:expr),* },
            programs |$s:ident, $o:ident, $w:ident| $programs:expr,
            code |$cs:ident, $co:ident, $cw:ident| $code:expr;
    )*) => {
        #[allow(unused_variables)]
        fn search<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
            match options.engine {
                $(Engine::$engine $({ $($parameter),* })? => {
                    let ($s, $o, $w) = (subject, options, watch);
                    $programs
                })*
            }
        }

        #[allow(unused_variables)]
        fn search_code<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
            match options.engine {
                $(Engine::$engine $({ $($parameter),* })? => {
                    let ($cs, $co, $cw) = (subject, options, watch);
                    $code
                })*
            }
        }
    };
}

engine_table!(dispatch);

/// Checks a program with the engine that the options name. Every violation has been replayed.
pub fn check(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = interpret(program);
    let options = &options.engine.adapt(options);
    if let Some(why) = options.engine.refuses(options.memory) {
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    if let Some(monitor) = options.monitor.filter(|_| options.memory.is_language()) {
        let why = format!("monitor {} watches store buffers, and {} has none", monitor.name(), options.memory);
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    if program.automata.is_some() && !options.engine.sees_states() {
        let why = format!("engine {} does not see where all threads are at the same time", options.engine);
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    let report = match options.monitor {
        Some(_) => monitored::lifted(&subject, options.rules, search(&subject, &monitored::below(options), watch)),
        None if options.runs_graphs() => by_graph(&subject, options, watch),
        None => search(&subject, options, watch),
    };
    confirmed(options, report, |violation| match options.runs_graphs() {
        true => graph::replay(&subject, options.memory.axioms(), options, &violation.schedule),
        false => replay_violation(&subject, options, violation),
    })
}

/// Follows a schedule of a program and judges what happens, under a memory model whose machine has these rules.
pub fn replay(
    program: &Program,
    memory: MemoryModel,
    rules: Rules,
    schedule: &Schedule,
) -> Result<Replay, ReplayError> {
    if !memory.is_language() {
        return checks::replay(program, rules, schedule);
    }
    graph::replay(&interpret(program), memory.axioms(), &Options::new(memory), schedule)
}

/// What happens along the schedule of a violation that [`check`] has reported.
pub fn tell(program: &Program, options: &Options, violation: &Violation) -> Result<Trace, ReplayError> {
    let subject = interpret(program);
    match options.engine.adapt(options).runs_graphs() {
        true => graph::tell(&subject, options.memory.axioms(), options, violation),
        false => trace::replay(&subject, options.rules, &violation.schedule),
    }
}

/// Checks any subject with the engine that the options name, if that engine can: some need threads that can be copied. Every violation
/// has been replayed.
pub fn check_subject<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let options = &Options { rules: options.rules.unbounded(), ..options.clone() };
    if let Some(why) = options.engine.refuses(options.memory) {
        return Findings::new(subject, options).report(StopReason::Unsupported(why));
    }
    let runs_graphs = options.runs_graphs();
    let rehearsal = if options.engine.verifies() { Rehearsal::new(subject, options) } else { None };
    let report = match runs_graphs {
        true => code_by_graph(subject, options, watch),
        false => search_code(subject, options, watch),
    };
    let mut report = confirmed(options, report, |violation| replay_closure(subject, options, &violation.schedule));
    if report.stop == StopReason::Exhausted && report.statistics.executions == 0 && report.violations.is_empty() {
        (report.stop, report.coverage) = (StopReason::NoExecution, None);
    }
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

/// Builds graphs of a program, and says which of its answers are not proven yet.
fn by_graph<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    not_proven(graph::search(subject, options, watch), || graph::unproven(subject, options))
}

/// The same for code. On machines, what engine `graph` cannot do is left to `dpor`.
fn code_by_graph<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    match options.engine {
        Engine::Graph => {
            let report = graph::check(subject, options.memory.axioms(), options, watch);
            if options.memory.is_language() { report } else { or_by_dpor(report, subject, options, watch) }
        }
        _ => {
            let why =
                format!("under {} engine graph checks code, and engine {} does not", options.memory, options.engine);
            Findings::new(subject, options).report(StopReason::Unsupported(why))
        }
    }
}

/// Follows a schedule that an engine has found for any subject, and judges what happens.
pub fn replay_closure<S: Describe>(subject: &S, options: &Options, schedule: &Schedule) -> Result<Replay, ReplayError> {
    match options.runs_graphs() {
        true => graph::replay(subject, options.memory.axioms(), options, schedule),
        false => replay_subject(subject, options.rules.unbounded(), schedule),
    }
}

fn not_proven(report: Report, why: impl Fn() -> Option<String>) -> Report {
    match (&report.stop, why()) {
        (StopReason::Exhausted, Some(why)) => Report { stop: StopReason::Unsupported(why), coverage: None, ..report },
        _ => report,
    }
}

/// Learns, and leaves to `dpor` what cannot be predicted. An engine that learns knows no bound on preemptions.
fn by_learning<S: Describe>(
    learn: fn(&S, &Options, &dyn Watch) -> Report,
    subject: &S,
    options: &Options,
    watch: &dyn Watch,
) -> Report {
    match options.limits.preemptions {
        None => or_by_dpor(learn(subject, options, watch), subject, options, watch),
        Some(most) => bounded(subject, most, options, watch),
    }
}

fn by_dpor_or_bounded<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    match options.limits.preemptions {
        None => by_dpor(subject, options, watch),
        Some(most) => bounded(subject, most, options, watch),
    }
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
    let covered = traces::icb_traces::within(subject, most, steps, &options, watch);
    match covered.stop {
        StopReason::Violation | StopReason::PreemptionLimit | StopReason::Exhausted | StopReason::Nondeterminism(_) => {
            covered
        }
        _ => Report { coverage: Some(INCOMPLETE.to_string()), ..report },
    }
}

fn by_dpor<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    traces::dpor::check(subject, &Options { engine: Engine::Dpor, ..options.clone() }, watch)
}

/// Runs one execution and reports everything wrong that its causality implies, whatever the options say of engines. Every violation
/// has been replayed.
pub fn predict(program: &Program, options: &Options, watch: &dyn Watch) -> Report {
    let subject = interpret(program);
    let options = Options { engine: Engine::Mcr, ..options.clone() };
    let options = &options.engine.adapt(&options);
    if let Some(why) = options.engine.refuses(options.memory) {
        return Findings::new(&subject, options).report(StopReason::Unsupported(why));
    }
    let report = learning::mcr::predict(&subject, options, watch);
    confirmed(options, report, |violation| replay_violation(&subject, options, violation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Source;
    use crate::frontend::ut;
    use crate::search::Unwatched;

    #[test]
    fn an_engine_that_failed_is_named_where_dpor_takes_over() {
        let text = "shared x; thread t * 2 { x.fetch_add(1); }";
        let source = std::sync::Arc::new(Source::new("test.ut", text));
        let program = ut::parse(source, &Default::default()).expect("it is a program");
        let (subject, options) =
            (interpret(&program), Options { engine: Engine::Mcr, ..Options::new(MemoryModel::Sc) });
        let report = learning::mcr::check(&subject, &options, &Unwatched);
        let after = |stop| or_by_dpor(Report { stop, ..report.clone() }, &subject, &options, &Unwatched);
        let failed = after(StopReason::Failed("it is broken".to_string()));
        assert_eq!((failed.engine, &failed.stop), (Engine::Dpor, &StopReason::Exhausted));
        assert_eq!(failed.failures, [EngineFailure { engine: Engine::Mcr, why: "it is broken".to_string() }]);
        let refused = after(StopReason::Unsupported("it is not for me".to_string()));
        assert_eq!((refused.engine, refused.failures), (Engine::Dpor, vec![]));
        assert_eq!(after(StopReason::Exhausted).engine, Engine::Mcr);
    }
}
