//! The core: clauses and the ordering, for as long as a search lasts.

use super::book::{Book, EdgeId, Meaning, WriteId};
use super::ordering::{Happening, Ordered, Orders};
use crate::search::StopReason;
use batsat::{BasicSolver, Lit, SolverInterface, lbool};
use std::cell::Cell;
use std::rc::Rc;

/// A solver that learns what the book learns, and forgets nothing.
pub(super) struct Core {
    solver: BasicSolver,
    /// Set while solving, to make it give up.
    stopped: Rc<Cell<bool>>,
    n_vars: usize,
    orders: Orders,
}

/// A solution.
pub(super) struct Solution {
    is_true: Vec<bool>,
    /// What happens, in order.
    pub(super) order: Vec<Happening>,
}

impl Solution {
    pub(super) fn holds(&self, lit: Lit) -> bool {
        self.is_true[lit.var().idx() as usize] == lit.sign()
    }
}

impl Core {
    pub(super) fn new() -> Core {
        let (mut solver, stopped) = (BasicSolver::default(), Rc::new(Cell::new(false)));
        let flag = stopped.clone();
        solver.cb_mut().set_stop(move || flag.get());
        Core { solver, stopped, n_vars: 0, orders: Orders::default() }
    }

    /// How often it guessed, and how often it guessed wrong.
    pub(super) fn effort(&self) -> (u64, u64) {
        (self.solver.num_decisions(), self.solver.num_conflicts())
    }

    /// Looks for a solution in which the assumptions hold. Nothing, if there is none among all executions inside of the book.
    pub(super) fn solve(
        &mut self,
        book: &mut Book<'_>,
        assumptions: &[Lit],
        stop: &dyn Fn() -> Option<StopReason>,
    ) -> Result<Option<Solution>, StopReason> {
        let truth = book.formula.var(Meaning::Other);
        book.formula.clause([truth]);
        book.find_sections();
        loop {
            // The ordering draws the conclusions from it, so that there is one assumption instead of one for each list.
            let closed = book.formula.var(Meaning::Closed);
            self.tell(book);
            let locks = book.sections.locks.values().map(|lock| lock.lit);
            let all: Vec<Lit> = locks.chain([closed]).chain(assumptions.iter().copied()).collect();
            let stopped = &self.stopped;
            let look = || stopped.set(stopped.get() || stop().is_some());
            let mut ordered = Ordered::new(book, &mut self.orders, truth, &look);
            let answer = self.solver.solve_limited_th(&mut ordered, &all);
            let is_whole = ordered.is_whole();
            let (named, order, asked) = (ordered.named, ordered.found, ordered.asked);
            for (first, second) in named {
                book.formula.var(Meaning::Order(first, second));
                self.n_vars += 1;
            }
            if answer == lbool::TRUE && !is_whole {
                return Err(StopReason::Failed("an answer of the solver cannot be put in order".to_string()));
            }
            if answer == lbool::TRUE {
                book.formula.clause([!closed]);
                let is_true = self.solver.get_model().iter().map(|&value| value == lbool::TRUE).collect();
                return Ok(Some(Solution { is_true, order }));
            }
            if let Some(stop) = stop() {
                return Err(stop);
            }
            if answer != lbool::FALSE {
                return Err(StopReason::Failed("the solver gave up".to_string()));
            }
            let mut widened = false;
            for lit in asked {
                if let Meaning::More(list) = book.formula.meanings[lit.var().idx() as usize]
                    && list != u32::MAX
                {
                    widened |= book.widen(list);
                }
            }
            book.formula.clause([!closed]);
            if !widened {
                return Ok(None);
            }
        }
    }

    /// The literal that says that a write is before another to the same cell, if both happen.
    pub(super) fn order(&mut self, book: &mut Book<'_>, first: WriteId, second: WriteId) -> Lit {
        self.orders.make_room(book.writes.len());
        self.orders.literal(first, second).unwrap_or_else(|| {
            let lit = book.formula.var(Meaning::Order(first, second));
            self.orders.insert(first, second, lit);
            lit
        })
    }

    /// Tells the solver what has been added to the book.
    fn tell(&mut self, book: &mut Book<'_>) {
        for var in self.n_vars..book.formula.meanings.len() {
            // What is new is tried first, and otherwise nothing happens that need not.
            let preferred = match book.formula.meanings[var] {
                Meaning::Edge(edge) => !book.edges[edge as usize].known,
                Meaning::Goal => true,
                _ => false,
            };
            let polarity = if preferred { lbool::TRUE } else { lbool::FALSE };
            // What follows from the rest is never guessed: whatever is left open at the end can be false.
            let follows = matches!(book.formula.meanings[var], Meaning::Follows | Meaning::More(_) | Meaning::Closed);
            let told = self.solver.new_var(polarity, !follows);
            debug_assert_eq!(told.idx() as usize, var);
        }
        self.n_vars = book.formula.meanings.len();
        for mut clause in book.formula.clauses.drain(..) {
            if book.formula.keeps_told {
                book.formula.told.push(clause.clone());
            }
            self.solver.add_clause_reuse(&mut clause);
        }
    }
}

/// The edges that a solution takes.
pub(super) fn taken(solution: &Solution) -> impl Iterator<Item = EdgeId> {
    solution.order.iter().filter_map(|happening| match happening {
        Happening::Issue(edge) => Some(*edge),
        Happening::Commit(_) => None,
    })
}
