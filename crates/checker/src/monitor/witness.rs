//! From a borderline execution to an execution that shows the difference: a schedule for the machine with store buffers, and what it is that waits.

use super::borderline::Positions;
use super::order::{OrderedEvent, TraceOrder, cycle, linearise, shortest_way};
use crate::base::{Action, Schedule, Span, Step, ThreadKey};
use crate::execution::{Describe, Machine, MemoryModel, Operation, Rules, State};
use crate::program::Program;
use crate::trace::happens_before::footprint::{Mode, Object, Objects};
use crate::trace::happens_before::observe::{observe, performed};
use crate::trace::happens_before::process::Processes;
use crate::trace::happens_before::{Order, Outcome, Taken};

/// An execution that SC does not have.
pub(crate) struct Witness {
    /// How to run it on the machine with store buffers.
    pub(crate) schedule: Schedule,
    /// In words.
    pub(crate) message: String,
    /// The store that waits, what of its thread overtakes it, and then the rest of the cycle.
    pub(crate) places: Vec<(String, Span)>,
    /// Who waits for what, so that it is the same in every execution.
    pub(crate) identity: Vec<(ThreadKey, u32)>,
}

/// Looks at steps of a machine as `dpor` does.
pub(crate) struct Eye<'a, S> {
    pub(super) subject: &'a S,
    /// Whose steps are seen: of one without buffers, unless said otherwise, where a store touches its cell.
    machine: Machine<'a, S>,
    processes: Processes,
    objects: Objects,
    order: Order,
}

impl<'a, S: Describe> Eye<'a, S> {
    pub(super) fn new(subject: &'a S) -> Eye<'a, S> {
        Eye::under(subject, Rules::SEQUENTIAL)
    }

    /// Sees steps as on a machine with these rules.
    pub(crate) fn under(subject: &'a S, rules: Rules) -> Eye<'a, S> {
        let known = |program: &Program| [program.cells.len(), program.locks.len(), program.condvars.len()];
        let [cells, locks, condvars] = subject.program().map_or([0; 3], known);
        Eye {
            subject,
            machine: Machine::new(subject, rules),
            processes: Processes::default(),
            objects: Objects::new(cells, locks, condvars),
            order: Order::new(subject.initial_cells()),
        }
    }

    /// What a step that performs an operation would touch and bring about.
    pub(super) fn look(&mut self, state: &State<S::Thread>, step: Step) -> (Taken, Operation) {
        let operation = self.subject.operation(&state.threads[step.thread.index()].local);
        (self.observe(state, step, Some(&operation)), operation)
    }

    /// What a step would touch and bring about, and the operation that it performs, unless a store reaches memory.
    pub(crate) fn look_at(&mut self, state: &State<S::Thread>, step: Step) -> (Taken, Option<Operation>) {
        match step.action {
            Action::Flush(_) => (self.observe(state, step, None), None),
            _ => {
                let (taken, operation) = self.look(state, step);
                (taken, Some(operation))
            }
        }
    }

    fn observe(&mut self, state: &State<S::Thread>, step: Step, operation: Option<&Operation>) -> Taken {
        let Eye { machine, processes, objects, order, .. } = self;
        let label = processes.label(state, machine.rules.reorders_stores(), step, operation);
        observe(machine, objects, order, state, step, label, operation)
    }

    /// Takes a step that performs an operation on some machine, and gives it as an event.
    fn take(&mut self, machine: &Machine<'_, S>, state: &mut State<S::Thread>, step: Step) -> OrderedEvent {
        let thread = &state.threads[step.thread.index()].local;
        let (span, name) = (self.subject.span(thread), self.subject.name(thread));
        let (mut taken, operation) = self.look(state, step);
        let done = machine.apply(state, step);
        performed(&mut taken, &done);
        OrderedEvent { taken, operation, span, name }
    }
}

/// The execution that a borderline one leads to. The last step of the path is the one that goes otherwise.
pub(super) fn witness<S: Describe>(
    subject: &S,
    memory: MemoryModel,
    path: &[Step],
    positions: &Positions,
) -> Result<Witness, String> {
    let mut eye = Eye::new(subject);
    let trace = otherwise(&mut eye, path, positions);
    let last = trace.events.len() - 1;
    let way = shortest_way(&trace.edges(MemoryModel::default()), last, last).ok_or("there is no cycle")?;
    let trace = trace.only(&trace.needed(&way, |object| eye.objects.is_memory(object)));
    let last = trace.events.len() - 1;
    let weak = trace.edges(memory);
    let order = linearise(&weak);
    if order.len() < trace.events.len() {
        return Err(format!("{memory} does not have it either"));
    }
    let way = shortest_way(&trace.edges(MemoryModel::default()), last, last).ok_or("there is no cycle any more")?;
    let schedule = schedule(&mut eye, memory, &trace, &order)?;
    // Program order along the cycle, from the store that waits to what overtakes it.
    let mut segments: Vec<(usize, usize)> = Vec::new();
    for &at in &way {
        match segments.last_mut() {
            Some(segment) if trace.events[segment.1].thread() == trace.events[at].thread() => segment.1 = at,
            _ => segments.push((at, at)),
        }
    }
    if segments.len() > 1
        && trace.events[segments[0].0].thread() == trace.events[segments[segments.len() - 1].0].thread()
    {
        let first = segments.remove(0);
        segments.last_mut().expect("there are two or more").1 = first.1;
    }
    // Several stores of the cycle may be able to wait; one that does in this execution is told of.
    let position = |event: usize| order.iter().position(|&at| at == event);
    let waits = |&(store, later): &(usize, usize)| position(store) > position(later);
    let at = segments.iter().rposition(waits).ok_or("no store waits")?;
    segments.rotate_left(at);
    Ok(describe(subject, memory, &trace, &segments, schedule))
}

fn describe<S: Describe>(
    subject: &S,
    memory: MemoryModel,
    trace: &TraceOrder,
    segments: &[(usize, usize)],
    schedule: Schedule,
) -> Witness {
    let (store, later) = segments[0];
    let [store, later] = [store, later].map(|at| &trace.events[at]);
    let words = |event: &OrderedEvent| {
        let cell = event.operation.loc().map(|loc| subject.loc_name(loc)).unwrap_or_default();
        match &event.operation {
            operation if operation.is_read() => format!("the load of `{cell}`"),
            operation if operation.is_write() => format!("the store to `{cell}`"),
            operation if operation.is_update() => format!("the update of `{cell}`"),
            _ => "what follows".to_string(),
        }
    };
    let message = format!(
        "{memory} has executions that sc does not have: in {}, {} can wait until after {}",
        store.name,
        words(store),
        words(later)
    );
    let mut ends: Vec<usize> = segments.iter().flat_map(|&(first, last)| [first, last]).collect();
    ends.dedup();
    let places = ends.iter().map(|&at| (trace.events[at].name.clone(), trace.events[at].span)).collect();
    let identity = vec![(store.thread(), store.span.start), (later.thread(), later.span.start)];
    Witness { schedule, message, places, identity }
}

/// The trace of a path whose last step goes otherwise.
fn otherwise<S: Describe>(eye: &mut Eye<'_, S>, path: &[Step], positions: &Positions) -> TraceOrder {
    let machine = Machine::new(eye.subject, Rules::SEQUENTIAL);
    let mut state = machine.start();
    let mut trace = TraceOrder::default();
    let mut values: Vec<(Object, i64)> = Vec::new();
    for (at, &step) in path.iter().enumerate() {
        let event = eye.take(&machine, &mut state, step);
        let taken = event.taken.clone();
        let number = trace.add(event);
        for access in &taken.footprint.accesses {
            if at + 1 < path.len() {
                trace.touch(access.object, number, access.mode);
                values.extend((access.mode == Mode::Write).then_some((access.object, taken.value)));
                continue;
            }
            let position = positions.iter().find(|position| position.0 == access.object).map_or(0, |p| p.1);
            let mut mode = access.mode;
            if let Outcome::Exchange(_, cell, expected) = taken.outcome
                && cell == access.object
            {
                let initial = || eye.subject.initial_cells().get(cell as usize).copied().unwrap_or(0);
                let mut written = values.iter().filter(|value| value.0 == cell).map(|value| value.1);
                let value = if position == 0 { initial() } else { written.nth(position - 1).unwrap_or(0) };
                mode = if value == expected { Mode::Write } else { Mode::Read };
            }
            trace.touch_after(access.object, number, mode, position);
        }
    }
    trace
}

/// Steps of the machine with buffers that make a trace, in an order of its events in which stores stand where they reach memory.
fn schedule<S: Describe>(
    eye: &mut Eye<'_, S>,
    memory: MemoryModel,
    trace: &TraceOrder,
    order: &[usize],
) -> Result<Schedule, String> {
    let machine = Machine::new(eye.subject, memory.rules().unbounded());
    let mut state = machine.start();
    let mut steps = Vec::new();
    let mut issued = vec![false; trace.events.len()];
    for &at in order {
        let event = &trace.events[at];
        let own = |&earlier: &usize| earlier <= at && trace.events[earlier].thread() == event.thread();
        for earlier in (0..trace.events.len()).filter(own) {
            if !std::mem::replace(&mut issued[earlier], true) {
                let label = trace.events[earlier].taken.label;
                let step = eye.processes.step(&state, label, |thread| eye.subject.operation(thread));
                let step = step.filter(|&step| machine.can_take(&state, step)).ok_or("a step is not possible")?;
                machine.apply(&mut state, step);
                steps.push(step);
            }
        }
        if event.is_store() {
            let thread = state.threads.iter().position(|thread| thread.key == event.thread());
            let thread = thread.ok_or("a thread has not been started")?;
            let entries = state.threads[thread].buffer.entries();
            let loc = event.operation.loc();
            let place = entries.iter().position(|entry| Some(entry.loc) == loc).ok_or("a store does not wait")?;
            let step = Step { thread: crate::base::ThreadId(thread as u16), action: Action::Flush(place as u8) };
            if !machine.can_take(&state, step) {
                return Err("a store cannot arrive".to_string());
            }
            machine.apply(&mut state, step);
            steps.push(step);
        }
    }
    Ok(Schedule(steps))
}

/// Whether the execution with this schedule is not one of SC.
pub(crate) fn is_not_sc<S: Describe>(subject: &S, rules: Rules, schedule: &Schedule) -> bool {
    let mut eye = Eye::new(subject);
    let machine = Machine::new(subject, rules.unbounded());
    let mut state = machine.start();
    let mut trace = TraceOrder::default();
    // Stores on their way, and loads that saw them.
    let mut waiting: Vec<(ThreadKey, Object, usize)> = Vec::new();
    let mut forwarded: Vec<(Object, usize, usize)> = Vec::new();
    for &step in &schedule.0 {
        let key = state.threads[step.thread.index()].key;
        if let Action::Flush(place) = step.action {
            let mut own = (0..waiting.len()).filter(|&at| waiting[at].0 == key);
            let Some(at) = own.nth(place as usize) else { return false };
            let (_, object, event) = waiting.remove(at);
            trace.touch(object, event, Mode::Write);
            machine.apply(&mut state, step);
            continue;
        }
        let event = eye.take(&machine, &mut state, step);
        let (taken, is_store) = (event.taken.clone(), event.is_store());
        let number = trace.add(event);
        for access in &taken.footprint.accesses {
            let own = waiting.iter().rev().find(|store| store.0 == key && store.1 == access.object);
            match (access.mode, own) {
                (Mode::Write, _) if is_store && rules.delays_stores() => {
                    waiting.push((key, access.object, number));
                }
                (Mode::Read, Some(&(_, object, store))) => forwarded.push((object, number, store)),
                (mode, _) => trace.touch(access.object, number, mode),
            }
        }
    }
    for (_, object, event) in waiting {
        trace.touch(object, event, Mode::Write);
    }
    for (object, load, store) in forwarded {
        trace.touch_after(object, load, Mode::Read, trace.n_writes_until(object, store));
    }
    cycle(&trace.edges(MemoryModel::default())).is_some()
}
