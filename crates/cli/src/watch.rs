//! What a search cannot know itself: the time, Ctrl-C, and whether there is a terminal.

use crate::dump::Dump;
use crate::guard::{Bounds, Guard};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use unthread_checker::report::json::{JsonEffort, JsonProgress};
use unthread_checker::search::{Progress, SolverStatistics, Stage, Statistics, StopReason, Watch};
use unthread_checker::solver::Query;

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a process that Ctrl-C ends, by convention.
const INTERRUPT_EXIT: i32 = 130;

/// Shorter searches need no progress line.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lets Ctrl-C end searches with a partial report; a second one ends the process.
pub(crate) fn listen_to_interrupts() -> anyhow::Result<()> {
    Ok(ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPT_EXIT);
        }
    })?)
}

/// Whether the user had enough.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Watches one search.
pub(crate) struct Stopwatch<'d> {
    what: String,
    started: Instant,
    limit: Option<Duration>,
    guard: Guard,
    bar: OnceLock<ProgressBar>,
    dump: Option<&'d Dump>,
    /// Nanoseconds that workers spent in each stage: when they left it minus when they entered it.
    stages: [AtomicI64; 3],
    /// How far the search was, now and then.
    samples: Mutex<Vec<JsonProgress>>,
}

/// More samples than this are thinned out.
const MOST_SAMPLES: usize = 256;

impl<'d> Stopwatch<'d> {
    /// Starts now. `what` stands before the progress.
    pub(crate) fn start(what: String, bounds: Bounds, dump: Option<&'d Dump>) -> Stopwatch<'d> {
        let guard = Guard::start(&what, bounds);
        Stopwatch {
            what,
            started: Instant::now(),
            limit: bounds.time,
            guard,
            bar: OnceLock::new(),
            dump,
            stages: Default::default(),
            samples: Mutex::default(),
        }
    }

    /// What the search has taken so far, if it asked a solver.
    pub(crate) fn effort(&self, statistics: &Statistics) -> Option<JsonEffort> {
        let SolverStatistics { queries, decisions, conflicts } = statistics.solver?;
        let seconds = |stage: Stage| self.stages[stage as usize].load(Ordering::Relaxed) as f64 / 1e9;
        Some(JsonEffort {
            queries,
            decisions,
            conflicts,
            run_seconds: seconds(Stage::Run),
            learn_seconds: seconds(Stage::Learn),
            solve_seconds: seconds(Stage::Solve),
        })
    }

    /// How far the search was over time, from the start to now.
    pub(crate) fn progress(&self, statistics: &Statistics) -> Vec<JsonProgress> {
        let Statistics { states, executions, .. } = *statistics;
        let now = JsonProgress { seconds: self.started.elapsed().as_secs_f64(), states, executions };
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let start = JsonProgress { seconds: 0.0, states: 0, executions: 0 };
        [start].into_iter().chain(samples).chain([now]).collect()
    }

    fn sample(&self, progress: &Progress, elapsed: Duration) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let Progress { states, executions, .. } = *progress;
        samples.push(JsonProgress { seconds: elapsed.as_secs_f64(), states, executions });
        if samples.len() > MOST_SAMPLES {
            let mut keep = false;
            samples.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    fn nanoseconds(&self) -> i64 {
        self.started.elapsed().as_nanos() as i64
    }

    /// The search is over; what it has found may still be made simpler.
    pub(crate) fn found(&self) {
        self.guard.over();
    }

    /// Ends the progress line and gives the seconds it all took.
    pub(crate) fn stop(self) -> f64 {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
        self.started.elapsed().as_secs_f64()
    }

    /// Draws on standard error, and only if that is a terminal.
    fn show(&self, progress: &Progress, elapsed: Duration) {
        let bar = self.bar.get_or_init(|| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is right");
            ProgressBar::new_spinner().with_style(style)
        });
        // Engines count states or executions.
        let (count, what) = match progress.states {
            0 => (progress.executions, "executions"),
            states => (states, "states"),
        };
        let waiting = match progress.waiting {
            0 => String::new(),
            waiting => format!(", {} waiting", HumanCount(waiting)),
        };
        let (rate, seconds) = (count as f64 / elapsed.as_secs_f64(), elapsed.as_secs());
        let (count, rate) = (HumanCount(count), HumanCount(rate as u64));
        let message = format!("{}: {count} {what}{waiting}, {rate} {what}/s, {seconds} s", self.what);
        bar.set_message(message);
        bar.tick();
    }
}

impl Watch for Stopwatch<'_> {
    fn look(&self, progress: &Progress) -> Option<StopReason> {
        let elapsed = self.started.elapsed();
        self.sample(progress, elapsed);
        if let Some(stop) = self.stop() {
            return Some(stop);
        }
        if self.limit.is_some_and(|limit| elapsed >= limit) {
            return Some(StopReason::TimeLimit);
        }
        if elapsed >= PATIENCE {
            self.show(progress, elapsed);
        }
        None
    }

    fn stop(&self) -> Option<StopReason> {
        if interrupted() || self.dump.is_some_and(Dump::has_failed) {
            return Some(StopReason::Interrupted);
        }
        self.guard.stop()
    }

    fn query(&self, query: &Query<'_>) {
        if let Some(dump) = self.dump {
            dump.write(&self.what, query);
        }
    }

    fn reads_queries(&self) -> bool {
        self.dump.is_some()
    }

    fn enter(&self, stage: Stage) {
        self.stages[stage as usize].fetch_sub(self.nanoseconds(), Ordering::Relaxed);
    }

    fn leave(&self, stage: Stage) {
        self.stages[stage as usize].fetch_add(self.nanoseconds(), Ordering::Relaxed);
    }
}
