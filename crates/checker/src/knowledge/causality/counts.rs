//! Counts of references: who takes or gives back a reference does not see how many there are, only whether it was the last.
//!
//! Nobody need count for that (`references.rs`), unless somebody asks for the count. Then an event that changes it can find many counts and have the same result: it has a literal for
//! each of them, which leaves a count of its own. So it is as many writes, one of which happens.

use super::{CausalEvent, Causality, Contents, WriteInfo};
use crate::base::Loc;
use crate::execution::Count;
use crate::solver::Lit;
use crate::trace::seen_of_count;
use std::collections::{BTreeMap, BTreeSet};

/// An event that changes a count.
struct Change {
    event: usize,
    by: i64,
    sees_last: bool,
    /// For each count that it may find, that it does.
    finds: BTreeMap<i64, Lit>,
}

impl Causality {
    /// Requires that reads have not been added yet: those that look at counts see what is added here.
    pub(super) fn add_counts(&mut self) {
        let mut changes: BTreeMap<Loc, Vec<Change>> = BTreeMap::new();
        let mut asked: BTreeSet<Loc> = BTreeSet::new();
        for (event, CausalEvent { operation, .. }) in self.events.iter().enumerate() {
            match operation.count() {
                Some(Count { loc, by, sees_last, .. }) if by != 0 => {
                    changes.entry(loc).or_default().push(Change { event, by, sees_last, finds: BTreeMap::new() });
                }
                _ => asked.extend(operation.loc()),
            }
        }
        for (loc, mut changes) in changes {
            if asked.contains(&loc) {
                self.add_finds(loc, &mut changes);
                self.add_changes(loc, &changes);
            } else {
                self.add_references(loc, changes.into_iter().map(|change| change.event));
            }
        }
    }

    /// Literals for what each event may find, and what it leaves then.
    fn add_finds(&mut self, loc: Loc, changes: &mut [Change]) {
        let cell = self.cell(loc);
        let others = self.cell_writes[cell as usize].iter().map(|&write| self.writes[write as usize].contents.value);
        let first = others.chain([self.initial[cell as usize].value]).max().unwrap_or(0);
        let most = first + changes.iter().map(|change| change.by.max(0)).sum::<i64>();
        for Change { event, by, sees_last, finds } in changes {
            for count in i64::from(*by < 0)..=most {
                let result = seen_of_count(*by, *sees_last, count);
                let happens = self.happens_with(*event, result);
                let found = self.problem.var();
                self.problem.clause([!found, happens]);
                finds.insert(count, found);
                let info = WriteInfo {
                    event: *event,
                    contents: Contents::of(count + *by),
                    deviant: Some(happens) != self.events[*event].same,
                };
                self.add_write(cell, self.events[*event].issue, found, info);
            }
        }
    }

    /// Each event finds what another one left, or what was there at first.
    fn add_changes(&mut self, loc: Loc, changes: &[Change]) {
        let cell = self.cell(loc);
        let left: Vec<_> = self.cell_writes[cell as usize]
            .iter()
            .filter(|&&write| !self.writes[write as usize].deviant)
            .map(|&write| (Some(write), self.writes[write as usize]))
            .collect();
        for Change { event, by, sees_last, finds } in changes {
            let read = self.problem.read(cell, self.events[*event].issue, None);
            let mut happens: BTreeMap<i64, Vec<Lit>> = BTreeMap::new();
            for (&count, &found) in finds {
                let leaves = |write: &WriteInfo| write.contents.value == count && write.event != *event;
                let mut sources: Vec<_> = left.iter().filter(|(_, write)| leaves(write)).map(|write| write.0).collect();
                sources.extend((self.initial[cell as usize].value == count).then_some(None));
                let sources = sources.into_iter().map(|write| self.problem.source(read, write)).collect();
                self.problem.choice(found, sources);
                happens.entry(seen_of_count(*by, *sees_last, count)).or_default().push(found);
            }
            for (result, found) in happens {
                let happens = self.happens_with(*event, result);
                self.problem.clause([vec![!happens], found].concat());
            }
        }
    }
}
