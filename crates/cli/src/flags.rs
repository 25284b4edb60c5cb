//! The command line.

mod bench;
mod limits;
mod values;

pub(crate) use bench::{BenchCommand, EnginesFlags, PapersFlags, SatcheckFlags, SizesFlags};
pub(crate) use limits::{LimitFlags, SearchFlags};
pub(crate) use values::Memories;

use anyhow::bail;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use unthread_checker::base::Schedule;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Coverage, Engine, Monitor};
use values::{any_memory, define, engine, memories, memory, monitor};

const ABOUT: &str = "Checks concurrent programs exhaustively under SC, TSO, PSO, C++20 (Rust) and RC11";

const EXIT_CODES: &str = "\
Exit codes (of several results, the most serious: 2, then 1, then 3, then 0):
  0  verified: everything that can happen was covered, and nothing is wrong
  1  violation: something is wrong, and a schedule shows it
  2  bad input: a file, a flag or a schedule is not what it should be
  3  inconclusive: nothing wrong was seen, but not everything was covered";

const EXAMPLES: &str = "\
Examples:
  unthread check dekker.ut                      x86 (TSO), everything
  unthread check dekker.ut --memory all         under every memory model, side by side
  unthread check dekker.ut --memory rust        what Rust promises: C++20
  unthread check ring.ut -D N=3 --max-time 2m   another size, at most two minutes
  unthread check dekker.ut --json | jq .verdict for programs
  unthread check dekker.ut --html report.html   to look at in a browser
  unthread replay 0x2.1x3.0f dekker.ut          see one execution, step by step
  unthread litmus sb.litmus                     a litmus test: final states side by side
  unthread litmus tests/ --memory tso           many of them, as herd prints them";

/// Everything that can be said on the command line.
#[derive(Debug, Parser)]
#[command(name = "unthread", version, about = ABOUT, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Whether to colour the output; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check programs: assertions, deadlocks, data races, conditions on final states
    #[command(after_help = EXIT_CODES)]
    Check(CheckFlags),
    /// Run litmus tests and show their final states
    #[command(after_help = "Exit codes: 0 every test was run, 2 bad input, 3 some search did not end.\n\
        Whether a condition holds is printed and does not change the exit code; `unthread check` judges conditions.")]
    Litmus(LitmusFlags),
    /// Does the program do under TSO exactly what it does under SC? If not, shows an execution that SC does not have
    #[command(after_help = "Exit codes: 0 robust, 1 not robust, 2 bad input, 3 inconclusive.")]
    Robust(RobustCommandFlags),
    /// Find the smallest set of fences that makes the program robust, or correct
    #[command(
        after_help = "Exit codes: 0 fences were found and checked (or none are needed), 1 no fences help, 2 bad input, 3 inconclusive."
    )]
    Fences(FencesFlags),
    /// List the final states of programs
    #[command(after_help = "Exit codes: 0 all are listed, 2 bad input, 3 some search did not end.")]
    Outcomes(OutcomesFlags),
    /// Follow one schedule and show each step
    #[command(after_help = "Exit codes: 0 nothing is wrong along the schedule, 1 something is, 2 bad input.")]
    Replay(ReplayFlags),
    /// Measure, and print published numbers beside ours
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Print a script that completes this command's flags in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// Program files (.ut) and litmus tests (.litmus); `-` is a program on standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The memory model. The default, tso, is what x86 machines do: the weakest one that most programs meet, and
    /// every execution of sc is one of tso
    #[arg(long, default_value = "tso", value_parser = memories())]
    pub(crate) memory: Memories,
    /// How to search: `auto` if nothing is said, and `dpor` with a monitor
    #[arg(long, value_parser = engine())]
    engine: Option<Engine>,
    /// Run sc executions only and watch them: `store-buffers` reports that the memory model has executions that sc does not have, and which
    /// store waits for that. If it has none, what is verified is verified for the memory model
    #[arg(long, value_parser = monitor(), conflicts_with = "predict")]
    pub(crate) monitor: Option<Monitor>,
    /// For `icb`: the most preemptions of an execution
    #[arg(long, value_name = "N")]
    preemptions: Option<u32>,
    /// For `icb`: run one execution for each trace (partial order reduction) instead of visiting each state once
    #[arg(long)]
    pub(crate) traces: bool,
    /// For `random` and `pct`: equal seeds give equal executions
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// For `pct`: how many ordering constraints a bug may need
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Set a constant of the program
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub(crate) defines: Vec<(String, i64)>,
    /// Print one JSON object per file and memory model (docs/report-format.md)
    #[arg(long)]
    pub(crate) json: bool,
    /// Write one self-contained page: the execution step by step, and what was covered
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the execution graph of each violation for GraphViz
    #[arg(long, value_name = "FILE")]
    pub(crate) dot: Option<PathBuf>,
    /// Write a summary for continuous integration, as JUnit does
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Find everything that is wrong instead of stopping at the first
    #[arg(long)]
    pub(crate) all_violations: bool,
    /// What has to be covered: `behaviours`, everything that any thread can do and everything that can go wrong; `states`, every
    /// combination of what all threads do, and every final state
    #[arg(long, value_enum, default_value_t = CoverageFlag::Behaviours, value_name = "WHAT")]
    pub(crate) coverage: CoverageFlag,
    /// Count the combinations of thread histories, however long it takes
    #[arg(long)]
    pub(crate) histories: bool,
    /// Report data races on every shared variable, as if all were declared plain
    #[arg(long)]
    pub(crate) races: bool,
    #[arg(help = format!("Workers, for {}", Engine::flags_of(Engine::shares_work)), short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Run one execution and report everything wrong that it implies, without exploring others (with engine mcr's causality)
    #[arg(long, conflicts_with_all = ["engine", "histories"])]
    pub(crate) predict: bool,
    /// Say what the search took: questions to the solver, and where the time went
    #[arg(long)]
    pub(crate) stats: bool,
    #[arg(help = format!("Write every question to the solver as an SMT-LIB file, with {}", Engine::flags_of(Engine::asks_solver)))]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dump_smt2: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

impl CheckFlags {
    /// Refuses flags that say something to another engine than the one that searches.
    pub(crate) fn require_fit(&self) -> anyhow::Result<()> {
        let engine = self.engine();
        let (is_icb, is_pct) = (matches!(engine, Engine::Icb { .. }), matches!(engine, Engine::Pct { .. }));
        let is_random = matches!(engine, Engine::Random { .. }) || is_pct;
        let works_together = Engine::flags_of(Engine::shares_work);
        let fits = [
            (self.preemptions.is_some(), "--preemptions", is_icb, "`--engine icb`"),
            (self.traces, "--traces", is_icb, "`--engine icb`"),
            (self.seed.is_some(), "--seed", is_random, "`--engine random` or `--engine pct`"),
            (self.depth.is_some(), "--depth", is_pct, "`--engine pct`"),
            (self.jobs > 1, "--jobs", engine.shares_work(), works_together.as_str()),
        ];
        for (is_given, flag, fits, right) in fits {
            if is_given && (self.predict || !fits) {
                let search = if self.predict { "`--predict`".to_string() } else { format!("engine `{engine}`") };
                bail!("`{flag}` says nothing to {search}: it needs {right}");
            }
        }
        Ok(())
    }

    /// The engine with its parameters.
    pub(crate) fn engine(&self) -> Engine {
        let otherwise = if self.monitor.is_some() { Engine::Dpor } else { Engine::Auto };
        match self.engine.unwrap_or(otherwise) {
            Engine::Icb { preemptions, .. } => {
                Engine::Icb { preemptions: self.preemptions.unwrap_or(preemptions), traces: self.traces }
            }
            Engine::Random { seed } => Engine::Random { seed: self.seed.unwrap_or(seed) },
            Engine::Pct { seed, depth } => {
                Engine::Pct { seed: self.seed.unwrap_or(seed), depth: self.depth.unwrap_or(depth) }
            }
            engine => engine,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct LitmusFlags {
    /// Litmus tests, and folders that are searched for *.litmus
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) paths: Vec<PathBuf>,
    /// The memory model; with one, the output is as herd's
    #[arg(long, default_value = "all", value_parser = memories())]
    pub(crate) memory: Memories,
    /// How to search
    #[arg(long, default_value = "auto", value_parser = engine())]
    pub(crate) engine: Engine,
    /// Print one JSON object per file and memory model (docs/report-format.md)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct RobustFlags {
    /// Program files (.ut), litmus tests (.litmus) and automata (.trencher, .txt); `-` is a program on standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The memory model that is compared with SC
    #[arg(long, default_value = "tso", value_parser = memory())]
    pub(crate) memory: MemoryModel,
    /// Set a constant of the program
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub(crate) defines: Vec<(String, i64)>,
    /// Print one JSON object per file (docs/report-format.md)
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: SearchFlags,
}

#[derive(Debug, Args)]
pub(crate) struct RobustCommandFlags {
    #[command(flatten)]
    pub(crate) what: RobustFlags,
    /// Ask the graph of engine `cumulative` instead of searching for attacks: for loops that are bounded and do not wait
    #[arg(long)]
    pub(crate) graph: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FencesFlags {
    #[command(flatten)]
    pub(crate) what: RobustFlags,
    /// What the fences are for
    #[arg(long = "for", value_enum, default_value_t = FencesFor::Robustness, value_name = "AIM")]
    pub(crate) aim: FencesFor,
    /// Every set from which no fence can be left out, smallest first
    #[arg(long)]
    pub(crate) all: bool,
    /// Make stores seqcst, or under pso release, where that is cheaper than a fence
    #[arg(long)]
    pub(crate) orderings: bool,
}

/// What fences are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FencesFor {
    /// The program does what it does under SC
    Robustness,
    /// Assertions hold, nothing deadlocks, goals are out of reach
    Correctness,
}

#[derive(Debug, Args)]
pub(crate) struct OutcomesFlags {
    /// Program files (.ut) and litmus tests (.litmus); `-` is a program on standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// The memory model
    #[arg(long, default_value = "tso", value_parser = memories())]
    pub(crate) memory: Memories,
    /// How to search
    #[arg(long, default_value = "auto", value_parser = engine())]
    pub(crate) engine: Engine,
    /// Instead of listing: can more happen than under this memory model? Shows the first combination of what the threads see that cannot happen there
    #[arg(long, value_name = "MEMORY", value_parser = memory())]
    pub(crate) compare: Option<MemoryModel>,
    /// Set a constant of the program
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub(crate) defines: Vec<(String, i64)>,
    #[command(flatten)]
    pub(crate) limits: LimitFlags,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayFlags {
    /// The steps, as reports print them: 0 is a step of thread 0, 0x3 three of them, 1f flushes thread 1's oldest
    /// store, 1f2 the one at position 2 of its buffer, 2c5 is a step of thread 2 that chooses 5; joined by dots. Under
    /// cpp20 and rc11, 2c1 reads the newest write but one, or writes before the newest write
    pub(crate) schedule: Schedule,
    /// The program (.ut) or litmus test (.litmus); `-` is a program on standard input
    pub(crate) file: String,
    /// The memory model
    #[arg(long, default_value = "tso", value_parser = any_memory())]
    pub(crate) memory: MemoryModel,
    /// Set a constant of the program
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub(crate) defines: Vec<(String, i64)>,
    /// Report data races on every shared variable, as if all were declared plain
    #[arg(long)]
    pub(crate) races: bool,
    /// Step through it on the terminal
    #[arg(long)]
    pub(crate) step: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

/// What `--coverage` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CoverageFlag {
    Behaviours,
    States,
}

impl From<CoverageFlag> for Coverage {
    fn from(flag: CoverageFlag) -> Coverage {
        match flag {
            CoverageFlag::Behaviours => Coverage::Behaviours,
            CoverageFlag::States => Coverage::States,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Flags::command().debug_assert();
    }
}
