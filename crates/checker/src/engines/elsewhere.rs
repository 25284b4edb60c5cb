//! What is wrong under a memory model of the language: does it show on machines, too?

use super::check;
use crate::execution::MemoryModel;
use crate::program::Program;
use crate::search::{Engine, Limits, Options, Report, StopReason, Violation, Watch};

/// Most states and executions of a search on a machine: what it does not come to is left open.
const MOST: u64 = 50_000;

/// Says of each violation on which machines it shows and on which it does not, as far as short searches can tell.
pub fn look_elsewhere(program: &Program, options: &Options, report: &mut Report, watch: &dyn Watch) {
    if !options.memory.is_language() || report.violations.is_empty() {
        return;
    }
    for memory in MemoryModel::MACHINES {
        let limits = Limits { states: MOST, executions: MOST, ..options.limits };
        let rules = crate::execution::Rules { max_buffer: options.rules.max_buffer, ..memory.rules() };
        let engine = Engine::Auto;
        let options = Options { memory, rules, engine, all_violations: true, limits, ..options.clone() };
        let found = check(program, &options, watch);
        for violation in &mut report.violations {
            if found.violations.iter().any(|other| is_same(violation, other)) {
                violation.machines.push((memory, true));
            } else if found.stop == StopReason::Exhausted {
                violation.machines.push((memory, false));
            }
        }
    }
}

/// Whether two violations are the same mistake. The accesses of a race may be told in another order.
fn is_same(a: &Violation, b: &Violation) -> bool {
    let places = |violation: &Violation| {
        let also = violation.also.iter().map(|involved| (Some(involved.thread.clone()), Some(involved.span)));
        let mut places: Vec<_> = std::iter::once((violation.thread.clone(), violation.span)).chain(also).collect();
        places.sort_by_key(|(thread, span)| (thread.clone(), span.map(|span| (span.start, span.end))));
        places
    };
    a.kind == b.kind && places(a) == places(b)
}
