//! Engine `auto`: whichever engine is best for the program, found by trying.
//!
//! A search of states comes first, for as many states as it visits in a few seconds: most programs have fewer, and where data multiplies but states do not, nothing
//! beats it. What has more is left to the engine that learns from executions. If executions are without end (threads that go round in circles), the
//! search of states goes on for as long as it takes. The bounds are counts, so the same program is always searched in the same way.

use super::{Coverage, Engine, Options, Watch, cumulative, exhaustive};
use crate::execution::{Interpreter, Subject};
use crate::report::{Report, StopReason};

/// How much is visited before another engine is tried: states, times their parts (memory, and each thread).
const FIRST_PARTS: u64 = 32_000_000;

/// How many executions are tried where threads can go round in circles, and each lap may show something new.
const MOST_LAPPING_EXECUTIONS: u64 = 2_000;

/// Searches with one engine after the other until one comes to an end. The report names that one.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    if subject.program().automata.is_some() {
        // Whether a goal is reached is a question about states.
        return exhaustive::check(subject, &Options { engine: Engine::Exhaustive, ..options.clone() }, watch);
    }
    let first = search_states(subject, options, watch);
    let met_bound = matches!(first.stop, StopReason::StateLimit) && first.statistics.states < options.limits.states;
    if !met_bound {
        return first;
    }
    let mut learning = Engine::Cumulative.adapt(&Options { engine: Engine::Cumulative, ..options.clone() });
    if subject.has_cycles() {
        learning.limits.executions = learning.limits.executions.min(MOST_LAPPING_EXECUTIONS);
    }
    let learnt = cumulative::check(subject, &learning, watch);
    let met_bound = match learnt.stop {
        StopReason::EventLimit => true,
        StopReason::ExecutionLimit => learning.limits.executions < options.limits.executions,
        _ => false,
    };
    match met_bound {
        true => exhaustive::check(subject, &Options { engine: Engine::Exhaustive, ..options.clone() }, watch),
        false => learnt,
    }
}

/// The first attempt. The number of states is its only bound, so stores may wait as long as they like, unless threads can go round in
/// circles and store for ever.
fn search_states(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let count_histories = options.count_histories || options.coverage == Coverage::States;
    let mut options = Options { engine: Engine::Exhaustive, count_histories, ..options.clone() };
    if !subject.has_cycles() {
        options.rules = options.rules.unbounded();
    }
    let n_parts = subject.initial().len() as u64 + 1;
    options.limits.states = options.limits.states.min(FIRST_PARTS / n_parts);
    exhaustive::check(subject, &options, watch)
}
