//! `unthread check`.

use crate::dump::Dump;
use crate::flags::{CheckFlags, CoverageFlag};
use crate::input;
use crate::outcome::Outcome;
use crate::outputs::Outputs;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::bail;
use unthread_checker::base::Schedule;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::Program;
use unthread_checker::report::json::{JsonReport, json};
use unthread_checker::report::text::Text;
use unthread_checker::search::{Engine, Monitor, Options};
use unthread_checker::simplest;

/// Checks every file under every memory model that was asked for.
pub(crate) fn run(flags: &CheckFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let mut worst = Outcome::Verified;
    flags.require_fit()?;
    let asks_a_solver = flags.predict || flags.engine().asks_solver();
    if flags.dump_smt2.is_some() && !asks_a_solver {
        bail!("`--dump-smt2` needs an engine that asks a solver: {}", Engine::flags_of(Engine::asks_solver));
    }
    let is_about_machines = flags.monitor.is_some() || flags.predict;
    if is_about_machines && flags.memory.0.iter().all(|memory| memory.is_language()) {
        let flag = if flags.predict { "--predict" } else { "--monitor" };
        bail!("`{flag}` is about machines, and {} is none: say `--memory sc`, `tso` or `pso`", flags.memory.0[0]);
    }
    if let Some(monitor) = flags.monitor {
        require_watchable(monitor, flags)?;
    }
    let dump = flags.dump_smt2.as_deref().map(Dump::into).transpose()?;
    let mut outputs = Outputs::new(flags);
    for file in &flags.files {
        let Some(mut program) = input::program(file, &flags.defines, terminal) else {
            worst = Outcome::BadInput;
            continue;
        };
        if flags.races {
            program.make_plain();
        }
        let concerns = |memory: &&MemoryModel| {
            (flags.monitor.is_none() || **memory != MemoryModel::Sc) && !(is_about_machines && memory.is_language())
        };
        for &memory in flags.memory.0.iter().filter(concerns) {
            worst = worst.max(check(file, &program, memory, flags, dump.as_ref(), &mut outputs, terminal)?);
            if interrupted() {
                outputs.write()?;
                return Ok(worst.max(Outcome::Inconclusive));
            }
        }
    }
    outputs.write()?;
    Ok(worst)
}

/// A monitor needs executions to watch, and stores that could wait.
fn require_watchable(monitor: Monitor, flags: &CheckFlags) -> anyhow::Result<()> {
    let (name, engine) = (monitor.name(), flags.engine());
    if flags.memory.0 == [MemoryModel::Sc] {
        bail!("`--monitor {name}` asks whether tso or pso differ from sc: say which with `--memory`");
    }
    if !engine.runs_executions() {
        let runs: Vec<&str> =
            Engine::ALL.into_iter().filter(|engine| engine.runs_executions()).map(Engine::name).collect();
        bail!(
            "`--monitor {name}` watches executions, and engine `{engine}` does not run one for each trace; {} do",
            runs.join(", ")
        );
    }
    Ok(())
}

fn check(
    file: &str,
    program: &Program,
    memory: MemoryModel,
    flags: &CheckFlags,
    dump: Option<&Dump>,
    outputs: &mut Outputs<'_>,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let options = Options {
        engine: flags.engine(),
        monitor: flags.monitor,
        all_violations: flags.all_violations,
        coverage: flags.coverage.into(),
        count_histories: flags.histories || flags.coverage == CoverageFlag::States,
        jobs: flags.jobs.into(),
        ..flags.limits.options(memory)
    };
    let stopwatch = Stopwatch::start(format!("{file}: {memory}"), flags.limits.resources.bounds(), dump);
    let search = if flags.predict { engines::predict } else { engines::check };
    let mut report = search(program, &options, &stopwatch);
    stopwatch.found();
    simplest::simplify(program, &options, &mut report, &stopwatch);
    let effort = stopwatch.effort(&report.statistics);
    let progress = stopwatch.progress(&report.statistics);
    engines::look_elsewhere(program, &options, &mut report, &stopwatch);
    let seconds = Some(stopwatch.stop());
    dump.map_or(Ok(()), Dump::result)?;
    let replay_command = |schedule: &Schedule| replay_command(schedule, file, memory, flags);
    let object = || {
        let mut object = json(program, options.rules, &report, seconds);
        for (shown, found) in object.violations.iter_mut().zip(&report.violations) {
            shown.replay = Some(replay_command(&found.schedule));
        }
        object
    };
    if outputs.wanted() {
        outputs.add(program, &options, &report, JsonReport { effort: effort.clone(), ..object() }, progress);
    }
    let effort = effort.filter(|_| flags.stats);
    let shown = if flags.json {
        serde_json::to_string(&JsonReport { effort, ..object() })? + "\n"
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
    crate::replay::command(schedule, file, memory, &flags.defines, flags.races)
}
