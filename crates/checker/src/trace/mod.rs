//! Traces: what one execution did, event by event.

pub(crate) mod cycle;
mod drops;
pub(crate) mod happens_before;
mod related;
mod run;
mod versions;

pub use cycle::{Cycle, Relation, happens_before_cycle};
pub(crate) use drops::unordered_drop;
pub use related::{Advice, Change, Obstacle, Related};
pub use run::{Combination, Run, RunEvent, RunThread};
pub(crate) use versions::{Histories, History, INITIAL, Versions, seen_of_count, sees_contents};

use crate::base::{Failure, Loc, Schedule, Span, Step, ThreadId, ThreadKey};
use crate::execution::{Describe, Entry, Machine, Operation, Rules, State, Status, Stuck, ThreadState};
use crate::program::FinalState;
use std::fmt;

/// The events of one execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// In the order in which they happened.
    pub events: Vec<Event>,
    /// The threads in order of creation.
    pub threads: Vec<ThreadInfo>,
    /// Why it ended, if it could not go on.
    pub end: Option<Stuck>,
    /// The values that are left, if every thread has ended.
    pub final_state: Option<FinalState>,
    /// What relates its events, if it is an execution graph and not a run of a machine.
    pub related: Option<Related>,
}

/// A thread of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// The same in every execution.
    pub key: ThreadKey,
    /// For people.
    pub name: String,
    /// Where it stands at the end, unless it has ended or failed.
    pub at: Option<Span>,
    /// What it is at there.
    pub next: Option<Operation>,
}

/// One step and what it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The step.
    pub step: Step,
    /// Where its operation stands; for a flush, where the store stands.
    pub span: Span,
    /// The operation; nothing for a flush.
    pub operation: Option<Operation>,
    /// The variable that receives the operation's result, where it has a name.
    pub target: Option<String>,
    /// The operation's result.
    pub result: i64,
    /// What was written, to the buffer or to memory.
    pub written: Option<(Loc, i64)>,
    /// Whether the write went to the buffer only.
    pub buffered: bool,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// The thread's buffer after the step.
    pub buffer: Vec<Entry>,
}

/// A schedule that the program does not follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError {
    /// The position of the step that is not possible, from 0.
    pub at: usize,
    /// The step.
    pub step: Step,
    /// Steps that would have been possible.
    pub possible: Vec<Step>,
}

/// Follows a schedule from the start.
pub fn replay<S: Describe>(subject: &S, rules: Rules, schedule: &Schedule) -> Result<Trace, ReplayError> {
    follow(subject, rules, schedule, |_, _| {})
}

/// Follows a schedule from the start and shows every state on the way, with the number of steps that led to it.
/// A schedule ends by itself: the bound on buffers is for searches and does not hold here.
pub(crate) fn follow<S: Describe>(
    subject: &S,
    rules: Rules,
    schedule: &Schedule,
    mut show: impl FnMut(&State<S::Thread>, usize),
) -> Result<Trace, ReplayError> {
    let machine = Machine::new(subject, rules.unbounded());
    let mut state = machine.start();
    let mut recorder = Recorder { subject, stores: Vec::new() };
    let mut events = Vec::with_capacity(schedule.0.len());
    let mut possible = Vec::new();
    for (at, &step) in schedule.0.iter().enumerate() {
        // Most of the time it is enough to ask the thread itself.
        let is_there = step.thread.index() < state.threads.len();
        if !(is_there && machine.may_take(&state, step, &mut possible)) {
            possible.clear();
            machine.steps(&state, &mut possible);
            if !possible.contains(&step) {
                return Err(ReplayError { at, step, possible });
            }
        }
        show(&state, at);
        events.push(recorder.step(&machine, &mut state, step));
    }
    show(&state, schedule.0.len());
    possible.clear();
    machine.steps(&state, &mut possible);
    let end = possible.is_empty().then(|| machine.stuck(&state));
    let final_state = (end == Some(Stuck::Finished)).then(|| subject.final_state(&state));
    let info = |thread: &ThreadState<S::Thread>| {
        let running = Some(&thread.local).filter(|_| thread.status == Status::Running);
        ThreadInfo {
            key: thread.key,
            name: subject.name(&thread.local),
            at: running.map(|local| subject.span(local)),
            next: running.map(|local| subject.operation(local)),
        }
    };
    Ok(Trace { events, threads: state.threads.iter().map(info).collect(), end, final_state, related: None })
}

/// Knows where each waiting store stands in the source, which machines do not.
struct Recorder<'a, S> {
    subject: &'a S,
    /// Spans of the stores in each thread's buffer.
    stores: Vec<Vec<Span>>,
}

impl<'a, S: Describe> Recorder<'a, S> {
    fn step(&mut self, machine: &Machine<'a, S>, state: &mut State<S::Thread>, step: Step) -> Event {
        let ThreadId(index) = step.thread;
        let index = index as usize;
        let span = self.subject.span(&state.threads[index].local);
        let target = self.subject.target(&state.threads[index].local);
        let performed = machine.apply(state, step);
        self.stores.resize_with(state.threads.len().max(self.stores.len()), Vec::new);
        let span = match step.action {
            crate::base::Action::Flush(at) => self.stores[index].remove(at as usize),
            _ => span,
        };
        if performed.buffered {
            self.stores[index].push(span);
        }
        Event {
            step,
            span,
            target: target.filter(|_| performed.operation.is_some()),
            operation: performed.operation,
            result: performed.result,
            written: performed.written,
            buffered: performed.buffered,
            failure: performed.failure,
            buffer: state.threads[index].buffer.entries().to_vec(),
        }
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let possible: Vec<String> = self.possible.iter().map(Step::to_string).collect();
        let possible = if possible.is_empty() { "nothing".to_string() } else { possible.join(", ") };
        write!(f, "step {} (`{}`) is not possible there; possible: {possible}", self.at + 1, self.step)
    }
}
