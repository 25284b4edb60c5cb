//! `unthread check`.

use crate::flags::CheckFlags;
use crate::input;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use unthread_checker::execution::MemoryModel;
use unthread_checker::explore::{self, Options};
use unthread_checker::program::Program;
use unthread_checker::report::json::json;
use unthread_checker::report::text::Text;
use unthread_checker::schedule::Schedule;

/// Checks every file under every memory model that was asked for.
pub(crate) fn run(flags: &CheckFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let mut worst = Outcome::Verified;
    for file in &flags.files {
        let Some(mut program) = input::program(file, &flags.defines, terminal) else {
            worst = Outcome::BadInput;
            continue;
        };
        if flags.races {
            program.make_plain();
        }
        for &memory in &flags.memory.0 {
            worst = worst.max(check(file, &program, memory, flags, terminal)?);
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
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let options = Options {
        engine: flags.engine(),
        all_violations: flags.all_violations,
        count_histories: flags.histories,
        jobs: flags.jobs.into(),
        ..flags.limits.options(memory)
    };
    let stopwatch = Stopwatch::start(format!("{file}: {memory}"), flags.limits.max_time);
    let report = explore::check(program, &options, &stopwatch);
    let seconds = Some(stopwatch.stop());
    let replay_command = |schedule: &Schedule| replay_command(schedule, file, memory, flags);
    let shown = if flags.json {
        serde_json::to_string(&json(program, options.rules, &report, seconds))? + "\n"
    } else {
        let (rules, style) = (options.rules, terminal.style());
        Text { program, memory, rules, style, replay_command: &replay_command }.report(&report, seconds)
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
    // Only a NUL cannot be quoted, and no argument holds one.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
