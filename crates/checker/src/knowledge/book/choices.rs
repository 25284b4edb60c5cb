//! How threads go on from where they are: what each value that they can find leads them to.

use super::effect::{self, Actor, Effect, Found, Known};
use super::{AccessId, Book, EdgeId, NodeId, Wanted};
use crate::base::Loc;

impl Book<'_> {
    /// All ways to go on from a node, unless it is over: a choice may have very many.
    pub(crate) fn add_ways_on(&mut self, node: NodeId, is_over: &dyn Fn() -> bool) {
        let goes_on = || !is_over();
        let at = &self.entry(node).at;
        // A place that does not exist: the thread fails, whatever there is elsewhere.
        if at.operation.loc().and_then(Loc::as_global).is_some_and(|index| index >= self.n_globals) {
            self.edge(node, Effect::failure(), 0, true);
            return;
        }
        if let Some(value) = self.locals.own_value(node, &at.operation) {
            let unchanged = self.is_unchanged(node, value);
            for outcome in self.outcomes(node, Found { value, memory: value, second: 0 }) {
                self.edge(node, Effect { result: Some(value), ..outcome }, value, unchanged);
            }
            return;
        }
        let second = effect::second(at);
        match effect::decisive(at, self.locals.held(node)) {
            Some(cell) => {
                let access = self.access(Some(node), cell, true);
                self.entry_mut(node).decisive = Some(access);
                if let Some(second) = second {
                    let second = self.access(Some(node), second, false);
                    self.entry_mut(node).second = Some(second);
                }
                for value in self.values(access).into_iter().take_while(|_| goes_on()) {
                    self.classify(access, value);
                }
            }
            None => {
                let outcomes = self.outcomes(node, Found { value: 0, memory: 0, second: 0 });
                for outcome in outcomes.into_iter().take_while(|_| goes_on()) {
                    self.edge(node, outcome, 0, true);
                }
            }
        }
    }

    /// The values that an access can find, as far as they are known.
    pub(crate) fn values(&self, access: AccessId) -> Vec<i64> {
        self.cells[self.cell_of(access)].values.iter().map(|value| value.0).collect()
    }

    pub(crate) fn outcomes(&mut self, node: NodeId, found: Found) -> Vec<Effect> {
        let place = &self.nodes[node as usize];
        let at = &place.entry.as_ref().expect("the node is in the book").at;
        let actor = Actor { key: self.threads[place.thread as usize].key, local: node, at };
        let mut known = Known { locals: &mut *self.locals, waiters: &mut self.waiters, left: &mut self.left };
        known.outcomes(&actor, found)
    }

    /// Whether a node's decisive access can find this. "No" is certain.
    pub(crate) fn may_find(&self, node: NodeId, access: AccessId, value: i64) -> bool {
        let version = effect::version_seen(&self.entry(node).at, self.cells[self.cell_of(access)].cell, value);
        version.is_none_or(|version| self.locals.may_see(node, version))
    }

    /// All ways to go on from a node whose decisive access finds this.
    pub(crate) fn ways_of(&mut self, node: NodeId, access: AccessId, value: i64) -> Vec<Effect> {
        let memory = self.in_memory(self.accesses[access as usize].cell, value);
        let seconds = self.entry(node).second.map_or(vec![0], |second| self.values(second));
        let found = seconds.into_iter().map(|second| Found { value, memory, second });
        found.collect::<Vec<_>>().into_iter().flat_map(|found| self.outcomes(node, found)).collect()
    }

    /// Finds out where a value leads the thread that reads it.
    pub(crate) fn classify(&mut self, access: AccessId, value: i64) {
        if !self.accesses[access as usize].decides || self.accesses[access as usize].edges.contains_key(&value) {
            return;
        }
        self.accesses[access as usize].edges.insert(value, vec![]);
        self.find_ways(access, value);
    }

    /// Enters all ways to go on that there are for a value.
    fn find_ways(&mut self, access: AccessId, value: i64) {
        let node = self.accesses[access as usize].node.expect("operations decide");
        if !self.may_find(node, access, value) {
            return;
        }
        let memory = self.in_memory(self.accesses[access as usize].cell, value);
        let unchanged = self.is_unchanged(node, memory);
        let mut ways = vec![];
        for outcome in self.ways_of(node, access, value) {
            let second = self.entry(node).second.zip(outcome.second);
            let edge = self.edge(node, outcome, value, unchanged);
            if !self.accesses[access as usize].edges[&value].contains(&edge) {
                self.accesses[access as usize].edges.entry(value).or_default().push(edge);
                ways.push((edge, second));
            }
        }
        // Sources are told all ways that there are.
        for (edge, second) in ways {
            self.needs(edge, access, value, second);
        }
    }

    /// A way to go on needs a value, and perhaps a second one.
    fn needs(&mut self, edge: EdgeId, access: AccessId, value: i64, second: Option<(AccessId, i64)>) {
        let Some(list) = self.edges[edge as usize].list else {
            let lit = self.edges[edge as usize].lit;
            self.edges[edge as usize].list = Some(self.list(access, Wanted::These(vec![value]), lit));
            if let Some((access, value)) = second {
                self.list(access, Wanted::These(vec![value]), lit);
            }
            return;
        };
        if let Wanted::These(values) = &mut self.lists[list as usize].values {
            values.push(value);
        }
        self.sections.up_to_date = false;
    }

    /// A cell has a value that it had not before: there may be more ways to go on from where it decides, or decides besides.
    pub(crate) fn reconsider(&mut self, access: AccessId, value: i64) {
        self.classify(access, value);
        let node = self.accesses[access as usize].node.and_then(|node| self.nodes[node as usize].entry.as_ref());
        let Some(entry) = node.filter(|entry| entry.second == Some(access)) else { return };
        let Some(decisive) = entry.decisive else { return };
        // Also those that a run has shown and that others cannot see yet: nobody comes back to them when they can.
        let mut values: Vec<i64> = self.accesses[decisive as usize].edges.keys().copied().collect();
        values.sort_unstable();
        values.into_iter().for_each(|value| self.find_ways(decisive, value));
    }

    /// Whether a thread that waits for a change finds none in the cell that its operation reads.
    fn is_unchanged(&self, node: NodeId, value: i64) -> bool {
        let own = self.operation(node).loc();
        let awaited = self.entry(node).at.awaiting.iter().find(|cell| Some(cell.0) == own);
        awaited.is_none_or(|cell| cell.1 == value)
    }
}
