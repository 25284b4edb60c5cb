//! A schedule made simpler where it stands: steps are left out or moved together for as long as the violation stays and it gets cheaper.
//! For violations that a bounded search does not come to.

use super::price::follow;
use super::same;
use crate::base::{Action, Schedule, Step};
use crate::execution::{Comparable, Machine, Rules};
use crate::search::replay::{endless, judged};
use crate::search::{Violation, ViolationKind, Watch};

/// Steps that all attempts together may take.
const MOST_STEPS: usize = 400_000;

/// States that are looked at to see that there is no end.
const PATIENCE: usize = 2_000;

/// A cheaper schedule that shows the same violation, if attempts at one succeed.
pub(super) fn simpler<S: Comparable>(
    subject: &S,
    rules: Rules,
    violation: &Violation,
    watch: &dyn Watch,
) -> Option<Schedule> {
    let attempts = Attempts { subject, machine: Machine::new(subject, rules.unbounded()), violation };
    let mut budget = MOST_STEPS;
    if watch.stop().is_some() {
        return None;
    }
    let mut best = attempts.try_out(&violation.schedule.0, (u32::MAX, usize::MAX))?;
    let first = best.price;
    let mut n_tried = 0;
    loop {
        // After a success the next candidates are tried, and then all of them once more.
        let mut tried = n_tried;
        let attempts = candidates(&best.steps).skip(n_tried).map_while(|candidate| {
            budget = budget.checked_sub(candidate.len()).filter(|_| watch.stop().is_none())?;
            tried += 1;
            Some(attempts.try_out(&candidate, best.price))
        });
        let better = attempts.flatten().next();
        match better {
            Some(better) => (best, n_tried) = (better, tried),
            None if n_tried > 0 => n_tried = 0,
            None => break,
        }
    }
    (best.price < first).then_some(Schedule(best.steps))
}

struct Attempts<'a, S> {
    subject: &'a S,
    machine: Machine<'a, S>,
    violation: &'a Violation,
}

/// A schedule that shows the violation.
struct Attempt {
    steps: Vec<Step>,
    /// Preemptions and delays, then steps.
    price: (u32, usize),
}

impl<S: Comparable> Attempts<'_, S> {
    /// Follows steps, leaving out those that are not possible, and sees whether the violation shows for less than a price.
    fn try_out(&self, steps: &[Step], limit: (u32, usize)) -> Option<Attempt> {
        let (cost, taken) = follow(&self.machine, steps);
        if (cost, taken.len()) >= limit {
            return None;
        }
        let schedule = Schedule(taken);
        let patience = if self.violation.kind == ViolationKind::Livelock { PATIENCE } else { 0 };
        let replay = judged(self.subject, self.machine.rules, &schedule, endless(patience)).ok()?;
        let shown = replay.violations.iter().find(|shown| same(shown, self.violation))?;
        // What comes after the violation does not count. That is never more expensive.
        let steps = shown.schedule.0.clone();
        Some(Attempt { price: (cost, steps.len()), steps })
    }
}

/// Simpler variants, the boldest first: with stretches in which each thread has one turn, without a thread, without a step, with two turns of a thread made one, with a store that arrives at once.
fn candidates(steps: &[Step]) -> impl Iterator<Item = Vec<Step>> {
    let mut threads: Vec<_> = steps.iter().map(|step| step.thread).collect();
    threads.sort_unstable();
    threads.dedup();
    let without_thread =
        threads.into_iter().map(|thread| steps.iter().copied().filter(|step| step.thread != thread).collect());
    let joined = turns(steps).into_iter().flat_map(|(start, end)| {
        let before = steps[..start].iter().rposition(|step| step.thread == steps[start].thread);
        let after = steps[end..].iter().position(|step| step.thread == steps[start].thread).map(|at| end + at);
        let earlier = before.map(|before| moved(steps, start..end, before + 1));
        let later = after.map(|after| moved(steps, start..end, after));
        [earlier, later].into_iter().flatten()
    });
    let flushes = steps.iter().enumerate().filter(|(_, step)| matches!(step.action, Action::Flush(_)));
    let at_once = flushes.filter_map(|(at, flush)| {
        let before = steps[..at].iter().rposition(|step| step.thread == flush.thread)?;
        (before + 1 < at).then(|| moved(steps, at..at + 1, before + 1))
    });
    let without_step = (0..steps.len()).rev().map(|at| [&steps[..at], &steps[at + 1..]].concat());
    in_turn(steps).chain(without_thread).chain(joined).chain(at_once).chain(without_step)
}

/// Variants in which, in a stretch, each thread has one turn, or each store arrives at once, or both: all steps, halves, quarters, ….
fn in_turn(steps: &[Step]) -> impl Iterator<Item = Vec<Step>> {
    let lengths = std::iter::successors(Some(steps.len()), |length| Some(length / 2)).take_while(|&length| length >= 4);
    let stretches = lengths.flat_map(move |length| {
        (0..steps.len()).step_by((length / 2).max(1)).map(move |start| (start, (start + length).min(steps.len())))
    });
    stretches.flat_map(move |(start, end)| {
        let mut sorted = steps[start..end].to_vec();
        sorted.sort_by_key(|step| step.thread);
        let variants = [eager(&sorted), sorted, eager(&steps[start..end])];
        variants.map(|stretch| [&steps[..start], &stretch[..], &steps[end..]].concat())
    })
}

/// The steps with a flush after every operation instead of where they were; one that is not possible is left out when it is tried.
fn eager(steps: &[Step]) -> Vec<Step> {
    let operations = steps.iter().filter(|step| !matches!(step.action, Action::Flush(_)));
    operations.flat_map(|&step| [step, Step { action: Action::Flush(0), ..step }]).collect()
}

/// Where each stretch of steps of one thread starts and ends.
fn turns(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut start = 0;
    let turns = steps.chunk_by(|a, b| a.thread == b.thread).map(|turn| {
        start += turn.len();
        (start - turn.len(), start)
    });
    turns.collect()
}

/// The steps with a stretch of them put in front of another position.
fn moved(steps: &[Step], stretch: std::ops::Range<usize>, to: usize) -> Vec<Step> {
    let part = &steps[stretch.clone()];
    if to <= stretch.start {
        [&steps[..to], part, &steps[to..stretch.start], &steps[stretch.end..]].concat()
    } else {
        [&steps[..stretch.start], &steps[stretch.end..to], part, &steps[to..]].concat()
    }
}
