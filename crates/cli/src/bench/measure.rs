//! Runs a program of the corpus, counts, and takes the time.

use crate::guard::Bounds;
use crate::watch::Stopwatch;
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use unthread_checker::base::{Source, Verdict};
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::report::{Style, diagnostics};
use unthread_checker::search::{Engine, Options, Report, StopReason};

/// None of the programs stores for ever, so buffers need no bound; 8, the default, is fewer than some of them fill.
pub(super) const MAX_BUFFER: usize = 64;

/// One measurement: how many executions, how long, and how it ended.
#[derive(Clone, Copy)]
pub(super) struct Count {
    executions: u64,
    pub(super) seconds: f64,
    /// Of these, in the solver.
    solving: f64,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Everything was covered.
    Exhausted,
    /// An error was found, and that was the question.
    Error,
    /// The time was over.
    TimeLimit,
}

/// A program, what to set in it, the memory model, and whether the first error is enough.
type Key = (String, &'static [(&'static str, i64)], String, bool);

/// Measures, and remembers what it has measured: several tables ask for the same.
pub(super) struct Meter {
    folder: PathBuf,
    max_time: Duration,
    known: BTreeMap<Key, Count>,
}

impl Meter {
    /// Finds programs in a folder, and gives each measurement this much time.
    pub(super) fn new(folder: PathBuf, max_time: Duration) -> Meter {
        Meter { folder, max_time, known: BTreeMap::new() }
    }

    pub(super) fn count(
        &mut self,
        name: &str,
        defines: &'static [(&'static str, i64)],
        memory: MemoryModel,
        first_error: bool,
    ) -> anyhow::Result<Count> {
        let key = (name.to_string(), defines, memory.to_string(), first_error);
        if let Some(&count) = self.known.get(&key) {
            return Ok(count);
        }
        let program = read_program(&self.folder, name, defines)?;
        let mut options = Options { engine: Engine::Mcr, all_violations: !first_error, ..Options::new(memory) };
        options.rules.max_buffer = MAX_BUFFER;
        let stopwatch = Stopwatch::start(format!("{name}: {memory}"), Bounds::of_time(self.max_time), None);
        let report = engines::check(&program, &options, &stopwatch);
        let solving = stopwatch.effort(&report.statistics).map_or(0.0, |effort| effort.solve_seconds);
        let seconds = stopwatch.stop();
        let end = end(&report).with_context(|| format!("{name}: {memory}"))?;
        let count = Count { executions: report.statistics.executions, seconds, solving, end };
        self.known.insert(key, count);
        Ok(count)
    }

    /// Checks a program once, and says how many seconds it took.
    pub(super) fn run(&self, name: &str, defines: &[(&str, i64)], options: &Options) -> anyhow::Result<(Report, f64)> {
        let program = read_program(&self.folder, name, defines)?;
        let stopwatch = Stopwatch::start(name.to_string(), Bounds::of_time(self.max_time), None);
        let report = engines::check(&program, options, &stopwatch);
        Ok((report, stopwatch.stop()))
    }
}

/// A program of a folder, with these constants.
pub(super) fn read_program(folder: &Path, name: &str, defines: &[(&str, i64)]) -> anyhow::Result<Program> {
    let file = folder.join(name).with_extension("ut");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let source = Arc::new(Source::new(file.display().to_string(), text));
    let defines = defines.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    ut::parse(source.clone(), &defines).map_err(|mistakes| anyhow!(diagnostics(&source, &mistakes, Style::PLAIN)))
}

fn end(report: &Report) -> anyhow::Result<End> {
    match &report.stop {
        StopReason::Exhausted => Ok(End::Exhausted),
        StopReason::Violation if report.verdict() == Verdict::Violation => Ok(End::Error),
        StopReason::TimeLimit => Ok(End::TimeLimit),
        StopReason::Failed(why) => Err(anyhow!("the search failed: {why}")),
        stop => Err(anyhow!("the search ended early: {}", stop.name())),
    }
}

impl Count {
    /// Executions to cover everything; `>` if the time was over.
    pub(super) fn all(&self) -> String {
        let more = if self.end == End::TimeLimit { ">" } else { "" };
        format!("{more}{}", self.executions)
    }

    /// Executions to the first error; `!` if everything was covered and there is none.
    pub(super) fn first_error(&self) -> String {
        let sign = if self.end == End::Exhausted { "!" } else { "" };
        format!("{}{sign}", self.all())
    }

    /// Of several measurements together: seconds, executions per second, and the share of time in the solver.
    pub(super) fn pace(counts: &[Count]) -> [String; 3] {
        let sum = |part: fn(&Count) -> f64| counts.iter().map(part).sum::<f64>();
        let seconds = sum(|count| count.seconds).max(1e-9);
        let (rate, solving) = (sum(|count| count.executions as f64) / seconds, sum(|count| count.solving) / seconds);
        [format!("{seconds:.3}"), format!("{rate:.0}"), format!("{:.0} %", 100.0 * solving)]
    }
}
