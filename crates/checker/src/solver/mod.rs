//! The solver: a CDCL core with a theory of ordering.
//!
//! [`Problem`] says what is asked; [`Solver`] answers, again and again as clauses are added. The core is batsat; the
//! theory of ordering is `order/`. The sources of every read and the pairs of critical sections grow with the square of
//! an execution's length; the core gets them on demand (`demand.rs`). A "yes" is an assignment and a total order, which
//! an independent checker (`verify.rs`) has seen.
//!
//! Why batsat: it is pure Rust, and it has hooks for a theory, so that the ordering raises a conflict inside the search
//! instead of after it. Queries are small and many; start-up and the number of rounds count, not strength on hard
//! formulas. `docs/theory.md` has the measurement.

mod core;
mod demand;
mod levels;
mod order;
mod precedence;
mod problem;
mod query;
mod smtlib;
mod verify;

pub use problem::{Choice, Lit, Node, NodeInfo, Problem, Read, ReadId, Section, Source, Write, WriteId};
pub use query::{Goal, Query};
pub use smtlib::to_smtlib;
pub(crate) use verify::is_checked;
pub use verify::verify;

pub(crate) use core::{Core, CoreTheory, Trail};

use batsat::{BasicSolver, SolverInterface, Theory, TheoryArg, lbool};
use demand::{OpenChoice, Overlaps};
pub(crate) use levels::Levels;
use order::Order;
pub(crate) use precedence::{Consistency, Point, Precedence, Reasons};
use std::cell::Cell;
use std::rc::Rc;

/// Answers questions about one problem.
pub struct Solver<'p> {
    problem: &'p Problem,
    core: BasicSolver,
    theory: Ordering<'p>,
    /// Clauses added after the problem was made.
    added: Vec<Vec<Lit>>,
    /// Choices of which the core does not know all sources.
    open: Vec<OpenChoice>,
    /// Pairs of sections that the core knows to exclude one another.
    overlaps: Overlaps,
    /// How many more rounds of guessing it may take to answer.
    left: Rc<Cell<u64>>,
    n_solutions: u64,
}

/// An answer.
pub enum Answer {
    /// Like this.
    Yes(Solution),
    /// Not at all.
    No,
    /// The solver gave up.
    Unknown,
    /// An answer was found that does not solve the problem, for this reason: a mistake of the solver.
    Wrong(String),
}

/// How hard the questions were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Guesses.
    pub decisions: u64,
    /// Guesses that turned out wrong.
    pub conflicts: u64,
}

/// A solution of a problem, whose nodes are `N`.
pub struct Solution<N = Node> {
    assignment: Vec<bool>,
    /// The active nodes in order.
    pub order: Vec<N>,
}

impl<'p> Solver<'p> {
    /// A solver for the problem.
    pub fn new(problem: &'p Problem, first_sources: usize) -> Solver<'p> {
        Solver::until(problem, first_sources, || false)
    }

    /// A solver for the problem that gives up as soon as this says so, and ever after.
    pub fn until(problem: &'p Problem, first_sources: usize, is_over: impl Fn() -> bool + 'p) -> Solver<'p> {
        let (mut core, left) = (BasicSolver::default(), Rc::new(Cell::new(u64::MAX)));
        let counter = left.clone();
        core.cb_mut().set_stop(move || {
            counter.set(counter.get().saturating_sub(1));
            counter.get() == 0
        });
        let truth = batsat::Lit::new(core.new_var(lbool::TRUE, true), true);
        core.add_clause_reuse(&mut vec![truth]);
        // The first variable is always true, and none of ours.
        let names = Names { ours: vec![u32::MAX], cores: vec![u32::MAX; problem.n_vars as usize] };
        let order = Order::new(problem);
        let theory = Ordering {
            order,
            names,
            levels: Levels::default(),
            n_seen: 0,
            hopeless: false,
            truth,
            is_over: Box::new(is_over),
            left: Rc::clone(&left),
        };
        let overlaps = Overlaps::default();
        let mut solver =
            Solver { problem, core, theory, added: Vec::new(), open: Vec::new(), overlaps, left, n_solutions: 0 };
        for clause in &problem.clauses {
            if solver.is_over() {
                return solver;
            }
            solver.add(clause);
        }
        solver.open_choices(first_sources);
        solver
    }

    /// Whether it has given up: it may not know all of the problem.
    fn is_over(&self) -> bool {
        (self.theory.is_over)()
    }

    /// A new variable that has nothing to do with order.
    pub fn var(&mut self) -> Lit {
        self.theory.names.cores.push(u32::MAX);
        Lit((self.n_vars() - 1) << 1)
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

    fn n_vars(&self) -> u32 {
        self.theory.names.cores.len() as u32
    }

    fn add(&mut self, literals: &[Lit]) {
        let mut clause = literals.iter().map(|&lit| self.core_literal(lit)).collect();
        self.core.add_clause_reuse(&mut clause);
    }

    /// Looks for a solution in which the assumptions hold.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Answer {
        self.solve_within(u64::MAX, assumptions)
    }

    /// As [`Solver::solve`], but it may give up after so many rounds of guessing. What it has learnt it keeps.
    pub fn solve_within(&mut self, rounds: u64, assumptions: &[Lit]) -> Answer {
        self.left.set(rounds);
        let assumptions: Vec<_> = assumptions.iter().map(|&lit| self.core_literal(lit)).collect();
        loop {
            let narrow = self.open.iter().map(|open| !open.more);
            let all: Vec<_> = assumptions.iter().copied().chain(narrow).collect();
            let answer = self.core.solve_limited_th(&mut self.theory, &all);
            if self.is_over() {
                return Answer::Unknown;
            }
            if answer == lbool::FALSE {
                if !self.widen() {
                    return Answer::No;
                }
            } else if answer != lbool::TRUE {
                return Answer::Unknown;
            } else {
                let solution = self.solution();
                if !self.exclude_overlaps(&solution) {
                    return self.verified(solution);
                }
            }
        }
    }

    fn solution(&self) -> Solution {
        let mut assignment = vec![false; self.n_vars() as usize];
        for (value, &name) in self.core.get_model().iter().zip(&self.theory.names.ours) {
            if name != u32::MAX && *value == lbool::TRUE {
                assignment[name as usize] = true;
            }
        }
        Solution { assignment, order: self.theory.order.found.clone() }
    }

    fn verified(&mut self, solution: Solution) -> Answer {
        self.n_solutions += 1;
        let checked = || verify(self.problem, &self.added, &solution);
        match if is_checked(self.n_solutions) { checked() } else { Ok(()) } {
            Ok(()) => Answer::Yes(solution),
            Err(why) if cfg!(debug_assertions) => panic!("the solver's answer does not solve the problem: {why}"),
            Err(why) => Answer::Wrong(why),
        }
    }

    /// The core's literal for one of ours, which it learns of if it must.
    fn core_literal(&mut self, lit: Lit) -> batsat::Lit {
        let known = self.theory.names.cores[lit.var() as usize];
        let var = if known == u32::MAX { self.introduce(lit.var()) } else { batsat::Var::unsafe_from_idx(known) };
        batsat::Lit::new(var, lit.is_positive())
    }

    fn introduce(&mut self, name: u32) -> batsat::Var {
        // Everything is false unless something is gained by its being true: short prefixes, few orders.
        let var = self.core.new_var(lbool::FALSE, true);
        self.theory.names.ours.push(name);
        self.theory.names.cores[name as usize] = var.idx();
        var
    }
}

impl<N> Solution<N> {
    /// The values of all variables, and what happens in order.
    pub(crate) fn new(assignment: Vec<bool>, order: Vec<N>) -> Solution<N> {
        Solution { assignment, order }
    }

    /// The same with other nodes in order.
    pub(crate) fn in_order<M>(&self, order: Vec<M>) -> Solution<M> {
        Solution { assignment: self.assignment.clone(), order }
    }

    /// Whether a literal is true.
    pub fn holds(&self, lit: Lit) -> bool {
        self.assignment[lit.var() as usize] == lit.is_positive()
    }
}

/// Which of our variables is which of the core's: it knows only those that it has met.
struct Names {
    /// Our number of each of the core's variables, or `u32::MAX` if it is none of ours.
    ours: Vec<u32>,
    /// The core's number of each of our variables, or `u32::MAX` while it does not know it.
    cores: Vec<u32>,
}

/// The ordering as batsat wants it.
struct Ordering<'p> {
    order: Order<'p>,
    names: Names,
    /// For each level, how much of the trail had been seen, and what was known then.
    levels: Levels<(usize, (usize, usize))>,
    n_seen: usize,
    /// It is known for good that there is no solution.
    hopeless: bool,
    /// A literal that is true, for explanations that need none.
    truth: batsat::Lit,
    /// Whether to give up.
    is_over: Box<dyn Fn() -> bool + 'p>,
    /// How many more rounds of guessing there are.
    left: Rc<Cell<u64>>,
}

impl Ordering<'_> {
    fn note(&mut self, trail: &[batsat::Lit]) -> Consistency {
        let names = &self.names;
        let new = trail[self.n_seen..].iter().filter_map(|lit| {
            let name = names.ours[lit.var().idx() as usize];
            (name != u32::MAX).then_some(Lit((name << 1) | u32::from(!lit.sign())))
        });
        self.n_seen = trail.len();
        self.order.note(new, &self.is_over)
    }

    fn raise(&mut self, reasons: Reasons, arguments: &mut TheoryArg<'_>) {
        self.hopeless |= self.levels.len() == 0;
        let negated = reasons.iter().map(|&lit| {
            let var = batsat::Var::unsafe_from_idx(self.names.cores[lit.var() as usize]);
            batsat::Lit::new(var, !lit.is_positive())
        });
        let mut clause: Vec<batsat::Lit> = negated.collect();
        clause.sort_unstable();
        clause.dedup();
        if clause.is_empty() {
            clause.push(!self.truth);
        }
        arguments.raise_conflict(&clause, false);
    }
}

impl Theory for Ordering<'_> {
    fn partial_check(&mut self, arguments: &mut TheoryArg<'_>) {
        if (self.is_over)() {
            self.left.set(0);
        }
        if self.hopeless {
            arguments.raise_conflict(&[!self.truth], false);
        } else if self.n_seen < arguments.model().len()
            && let Err(reasons) = self.note(arguments.model())
        {
            self.raise(reasons, arguments);
        }
    }

    fn final_check(&mut self, arguments: &mut TheoryArg<'_>) {
        // Something may have been left open then, and nobody believes the answer.
        if (self.is_over)() {
            return;
        }
        if let Err(reasons) = self.order.settle() {
            self.raise(reasons, arguments);
        }
    }

    fn create_level(&mut self) {
        self.levels.create((self.n_seen, self.order.here()));
    }

    fn pop_levels(&mut self, n: usize) {
        if let Some((n_seen, known)) = self.levels.pop(n) {
            self.n_seen = n_seen;
            self.order.forget(known);
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn explain_propagation(&mut self, _: batsat::Lit) -> &[batsat::Lit] {
        unreachable!("this theory does not propagate")
    }
}
