//! Monitors: what is noticed about executions on the side, whatever engine runs them.
//!
//! `store-buffers` (Sober, CAV 2008) watches SC executions and says whether a machine with store buffers would do anything else. Every engine that
//! runs executions can have it watched: it is told of each step (`borderline.rs`), and makes the execution that SC does not have (`witness.rs`).

mod borderline;
mod clocks;
mod order;
mod witness;

pub(crate) use witness::{Eye, Witness, is_not_sc};

use crate::base::{Span, Step, ThreadKey};
use crate::execution::{Describe, MemoryModel, Operation, Performed, State};
use crate::trace::happens_before::Taken;
use crate::trace::happens_before::observe::performed;
use borderline::Borderline;
use rustc_hash::FxHashSet;
use witness::witness;

/// Watches the executions of one search for borderline ones.
pub(crate) struct Watcher<'a, S> {
    subject: &'a S,
    memory: MemoryModel,
    borderline: Borderline,
    eye: Eye<'a, S>,
    /// After how many steps the present execution was borderline.
    flags: Vec<usize>,
    /// Whether an execution that ends with this event is borderline, by its number, for engines that number events.
    answers: Vec<Option<bool>>,
    /// The last steps, all of them numbered events with known answers. They have no clocks yet.
    pending: Vec<(Taken, Operation)>,
    /// After each numbered step, what has overtaken something.
    exposures: Vec<Exposure>,
    /// Threads by number, for exposures.
    keys: Vec<ThreadKey>,
    /// Steps that have been reported, by place, and the object that they miss a write of.
    known: FxHashSet<(u64, Span, u32)>,
    /// What went wrong where a witness was made.
    failed: Option<String>,
    /// A block was freed that a store could still be on its way to.
    frees_too_early: bool,
}

/// What stores could have made of an execution so far.
#[derive(Clone, Copy, Default)]
struct Exposure {
    /// Threads whose last store may still be on its way, one bit each.
    waiting: u64,
    /// Whether something could have overtaken a store of its thread. If nothing could, happens-before is that of SC, and there is nothing to ask.
    overtakes: bool,
}

impl<'a, S: Describe> Watcher<'a, S> {
    /// Watches for executions that the memory model has and SC does not.
    pub(crate) fn new(subject: &'a S, memory: MemoryModel) -> Watcher<'a, S> {
        Watcher {
            subject,
            memory,
            borderline: Borderline::new(memory, subject.initial_cells()),
            eye: Eye::new(subject),
            flags: Vec::new(),
            answers: Vec::new(),
            pending: Vec::new(),
            exposures: Vec::new(),
            keys: Vec::new(),
            known: FxHashSet::default(),
            failed: None,
            frees_too_early: false,
        }
    }

    /// A step was taken by an operation at this place; it is the last of the path. Gives what it shows that was not known.
    pub(crate) fn step(
        &mut self,
        taken: &Taken,
        operation: &Operation,
        span: Span,
        path: impl Fn() -> Vec<Step>,
    ) -> Option<Witness> {
        self.frees_too_early |= self.borderline.frees_too_early(taken, operation);
        let positions = self.borderline.add(taken, operation)?;
        self.flags.push(self.borderline.len());
        let object = positions.first().map_or(0, |position| position.0);
        if !self.known.insert((taken.thread.0, span, object)) {
            return None;
        }
        let made = witness(self.subject, self.memory, &path(), &positions);
        made.map_err(|why| self.failed = Some(format!("a borderline execution leads nowhere: {why}: {:?}", path())))
            .ok()
    }

    /// As `step`, of an event with a number. Events with the same number have the same past; that decides the answer, because all
    /// writes that a load could have missed are in its past. So each number is asked about once, and clocks are kept up only as far as that takes.
    pub(crate) fn numbered_step(
        &mut self,
        number: u32,
        taken: Taken,
        operation: Operation,
        span: Span,
        path: impl Fn() -> Vec<Step>,
    ) -> Option<Witness> {
        if self.answers.len() <= number as usize {
            self.answers.resize(number as usize + 1, None);
        }
        let can_matter = self.expose(&taken, &operation) || operation.freed().is_some();
        let answer = &mut self.answers[number as usize];
        if !can_matter || !self.borderline.asks(&taken, &operation) {
            *answer = Some(false);
        }
        if let Some(is_borderline) = *answer {
            self.pending.push((taken, operation));
            self.flags.extend(is_borderline.then(|| self.len()));
            return None;
        }
        for (taken, operation) in self.pending.drain(..) {
            self.borderline.enter(&taken, &operation);
        }
        let n_flags = self.flags.len();
        let witness = self.step(&taken, &operation, span, path);
        self.answers[number as usize] = Some(self.flags.len() > n_flags);
        witness
    }

    /// Notes a numbered step. Says whether anything so far could have overtaken a store.
    fn expose(&mut self, taken: &Taken, operation: &Operation) -> bool {
        let known = self.keys.iter().position(|&key| key == taken.thread);
        let index = known.unwrap_or_else(|| {
            self.keys.push(taken.thread);
            self.keys.len() - 1
        });
        let bit = 1u64.checked_shl(index as u32).unwrap_or(0);
        let is_store = operation.is_write() && !taken.drains;
        let is_ahead = !taken.drains && (!is_store || self.memory.reorders_stores());
        let mut exposure = self.exposures.last().copied().unwrap_or_default();
        // There are bits for so many threads; of others nothing is known.
        exposure.overtakes |=
            bit == 0 || is_ahead && exposure.waiting & bit != 0 && !taken.footprint.accesses.is_empty();
        if taken.drains {
            exposure.waiting &= !bit;
        } else if is_store {
            exposure.waiting |= bit;
        }
        self.exposures.push(exposure);
        exposure.overtakes
    }

    fn len(&self) -> usize {
        self.borderline.len() + self.pending.len()
    }

    /// What a step will touch, for engines that do not know.
    pub(crate) fn look(&mut self, state: &State<S::Thread>, step: Step) -> (Taken, Operation) {
        self.eye.look(state, step)
    }

    /// The last step was taken back.
    pub(crate) fn undo(&mut self) {
        if self.flags.last() == Some(&self.len()) {
            self.flags.pop();
        }
        self.exposures.pop();
        if self.pending.pop().is_none() {
            self.borderline.undo();
        }
    }

    /// A new execution begins.
    pub(crate) fn restart(&mut self) {
        while self.len() > 0 {
            self.undo();
        }
    }

    /// Whether the present execution is borderline.
    pub(crate) fn is_borderline(&self) -> bool {
        !self.flags.is_empty()
    }

    /// Why this monitor cannot go on, if so: executions in which a store's block is freed before it arrives are none that it could show.
    pub(crate) fn refused(&self) -> Option<&'static str> {
        self.frees_too_early.then_some(
            "a block can be freed while a store to it is still on its way, which this monitor does not follow",
        )
    }

    /// Why what was seen cannot be right, if so.
    pub(crate) fn failed(&self) -> Option<String> {
        self.failed.clone()
    }
}

/// Completes what was seen of a step with what came of it.
pub(crate) fn came_of(mut taken: Taken, done: &Performed) -> Taken {
    performed(&mut taken, done);
    taken
}
