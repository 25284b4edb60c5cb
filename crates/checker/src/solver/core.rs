//! The CDCL core, batsat, behind a facade: what theories outside of this module see of it.
//!
//! A [`CoreTheory`] follows the core's trail, and says what follows from it and what contradicts itself. Variables are numbered in the order in
//! which the core is told of them.

use super::{Lit, Reasons};
use batsat::{BasicSolver, SolverInterface, TheoryArg, lbool};
use std::cell::Cell;
use std::rc::Rc;

/// A solver that is told of variables and clauses as they come, and keeps what it has learnt.
pub(crate) struct Core {
    solver: BasicSolver,
    /// Set while solving, to make it give up.
    stopped: Rc<Cell<bool>>,
    clause: Vec<batsat::Lit>,
}

/// What a theory sees of the core while it searches.
pub(crate) struct Trail<'x, 'c>(&'x mut TheoryArg<'c>);

/// A theory. It takes back what it has noted when levels end.
pub(crate) trait CoreTheory {
    /// The trail has grown. An error gives literals of the trail that cannot all be true.
    fn partial_check(&mut self, trail: &mut Trail<'_, '_>) -> Result<(), Reasons>;

    /// Every variable has a value.
    fn final_check(&mut self, trail: &mut Trail<'_, '_>);

    /// A level begins.
    fn create_level(&mut self);

    /// Levels end.
    fn pop_levels(&mut self, n: usize);

    /// How many levels there are.
    fn n_levels(&self) -> usize;

    /// A clause from which a literal follows that the theory has propagated.
    fn explain(&mut self, lit: Lit) -> &[Lit];
}

impl Core {
    pub(crate) fn new() -> Core {
        let (mut solver, stopped) = (BasicSolver::default(), Rc::new(Cell::new(false)));
        let flag = stopped.clone();
        solver.cb_mut().set_stop(move || flag.get());
        Core { solver, stopped, clause: vec![] }
    }

    /// A flag that makes the core give up.
    pub(crate) fn stopped(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.stopped)
    }

    /// How often it guessed, and how often it guessed wrong.
    pub(crate) fn effort(&self) -> (u64, u64) {
        (self.solver.num_decisions(), self.solver.num_conflicts())
    }

    /// A new variable: the value that is tried first, and whether a value is ever guessed.
    pub(crate) fn var(&mut self, first: bool, is_guessed: bool) -> u32 {
        let polarity = if first { lbool::TRUE } else { lbool::FALSE };
        self.solver.new_var(polarity, is_guessed).idx()
    }

    /// Adds a clause.
    pub(crate) fn clause(&mut self, literals: &[Lit]) {
        self.clause.clear();
        self.clause.extend(literals.iter().map(|&lit| to_core(lit)));
        self.solver.add_clause_reuse(&mut self.clause);
    }

    /// Whether the clauses and the theory can hold together with the assumptions. Nothing if it gave up.
    pub(crate) fn solve(&mut self, theory: &mut impl CoreTheory, assumptions: &[Lit]) -> Option<bool> {
        let assumptions: Vec<batsat::Lit> = assumptions.iter().map(|&lit| to_core(lit)).collect();
        let answer = self.solver.solve_limited_th(&mut Adapter { theory, explanation: vec![] }, &assumptions);
        value(answer)
    }

    /// The values of the variables in the last solution.
    pub(crate) fn model(&self) -> Vec<bool> {
        self.solver.get_model().iter().map(|&value| value == lbool::TRUE).collect()
    }
}

impl Trail<'_, '_> {
    /// How many literals are true.
    pub(crate) fn len(&self) -> usize {
        self.0.model().len()
    }

    /// The literal that became true at this place.
    pub(crate) fn get(&self, at: usize) -> Option<Lit> {
        self.0.model().get(at).map(|&lit| of_core(lit))
    }

    /// The value of a variable, if it has one.
    pub(crate) fn value(&self, var: u32) -> Option<bool> {
        value(self.0.value(batsat::Var::unsafe_from_idx(var)))
    }

    /// Makes a literal true. The theory can explain it.
    pub(crate) fn propagate(&mut self, lit: Lit) {
        self.0.propagate(to_core(lit));
    }

    /// A new variable, as a literal.
    pub(crate) fn new_lit(&mut self) -> Lit {
        of_core(self.0.mk_new_lit())
    }

    /// Tells the core a clause.
    pub(crate) fn lemma(&mut self, literals: &[Lit]) {
        let literals: Vec<batsat::Lit> = literals.iter().map(|&lit| to_core(lit)).collect();
        self.0.add_theory_lemma(&literals);
    }
}

/// A theory as batsat wants it.
struct Adapter<'t, T> {
    theory: &'t mut T,
    explanation: Vec<batsat::Lit>,
}

impl<T: CoreTheory> batsat::Theory for Adapter<'_, T> {
    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        if let Err(mut reasons) = self.theory.partial_check(&mut Trail(arguments)) {
            reasons.sort_unstable();
            reasons.dedup();
            self.explanation.clear();
            self.explanation.extend(reasons.iter().map(|&lit| to_core(!lit)));
            arguments.raise_conflict(&self.explanation, false);
        }
    }

    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        self.theory.final_check(&mut Trail(arguments));
    }

    fn create_level(&mut self) {
        self.theory.create_level();
    }

    fn pop_levels(&mut self, n: usize) {
        self.theory.pop_levels(n);
    }

    fn n_levels(&self) -> usize {
        self.theory.n_levels()
    }

    fn explain_propagation(&mut self, lit: batsat::Lit) -> &[batsat::Lit] {
        self.explanation.clear();
        self.explanation.extend(self.theory.explain(of_core(lit)).iter().map(|&lit| to_core(lit)));
        &self.explanation
    }
}

fn value(value: lbool) -> Option<bool> {
    (value != lbool::UNDEF).then_some(value == lbool::TRUE)
}

fn to_core(lit: Lit) -> batsat::Lit {
    batsat::Lit::new(batsat::Var::unsafe_from_idx(lit.var()), lit.is_positive())
}

fn of_core(lit: batsat::Lit) -> Lit {
    Lit::new(lit.var().idx(), lit.sign())
}
