//! What sequential consistency would have made of a schedule: the same order of operations, each store in memory at once.

use super::replay::{Replay, judged};
use crate::base::{Action, Schedule, Step, ThreadId};
use crate::execution::{Machine, Rules, interpret};
use crate::program::Program;

/// Steps after the schedule's own: enough to see how it ends.
const MOST_MORE: usize = 1_000;

/// Follows the order of operations of a schedule under SC and goes on to the end. An operation that is not possible there, because its
/// thread waits or has gone another way, is left out.
pub fn sequential(program: &Program, schedule: &Schedule) -> Replay {
    let subject = interpret(program);
    let machine = Machine::new(&subject, Rules::SEQUENTIAL);
    let mut state = machine.start();
    let mut taken = Vec::new();
    for step in schedule.0.iter().filter(|step| !matches!(step.action, Action::Flush(_))) {
        if step.thread.index() < state.threads.len() && machine.can_take(&state, *step) {
            machine.apply(&mut state, *step);
            taken.push(*step);
        }
    }
    let mut last = taken.last().map_or(0, |step: &Step| step.thread.index());
    for _ in 0..MOST_MORE {
        let mut steps = Vec::new();
        // The thread that ran goes on for as long as it can.
        for offset in 0..state.threads.len() {
            machine.operation_steps(&state, ThreadId(((last + offset) % state.threads.len()) as u16), &mut steps);
        }
        let Some(&step) = steps.first() else { break };
        machine.apply(&mut state, step);
        taken.push(step);
        last = step.thread.index();
    }
    let replayed = judged(&subject, machine.rules, &Schedule(taken), |_, _| false);
    replayed.expect("only possible steps were taken")
}
