//! Runs a program along a prediction and on to its end, and sees that what was predicted happens.

use crate::base::{Action, Loc, Step, ThreadId, ThreadKey};
use crate::execution::{Describe, Machine, State, Status, Stuck};
use crate::knowledge::causality::{Predicted, PredictedStep, Prediction};
use crate::search::findings::Findings;
use crate::search::{StopReason, Watch};
use crate::trace::{Histories, Run, RunEvent, RunThread, Versions};

/// A thread that goes on for this many operations lets another one go on, so that threads that wait for each other in loops
/// come to an end. Any numbers would do; of those tried (1 to 50 each) these find the errors of the papers' programs soonest.
const FIRST_TURN: u32 = 18;
const TURN: u32 = 11;

/// An execution under way.
pub(crate) struct Runner<'a, 'j, S: Describe> {
    subject: &'a S,
    machine: &'j Machine<'a, S>,
    findings: &'j mut Findings<'a, S>,
    watch: &'j dyn Watch,
    pub(crate) state: State<S::Thread>,
    threads: Vec<RunThread<S::Thread>>,
    pub(crate) steps: Vec<Step>,
    created: Vec<(Loc, i64)>,
    versions: Option<Versions<'j>>,
    /// Why what threads do may depend on more than what their histories say.
    pub(crate) unfit: Option<&'static str>,
}

impl<'a, 'j, S: Describe> Runner<'a, 'j, S> {
    pub(crate) fn new(
        subject: &'a S,
        machine: &'j Machine<'a, S>,
        findings: &'j mut Findings<'a, S>,
        watch: &'j dyn Watch,
    ) -> Self {
        let state = machine.start();
        let cells = state.shared.cells().iter().enumerate();
        let created = cells.map(|(index, &value)| (Loc::global(index), value)).collect();
        let mut runner = Runner {
            subject,
            machine,
            findings,
            watch,
            state,
            threads: Vec::new(),
            steps: Vec::new(),
            created,
            versions: None,
            unfit: None,
        };
        runner.note_threads(None);
        runner
    }

    /// From now on histories say which versions of opaque objects were seen. Requires that nothing has happened yet.
    pub(crate) fn with_versions(mut self, histories: &'j mut Histories) -> Self {
        let mut versions = Versions::new(histories);
        self.threads.iter().for_each(|thread| versions.add_thread(thread.key, None));
        self.versions = Some(versions);
        self
    }

    fn note_threads(&mut self, parent: Option<usize>) {
        for thread in &self.state.threads[self.threads.len()..] {
            self.threads.push(RunThread { key: thread.key, events: Vec::new(), pending: None });
            if let Some(versions) = &mut self.versions {
                versions.add_thread(thread.key, parent);
            }
        }
    }

    /// Follows a prediction. An error says where reality differs.
    pub(crate) fn follow(&mut self, prediction: &Prediction) -> Result<(), String> {
        for (at, predicted) in prediction.0.iter().enumerate() {
            let outcome = self.follow_one(predicted);
            outcome.map_err(|why| format!("step {} of a prediction ({predicted:?}): {why}", at + 1))?;
        }
        Ok(())
    }

    fn follow_one(&mut self, predicted: &Predicted) -> Result<(), String> {
        let thread = self.thread(predicted.thread).ok_or("there is no such thread")?;
        match predicted.step {
            PredictedStep::Commit(loc) => {
                let buffer = &self.state.threads[thread.index()].buffer;
                let at = buffer.entries().iter().position(|entry| entry.loc == loc);
                let at = at.filter(|&at| buffer.flushable(&self.machine.rules).any(|free| free == at));
                let at = at.ok_or("there is no such store to flush")?;
                self.take(Step { thread, action: Action::Flush(at as u8) });
            }
            PredictedStep::Perform { result, wakes } => {
                let wakes = wakes.map(|key| self.thread(key).ok_or("the waiting thread is not there")).transpose()?;
                let action = self.action(thread, result, wakes);
                let step = Step { thread, action };
                if !self.machine.can_take(&self.state, step) {
                    return Err("it is not possible".to_string());
                }
                let seen = self.take(step);
                if seen != Some(result) {
                    return Err(format!("the result is {seen:?}"));
                }
            }
        }
        Ok(())
    }

    /// How a thread's operation is performed so that it has this result, or wakes this thread.
    fn action(&self, thread: ThreadId, result: i64, wakes: Option<ThreadId>) -> Action {
        let operation = self.subject.operation(&self.state.threads[thread.index()].local);
        match operation.notified() {
            Some((condvar, false)) if self.state.shared.waiters(condvar).count() > 1 => {
                let first = || self.state.shared.waiters(condvar).next();
                wakes.or_else(first).map_or(Action::Run, |waiter| Action::Choose(waiter.0.into()))
            }
            _ if operation.choices().is_some() => Action::Choose(result),
            _ => Action::Run,
        }
    }

    fn thread(&self, key: ThreadKey) -> Option<ThreadId> {
        self.state.threads.iter().position(|thread| thread.key == key).map(|index| ThreadId(index as u16))
    }

    /// Goes on until nothing can happen. Otherwise there have been `most` steps, or the watch says why to stop. The thread that was last goes on first: after a
    /// prediction it is the one that has seen something new.
    pub(crate) fn finish(&mut self, most: u64) -> Result<Stuck, StopReason> {
        let longest = match self.steps.is_empty() {
            // Such threads say when they wait in a loop. One that does not goes on until it meets the limit on events, which is to be noticed at once.
            _ if self.versions.is_some() => u32::MAX,
            true => FIRST_TURN,
            false => TURN,
        };
        self.go_on(longest, most)
    }

    /// As [`Runner::finish`], with turns of another length.
    pub(crate) fn finish_in_turns(&mut self, longest: u32, most: u64) -> Result<Stuck, StopReason> {
        self.go_on(longest, most)
    }

    fn go_on(&mut self, longest: u32, most: u64) -> Result<Stuck, StopReason> {
        let (mut current, mut turn) = (self.steps.last().map_or(0, |step| step.thread.index()), 0);
        while (self.steps.len() as u64) < most {
            if let Some(stop) = self.watch.stop() {
                return Err(stop);
            }
            let n_threads = self.state.threads.len();
            if turn >= longest {
                (current, turn) = ((current + 1) % n_threads, 0);
            }
            let step = (0..n_threads).find_map(|offset| {
                let thread = (current + offset) % n_threads;
                self.step_of(ThreadId(thread as u16)).map(|step| (thread, step))
            });
            let Some((thread, step)) = step.or_else(|| self.last_resort()) else {
                (0..n_threads).for_each(|thread| self.note_polls(thread));
                return Ok(self.machine.stuck(&self.state));
            };
            turn = if thread == current { turn + 1 } else { 0 };
            current = thread;
            self.take(step);
        }
        Err(StopReason::EventLimit)
    }

    fn note_polls(&mut self, thread: usize) {
        if !self.subject.polls(&self.state.threads[thread].local).is_empty() {
            self.unfit = Some("a thread spins until a lock is free or a thread has ended");
        }
    }

    /// A thread that spins or waits for some time goes on because nothing else can happen.
    fn last_resort(&mut self) -> Option<(usize, Step)> {
        let step = *self.machine.last_resorts(&self.state).first()?;
        self.unfit = Some("a thread that spins or waits for some time goes on because nothing else can happen");
        Some((step.thread.index(), step))
    }

    /// Lets a thread go on for as long as nothing that it does depends on others, or until there have been `most` steps.
    pub(crate) fn go_on_alone(&mut self, key: ThreadKey, most: u64) {
        let Some(thread) = self.thread(key) else { return };
        while (self.steps.len() as u64) < most && self.watch.stop().is_none() {
            let this = &self.state.threads[thread.index()];
            let operation = self.subject.operation(&this.local);
            let alone = operation.is_write() || operation.is_fence() || operation.is_yield() || operation.is_failure();
            if this.status != Status::Running || !alone {
                return;
            }
            let Some(step) = self.step_of(thread) else { return };
            self.take(step);
        }
    }

    /// What the thread does next if nothing says otherwise: its operation, or a flush if it waits for one.
    fn step_of(&self, thread: ThreadId) -> Option<Step> {
        let mut steps = Vec::new();
        self.machine.operation_steps(&self.state, thread, &mut steps);
        let flush = || {
            let buffer = &self.state.threads[thread.index()].buffer;
            let at = buffer.flushable(&self.machine.rules).next()?;
            Some(Step { thread, action: Action::Flush(at as u8) })
        };
        steps.first().copied().or_else(flush)
    }

    /// Takes a step and notes it. Gives what the thread's history says of it.
    fn take(&mut self, step: Step) -> Option<i64> {
        let index = step.thread.index();
        let local = &self.state.threads[index].local;
        let (before, span) = (self.subject.copy(local), self.subject.span(local));
        let (awaiting, object) = (self.subject.awaiting(local).to_vec(), self.subject.opaque(local));
        let (part_of, through) = (self.subject.part_of(local), self.subject.through(local).to_vec());
        if !self.subject.unseen(local).is_empty() {
            self.unfit = Some("a thread that spins writes on every turn");
        }
        self.note_polls(index);
        let performed = self.machine.apply(&mut self.state, step);
        self.steps.push(step);
        self.created.extend_from_slice(&performed.created);
        if let Some(failure) = &performed.failure {
            self.findings.judge.failed(&self.state.threads[index], span, step, failure, || self.steps.clone());
        }
        self.note_threads(Some(index));
        if let (Some(versions), Some(operation)) = (&mut self.versions, &performed.operation)
            && !versions.does_the_same(index, operation, span)
        {
            self.unfit = Some("a thread that has seen the same does something else");
        }
        let (result, version) = match &mut self.versions {
            Some(versions) => versions.note(index, step.action, object, &performed),
            None => (performed.history_entry(), None),
        };
        let operation = performed.operation?;
        self.threads[index].events.push(RunEvent {
            operation,
            result,
            written: performed.written,
            buffered: performed.buffered,
            object,
            version,
            awaiting,
            failure: performed.failure,
            part_of,
            through,
            dropped: performed.dropped,
            span,
            at: self.steps.len() as u32,
            before,
        });
        Some(result)
    }

    /// Reports what is wrong where the execution has come to, and keeps final values.
    pub(crate) fn judge_end(&mut self, end: &Stuck) {
        self.findings.at_end(end, &self.state, || self.steps.clone());
    }

    /// Reports the data races that can be seen where the execution has come to.
    pub(crate) fn judge_races(&mut self) {
        self.findings.judge.look_at(&self.state, || self.steps.clone());
    }

    /// The run as it is now.
    pub(crate) fn into_run(mut self, end: Option<Stuck>) -> Run<S::Thread> {
        for (thread, state) in self.threads.iter_mut().zip(&self.state.threads) {
            if state.status == Status::Running {
                thread.pending = Some(RunEvent {
                    operation: self.subject.operation(&state.local),
                    result: 0,
                    written: None,
                    buffered: false,
                    object: self.subject.opaque(&state.local),
                    version: None,
                    awaiting: self.subject.awaiting(&state.local).to_vec(),
                    failure: None,
                    part_of: self.subject.part_of(&state.local),
                    through: self.subject.through(&state.local).to_vec(),
                    dropped: Vec::new(),
                    span: self.subject.span(&state.local),
                    at: u32::MAX - 1,
                    before: self.subject.copy(&state.local),
                });
            }
        }
        Run { threads: self.threads, steps: self.steps, created: self.created, end }
    }
}
