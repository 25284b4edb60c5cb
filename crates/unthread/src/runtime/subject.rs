//! The subject for Rust closures: a program that is run from its start again and again.

use super::current::{may_be_silent, note, show};
use super::execution::{Counting, Execution, Settings};
use super::names::{Names, Site};
use super::{Beat, Request, lifetimes, panics, patience};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use unthread_checker::base::{Failure, FailureKind, Loc, Span, ThreadKey};
use unthread_checker::execution::{Buffers, Describe, Dropped, Operation, Poll, State, Status, Subject, Waits};
use unthread_checker::program::FinalState;

/// A closure to run.
pub(crate) struct ClosureSubject {
    body: Arc<dyn Fn() + Send + Sync>,
    buffers: Buffers,
    settings: Settings,
    pub(crate) max_threads: usize,
    pub(crate) names: Rc<RefCell<Names>>,
    pub(crate) counting: Arc<Counting>,
    beat: Arc<Beat>,
    /// Some execution had statics with data.
    has_statics: Cell<bool>,
}

/// A thread of one execution.
pub(crate) struct ClosureThread {
    execution: Rc<Execution>,
    index: usize,
    request: Request,
}

impl ClosureSubject {
    pub(crate) fn new(body: Arc<dyn Fn() + Send + Sync>, buffers: Buffers, settings: Settings) -> ClosureSubject {
        panics::install();
        ClosureSubject {
            body,
            buffers,
            settings,
            max_threads: usize::MAX,
            names: Rc::default(),
            counting: Arc::default(),
            beat: Arc::default(),
            has_statics: Cell::new(false),
        }
    }

    /// Its executions are looked at by way of this.
    pub(crate) fn watched_by(mut self, beat: &Arc<Beat>) -> ClosureSubject {
        self.beat = beat.clone();
        self
    }

    /// Where an operation stands.
    pub(crate) fn site(&self, span: Span) -> Option<Site> {
        self.names.borrow().get_site(span.start).cloned()
    }

    /// The type of an object.
    pub(crate) fn kind(&self, object: u32) -> &'static str {
        self.names.borrow().description(object).map_or("", |description| description.kind)
    }

    /// The thread that an object belongs to.
    pub(crate) fn owner(&self, object: u32) -> Option<String> {
        self.names.borrow().owner(object).map(str::to_string)
    }

    fn object_name(&self, object: u32) -> String {
        self.names.borrow().object_name(object)
    }
}

impl ClosureThread {
    fn begin(execution: &Rc<Execution>, index: usize) -> ClosureThread {
        let mut thread = ClosureThread { execution: execution.clone(), index, request: Request::of(Operation::End) };
        thread.go_on(0);
        thread
    }

    fn go_on(&mut self, result: i64) {
        self.execution.resume(self.index, result);
        self.request = self.execution.thread(self.index).request.borrow().clone();
    }
}

impl Drop for ClosureThread {
    fn drop(&mut self) {
        if Rc::strong_count(&self.execution) == 1 {
            self.execution.abandon();
        }
    }
}

impl Subject for ClosureSubject {
    type Thread = ClosureThread;

    fn initial(&self) -> Vec<(ThreadKey, ClosureThread)> {
        self.beat.begin();
        let execution =
            Execution::new(self.names.clone(), self.buffers, self.settings, self.counting.clone(), self.beat.clone());
        let (key, body) = (ThreadKey::initial(0), self.body.clone());
        let main = execution.add_thread(key, Some("main".to_string()), 0, Box::new(move || body()));
        vec![(key, ClosureThread::begin(&execution, main))]
    }

    fn operation(&self, thread: &ClosureThread) -> Operation {
        match thread.request.operation {
            Operation::Fork { .. } if thread.execution.threads.borrow().len() > self.max_threads => {
                Operation::Fail(FailureKind::OutOfResources)
            }
            operation => operation,
        }
    }

    fn failure(&self, thread: &ClosureThread) -> Failure {
        match thread.request.operation {
            Operation::Fail(kind) => Failure::new(kind, thread.request.message.clone()),
            _ => {
                let message = format!("more than {} threads are spawned (see `max_threads`)", self.max_threads);
                Failure::new(FailureKind::OutOfResources, message)
            }
        }
    }

    fn resume(&self, thread: &mut ClosureThread, result: i64) {
        note(&thread.execution, thread.execution.thread(thread.index), &thread.request, result);
        thread.go_on(result);
    }

    fn fork(&self, thread: &ClosureThread) -> ClosureThread {
        let child = thread.execution.thread(thread.index).child.take();
        ClosureThread::begin(&thread.execution, child.expect("a fork has a child"))
    }

    fn awaiting<'t>(&self, thread: &'t ClosureThread) -> &'t [(Loc, i64)] {
        &thread.request.awaiting
    }

    fn unseen<'t>(&self, thread: &'t ClosureThread) -> &'t [(Loc, u32)] {
        &thread.request.unseen
    }

    fn polls<'t>(&self, thread: &'t ClosureThread) -> &'t [Poll] {
        &thread.request.polls
    }

    fn has_unseen(&self) -> bool {
        true
    }

    fn may_be_silent(&self, operation: &Operation) -> bool {
        may_be_silent(operation)
    }

    fn has_opaque(&self) -> bool {
        true
    }

    fn opaque(&self, thread: &ClosureThread) -> Option<Loc> {
        thread.request.object
    }

    fn unfit(&self) -> Option<String> {
        self.names.borrow().unfit().map(str::to_string)
    }

    fn has_uncounted(&self) -> bool {
        self.names.borrow().has_uncounted
    }

    fn initial_cells(&self) -> Vec<i64> {
        Vec::new()
    }

    fn copy(&self, _: &ClosureThread) -> Option<ClosureThread> {
        None
    }

    fn take_new_cells(&self, thread: &mut ClosureThread, create: &mut dyn FnMut(Loc, i64)) {
        let context = thread.execution.thread(thread.index);
        context.new_cells.borrow_mut().drain(..).for_each(|(loc, value)| create(loc, value));
    }

    fn has_made(&self, thread: &ClosureThread, cell: Loc) -> bool {
        let found = thread.execution.found.borrow();
        found.is_empty() || cell.as_global().is_none_or(|number| !found.contains(&(number as u32)))
    }

    fn show(&self, thread: &ClosureThread, cell: Loc, value: i64) {
        show(&thread.execution, cell, value);
    }

    fn take_dropped(&self, thread: &mut ClosureThread, end: &mut dyn FnMut(Dropped)) {
        thread.execution.thread(thread.index).dropped.borrow_mut().drain(..).for_each(end);
    }

    fn part_of(&self, thread: &ClosureThread) -> Option<Loc> {
        thread.request.part_of
    }

    fn through<'t>(&self, thread: &'t ClosureThread) -> &'t [Loc] {
        &thread.request.through
    }

    fn use_after_drop(&self, thread: &ClosureThread, object: Loc) -> String {
        let number = object.as_global().unwrap_or_default() as u32;
        lifetimes::use_after_drop(&thread.execution, thread.execution.thread(thread.index), number)
    }

    fn waits(&self, thread: &ClosureThread) -> Waits {
        match &thread.request.waits {
            Waits::Timed => patience::waits(&thread.execution, thread.request.again),
            waits => waits.clone(),
        }
    }

    /// The process ends with its main thread.
    fn is_over(&self, state: &State<ClosureThread>) -> bool {
        let ended = state.threads.first().is_some_and(|main| main.status == Status::Ended);
        ended && !self.settings.all_threads_end
    }

    fn left_behind(&self, state: &State<ClosureThread>) -> Option<Failure> {
        let execution = &state.threads.first()?.local.execution;
        if let Some(failure) = execution.unhandled() {
            return Some(failure);
        }
        if let Some(waiting) = state.threads.iter().find(|thread| thread.status != Status::Ended) {
            // What it holds is not lost; nor can anything be dropped that it may use.
            self.names.borrow_mut().note_left(self.name(&waiting.local), waiting.local.request.site);
            return None;
        }
        self.has_statics.set(self.has_statics.get() || !execution.lazies.borrow().is_empty());
        execution.left_behind(state.shared.cells())
    }
}

impl Describe for ClosureSubject {
    fn title(&self) -> String {
        std::thread::current().name().unwrap_or("main").to_string()
    }

    fn span(&self, thread: &ClosureThread) -> Span {
        Span { start: thread.request.site, end: thread.request.site }
    }

    fn place(&self, span: Span) -> String {
        self.site(span).map_or_else(|| "an unknown place".to_string(), |site| site.to_string())
    }

    fn name(&self, thread: &ClosureThread) -> String {
        thread.execution.name_of(thread.execution.thread(thread.index))
    }

    fn loc_name(&self, loc: Loc) -> String {
        self.object_name(loc.as_global().unwrap_or(0) as u32)
    }

    fn lock_name(&self, lock: u32) -> String {
        self.object_name(lock)
    }

    fn condvar_name(&self, condvar: u32) -> String {
        self.object_name(condvar)
    }

    fn has_plain_cells(&self) -> bool {
        true
    }

    fn aside(&self, state: &State<ClosureThread>) -> Option<String> {
        state.threads.first()?.local.execution.panics_so_far()
    }

    /// Values that are left are seen by the destructors of statics, if by anyone.
    fn has_final_states(&self) -> bool {
        self.has_statics.get()
    }

    fn final_state(&self, _: &State<ClosureThread>) -> FinalState {
        FinalState::default()
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
