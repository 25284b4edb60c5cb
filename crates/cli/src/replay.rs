//! `unthread replay`.

use crate::flags::ReplayFlags;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::{input, step};
use anyhow::{anyhow, bail};
use std::io;
use std::io::IsTerminal;
use unthread_checker::base::Schedule;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::report::json::Story;
use unthread_checker::report::text::Text;

/// Follows the schedule and shows what happens.
pub(crate) fn run(flags: &ReplayFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let Some(mut program) = input::program(&flags.file, &flags.defines, terminal) else {
        return Ok(Outcome::BadInput);
    };
    if flags.races {
        program.make_plain();
    }
    let rules = flags.memory.rules().unbounded();
    let replay = engines::replay(&program, flags.memory, rules, &flags.schedule).map_err(|error| {
        anyhow!("the schedule does not fit {} under {}: {error}", program.source.name, flags.memory)
    })?;
    if flags.schedule.0.is_empty() && replay.violations.is_empty() {
        bail!(
            "the schedule is empty, and nothing is wrong before the first step; reports print schedules such as 0x2.1x3.0f"
        );
    }
    let (memory, style) = (flags.memory, terminal.style());
    let text = Text { program: &program, memory, rules, style, replay_command: &|schedule| schedule.to_string() };
    if flags.step {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            bail!("`--step` needs a terminal");
        }
        let outcome = replay.violations.first().map_or("nothing is wrong so far", |violation| &violation.message);
        step::run(&program.source, &Story::of(&program, &replay.trace), outcome)?;
    } else {
        terminal.print(&text.replay(&replay))?;
    }
    Ok(if replay.violations.is_empty() { Outcome::Verified } else { Outcome::Violation })
}

/// The command line that shows a schedule again.
pub(crate) fn command(
    schedule: &Schedule,
    file: &str,
    memory: MemoryModel,
    defines: &[(String, i64)],
    races: bool,
) -> String {
    let mut words: Vec<String> = ["unthread", "replay"].map(str::to_string).to_vec();
    words.extend([schedule.to_string(), file.to_string(), "--memory".to_string(), memory.to_string()]);
    for (name, value) in defines {
        words.extend(["-D".to_string(), format!("{name}={value}")]);
    }
    words.extend(races.then(|| "--races".to_string()));
    // Only a NUL cannot be quoted, and no argument holds one.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
