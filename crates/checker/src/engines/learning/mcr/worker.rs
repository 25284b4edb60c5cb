//! A worker: learns from runs, and runs what it has learnt to be possible.

use super::pool::Pool;
use super::seen::Seen;
use crate::base::{FAILED, Loc};
use crate::engines::learning::runner::Runner;
use crate::execution::{Describe, Machine, Stuck};
use crate::knowledge::causality::{Causality, Given, Known, Prediction};
use crate::search::findings::Findings;
use crate::search::{During, Options, Progress, Stage, StopReason, Watch};
use crate::solver::{Answer, Effort, Goal, Lit, Query, Solution, Solver};
use crate::trace::{Histories, Run, RunEvent, unordered_drop};
use rustc_hash::FxHashMap;

/// There is a look for so many rounds of guessing. A question is interrupted for that when it has taken as many, then twice as many, and so on.
const ROUNDS: u64 = 1 << 9;

pub(super) struct Worker<'a, 'p, S: Describe> {
    pub(super) subject: &'a S,
    pub(super) machine: Machine<'a, S>,
    pub(super) options: &'a Options,
    pub(super) pool: &'p Pool<S::Thread>,
    pub(super) watch: &'p dyn Watch,
    pub(super) findings: Findings<'a, S>,
    histories: Histories,
}

impl<'a, 'p, S: Describe> Worker<'a, 'p, S> {
    pub(super) fn new(
        subject: &'a S,
        options: &'a Options,
        pool: &'p Pool<S::Thread>,
        watch: &'p dyn Watch,
    ) -> Worker<'a, 'p, S> {
        let machine = Machine::new(subject, options.rules);
        let findings = Findings::with_solver(subject, options);
        Worker { subject, machine, options, pool, watch, findings, histories: Histories::default() }
    }

    /// Learns from runs until there are none left, or something ends the search.
    pub(super) fn work(&mut self) {
        while let Some((run, _busy)) = self.pool.next() {
            if let Err(stop) = self.learn(&run) {
                self.pool.end(stop);
            }
        }
    }

    /// An execution that has not begun.
    pub(super) fn runner(&mut self) -> Runner<'a, '_, S> {
        let runner = Runner::new(self.subject, &self.machine, &mut self.findings, self.watch);
        match self.subject.has_opaque() {
            true => runner.with_versions(&mut self.histories),
            false => runner,
        }
    }

    /// Runs a prediction to its end.
    pub(super) fn execute(&mut self, prediction: &Prediction) -> Result<(), StopReason> {
        let running = During::new(self.watch, Stage::Run);
        let most = self.options.limits.most_events();
        let mut runner = self.runner();
        runner.follow(prediction).map_err(StopReason::Failed)?;
        let end = runner.finish(most)?;
        runner.judge_end(&end);
        let unfit = runner.unfit.map(str::to_string);
        let run = runner.into_run(Some(end));
        drop(running);
        if let Some(why) = unfit.or_else(|| self.subject.unfit()).or_else(|| unordered_drop(&run)) {
            self.findings.one_violation_is_enough()?;
            return Err(StopReason::Unsupported(why));
        }
        let failing = if self.options.all_violations { None } else { self.failing(&run)? };
        let (n_steps, is_whole) = (run.steps.len(), run.end != Some(Stuck::Assumed));
        let is_new = self.pool.add(run);
        self.findings.ran(n_steps, is_new && is_whole);
        if !is_new && self.options.jobs <= 1 {
            return Err(StopReason::Failed("an execution was repeated".to_string()));
        }
        self.findings.may_run_after(self.pool.n_executions())?;
        self.findings.one_violation_is_enough()?;
        failing.map_or(Ok(()), |(causality, deviations)| self.fail(&causality, deviations))
    }

    /// The deviations from a run after which a thread fails at once. Where one violation is enough they are looked at before
    /// all others: an assertion that depends on one value is found as soon as a run shows that the value is possible.
    fn failing(&self, run: &Run<S::Thread>) -> Result<Option<(Causality, Vec<Lit>)>, StopReason> {
        let events: Vec<_> =
            run.threads.iter().flat_map(|thread| thread.events.iter().chain(&thread.pending)).collect();
        let may_fail = |event: &RunEvent<S::Thread>| {
            let returns = event.operation.read().is_some() || event.operation.choices().is_some();
            returns && event.before.as_ref().is_some_and(|thread| self.subject.may_fail_after(thread))
        };
        if !events.iter().any(|event| may_fail(event)) {
            return Ok(None);
        }
        let fails = |at: usize, result: i64| {
            let event: &RunEvent<S::Thread> = events[at];
            let thread = event.before.as_ref().filter(|_| result != FAILED && may_fail(event));
            thread.and_then(|thread| self.subject.copy(thread)).is_some_and(|mut thread| {
                self.subject.resume(&mut thread, result);
                self.subject.operation(&thread).is_failure()
            })
        };
        let causality = self.causality(run, &fails)?;
        let failing = causality.other_results().filter(|&(at, result, _)| fails(at, result));
        let failing: Vec<Lit> = failing.map(|deviation| deviation.2).collect();
        Ok((!failing.is_empty()).then_some((causality, failing)))
    }

    fn fail(&mut self, causality: &Causality, deviations: Vec<Lit>) -> Result<(), StopReason> {
        let mut solver = self.solver(causality);
        let goal = solver.var();
        solver.clause([vec![!goal], deviations].concat());
        let answer = self.ask(&mut solver, Goal::Deviate, goal);
        self.note_effort(&solver);
        answer?.map_or(Ok(()), |solution| self.execute(&causality.prediction(&solution)))
    }

    /// Runs everything that one run shows to be possible and that has not been seen.
    fn learn(&mut self, run: &Run<S::Thread>) -> Result<(), StopReason> {
        let causality = self.causality(run, &|_, _| false)?;
        let mut solver = self.solver(&causality);
        let outcome = self.ask_everything(&causality, &mut solver);
        self.note_effort(&solver);
        outcome
    }

    fn ask_everything(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        if causality.has_opaque() {
            // Who races sees what nobody left there, and does what nobody can predict.
            self.race(causality, solver)?;
        }
        self.deviate(causality, solver)?;
        self.get_stuck(causality, solver)?;
        if !causality.has_opaque() {
            self.race(causality, solver)?;
        }
        self.commit_late(causality, solver)?;
        self.finish_otherwise(causality, solver)
    }

    /// The causality of a run, in which these reads and other values have literals of their own.
    pub(super) fn causality(
        &self,
        run: &Run<S::Thread>,
        named: &dyn Fn(usize, i64) -> bool,
    ) -> Result<Causality, StopReason> {
        let _learning = During::new(self.watch, Stage::Learn);
        let created: FxHashMap<Loc, i64> = run.created.iter().copied().collect();
        let initial = move |loc: Loc| created.get(&loc).copied().unwrap_or(0);
        let Options { memory, first_sources: few, .. } = *self.options;
        let is_over = || self.watch.stop().is_some();
        let causality = Causality::of(run, &Given { memory, initial: &initial, named, few, is_over: &is_over });
        self.watch.stop().map_or(Ok(causality), Err)
    }

    pub(super) fn solver<'c>(&self, causality: &'c Causality) -> Solver<'c>
    where
        'p: 'c,
    {
        let _learning = During::new(self.watch, Stage::Learn);
        let watch = self.watch;
        Solver::until(&causality.problem, self.options.first_sources, move || watch.stop().is_some())
    }

    pub(super) fn note_effort(&mut self, solver: &Solver<'_>) {
        let Effort { decisions, conflicts } = solver.effort();
        self.findings.note_effort(decisions, conflicts);
    }

    fn deviate(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        let Some(goal) = causality.goals.deviate else { return Ok(()) };
        let mut n_told = 0;
        let mut known = Known::new(causality);
        loop {
            {
                let _learning = During::new(self.watch, Stage::Learn);
                for partings in self.since(&mut n_told, |seen, n_told| seen.partings(causality, n_told)) {
                    known.tell(solver, goal, partings);
                }
            }
            let Some(solution) = self.ask(solver, Goal::Deviate, goal)? else { return Ok(()) };
            self.execute(&causality.prediction(&solution))?;
        }
    }

    /// What there is to know of the executions seen since the last time.
    fn since<T>(&self, n_told: &mut u32, know: impl FnOnce(&Seen, u32) -> T) -> T {
        let state = self.pool.lock();
        know(&state.seen, std::mem::replace(n_told, state.seen.len()))
    }

    pub(super) fn get_stuck(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        let Some(goal) = causality.goals.stuck else { return Ok(()) };
        let mut n_told = 0;
        loop {
            for lengths in self.since(&mut n_told, |seen, n_told| seen.beginnings(causality, n_told)) {
                solver.clause([vec![!goal], causality.not_stuck_at(&lengths)].concat());
            }
            let Some(solution) = self.ask(solver, Goal::Stuck, goal)? else { return Ok(()) };
            self.execute(&causality.whole_prediction(&solution))?;
        }
    }

    pub(super) fn race(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        loop {
            let mut open = Vec::new();
            for (at, race) in causality.goals.races.iter().enumerate() {
                let mut places = causality.race_places(at);
                places.sort_unstable();
                if !self.pool.lock().races.contains(&places) {
                    open.push((race, places));
                }
            }
            if open.is_empty() {
                return Ok(());
            }
            let goal = solver.var();
            solver.clause([!goal].into_iter().chain(open.iter().map(|race| race.0.lit)).collect());
            let Some(solution) = self.ask(solver, Goal::Race, goal)? else { return Ok(()) };
            let _running = During::new(self.watch, Stage::Run);
            for (race, places) in open.into_iter().filter(|race| solution.holds(race.0.lit)) {
                let prediction = match race.commit {
                    Some(commit) => causality.prediction_until(&solution, commit),
                    None => causality.prediction(&solution),
                };
                let mut runner = self.runner();
                runner.follow(&prediction).map_err(StopReason::Failed)?;
                runner.judge_races();
                self.pool.lock().races.insert(places);
            }
            self.findings.one_violation_is_enough()?;
        }
    }

    /// Stores that reach a freed block.
    pub(super) fn commit_late(&mut self, causality: &Causality, solver: &mut Solver<'_>) -> Result<(), StopReason> {
        for &(late, place) in &causality.goals.late_commits {
            if self.pool.lock().late_commits.contains(&place) {
                continue;
            }
            let Some(solution) = self.ask(solver, Goal::LateCommit, late)? else { continue };
            let _running = During::new(self.watch, Stage::Run);
            let mut runner = self.runner();
            runner.follow(&causality.whole_prediction(&solution)).map_err(StopReason::Failed)?;
            self.pool.lock().late_commits.insert(place);
            self.findings.one_violation_is_enough()?;
        }
        Ok(())
    }

    /// Other final values with the same histories.
    pub(super) fn finish_otherwise(
        &mut self,
        causality: &Causality,
        solver: &mut Solver<'_>,
    ) -> Result<(), StopReason> {
        let asks = self.subject.has_final_states() && !causality.goals.finals.is_empty();
        let Some(goal) = causality.goals.finish.filter(|_| asks) else { return Ok(()) };
        while let Some(solution) = self.ask(solver, Goal::Finish, goal)? {
            let _running = During::new(self.watch, Stage::Run);
            let mut runner = self.runner();
            runner.follow(&causality.whole_prediction(&solution)).map_err(StopReason::Failed)?;
            runner.judge_end(&Stuck::Finished);
            let mut clause = vec![!goal];
            for (&loc, finals) in &causality.goals.finals {
                let value = runner.state.shared.read(loc);
                clause.extend(finals.iter().filter(|is| is.0 == value).map(|is| !is.1));
            }
            if clause.iter().any(|&lit| solution.holds(lit)) {
                return Err(StopReason::Failed("an execution does not end with the values predicted".to_string()));
            }
            solver.clause(clause);
            self.findings.one_violation_is_enough()?;
        }
        Ok(())
    }

    pub(super) fn ask(
        &mut self,
        solver: &mut Solver<'_>,
        goal: Goal,
        assumption: Lit,
    ) -> Result<Option<Solution>, StopReason> {
        let executions = self.pool.n_executions();
        self.findings.asks();
        // Whoever has a clock, or counts, looks up now and then in the middle of a question.
        let mut rounds = ROUNDS;
        let answer = loop {
            for _ in 0..rounds / ROUNDS {
                if let Some(stop) = self.watch.look(&Progress { states: 0, waiting: 0, executions }) {
                    return Err(stop);
                }
            }
            let _solving = During::new(self.watch, Stage::Solve);
            match solver.solve_within(rounds, &[assumption]) {
                Answer::Unknown => rounds *= 2,
                answer => break answer,
            }
        };
        self.watch.query(&Query::new(goal, solver, &[assumption], &answer));
        match answer {
            Answer::Yes(solution) => Ok(Some(solution)),
            Answer::No | Answer::Unknown => Ok(None),
            Answer::Wrong(why) => Err(StopReason::Failed(format!("an answer of the solver is wrong: {why}"))),
        }
    }
}
