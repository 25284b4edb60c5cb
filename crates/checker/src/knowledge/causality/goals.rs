//! What can be asked about a run: each goal is a literal, assumed when the question is put.

use super::{CausalEvent, Causality, Given};
use crate::base::{Loc, ThreadKey};
use crate::execution::CellAccess;
use crate::solver::{Lit, Node};
use std::collections::BTreeMap;

/// An event, and an access that it makes.
type PlainAccess = (usize, CellAccess);

/// The questions.
#[derive(Default)]
pub struct Goals {
    /// Some thread deviates.
    pub deviate: Option<Lit>,
    /// Nothing can happen any more, and not every thread got as far as in the run. Nothing if no thread ever blocks.
    pub stuck: Option<Lit>,
    /// Two threads are about to access a plain cell.
    pub races: Vec<RaceGoal>,
    /// A store reaches its block after the block was freed: whose store, and where it stands.
    pub late_commits: Vec<(Lit, (ThreadKey, u32))>,
    /// All threads end as in the run.
    pub finish: Option<Lit>,
    /// For locations that can end with different values: "the final value is this".
    pub finals: BTreeMap<Loc, Vec<(i64, Lit)>>,
}

/// Two threads are about to access a plain cell, one of them writing.
pub struct RaceGoal {
    /// They are.
    pub lit: Lit,
    /// The two events, by number.
    events: [usize; 2],
    /// The second access is a store on its way to memory: its commit, which is yet to come.
    pub commit: Option<Node>,
}

impl Causality {
    pub(super) fn add_goals(&mut self, given: &Given<'_>) {
        self.add_deviations();
        let at_end = self.problem.var();
        let last = self.problem.last_node(at_end);
        self.add_stuck(at_end, last);
        self.add_races(given);
        self.add_late_commits();
        self.add_finish(at_end, last);
    }

    /// For every position of a thread, a literal that implies that the thread deviates before it.
    fn add_deviations(&mut self) {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() {
            let mut before: Option<Lit> = None;
            let mut literals = Vec::new();
            for event in self.threads[thread].events.clone() {
                let lit = self.problem.var();
                let mut clause = vec![!lit];
                clause.extend(before);
                if event > self.threads[thread].events.start {
                    clause.extend(self.events[event - 1].deviations());
                }
                self.problem.clause(clause);
                literals.push(lit);
                before = Some(lit);
                all.extend(self.events[event].deviations());
            }
            self.threads[thread].deviates_before = literals;
        }
        if !all.is_empty() {
            let goal = self.problem.var();
            self.problem.clause([&[!goal], all.as_slice()].concat());
            self.goals.deviate = Some(goal);
        }
    }

    /// Every deviation, as far as they have names: whose, and its literal.
    pub fn deviations(&self) -> impl Iterator<Item = (ThreadKey, Lit)> {
        let named =
            |event: &CausalEvent| event.named.iter().map(|named| named.1).chain(event.deviations()).collect::<Vec<_>>();
        let events = self.events.iter();
        events.flat_map(move |event| named(event).into_iter().map(|lit| (self.threads[event.thread].key, lit)))
    }

    /// Every other result that has a literal of its own: the number of the event among the run's (by thread, the pending one last), the result, and the literal.
    pub fn other_results(&self) -> impl Iterator<Item = (usize, i64, Lit)> {
        let others = self.events.iter().enumerate();
        others.flat_map(|(at, event)| {
            event.others.iter().chain(&event.named).map(move |&(result, lit)| (at, result, lit))
        })
    }

    /// Nothing can happen any more: every thread is at its end or at something that blocks for good.
    fn add_stuck(&mut self, at_end: Lit, last: u32) {
        if !self.events.iter().any(|event| event.operation.acquired().is_some() || !event.awaiting.is_empty()) {
            return;
        }
        let goal = self.problem.var();
        self.problem.clause([!goal, at_end]);
        let mut looks = BTreeMap::new();
        let mut incomplete = vec![!goal];
        for thread in 0..self.threads.len() {
            let events = self.threads[thread].events.clone();
            for event in events.clone() {
                let mut clause = vec![!goal];
                clause.extend(self.before(event).map(|before| !before));
                clause.extend(self.events[event].same);
                for deviation in self.events[event].deviations().collect::<Vec<_>>() {
                    self.problem.clause([!goal, !deviation]);
                }
                if let Some(blocked) = self.blocked(event, last, &mut looks) {
                    clause.push(blocked);
                }
                self.problem.clause(clause);
            }
            let performed = self.threads[thread].n_performed;
            incomplete.extend(performed.checked_sub(1).and_then(|at| self.events[events.start + at].same).map(|l| !l));
        }
        self.problem.clause(incomplete);
        self.goals.stuck = Some(goal);
    }

    /// A literal that says that the event, if it is its thread's next, can never happen. Nothing if it always can.
    fn blocked(&mut self, event: usize, last: u32, looks: &mut BTreeMap<(Loc, i64), Vec<Lit>>) -> Option<Lit> {
        let thread = self.events[event].thread;
        let operation = self.events[event].operation;
        let mut reasons: Vec<Lit> = Vec::new();
        if let Some((lock, mode)) = operation.acquired() {
            reasons.push(self.held_at_end(lock, mode));
        }
        if operation.reacquired().is_some() {
            reasons.extend(self.never_notified(event));
        }
        if let Some(thread) = operation.joined() {
            let joined = self.threads.iter().position(|other| other.key == thread)?;
            let not_ended = self.not_ended(|_, other| other == joined);
            // A thread that has not been forked is not waited for: joining it fails.
            reasons.push(self.all_of(&[not_ended, self.forked(joined)].concat()));
        }
        if operation.is_join_all() {
            reasons.extend(self.not_ended(|_, other| other != thread));
        }
        if !self.events[event].awaiting.is_empty() {
            reasons.push(self.unchanged(event, last, looks));
        }
        if reasons.is_empty() {
            return None;
        }
        let blocked = self.problem.var();
        self.problem.clause([&[!blocked], reasons.as_slice()].concat());
        Some(blocked)
    }

    /// Literals each of which says that one of the threads has not ended.
    fn not_ended(&mut self, which: impl Fn(&Causality, usize) -> bool) -> Vec<Lit> {
        let threads: Vec<usize> = (0..self.threads.len()).filter(|&thread| which(self, thread)).collect();
        let not_ended = threads.into_iter().map(|thread| match self.end_of(thread) {
            Some(end) => !self.events[end].same.expect("ends are performed"),
            // It never ends: a literal that nothing contradicts.
            None => self.problem.var(),
        });
        not_ended.collect()
    }

    fn forked(&self, thread: usize) -> Vec<Lit> {
        self.threads[thread].fork.and_then(|fork| self.events[fork].same).into_iter().collect()
    }

    /// A literal that implies all of these.
    fn all_of(&mut self, literals: &[Lit]) -> Lit {
        let all = self.problem.var();
        for &lit in literals {
            self.problem.clause([!all, lit]);
        }
        all
    }

    /// A literal that says that all the cells which the event awaits are there and keep the values that they had.
    fn unchanged(&mut self, event: usize, last: u32, looks: &mut BTreeMap<(Loc, i64), Vec<Lit>>) -> Lit {
        let unchanged = self.problem.var();
        for (loc, value) in self.events[event].awaiting.clone() {
            let values = self.final_values(loc);
            let same: Vec<_> = values.into_iter().filter(|seen| seen.1 == value).map(|seen| seen.0).collect();
            let look = looks.entry((loc, value)).or_insert_with(|| self.look(last, loc, None, &same)).clone();
            self.problem.clause([&[!unchanged], look.as_slice()].concat());
            for free in self.frees_of(loc) {
                let freed = self.events[free].same.expect("it was performed");
                self.problem.clause([!unchanged, !freed]);
            }
        }
        unchanged
    }

    /// Pairs of accesses that race if both can be next.
    fn add_races(&mut self, given: &Given<'_>) {
        let of = |event: usize| Some((event, self.events[event].operation.cell_access()?));
        let accesses: Vec<PlainAccess> = (0..self.events.len()).filter_map(of).collect();
        if accesses.iter().all(|(_, access)| !access.plain) {
            return;
        }
        let conflict = |this: &Causality, first: PlainAccess, other: PlainAccess| {
            this.events[first.0].thread != this.events[other.0].thread && first.1.conflicts(&other.1)
        };
        for (at, &first) in accesses.iter().enumerate() {
            if (given.is_over)() {
                return;
            }
            for &second in &accesses[at + 1..] {
                if !conflict(self, first, second) {
                    continue;
                }
                let lit = self.problem.var();
                self.is_next(lit, first.0);
                self.is_next(lit, second.0);
                self.goals.races.push(RaceGoal { lit, events: [first.0, second.0], commit: None });
            }
        }
        if !self.memory.reorders_stores() {
            return;
        }
        for &store in &accesses {
            let Some(commit) = self.events[store.0].commit else { continue };
            let against: Vec<_> = accesses.iter().copied().filter(|&other| conflict(self, other, store)).collect();
            if against.is_empty() {
                continue;
            }
            let late = self.commits_last(store.0, commit);
            for other in against {
                let lit = self.problem.var();
                self.problem.clause([!lit, late]);
                self.is_next(lit, other.0);
                self.goals.races.push(RaceGoal { lit, events: [other.0, store.0], commit: Some(commit) });
            }
        }
    }

    /// Stores to a block that was there when they were issued, and that another thread has freed when they reach memory.
    fn add_late_commits(&mut self) {
        let frees = |event: usize| {
            let event = &self.events[event];
            event.operation.freed().filter(|_| event.same.is_some() && !event.hit_freed)
        };
        let frees: Vec<_> = (0..self.events.len()).filter_map(|event| Some((event, frees(event)?))).collect();
        for store in (0..self.events.len()).filter(|_| !frees.is_empty()) {
            let CausalEvent { commit: Some(commit), thread, span, ref operation, .. } = self.events[store] else {
                continue;
            };
            let block = operation.loc().and_then(Loc::block);
            let place = (self.threads[thread].key, span.start);
            for &(free, of) in &frees {
                if Some(of) == block && self.events[free].thread != thread {
                    let late = self.problem.before(self.events[free].issue, commit);
                    for needed in [store, free] {
                        let needed = self.events[needed].same.expect("both were performed");
                        self.problem.clause([!late, needed]);
                    }
                    self.goals.late_commits.push((late, place));
                }
            }
        }
    }

    /// A literal that says that the store is issued, and committed after everything else has been issued.
    fn commits_last(&mut self, store: usize, commit: Node) -> Lit {
        let late = self.problem.var();
        let issued = self.events[store].same.expect("commits are of stores that were performed");
        self.problem.clause([!late, issued]);
        for event in 0..self.events.len() {
            self.problem.conditional.push((late, self.events[event].issue, commit));
        }
        late
    }

    /// Makes the literal imply that the event is its thread's next.
    fn is_next(&mut self, lit: Lit, event: usize) {
        if let Some(before) = self.before(event) {
            self.problem.clause([!lit, before]);
        }
        for happens in self.happens(event).collect::<Vec<_>>() {
            self.problem.clause([!lit, !happens]);
        }
    }

    /// Keys and places of the two events of a race.
    pub fn race_places(&self, race: usize) -> [(ThreadKey, u32); 2] {
        self.goals.races[race].events.map(|event| {
            let event = &self.events[event];
            (self.threads[event.thread].key, event.span.start)
        })
    }

    /// All threads end as in the run; which values are left depends on the order of writes.
    fn add_finish(&mut self, at_end: Lit, last: u32) {
        if (0..self.threads.len()).any(|thread| self.end_of(thread).is_none()) {
            return;
        }
        let goal = self.problem.var();
        self.problem.clause([!goal, at_end]);
        for thread in 0..self.threads.len() {
            let end = self.end_of(thread).and_then(|end| self.events[end].same).expect("all threads have ended");
            self.problem.clause([!goal, end]);
        }
        // Of a block that has been freed nothing is left.
        let freed = |block: Loc| self.events.iter().any(|event| event.operation.freed() == Some(block));
        let is_left = |loc: Loc| !loc.block().is_some_and(freed) && !self.opaque[self.cell(loc) as usize];
        let left: Vec<Loc> = self.cells.iter().copied().filter(|&loc| is_left(loc)).collect();
        for loc in left {
            self.add_final(goal, last, loc);
        }
        self.goals.finish = Some(goal);
    }

    fn add_final(&mut self, goal: Lit, last: u32, loc: Loc) {
        // Only a thread's last write to the location can be the last of all.
        let mut candidates: BTreeMap<usize, (Option<u32>, i64)> = BTreeMap::new();
        for (write, value) in self.final_values(loc) {
            if let Some(id) = write {
                candidates.insert(self.events[self.writes[id as usize].event].thread, (write, value));
            }
        }
        let candidates: Vec<_> = candidates.into_values().collect();
        let Some(&(_, first)) = candidates.first() else { return };
        if candidates.iter().all(|candidate| candidate.1 == first) {
            return;
        }
        let writes: Vec<_> = candidates.iter().map(|candidate| candidate.0).collect();
        let looks = self.look(last, loc, None, &writes);
        self.problem.clause([&[!goal], looks.as_slice()].concat());
        let mut by_value: BTreeMap<i64, Vec<Lit>> = BTreeMap::new();
        for (&(_, value), look) in candidates.iter().zip(looks) {
            by_value.entry(value).or_default().push(look);
        }
        let mut finals = Vec::new();
        for (value, looks) in by_value {
            let is = self.problem.var();
            for look in looks {
                self.problem.clause([!look, is]);
            }
            finals.push((value, is));
        }
        self.goals.finals.insert(loc, finals);
    }
}
