//! No violation is reported before its schedule has been replayed and has shown it.

use super::{Options, Replay, Report, StopReason, Violation, ViolationKind, replay};
use crate::execution::Comparable;
use crate::monitor;
use crate::trace::ReplayError;

/// The report without violations that do not show when they are replayed; if there are any, with that.
pub(crate) fn confirmed(
    options: &Options,
    mut report: Report,
    replay: impl Fn(&Violation) -> Result<Replay, ReplayError>,
) -> Report {
    let mut unconfirmed = None;
    report.violations.retain(|violation| match confirm(violation, replay(violation)) {
        Ok(()) => true,
        Err(why) => {
            unconfirmed = Some(why);
            false
        }
    });
    if !options.all_violations {
        // One step can show several; one was asked for.
        report.violations.truncate(1);
    }
    if let Some(why) = unconfirmed {
        report.stop = StopReason::Failed(why);
    }
    report
}

/// Replays the schedule of a program's violation, and looks for that violation.
pub(crate) fn replay_violation<S: Comparable>(
    subject: &S,
    options: &Options,
    violation: &Violation,
) -> Result<Replay, ReplayError> {
    let patience = if violation.kind == ViolationKind::Livelock { usize::MAX } else { 0 };
    let replay = replay::judged(subject, options.rules, &violation.schedule, replay::endless(patience))?;
    let is_not_sc = || monitor::is_not_sc(subject, options.rules, &violation.schedule);
    Ok(Replay { is_sequential: violation.kind != ViolationKind::StoreBuffers || !is_not_sc(), ..replay })
}

/// Whether a program's violation shows when its schedule is replayed.
pub(crate) fn is_shown<S: Comparable>(subject: &S, options: &Options, violation: &Violation) -> bool {
    confirm(violation, replay_violation(subject, options, violation)).is_ok()
}

/// Sees whether a violation shows when its schedule is replayed.
fn confirm(violation: &Violation, replayed: Result<Replay, ReplayError>) -> Result<(), String> {
    let replayed = replayed.map_err(|error| error.to_string())?;
    let Violation { schedule, kind, .. } = violation;
    if *kind == ViolationKind::StoreBuffers {
        return (!replayed.is_sequential).then_some(()).ok_or_else(|| format!("schedule {schedule} is one of sc"));
    }
    // Which of the two accesses of a race comes first depends on where along the schedule it is noticed.
    let same_place = |shown: &Violation| shown.span == violation.span || *kind == ViolationKind::DataRace;
    let same = |shown: &Violation| shown.kind == *kind && same_place(shown);
    let shown = replayed.violations.iter().any(same);
    shown.then_some(()).ok_or_else(|| format!("schedule {schedule} does not show the {}", kind.name()))
}
