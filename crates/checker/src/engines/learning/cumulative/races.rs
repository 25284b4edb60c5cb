//! Data races, asked of the finished book: two threads whose next operations access the same plain cell.

use super::over::until;
use super::{Cumulative, Verdict};
use crate::base::ThreadKey;
use crate::execution::{CellAccess, Describe};
use crate::knowledge::book::{Book, Happening, Meaning, NodeId, WriteId};
use crate::knowledge::causality::is_buffered;
use crate::search::StopReason;
use crate::solver::{Goal, Lit};
use std::collections::BTreeMap;

/// Accesses of one thread at one place to one location.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Site {
    thread: ThreadKey,
    at: u32,
    access: CellAccess,
}

impl<S: Describe> Cumulative<'_, S> {
    pub(super) fn ask_for_races(&mut self) -> Verdict {
        if !self.findings.judge.looks_at_states() {
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
            self.ask_for_race(goal)?;
        }
        Ok(())
    }

    /// Runs an execution that leads to a race, if there is one.
    fn ask_for_race(&mut self, goal: Lit) -> Verdict {
        let Some(solution) = self.ask(Goal::Race, &[goal])? else { return Ok(()) };
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
        self.findings.one_violation_is_enough()
    }

    /// Where cells are accessed, with literals that say that the access is its thread's next operation, or a store on its way that others may
    /// already have overtaken.
    fn sites(&mut self) -> (BTreeMap<Site, Lit>, BTreeMap<Site, Lit>) {
        let (mut next, mut late): (BTreeMap<Site, Vec<Lit>>, BTreeMap<Site, Vec<Lit>>) = Default::default();
        for node in self.book.entered() {
            let Some(site) = self.site(node) else { continue };
            next.entry(site).or_default().push(self.book.is_next(node));
            late.entry(site).or_default().extend(self.book.is_late(node));
        }
        late.retain(|_, literals| !literals.is_empty());
        (self.book.one_of(next), self.book.one_of(late))
    }

    fn site(&self, node: NodeId) -> Option<Site> {
        let (thread, at) = self.book.place(node);
        Some(Site { thread, at, access: self.book.operation(node).cell_access()? })
    }
}

fn conflict(first: &Site, second: &Site) -> bool {
    first.thread != second.thread && first.access.conflicts(&second.access)
}

impl Book<'_> {
    /// A literal that says that the node's operation is its thread's next. Requires that the book is finished.
    fn is_next(&mut self, node: NodeId) -> Lit {
        let is_next = self.formula.var(Meaning::Other);
        self.formula.clause([!is_next, self.entry(node).reached]);
        for way in self.ways_on(node) {
            self.formula.clause([!is_next, !way]);
        }
        is_next
    }

    /// Literals that say that the node's store is on its way, and that others may already have overtaken it.
    fn is_late(&mut self, node: NodeId) -> Vec<Lit> {
        if !self.memory.reorders_stores() || !is_buffered(self.memory, self.operation(node)) {
            return Vec::new();
        }
        let edges = self.entry(node).edges.iter().map(|&edge| &self.edges[edge as usize]);
        let known = edges.filter(|edge| edge.known);
        let stores: Vec<(Lit, WriteId)> =
            known.flat_map(|edge| edge.writes.iter().map(|&write| (edge.lit, write))).collect();
        let late = stores.into_iter().map(|(stored, write)| {
            let meaning = Meaning::Late(write);
            let lit = self.formula.var(meaning);
            self.late_literals.insert(meaning, lit);
            self.formula.clause([!lit, stored]);
            lit
        });
        late.collect()
    }

    /// For each key, a literal that implies one of its literals.
    fn one_of<K: Ord>(&mut self, literals: BTreeMap<K, Vec<Lit>>) -> BTreeMap<K, Lit> {
        let one = literals.into_iter().map(|(key, literals)| {
            let lit = self.formula.var(Meaning::Other);
            self.formula.clause([&[!lit], literals.as_slice()].concat());
            (key, lit)
        });
        one.collect()
    }
}
