//! Questions to the book, put to a core that is told what the book learns, and forgets nothing.

use super::ordering::{Happening, Ordered, Orders};
use super::{Book, EdgeId, Meaning, WriteId};
use crate::solver::{Core, Lit, is_checked, verify};

/// An execution inside of the book: what happens, in order.
pub(crate) type Solution = crate::solver::Solution<Happening>;

/// Asks questions of one book.
pub(crate) struct Asker {
    core: Core,
    n_vars: usize,
    orders: Orders,
    n_solutions: u64,
}

/// Why there is no answer.
pub(crate) enum NoAnswer<R> {
    /// The question was interrupted for this reason.
    Stopped(R),
    /// The solver contradicted itself.
    Failed(String),
}

impl Asker {
    pub(crate) fn new() -> Asker {
        Asker { core: Core::new(), n_vars: 0, orders: Orders::default(), n_solutions: 0 }
    }

    /// How often the core guessed, and how often it guessed wrong.
    pub(crate) fn effort(&self) -> (u64, u64) {
        self.core.effort()
    }

    /// Looks for a solution in which the assumptions hold. Nothing, if there is none among all executions inside of the book.
    pub(crate) fn solve<R>(
        &mut self,
        book: &mut Book<'_>,
        assumptions: &[Lit],
        stop: &dyn Fn() -> Option<R>,
    ) -> Result<Option<Solution>, NoAnswer<R>> {
        let truth = book.formula.var(Meaning::Other);
        book.formula.clause([truth]);
        book.find_sections();
        loop {
            // The ordering draws the conclusions from it, so that there is one assumption instead of one for each list.
            let closed = book.formula.var(Meaning::Closed);
            self.tell(book);
            let locks = book.sections.locks.values().map(|lock| lock.lit);
            let all: Vec<Lit> = locks.chain([closed]).chain(assumptions.iter().copied()).collect();
            let stopped = self.core.stopped();
            let look = || stopped.set(stopped.get() || stop().is_some());
            let mut ordered = Ordered::new(book, &mut self.orders, truth, &look);
            let answer = self.core.solve(&mut ordered, &all);
            let is_whole = ordered.is_whole();
            let (named, order, asked) = (ordered.named, ordered.found, ordered.asked);
            for (first, second) in named {
                book.formula.var(Meaning::Order(first, second));
                self.n_vars += 1;
            }
            if answer == Some(true) && !is_whole {
                return Err(NoAnswer::Failed("an answer of the solver cannot be put in order".to_string()));
            }
            if answer == Some(true) {
                let solution = self.verified(book, Solution::new(self.core.model(), order))?;
                book.formula.clause([!closed]);
                return Ok(Some(solution));
            }
            if let Some(stop) = stop() {
                return Err(NoAnswer::Stopped(stop));
            }
            if answer.is_none() {
                return Err(NoAnswer::Failed("the solver gave up".to_string()));
            }
            let mut widened = false;
            for lit in asked {
                if let Meaning::More(list) = book.formula.meanings[lit.var() as usize]
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

    /// The solution, if it is one: all of them are checked with debug assertions, else a sample.
    fn verified<R>(&mut self, book: &Book<'_>, solution: Solution) -> Result<Solution, NoAnswer<R>> {
        self.n_solutions += 1;
        if !is_checked(self.n_solutions) {
            return Ok(solution);
        }
        let (problem, nodes) = book.problem_of(&solution);
        match verify(&problem, &book.formula.told, &nodes) {
            Ok(()) => Ok(solution),
            Err(why) if cfg!(debug_assertions) => panic!("an answer of the solver is not in the book: {why}"),
            Err(why) => Err(NoAnswer::Failed(format!("an answer of the solver is wrong: {why}"))),
        }
    }

    /// The literal that says that a write is before another to the same cell, if both happen.
    pub(crate) fn order(&mut self, book: &mut Book<'_>, first: WriteId, second: WriteId) -> Lit {
        self.orders.make_room(book.writes.len());
        self.orders.literal(first, second).unwrap_or_else(|| {
            let lit = book.formula.var(Meaning::Order(first, second));
            self.orders.insert(first, second, lit);
            lit
        })
    }

    /// Tells the core what has been added to the book.
    fn tell(&mut self, book: &mut Book<'_>) {
        for var in self.n_vars..book.formula.meanings.len() {
            // What is new is tried first, and otherwise nothing happens that need not.
            let preferred = match book.formula.meanings[var] {
                Meaning::Edge(edge) => !book.edges[edge as usize].known,
                Meaning::Goal => true,
                _ => false,
            };
            // What follows from the rest is never guessed: whatever is left open at the end can be false.
            let follows = matches!(book.formula.meanings[var], Meaning::Follows | Meaning::More(_) | Meaning::Closed);
            let told = self.core.var(preferred, !follows);
            debug_assert_eq!(told as usize, var);
        }
        self.n_vars = book.formula.meanings.len();
        for clause in book.formula.clauses.drain(..) {
            self.core.clause(&clause);
            if book.formula.keeps_told {
                book.formula.told.push(clause);
            }
        }
    }
}

/// The edges that a solution takes.
pub(crate) fn taken(solution: &Solution) -> impl Iterator<Item = EdgeId> {
    solution.order.iter().filter_map(|happening| match happening {
        Happening::Issue(edge) => Some(*edge),
        Happening::Commit(_) => None,
    })
}
