//! Programs that were written as automata: their control states by name, and which of them are the goal.

use super::Pc;

/// What is known of a program whose threads are automata.
///
/// Such a thread that cannot go on is no mistake, and neither is one that goes on for ever: the one question is whether all
/// threads with goal states can be in one of them at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Automata {
    /// For each routine, its control states in the order of their code.
    pub states: Vec<Vec<ControlState>>,
}

/// A control state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlState {
    /// Its name.
    pub name: String,
    /// Where its code begins.
    pub start: Pc,
    /// Whether it belongs to the goal. The code of such a state begins with a visible instruction.
    pub goal: bool,
}

impl Automata {
    /// Whether any thread has a goal.
    pub fn has_goal(&self) -> bool {
        self.states.iter().flatten().any(|state| state.goal)
    }

    /// Whether a thread that runs the routine and is at `pc` has what it wants: it is in a goal state, or has none.
    pub fn is_content(&self, routine: usize, pc: Pc) -> bool {
        let mut goals = self.states[routine].iter().filter(|state| state.goal).peekable();
        goals.peek().is_none() || goals.any(|state| state.start == pc)
    }

    /// The control state whose code begins at `pc`.
    pub fn state_at(&self, routine: usize, pc: Pc) -> Option<&ControlState> {
        self.states[routine].iter().find(|state| state.start == pc)
    }
}
