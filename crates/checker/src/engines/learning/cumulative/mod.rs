//! Engine `cumulative`: maximal causality over everything seen so far.
//!
//! One book (`knowledge/book`) holds what all runs have shown: per thread a graph of local states, and a formula whose solutions are the executions inside of that graph. The
//! engine asks for one that leaves the graph, runs it to its end, and enters what it saw. When there is none left, everything that any thread can do is in the book.
//!
//! *Completeness.* Take any execution, and its first step (in its own order) by an edge that is not known. Everything before it is inside the graph
//! and sees writes that are in the book, so the steps up to it solve the formula and take an unknown edge. If no solution does, there is no such step.
//!
//! *Verdicts.* What a single thread does wrong is seen when its edge is taken. What concerns several (deadlocks, data races, final values) are further
//! questions about the finished book (`over.rs`, `races.rs`, `leaks.rs`), and so are the enumeration of all combinations of histories (`states.rs`) and robustness (`cycles.rs`).

mod compare;
mod cycles;
mod leaks;
mod over;
mod races;
mod states;
mod together;

use super::runner::Runner;
use crate::execution::{Comparable, Describe, Machine};
use crate::knowledge::book::{
    Asker, Book, ByHistory, ByState, EdgeId, Ends, Locals, Meaning, NoAnswer, OneOf, Solution, taken,
};
use crate::knowledge::causality::Prediction;
use crate::search::findings::Findings;
use crate::search::{Coverage, During, Options, Report, Stage, StopReason, Watch};
use crate::solver::{Goal, Lit, Query, to_smtlib};
use crate::trace::{Combination, Run, unordered_drop};
pub use compare::{Comparison, Difference, compare};
pub(crate) use cycles::cycle;
use std::collections::BTreeSet;
use together::{Found, Share};

/// The outcome of questions: all were answered, or a reason to stop.
type Verdict = Result<(), StopReason>;

/// How long the turns of threads are in the first execution: each goes on for as long as it can.
const FIRST_TURN: u32 = 2_000;

/// How long they are once an execution has shown what it was run for, one number for each execution in turn. Who is about to do something new goes on doing new things in a long
/// turn; in short ones threads meet as they have not met before. (Of the papers' programs, turns of 11 instead of 2,000 take 6 % off the time, in the geometric mean.)
const TURNS: [u32; 6] = [1, 11, 5, 11, 2, 11];

/// Explores and reports.
pub fn check<S: Comparable>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let mut search = Cumulative::new(subject, options, watch);
    let stop = search.everything().err().unwrap_or(StopReason::Exhausted);
    search.report(stop)
}

/// Explores any subject and reports, or says that it cannot: what threads do must depend on nothing but the results of their operations and the contents
/// of opaque objects.
pub fn check_subject<S: Describe>(subject: &S, options: &Options, watch: &dyn Watch) -> Report {
    let locals = Box::new(ByHistory::new(subject.initial().len()));
    let mut search = Cumulative::with(subject, locals, options, watch);
    let stop = search.everything_alone().err().unwrap_or(StopReason::Exhausted);
    search.report(stop)
}

/// Every combination of thread histories, or why not everything could be explored.
pub fn histories<S: Comparable>(subject: &S, options: &Options) -> Result<BTreeSet<Combination>, StopReason> {
    let options = Options { all_violations: true, ..options.clone() };
    let mut search = Cumulative::new(subject, &options, &crate::search::Unwatched);
    let ends = search.finish()?;
    let mut enumeration = search.enumerate(ends);
    let mut found = BTreeSet::new();
    while let Some((combination, _)) = search.next_combination(&mut enumeration)? {
        if !found.insert(combination) {
            return Err(StopReason::Failed("a combination was enumerated twice".to_string()));
        }
    }
    Ok(found)
}

struct Cumulative<'a, S: Describe> {
    subject: &'a S,
    options: &'a Options,
    watch: &'a dyn Watch,
    machine: Machine<'a, S>,
    findings: Findings<'a, S>,
    book: Book<'a>,
    asker: Asker,
    /// "An edge that is not known is taken."
    unknown: OneOf,
    /// How many edges had been met when it was last asked for failures.
    n_met: EdgeId,
}

impl<'a, S: Comparable> Cumulative<'a, S> {
    fn new(subject: &'a S, options: &'a Options, watch: &'a dyn Watch) -> Cumulative<'a, S> {
        Cumulative::with(subject, Box::new(ByState::new(subject)), options, watch)
    }

    fn everything(&mut self) -> Result<(), StopReason> {
        self.execute(&Prediction(vec![]))?;
        self.explore()?;
        self.conclude()
    }

    /// Explores, and says what the ends of executions are.
    fn finish(&mut self) -> Result<Ends, StopReason> {
        self.execute(&Prediction(vec![]))?;
        self.explore()?;
        self.close();
        Ok(self.book.ends())
    }

    /// Runs until everything is known.
    fn explore(&mut self) -> Result<(), StopReason> {
        together::explore(self, self.subject, self.options, self.watch)
    }
}

impl<'a, S: Describe> Cumulative<'a, S> {
    fn with(
        subject: &'a S,
        locals: Box<dyn Locals + 'a>,
        options: &'a Options,
        watch: &'a dyn Watch,
    ) -> Cumulative<'a, S> {
        let (memory, few) = (options.memory, options.first_sources);
        Cumulative {
            subject,
            options,
            watch,
            machine: Machine::new(subject, options.rules),
            findings: Findings::with_solver(subject, options),
            book: Book::new(locals, subject.program(), memory, few, watch.reads_queries()),
            asker: Asker::new(),
            unknown: OneOf::default(),
            n_met: 0,
        }
    }

    fn everything_alone(&mut self) -> Result<(), StopReason> {
        self.execute(&Prediction(vec![]))?;
        self.explore_alone()?;
        self.conclude()
    }

    /// Puts the questions that remain to the finished book.
    fn conclude(&mut self) -> Result<(), StopReason> {
        self.close();
        self.ask_for_races()?;
        self.ask_for_late_commits()?;
        let mut ends = self.book.ends();
        self.ask_for_deadlocks(&ends)?;
        self.ask_for_leaks(&mut ends)?;
        self.ask_for_final_states(&ends, self.options.coverage != Coverage::Behaviours)?;
        if self.options.coverage == Coverage::States {
            let (mut n, mut enumeration) = (0, self.enumerate(ends));
            while self.next_combination(&mut enumeration)?.is_some() {
                n += 1;
            }
            self.findings.statistics.histories = Some(n);
        }
        Ok(())
    }

    /// Everything is known: what is not in the book cannot happen.
    fn close(&mut self) {
        for &edge in &self.book.unknown {
            self.book.formula.clauses.push(vec![!self.book.edges[edge as usize].lit]);
        }
    }

    /// An execution that has not begun.
    fn runner(&mut self) -> Runner<'a, '_, S> {
        let runner = Runner::new(self.subject, &self.machine, &mut self.findings, self.watch);
        match self.book.locals.histories() {
            Some(histories) => runner.with_versions(histories),
            None => runner,
        }
    }

    /// Looks for an execution by edges that are not known, of those that are in a share.
    fn find(&mut self, share: Share) -> Result<Option<Found>, StopReason> {
        let is_in_share = |&edge: &u32| self.book.number_of(edge) % share.n_workers == share.worker;
        let unknown = self.book.unknown.iter().copied().filter(is_in_share);
        let unknown: Vec<_> = unknown.map(|edge| (edge, self.book.edges[edge as usize].lit)).collect();
        let failing = self.failing(&unknown);
        let mut solution = self.ask_for_one_of(&failing)?;
        if solution.is_none() && failing.len() < unknown.len() {
            let goal = self.unknown.one_of(&unknown, &mut self.book.formula);
            solution = goal.map_or(Ok(None), |goal| self.ask(Goal::Deviate, &[goal]))?;
        }
        let found = |solution: Solution| {
            let edges = taken(&solution).filter(|&edge| !self.book.edges[edge as usize].known).collect();
            Found { prediction: self.book.prediction(&solution), edges }
        };
        Ok(solution.map(found))
    }

    /// Where one violation is enough, edges after which a thread fails at once are looked for before all others, whenever new ones have been met: an assertion that depends on one
    /// value is found as soon as somebody writes it.
    fn failing(&mut self, unknown: &[(EdgeId, Lit)]) -> Vec<Lit> {
        let failing = || unknown.iter().filter(|unknown| self.book.fails(unknown.0));
        let has_new = !self.options.all_violations && failing().any(|failing| failing.0 >= self.n_met);
        let failing = if has_new { failing().map(|failing| failing.1).collect() } else { vec![] };
        self.n_met = self.book.edges.len() as EdgeId;
        failing
    }

    fn ask_for_one_of(&mut self, edges: &[Lit]) -> Result<Option<Solution>, StopReason> {
        if edges.is_empty() {
            return Ok(None);
        }
        let goal = self.book.formula.var(Meaning::Goal);
        self.book.formula.clause([&[!goal], edges].concat());
        let solution = self.ask(Goal::Deviate, &[goal])?;
        self.book.formula.clause([!goal]);
        Ok(solution)
    }

    /// Runs a prediction and on to the end, and learns from it. Says whether anything was new.
    fn execute(&mut self, prediction: &Prediction) -> Result<bool, StopReason> {
        let running = During::new(self.watch, Stage::Run);
        let most = self.options.limits.most_events();
        let turn = match self.findings.statistics.executions {
            0 => FIRST_TURN,
            n => TURNS[(n - 1) as usize % TURNS.len()],
        };
        let mut runner = self.runner();
        runner.follow(prediction).map_err(StopReason::Failed)?;
        let end = runner.finish_in_turns(turn, most)?;
        runner.judge_end(&end);
        let unfit = runner.unfit.map(str::to_string);
        let run = runner.into_run(Some(end));
        drop(running);
        if let Some(why) = unfit.or_else(|| self.unfit(&run)).or_else(|| unordered_drop(&run)) {
            self.findings.one_violation_is_enough()?;
            return Err(StopReason::Unsupported(why));
        }
        self.findings.ran(run.steps.len(), true);
        let learning = During::new(self.watch, Stage::Learn);
        let is_new = self.book.learn(&run, &|| self.watch.stop().is_some());
        drop(learning);
        // What has been learnt is not whole then.
        if let Some(stop) = self.watch.stop() {
            return Err(stop);
        }
        self.findings.one_violation_is_enough()?;
        self.findings.may_run_after(self.findings.statistics.executions)?;
        Ok(is_new)
    }

    /// Why what is seen of executions may not be all that there is to them.
    fn unfit(&mut self, run: &Run<S::Thread>) -> Option<String> {
        if !self.book.locals.are_histories() {
            return None;
        }
        if !self.book.note_created(&run.created) {
            return Some("what a cell holds at first depends on the schedule".to_string());
        }
        let operations = run.threads.iter().flat_map(|thread| thread.events.iter().chain(&thread.pending));
        if !self.book.references.tell_apart(operations.map(|event| &event.operation)) {
            return Some("some ask how many references there are, and others do not".to_string());
        }
        if self.subject.has_uncounted() || self.subject.has_final_states() {
            return Some("it matters in the end what all threads together have done".to_string());
        }
        self.subject.unfit()
    }

    fn ask(&mut self, goal: Goal, assumptions: &[Lit]) -> Result<Option<Solution>, StopReason> {
        let stop = || self.findings.look(true, 0, self.watch);
        stop().map_or(Ok(()), Err)?;
        let solving = During::new(self.watch, Stage::Solve);
        let answer = self.asker.solve(&mut self.book, assumptions, &stop);
        drop(solving);
        self.findings.asks();
        let answer = answer.map_err(|why| match why {
            NoAnswer::Stopped(stop) => stop,
            NoAnswer::Failed(why) => StopReason::Failed(why),
        })?;
        if self.watch.reads_queries() {
            let script = || {
                let problem = self.book.problem();
                to_smtlib(&problem, problem.n_vars, &self.book.formula.told, assumptions)
            };
            self.watch.query(&Query::put(goal, Some(answer.is_some()), script));
        }
        Ok(answer)
    }

    fn report(mut self, stop: StopReason) -> Report {
        let (decisions, conflicts) = self.asker.effort();
        self.findings.note_effort(decisions, conflicts);
        self.findings.report(stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Source;
    use crate::execution::{MemoryModel, interpret};
    use crate::frontend::ut;
    use crate::search::Unwatched;
    use crate::solver::verify;
    use std::sync::Arc;

    /// Says why an answer is wrong, if it is.
    fn judged<S: Describe>(search: &Cumulative<'_, S>, solution: &Solution) -> Result<(), String> {
        let (problem, nodes) = search.book.problem_of(solution);
        verify(&problem, &search.book.formula.told, &nodes)
    }

    #[test]
    fn an_answer_in_another_order_or_without_its_end_is_not_verified() {
        let text = "shared x, y; thread a { x = 1; fence; let r = y; } thread b { y = 1; x = 2; let s = x; } \
                    mutex m; thread c * 2 { lock(m); x += 1; unlock(m); }";
        let program = ut::parse(Arc::new(Source::new("test.ut", text)), &Default::default()).expect("it is a program");
        let subject = interpret(&program);
        for memory in MemoryModel::MACHINES {
            let options = Options::new(memory);
            let mut search = Cumulative::new(&subject, &options, &Unwatched);
            let ends = search.finish().expect("it comes to an end");
            let goal = search.book.formula.var(Meaning::Other);
            search.book.formula.clause([!goal, ends.over]);
            search.book.all_end(goal);
            let solution = search.ask(Goal::Finish, &[goal]).expect("it can be asked").expect("all threads end");
            assert_eq!(judged(&search, &solution), Ok(()));
            let backwards: Vec<_> = solution.order.iter().rev().copied().collect();
            assert!(judged(&search, &solution.in_order(backwards)).is_err());
            let shorter = solution.order[..solution.order.len() - 1].to_vec();
            assert!(judged(&search, &solution.in_order(shorter)).is_err());
            // Where one of them needs the other, two neighbours cannot be swapped.
            let swapped = (1..solution.order.len()).map(|at| {
                let mut order = solution.order.clone();
                order.swap(at - 1, at);
                judged(&search, &solution.in_order(order)).is_err()
            });
            assert!(swapped.filter(|&is_wrong| is_wrong).count() > 2);
        }
    }
}
