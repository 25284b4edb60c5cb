//! What accesses can see. Lists of sources are as long as a question needs them, no longer.
//!
//! Every list ends in a literal "a source that is not listed". One assumption literal says that all of these are false,
//! and the ordering propagates it to each of them. With one assumption for each list, the core spent most of its time
//! on assumptions.

use super::{AccessId, Book, List, Meaning, NodeId, Source, Wanted, WriteId};
use crate::solver::Lit;
use rustc_hash::FxHashSet;

/// How many times as many it names each time that it needs more.
const GROWTH: usize = 4;

impl Book<'_> {
    /// From now on the literal needs a source with one of the values.
    pub(crate) fn list(&mut self, access: AccessId, values: Wanted, lit: Lit) -> u32 {
        let list = self.lists.len() as u32;
        let more = self.formula.var(Meaning::More(list));
        self.formula.clause([!lit, more]);
        self.lists.push(List { access, values, members: FxHashSet::default(), more });
        self.widen(list);
        list
    }

    /// Names more sources. Says whether there were any.
    pub(crate) fn widen(&mut self, list: u32) -> bool {
        let candidates = self.candidates(list);
        if candidates.is_empty() {
            return false;
        }
        let n_known = self.lists[list as usize].members.len();
        let n_wanted = self.first_sources.max(n_known * (GROWTH - 1));
        let mut clause = vec![!self.lists[list as usize].more];
        for &write in candidates.iter().take(n_wanted) {
            clause.push(self.source(self.lists[list as usize].access, write));
            self.lists[list as usize].members.insert(write);
        }
        let more = self.formula.var(Meaning::More(list));
        clause.push(more);
        self.formula.clause(clause);
        self.lists[list as usize].more = more;
        true
    }

    /// The sources that a list does not name, the likeliest first.
    fn candidates(&self, list: u32) -> Vec<Option<WriteId>> {
        let list = &self.lists[list as usize];
        let access = &self.accesses[list.access as usize];
        let cell = &self.cells[access.cell as usize];
        let wanted = |value: i64| match &list.values {
            Wanted::These(values) => values.contains(&value),
            Wanted::Those(test) => test.holds(self.in_memory(access.cell, value)),
        };
        let reader = access.node.map(|node| &self.nodes[node as usize]);
        let mut candidates = vec![];
        for (value, writes) in cell.values.iter().filter(|value| wanted(value.0)) {
            if *value == cell.initial && !list.members.contains(&None) {
                candidates.push((0, None));
            }
            for &write in writes.iter().filter(|&&write| !list.members.contains(&Some(write))) {
                let writer = &self.nodes[self.edges[self.writes[write as usize].edge as usize].node as usize];
                let Some(reader) = reader else {
                    candidates.push((u32::MAX - writer.depth, Some(write)));
                    continue;
                };
                let is_own = writer.thread == reader.thread;
                // What cannot come before the reader in its own thread is never seen.
                if !(is_own && writer.depth >= reader.depth) {
                    candidates.push((writer.depth.abs_diff(reader.depth), Some(write)));
                }
            }
        }
        candidates.sort_unstable();
        candidates.into_iter().map(|candidate| candidate.1).collect()
    }

    /// The literal that says that an access sees a write.
    fn source(&mut self, access: AccessId, write: Option<WriteId>) -> Lit {
        if let Some(&source) = self.source_numbers.get(&(access, write)) {
            return self.sources[source as usize].lit;
        }
        let number = self.sources.len() as u32;
        let lit = self.formula.var(Meaning::Source(number));
        self.sources.push(Source { lit, access, write });
        self.source_numbers.insert((access, write), number);
        if let Some(write) = write {
            let edge = self.writes[write as usize].edge;
            self.formula.clause([!lit, self.edges[edge as usize].lit]);
        }
        let seen = &self.accesses[access as usize];
        let is_open = |node: NodeId| self.entry(node).second.is_some();
        if seen.decides && !seen.node.is_some_and(is_open) {
            let cell = &self.cells[seen.cell as usize];
            let value = write.map_or(cell.initial, |write| self.writes[write as usize].value);
            let edges = seen.edges.get(&value).into_iter().flatten();
            let edges: Vec<Lit> = edges.map(|&edge| self.edges[edge as usize].lit).collect();
            self.formula.clause([&[!lit], edges.as_slice()].concat());
        }
        lit
    }
}
