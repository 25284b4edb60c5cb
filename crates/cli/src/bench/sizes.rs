//! `unthread bench sizes`: what a check takes as a constant of the program grows, engine by engine, as a table and as curves.

use super::plain;
use crate::flags::SizesFlags;
use crate::guard::Bounds;
use crate::input;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::Context;
use unthread_checker::engines;
use unthread_checker::program::Program;
use unthread_checker::report::page::{JsonPlot, JsonSeries, Page};
use unthread_checker::search::{Engine, Options, Report, StopReason};

/// Measures, prints the table, and writes the page if one is wanted.
pub(crate) fn sizes(flags: &SizesFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let (name, low, high) = &flags.constant;
    let header = [name.as_str(), "engine", "executions", "states", "seconds", "end"];
    let mut rows = vec![header.map(str::to_string).to_vec()];
    let mut curves = Curves::new(&flags.engines);
    for size in *low..*high {
        let Some(program) = input::program(&flags.file, &[(name.clone(), size)], terminal) else {
            return Ok(Outcome::BadInput);
        };
        for (at, &engine) in flags.engines.iter().enumerate() {
            // An engine that was too slow for a size is not asked about the next.
            if interrupted() || curves.has_given_up(at) {
                continue;
            }
            let (report, seconds) = measure(&program, engine, flags);
            rows.push(row(size, &report, seconds));
            curves.add(at, size, &report, seconds);
        }
    }
    terminal.print(&plain(&rows))?;
    if let Some(file) = &flags.html {
        let title = format!("{} as {name} grows, under {}", flags.file, flags.memory.to_string().to_uppercase());
        let page = Page { title: title.clone(), plots: curves.plots(&title, name), ..Page::default() };
        std::fs::write(file, page.html()).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(if interrupted() { Outcome::Inconclusive } else { Outcome::Verified })
}

fn measure(program: &Program, engine: Engine, flags: &SizesFlags) -> (Report, f64) {
    let options = Options { engine, all_violations: true, ..Options::new(flags.memory) };
    let stopwatch = Stopwatch::start(format!("{}: {engine}", flags.file), Bounds::of_time(flags.max_time), None);
    let report = engines::check(program, &options, &stopwatch);
    (report, stopwatch.stop())
}

fn row(size: i64, report: &Report, seconds: f64) -> Vec<String> {
    let statistics = &report.statistics;
    vec![
        size.to_string(),
        report.engine.to_string(),
        statistics.executions.to_string(),
        statistics.states.to_string(),
        format!("{seconds:.3}"),
        report.stop.name().to_string(),
    ]
}

/// What was measured so far, by engine.
struct Curves {
    counts: Vec<JsonSeries>,
    seconds: Vec<JsonSeries>,
    given_up: Vec<bool>,
}

impl Curves {
    fn new(engines: &[Engine]) -> Curves {
        let series = |engine: &Engine| JsonSeries { name: engine.to_string(), points: Vec::new() };
        let empty: Vec<JsonSeries> = engines.iter().map(series).collect();
        Curves { counts: empty.clone(), seconds: empty, given_up: vec![false; engines.len()] }
    }

    fn has_given_up(&self, at: usize) -> bool {
        self.given_up[at]
    }

    /// Engines that visit states are measured by these, others by their executions.
    fn add(&mut self, at: usize, size: i64, report: &Report, seconds: f64) {
        if report.stop != StopReason::Exhausted {
            self.given_up[at] = true;
            return;
        }
        let count = report.statistics.states.max(report.statistics.executions);
        self.counts[at].points.push((size as f64, count as f64));
        self.seconds[at].points.push((size as f64, seconds));
    }

    fn plots(self, title: &str, constant: &str) -> Vec<JsonPlot> {
        let plot = |what: &str, y: &str, series: Vec<JsonSeries>| JsonPlot {
            title: format!("{what}: {title}"),
            x: constant.to_string(),
            y: y.to_string(),
            series,
        };
        vec![plot("States or executions", "count", self.counts), plot("Seconds", "seconds", self.seconds)]
    }
}
