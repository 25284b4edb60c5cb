//! `unthread bench trencher`: the curves of Figures 6 to 10 of the paper on lazy TSO reachability, with our times beside the published numbers.
//!
//! Bouajjani, Calin, Derevenetc and Meyer, Lazy TSO reachability, FASE 2015. The figures are curves; numbers are given in the text only.

use super::{markdown, plain, programs};
use crate::flags::PapersFlags;
use crate::guard::Bounds;
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::{Stopwatch, interrupted};
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::report::{Style, diagnostics};
use unthread_checker::search::{Engine, Options, Report};

/// A curve: a program, sizes, and what was published of some of them.
struct Curve {
    title: &'static str,
    program: &'static str,
    sizes: &'static [i64],
    published: &'static [(i64, &'static str)],
}

const CURVES: &[Curve] = &[
    Curve {
        title: "Figure 6: Lamport's fast mutex, N threads",
        program: "lamport",
        sizes: &[2, 3, 4, 5],
        published: &[(5, "TRENCHER and MEMORAX: out of memory (8 GB)")],
    },
    Curve {
        title: "Figures 7, 9 and 10: Dekker's algorithm with a diamond of N branches",
        program: "diamond",
        sizes: &[1, 10, 20, 50, 100, 200, 500, 1000],
        published: &[(50, "MEMORAX: 84 s")],
    },
    Curve {
        title: "Figures 8 and 10: a loop of N stores",
        program: "rounds",
        sizes: &[2, 10, 20, 50, 100, 200, 500, 1000],
        published: &[(20, "CBMC: 515 s")],
    },
];

/// Prints the curves, one after the other.
pub(crate) fn curves(flags: &PapersFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let folder = programs(flags.corpus.as_deref(), "lazy")?;
    for curve in CURVES {
        let mut rows = vec![["N", "published", "ours", "states", "seconds"].map(str::to_string).to_vec()];
        for &size in curve.sizes {
            let stopwatch =
                Stopwatch::start(format!("{} N={size}", curve.program), Bounds::of_time(flags.max_time), None);
            let report = measure(&folder, curve.program, size, &stopwatch)?;
            let seconds = stopwatch.stop();
            let published = curve.published.iter().find(|published| published.0 == size).map_or("–", |p| p.1);
            let found = if report.violations.is_empty() { report.verdict().name() } else { "reachable" };
            let states = report.statistics.states.to_string();
            rows.push(vec![size.to_string(), published.into(), found.into(), states, format!("{seconds:.3}")]);
            if interrupted() {
                return Ok(Outcome::Inconclusive);
            }
        }
        let text = if flags.markdown { markdown(&rows) } else { plain(&rows) };
        let heading = if flags.markdown { "### " } else { "" };
        terminal.print(&format!("{heading}{}\n\n{text}\n", curve.title))?;
    }
    Ok(Outcome::Verified)
}

/// Checks a program of the corpus under TSO with engine `lazy`.
fn measure(folder: &Path, name: &str, size: i64, stopwatch: &Stopwatch<'_>) -> anyhow::Result<Report> {
    let file = folder.join(name).with_extension("ut");
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let source = Arc::new(Source::new(file.display().to_string(), text));
    let defines = BTreeMap::from([("N".to_string(), size)]);
    let program = ut::parse(source.clone(), &defines)
        .map_err(|mistakes| anyhow!(diagnostics(&source, &mistakes, Style::PLAIN)))?;
    let options = Options { engine: Engine::Lazy, ..Options::new(MemoryModel::Tso) };
    Ok(engines::check(&program, &options, stopwatch))
}
