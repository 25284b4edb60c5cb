//! Events: literals, nodes, program order, forks and joins.

use super::order::Commits;
use super::{CausalEvent, CausalThread, Causality, Contents, Given, WriteInfo};
use crate::base::{FAILED, FailureKind, Loc, ThreadKey};
use crate::trace::{INITIAL, Run, RunEvent};

impl Causality {
    /// Every cell that somebody accesses or looks at.
    pub(super) fn add_cells<T>(&mut self, run: &Run<T>, initial: &dyn Fn(Loc) -> i64) {
        let events = run.threads.iter().flat_map(|thread| thread.events.iter().chain(&thread.pending));
        for event in events {
            let accessed = event.object.or_else(|| event.operation.loc());
            for loc in accessed.into_iter().chain(event.awaiting.iter().map(|it| it.0)) {
                let cell = *self.cell_numbers.entry(loc).or_insert_with(|| {
                    self.cells.push(loc);
                    self.cell_writes.push(Vec::new());
                    self.initial.push(Contents::of(initial(loc)));
                    self.opaque.push(false);
                    self.cells.len() as u32 - 1
                });
                if event.object == Some(loc) {
                    self.initial[cell as usize].result = INITIAL;
                    self.opaque[cell as usize] = true;
                }
            }
        }
    }

    pub(super) fn add_events<T>(&mut self, run: &Run<T>) {
        for (index, thread) in run.threads.iter().enumerate() {
            let chain = self.problem.chain();
            let mut commits = Commits::new(self.memory);
            let start = self.events.len();
            self.threads.push(CausalThread {
                key: thread.key,
                events: start..start,
                n_performed: thread.events.len(),
                fork: None,
                deviates_before: Vec::new(),
            });
            for (event, performed) in
                thread.events.iter().map(|event| (event, true)).chain(thread.pending.iter().map(|event| (event, false)))
            {
                self.add_event(index, chain, &mut commits, event, performed);
            }
            self.threads[index].events.end = self.events.len();
        }
    }

    fn add_event<T>(&mut self, thread: usize, chain: u32, commits: &mut Commits, event: &RunEvent<T>, performed: bool) {
        let same = performed.then(|| self.problem.var());
        let issue = self.problem.node(chain, same.into_iter().collect(), event.at);
        let at = self.events.len();
        if let (Some(same), true) = (same, at > self.threads[thread].events.start)
            && let Some(before) = self.events[at - 1].same
        {
            self.problem.clause([!same, before]);
        }
        commits.issue(&mut self.problem, &event.operation, issue);
        let failed = |kind: FailureKind| event.failure.as_ref().is_some_and(|failure| failure.kind == kind);
        let mut added = CausalEvent {
            thread,
            operation: event.operation,
            object: event.object,
            result: event.result,
            awaiting: event.awaiting.clone(),
            hit_freed: failed(FailureKind::UseAfterFree),
            leads_nowhere: failed(FailureKind::InvalidPointer),
            span: event.span,
            same,
            others: Vec::new(),
            named: Vec::new(),
            rest: None,
            issue,
            commit: None,
            write: None,
        };
        let written = match event.object {
            Some(object) => {
                let value = event.written.map_or(0, |written| written.1);
                event.version.map(|result| (object, Contents { result, value }))
            }
            // What a change of a count leaves depends on what it finds.
            None if event.operation.count().is_some() => None,
            None => event.written.map(|(loc, value)| (loc, Contents::of(value))),
        };
        if let (Some((loc, contents)), Some(same)) = (written, same) {
            added.commit = event.buffered.then(|| commits.commit(&mut self.problem, issue, loc));
            let cell = self.cell(loc);
            let node = added.commit.unwrap_or(issue);
            added.write = Some(self.add_write(cell, node, same, WriteInfo { event: at, contents, deviant: false }));
        }
        self.events.push(added);
    }

    pub(super) fn add_forks_and_joins(&mut self, given: &Given<'_>) {
        for event in 0..self.events.len() {
            if let Some(child) = self.events[event].operation.forked()
                && let Some(child) = self.threads.iter().position(|thread| thread.key == child)
                && self.events[event].same.is_some()
            {
                self.threads[child].fork = Some(event);
                let first = self.threads[child].events.start;
                self.problem.edges.push((self.events[event].issue, self.events[first].issue));
                if let (Some(first), Some(fork)) = (self.events[first].same, self.events[event].same) {
                    self.problem.clause([!first, fork]);
                }
            }
        }
        for event in 0..self.events.len() {
            let operation = self.events[event].operation;
            if let Some(thread) = operation.joined() {
                self.add_join_of(event, thread);
            } else if operation.is_join_all() {
                self.add_join(event, &|this, other| this != other);
            } else if let Some(thread) = operation.asks_for_end_of() {
                self.add_look_at_end(event, thread);
            } else if let Some((low, high)) = operation.choices() {
                self.add_choices(event, low, high, given);
            }
        }
    }

    /// The event waits for the end of a thread, and fails if that thread has not even been forked.
    fn add_join_of(&mut self, event: usize, key: ThreadKey) {
        let Some(thread) = self.threads.iter().position(|thread| thread.key == key) else { return };
        if let Some(fork) = self.threads[thread].fork {
            let forked = self.events[fork].same.expect("the thread was forked");
            let fails = match self.events[event].same.filter(|_| self.events[event].result == FAILED) {
                Some(same) => same,
                None => self.other(event, FAILED),
            };
            let too_early = self.problem.before(self.events[event].issue, self.events[fork].issue);
            self.problem.clause([!fails, !forked, too_early]);
        }
        self.add_join(event, &|_, other| other == thread);
    }

    /// The event says whether a thread has ended.
    fn add_look_at_end(&mut self, event: usize, key: ThreadKey) {
        let CausalEvent { same, result, issue, .. } = self.events[event];
        let end = self.threads.iter().position(|thread| thread.key == key).and_then(|thread| self.end_of(thread));
        let Some(end) = end else {
            // Not in this run: there is one result.
            if same.is_none() {
                self.other(event, 0);
            }
            return;
        };
        let [too_early, has_ended] = [0, 1].map(|seen| match same.filter(|_| seen == result) {
            Some(same) => same,
            None => self.other(event, seen),
        });
        let ended = self.events[end].same.expect("ends are performed");
        self.problem.clause([!has_ended, ended]);
        self.problem.conditional.push((has_ended, self.events[end].issue, issue));
        self.problem.conditional.push((too_early, issue, self.events[end].issue));
    }

    /// The event waits for the ends of these threads, unless it fails.
    fn add_join(&mut self, event: usize, joined: &dyn Fn(usize, usize) -> bool) {
        let this = self.events[event].thread;
        let joins = match self.events[event].same.filter(|_| self.events[event].result != FAILED) {
            Some(same) => same,
            None => self.other(event, 0),
        };
        for thread in (0..self.threads.len()).filter(|&thread| joined(this, thread)) {
            match self.end_of(thread).filter(|_| thread != this) {
                Some(end) => {
                    let (end, ended) = (self.events[end].issue, self.events[end].same.expect("ends are performed"));
                    self.problem.conditional.push((joins, end, self.events[event].issue));
                    self.problem.clause([!joins, ended]);
                }
                None => self.problem.clause([!joins]),
            }
        }
    }

    /// The event by which the thread ended, if it did.
    pub(super) fn end_of(&self, thread: usize) -> Option<usize> {
        let thread = &self.threads[thread];
        let last = thread.events.start + thread.n_performed.checked_sub(1)?;
        self.events[last].operation.is_end().then_some(last)
    }
}
