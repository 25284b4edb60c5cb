//! Following a schedule on a graph machine, and judging what happens.

use super::Search;
use super::cast::Moment;
use super::world::{Alternative, How};
use crate::base::{Action, Schedule, Step, ThreadId};
use crate::execution::graph::{Axioms, Kind, Slot};
use crate::execution::{Describe, Machine, Operation};
use crate::search::{Options, Replay, Violation};
use crate::trace::{Event, ReplayError, ThreadInfo, Trace};
use std::rc::Rc;

/// Follows a schedule: each step is an operation with a choice, which is the write that it reads from or the place
/// that it takes, counted from the newest.
pub fn replay<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    schedule: &Schedule,
) -> Result<Replay, ReplayError> {
    followed(subject, axioms, options, schedule, None)
}

/// As [`replay`], for the schedule of a violation: also says which orderings are too weak.
pub fn tell<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    violation: &Violation,
) -> Result<Trace, ReplayError> {
    followed(subject, axioms, options, &violation.schedule, Some(violation)).map(|replay| replay.trace)
}

fn followed<S: Describe>(
    subject: &S,
    axioms: Axioms,
    options: &Options,
    schedule: &Schedule,
    told: Option<&Violation>,
) -> Result<Replay, ReplayError> {
    let machine = Machine::new(subject, options.rules);
    let options = Options { all_violations: true, ..options.clone() };
    let mut nobody = |_: &_, _: &_| {};
    let mut search = Search::new(subject, &machine, axioms, &options, &mut nobody);
    // Threads by the order of their creation in this schedule.
    let mut numbers: Vec<u16> = (0..search.world.graph.n_threads() as u16).collect();
    let (mut events, mut positions) = (Vec::new(), Vec::new());
    for (at, &step) in schedule.0.iter().enumerate() {
        let number = numbers.get(step.thread.index()).copied();
        let length = search.world.graph.len();
        let Some(done) = number.and_then(|thread| search.follow(thread, step, &mut numbers)) else {
            search.cut(length);
            return Err(ReplayError { at, step, possible: search.possible(&numbers) });
        };
        events.push(done);
        positions.resize(search.world.graph.len(), at);
    }
    let mut related = search.related(&positions, events.len());
    related.advice = told.and_then(|violation| search.advice(violation, &positions));
    let possible = search.possible(&numbers);
    let (mut end, mut final_state) = (None, None);
    if search.is_at_end() {
        search.end();
        (end, final_state) = search.outcome();
    } else {
        // A thread that waited for a lock where the schedule was found can take it here; the order of the rest is the
        // same.
        search.look_at_order();
    }
    let threads = numbers.iter().map(|&thread| search.info(thread)).collect();
    let (violations, observations) = search.findings.judge.findings();
    let trace = Trace { events, threads, end, final_state, related: Some(related) };
    let is_sequential = search.world.graph.is_one_of(Axioms::SC);
    Ok(Replay { trace, violations, observations, is_sequential, possible })
}

impl<S: Describe> Search<'_, S> {
    /// Whether no thread can complete an operation. Who was notified has that behind it, and waits for the lock.
    fn is_at_end(&mut self) -> bool {
        for thread in 0..self.world.graph.n_threads() as u16 {
            while self.can_go_on(thread) {
                let Some(now) = self.world.cast.now(thread).cloned() else { break };
                let stage = self.world.graph.stage(thread);
                if !matches!(self.slot(thread, &now, stage), Slot::Dequeue(_)) {
                    return false;
                }
                self.add(Alternative { thread, how: How::Only, choice: 0, second_choice: false });
            }
        }
        true
    }

    /// Steps of threads that can go on, with the newest writes.
    fn possible(&mut self, numbers: &[u16]) -> Vec<Step> {
        let threads = 0..numbers.len();
        let can_go_on = threads.filter(|&at| self.can_go_on(numbers[at]));
        can_go_on.map(|at| Step { thread: ThreadId(at as u16), action: Action::Run }).collect()
    }

    /// Takes a step, if it is possible, and says what it did.
    fn follow(&mut self, thread: u16, step: Step, numbers: &mut Vec<u16>) -> Option<Event> {
        let now = self.world.cast.now(thread)?.clone();
        self.settle();
        let target = self.local(thread).and_then(|local| self.subject.target(local));
        let choice = match step.action {
            Action::Run => 0,
            Action::Choose(choice) => choice,
            Action::Flush(_) => return None,
        };
        let completed = self.world.graph.thread(thread).len();
        loop {
            let stage = self.world.graph.stage(thread);
            if self.world.graph.last_of(thread).is_some_and(|last| last.last || last.blocked) {
                return None;
            }
            let way = self.way(thread, &now, stage, choice, numbers)?;
            if !self.add(way) {
                return None;
            }
            let last = self.world.graph.last_of(thread)?;
            if last.blocked {
                return None;
            }
            if last.completes {
                break;
            }
        }
        let graph = &self.world.graph;
        let events: Vec<_> = graph.thread(thread)[completed..].iter().map(|&id| graph.event(id)).collect();
        let last = events[events.len() - 1];
        if let Kind::Fork(child) = last.kind {
            numbers.push(child);
        }
        let wrote = events.iter().find(|event| event.is_write());
        let written = wrote.and_then(|event| now.operation.loc().map(|loc| (loc, event.value)));
        let failure = now.failure.clone();
        let (span, operation, result) = (now.span, Some(now.operation), last.result);
        Some(Event { step, span, operation, target, result, written, buffered: false, failure, buffer: Vec::new() })
    }

    /// How a thread's next event is added with a choice.
    fn way(
        &mut self,
        thread: u16,
        now: &Rc<Moment<S::Thread>>,
        stage: usize,
        choice: i64,
        numbers: &[u16],
    ) -> Option<Alternative> {
        let only = Alternative { thread, how: How::Only, choice: 0, second_choice: false };
        if self.misuse(thread, now, stage).is_some() {
            return Some(only);
        }
        match self.slot(thread, now, stage) {
            Slot::Read(object) => {
                let loc = self.loc(object);
                let newer = if stage == 0 && !matches!(now.operation, Operation::Notify { .. }) { choice } else { 0 };
                let sources = self.world.graph.sources(thread, loc);
                let place = u32::try_from(i64::from(*sources.end()) - newer).ok()?;
                let source = sources.contains(&place).then(|| self.world.graph.write_at(loc, place))?;
                Some(Alternative { how: How::From(source), ..only })
            }
            Slot::Update => {
                let waiters = self.choices(thread, now, stage);
                let chosen = match waiters.len() {
                    0 => 0,
                    1 => waiters[0],
                    _ => numbers.get(usize::try_from(choice).ok()?).copied()?.into(),
                };
                let some = Alternative { choice: chosen, ..only };
                let write = self.write(&some, now, stage);
                let place = *self.world.graph.places(&write).first()?;
                Some(Alternative { how: How::At(place), ..some })
            }
            Slot::Write(_) => {
                let write = self.write(&only, now, stage);
                let places = self.world.graph.places(&write);
                let place = u32::try_from(self.world.graph.writes(write.loc).len() as i64 + 1 - choice).ok()?;
                places.contains(&place).then_some(Alternative { how: How::At(place), ..only })
            }
            Slot::Other => Some(Alternative { choice, ..only }),
            Slot::Dequeue(_) | Slot::Join(_) => self.can_go_on(thread).then_some(only),
        }
    }

    fn info(&self, thread: u16) -> ThreadInfo {
        let is_over = self.world.graph.last_of(thread).is_some_and(|last| last.last);
        let now = self.world.cast.now(thread).filter(|_| !is_over);
        ThreadInfo {
            key: self.names.key(thread),
            name: self.local(thread).map_or(String::new(), |local| self.subject.name(local)),
            at: now.map(|now| now.span),
            next: now.map(|now| now.operation),
        }
    }
}
