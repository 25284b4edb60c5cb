//! What a search has found and done so far, whatever its engine: the place of limits, statistics and verdicts.
//!
//! An engine proposes executions or states, and tells what came of each. Several workers have findings of their own, which are merged in
//! the end.

use super::judge::Judge;
use super::{Options, Progress, Report, SolverStatistics, Statistics, StopReason, Watch};
use crate::base::Step;
use crate::execution::{Describe, Machine, State, Stuck, ThreadState};
use crate::monitor::Watcher;
use crate::program::FinalState;
use std::collections::BTreeSet;

/// Findings and counts.
pub(crate) struct Findings<'a, S> {
    pub(crate) subject: &'a S,
    pub(crate) options: &'a Options,
    pub(crate) judge: Judge<'a, S>,
    final_states: BTreeSet<FinalState>,
    pub(crate) statistics: Statistics,
    /// What was covered, where that is neither everything nor nothing.
    pub(crate) coverage: Option<String>,
    /// A bound was met: what was found stands, but not everything was covered.
    pub(crate) incomplete: Option<StopReason>,
    /// What was different when threads were run again.
    difference: Option<String>,
    /// Watches executions on the side.
    pub(crate) watcher: Option<Watcher<'a, S>>,
}

impl<'a, S: Describe> Findings<'a, S> {
    pub(crate) fn new(subject: &'a S, options: &'a Options) -> Findings<'a, S> {
        Findings {
            subject,
            options,
            judge: Judge::new(subject, options.rules),
            final_states: BTreeSet::new(),
            statistics: Statistics { borderline: options.monitor.map(|_| 0), ..Statistics::default() },
            coverage: None,
            incomplete: None,
            difference: None,
            watcher: options.monitor.map(|_| Watcher::new(subject, options.memory)),
        }
    }

    /// The same for an engine that asks a solver.
    pub(crate) fn with_solver(subject: &'a S, options: &'a Options) -> Findings<'a, S> {
        let mut findings = Findings::new(subject, options);
        findings.statistics.solver = Some(SolverStatistics::default());
        findings
    }

    /// An execution has ended. Gives `false` if an assumption did not hold: such an execution does not count.
    pub(crate) fn ended(
        &mut self,
        machine: &Machine<'a, S>,
        state: &State<S::Thread>,
        path: impl Fn() -> Vec<Step>,
    ) -> bool {
        let stuck = machine.stuck(state);
        if stuck == Stuck::Assumed {
            return false;
        }
        self.statistics.executions += 1;
        if let Some(watcher) = &self.watcher {
            let more = u64::from(watcher.is_borderline());
            self.statistics.borderline = self.statistics.borderline.map(|count| count + more);
        }
        self.at_end(&stuck, state, path);
        true
    }

    /// Judges the state in which an execution has ended, and keeps its final values.
    pub(crate) fn at_end(&mut self, stuck: &Stuck, state: &State<S::Thread>, path: impl Fn() -> Vec<Step>) {
        if *stuck != Stuck::Finished {
            return self.judge.stuck(state, stuck, path);
        }
        if let Some(failure) = self.subject.left_behind(state) {
            self.judge.left_behind(&failure, &path);
        }
        let final_state = self.subject.final_state(state);
        if !self.final_states.contains(&final_state) {
            self.judge.finished(&final_state, path);
            self.final_states.insert(final_state);
        }
    }

    /// An execution of so many steps was run to its end. It counts unless another worker has run it or an assumption did not hold.
    pub(crate) fn ran(&mut self, steps: usize, counts: bool) {
        self.statistics.executions += u64::from(counts);
        self.statistics.steps += steps as u64;
    }

    /// The solver is asked a question.
    pub(crate) fn asks(&mut self) {
        self.statistics.solver.get_or_insert_default().queries += 1;
    }

    /// A solver has guessed so often, and so often it guessed wrong.
    pub(crate) fn note_effort(&mut self, decisions: u64, conflicts: u64) {
        let solver = self.statistics.solver.get_or_insert_default();
        solver.decisions += decisions;
        solver.conflicts += conflicts;
    }

    /// Why to stop now, if there is a reason.
    pub(crate) fn stop(&self) -> Option<StopReason> {
        if let Some(why) = self.watcher.as_ref().and_then(Watcher::failed) {
            Some(StopReason::Failed(why))
        } else if let Err(violation) = self.one_violation_is_enough() {
            Some(violation)
        } else if let Some(why) = self.watcher.as_ref().and_then(Watcher::refused) {
            Some(StopReason::Unsupported(why.to_string()))
        } else if let Err(limit) = self.may_run_after(self.statistics.executions) {
            Some(limit)
        } else if self.statistics.states > self.options.limits.states {
            Some(StopReason::StateLimit)
        } else {
            None
        }
    }

    /// Ends a search that has found a violation, unless all are asked for.
    pub(crate) fn one_violation_is_enough(&self) -> Result<(), StopReason> {
        match self.judge.has_violation() && !self.options.all_violations {
            true => Err(StopReason::Violation),
            false => Ok(()),
        }
    }

    /// Whether another execution may be run after so many.
    pub(crate) fn may_run_after(&self, executions: u64) -> Result<(), StopReason> {
        match executions >= self.options.limits.executions {
            true => Err(StopReason::ExecutionLimit),
            false => Ok(()),
        }
    }

    /// Asks the watch whether to stop, and shows it how far the search is if that is due.
    pub(crate) fn look(&self, is_due: bool, waiting: u64, watch: &dyn Watch) -> Option<StopReason> {
        if !is_due {
            return watch.stop();
        }
        let Statistics { states, executions, .. } = self.statistics;
        watch.look(&Progress { states, waiting, executions })
    }

    /// Takes over what another worker of the same search has found and done.
    pub(crate) fn merge(&mut self, other: Findings<'_, S>) {
        self.judge.merge(other.judge);
        self.final_states.extend(other.final_states);
        self.statistics.executions += other.statistics.executions;
        self.statistics.steps += other.statistics.steps;
        if let Some(SolverStatistics { queries, decisions, conflicts }) = other.statistics.solver {
            self.note_effort(decisions, conflicts);
            self.statistics.solver.get_or_insert_default().queries += queries;
        }
    }

    /// A thread would store, but for the bound on its buffer: what it would have led to is not covered.
    pub(crate) fn met_buffer_bound(&mut self, thread: &ThreadState<S::Thread>) {
        if self.incomplete.is_none() {
            let (store, around) = (self.subject.span(&thread.local), self.subject.loop_span(&thread.local));
            self.incomplete = Some(StopReason::BufferLimit { store, around });
        }
    }

    /// Threads did something with other values when they were run again, if this says so: nothing is verified.
    pub(crate) fn note_difference(&mut self, difference: Option<String>) {
        self.difference = self.difference.take().or(difference);
    }

    /// The reason for the end of a search that has nothing left to do.
    pub(crate) fn exhausted(&mut self) -> StopReason {
        match self.incomplete.take() {
            _ if !self.options.all_violations && self.judge.has_violation() => StopReason::Violation,
            Some(bound) => bound,
            None => StopReason::Exhausted,
        }
    }

    /// The report.
    pub(crate) fn report(mut self, stop: StopReason) -> Report {
        let stop = match self.difference {
            Some(why) if matches!(stop, StopReason::Exhausted | StopReason::PreemptionLimit) => {
                StopReason::Nondeterminism(why)
            }
            _ => stop,
        };
        let report = self.judge.report(self.options, stop, self.final_states, self.statistics);
        Report { coverage: report.coverage.or(self.coverage), ..report }
    }
}
