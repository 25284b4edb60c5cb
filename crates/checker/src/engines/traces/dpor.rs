//! Engine `dpor`: one execution for each trace, under SC, TSO and PSO.
//!
//! Optimal dynamic partial order reduction with wakeup trees and sleep sets (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 and
//! JACM 2017), over the machine's own steps. Stores on their way are processes of their own, as in *Stateless model checking for TSO and PSO*
//! (Abdulla and others, TACAS 2015), whose chronological traces are what makes this exact: the order of a read and the
//! arrival of the store that it sees from its own buffer is not part of a trace. So two executions are equivalent iff
//! they agree on program order, reads-from and coherence (Shasha and Snir), all linearisations of the happens-before
//! order are executions of the machine, and each class is explored once.
//!
//! Two things differ from the papers. Independence is judged by what steps did, not by what they might have done: a failed compare-exchange is a
//! read. And operations that can be disabled (locks, waits, spinning) race with the event
//! whose removal would make them possible, not just with the last one that they conflict with (`gate.rs`); those that are
//! still disabled in the end do, too.
//!
//! `dpor` is the default engine for Rust code. It needs nothing of a subject but its operations: it is sound for opaque
//! objects and for addresses, and looks at one execution at a time.

use super::data_races::DataRaces;
use super::node::{Asleep, Node};
use super::reversal::Reversal;
use super::wakeup_tree::{Forest, Tree};
use crate::base::{Action, Step, ThreadId};
use crate::execution::rewind::Rewindable;
use crate::execution::{Describe, Machine, Status};
use crate::program::Program;
use crate::search::findings::Findings;
use crate::search::{Options, Report, StopReason, Watch};
use crate::trace::happens_before::Order;
use crate::trace::happens_before::footprint::Objects;
use crate::trace::happens_before::gate::Gate;
use crate::trace::happens_before::observe::{end, observe, performed};
use crate::trace::happens_before::process::{Label, Processes};

/// How often the watch is asked, in executions, and in steps where they are long.
const LOOK_EVERY: u64 = 1024;
const LOOK_EVERY_STEPS: u64 = 2000;

/// Explores every trace and reports.
pub fn check<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let machine = Machine::new(subject, options.rules);
    let mut search = Dpor::new(subject, &machine, options);
    let stop = search.run(watch);
    search.findings.report(stop)
}

struct Dpor<'a, S: Describe> {
    machine: &'a Machine<'a, S>,
    findings: Findings<'a, S>,
    processes: Processes,
    objects: Objects,
    running: Rewindable<'a, S>,
    order: Order,
    forest: Forest,
    /// One for each event of the present execution, and one for its end.
    nodes: Vec<Node>,
    data_races: Option<DataRaces>,
    steps: Vec<Step>,
    /// What nodes that are gone had for their sleeping steps, for the next ones.
    spare: Vec<Vec<Asleep>>,
    /// Ends that were come to since the watch was asked.
    ends: u64,
    /// Steps until it was.
    looked_at: u64,
}

/// What to do at a node.
enum Next {
    Take {
        step: Step,
        label: Label,
        tree: Tree,
    },
    /// Nothing is possible.
    End,
    /// Everything that is possible has been covered.
    Redundant,
}

impl<'a, S: Describe> Dpor<'a, S> {
    fn new(subject: &'a S, machine: &'a Machine<'a, S>, options: &'a Options) -> Self {
        let known = |program: &Program| [program.cells.len(), program.locks.len(), program.condvars.len()];
        let [cells, locks, condvars] = subject.program().map_or([0; 3], known);
        let findings = Findings::new(subject, options);
        let running = Rewindable::new(machine);
        let data_races = findings.judge.looks_at_states().then(DataRaces::default);
        Dpor {
            machine,
            findings,
            processes: Processes::default(),
            objects: Objects::new(cells, locks, condvars),
            order: Order::new(running.state.shared.cells().to_vec()),
            running,
            forest: Forest::default(),
            nodes: vec![Node { sleep: Vec::new(), tree: Tree::EMPTY, preemptions: 0, running: None }],
            data_races,
            steps: Vec::new(),
            spare: Vec::new(),
            ends: 0,
            looked_at: 0,
        }
    }

    fn run(&mut self, watch: &dyn Watch) -> StopReason {
        loop {
            match self.next() {
                Ok(Next::Take { step, label, tree }) => self.take(step, label, tree),
                Ok(next) => {
                    match next {
                        Next::End => self.end(),
                        _ => {
                            self.findings.statistics.redundant += 1;
                            self.reverse_races();
                        }
                    }
                    if let Some(stop) = self.findings.stop() {
                        return stop;
                    }
                    match self.backtrack() {
                        Ok(true) => {}
                        Ok(false) => return self.findings.exhausted(),
                        Err(why) => return StopReason::Nondeterminism(why),
                    }
                }
                Err(why) => return StopReason::Failed(why),
            }
            if let Some(stop) = self.findings.stop() {
                return stop;
            }
            let steps = self.findings.statistics.steps;
            let is_due = self.ends >= LOOK_EVERY || steps - self.looked_at >= LOOK_EVERY_STEPS;
            if is_due {
                (self.ends, self.looked_at) = (0, steps);
            }
            if let Some(stop) = self.findings.look(is_due, 0, watch) {
                return stop;
            }
        }
    }

    /// Decides what to do at the present node.
    fn next(&mut self) -> Result<Next, String> {
        let node = self.nodes.last_mut().expect("there is a node for every state");
        if self.order.len() as u64 >= self.findings.options.limits.most_steps_taken_back() {
            self.findings.incomplete = Some(StopReason::EventLimit);
            return Ok(Next::Redundant);
        }
        if let Some((label, tree)) = self.forest.take_first(&mut node.tree) {
            return match self.step_of(label) {
                Some(step) if self.is_one_preemption_too_many(step) => Ok(Next::Redundant),
                Some(step) => Ok(Next::Take { step, label, tree }),
                // It may have come too early for a full buffer.
                None if self.findings.incomplete.is_some() => Ok(Next::Redundant),
                // Threads may share something that the machine does not know. Whatever else they do is still worth a look.
                None if self.is_run_again() => {
                    self.findings.incomplete = Some(StopReason::Nondeterminism(self.cannot_go_on(label)));
                    Ok(Next::Redundant)
                }
                None => Err(self.impossible(label)),
            };
        }
        Ok(self.any_step())
    }

    /// Whether steps are taken back by running the threads again: then nobody has made sure that they do the same.
    fn is_run_again(&self) -> bool {
        let mut threads = self.running.state.threads.iter();
        threads.any(|thread| self.machine.subject.copy(&thread.local).is_none())
    }

    fn cannot_go_on(&self, label: Label) -> String {
        let (subject, key) = (self.machine.subject, self.processes.get(label.process).thread);
        match self.running.state.threads.iter().find(|thread| thread.key == key) {
            Some(thread) => {
                let place = subject.place(subject.span(&thread.local));
                format!("{} is at {place}, and it must be possible that it goes on", subject.name(&thread.local))
            }
            None => "a thread must be there and is not".to_string(),
        }
    }

    fn impossible(&self, label: Label) -> String {
        let process = self.processes.get(label.process);
        format!("a step of {process:?} was expected to be possible after {:?}", self.running.path)
    }

    /// A possible step with this label.
    fn step_of(&mut self, label: Label) -> Option<Step> {
        let state = &self.running.state;
        let step = self.processes.step(state, label, |thread| self.machine.subject.operation(thread))?;
        self.steps.clear();
        match step.action {
            Action::Flush(at) => {
                let buffer = &state.threads[step.thread.index()].buffer;
                buffer.flushable(&self.machine.rules).any(|place| place == at as usize).then_some(step)
            }
            _ => {
                self.machine.operation_steps(state, step.thread, &mut self.steps);
                let is_it = |&&possible: &&Step| possible == step || label.choice.is_none();
                self.steps.iter().find(is_it).copied()
            }
        }
    }

    /// Some step that is possible and does not sleep. Stores arrive as soon as they can, and a thread runs as long as it can.
    fn any_step(&mut self) -> Next {
        let state = &self.running.state;
        let n_threads = state.threads.len();
        let current = self.running.path.last().map_or(0, |step| step.thread.index());
        let mut possible = false;
        for index in (0..n_threads).map(|offset| (current + offset) % n_threads) {
            let thread = ThreadId(index as u16);
            self.steps.clear();
            let flushes = state.threads[index].buffer.flushable(&self.machine.rules);
            self.steps.extend(flushes.map(|at| Step { thread, action: Action::Flush(at as u8) }));
            self.machine.operation_steps(state, thread, &mut self.steps);
            possible |= !self.steps.is_empty();
            for &step in &self.steps {
                let operation = match step.action {
                    Action::Choose(_) => Some(self.machine.subject.operation(&state.threads[index].local)),
                    _ => None,
                };
                let label = self.processes.label(state, self.machine.rules.reorders_stores(), step, operation.as_ref());
                let sleep = &self.nodes.last().expect("there is a node for every state").sleep;
                if !sleep.iter().any(|asleep| asleep.label == label) {
                    return Next::Take { step, label: Label { choice: None, ..label }, tree: Tree::EMPTY };
                }
            }
        }
        match self.machine.another_turn(state) {
            _ if possible => Next::Redundant,
            Some(step) => {
                let label = self.processes.label(state, self.machine.rules.reorders_stores(), step, None);
                Next::Take { step, label, tree: Tree::EMPTY }
            }
            None => Next::End,
        }
    }

    /// Takes a step. If it makes a choice that was not asked for, the other choices become branches.
    fn take(&mut self, step: Step, asked: Label, tree: Tree) {
        self.findings.statistics.steps += 1;
        let state = &self.running.state;
        let thread = &state.threads[step.thread.index()];
        let operation = match step.action {
            Action::Flush(_) => None,
            _ => Some(self.machine.subject.operation(&thread.local)),
        };
        let reorders_stores = self.machine.rules.reorders_stores();
        let label = self.processes.label(state, reorders_stores, step, operation.as_ref());
        let mut others = Vec::new();
        if label.choice.is_some() && asked.choice.is_none() {
            self.steps.clear();
            self.machine.operation_steps(state, step.thread, &mut self.steps);
            for &other in self.steps.iter().filter(|&&other| other != step) {
                others.push(self.processes.label(state, reorders_stores, other, operation.as_ref()));
            }
        }
        let (preemptions, running) = self.preemptions_after(step);
        let state = &self.running.state;
        let thread = &state.threads[step.thread.index()];
        let mut taken = observe(self.machine, &mut self.objects, &self.order, state, step, label, operation.as_ref());
        if operation.is_some() && self.machine.is_awaiting(state, step.thread) {
            // It takes another turn because nothing else can happen: everything so far comes before that.
            taken.joins_all = true;
            taken.gate = Gate::Open;
        }
        if thread.buffer.entries().len() >= self.machine.rules.max_buffer {
            self.findings.met_buffer_bound(thread);
        }
        let done = self.running.take(step, operation.as_ref());
        performed(&mut taken, &done);
        done.dropped.iter().for_each(|dropped| end(&mut taken, &self.objects, &self.order, dropped));
        self.order.note_new_cells(&done.created);
        if let Some(failure) = &done.failure {
            let path = || self.running.path.clone();
            let thread = &self.running.state.threads[step.thread.index()];
            self.findings.judge.failed(thread, self.running.acting().span, step, failure, path);
        }
        if !done.dropped.is_empty() {
            self.findings.judge.look_at_dropped(&self.running.state, || self.running.path.clone());
        }
        let node = self.nodes.last_mut().expect("there is a node for every state");
        for other in others.into_iter().rev().filter(|other| !node.sleep.iter().any(|asleep| asleep.label == *other)) {
            self.forest.add_first(&mut node.tree, other, taken.footprint.clone());
        }
        let mut sleep = self.spare.pop().unwrap_or_default();
        node.add_still_asleep(&mut sleep, &taken, &self.processes);
        if let (Some(watcher), Some(operation)) = (&mut self.findings.watcher, &operation) {
            let span = self.running.acting().span;
            let witness = watcher.step(&taken, operation, span, || self.running.path.clone());
            witness.into_iter().for_each(|witness| self.findings.judge.not_sequential(witness));
        }
        self.order.push(&self.processes, self.objects.len(), taken);
        self.nodes.push(Node { sleep, tree, preemptions, running });
        if let Some(data_races) = &mut self.data_races {
            data_races.note(&self.order, self.running.acting(), done.operation.as_ref());
            data_races.look(&self.order, &self.processes, self.machine, &mut self.findings.judge);
        }
    }

    /// How many preemptions there are after a step, and who runs then. Arrivals of stores are nobody's doing.
    fn preemptions_after(&mut self, step: Step) -> (u32, Option<usize>) {
        let node = self.nodes.last().expect("there is a node for every state");
        let (preemptions, running) = (node.preemptions, node.running);
        if matches!(step.action, Action::Flush(_)) || self.findings.options.limits.preemptions.is_none() {
            return (preemptions, running);
        }
        let index = step.thread.index();
        let preempted = running.filter(|&running| running != index).is_some_and(|running| {
            self.steps.clear();
            self.machine.operation_steps(&self.running.state, ThreadId(running as u16), &mut self.steps);
            !self.steps.is_empty()
        });
        (preemptions + u32::from(preempted), Some(index))
    }

    fn is_one_preemption_too_many(&mut self, step: Step) -> bool {
        let Some(most) = self.findings.options.limits.preemptions else { return false };
        let too_many = self.preemptions_after(step).0 > most;
        if too_many {
            self.findings.incomplete = Some(StopReason::PreemptionLimit);
        }
        too_many
    }

    /// Nothing is possible any more.
    fn end(&mut self) {
        self.ends += 1;
        let running = &self.running;
        self.findings.ended(self.machine, &running.state, || running.path.clone());
        self.reverse_races();
        self.reverse_pending_races();
    }

    fn reverse_races(&mut self) {
        for second in 0..self.order.len() {
            for race in self.order.races_of(second) {
                let mut reversal = Reversal::of_events(&self.order, &self.processes, race, second);
                self.nodes[race.first as usize].wake(&mut self.forest, &mut reversal);
            }
        }
    }

    /// Threads that could not go on might have, had others done something else.
    fn reverse_pending_races(&mut self) {
        for index in 0..self.running.state.threads.len() {
            let state = &self.running.state;
            let thread = &state.threads[index];
            if thread.status != Status::Running {
                continue;
            }
            let operation = self.machine.subject.operation(&thread.local);
            let step = Step { thread: ThreadId(index as u16), action: Action::Run };
            let label = self.processes.label(state, self.machine.rules.reorders_stores(), step, Some(&operation));
            let pending = observe(self.machine, &mut self.objects, &self.order, state, step, label, Some(&operation));
            if let Some(data_races) = &mut self.data_races {
                data_races.note_pending(&self.order, self.findings.subject, thread, &operation);
                data_races.look_at_pending(&self.order, &self.processes, label, self.machine, &mut self.findings.judge);
            }
            if matches!(pending.gate, Gate::Open) {
                continue;
            }
            let past = self.order.past_of(&self.processes, &pending);
            for race in self.order.gated_races(&past, &pending) {
                let mut reversal = Reversal::of_pending(&self.order, &self.processes, race, &pending, &past);
                self.nodes[race.first as usize].wake(&mut self.forest, &mut reversal);
            }
        }
    }

    /// Goes back to the last node that has something left to explore.
    fn backtrack(&mut self) -> Result<bool, String> {
        loop {
            self.spare.extend(self.nodes.pop().map(Node::into_spare));
            let Some(event) = self.order.pop() else { return Ok(false) };
            self.running.undo();
            if let Some(watcher) = &mut self.findings.watcher {
                watcher.undo();
            }
            if let Some(data_races) = &mut self.data_races {
                data_races.undo(self.order.len());
            }
            let node = self.nodes.last_mut().expect("there is a node for every event");
            node.sleep.push(Asleep { label: event.label, footprint: event.footprint });
            if node.tree != Tree::EMPTY {
                let order = &mut self.order;
                self.running.settle(|at, done| order.redo(at, done))?;
                self.findings.note_difference(self.running.take_difference());
                return Ok(true);
            }
        }
    }
}
