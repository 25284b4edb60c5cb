//! SATCheck's benchmarks: the largest size of each that is verified in a given time, beside what was published.

use super::measure::read_program;
use crate::flags::SatcheckFlags;
use crate::guard::Bounds;
use crate::watch::{Stopwatch, interrupted};
use anyhow::bail;
use std::path::Path;
use unthread_checker::base::Verdict;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::search::{Options, StopReason};

/// One benchmark.
struct Benchmark {
    name: &'static str,
    /// The file in `corpus/programs/satcheck`.
    program: &'static str,
    /// The constant that is the size.
    size: &'static str,
    /// Other constants.
    defines: &'static [(&'static str, i64)],
    /// What the paper reached in an hour, under SC and TSO.
    published: [&'static str; 2],
    /// Sizes to try, in order.
    sizes: &'static [i64],
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "CAS spinlock, pairs",
        program: "cas_spinlock",
        size: "N",
        defines: &[("THREADS", 2)],
        published: ["250", "100"],
        sizes: &[50, 100, 250, 500, 1000, 2000],
    },
    Benchmark {
        name: "CAS spinlock, threads",
        program: "cas_spinlock",
        size: "THREADS",
        defines: &[("N", 1)],
        published: ["90", "-"],
        sizes: &[10, 30, 60, 90, 120, 180],
    },
    Benchmark {
        name: "Dekker critical section",
        program: "dekker_section",
        size: "N",
        defines: &[],
        published: ["30", "40"],
        sizes: &[5, 10, 20, 30, 40, 80, 160],
    },
    Benchmark {
        name: "Linux rwlock",
        program: "linux_rwlock",
        size: "N",
        defines: &[],
        published: ["20", "20"],
        sizes: &[5, 10, 20, 40, 80, 160],
    },
    Benchmark {
        name: "Michael-Scott queue",
        program: "msqueue",
        size: "N",
        defines: &[],
        published: ["13", "13"],
        sizes: &[3, 5, 10, 13, 20, 40],
    },
    Benchmark {
        name: "Seqlock",
        program: "seqlock",
        size: "N",
        defines: &[],
        published: ["60", "60"],
        sizes: &[3, 5, 10, 15, 20, 40, 60],
    },
];

/// Where the numbers come from.
pub(super) const SOURCE: &str =
    "B. Demsky and P. Lam, SATCheck: SAT-Directed Stateless Model Checking for SC and TSO, OOPSLA 2015";

/// The table: the header first.
pub(super) fn rows(folder: &Path, flags: &SatcheckFlags) -> anyhow::Result<Vec<Vec<String>>> {
    let columns = ["benchmark", "SATCheck 1 h sc", "tso", "ours sc", "tso", "pso"];
    let mut rows = vec![columns.map(str::to_string).to_vec()];
    for benchmark in BENCHMARKS {
        let mut row = vec![benchmark.name.to_string()];
        row.extend(benchmark.published.map(str::to_string));
        for memory in MemoryModel::MACHINES {
            row.push(largest(benchmark, folder, memory, flags)?);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The largest size that is verified in time, and how long it took.
fn largest(benchmark: &Benchmark, folder: &Path, memory: MemoryModel, flags: &SatcheckFlags) -> anyhow::Result<String> {
    let mut best = "-".to_string();
    for &size in benchmark.sizes {
        let defines: Vec<_> = benchmark.defines.iter().copied().chain([(benchmark.size, size)]).collect();
        let program = read_program(folder, benchmark.program, &defines)?;
        let options = Options { engine: flags.engine, ..Options::new(memory) };
        let label = format!("{} {size}: {memory}", benchmark.name);
        let stopwatch = Stopwatch::start(label.clone(), Bounds::of_time(flags.max_time), None);
        let report = engines::check(&program, &options, &stopwatch);
        let seconds = stopwatch.stop();
        match (report.verdict(), &report.stop) {
            (Verdict::Verified, _) => best = format!("{size} ({seconds:.1} s)"),
            (_, StopReason::TimeLimit) => break,
            (verdict, stop) => bail!("{label}: {} ({})", verdict.name(), stop.name()),
        }
        if interrupted() {
            break;
        }
    }
    Ok(best)
}
