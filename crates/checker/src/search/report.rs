//! Reports: what a check found, as plain values.

use super::Engine;
use crate::base::{FailureKind, Schedule, Span, Verdict};
use crate::execution::MemoryModel;
use crate::program::{FinalState, Quantifier};

/// What a check of one program under one memory model found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The program's name.
    pub program: String,
    /// The memory model.
    pub memory: MemoryModel,
    /// The engine that searched.
    pub engine: Engine,
    /// Why the search ended.
    pub stop: StopReason,
    /// What was covered, as far as that can be said.
    pub coverage: Option<String>,
    /// What is wrong, in the order in which it was found; each has been replayed.
    pub violations: Vec<Violation>,
    /// Answers to the program's `exists` conditions.
    pub observations: Vec<Observation>,
    /// Every final state that was seen, sorted.
    pub final_states: Vec<FinalState>,
    /// How much was done.
    pub statistics: Statistics,
    /// Engines that failed, where another one went on in their place.
    pub failures: Vec<EngineFailure>,
}

/// An engine that contradicted itself: a mistake of the checker, whatever was found without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFailure {
    /// The engine.
    pub engine: Engine,
    /// What went wrong.
    pub why: String,
}

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Everything was covered.
    Exhausted,
    /// Something wrong was found, and one finding was enough.
    Violation,
    /// As many executions as allowed.
    ExecutionLimit,
    /// All executions with as many preemptions as allowed.
    PreemptionLimit,
    /// As many states as allowed or as can be stored.
    StateLimit,
    /// As long as allowed.
    TimeLimit,
    /// As much memory as allowed.
    MemoryLimit,
    /// Some executions are longer than allowed.
    EventLimit,
    /// Some thread had more stores on their way than allowed.
    BufferLimit {
        /// Where the store stands that would have been the next.
        store: Span,
        /// And the innermost loop around it.
        around: Option<Span>,
    },
    /// The user had enough.
    Interrupted,
    /// Only what one execution implies was asked for, and others are possible.
    Predicted,
    /// The engine cannot search this program, for this reason.
    Unsupported(String),
    /// The program behaved differently when it was run again in the same way.
    Nondeterminism(String),
    /// No execution comes to its end: in each of them, an assumption does not hold.
    NoExecution,
    /// A thread did not come to its next operation in the time that was allowed.
    Hang(String),
    /// The search could not go on, for this reason.
    Failed(String),
}

/// Something wrong, and how to see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What kind.
    pub kind: ViolationKind,
    /// In words.
    pub message: String,
    /// The thread that it happens in, or the first of several.
    pub thread: Option<String>,
    /// Where in the source.
    pub span: Option<Span>,
    /// The other threads that take part, and where they are: the other access of a race, the others in a deadlock.
    pub also: Vec<Involved>,
    /// The steps that lead there, from the start.
    pub schedule: Schedule,
    /// Under a memory model of the language: the machines on which it shows, and those on which it does not, as far as
    /// that was looked at.
    pub machines: Vec<(MemoryModel, bool)>,
}

/// A thread that takes part in a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Involved {
    /// Its name.
    pub thread: String,
    /// Where its operation stands.
    pub span: Span,
}

/// Kinds of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViolationKind {
    /// One thread failed.
    Failure(FailureKind),
    /// Threads wait for one another.
    Deadlock,
    /// Threads spin, and no thread can end it.
    Livelock,
    /// Unsynchronised accesses to a plain cell.
    DataRace,
    /// A final state that a condition forbids.
    Condition,
    /// An execution that SC does not have: what the monitor of that name looks for.
    StoreBuffers,
    /// All threads with goal states are in them at the same time.
    Goal,
}

/// The answer to a condition that is a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Where the condition stands.
    pub span: Span,
    /// What it asks.
    pub quantifier: Quantifier,
    /// Steps to a final state that satisfies it, if there is one.
    pub witness: Option<Schedule>,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Executions run to their end; for a search of states, the states where nothing can happen any more.
    pub executions: u64,
    /// Distinct states.
    pub states: u64,
    /// Executions that were begun and given up, because others cover them.
    pub redundant: u64,
    /// Steps taken.
    pub steps: u64,
    /// Executions after a part of which a machine with store buffers could do something else; for monitor `store-buffers`.
    pub borderline: Option<u64>,
    /// Distinct combinations of complete thread histories, where they were counted.
    pub histories: Option<u64>,
    /// What a solver was asked, for engines that have one. With several workers it differs from time to time.
    pub solver: Option<SolverStatistics>,
}

/// How much a solver did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SolverStatistics {
    /// Questions.
    pub queries: u64,
    /// Guesses that it took to answer them.
    pub decisions: u64,
    /// Guesses that turned out wrong.
    pub conflicts: u64,
}

impl Report {
    /// The judgement. Only an exhausted search verifies.
    pub fn verdict(&self) -> Verdict {
        match self.stop {
            _ if !self.violations.is_empty() => Verdict::Violation,
            StopReason::Exhausted => Verdict::Verified,
            _ => Verdict::Inconclusive,
        }
    }

    /// Distinct final memories.
    pub fn final_memories(&self) -> usize {
        let memory = |state: &FinalState| (state.cells.clone(), state.heap.clone());
        self.final_states.iter().map(memory).collect::<std::collections::BTreeSet<_>>().len()
    }
}

impl ViolationKind {
    /// The kind as reports and expectations write it.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Failure(FailureKind::Assertion) => "assertion",
            ViolationKind::Failure(FailureKind::Panic) => "panic",
            ViolationKind::Failure(FailureKind::DivisionByZero) => "division-by-zero",
            ViolationKind::Failure(FailureKind::OutOfBounds) => "out-of-bounds",
            ViolationKind::Failure(FailureKind::NullDereference) => "null-dereference",
            ViolationKind::Failure(FailureKind::InvalidPointer) => "invalid-pointer",
            ViolationKind::Failure(FailureKind::UseAfterFree) => "use-after-free",
            ViolationKind::Failure(FailureKind::LockMisuse) => "lock-misuse",
            ViolationKind::Failure(FailureKind::InvalidJoin) => "invalid-join",
            ViolationKind::Failure(FailureKind::OutOfResources) => "out-of-resources",
            ViolationKind::Failure(FailureKind::Leak) => "leak",
            ViolationKind::Failure(FailureKind::Unsupported) => "unsupported",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Livelock => "livelock",
            ViolationKind::DataRace => "data-race",
            ViolationKind::Condition => "condition",
            ViolationKind::StoreBuffers => "store-buffers",
            ViolationKind::Goal => "goal",
        }
    }
}

impl StopReason {
    /// The reason as reports write it.
    pub fn name(&self) -> &'static str {
        match self {
            StopReason::Exhausted => "exhausted",
            StopReason::Violation => "violation",
            StopReason::ExecutionLimit => "execution-limit",
            StopReason::PreemptionLimit => "preemption-limit",
            StopReason::StateLimit => "state-limit",
            StopReason::TimeLimit => "time-limit",
            StopReason::MemoryLimit => "memory-limit",
            StopReason::EventLimit => "event-limit",
            StopReason::BufferLimit { .. } => "buffer-limit",
            StopReason::Interrupted => "interrupted",
            StopReason::Predicted => "predicted",
            StopReason::Unsupported(_) => "unsupported",
            StopReason::Nondeterminism(_) => "nondeterminism",
            StopReason::NoExecution => "no-execution",
            StopReason::Hang(_) => "hang",
            StopReason::Failed(_) => "failed",
        }
    }
}
