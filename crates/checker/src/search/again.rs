//! Whether a test does the same whenever it is run in the same way.
//!
//! An execution is run before a search begins, and again when it has ended. Whatever survives from one execution to the next, or is random, and makes a
//! difference there, shows. Steps that a search takes again are compared on the way (`rewind.rs`).

use super::Options;
use crate::base::{Action, FailureKind, Step, ThreadId};
use crate::execution::deed::Deed;
use crate::execution::rewind::take_again;
use crate::execution::{Describe, Machine, State, Status, Stuck};

/// What an execution did.
pub(crate) struct Rehearsal {
    steps: Vec<Step>,
    deeds: Vec<Deed>,
    end: End,
}

/// How an execution ended.
#[derive(PartialEq)]
struct End {
    threads: Vec<Status>,
    left_behind: Option<FailureKind>,
}

/// How often the execution is run again, unless that takes too many steps: a coin that is thrown in every execution shows the same side each time once in a million checks.
const TIMES: usize = 20;
const STEPS: usize = 10_000;
/// But so often at the least: something may be different every other time.
const AT_LEAST: usize = 2;

impl Rehearsal {
    /// Runs one execution, in which threads run for as long as they can. Nothing if it is too long.
    pub(crate) fn new<S: Describe>(subject: &S, options: &Options) -> Option<Rehearsal> {
        let machine = Machine::new(subject, options.rules);
        let mut state = machine.start();
        let (mut steps, mut deeds) = (Vec::new(), Vec::new());
        while let Some(step) = next_step(&machine, &state, steps.last().map_or(0, |step: &Step| step.thread.index())) {
            if steps.len() as u64 >= options.limits.most_steps_taken_back() {
                return None;
            }
            deeds.push(take(&machine, &mut state, step));
            steps.push(step);
        }
        let end = End::of(&machine, &state);
        Some(Rehearsal { steps, deeds, end })
    }

    /// Runs the execution again, a few times. An error says what was different.
    pub(crate) fn repeat<S: Describe>(&self, subject: &S, options: &Options) -> Result<(), String> {
        let machine = Machine::new(subject, options.rules);
        let times = (STEPS / self.steps.len().max(1)).clamp(AT_LEAST, TIMES);
        (0..times).try_for_each(|_| self.repeat_once(&machine))
    }

    fn repeat_once<S: Describe>(&self, machine: &Machine<'_, S>) -> Result<(), String> {
        let steps = self.steps.iter().copied().zip(&self.deeds);
        let (mut state, mut differs) = (machine.start(), None);
        take_again(machine, &mut state, steps, &mut differs, |_, _| {})?;
        differs.map_or(Ok(()), Err)?;
        if let Some(step) = next_step(machine, &state, 0) {
            let (subject, thread) = (machine.subject, &state.threads[step.thread.index()].local);
            let (name, place) = (subject.name(thread), subject.place(subject.span(thread)));
            return Err(format!("nothing is left to do; the next time {name} goes on at {place}"));
        }
        let is_same = End::of(machine, &state) == self.end;
        is_same.then_some(()).ok_or_else(|| "the execution ends in another way the next time".to_string())
    }
}

impl End {
    fn of<S: Describe>(machine: &Machine<'_, S>, state: &State<S::Thread>) -> End {
        let is_finished = machine.stuck(state) == Stuck::Finished;
        let threads = state.threads.iter().map(|thread| thread.status).collect();
        let left_behind = is_finished.then(|| machine.subject.left_behind(state)).flatten();
        End { threads, left_behind: left_behind.map(|failure| failure.kind) }
    }
}

fn take<S: Describe>(machine: &Machine<'_, S>, state: &mut State<S::Thread>, step: Step) -> Deed {
    let thread = &state.threads[step.thread.index()];
    let (key, span) = (thread.key, machine.subject.span(&thread.local));
    Deed::new(key, span, &machine.apply(state, step))
}

/// Stores arrive as soon as they can, and a thread runs as long as it can.
fn next_step<S: Describe>(machine: &Machine<'_, S>, state: &State<S::Thread>, current: usize) -> Option<Step> {
    let (n_threads, mut steps) = (state.threads.len(), Vec::new());
    for index in (0..n_threads).map(|offset| (current + offset) % n_threads) {
        let thread = ThreadId(index as u16);
        if let Some(at) = state.threads[index].buffer.flushable(&machine.rules).next() {
            return Some(Step { thread, action: Action::Flush(at as u8) });
        }
        machine.operation_steps(state, thread, &mut steps);
        if let Some(&step) = steps.first() {
            return Some(step);
        }
    }
    machine.last_resorts(state).first().copied()
}
