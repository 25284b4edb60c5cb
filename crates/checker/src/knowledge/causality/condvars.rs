//! Condition variables: who wakes whom.
//!
//! A wait is woken by exactly one notification that comes after it began and before it ends. A notification that wakes one thread wakes at
//! most one, and wakes some thread if any waits and has not been notified yet; one that wakes all leaves nobody waiting.

use super::{Causality, Given};
use crate::solver::Lit;

/// A wait: its two halves.
pub(super) struct Wait {
    condvar: u32,
    /// Gives the lock back and starts to wait.
    begin: usize,
    /// Takes the lock again; it may be pending, or missing if the run was cut off.
    end: Option<usize>,
}

/// "This wait is woken by this notification."
pub(super) struct Notified {
    pub(super) wait: usize,
    pub(super) notify: usize,
    pub(super) lit: Lit,
}

impl Causality {
    pub(super) fn add_condvars(&mut self, given: &Given<'_>) {
        let mut notifications = Vec::new();
        for event in 0..self.events.len() {
            let operation = &self.events[event].operation;
            if let Some((condvar, all)) = operation.notified().filter(|_| self.is_effective(event)) {
                notifications.push((event, condvar, all));
            } else if let Some(condvar) = operation.waited_for().filter(|_| self.is_effective(event)) {
                let thread = self.events[event].thread;
                let end = Some(event + 1).filter(|&end| end < self.threads[thread].events.end);
                self.waits.push(Wait { condvar, begin: event, end });
            }
        }
        for &(notify, condvar, all) in &notifications {
            if (given.is_over)() {
                return;
            }
            let mut wakes = Vec::new();
            for wait in 0..self.waits.len() {
                let other_thread = self.events[self.waits[wait].begin].thread != self.events[notify].thread;
                if self.waits[wait].condvar == condvar && other_thread {
                    wakes.push(self.add_notified(wait, notify));
                }
            }
            if !all {
                self.at_most_one(&wakes);
            }
        }
        for wait in 0..self.waits.len() {
            let woken: Vec<Lit> = self.notified.iter().filter(|n| n.wait == wait).map(|n| n.lit).collect();
            self.at_most_one(&woken);
            if let Some(end) = self.waits[wait].end {
                self.require(end, &woken);
            }
        }
        for (notify, condvar, all) in notifications {
            if (given.is_over)() {
                return;
            }
            self.add_obligation(notify, condvar, all);
        }
    }

    fn is_effective(&self, event: usize) -> bool {
        self.events[event].same.is_some() && self.events[event].result == 0
    }

    fn add_notified(&mut self, wait: usize, notify: usize) -> Lit {
        let Wait { begin, end, .. } = self.waits[wait];
        let lit = self.problem.before(self.events[begin].issue, self.events[notify].issue);
        for needed in [begin, notify] {
            let needed = self.events[needed].same.expect("both were performed");
            self.problem.clause([!lit, needed]);
        }
        if let Some(end) = end {
            self.problem.conditional.push((lit, self.events[notify].issue, self.events[end].issue));
        }
        self.notified.push(Notified { wait, notify, lit });
        lit
    }

    /// What a notification has to do: for each wait, it comes too early for it, or too late, or wakes it, or (if it wakes one) wakes another.
    fn add_obligation(&mut self, notify: usize, condvar: u32, all: bool) {
        let happens = self.events[notify].same.expect("it was performed");
        let wakes = |this: &Causality, wait: usize| {
            this.notified.iter().find(|n| n.wait == wait && n.notify == notify).map(|n| n.lit)
        };
        let another: Vec<Lit> = match all {
            true => Vec::new(),
            false => self.notified.iter().filter(|n| n.notify == notify).map(|n| n.lit).collect(),
        };
        for wait in (0..self.waits.len()).filter(|&wait| self.waits[wait].condvar == condvar).collect::<Vec<_>>() {
            let Some(wakes) = wakes(self, wait) else { continue };
            let begin = self.waits[wait].begin;
            let waits = self.events[begin].same.expect("it was performed");
            let early = self.problem.before(self.events[notify].issue, self.events[begin].issue);
            let mut clause = vec![!happens, !waits, early, wakes];
            clause.extend(&another);
            let earlier: Vec<(usize, Lit)> = self
                .notified
                .iter()
                .filter(|n| n.wait == wait && n.notify != notify)
                .map(|n| (n.notify, n.lit))
                .collect();
            for (other, woken) in earlier {
                let late = self.problem.before(self.events[other].issue, self.events[notify].issue);
                self.problem.clause([!late, woken]);
                clause.push(late);
            }
            self.problem.clause(clause);
        }
    }

    /// Literals that say that nobody has woken the wait that this event ends.
    pub(super) fn never_notified(&mut self, end: usize) -> Option<Lit> {
        let wait = self.waits.iter().position(|wait| wait.end == Some(end))?;
        let woken: Vec<Lit> = self.notified.iter().filter(|n| n.wait == wait).map(|n| n.lit).collect();
        let lit = self.problem.var();
        for woken in woken {
            self.problem.clause([!lit, !woken]);
        }
        Some(lit)
    }

    /// The thread that a notification wakes, in terms of the wait's literal.
    pub(super) fn wakes(&self, notify: usize) -> impl Iterator<Item = (Lit, usize)> {
        let notified = self.notified.iter().filter(move |n| n.notify == notify);
        notified.map(|n| (n.lit, self.events[self.waits[n.wait].begin].thread))
    }

    fn at_most_one(&mut self, literals: &[Lit]) {
        for (at, &first) in literals.iter().enumerate() {
            for &second in &literals[at + 1..] {
                self.problem.clause([!first, !second]);
            }
        }
    }
}
