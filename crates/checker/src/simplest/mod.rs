//! Simplest counterexamples: of all executions that show a violation, one with the fewest preemptions and delayed stores, and of these one
//! with the fewest steps.
//!
//! A *preemption* is a switch from a thread that could go on. A store is *delayed* if some thread performs an operation between it and its
//! arrival in memory. [`search`] looks for the cheapest executions, cheapest first, among a number of states; what it does not come
//! to is made simpler where it stands ([`local`]), by leaving out steps and switches. Whatever comes of it has been replayed.

mod local;
mod price;
mod search;

use crate::base::Schedule;
use crate::execution::{Machine, Rules, interpret};
use crate::program::Program;
use crate::search::replay::judged;
use crate::search::{Options, Report, Violation, Watch, is_shown};

/// Replaces the schedules of a report's violations by simpler ones, where there are. The same every time: the effort is bounded by
/// numbers of states and steps, not by time.
/// The watch can end this: then the simplest so far is taken.
pub fn simplify(program: &Program, options: &Options, report: &mut Report, watch: &dyn Watch) {
    // Graphs have no preemptions and no delayed stores.
    if report.violations.is_empty() || options.engine.adapt(options).runs_graphs() {
        return;
    }
    let subject = &interpret(program);
    let options = &options.engine.adapt(options);
    let simplest = search::simplest(subject, options.rules, &report.violations, watch);
    for (violation, simplest) in report.violations.iter_mut().zip(simplest) {
        let simpler = simplest.or_else(|| local::simpler(subject, options.rules, violation, watch));
        let Some(schedule) = simpler else { continue };
        // The last steps of a race are no part of the search, and may cost something.
        if price(program, options.rules, &schedule) > price(program, options.rules, &violation.schedule) {
            continue;
        }
        let candidate = Violation { schedule, ..violation.clone() };
        if is_shown(subject, options, &candidate) {
            // The failure's words say which thread waits for what at the end of this execution.
            let replayed = judged(subject, options.rules, &candidate.schedule, |_, _| false).ok();
            let shown = replayed.and_then(|replay| replay.violations.into_iter().find(|shown| same(shown, &candidate)));
            let message = shown.map_or(candidate.message.clone(), |shown| shown.message);
            *violation = Violation { message, ..candidate };
        }
    }
}

/// How many preemptions and delayed stores a schedule has.
pub fn price(program: &Program, rules: Rules, schedule: &Schedule) -> u32 {
    let subject = interpret(program);
    price::follow(&Machine::new(&subject, rules.unbounded()), &schedule.0).0
}

/// Whether two violations are the same one, by different schedules.
fn same(a: &Violation, b: &Violation) -> bool {
    let places = |violation: &Violation| {
        let also = violation.also.iter().map(|involved| (Some(involved.thread.clone()), involved.span));
        let first = violation.span.map(|span| (violation.thread.clone(), span));
        let mut places: Vec<_> =
            first.into_iter().chain(also).map(|(thread, span)| (thread, span.start, span.end)).collect();
        places.sort();
        places
    };
    a.kind == b.kind && places(a) == places(b)
}
