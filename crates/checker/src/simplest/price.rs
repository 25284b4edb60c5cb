//! What a step costs: one for a preemption, one for a store that it delays.

use crate::base::{Action, Step, ThreadId};
use crate::execution::{Comparable, Machine, Performed, State, Status};

/// What the price of the next step depends on, besides the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// The thread of the last operation.
    pub(super) running: Option<ThreadId>,
    /// That operation was a store, and it still waits in its buffer: the next operation delays it.
    pub(super) fresh: bool,
}

impl Context {
    /// The price of a step from here.
    pub(super) fn price<S: Comparable>(self, machine: &Machine<'_, S>, state: &State<S::Thread>, step: Step) -> u32 {
        if matches!(step.action, Action::Flush(_)) {
            return 0;
        }
        let left = self.running.filter(|&running| running != step.thread);
        let preempts = left.is_some_and(|running| can_go_on(machine, state, running));
        u32::from(preempts) + u32::from(self.fresh)
    }

    /// The context after a step. `waiting` is the number of stores that waited in the stepping thread's buffer before it.
    pub(super) fn after(self, step: Step, waiting: usize, performed: &Performed) -> Context {
        match step.action {
            Action::Flush(at) => {
                let newest = self.running == Some(step.thread) && at as usize + 1 == waiting;
                Context { fresh: self.fresh && !newest, ..self }
            }
            Action::Run | Action::Choose(_) => Context { running: Some(step.thread), fresh: performed.buffered },
        }
    }
}

/// The preemptions and delayed stores of steps, and the steps that were possible; others are left out.
pub(super) fn follow<S: Comparable>(machine: &Machine<'_, S>, steps: &[Step]) -> (u32, Vec<Step>) {
    let mut state = machine.start();
    let (mut context, mut cost, mut taken) = (Context::default(), 0, Vec::with_capacity(steps.len()));
    for &step in steps {
        if step.thread.index() >= state.threads.len() || !machine.can_take(&state, step) {
            continue;
        }
        cost += context.price(machine, &state, step);
        let waiting = state.threads[step.thread.index()].buffer.entries().len();
        let performed = machine.apply(&mut state, step);
        context = context.after(step, waiting, &performed);
        taken.push(step);
    }
    (cost, taken)
}

/// Whether the thread could do something, perhaps after its own stores have arrived. That it could end does not count.
fn can_go_on<S: Comparable>(machine: &Machine<'_, S>, state: &State<S::Thread>, thread: ThreadId) -> bool {
    let this = &state.threads[thread.index()];
    let operation = machine.subject.operation(&this.local);
    if this.status != Status::Running || operation.is_end() {
        return false;
    }
    let mut steps = Vec::new();
    machine.operation_steps(state, thread, &mut steps);
    let drains =
        || !this.buffer.is_empty() && !machine.is_awaiting(state, thread) && machine.drains(state, thread, &operation);
    !steps.is_empty() || drains()
}
