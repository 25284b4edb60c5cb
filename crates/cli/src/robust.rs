//! `unthread robust` and `unthread fences`.

use crate::flags::{FencesFlags, FencesFor, RobustCommandFlags, RobustFlags};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use crate::{input, replay};
use unthread_checker::base::Schedule;
use unthread_checker::program::Program;
use unthread_checker::report::robustness::{fences_json, robustness_json};
use unthread_checker::report::text::Text;
use unthread_checker::robustness;
use unthread_checker::robustness::{Answer, FenceOptions, Purpose};

/// Says of every file whether it is robust.
pub(crate) fn robust(command: &RobustCommandFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let flags = &command.what;
    let decide = if command.graph { robustness::robust_by_graph } else { robustness::robust };
    for_each(flags, terminal, |file, program| {
        let stopwatch = Stopwatch::start(format!("{file}: robustness"), flags.limits.resources.bounds(), None);
        let found = decide(program, flags.memory, &flags.limits.limits(), &stopwatch);
        let seconds = stopwatch.stop();
        let shown = if flags.json {
            serde_json::to_string(&robustness_json(program, flags.memory, &found, seconds))? + "\n"
        } else {
            text(program, file, flags, terminal, |text| text.robustness(&found, seconds))
        };
        terminal.print(&shown)?;
        Ok(match found.answer {
            Answer::Robust => Outcome::Verified,
            Answer::NotRobust(_) => Outcome::Violation,
            Answer::Unknown(_) => Outcome::Inconclusive,
        })
    })
}

/// Finds fences for every file.
pub(crate) fn fences(flags: &FencesFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let FencesFlags { what, aim, all, orderings } = flags;
    let purpose = match aim {
        FencesFor::Robustness => Purpose::Robustness,
        FencesFor::Correctness => Purpose::Correctness,
    };
    for_each(what, terminal, |file, program| {
        let stopwatch = Stopwatch::start(format!("{file}: fences"), what.limits.resources.bounds(), None);
        let (all, orderings, limits) = (*all, *orderings, what.limits.limits());
        let options = FenceOptions { memory: what.memory, purpose, all, orderings, limits };
        let found = robustness::fences(program, &options, &stopwatch);
        let seconds = stopwatch.stop();
        let shown = if what.json {
            serde_json::to_string(&fences_json(program, what.memory, purpose, &found, seconds))? + "\n"
        } else {
            text(program, file, what, terminal, |text| text.fences(purpose, &found, seconds))
        };
        terminal.print(&shown)?;
        Ok(match (found.sets.is_empty(), found.verified) {
            (true, _) => Outcome::Violation,
            (false, true) => Outcome::Verified,
            (false, false) => Outcome::Inconclusive,
        })
    })
}

fn for_each(
    flags: &RobustFlags,
    terminal: &Terminal,
    answer: impl Fn(&str, &Program) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    let mut worst = Outcome::Verified;
    for file in &flags.files {
        worst = worst.max(match input::program(file, &flags.defines, terminal) {
            Some(program) => answer(file, &program)?,
            None => Outcome::BadInput,
        });
        if interrupted() {
            return Ok(worst.max(Outcome::Inconclusive));
        }
    }
    Ok(worst)
}

fn text(
    program: &Program,
    file: &str,
    flags: &RobustFlags,
    terminal: &Terminal,
    write: impl FnOnce(&Text<'_>) -> String,
) -> String {
    let memory = flags.memory;
    let replay_command = |schedule: &Schedule| replay::command(schedule, file, memory, &flags.defines, false);
    let (rules, style) = (memory.rules(), terminal.style());
    write(&Text { program, memory, rules, style, replay_command: &replay_command })
}
