//! Processes: what is totally ordered by itself in every execution. A thread's operations are one process, and its stores on
//! their way to memory another (TSO) or one per cell (PSO).

use crate::base::{Action, Loc, Step, ThreadId, ThreadKey};
use crate::execution::{Operation, State};

/// A process by number.
pub(crate) type ProcessId = u16;

/// A process, named so that it is the same in every execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) thread: ThreadKey,
    pub(crate) queue: Queue,
}

/// What of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Its operations.
    Operations,
    /// Its stores.
    Stores,
    /// Its stores to this cell.
    StoresTo(Loc),
}

/// A step that means the same in every execution in which its process has come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) process: ProcessId,
    /// What is chosen: a value, or the key of a thread. Nothing: there is no choice, or any will do.
    pub(crate) choice: Option<i64>,
}

/// All processes seen so far.
#[derive(Default)]
pub(crate) struct Processes {
    table: Vec<Process>,
}

impl Processes {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, id: ProcessId) -> Process {
        self.table[id as usize]
    }

    /// The process's number.
    pub(crate) fn id(&mut self, process: Process) -> ProcessId {
        let known = self.table.iter().position(|&other| other == process);
        known.unwrap_or_else(|| {
            self.table.push(process);
            self.table.len() - 1
        }) as ProcessId
    }

    /// The processes of one thread other than its operations.
    pub(crate) fn stores_of(&self, thread: ThreadKey) -> impl Iterator<Item = ProcessId> {
        let stores = move |process: &Process| process.thread == thread && process.queue != Queue::Operations;
        self.table.iter().enumerate().filter(move |(_, process)| stores(process)).map(|(at, _)| at as ProcessId)
    }

    /// The label of a step that is possible in a state.
    pub(crate) fn label<T>(
        &mut self,
        state: &State<T>,
        reorders_stores: bool,
        step: Step,
        operation: Option<&Operation>,
    ) -> Label {
        let thread = &state.threads[step.thread.index()];
        let queue = match step.action {
            Action::Run | Action::Choose(_) => Queue::Operations,
            Action::Flush(at) if reorders_stores => Queue::StoresTo(thread.buffer.entries()[at as usize].loc),
            Action::Flush(_) => Queue::Stores,
        };
        let choice = match step.action {
            Action::Choose(waiter) if operation.and_then(Operation::notified).is_some() => {
                Some(state.threads[waiter as usize].key.0 as i64)
            }
            Action::Choose(value) => Some(value),
            _ => None,
        };
        Label { process: self.id(Process { thread: thread.key, queue }), choice }
    }

    /// The step that a label means in a state, if its thread has been started.
    pub(crate) fn step<T>(&self, state: &State<T>, label: Label, operation: impl Fn(&T) -> Operation) -> Option<Step> {
        let process = self.get(label.process);
        let index = thread_index(state, process.thread)?;
        let thread = &state.threads[index];
        let action = match (process.queue, label.choice) {
            (Queue::Stores, _) => Action::Flush(0),
            (Queue::StoresTo(loc), _) => {
                Action::Flush(thread.buffer.entries().iter().position(|entry| entry.loc == loc)? as u8)
            }
            (Queue::Operations, None) => Action::Run,
            (Queue::Operations, Some(choice)) => match operation(&thread.local).notified() {
                Some(_) => Action::Choose(thread_index(state, ThreadKey(choice as u64))? as i64),
                None => Action::Choose(choice),
            },
        };
        Some(Step { thread: ThreadId(index as u16), action })
    }
}

/// Where the thread is among those of a state.
pub(crate) fn thread_index<T>(state: &State<T>, key: ThreadKey) -> Option<usize> {
    state.threads.iter().position(|thread| thread.key == key)
}
