//! `unthread check`.

use crate::dump::Dump;
use crate::flags::{CheckFlags, CoverageFlag};
use crate::input;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::bail;
use unthread_checker::execution::MemoryModel;
use unthread_checker::explore::{self, Engine, Options};
use unthread_checker::program::Program;
use unthread_checker::report::json::{JsonReport, json};
use unthread_checker::report::text::Text;
use unthread_checker::schedule::Schedule;

/// Checks every file under every memory model that was asked for.
pub(crate) fn run(flags: &CheckFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let mut worst = Outcome::Verified;
    let asks_a_solver = flags.predict || flags.engine() == Engine::Mcr;
    if flags.dump_smt2.is_some() && !asks_a_solver {
        bail!("`--dump-smt2` needs an engine that asks a solver: `--engine mcr`");
    }
    let dump = flags.dump_smt2.as_deref().map(Dump::into).transpose()?;
    for file in &flags.files {
        let Some(mut program) = input::program(file, &flags.defines, terminal) else {
            worst = Outcome::BadInput;
            continue;
        };
        if flags.races {
            program.make_plain();
        }
        for &memory in &flags.memory.0 {
            worst = worst.max(check(file, &program, memory, flags, dump.as_ref(), terminal)?);
            if interrupted() {
                return Ok(worst.max(Outcome::Inconclusive));
            }
        }
    }
    Ok(worst)
}

fn check(
    file: &str,
    program: &Program,
    memory: MemoryModel,
    flags: &CheckFlags,
    dump: Option<&Dump>,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let options = Options {
        engine: flags.engine(),
        all_violations: flags.all_violations,
        coverage: flags.coverage.into(),
        count_histories: flags.histories || flags.coverage == CoverageFlag::States,
        jobs: flags.jobs.into(),
        ..flags.limits.options(memory)
    };
    let stopwatch = Stopwatch::start(format!("{file}: {memory}"), flags.limits.max_time, dump);
    let search = if flags.predict { explore::predict } else { explore::check };
    let report = search(program, &options, &stopwatch);
    let effort = flags.stats.then(|| stopwatch.effort(&report.statistics)).flatten();
    let seconds = Some(stopwatch.stop());
    dump.map_or(Ok(()), Dump::result)?;
    let replay_command = |schedule: &Schedule| replay_command(schedule, file, memory, flags);
    let shown = if flags.json {
        let object = JsonReport { effort, ..json(program, options.rules, &report, seconds) };
        serde_json::to_string(&object)? + "\n"
    } else {
        let (rules, style) = (options.rules, terminal.style());
        let text = Text { program, memory, rules, style, replay_command: &replay_command };
        text.report(&report, seconds) + &effort.map_or(String::new(), |effort| text.effort(&effort))
    };
    terminal.print(&shown)?;
    Ok(report.verdict().into())
}

/// The command line that shows a schedule of this check again.
fn replay_command(schedule: &Schedule, file: &str, memory: MemoryModel, flags: &CheckFlags) -> String {
    let mut words: Vec<String> = ["unthread", "replay"].map(str::to_string).to_vec();
    words.extend([schedule.to_string(), file.to_string(), "--memory".to_string(), memory.to_string()]);
    for (name, value) in &flags.defines {
        words.extend(["-D".to_string(), format!("{name}={value}")]);
    }
    words.extend(flags.races.then(|| "--races".to_string()));
    // Only a NUL cannot be quoted, and no argument holds one.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
