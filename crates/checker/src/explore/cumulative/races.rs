//! Data races, asked of the finished book: two threads whose next operations access the same plain cell.

use super::book::{Meaning, NodeId, WriteId};
use super::ordering::Happening;
use super::over::until;
use super::{Search, Verdict};
use crate::causality::is_buffered;
use crate::execution::{Describe, MemoryModel, Operation, ThreadKey};
use crate::program::{Access, Loc};
use crate::report::StopReason;
use crate::solver::Goal;
use batsat::Lit;
use std::collections::BTreeMap;

/// Accesses of one thread at one place to one location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    thread: ThreadKey,
    at: u32,
    loc: Loc,
    writes: bool,
    plain: bool,
}

impl<S: Describe> Search<'_, '_, S> {
    pub(super) fn ask_for_races(&mut self) -> Verdict {
        if !self.judge.looks_at_states() {
            return Ok(());
        }
        let (next, late) = self.sites();
        let mut races: BTreeMap<[(ThreadKey, u32); 2], Vec<Lit>> = BTreeMap::new();
        for (second, lit, is_late) in
            next.iter().map(|(site, &lit)| (site, lit, false)).chain(late.iter().map(|(site, &lit)| (site, lit, true)))
        {
            for (first, &other) in &next {
                if conflict(first, second) && (is_late || first < second) {
                    let race = self.book.formula.var(Meaning::Other);
                    self.book.formula.clause([!race, lit]);
                    self.book.formula.clause([!race, other]);
                    let mut places = [(first.thread, first.at), (second.thread, second.at)];
                    places.sort_unstable();
                    races.entry(places).or_default().push(race);
                }
            }
        }
        for literals in races.into_values() {
            let goal = self.book.formula.var(Meaning::Other);
            self.book.formula.clause([&[!goal], literals.as_slice()].concat());
            if let Some(solution) = self.ask(Goal::Race, &[goal])? {
                let commit = solution.order.iter().find(|happening| match happening {
                    Happening::Commit(write) => {
                        let late = self.book.late_literals.get(&Meaning::Late(*write));
                        late.is_some_and(|&late| solution.holds(late))
                    }
                    Happening::Issue(_) => false,
                });
                let order = commit.map_or(solution.order.as_slice(), |&commit| until(&solution.order, commit));
                let prediction = self.book.steps(&solution, order);
                let mut runner = self.runner();
                runner.follow(&prediction).map_err(StopReason::Failed)?;
                runner.judge_races();
                self.one_violation_is_enough()?;
            }
        }
        Ok(())
    }

    /// Where cells are accessed, with literals that say that the access is its thread's next operation, or a store on its way that others may
    /// already have overtaken.
    fn sites(&mut self) -> (BTreeMap<Site, Lit>, BTreeMap<Site, Lit>) {
        let (mut next, mut late): (BTreeMap<Site, Vec<Lit>>, BTreeMap<Site, Vec<Lit>>) = Default::default();
        for node in self.book.entered() {
            let Some(site) = self.site(node) else { continue };
            let is_next = self.book.formula.var(Meaning::Other);
            self.book.formula.clause([!is_next, self.book.entry(node).reached]);
            for way in self.book.ways_on(node) {
                self.book.formula.clause([!is_next, !way]);
            }
            next.entry(site).or_default().push(is_next);
            let operation = self.book.operation(node);
            if self.book.memory == MemoryModel::Pso && is_buffered(self.book.memory, operation) {
                let edges = self.book.entry(node).edges.iter().map(|&edge| &self.book.edges[edge as usize]);
                let stores: Vec<(Lit, WriteId)> = edges
                    .filter(|edge| edge.known)
                    .flat_map(|edge| edge.writes.iter().map(|&w| (edge.lit, w)))
                    .collect();
                for (stored, write) in stores {
                    let meaning = Meaning::Late(write);
                    let lit = self.book.formula.var(meaning);
                    self.book.late_literals.insert(meaning, lit);
                    self.book.formula.clause([!lit, stored]);
                    late.entry(site).or_default().push(lit);
                }
            }
        }
        let mut one_of = |sites: BTreeMap<Site, Vec<Lit>>| -> BTreeMap<Site, Lit> {
            let one = sites.into_iter().map(|(site, literals)| {
                let lit = self.book.formula.var(Meaning::Other);
                self.book.formula.clause([&[!lit], literals.as_slice()].concat());
                (site, lit)
            });
            one.collect()
        };
        (one_of(next), one_of(late))
    }

    fn site(&self, node: NodeId) -> Option<Site> {
        let (thread, at) = self.book.place(node);
        let (loc, writes, plain) = match *self.book.operation(node) {
            Operation::Read { loc, access, .. } => (loc, false, access == Access::Plain),
            Operation::Write { loc, access, .. } => (loc, true, access == Access::Plain),
            Operation::Rmw { loc, .. } | Operation::Cas { loc, .. } => (loc, true, false),
            Operation::Touch { loc, writes } => (loc, writes, true),
            _ => return None,
        };
        Some(Site { thread, at, loc, writes, plain })
    }
}

fn conflict(first: &Site, second: &Site) -> bool {
    first.thread != second.thread
        && first.loc == second.loc
        && (first.writes || second.writes)
        && (first.plain || second.plain)
}
