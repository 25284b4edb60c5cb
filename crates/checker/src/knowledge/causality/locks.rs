//! Locks: critical sections exclude one another.

use super::{CausalEvent, Causality};
use crate::execution::LockAction;
use crate::program::LockMode;
use crate::solver::Lit;

/// From taking a lock to giving it back.
pub(super) struct Section {
    pub(super) lock: u32,
    mode: LockMode,
    acquire: usize,
    /// By which literals it is taken: a try-lock may fail.
    taken: Vec<Lit>,
    release: Option<usize>,
}

impl Causality {
    pub(super) fn add_locks(&mut self) {
        for thread in 0..self.threads.len() {
            for event in self.threads[thread].events.clone() {
                self.add_lock_event(event);
            }
        }
        for section in &self.sections {
            let end = section.release.map(|release| &self.events[release]);
            self.problem.sections.push(crate::solver::Section {
                group: section.lock,
                shared: section.mode == LockMode::Shared,
                begin: self.events[section.acquire].issue,
                taken: section.taken.clone(),
                end: end.map(|end| (end.issue, end.same.expect("releases are performed"))),
            });
        }
        for event in 0..self.events.len() {
            if let Some((lock, mode)) = self.events[event].operation.tried() {
                self.add_failed_try(event, lock, mode);
            }
        }
    }

    fn add_lock_event(&mut self, event: usize) {
        let this = &self.events[event];
        let Some((lock, action)) = this.operation.lock_action() else { return };
        match action {
            LockAction::Acquire(mode) => {
                self.add_only_result(event);
                let taken = self.happens(event).collect();
                self.sections.push(Section { lock, mode, acquire: event, taken, release: None });
            }
            LockAction::Try(mode) => {
                let taken = match (this.object, this.same.filter(|_| !this.is_failed_try())) {
                    (Some(_), same) => same.into_iter().chain(this.deviations()).collect(),
                    (None, Some(same)) => vec![same],
                    (None, None) => vec![self.other(event, 1)],
                };
                self.sections.push(Section { lock, mode, acquire: event, taken, release: None });
            }
            LockAction::Release(mode) => self.release(event, lock, mode),
            LockAction::Downgrade => {}
        }
    }

    /// Taking a lock has one result, unless it shows what the lock protects: then it has those that it can read.
    fn add_only_result(&mut self, event: usize) {
        let CausalEvent { same, object, .. } = self.events[event];
        if same.is_none() && object.is_none() {
            self.other(event, 0);
        }
    }

    /// The event gives back what its thread took last. An unlock that fails gives nothing back.
    fn release(&mut self, event: usize, lock: u32, mode: LockMode) {
        if self.events[event].same.is_none() {
            return;
        }
        let thread = self.events[event].thread;
        let events = &self.events;
        let took = |section: &&mut Section| {
            (section.lock, section.mode) == (lock, mode)
                && section.release.is_none()
                && events[section.acquire].thread == thread
                // A deviation is the last thing that its thread does.
                && section.taken.iter().any(|&lit| Some(lit) == events[section.acquire].same)
        };
        let section = self.sections.iter_mut().rfind(took);
        if let Some(section) = section.filter(|_| self.events[event].result == 0) {
            section.release = Some(event);
        }
    }

    /// A try-lock fails only while somebody holds the lock.
    fn add_failed_try(&mut self, event: usize, lock: u32, mode: LockMode) {
        let fails = match (self.events[event].same, self.events[event].result) {
            (Some(same), 0) => same,
            _ => self.other(event, 0),
        };
        let mut held = vec![!fails];
        for section in 0..self.sections.len() {
            let other = &self.sections[section];
            let conflicts = mode == LockMode::Exclusive || other.mode == LockMode::Exclusive;
            if other.lock != lock || !conflicts || other.acquire == event {
                continue;
            }
            let (taken, release) = (other.taken.clone(), other.release);
            let (acquire, try_lock) = (self.events[other.acquire].issue, self.events[event].issue);
            let during = self.problem.before(acquire, try_lock);
            self.problem.clause([&[!during], taken.as_slice()].concat());
            if let Some(release) = release {
                self.problem.conditional.push((during, try_lock, self.events[release].issue));
            }
            held.push(during);
        }
        self.problem.clause(held);
    }

    /// A literal that says that somebody is in the way of taking the lock when nothing can happen any more. (Not whoever waits for it:
    /// that it waits means that it has not taken it.)
    pub(super) fn held_at_end(&mut self, lock: u32, mode: LockMode) -> Lit {
        let key = (lock, mode == LockMode::Exclusive);
        if let Some(&held) = self.held_at_end.get(&key) {
            return held;
        }
        let held = self.problem.var();
        let mut by_any = vec![!held];
        for section in 0..self.sections.len() {
            let other = &self.sections[section];
            let conflicts = mode == LockMode::Exclusive || other.mode == LockMode::Exclusive;
            if other.lock != lock || !conflicts {
                continue;
            }
            let (taken, release) = (other.taken.clone(), other.release);
            let lit = self.problem.var();
            self.problem.clause([&[!lit], taken.as_slice()].concat());
            if let Some(released) = release.and_then(|release| self.events[release].same) {
                self.problem.clause([!lit, !released]);
            }
            by_any.push(lit);
        }
        self.problem.clause(by_any);
        self.held_at_end.insert(key, held);
        held
    }
}
