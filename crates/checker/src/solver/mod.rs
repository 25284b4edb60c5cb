//! The solver: a CDCL core with a theory of ordering.
//!
//! [`Problem`] says what is asked; [`Solver`] answers, again and again as clauses are added. The core is batsat; the ordering is
//! ours (`order.rs`). A "yes" comes with an assignment and a total order, which an independent checker (`verify.rs`) has seen.

mod order;
mod problem;
mod query;
mod smtlib;
mod verify;

pub use problem::{Lit, Node, NodeInfo, Problem, Read, ReadId, Source, Write, WriteId};
pub use query::{Goal, Query};
pub use smtlib::to_smtlib;
pub use verify::verify;

use batsat::{BasicSolver, SolverInterface, Theory, TheoryArg, lbool};
use order::{Explanation, Order};

/// Answers questions about one problem.
pub struct Solver<'p> {
    problem: &'p Problem,
    core: BasicSolver,
    theory: Ordering<'p>,
    n_vars: u32,
    /// Clauses added after the problem was made.
    added: Vec<Vec<Lit>>,
}

/// An answer.
pub enum Answer {
    /// Like this.
    Yes(Solution),
    /// Not at all.
    No,
    /// The solver gave up.
    Unknown,
}

/// How hard the questions were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Guesses.
    pub decisions: u64,
    /// Guesses that turned out wrong.
    pub conflicts: u64,
}

/// A solution of a problem.
pub struct Solution {
    assignment: Vec<bool>,
    /// The active nodes in order.
    pub order: Vec<Node>,
}

impl<'p> Solver<'p> {
    /// A solver for the problem.
    pub fn new(problem: &'p Problem) -> Solver<'p> {
        let mut core = BasicSolver::default();
        // Everything is false unless something is gained by its being true: short prefixes, few orders.
        for _ in 0..problem.n_vars {
            core.new_var(lbool::FALSE, true);
        }
        let truth = core.new_var(lbool::TRUE, true);
        let truth = batsat::Lit::new(truth, true);
        core.add_clause_reuse(&mut vec![truth]);
        let theory = Ordering { order: Order::new(problem), n_levels: 0, checked: 0, truth };
        let n_vars = problem.n_vars + 1;
        let mut solver = Solver { problem, core, theory, n_vars, added: Vec::new() };
        for clause in &problem.clauses {
            solver.add(clause);
        }
        solver
    }

    /// A new variable that has nothing to do with order.
    pub fn var(&mut self) -> Lit {
        self.core.new_var(lbool::FALSE, true);
        self.n_vars += 1;
        Lit((self.n_vars - 1) << 1)
    }

    /// Adds a clause.
    pub fn clause(&mut self, literals: Vec<Lit>) {
        self.add(&literals);
        self.added.push(literals);
    }

    /// How often the core guessed, and how often it guessed wrong.
    pub fn effort(&self) -> Effort {
        Effort { decisions: self.core.num_decisions(), conflicts: self.core.num_conflicts() }
    }

    fn add(&mut self, literals: &[Lit]) {
        let mut clause = literals.iter().map(|&lit| self.core_literal(lit)).collect();
        self.core.add_clause_reuse(&mut clause);
    }

    /// Looks for a solution in which the assumptions hold.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        let assumptions: Vec<_> = assumptions.iter().map(|&lit| self.core_literal(lit)).collect();
        let answer = self.core.solve_limited_th(&mut self.theory, &assumptions);
        if answer == lbool::FALSE {
            return Answer::No;
        }
        if answer != lbool::TRUE {
            return Answer::Unknown;
        }
        let model = self.core.get_model();
        let assignment = (0..self.n_vars).map(|var| model[var as usize] == lbool::TRUE).collect();
        let solution = Solution { assignment, order: self.theory.order.found.clone() };
        if cfg!(debug_assertions)
            && let Err(why) = verify(self.problem, &self.added, &solution)
        {
            panic!("the solver's answer does not solve the problem: {why}");
        }
        Answer::Yes(solution)
    }

    fn core_literal(&mut self, lit: Lit) -> batsat::Lit {
        batsat::Lit::new(self.core.var_of_int(lit.var()), lit.is_positive())
    }
}

impl Solution {
    /// Whether a literal is true.
    pub fn holds(&self, lit: Lit) -> bool {
        self.assignment[lit.var() as usize] == lit.is_positive()
    }
}

/// The ordering as batsat wants it.
struct Ordering<'p> {
    order: Order<'p>,
    n_levels: usize,
    /// How much of the trail the last check saw.
    checked: usize,
    /// A literal that is true, for explanations that need none.
    truth: batsat::Lit,
}

impl Ordering<'_> {
    fn check(&mut self, arguments: &mut TheoryArg<'_>, complete: bool) {
        let true_literals: Vec<Lit> = arguments.model().iter().map(|lit| Lit(lit.idx())).collect();
        if let Err(explanation) = self.order.check(&true_literals, complete) {
            arguments.raise_conflict(&self.conflict(&explanation), false);
        }
    }

    fn conflict(&self, explanation: &Explanation) -> Vec<batsat::Lit> {
        if explanation.is_empty() {
            return vec![!self.truth];
        }
        // `Lit` is numbered as batsat numbers literals.
        let variable = |lit: &Lit| batsat::Lit::new(batsat::Var::unsafe_from_idx(lit.var()), !lit.is_positive());
        explanation.iter().map(variable).collect()
    }
}

impl Theory for Ordering<'_> {
    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.check(arguments, true);
    }

    fn create_level(&mut self) {
        self.n_levels += 1;
    }

    fn pop_levels(&mut self, n: usize) {
        self.n_levels -= n;
        self.checked = 0;
    }

    fn n_levels(&self) -> usize {
        self.n_levels
    }

    fn explain_propagation(&mut self, _: batsat::Lit) -> &[batsat::Lit] {
        unreachable!("this theory does not propagate")
    }
}
