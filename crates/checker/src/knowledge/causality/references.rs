//! References: who gives one back sees whether it was the last.
//!
//! A reference is there from the event that takes it (or from the start) to the event that gives it back. The last one is given back where no other is there. Nobody
//! takes a reference where there is none, so one that is taken later than the last is given back is not taken at all.

use super::Causality;
use crate::base::Loc;
use crate::execution::Count;
use crate::solver::Lit;
use std::collections::BTreeMap;

/// Where a reference begins, unless it was there from the start, and where it ends.
#[derive(Clone, Copy, Default)]
struct Reference {
    taken: Option<usize>,
    given_back: Option<usize>,
    /// Whether it is seen there that it was the last.
    sees_last: bool,
}

impl Causality {
    /// The events that take and give back references to what this cell counts.
    pub(super) fn add_references(&mut self, loc: Loc, events: impl Iterator<Item = usize>) {
        let mut references: BTreeMap<u32, Reference> = BTreeMap::new();
        if self.initial[self.cell(loc) as usize].value > 0 {
            // It is there from the start, whether it is given back or not.
            references.insert(0, Reference::default());
        }
        for event in events {
            let Some(count) = self.events[event].operation.count() else { continue };
            let Count { by, reference, sees_last, .. } = count;
            let this = references.entry(reference).or_default();
            self.happens_with(event, 0);
            if by > 0 {
                this.taken = Some(event);
            } else {
                this.given_back = Some(event);
                this.sees_last = sees_last;
                if sees_last {
                    self.happens_with(event, 1);
                }
            }
        }
        let references: Vec<Reference> = references.into_values().collect();
        for (at, this) in references.iter().enumerate() {
            let Some(event) = this.given_back.filter(|_| this.sees_last) else { continue };
            let others = references.iter().enumerate().filter(|other| other.0 != at).map(|other| *other.1);
            self.add_return(event, &others.collect::<Vec<_>>());
        }
    }

    /// An event gives a reference back; there are these others.
    fn add_return(&mut self, event: usize, others: &[Reference]) {
        let (last, not_last) = (self.happens_with(event, 1), self.happens_with(event, 0));
        let mut some_is_there = vec![!not_last];
        for other in others {
            let mut gone = vec![!last];
            gone.extend(other.taken.map(|taken| !self.happens_with(taken, 0)));
            gone.extend(other.given_back.and_then(|given_back| self.happens_before(given_back, event)));
            self.problem.clause(gone);
            let there = self.is_there(*other, event);
            self.problem.clause([!there, not_last]);
            some_is_there.push(there);
        }
        self.problem.clause(some_is_there);
    }

    /// A literal that says that the reference is there when the event happens.
    fn is_there(&mut self, reference: Reference, event: usize) -> Lit {
        let there = self.problem.var();
        if let Some(taken) = reference.taken {
            let before = self.happens_before(taken, event);
            self.problem.clause([!there].into_iter().chain(before).collect::<Vec<_>>());
        }
        if let Some(given_back) = reference.given_back {
            let (now, then) = (self.events[event].issue, self.events[given_back].issue);
            for happens in self.happens(given_back).collect::<Vec<_>>() {
                let later = self.problem.var();
                self.problem.clause([!there, !happens, later]);
                self.problem.clause([!later, there]);
                self.problem.conditional.push((later, now, then));
            }
        }
        there
    }

    /// A literal that says that an event happens as in the run, and before another one.
    fn happens_before(&mut self, event: usize, other: usize) -> Option<Lit> {
        let same = self.events[event].same?;
        let before = self.problem.before(self.events[event].issue, self.events[other].issue);
        self.problem.clause([!before, same]);
        Some(before)
    }

    /// The literal by which the event has this result.
    pub(super) fn happens_with(&mut self, event: usize, result: i64) -> Lit {
        let same = self.events[event].same.filter(|_| self.events[event].result == result);
        same.unwrap_or_else(|| self.other(event, result))
    }
}
