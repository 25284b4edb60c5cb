//! `unthread bench engines`: programs of published measurements, engine by engine, and how many times faster than the first engine the others are.
//!
//! Measured is CPU time, without reading the program. An engine that did not come to an end has taken at least what it was given: what follows from that is a bound.

use super::measure::read_program;
use super::workload::{Question, Work};
use super::{markdown, plain, workload};
use crate::flags::EnginesFlags;
use crate::guard::Bounds;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::bail;
use cpu_time::ProcessTime;
use std::time::{Duration, Instant};
use unthread_checker::base::Verdict;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::Program;
use unthread_checker::search::{Engine, Options, Progress, StopReason, Watch};

/// A check is repeated until it has taken so many seconds together, or so often, and the fastest counts: whatever else the machine does slows a check down, and nothing speeds it up.
const LONG_ENOUGH: f64 = 0.03;
const OFTEN_ENOUGH: u32 = 100;
/// Checks that take longer are not repeated at all.
const LONG: f64 = 1.0;

/// So much slower than the first engine is too slow.
const TOO_SLOW: f64 = 0.5;

/// What a check took, and how it ended.
#[derive(Clone)]
struct Time {
    seconds: f64,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Verified,
    Violation,
    /// The time was over, or there was something else in the way.
    Undecided,
}

/// How many times faster than the first engine another is.
#[derive(Clone, Copy)]
struct Ratio {
    times: f64,
    /// Which sign stands before it: it is at least this, or at most, if one of the two has not come to an end.
    bound: &'static str,
}

/// What one engine's ratios come to, folder by folder.
type Ratios = Vec<(&'static str, Ratio)>;

/// Measures, and prints the table with the geometric means below it.
pub(crate) fn engines(flags: &EnginesFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let folders = workload::FOLDERS;
    let wanted = |work: &Work| flags.programs.as_ref().is_none_or(|programs| work.label().starts_with(programs));
    let works: Vec<Work> = folders.iter().flat_map(|folder| workload::work(folder)).filter(wanted).collect();
    if works.is_empty() {
        bail!("nothing of that name is measured; there are {}", folders.join(", "));
    }
    let header = ["program", "memory"].map(str::to_string).into_iter();
    let compared = &flags.engines[1..];
    let titles = compared.iter().map(|engine| format!("{}/{engine}", flags.engines[0]));
    let mut rows: Vec<Vec<String>> =
        vec![header.chain(flags.engines.iter().map(Engine::to_string)).chain(titles).collect()];
    let mut all: Vec<Ratios> = vec![vec![]; compared.len()];
    for work in works {
        for (row, ratios) in measure(&work, flags)? {
            rows.push(row);
            for (all, ratio) in all.iter_mut().zip(ratios) {
                all.extend(ratio.map(|ratio| (work.folder, ratio)));
            }
        }
        if interrupted() {
            break;
        }
    }
    terminal.print(&if flags.markdown { markdown(&rows) } else { plain(&rows) })?;
    for (engine, ratios) in compared.iter().zip(&all) {
        for part in folders.iter().map(std::slice::from_ref).chain([&folders[..2], &folders[..]]) {
            let ratios: Vec<Ratio> =
                ratios.iter().filter(|ratio| part.contains(&ratio.0)).map(|ratio| ratio.1).collect();
            if !ratios.is_empty() {
                terminal.print(&format!(
                    "{engine}, {}: {}\n",
                    part.join(" and "),
                    summary(&ratios, flags.engines[0])
                ))?;
            }
        }
    }
    Ok(if interrupted() { Outcome::Inconclusive } else { Outcome::Verified })
}

/// A row of the table, and the ratios in it.
type Row = (Vec<String>, Vec<Option<Ratio>>);

/// The rows of one program: one for each memory model and question.
fn measure(work: &Work, flags: &EnginesFlags) -> anyhow::Result<Vec<Row>> {
    let folder = super::programs(flags.corpus.as_deref(), work.folder)?;
    let program = read_program(&folder, work.program, &work.defines)?;
    let mut rows = vec![];
    for &memory in work.memories.iter().filter(|memory| flags.memory.0.contains(memory)) {
        let everything = work.question == Question::Everything;
        let first = times(&program, work, memory, everything, flags);
        let finds = work.question == Question::Both && first.iter().any(|time| time.end == End::Violation);
        rows.push(row(label(work, everything), memory, &first));
        if finds {
            rows.push(row(label(work, true), memory, &times(&program, work, memory, true, flags)));
        }
    }
    Ok(rows)
}

fn label(work: &Work, everything: bool) -> String {
    work.label() + if everything { ", everything" } else { "" }
}

fn times(program: &Program, work: &Work, memory: MemoryModel, all: bool, flags: &EnginesFlags) -> Vec<Time> {
    let mut times = vec![];
    for &engine in &flags.engines {
        let mut options = Options { engine, all_violations: all, ..Options::new(memory) };
        options.rules.max_buffer = super::measure::MAX_BUFFER;
        times.push(time(program, &format!("{}: {memory}: {engine}", work.label()), &options, flags));
    }
    times
}

/// What a check takes.
fn time(program: &Program, label: &str, options: &Options, flags: &EnginesFlags) -> Time {
    let (mut fastest, mut sum) = (f64::INFINITY, 0.0);
    for n_runs in 1.. {
        let stopwatch = Stopwatch::start(label.to_string(), Bounds::default(), None);
        let watch = Limited {
            stopwatch: &stopwatch,
            begun: Instant::now(),
            started: ProcessTime::now(),
            limit: flags.max_time,
        };
        let report = engines::check(program, options, &watch);
        let taken = watch.started.elapsed();
        stopwatch.stop();
        let end = match (&report.stop, report.verdict()) {
            (StopReason::Exhausted | StopReason::Violation, Verdict::Verified) => End::Verified,
            (StopReason::Exhausted | StopReason::Violation, Verdict::Violation) => End::Violation,
            _ => End::Undecided,
        };
        // Between two looks at the clock it may have gone on for longer; that is no achievement of the others.
        let taken = if end == End::Undecided { taken.min(flags.max_time) } else { taken };
        sum += taken.as_secs_f64();
        fastest = f64::min(fastest, taken.as_secs_f64());
        let is_measured = (sum >= LONG_ENOUGH && n_runs >= 3) || n_runs >= OFTEN_ENOUGH || sum >= LONG;
        if is_measured || interrupted() {
            return Time { seconds: fastest, end };
        }
    }
    unreachable!("it was often enough")
}

/// Ends a check when it has used so much of a processor.
struct Limited<'s> {
    stopwatch: &'s Stopwatch<'s>,
    begun: Instant,
    started: ProcessTime,
    limit: Duration,
}

impl Watch for Limited<'_> {
    fn look(&self, progress: &Progress) -> Option<StopReason> {
        // A single thread uses no more of a processor than time has passed, and that is quicker to find out.
        let is_over = || self.begun.elapsed() >= self.limit && self.started.elapsed() >= self.limit;
        self.stopwatch.look(progress).or_else(|| is_over().then_some(StopReason::TimeLimit))
    }

    fn stop(&self) -> Option<StopReason> {
        self.stopwatch.stop()
    }
}

fn row(label: String, memory: MemoryModel, times: &[Time]) -> (Vec<String>, Vec<Option<Ratio>>) {
    let ratios: Vec<Option<Ratio>> = times[1..].iter().map(|time| Ratio::new(&times[0], time)).collect();
    let shown = ratios.iter().map(|ratio| ratio.map_or("-".to_string(), |ratio| ratio.show()));
    let cells = [label, memory.to_string()].into_iter().chain(times.iter().map(Time::show)).chain(shown);
    (cells.collect(), ratios)
}

impl Time {
    /// Milliseconds; `>` if there was no verdict.
    fn show(&self) -> String {
        let more = if self.end == End::Undecided { ">" } else { "" };
        format!("{more}{:.3}", 1000.0 * self.seconds)
    }
}

impl Ratio {
    /// Nothing if neither has come to an end.
    fn new(first: &Time, other: &Time) -> Option<Ratio> {
        let bound = match (first.end == End::Undecided, other.end == End::Undecided) {
            (false, false) => "",
            (true, false) => ">",
            (false, true) => "<",
            (true, true) => return None,
        };
        Some(Ratio { times: first.seconds / other.seconds, bound })
    }

    fn show(self) -> String {
        format!("{}{:.*}", self.bound, if self.times < 10.0 { 2 } else { 0 }, self.times)
    }
}

/// The geometric mean, and how many are too slow.
fn summary(ratios: &[Ratio], first: Engine) -> String {
    let mean = (ratios.iter().map(|ratio| ratio.times.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
    let slower = ratios.iter().filter(|ratio| ratio.times < TOO_SLOW).count();
    let bounds = ratios.iter().filter(|ratio| !ratio.bound.is_empty()).count();
    format!(
        "{mean:.1} times faster than {first} (geometric mean of {}, {bounds} of them bounds), {slower} more than 2 times slower",
        ratios.len()
    )
}
