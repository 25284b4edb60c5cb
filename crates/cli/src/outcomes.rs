//! `unthread outcomes`: every final state of a program, and whether a memory model makes a difference.

use crate::flags::OutcomesFlags;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use crate::{input, replay};
use anyhow::{anyhow, bail};
use unthread_checker::base::Schedule;
use unthread_checker::engines;
use unthread_checker::engines::learning::cumulative;
use unthread_checker::engines::learning::cumulative::Comparison;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::{FinalState, Program};
use unthread_checker::report::text::{Text, engine_failures, why_stopped};
use unthread_checker::search;
use unthread_checker::search::{Coverage, Options, StopReason, ViolationKind};

/// Lists the final states of every file under every memory model that was asked for.
pub(crate) fn run(flags: &OutcomesFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let mut worst = Outcome::Verified;
    let compares = flags.compare.is_some();
    if compares && flags.memory.0.iter().all(|memory| memory.is_language()) {
        bail!("`--compare` compares machines, and {} is none: say `--memory sc`, `tso` or `pso`", flags.memory.0[0]);
    }
    for file in &flags.files {
        let Some(program) = input::program(file, &flags.defines, terminal) else {
            worst = Outcome::BadInput;
            continue;
        };
        for &memory in flags.memory.0.iter().filter(|memory| !(compares && memory.is_language())) {
            worst = worst.max(match flags.compare {
                Some(other) => compare(file, &program, [memory, other], flags, terminal)?,
                None => list(file, &program, memory, flags, terminal)?,
            });
            if interrupted() {
                return Ok(worst.max(Outcome::Inconclusive));
            }
        }
    }
    Ok(worst)
}

fn list(
    file: &str,
    program: &Program,
    memory: MemoryModel,
    flags: &OutcomesFlags,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    // All final states are wanted, also when something is wrong with one of them.
    let (engine, coverage) = (flags.engine, Coverage::FinalStates);
    let options = Options { engine, coverage, all_violations: true, ..flags.limits.options(memory) };
    let stopwatch = Stopwatch::start(format!("{file}: {memory}"), flags.limits.resources.bounds(), None);
    let report = engines::check(program, &options, &stopwatch);
    stopwatch.stop();
    let complete = report.stop == StopReason::Exhausted;
    for failed in engine_failures(&report) {
        terminal.warning(&format!("{file}: {memory}: {failed}"));
    }
    let failure = report.violations.iter().find(|violation| violation.kind != ViolationKind::Condition);
    if let Some(failure) = failure {
        let what = format!("{}: {}", failure.kind.name(), failure.message);
        terminal.warning(&format!("{file}: {memory}: some executions do not come to a final state: {what}"));
    }
    let count = match report.final_states.len() {
        1 => "1 final state".to_string(),
        n => format!("{n} final states"),
    };
    let mut text = format!("{file}: {memory}: {count}");
    if !complete {
        let (why, advice) = why_stopped(&report.stop, &report.statistics, options.rules);
        text += &format!(" so far; {why}; {advice}");
    }
    text.push('\n');
    for state in &report.final_states {
        text += &format!("  {}\n", describe(program, state));
    }
    terminal.print(&text)?;
    Ok(if complete { Outcome::Verified } else { Outcome::Inconclusive })
}

/// Says whether more can happen under the first memory model than under the second.
fn compare(
    file: &str,
    program: &Program,
    [memory, other]: [MemoryModel; 2],
    flags: &OutcomesFlags,
    terminal: &Terminal,
) -> anyhow::Result<Outcome> {
    let options = flags.limits.options(memory);
    let stopwatch = Stopwatch::start(format!("{file}: {memory}"), flags.limits.resources.bounds(), None);
    let comparison = cumulative::compare(program, &options, other, &stopwatch);
    stopwatch.stop();
    let (text, outcome) = match comparison {
        Comparison::Same(1) => (format!("the same as under {other}: 1 combination of histories\n"), Outcome::Verified),
        Comparison::Same(n) => {
            (format!("the same as under {other}: {n} combinations of histories\n"), Outcome::Verified)
        }
        Comparison::Differs(difference) => {
            let (rules, style) = (memory.rules().unbounded(), terminal.style());
            let replayed = search::replay(program, rules, &difference.schedule)
                .map_err(|error| anyhow!("the difference does not replay: {error}"))?;
            let command = |schedule: &Schedule| replay::command(schedule, file, memory, &flags.defines, false);
            let execution = Text { program, memory, rules, style, replay_command: &command }.execution(&replayed);
            let replay = command(&difference.schedule);
            let text =
                format!("not the same as under {other}, where this cannot happen\n{execution}replay: {replay}\n");
            (text, Outcome::Violation)
        }
        Comparison::Unknown(stop) => {
            let (why, advice) = why_stopped(&stop, &Default::default(), options.rules);
            (format!("not compared with {other}; {why}; {advice}\n"), Outcome::Inconclusive)
        }
    };
    terminal.print(&format!("{file}: {memory}: {text}"))?;
    Ok(outcome)
}

/// All that a final state says, in the order of the program.
fn describe(program: &Program, state: &FinalState) -> String {
    let cells = program.cells.iter().zip(&state.cells).map(|(cell, &value)| (cell.name.clone(), value));
    let heap = state.heap.iter().map(|&(loc, value)| (program.loc_name(loc), value));
    let registers = program.initial.iter().zip(&state.registers).flat_map(|(start, values)| {
        let routine = &program.routines[start.routine];
        let names = routine.observed.iter().map(|reg| &routine.registers[reg.0 as usize]);
        names.zip(values).map(|(name, &value)| (format!("{}.{name}", start.name), value))
    });
    let parts = cells.chain(heap).chain(registers);
    let parts: Vec<String> = parts.map(|(name, value)| format!("{name} = {}", program.value_name(value))).collect();
    parts.join(", ")
}
