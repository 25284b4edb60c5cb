//! Engine `mcr`: maximal causality reduction, complete and without redundant executions under SC, TSO and PSO.
//!
//! Every run tells, through [`Causality`], which other configurations must be possible. The engine asks for one that
//! deviates from the run and is not the beginning of any execution already seen, runs it to its end, and learns from that run in turn.
//!
//! *No redundancy.* A configuration that is run is not the beginning of any execution seen before. So the execution that it begins is a new
//! combination of thread histories: executions and combinations are equal in number.
//!
//! *Completeness.* Let σ be any execution, and of all runs seen let C agree with the longest beginning of σ: the first event of σ
//! that is not in C is e. If e has a result that differs from C's, then σ up to e is a configuration of C that deviates. It is the
//! beginning of some execution seen, or the engine would have asked for it; that execution agrees with σ for longer than C does: a
//! contradiction. If all of σ is in C but σ is over, then it is a stuck configuration of C: the engine asks for those too. This is
//! where the published algorithm (Huang, PLDI 2015; Huang & Huang, OOPSLA 2016) differs: it asks for each read and value by itself and keeps prefixes, which both
//! repeats executions (its §4.6) and, with its order for reads of a thread's own writes, misses some.

use super::judge::Judge;
use super::runner::Runner;
use super::{Options, Progress, Watch};
use crate::causality::{Causality, Prediction};
use crate::execution::{Interpreter, Machine, Stuck, Subject, ThreadKey};
use crate::program::Loc;
use crate::report::{FinalState, Report, Statistics, StopReason};
use crate::solver::{Answer, Lit, Solution, Solver};
use crate::trace::Run;
use std::collections::{BTreeMap, BTreeSet};

/// No execution of an IR program that ends is longer, unless the user says so.
const MOST_EVENTS: u64 = 100_000;

/// Explores and reports.
pub fn check(subject: &Interpreter<'_>, options: &Options, watch: &dyn Watch) -> Report {
    let mut explorer = Mcr::new(subject, options);
    let stop = explorer.explore(watch).err().unwrap_or(StopReason::Exhausted);
    let (violations, observations) = explorer.judge.findings();
    let combinations = explorer.seen.iter().filter(|seen| !seen.assumed).count() as u64;
    Report {
        program: subject.program().name.clone(),
        memory: options.memory,
        engine: super::Engine::Mcr,
        stop,
        violations,
        observations,
        final_states: explorer.final_states.into_iter().collect(),
        statistics: Statistics {
            executions: combinations,
            states: 0,
            steps: explorer.n_steps,
            histories: Some(combinations),
        },
    }
}

/// Every combination of thread histories, or nothing if not everything could be explored.
pub fn histories(
    subject: &Interpreter<'_>,
    options: &Options,
) -> Result<BTreeSet<super::histories::Combination>, StopReason> {
    let options = Options { all_violations: true, ..options.clone() };
    let mut explorer = Mcr::new(subject, &options);
    explorer.explore(&super::Unwatched)?;
    let complete = explorer.seen.iter().filter(|seen| !seen.assumed);
    let combinations =
        complete.map(|seen| seen.histories.iter().map(|(&key, history)| (key, history.clone())).collect());
    Ok(combinations.collect())
}

struct Mcr<'a> {
    subject: &'a Interpreter<'a>,
    machine: Machine<'a, Interpreter<'a>>,
    options: &'a Options,
    judge: Judge<'a>,
    seen: Vec<Seen>,
    /// Runs that nothing has been learnt from yet.
    waiting: Vec<Run>,
    final_states: BTreeSet<FinalState>,
    races: BTreeSet<[(ThreadKey, u32); 2]>,
    n_steps: u64,
}

/// An execution that has been run.
struct Seen {
    histories: BTreeMap<ThreadKey, Vec<i64>>,
    /// An assumption did not hold in it: not a complete combination.
    assumed: bool,
}

impl<'a> Mcr<'a> {
    fn new(subject: &'a Interpreter<'a>, options: &'a Options) -> Mcr<'a> {
        Mcr {
            subject,
            machine: Machine::new(subject, options.rules),
            options,
            judge: Judge::new(subject, options.rules),
            seen: Vec::new(),
            waiting: Vec::new(),
            final_states: BTreeSet::new(),
            races: BTreeSet::new(),
            n_steps: 0,
        }
    }

    fn explore(&mut self, watch: &dyn Watch) -> Result<(), StopReason> {
        self.execute(&Prediction(Vec::new()))?;
        while let Some(run) = self.waiting.pop() {
            self.learn(&run, watch)?;
        }
        Ok(())
    }

    /// Runs a prediction to its end.
    fn execute(&mut self, prediction: &Prediction) -> Result<(), StopReason> {
        let mut runner = Runner::new(self.subject, &self.machine, &mut self.judge);
        runner.follow(prediction).map_err(StopReason::Failed)?;
        let end = runner.finish(self.options.limits.events.min(MOST_EVENTS));
        match &end {
            Some(end) => runner.judge_end(end),
            None => return Err(StopReason::EventLimit),
        }
        if end == Some(Stuck::Finished) {
            self.final_states.insert(runner.final_state());
        }
        let run = runner.into_run(end);
        self.n_steps += run.steps.len() as u64;
        self.note(run)
    }

    fn note(&mut self, run: Run) -> Result<(), StopReason> {
        let histories = run.threads.iter().enumerate();
        let histories: BTreeMap<_, Vec<i64>> =
            histories.map(|(at, thread)| (thread.key, run.history(at).collect())).collect();
        if self.seen.iter().any(|seen| seen.histories == histories) {
            return Err(StopReason::Failed("an execution was repeated".to_string()));
        }
        self.seen.push(Seen { histories, assumed: run.end == Some(Stuck::Assumed) });
        self.waiting.push(run);
        if self.judge.has_violation() && !self.options.all_violations {
            return Err(StopReason::Violation);
        }
        if self.seen.len() as u64 >= self.options.limits.executions {
            return Err(StopReason::ExecutionLimit);
        }
        Ok(())
    }

    /// Runs everything that one run shows to be possible and that has not been seen.
    fn learn(&mut self, run: &Run, watch: &dyn Watch) -> Result<(), StopReason> {
        let initial_cells = self.subject.initial_cells();
        let initial = move |loc: Loc| loc.as_global().map_or(0, |index| initial_cells[index]);
        let causality = Causality::of(run, self.options.memory, &initial);
        let mut solver = Solver::new(&causality.problem);
        let executions = self.seen.len() as u64;
        let waiting = self.waiting.len() as u64;
        if let Some(stop) = watch.look(&Progress { states: 0, waiting, executions }) {
            return Err(stop);
        }
        self.deviate(&causality, &mut solver)?;
        self.get_stuck(&causality, &mut solver)?;
        self.race(&causality, &mut solver)?;
        self.finish_otherwise(&causality, &mut solver)
    }

    fn deviate(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        let Some(goal) = causality.goals.deviate else { return Ok(()) };
        let mut n_excluded = 0;
        let mut excluded = BTreeSet::new();
        loop {
            for seen in &self.seen[n_excluded..] {
                let clause = causality.not_covered_by(&|key| seen.histories.get(&key).cloned());
                if excluded.insert(clause.clone()) {
                    solver.clause([vec![!goal], clause].concat());
                }
            }
            n_excluded = self.seen.len();
            let Some(solution) = ask(solver, &[goal])? else { return Ok(()) };
            self.execute(&causality.prediction(&solution, false))?;
        }
    }

    fn get_stuck(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        let Some(goal) = causality.goals.stuck else { return Ok(()) };
        let mut n_excluded = 0;
        loop {
            for seen in &self.seen[n_excluded..] {
                if let Some(clause) = causality.not_stuck_as(&|key| seen.histories.get(&key).cloned()) {
                    solver.clause([vec![!goal], clause].concat());
                }
            }
            n_excluded = self.seen.len();
            let Some(solution) = ask(solver, &[goal])? else { return Ok(()) };
            self.execute(&causality.prediction(&solution, true))?;
        }
    }

    fn race(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        loop {
            let mut open: Vec<(Lit, _)> = Vec::new();
            for (at, race) in causality.goals.races.iter().enumerate() {
                let mut places = causality.race_places(at);
                places.sort_unstable();
                if !self.races.contains(&places) {
                    open.push((race.0, places));
                }
            }
            if open.is_empty() {
                return Ok(());
            }
            let goal = solver.var();
            solver.clause([!goal].into_iter().chain(open.iter().map(|race| race.0)).collect());
            let Some(solution) = ask(solver, &[goal])? else { return Ok(()) };
            self.races.extend(open.iter().filter(|race| solution.holds(race.0)).map(|race| race.1));
            let mut runner = Runner::new(self.subject, &self.machine, &mut self.judge);
            runner.follow(&causality.prediction(&solution, false)).map_err(StopReason::Failed)?;
            runner.judge_races();
            if !self.options.all_violations && self.judge.has_violation() {
                return Err(StopReason::Violation);
            }
        }
    }

    /// Other final values with the same histories.
    fn finish_otherwise(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        let Some(goal) = causality.goals.finish.filter(|_| !causality.goals.finals.is_empty()) else { return Ok(()) };
        while let Some(solution) = ask(solver, &[goal])? {
            let mut runner = Runner::new(self.subject, &self.machine, &mut self.judge);
            runner.follow(&causality.prediction(&solution, true)).map_err(StopReason::Failed)?;
            runner.judge_end(&Stuck::Finished);
            let state = runner.final_state();
            let value = |loc: Loc| match loc.as_global() {
                Some(index) => state.cells[index],
                None => state.heap.iter().find(|cell| cell.0 == loc).map_or(0, |cell| cell.1),
            };
            let mut clause = vec![!goal];
            for (&loc, finals) in &causality.goals.finals {
                clause.extend(finals.iter().filter(|is| is.0 == value(loc)).map(|is| !is.1));
            }
            if clause.iter().any(|&lit| solution.holds(lit)) {
                return Err(StopReason::Failed("an execution does not end with the values predicted".to_string()));
            }
            self.final_states.insert(state);
            solver.clause(clause);
            if !self.options.all_violations && self.judge.has_violation() {
                return Err(StopReason::Violation);
            }
        }
        Ok(())
    }
}

fn ask(solver: &mut Solver<'_>, assumptions: &[Lit]) -> Result<Option<Solution>, StopReason> {
    match solver.solve(assumptions) {
        Answer::Yes(solution) => Ok(Some(solution)),
        Answer::No => Ok(None),
        Answer::Unknown => Err(StopReason::Failed("the solver gave up".to_string())),
    }
}
