//! References that are left in the end, asked of the finished book: what must be gone is not.
//!
//! Where it is seen who gives back the last reference, counts are values like others, and the question is whether one is left. Where it is not, taking and giving back
//! are not ordered, and nobody counts; a reference is left if it is taken, and nowhere given back.

use super::{Cumulative, Verdict};
use crate::base::Loc;
use crate::execution::Describe;
use crate::knowledge::book::{Cell, Ends, Meaning, Test, is_quiet};
use crate::search::StopReason;
use crate::solver::{Goal, Lit};
use std::collections::BTreeSet;

impl<S: Describe> Cumulative<'_, S> {
    /// Executions after which there are references to something.
    pub(super) fn ask_for_leaks(&mut self, ends: &mut Ends) -> Verdict {
        let mut left = self.counts_left(ends);
        left.extend(self.references_left());
        if left.is_empty() {
            return Ok(());
        }
        let goal = self.book.formula.var(Meaning::Other);
        self.book.formula.clause([!goal, ends.over]);
        self.book.all_end(goal);
        self.book.formula.clause([&[!goal], left.as_slice()].concat());
        let Some(solution) = self.ask(Goal::Finish, &[goal])? else { return Ok(()) };
        self.run_to_end(&solution)?;
        self.findings.one_violation_is_enough()?;
        match self.findings.judge.has_violation() {
            true => Ok(()),
            false => Err(StopReason::Unsupported("a reference that is left leaves nothing".to_string())),
        }
    }

    /// For each count that is looked at, a literal that says that it is not zero in the end.
    fn counts_left(&mut self, ends: &mut Ends) -> Vec<Lit> {
        let counts = self.book.entered().into_iter().filter_map(|node| {
            let operation = self.book.operation(node);
            operation.count().filter(|_| !is_quiet(operation)).map(|count| count.loc)
        });
        let counts: BTreeSet<Loc> = counts.collect();
        counts.into_iter().map(|loc| self.book.finally(Cell::Memory(loc), Test::IsNot(0), ends)).collect()
    }

    /// For each reference to what nobody counts, a literal that says that it is not given back.
    fn references_left(&mut self) -> Vec<Lit> {
        let references = self.book.references.given_back.clone();
        let users = |loc: Loc| {
            let of_loc = references.iter().filter(move |reference| reference.0.0 == loc);
            of_loc.flat_map(|((_, taken), given_back)| given_back.iter().chain(taken)).copied()
        };
        let mut left = vec![];
        for ((loc, taken), given_back) in &references {
            let lit = self.book.formula.var(Meaning::Other);
            let mut is_there = vec![!lit];
            match taken {
                Some(node) => is_there.extend(self.book.ways_on(*node)),
                // It is there if anybody has one.
                None => is_there.extend(users(*loc).flat_map(|node| self.book.ways_on(node))),
            }
            self.book.formula.clause(is_there);
            for way in given_back.iter().flat_map(|&node| self.book.ways_on(node)).collect::<Vec<_>>() {
                self.book.formula.clause([!lit, !way]);
            }
            left.push(lit);
        }
        left
    }
}
