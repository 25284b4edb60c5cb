//! The table of the paper on store buffer safety, beside ours: how many executions are borderline, how soon that is seen, and what watching costs.

use super::measure::Meter;
use std::time::Duration;
use unthread_checker::base::Verdict;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Engine, Monitor, Options, Report, StopReason};

pub(super) const TITLE: &str = "Figure 4(a): store buffer safety, by bound on preemptions";
pub(super) const SOURCE: &str =
    "S. Burckhardt and M. Musuvathi, Effective Program Verification for Relaxed Memory Models, CAV 2008";
pub(super) const NOTE: &str = "Theirs: interleavings and how many are borderline, seconds to find that the program is not safe, seconds to verify the corrected \
     program with and without the monitor. Ours: the same for traces (executions that differ in the order of independent steps are one), engine icb under sc.";

/// A row: the program, the bound on preemptions if there is one, and what was published.
struct Row(&'static str, &'static str, Option<u32>, [&'static str; 5]);

const SB: (&str, &str) = ("Fig. 1(b)", "sober_store_buffering");
const DEKKER: (&str, &str) = ("dekker", "sober_dekker");
const BAKERY: (&str, &str) = ("bakery", "sober_bakery");
const TAKEQUEUE: (&str, &str) = ("takequeue", "sober_takequeue");

const fn row(program: (&'static str, &'static str), bound: Option<u32>, published: [&'static str; 5]) -> Row {
    Row(program.0, program.1, bound, published)
}

const ROWS: &[Row] = &[
    row(SB, None, ["10", "4", "<0.1", "<0.2", "<0.2"]),
    row(DEKKER, Some(1), ["5", "4", "<0.1", "<0.2", "<0.2"]),
    row(DEKKER, Some(2), ["36", "23", "<0.1", "0.39", "0.37"]),
    row(DEKKER, Some(3), ["183", "50", "<0.1", "1.9", "1.8"]),
    row(DEKKER, Some(4), ["1,219", "124", "<0.1", "13.2", "13.0"]),
    row(DEKKER, Some(5), ["8,472", "349", "<0.1", "106.0", "100.6"]),
    row(BAKERY, Some(0), ["1", "1", "<0.1", "<0.2", "<0.2"]),
    row(BAKERY, Some(1), ["25", "20", "<0.1", "0.47", "0.43"]),
    row(BAKERY, Some(2), ["742", "533", "<0.1", "10.3", "9.8"]),
    row(BAKERY, Some(3), ["12,436", "8,599", "<0.1", "189.0", "181.0"]),
    row(TAKEQUEUE, Some(0), ["3", "0", "n.a.", "<0.3", "<0.3"]),
    row(TAKEQUEUE, Some(1), ["47", "14", "0.34", "0.72", "0.69"]),
    row(TAKEQUEUE, Some(2), ["402", "189", "0.43", "5.2", "4.9"]),
    row(TAKEQUEUE, Some(3), ["2,318", "1,197", "0.74", "28.9", "27.8"]),
    row(TAKEQUEUE, Some(4), ["9,147", "5,321", "0.84", "125.5", "118.9"]),
    row(TAKEQUEUE, Some(5), ["29,821", "17,922", "0.86", "481.5", "461.6"]),
];

const COLUMNS: [&str; 13] = [
    "program",
    "bound",
    "total",
    "borderline",
    "found",
    "verified",
    "unwatched",
    "ours: total",
    "borderline",
    "found",
    "verified",
    "unwatched",
    "watching costs",
];

/// Whether what we saw is what must be: the original is not safe, the corrected one is.
pub(super) struct Outcome {
    pub(super) rows: Vec<Vec<String>>,
    /// Seconds to verify what is corrected, with and without the monitor, over all rows.
    pub(super) watched: f64,
    pub(super) unwatched: f64,
}

/// Measures every row.
pub(super) fn measure(meter: &Meter) -> anyhow::Result<Outcome> {
    let header = COLUMNS.map(str::to_string).to_vec();
    let mut outcome = Outcome { rows: vec![header], watched: 0.0, unwatched: 0.0 };
    for &Row(name, file, bound, published) in ROWS {
        let run = |fenced: i64, watched: bool, all: bool| {
            let preemptions = bound.unwrap_or(u32::MAX - 1);
            let engine = Engine::Icb { preemptions, traces: true };
            let options = match watched {
                true => Options { monitor: Some(Monitor::StoreBuffers), ..Options::new(MemoryModel::Tso) },
                false => Options::new(MemoryModel::Sc),
            };
            meter.run(file, &[("FENCED", fenced)], &Options { engine, all_violations: all, ..options })
        };
        let (all, _) = run(0, true, true)?;
        let (first, found) = run(0, true, false)?;
        let (fenced, _) = run(1, true, true)?;
        let wrong = fenced.verdict() == Verdict::Violation || !is_covered(&fenced) || !is_covered(&all);
        anyhow::ensure!(!wrong, "{name}: {bound:?}: {} ({})", fenced.verdict().name(), fenced.stop.name());
        let (watched, unwatched) = fastest_of_each(|watched| Ok(run(1, watched, true)?.1))?;
        outcome.watched += watched;
        outcome.unwatched += unwatched;
        let found = if first.violations.is_empty() { "n.a.".to_string() } else { format!("{found:.4}") };
        let ours = [
            all.statistics.executions.to_string(),
            all.statistics.borderline.unwrap_or(0).to_string(),
            found,
            format!("{watched:.4}"),
            format!("{unwatched:.4}"),
            format!("{:.0} %", 100.0 * (watched / unwatched.max(1e-9) - 1.0)),
        ];
        let bound = bound.map_or("∞".to_string(), |bound| bound.to_string());
        let published = published.map(str::to_string);
        outcome.rows.push([name.to_string(), bound].into_iter().chain(published).chain(ours).collect());
    }
    Ok(outcome)
}

/// The fastest of several runs with and without the monitor, one after the other in turn.
fn fastest_of_each(mut seconds: impl FnMut(bool) -> anyhow::Result<f64>) -> anyhow::Result<(f64, f64)> {
    let mut fastest = [f64::INFINITY; 2];
    let mut spent = 0.0;
    for round in 0..50 {
        for (at, watched) in [true, false].into_iter().enumerate() {
            let took = seconds(watched)?;
            fastest[at] = fastest[at].min(took);
            spent += took;
        }
        if round >= 2 && Duration::from_secs_f64(spent) > Duration::from_secs(2) {
            break;
        }
    }
    Ok((fastest[0], fastest[1]))
}

/// Whether everything within the bound was covered.
fn is_covered(report: &Report) -> bool {
    matches!(report.stop, StopReason::Exhausted | StopReason::PreemptionLimit)
}
