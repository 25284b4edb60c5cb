//! Robustness: does a program do under TSO, or under PSO, exactly what it does under SC?
//!
//! Two computations look the same if they have the same happens-before order (`cycle.rs`): program order, reads-from, the order of stores to
//! each cell, and of what is done to locks and the like. A program is robust if every computation of the memory model looks like one of SC. That is decided by a search of states that all threads reach in turns, from each of
//! which one thread at a time delays its stores (`attack.rs`); it ends wherever data is finite, loops or not.
//!
//! [`Delays`] are the other half: a program with the delays built in that an attack used is searched by the same code, and is
//! what the engine `lazy` goes on with.

mod fences;
mod placement;

pub use fences::{FenceOptions, Fences, Purpose, fences};
pub use placement::{Fence, Side, fenced};

use crate::base::{Schedule, Span, ThreadId};
use crate::engines::lazy::delays::{Delays, can_delay};
use crate::engines::lazy::emulation::Plan;
use crate::engines::lazy::retrace::Retraced;
use crate::engines::lazy::search::{LazySearch, Looked};
use crate::engines::learning::cumulative::cycle;
use crate::execution::{Comparable, MemoryModel, interpret};
use crate::program::Program;
use crate::search::{Limits, StopReason, Watch};
use crate::trace;
use crate::trace::cycle::delayed;
use crate::trace::{Cycle, Trace, happens_before_cycle};

/// The answer to whether a program is robust.
#[derive(Clone, Debug)]
pub struct Robustness {
    /// The answer.
    pub answer: Answer,
    /// Distinct states that were looked at.
    pub states: u64,
}

/// Whether a program is robust.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It is: the memory model makes no difference.
    Robust,
    /// It is not, and this shows it.
    NotRobust(Box<Witness>),
    /// The search ended too early, for this reason.
    Unknown(StopReason),
}

/// An execution of the memory model that no SC execution looks like. It has been replayed.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The steps, from the start.
    pub schedule: Schedule,
    /// What they do.
    pub trace: Trace,
    /// The cycle in the happens-before order.
    pub cycle: Cycle,
    /// The thread that delays a store.
    pub attacker: ThreadId,
    /// Where the store stands.
    pub store: Span,
    /// Where the load stands that goes ahead of it; under PSO also a store.
    pub ahead: Span,
    /// What was learnt from it.
    pub(crate) retraced: Retraced,
}

/// Decides whether a program is robust against a memory model.
pub fn robust(program: &Program, memory: MemoryModel, limits: &Limits, watch: &dyn Watch) -> Robustness {
    if !memory.delays_stores() || !can_delay(program, memory) {
        return Robustness { answer: Answer::Robust, states: 0 };
    }
    let restless = search_for_witness(memory, &interpret(program).restless(), limits, watch);
    match restless.answer {
        // It went round a loop that the machine would not go round.
        Answer::Unknown(StopReason::Failed(_)) => search_for_witness(memory, &interpret(program), limits, watch),
        _ => restless,
    }
}

/// The same answer from the graph of engine `cumulative`. The loops must be bounded, and must not wait for others.
pub fn robust_by_graph(program: &Program, memory: MemoryModel, limits: &Limits, watch: &dyn Watch) -> Robustness {
    let (cycle, states) = cycle(program, memory, limits, watch);
    let answer = match cycle {
        Ok(None) => Answer::Robust,
        Ok(Some(schedule)) => shown(program, memory, schedule),
        Err(stop) => Answer::Unknown(stop),
    };
    Robustness { answer, states }
}

fn search_for_witness<S: Comparable>(
    memory: MemoryModel,
    subject: &S,
    limits: &Limits,
    watch: &dyn Watch,
) -> Robustness {
    let reduces = !subject.notices_spinning();
    let plan = Plan { memory, delays: Delays::default(), bound: 1, eager: true, attacks: true, reduces };
    let mut search = LazySearch::new(subject, plan);
    let mut looked_at = 0;
    let answer = loop {
        let Some(at) = search.space.next() else { break Answer::Robust };
        looked_at += 1;
        if let Looked::Witness(at) = search.look(at) {
            break confirm(subject.code(), memory, search.retrace(at));
        }
        if let Some(stop) = search.stop(looked_at, limits, watch) {
            break Answer::Unknown(stop);
        }
    };
    Robustness { answer, states: search.space.len() as u64 }
}

/// Replays what was found and looks for the cycle.
fn confirm(program: &Program, memory: MemoryModel, retraced: Retraced) -> Answer {
    let Some(attack) = retraced.attack.clone() else {
        return Answer::Unknown(StopReason::Failed("a witness without an attack".to_string()));
    };
    match shown(program, memory, Schedule(retraced.steps.clone())) {
        Answer::NotRobust(witness) => {
            let (attacker, store, ahead) = (attack.thread, attack.store, attack.ahead);
            Answer::NotRobust(Box::new(Witness { attacker, store, ahead, retraced, ..*witness }))
        }
        other => other,
    }
}

/// Replays a schedule that no SC execution looks like, and finds out why.
fn shown(program: &Program, memory: MemoryModel, schedule: Schedule) -> Answer {
    let replayed = trace::replay(&interpret(program), memory.rules(), &schedule);
    let trace = match replayed {
        Ok(trace) => trace,
        Err(error) => return Answer::Unknown(StopReason::Failed(error.to_string())),
    };
    let Some(cycle) = happens_before_cycle(&trace) else {
        return Answer::Unknown(StopReason::Failed(format!("schedule {schedule} looks like an SC execution")));
    };
    let Some((store, ahead)) = delayed(&trace, &cycle) else {
        return Answer::Unknown(StopReason::Failed(format!("schedule {schedule} delays nothing")));
    };
    let (attacker, retraced) = (trace.events[store].step.thread, Retraced::default());
    let (store, ahead) = (trace.events[store].span, trace.events[ahead].span);
    Answer::NotRobust(Box::new(Witness { schedule, trace, cycle, attacker, store, ahead, retraced }))
}
