//! The flags of `unthread bench`.

use super::values::{Memories, duration, engine, memories, memory, range};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::Engine;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The tables of the papers on maximal causality reduction, with the executions and times of engine mcr
    Papers(PapersFlags),
    /// The table of the paper on store buffer safety, with engine icb and the monitor `store-buffers`
    Sober(PapersFlags),
    /// What a check takes as a constant of the program grows, as a table and as curves
    Sizes(SizesFlags),
    /// Every program of the corpus, engine by engine: times, and how many times faster than the first engine the others are
    Engines(EnginesFlags),
    /// The benchmarks of SATCheck: the largest size of each that is verified in a given time
    Satcheck(SatcheckFlags),
    /// The curves of the paper on lazy TSO reachability, with the times of engine lazy
    Trencher(PapersFlags),
}

#[derive(Debug, Args)]
pub(crate) struct SizesFlags {
    /// The program (.ut)
    pub(crate) file: String,
    /// The constant and its values: N=1..6 is 1 to 5
    #[arg(value_parser = range)]
    pub(crate) constant: (String, i64, i64),
    /// The memory model
    #[arg(long, default_value = "tso", value_parser = memory())]
    pub(crate) memory: MemoryModel,
    /// Engines, joined by commas
    #[arg(long, value_delimiter = ',', default_value = "exhaustive,mcr,dpor", value_parser = engine())]
    pub(crate) engines: Vec<Engine>,
    /// Time per size and engine: 30, 30s, 2m, 1h, 500ms
    #[arg(long, value_name = "SECONDS", default_value = "10s", value_parser = duration)]
    pub(crate) max_time: Duration,
    /// Write a page with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct EnginesFlags {
    /// How the names of programs begin: papers, peers/fib, ...; if it is not given, all of them
    pub(crate) programs: Option<String>,
    /// Print the table in Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// The folder with the programs; if it is not given, `corpus` here or in a folder around
    #[arg(long, value_name = "FOLDER")]
    pub(crate) corpus: Option<PathBuf>,
    /// Memory models
    #[arg(long, default_value = "all", value_parser = memories())]
    pub(crate) memory: Memories,
    /// Engines, joined by commas: the first is the one that the others are compared with
    #[arg(long, value_delimiter = ',', default_value = "mcr,cumulative,auto", value_parser = engine())]
    pub(crate) engines: Vec<Engine>,
    /// Time per program, memory model and engine: 30, 30s, 2m, 1h, 500ms
    #[arg(long, value_name = "SECONDS", default_value = "3s", value_parser = duration)]
    pub(crate) max_time: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct PapersFlags {
    /// Print tables in Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// The folder with the programs; if it is not given, `corpus` here or in a folder around
    #[arg(long, value_name = "FOLDER")]
    pub(crate) corpus: Option<PathBuf>,
    /// Time per program and memory model: 30, 30s, 2m, 1h, 500ms
    #[arg(long, value_name = "SECONDS", default_value = "3s", value_parser = duration)]
    pub(crate) max_time: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct SatcheckFlags {
    /// Print the table in Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// The folder with the programs; if it is not given, `corpus` here or in a folder around
    #[arg(long, value_name = "FOLDER")]
    pub(crate) corpus: Option<PathBuf>,
    /// Time per size and memory model: 30, 30s, 2m, 1h, 500ms
    #[arg(long, value_name = "SECONDS", default_value = "60s", value_parser = duration)]
    pub(crate) max_time: Duration,
    /// How to search
    #[arg(long, default_value = "auto", value_parser = engine())]
    pub(crate) engine: Engine,
}
