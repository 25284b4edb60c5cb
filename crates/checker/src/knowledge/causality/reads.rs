//! What reads can see: sources, awaits, and blocks that have been freed.

use super::forced::Forced;
use super::{CausalEvent, Causality, Contents, Given, Rest, Values, WriteInfo};
use crate::base::{FAILED, Loc};
use crate::execution::Operation;
use crate::program::Ordering;
use crate::solver::{Lit, Node, WriteId};
use crate::trace::sees_contents;
use std::collections::BTreeMap;

/// The writes that somebody can see, by location.
type Visible = BTreeMap<Loc, Vec<WriteId>>;

impl Causality {
    pub(super) fn add_reads(&mut self, given: &Given<'_>) {
        let mut visible: Visible = BTreeMap::new();
        let writes = self.problem.writes.iter().zip(&self.writes).enumerate();
        for (id, (write, _)) in writes.filter(|(_, (_, info))| !info.deviant) {
            visible.entry(self.cells[write.cell as usize]).or_default().push(id as WriteId);
        }
        let forced = Forced::new(self);
        for thread in 0..self.threads.len() {
            let mut own: BTreeMap<Loc, WriteId> = BTreeMap::new();
            for event in self.threads[thread].events.clone() {
                if (given.is_over)() {
                    return;
                }
                let seen = self.reads_of(event).inspect(|&loc| {
                    let values = self.visible_values(&visible, &forced, event, loc, own.get(&loc));
                    self.add_read(event, loc, own.get(&loc).copied(), &values, given);
                });
                self.add_await(event, seen, &visible, &forced, &own);
                if let Some(write) = self.events[event].write {
                    own.insert(self.cells[self.problem.writes[write as usize].cell as usize], write);
                }
            }
        }
    }

    /// The location that the event reads, if reading is what it does.
    pub(super) fn reads_of(&self, event: usize) -> Option<Loc> {
        let CausalEvent { ref operation, object, leads_nowhere, .. } = self.events[event];
        if leads_nowhere {
            return None;
        }
        if object.is_some() {
            return object.filter(|_| sees_contents(operation));
        }
        let reads = matches!(
            operation,
            Operation::Read { .. } | Operation::Rmw { .. } | Operation::Cas { .. } | Operation::Count { by: 0, .. }
        );
        operation.loc().filter(|_| reads)
    }

    /// Every write that the event could see in the location, with what is there then: `None` is what was there at first.
    fn visible_values(
        &self,
        visible: &Visible,
        forced: &Forced,
        event: usize,
        loc: Loc,
        own: Option<&WriteId>,
    ) -> Vec<(Option<WriteId>, Contents)> {
        let thread = self.events[event].thread;
        let horizon = forced.horizon(self, event, self.cell(loc), own.copied());
        let writes = visible.get(&loc).into_iter().flatten().copied();
        let is_count = |event: usize| matches!(self.events[event].operation, Operation::Count { .. });
        let of_others = writes.filter(|&write| {
            let by = self.writes[write as usize].event;
            self.events[by].thread != thread || is_count(by) && by < event
        });
        let seen = of_others.chain(own.copied()).filter(|&write| forced.can_see(self, &horizon, Some(write)));
        let mut values: Vec<_> = seen.map(|write| (Some(write), self.writes[write as usize].contents)).collect();
        if own.is_none() && forced.can_see(self, &horizon, None) {
            values.push((None, self.initial[self.cell(loc) as usize]));
        }
        values
    }

    /// The thread that a write is of.
    pub(super) fn thread_of(&self, write: WriteId) -> usize {
        self.events[self.writes[write as usize].event].thread
    }

    /// The event reads the location: with the result of the run, or with any other value that can be there.
    fn add_read(
        &mut self,
        event: usize,
        loc: Loc,
        own: Option<WriteId>,
        values: &[(Option<WriteId>, Contents)],
        given: &Given<'_>,
    ) {
        let cell = self.cell(loc);
        let (node, result) = (self.events[event].issue, self.events[event].result);
        let read = self.problem.read(cell, node, own);
        let mut by_value: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for &(write, contents) in values {
            let source = self.problem.source(read, write);
            by_value.entry(contents.result).or_default().push(source);
        }
        let failed = self.events[event].hit_freed || self.events[event].is_failed_try();
        let same = self.events[event].same.filter(|_| !failed);
        if let Some(same) = same {
            let sources = by_value.remove(&result).unwrap_or_default();
            self.problem.choice(same, sources);
        }
        let few = by_value.len() <= given.few;
        let is_named = |value: i64| few || self.matters(event, loc, value) || (given.named)(event, value);
        let (others, rest): (Vec<_>, Vec<_>) = by_value.into_iter().partition(|&(value, _)| is_named(value));
        for (value, sources) in others {
            let other = self.other(event, value);
            self.problem.choice(other, sources);
            self.add_deviant_write(event, loc, other, Some(value));
        }
        if !rest.is_empty() {
            let lit = self.deviation(event);
            let (values, sources): (Vec<i64>, Vec<Vec<u32>>) = rest.into_iter().unzip();
            let values = Values::Read { choice: self.problem.choices.len(), values };
            self.events[event].rest = Some(Rest { lit, values });
            self.problem.choice(lit, sources.concat());
            self.add_deviant_write(event, loc, lit, None);
        }
    }

    /// Whether it makes a difference of its own that the event has this result: it is what an exchange or a spinning thread waits for.
    fn matters(&self, event: usize, loc: Loc, result: i64) -> bool {
        let (event, value) = (&self.events[event], self.value_behind(loc, result));
        let exchanges = matches!(event.operation, Operation::Cas { expected, .. } if expected == value);
        exchanges || event.awaiting.iter().any(|awaited| awaited.1 == value)
    }

    /// A read-modify-write that reads another value writes another value. What it is does not matter: nobody sees it.
    fn add_deviant_write(&mut self, event: usize, loc: Loc, deviation: Lit, result: Option<i64>) {
        let writes = match self.events[event].operation {
            Operation::Rmw { .. } => true,
            Operation::Touch { writes, .. } => writes,
            Operation::Cas { expected, .. } => result.is_some_and(|result| self.value_behind(loc, result) == expected),
            _ => false,
        };
        if writes {
            let info = WriteInfo { event, contents: Contents::of(0), deviant: true };
            self.add_write(self.cell(loc), self.events[event].issue, deviation, info);
        }
    }

    /// A spinning thread goes on only when one of the cells that it looks at shows another value, or is freed.
    fn add_await(
        &mut self,
        event: usize,
        seen: Option<Loc>,
        visible: &Visible,
        forced: &Forced,
        own: &BTreeMap<Loc, WriteId>,
    ) {
        let awaiting = self.events[event].awaiting.clone();
        if awaiting.is_empty() {
            return;
        }
        let mut changed = Vec::new();
        for &(loc, value) in awaiting.iter().filter(|&&(loc, _)| Some(loc) != seen) {
            let values = self.visible_values(visible, forced, event, loc, own.get(&loc));
            let different =
                values.into_iter().filter(|seen| seen.1.value != value).map(|seen| seen.0).collect::<Vec<_>>();
            let issue = self.events[event].issue;
            changed.extend(self.look(issue, loc, own.get(&loc).copied(), &different));
            for free in self.frees_of(loc) {
                changed.push(self.freed_before(free, issue));
            }
        }
        self.add_going_on(event, seen);
        let own_result = awaiting.iter().filter(|&&(loc, _)| Some(loc) == seen).map(|cell| cell.1);
        let own_result: Vec<i64> = own_result.collect();
        let event = &self.events[event];
        let results = event.same.map(|lit| (event.result, lit)).into_iter().chain(event.others.iter().copied());
        let behind = |result: i64| seen.map_or(result, |loc| self.value_behind(loc, result));
        let unchanged = results.filter(|&(result, _)| own_result.iter().all(|&value| value == behind(result)));
        // What is awaited has a literal of its own, so none of the rest is that.
        let rest = event.rest.as_ref().filter(|_| own_result.is_empty()).map(|rest| rest.lit);
        for lit in unchanged.map(|result| result.1).chain(rest).collect::<Vec<_>>() {
            self.problem.clause([&[!lit], changed.as_slice()].concat());
        }
    }

    /// A thread that spins to the end of the run can go on in another execution: if its next operation is a read, with any value that it can see; a fence, a hint or
    /// a failure has but one result.
    fn add_going_on(&mut self, event: usize, seen: Option<Loc>) {
        let this = &self.events[event];
        if this.same.is_none() && seen.is_none() && this.deviations().next().is_none() {
            let result = if matches!(this.operation, Operation::Fail(_)) { FAILED } else { 0 };
            self.other(event, result);
        }
    }

    /// A look at a location that is no event of its own: literals that say that it shows one of these writes.
    pub(super) fn look(&mut self, node: Node, loc: Loc, own: Option<WriteId>, writes: &[Option<WriteId>]) -> Vec<Lit> {
        let cell = self.cell(loc);
        let read = self.problem.read(cell, node, own);
        let mut literals = Vec::with_capacity(writes.len());
        for &write in writes {
            let source = self.problem.source(read, write);
            literals.push(self.problem.sources[source as usize].lit);
        }
        literals
    }

    /// The writes to a location and their values, for a look after everything.
    pub(super) fn final_values(&self, loc: Loc) -> Vec<(Option<WriteId>, i64)> {
        let here = self.cell_writes[self.cell(loc) as usize].iter().filter(|&&id| !self.writes[id as usize].deviant);
        let values = here.map(|&id| (Some(id), self.writes[id as usize].contents.value));
        values.chain([(None, self.initial[self.cell(loc) as usize].value)]).collect()
    }

    /// Accesses to a block come before it is freed, or fail.
    pub(super) fn add_frees(&mut self) {
        let frees: Vec<_> = (0..self.events.len())
            .filter_map(|event| match self.events[event].operation {
                Operation::Free { block } if self.events[event].same.is_some() => Some((event, block)),
                _ => None,
            })
            .collect();
        for event in (0..self.events.len()).filter(|&event| self.events[event].hit_freed).collect::<Vec<_>>() {
            self.add_success(event);
        }
        for event in 0..self.events.len() {
            let block = match self.events[event].operation {
                Operation::Free { block } => Some(block),
                ref operation => operation.loc().and_then(Loc::block),
            };
            let Some(block) = block else { continue };
            let others = frees.iter().filter(|&&(free, of)| of == block && free != event);
            let others: Vec<usize> = others.map(|free| free.0).collect();
            if !others.is_empty() {
                self.add_freed(event, &others);
            }
        }
    }

    /// What found its block freed can succeed. Reads have their other values already; a free or a write has but one result.
    fn add_success(&mut self, event: usize) {
        match self.events[event].operation {
            Operation::Free { .. } => {
                self.other(event, 0);
            }
            Operation::Write { loc, value, ordering, .. } => {
                let other = self.other(event, 0);
                // A buffered write can be committed after all that the configuration has.
                if !self.memory.delays_stores() || ordering == Ordering::SeqCst {
                    let cell = self.cell(loc);
                    let info = WriteInfo { event, contents: Contents::of(value), deviant: true };
                    self.add_write(cell, self.events[event].issue, other, info);
                }
            }
            _ => {}
        }
    }

    fn add_freed(&mut self, event: usize, frees: &[usize]) {
        let issue = self.events[event].issue;
        let normal: Vec<Lit> = match self.events[event].hit_freed {
            true => self.events[event].deviations().collect(),
            false => self.happens(event).collect(),
        };
        let fails = match self.events[event].same.filter(|_| self.events[event].hit_freed) {
            Some(same) => same,
            None => self.other(event, FAILED),
        };
        let mut freed = vec![!fails];
        for &free in frees {
            let node = self.events[free].issue;
            // A free that itself found the block freed frees it only if it deviates, and nobody sees deviations.
            let deviates = self.events[free].hit_freed.then(|| self.other(free, 0));
            let happens = deviates.or(self.events[free].same).expect("it was performed");
            if deviates.is_none() {
                freed.push(self.freed_before(free, issue));
            }
            let before = self.problem.before(issue, node);
            for &lit in &normal {
                self.problem.clause([!lit, !happens, before]);
            }
        }
        self.problem.clause(freed);
    }

    /// The events that free the block of a location, as in the run.
    pub(super) fn frees_of(&self, loc: Loc) -> Vec<usize> {
        let Some(block) = loc.block() else { return Vec::new() };
        let frees = |event: &CausalEvent| {
            event.operation == Operation::Free { block } && event.same.is_some() && !event.hit_freed
        };
        (0..self.events.len()).filter(|&event| frees(&self.events[event])).collect()
    }

    /// A literal that says that the event has freed its block before the node.
    fn freed_before(&mut self, free: usize, node: Node) -> Lit {
        let freed = self.problem.before(self.events[free].issue, node);
        let happens = self.events[free].same.expect("it was performed");
        self.problem.clause([!freed, happens]);
        freed
    }
}
