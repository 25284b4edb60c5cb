//! Turns what a search comes across into violations and observations, each once, with the first schedule to it.

use super::{Involved, Monitor, Observation, Options, Report, Statistics, StopReason, Violation, ViolationKind};
use crate::base::{Action, Failure, FailureKind, Loc, Schedule, Span, Step, ThreadId, ThreadKey};
use crate::execution::{
    Blocked, Describe, Machine, Poll, Queue, Race, Rules, State, Status, Stuck, ThreadState, Waits,
};
use crate::monitor::Witness;
use crate::program::{Automata, Condition, FinalState, Program, Quantifier};
use crate::trace;
use crate::trace::{Event, ThreadInfo};
use std::collections::BTreeSet;

/// Collects what is wrong.
pub(crate) struct Judge<'a, S> {
    subject: &'a S,
    machine: Machine<'a, S>,
    has_plain_cells: bool,
    violations: Vec<(Identity, Violation)>,
    witnesses: Vec<Option<Schedule>>,
    seen: BTreeSet<Identity>,
}

/// What makes two violations the same.
type Identity = (ViolationKind, Vec<(ThreadKey, u32)>, String);

impl<'a, S: Describe> Judge<'a, S> {
    pub(crate) fn new(subject: &'a S, rules: Rules) -> Judge<'a, S> {
        Judge {
            subject,
            machine: Machine::new(subject, rules),
            has_plain_cells: subject.has_plain_cells(),
            violations: Vec::new(),
            witnesses: vec![None; conditions(subject.program()).len()],
            seen: BTreeSet::new(),
        }
    }

    pub(crate) fn has_violation(&self) -> bool {
        !self.violations.is_empty()
    }

    /// What is wrong so far.
    pub(crate) fn found(&self) -> impl Iterator<Item = &Violation> {
        self.violations.iter().map(|found| &found.1)
    }

    /// The report of a search that ended for this reason.
    pub(crate) fn report(
        &mut self,
        options: &Options,
        stop: StopReason,
        final_states: BTreeSet<FinalState>,
        statistics: Statistics,
    ) -> Report {
        let (violations, observations) = self.findings();
        Report {
            program: self.subject.title(),
            memory: options.memory,
            engine: options.engine,
            coverage: (stop == StopReason::Exhausted).then(|| everything(options, &violations)),
            stop,
            violations,
            observations,
            final_states: final_states.into_iter().collect(),
            statistics,
            failures: Vec::new(),
        }
    }

    /// Everything that is wrong, and the answers to questions.
    pub(crate) fn findings(&mut self) -> (Vec<Violation>, Vec<Observation>) {
        let conditions = conditions(self.subject.program()).iter().zip(&self.witnesses);
        let observations = conditions.filter(|(condition, _)| condition.quantifier == Quantifier::Exists);
        let observations = observations.map(|(condition, witness)| Observation {
            span: condition.span,
            quantifier: condition.quantifier,
            witness: witness.clone(),
        });
        (std::mem::take(&mut self.violations).into_iter().map(|found| found.1).collect(), observations.collect())
    }

    /// Takes over what another judge of the same search has found.
    pub(crate) fn merge(&mut self, other: Judge<'_, S>) {
        for (identity, violation) in other.violations {
            if self.seen.insert(identity.clone()) {
                self.violations.push((identity, violation));
            }
        }
        for (known, new) in self.witnesses.iter_mut().zip(other.witnesses) {
            *known = known.take().or(new);
        }
    }

    /// Forgets the order in which violations were found.
    pub(crate) fn sort(&mut self) {
        self.violations.sort_by(|a, b| a.0.cmp(&b.0));
    }

    /// A thread failed in the last step of the path, with its operation there.
    pub(crate) fn failed(
        &mut self,
        thread: &ThreadState<S::Thread>,
        span: Span,
        step: Step,
        failure: &Failure,
        path: impl Fn() -> Vec<Step>,
    ) {
        let kind = ViolationKind::Failure(failure.kind);
        let span = match step.action {
            // By now the thread is somewhere else than at its store.
            Action::Flush(_) => self.last_span(&path()),
            Action::Run | Action::Choose(_) => span,
        };
        let identity = (kind, vec![(thread.key, span.start)], failure.message.clone());
        self.add(identity, failure.message.clone(), vec![(self.subject.name(&thread.local), span)], path);
    }

    /// Where the operation or the store of a path's last step stands.
    fn last_span(&self, path: &[Step]) -> Span {
        let trace = trace::replay(self.subject, self.machine.rules, &Schedule(path.to_vec()));
        trace.ok().and_then(|trace| trace.events.last().map(|event| event.span)).unwrap_or_default()
    }

    /// A thread failed in an event of a trace.
    pub(crate) fn failed_event(&mut self, thread: &ThreadInfo, event: &Event, path: impl FnOnce() -> Vec<Step>) {
        let Some(failure) = &event.failure else { return };
        let kind = ViolationKind::Failure(failure.kind);
        let identity = (kind, vec![(thread.key, event.span.start)], failure.message.clone());
        self.add(identity, failure.message.clone(), vec![(thread.name.clone(), event.span)], path);
    }

    /// Nothing can happen, and not because all threads have ended.
    pub(crate) fn stuck(&mut self, state: &State<S::Thread>, stuck: &Stuck, path: impl FnOnce() -> Vec<Step>) {
        let (kind, blocked) = match stuck {
            Stuck::Deadlock(blocked) => (ViolationKind::Deadlock, blocked),
            Stuck::Livelock(blocked) => (ViolationKind::Livelock, blocked),
            Stuck::Finished | Stuck::Assumed | Stuck::Failed => return,
        };
        if self.automata().is_some() {
            return;
        }
        let thread = |blocked: &Blocked| &state.threads[blocked.thread.index()];
        let span = |blocked: &Blocked| self.subject.span(&thread(blocked).local);
        let mut threads: Vec<_> = blocked.iter().map(|blocked| (thread(blocked).key, span(blocked).start)).collect();
        // In which order they were created does not matter.
        threads.sort_unstable();
        let sentences: Vec<String> = blocked.iter().map(|blocked| self.describe(state, blocked)).collect();
        let places = blocked.iter().map(|blocked| (self.subject.name(&thread(blocked).local), span(blocked)));
        let places = places.collect();
        let all: Vec<String> = sentences.into_iter().chain(self.subject.aside(state)).collect();
        self.add((kind, threads, String::new()), all.join("; "), places, path);
    }

    /// From here on something can always happen, and nothing ever ends.
    pub(crate) fn endless(&mut self, state: &State<S::Thread>, path: impl FnOnce() -> Vec<Step>) {
        if self.automata().is_some() {
            return;
        }
        let running = state.threads.iter().filter(|thread| thread.status == Status::Running);
        let running: Vec<_> = running.filter(|t| !self.subject.operation(&t.local).is_join_all()).collect();
        let mut places: Vec<_> =
            running.iter().map(|thread| (thread.key, self.subject.span(&thread.local).start)).collect();
        places.sort_unstable();
        let names: Vec<String> = running.iter().map(|thread| self.subject.name(&thread.local)).collect();
        let verb = if names.len() == 1 { "goes" } else { "go" };
        let message =
            format!("{} {verb} on for ever: whatever happens from here, there is no end", names.join(" and "));
        let involved = running.iter().map(|t| (self.subject.name(&t.local), self.subject.span(&t.local))).collect();
        self.add((ViolationKind::Livelock, places, String::new()), message, involved, path);
    }

    /// Every thread has ended, and something is wrong with what is left.
    pub(crate) fn left_behind(&mut self, failure: &Failure, path: impl FnOnce() -> Vec<Step>) {
        let identity = (ViolationKind::Failure(failure.kind), Vec::new(), failure.message.clone());
        self.add(identity, failure.message.clone(), Vec::new(), path);
    }

    /// Every thread has ended with these values.
    pub(crate) fn finished(&mut self, values: &FinalState, path: impl Fn() -> Vec<Step>) {
        let Some(program) = self.subject.program() else { return };
        for (index, condition) in program.conditions.iter().enumerate() {
            let holds = values.satisfies(program, &condition.proposition);
            match condition.quantifier {
                Quantifier::Exists if holds && self.witnesses[index].is_none() => {
                    self.witnesses[index] = Some(Schedule(path()));
                }
                Quantifier::Forbidden if holds => self.condition_broken(condition.span, "a forbidden", &path),
                Quantifier::Always if !holds => self.condition_broken(condition.span, "another", &path),
                _ => {}
            }
        }
    }

    /// The memory model has an execution that SC does not have.
    pub(crate) fn not_sequential(&mut self, witness: Witness) {
        let Witness { schedule, message, places, identity } = witness;
        self.add((ViolationKind::StoreBuffers, identity, String::new()), message, places, || schedule.0);
    }

    fn condition_broken(&mut self, span: Span, which: &str, path: impl Fn() -> Vec<Step>) {
        let place = vec![(ThreadKey(0), span.start)];
        let message = format!("the program can end in {which} final state");
        self.add((ViolationKind::Condition, place, String::new()), message, vec![(String::new(), span)], path);
    }

    fn automata(&self) -> Option<&'a Automata> {
        self.subject.program()?.automata.as_ref()
    }

    /// Whether something can be wrong in the middle of an execution: a data race, or a goal that is reached.
    pub(crate) fn looks_at_states(&self) -> bool {
        self.has_plain_cells || self.automata().is_some_and(Automata::has_goal)
    }

    /// Looks for data races and for the goal in a state that the path leads to.
    pub(crate) fn look_at(&mut self, state: &State<S::Thread>, path: impl Fn() -> Vec<Step>) {
        if self.looks_at_states() {
            if let Some(automata) = self.automata() {
                self.look_for_goal(automata, state, &path);
            }
            for race in self.machine.races(state) {
                self.race(state, &race, &path);
            }
        }
        self.look_at_dropped(state, path);
    }

    /// Looks for threads that are about to use an object that has been dropped, or that wait for one.
    pub(crate) fn look_at_dropped(&mut self, state: &State<S::Thread>, path: impl Fn() -> Vec<Step>) {
        if !state.shared.has_dropped() {
            return;
        }
        for (at, thread) in state.threads.iter().enumerate().filter(|(_, thread)| thread.status == Status::Running) {
            let operation = self.subject.operation(&thread.local);
            let Some(object) = self.machine.dropped_in_use(state, ThreadId(at as u16), &operation) else { continue };
            let failure = Failure::new(FailureKind::UseAfterFree, self.subject.use_after_drop(&thread.local, object));
            let mut steps = Vec::new();
            self.machine.operation_steps(state, ThreadId(at as u16), &mut steps);
            let step = Step { thread: ThreadId(at as u16), action: Action::Run };
            let used = || path().into_iter().chain(steps.first().copied()).collect();
            self.failed(thread, self.subject.span(&thread.local), step, &failure, used);
        }
        self.look_at_late_stores(state, path);
    }

    /// Stores on their way to an object that another thread has dropped.
    fn look_at_late_stores(&mut self, state: &State<S::Thread>, path: impl Fn() -> Vec<Step>) {
        for (at, thread) in state.threads.iter().enumerate() {
            let id = ThreadId(at as u16);
            let places: Vec<usize> = thread.buffer.flushable(&self.machine.rules).collect();
            for place in places {
                let object = thread.buffer.entries()[place].loc;
                if state.shared.dropped_by(object).is_some_and(|by| by != id) {
                    let step = Step { thread: id, action: Action::Flush(place as u8) };
                    let message = self.subject.use_after_drop(&thread.local, object);
                    let failure = Failure::new(FailureKind::UseAfterFree, message);
                    let arrived = || path().into_iter().chain([step]).collect();
                    self.failed(thread, Span::default(), step, &failure, arrived);
                }
            }
        }
    }

    fn look_for_goal(&mut self, automata: &Automata, state: &State<S::Thread>, path: impl FnOnce() -> Vec<Step>) {
        let is_content = |thread: &ThreadState<S::Thread>| {
            self.subject.site(&thread.local).is_some_and(|(routine, pc)| automata.is_content(routine, pc))
        };
        if !automata.has_goal() || !state.threads.iter().all(is_content) {
            return;
        }
        let has_goal = |thread: &&ThreadState<S::Thread>| {
            let states = self.subject.site(&thread.local).map(|(routine, _)| &automata.states[routine]);
            states.is_some_and(|states| states.iter().any(|state| state.goal))
        };
        let place =
            |thread: &ThreadState<S::Thread>| (self.subject.name(&thread.local), self.subject.span(&thread.local));
        let places: Vec<_> = state.threads.iter().filter(has_goal).map(place).collect();
        let names: Vec<&str> = places.iter().map(|(name, _)| name.as_str()).collect();
        let message = match &names[..] {
            [name] => format!("{name} can come to its final state"),
            names => format!("{} can be in their final states together", names.join(" and ")),
        };
        self.add((ViolationKind::Goal, vec![], String::new()), message, places, path);
    }

    fn race(&mut self, state: &State<S::Thread>, race: &Race, path: &impl Fn() -> Vec<Step>) {
        let threads = race.accesses.map(|access| &state.threads[access.thread.index()]);
        let [first, second] = threads.map(|thread| self.subject.name(&thread.local));
        let mut spans = threads.map(|thread| self.subject.span(&thread.local));
        if let Action::Flush(_) = race.accesses[1].action {
            // By now the thread is somewhere else than at its store.
            spans[1] = self.last_span(&[path(), vec![race.accesses[1]]].concat());
        }
        let mut places = [(threads[0].key, spans[0].start), (threads[1].key, spans[1].start)];
        places.sort_unstable();
        if let Some(reader) = threads.iter().position(|thread| self.is_behind(thread)) {
            return self.behind(state, [race.accesses[reader], race.accesses[1 - reader]], path);
        }
        let identity = (ViolationKind::DataRace, places.to_vec(), String::new());
        if !self.seen.contains(&identity) {
            let schedule = self.take_in_turn(&path(), race);
            // In the threads' own order, however the race was come across.
            let mut named = [(threads[0].key, first, spans[0]), (threads[1].key, second, spans[1])];
            named.sort_by_key(|access| access.0);
            let [(_, first, span), (_, second, other)] = named;
            let message = format!("{first} and {second} access `{}` at the same time", self.subject.loc_name(race.loc));
            self.add(identity, message, vec![(first, span), (second, other)], || schedule);
        }
    }

    /// A thread failed, with its operation there.
    pub(crate) fn failed_thread(
        &mut self,
        key: ThreadKey,
        name: String,
        span: Span,
        failure: &Failure,
        path: impl FnOnce() -> Vec<Step>,
    ) {
        let identity = (ViolationKind::Failure(failure.kind), vec![(key, span.start)], failure.message.clone());
        self.add(identity, failure.message.clone(), vec![(name, span)], path);
    }

    /// Two threads access a plain cell, and nothing orders the accesses.
    pub(crate) fn unordered(
        &mut self,
        loc: Loc,
        mut involved: [(ThreadKey, String, Span); 2],
        path: impl FnOnce() -> Vec<Step>,
    ) {
        involved.sort_by_key(|access| access.0);
        let mut places: Vec<_> = involved.iter().map(|(key, _, span)| (*key, span.start)).collect();
        places.sort_unstable();
        let [(_, first, span), (_, second, other)] = involved;
        let message = format!("{first} and {second} access `{}` at the same time", self.subject.loc_name(loc));
        let identity = (ViolationKind::DataRace, places, String::new());
        self.add(identity, message, vec![(first, span), (second, other)], path);
    }

    /// Whether the thread takes a lock again that it holds, and may wait behind others.
    fn is_behind(&self, thread: &ThreadState<S::Thread>) -> bool {
        self.subject.operation(&thread.local).queue() == Queue::Behind
    }

    /// A thread takes a lock again that it holds, for reading, while another one waits to write: it may have to wait for that one, and both do so for ever.
    fn behind(&mut self, state: &State<S::Thread>, steps: [Step; 2], path: &impl Fn() -> Vec<Step>) {
        let threads = steps.map(|step| &state.threads[step.thread.index()]);
        let [reader, writer] = threads.map(|thread| self.subject.name(&thread.local));
        let spans = threads.map(|thread| self.subject.span(&thread.local));
        let Some(lock) = self.subject.operation(&threads[0].local).lock() else { return };
        self.behind_writer(lock, (threads[0].key, reader, spans[0]), (threads[1].key, writer, spans[1]), path);
    }

    /// A thread takes a lock again that it holds, for reading, where another one may wait to write.
    pub(crate) fn behind_writer(
        &mut self,
        lock: u32,
        (reading, reader, read): (ThreadKey, String, Span),
        (writing, writer, written): (ThreadKey, String, Span),
        path: impl FnOnce() -> Vec<Step>,
    ) {
        let lock = self.subject.lock_name(lock);
        let message = format!(
            "{reader} holds `{lock}` for reading and takes it again while {writer} waits to write: it may have to wait behind {writer}, \
             which waits for {reader}"
        );
        let places = vec![(reading, read.start), (writing, written.start)];
        let identity = (ViolationKind::Deadlock, places, String::new());
        self.add(identity, message, vec![(reader, read), (writer, written)], path);
    }

    /// The two accesses as the last steps, as far as both can be taken: a store at its buffer's bound cannot, nor
    /// can a read that spins and would see nothing new.
    fn take_in_turn(&self, path: &[Step], race: &Race) -> Vec<Step> {
        let mut state = self.machine.start();
        for &step in path {
            self.machine.apply(&mut state, step);
        }
        let mut taken = path.to_vec();
        for step in race.accesses {
            let mut possible = Vec::new();
            self.machine.steps(&state, &mut possible);
            if possible.contains(&step) {
                self.machine.apply(&mut state, step);
                taken.push(step);
            }
        }
        taken
    }

    fn add(
        &mut self,
        identity: Identity,
        message: String,
        places: Vec<(String, Span)>,
        path: impl FnOnce() -> Vec<Step>,
    ) {
        if self.seen.contains(&identity) {
            return;
        }
        let mut places = places.into_iter();
        let (thread, span) = places.next().unzip();
        let thread = thread.filter(|name| !name.is_empty());
        let also = places.map(|(thread, span)| Involved { thread, span }).collect();
        let schedule = Schedule(path());
        let violation = Violation { kind: identity.0, message, thread, span, also, schedule, machines: Vec::new() };
        self.seen.insert(identity.clone());
        self.violations.push((identity, violation));
    }

    fn describe(&self, state: &State<S::Thread>, blocked: &Blocked) -> String {
        let name = |id: ThreadId| self.subject.name(&state.threads[id.index()].local);
        let waits_for: Vec<String> = blocked.waits_for.iter().map(|&id| name(id)).collect();
        let waits_for = waits_for.join(" and ");
        let who = name(blocked.thread);
        match self.subject.waits(&state.threads[blocked.thread.index()].local) {
            Waits::For(what) => return format!("{who} waits for {what}"),
            Waits::InVain => return format!("{who} waits for some time again and again, and nothing changes"),
            _ => {}
        }
        if blocked.spins() {
            let cells = blocked.spins_on.iter().map(|&loc| format!("`{}`", self.subject.loc_name(loc)));
            let others = blocked.polls.iter().map(|poll| match *poll {
                Poll::Free(lock, _) | Poll::Visited(lock, _) => format!("`{}`", self.subject.lock_name(lock)),
                Poll::Ended(key) => {
                    let thread = state.threads.iter().find(|other| other.key == key);
                    format!("the end of {}", thread.map_or(String::new(), |thread| self.subject.name(&thread.local)))
                }
            });
            let all: Vec<String> = cells.chain(others).collect();
            return format!("{who} spins on {} for ever", all.join(", "));
        }
        match (blocked.operation.acquired(), blocked.operation.condvar()) {
            (Some((lock, _)), None) => {
                let lock = self.subject.lock_name(lock);
                let hold = if blocked.waits_for.len() == 1 { "holds" } else { "hold" };
                format!("{who} waits for `{lock}`, which {waits_for} {hold}")
            }
            (Some(_), Some(condvar)) if !state.shared.is_notified(condvar, blocked.thread) => {
                format!("{who} waits to be notified of `{}`", self.subject.condvar_name(condvar))
            }
            (Some((lock, _)), Some(_)) => format!("{who} waits to take `{}` back", self.subject.lock_name(lock)),
            _ if blocked.operation.joined().is_some() => format!("{who} waits for {waits_for} to end"),
            _ => format!("{who} cannot go on"),
        }
    }
}

/// What is asked of final states.
fn conditions(program: Option<&Program>) -> &[Condition] {
    program.map_or(&[], |program| &program.conditions)
}

/// What an exhausted search has covered.
fn everything(options: &Options, violations: &[Violation]) -> String {
    let differs = violations.iter().any(|violation| violation.kind == ViolationKind::StoreBuffers);
    match options.monitor {
        Some(Monitor::StoreBuffers) if differs => "all executions of sc".to_string(),
        Some(Monitor::StoreBuffers) => format!("all executions: those of sc, and {} has no others", options.memory),
        None => "all executions".to_string(),
    }
}
