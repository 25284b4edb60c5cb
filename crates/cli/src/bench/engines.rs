//! `unthread bench engines`: every program of the corpus, engine by engine, and how many times faster than the first engine the others are.

use super::measure::read_program;
use super::{markdown, plain};
use crate::flags::EnginesFlags;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::Context;
use std::time::Duration;
use unthread_checker::execution::MemoryModel;
use unthread_checker::explore::{self, Engine, Options};
use unthread_checker::program::Program;
use unthread_checker::report::Verdict;
use walkdir::WalkDir;

/// Checks that are over at once are repeated until they have taken so long together.
const LONG_ENOUGH: Duration = Duration::from_millis(20);

/// Less than this is too short to be called slower or faster.
const BLINK: f64 = 0.000_2;

/// What a check took, and whether it came to a verdict.
#[derive(Clone, Copy)]
struct Time {
    seconds: f64,
    decided: bool,
}

/// Measures, and prints the table with the geometric means below it.
pub(crate) fn engines(flags: &EnginesFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let header = ["program".to_string(), "memory".to_string()].into_iter();
    let names = flags.engines.iter().map(Engine::to_string);
    let compared = flags.engines.iter().skip(1);
    let ratios = compared.clone().map(|engine| format!("{}/{engine}", flags.engines[0]));
    let mut rows: Vec<Vec<String>> = vec![header.chain(names).chain(ratios).collect()];
    let mut all: Vec<Vec<f64>> = vec![vec![]; flags.engines.len() - 1];
    let folder = super::programs(flags.corpus.as_deref(), flags.folder.as_deref().unwrap_or(""))?;
    let files = WalkDir::new(&folder).sort_by_file_name().into_iter().collect::<Result<Vec<_>, _>>();
    let files = files.with_context(|| format!("cannot read {}", folder.display()))?;
    for file in files.iter().map(walkdir::DirEntry::path).filter(|path| path.extension().is_some_and(|it| it == "ut")) {
        let name = file.strip_prefix(&folder)?.with_extension("");
        let name = name.to_string_lossy();
        let program = read_program(&folder, &name, &[])?;
        for &memory in &flags.memory.0 {
            if interrupted() {
                return Ok(Outcome::Inconclusive);
            }
            let times: Vec<Time> =
                flags.engines.iter().map(|&engine| time(&program, &name, memory, engine, flags)).collect();
            // That nobody comes to a verdict says nothing about speed.
            if !times.iter().any(|time| time.decided) {
                continue;
            }
            let ratios = times[1..].iter().map(|time| times[0].seconds.max(BLINK) / time.seconds.max(BLINK));
            let ratios: Vec<f64> = ratios.collect();
            all.iter_mut().zip(&ratios).for_each(|(all, &ratio)| all.push(ratio));
            let cells = [name.to_string(), memory.to_string()].into_iter().chain(times.iter().map(Time::show));
            rows.push(cells.chain(ratios.iter().map(|ratio| format!("{ratio:.1}"))).collect());
        }
    }
    terminal.print(&if flags.markdown { markdown(&rows) } else { plain(&rows) })?;
    for (engine, ratios) in compared.zip(&all) {
        terminal.print(&format!("{engine}: {}\n", summary(ratios, flags.engines[0])))?;
    }
    Ok(Outcome::Verified)
}

/// What a check takes. The first error is enough.
fn time(program: &Program, name: &str, memory: MemoryModel, engine: Engine, flags: &EnginesFlags) -> Time {
    let options = Options { engine, ..Options::new(memory) };
    let (mut n_runs, mut seconds) = (0, 0.0);
    loop {
        let stopwatch = Stopwatch::start(format!("{name}: {memory}: {engine}"), Some(flags.max_time), None);
        let report = explore::check(program, &options, &stopwatch);
        seconds += stopwatch.stop();
        n_runs += 1;
        if seconds >= LONG_ENOUGH.as_secs_f64() || interrupted() {
            let decided = matches!(report.verdict(), Verdict::Verified | Verdict::Violation);
            return Time { seconds: seconds / f64::from(n_runs), decided };
        }
    }
}

impl Time {
    /// `>` if there was no verdict: the time was over, or something else.
    fn show(&self) -> String {
        format!("{}{:.4}", if self.decided { "" } else { ">" }, self.seconds)
    }
}

/// The geometric mean, and how many are the wrong way round.
fn summary(ratios: &[f64], first: Engine) -> String {
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
    let slower = ratios.iter().filter(|&&ratio| ratio < 0.5).count();
    format!(
        "{mean:.1} times faster than {first} (geometric mean of {}), {slower} more than 2 times slower",
        ratios.len()
    )
}
