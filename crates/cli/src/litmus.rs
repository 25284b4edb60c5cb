//! `unthread litmus`.

use crate::flags::LitmusFlags;
use crate::input;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::{Context, anyhow, bail};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::litmus;
use unthread_checker::frontend::litmus::{Arch, Litmus, SummaryLine, compare_text, herd_text, summary_table};
use unthread_checker::report::text::why_stopped;
use unthread_checker::search::{Options, StopReason, ViolationKind};
use walkdir::WalkDir;

/// Runs every test under every memory model that was asked for.
pub(crate) fn run(flags: &LitmusFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let files = files(&flags.paths)?;
    let mut worst = Outcome::Verified;
    let mut tests = Vec::new();
    for file in &files {
        let Some(litmus) = input::litmus_test(file, terminal) else {
            worst = Outcome::BadInput;
            continue;
        };
        if !flags.memory.0.iter().any(|memory| concerns(&litmus, *memory)) {
            let (file, memory, arch) = (file.display(), flags.memory.0[0], litmus.arch);
            terminal.error(&anyhow!("{file}: {memory} is a memory model of the language, and this test is in {arch}"));
            worst = Outcome::BadInput;
            continue;
        }
        let results = run_test(file, &litmus, flags);
        results.iter().filter(|_| !flags.json).for_each(|result| result.warn(file, terminal));
        if results.iter().any(|result| result.stop != StopReason::Exhausted) {
            worst = worst.max(Outcome::Inconclusive);
        }
        terminal.print(&details(file, &litmus, &results, flags, files.len() == 1))?;
        let outcomes = results.iter().map(|result| (result.memory, result.complete())).collect();
        tests.push(SummaryLine { name: file.display().to_string(), outcomes });
        if interrupted() {
            worst = worst.max(Outcome::Inconclusive);
            break;
        }
    }
    if is_summarized(flags, files.len() == 1) {
        terminal.print(&summary_table(&tests))?;
    }
    Ok(worst)
}

/// One test under one memory model.
struct TestResult {
    memory: MemoryModel,
    stop: StopReason,
    /// Why the search ended, and what to do about it.
    why: (String, String),
    outcome: litmus::Outcome,
    /// What goes wrong in executions that do not come to a final state.
    failures: Vec<String>,
    /// A data race, in words.
    race: Option<String>,
}

impl TestResult {
    /// States that are missing because an execution failed are easily taken for forbidden ones. Those of a test with a
    /// data race mean nothing in C.
    fn warn(&self, file: &Path, terminal: &Terminal) {
        if let Some(first) = self.failures.first() {
            let (file, memory) = (file.display(), self.memory);
            terminal.warning(&format!("{file}: {memory}: some executions do not come to a final state: {first}"));
        }
        if let Some(race) = &self.race {
            terminal.warning(&format!("{}: {}: data race: {race}", file.display(), self.memory));
        }
    }

    /// The outcome, if it is one: a search that did not end has none.
    fn complete(&self) -> Option<litmus::Outcome> {
        (self.stop == StopReason::Exhausted).then(|| self.outcome.clone())
    }
}

fn run_test(file: &Path, litmus: &Litmus, flags: &LitmusFlags) -> Vec<TestResult> {
    let run = |&memory: &MemoryModel| {
        // All final states are wanted, also when one of them breaks the condition.
        let options = Options { all_violations: true, engine: flags.engine, ..flags.limits.options(memory) };
        let stopwatch =
            Stopwatch::start(format!("{}: {memory}", file.display()), flags.limits.resources.bounds(), None);
        let report = engines::check(&litmus.program, &options, &stopwatch);
        stopwatch.stop();
        let why = why_stopped(&report.stop, &report.statistics, options.rules);
        let races = report.violations.iter().filter(|violation| violation.kind == ViolationKind::DataRace);
        let race = races.map(|violation| violation.message.clone()).next();
        let no_failures = [ViolationKind::Condition, ViolationKind::DataRace];
        let failures = report.violations.iter().filter(|violation| !no_failures.contains(&violation.kind));
        let failures = failures.map(|violation| format!("{}: {}", violation.kind.name(), violation.message));
        let (outcome, failures) = (litmus.outcome(&report.final_states), failures.collect());
        TestResult { memory, stop: report.stop, why, outcome, failures, race }
    };
    flags.memory.0.iter().filter(|memory| concerns(litmus, **memory)).map(run).collect()
}

/// Whether a memory model says something about the test: the language's say nothing about instructions of a machine.
fn concerns(litmus: &Litmus, memory: MemoryModel) -> bool {
    litmus.arch == Arch::C || !memory.is_language()
}

/// Several tests under several memory models are shown as one table.
fn is_summarized(flags: &LitmusFlags, alone: bool) -> bool {
    !flags.json && !alone && flags.memory.0.len() > 1
}

fn details(file: &Path, litmus: &Litmus, results: &[TestResult], flags: &LitmusFlags, alone: bool) -> String {
    if flags.json {
        return results.iter().map(|result| json_line(file, litmus, result)).collect();
    }
    if is_summarized(flags, alone) {
        return String::new();
    }
    let mut text = String::new();
    for result in results.iter().filter(|result| result.stop != StopReason::Exhausted) {
        let (why, advice) = &result.why;
        text += &format!("{}: {}: inconclusive: {why}; {advice}\n", file.display(), result.memory);
    }
    // A verdict on some of the final states would be none.
    let complete: Vec<_> = results.iter().filter_map(|result| Some((result.memory, result.complete()?))).collect();
    text += &match &complete[..] {
        [] => String::new(),
        [(_, outcome)] if results.len() == 1 => herd_text(litmus, outcome),
        outcomes => compare_text(litmus, outcomes),
    };
    // A blank line between tests, as herd has it.
    text + if alone { "" } else { "\n" }
}

fn json_line(file: &Path, litmus: &Litmus, result: &TestResult) -> String {
    let outcome = &result.outcome;
    let complete = result.stop == StopReason::Exhausted;
    let line = JsonLine {
        file: file.display().to_string(),
        name: &litmus.name,
        memory: result.memory.to_string(),
        states: outcome.states(),
        verdict: complete.then(|| outcome.verdict()),
        observation: complete.then(|| outcome.frequency().to_string()),
        positive: outcome.positive.len(),
        negative: outcome.negative.len(),
        stop: result.stop.name(),
        failures: &result.failures,
        race: if result.race.is_some() { Some(true) } else { complete.then_some(false) },
    };
    serde_json::to_string(&line).expect("names, numbers and lists of them are JSON") + "\n"
}

/// `docs/report-format.md` specifies it.
#[derive(Serialize)]
struct JsonLine<'a> {
    file: String,
    name: &'a str,
    memory: String,
    states: BTreeSet<&'a str>,
    /// Only a search that ended has one.
    verdict: Option<&'static str>,
    observation: Option<String>,
    positive: usize,
    negative: usize,
    stop: &'static str,
    failures: &'a [String],
    /// Whether two accesses race; unknown if none do so far and the search did not end.
    race: Option<bool>,
}

/// The files that the paths name: each itself, and what lies in folders, sorted.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        for entry in WalkDir::new(path).sort_by_file_name() {
            let entry = entry.with_context(|| format!("cannot read {}", path.display()))?;
            if entry.path().extension().is_some_and(|extension| extension == "litmus") {
                files.push(entry.into_path());
            }
        }
        if files.len() == before {
            bail!("{}: there are no *.litmus files in this folder", path.display());
        }
    }
    Ok(files)
}
