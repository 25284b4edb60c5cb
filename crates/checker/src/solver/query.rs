//! A question that was put to the solver, with its answer: for those who look on.

use super::{Answer, Lit, Solver, to_smtlib};

/// What is asked of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goal {
    /// Another result of some operation.
    Deviate,
    /// Nothing can happen any more.
    Stuck,
    /// Two accesses at the same time.
    Race,
    /// A store that reaches its block after the block was freed.
    LateCommit,
    /// Other final values.
    Finish,
    /// A happens-before order that goes round in a circle.
    Cycle,
}

/// A question, and its answer.
pub struct Query<'a> {
    /// What was asked.
    pub goal: Goal,
    script: Box<dyn Fn() -> String + 'a>,
    /// Whether there is a solution; nothing if the solver gave up.
    pub satisfiable: Option<bool>,
}

impl Goal {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Goal::Deviate => "deviate",
            Goal::Stuck => "stuck",
            Goal::Race => "race",
            Goal::LateCommit => "late-commit",
            Goal::Finish => "finish",
            Goal::Cycle => "cycle",
        }
    }
}

impl<'a> Query<'a> {
    /// The question that the solver answered last.
    pub(crate) fn new(goal: Goal, solver: &'a Solver<'a>, assumptions: &'a [Lit], answer: &Answer) -> Query<'a> {
        let satisfiable = match answer {
            Answer::Yes(_) => Some(true),
            Answer::No => Some(false),
            Answer::Unknown | Answer::Wrong(_) => None,
        };
        let script = || to_smtlib(solver.problem, solver.n_vars(), &solver.added, assumptions);
        Query { goal, script: Box::new(script), satisfiable }
    }

    /// A question that was put to another solver, which can write it down.
    pub(crate) fn put(goal: Goal, satisfiable: Option<bool>, script: impl Fn() -> String + 'a) -> Query<'a> {
        Query { goal, script: Box::new(script), satisfiable }
    }

    /// The question as an SMT-LIB script that says what the answer should be.
    pub fn smtlib(&self) -> String {
        let status = match self.satisfiable {
            Some(true) => "sat",
            Some(false) => "unsat",
            None => "unknown",
        };
        format!("; {}\n(set-info :status {status})\n{}", self.goal.name(), (self.script)())
    }
}
