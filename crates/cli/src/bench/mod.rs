//! `unthread bench`: published tables with our numbers beside them.

mod engines;
pub(crate) mod lazy;
mod measure;
mod papers;
mod satcheck;
mod sizes;
mod sober;
mod workload;

pub(crate) use engines::engines;
pub(crate) use sizes::sizes;

use crate::flags::{PapersFlags, SatcheckFlags};
use crate::outcome::Outcome;
use crate::terminal::Terminal;
use crate::watch::interrupted;
use anyhow::bail;
use measure::{Count, Meter};
use papers::{Measure, TABLES, Table};
use std::path::{Path, PathBuf};

const SIGNS: &str = "Signs: * not finished in an hour, ! everything covered and no error found, ⊖ the tool failed, OOM out of memory, \
                     > stopped after --max-time.";

/// Prints the tables of the founding papers, one after the other.
pub(crate) fn papers(flags: &PapersFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let mut meter = Meter::new(programs(flags.corpus.as_deref(), "papers")?, flags.max_time);
    for table in TABLES {
        let rows = rows(table, &mut meter)?;
        let text = if flags.markdown { markdown(&rows) } else { plain(&rows) };
        let heading = if flags.markdown { "### " } else { "" };
        terminal.print(&format!("{heading}{}\n{}\n\n{text}\n", table.title, table.source))?;
        if interrupted() {
            return Ok(Outcome::Inconclusive);
        }
    }
    terminal.print(&format!("{SIGNS}\n"))?;
    Ok(Outcome::Verified)
}

/// Prints the table of the paper on store buffer safety.
pub(crate) fn sober(flags: &PapersFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let meter = Meter::new(programs(flags.corpus.as_deref(), "papers")?, flags.max_time);
    let sober::Outcome { rows, watched, unwatched } = sober::measure(&meter)?;
    let text = if flags.markdown { markdown(&rows) } else { plain(&rows) };
    let heading = if flags.markdown { "### " } else { "" };
    let cost = 100.0 * (watched / unwatched - 1.0);
    terminal.print(&format!("{heading}{}\n{}\n\n{text}\n{}\n", sober::TITLE, sober::SOURCE, sober::NOTE))?;
    terminal.print(&format!(
        "All corrected programs: {watched:.2} s watched, {unwatched:.2} s unwatched: {cost:.1} %.\n"
    ))?;
    Ok(Outcome::Verified)
}

/// Prints the largest sizes of SATCheck's benchmarks.
pub(crate) fn satcheck(flags: &SatcheckFlags, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let folder = programs(flags.corpus.as_deref(), "satcheck")?;
    let rows = satcheck::rows(&folder, flags)?;
    let (heading, text) = if flags.markdown { ("### ", markdown(&rows)) } else { ("", plain(&rows)) };
    let seconds = flags.max_time.as_secs_f64();
    let title = format!("The largest size that is verified in {seconds} s");
    terminal.print(&format!("{heading}{title}\n{}\n\n{text}", satcheck::SOURCE))?;
    Ok(if interrupted() { Outcome::Inconclusive } else { Outcome::Verified })
}

/// A folder of programs: in the corpus that was named, or that stands in this folder or one around it.
fn programs(corpus: Option<&Path>, name: &str) -> anyhow::Result<PathBuf> {
    let inside = |corpus: &Path| corpus.join("programs").join(name);
    if let Some(corpus) = corpus {
        return Ok(inside(corpus));
    }
    let here = std::env::current_dir()?;
    let found = here.ancestors().map(|folder| inside(&folder.join("corpus"))).find(|folder| folder.is_dir());
    match found {
        Some(folder) => Ok(folder),
        None => bail!("there is no corpus/programs/{name} here or in a folder around; say where with --corpus"),
    }
}

/// A table with our columns: the header first.
fn rows(table: &Table, meter: &mut Meter) -> anyhow::Result<Vec<Vec<String>>> {
    let memories = table.measure.memories();
    let first_error = matches!(table.measure, Measure::FirstError | Measure::FirstErrorSc);
    let ours = memories
        .iter()
        .enumerate()
        .map(|(at, memory)| if at == 0 { format!("ours {memory}") } else { memory.to_string() });
    let header = ["program"].iter().chain(table.columns).map(|column| column.to_string());
    let pace = ["seconds", "executions/s", "solving"].map(str::to_string);
    let mut rows = vec![header.chain(ours).chain(pace).collect()];
    for row in table.rows {
        let counts: Vec<Count> = memories
            .iter()
            .map(|&memory| meter.count(row.program, row.defines, memory, first_error))
            .collect::<anyhow::Result<_>>()?;
        let ours = counts.iter().map(|count| if first_error { count.first_error() } else { count.all() });
        let published = [row.name].iter().chain(row.published).map(|cell| cell.to_string()).collect::<Vec<_>>();
        rows.push(published.into_iter().chain(ours).chain(Count::pace(&counts)).collect());
    }
    Ok(rows)
}

/// Columns that line up; numbers to the right.
fn plain(rows: &[Vec<String>]) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, &width))| {
            if at == 0 { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") }
        });
        cells.collect::<String>() + "\n"
    };
    rows.iter().map(line).collect()
}

fn markdown(rows: &[Vec<String>]) -> String {
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let Some((header, rest)) = rows.split_first() else { return String::new() };
    let rule: Vec<String> = (0..header.len()).map(|at| if at == 0 { "---" } else { "--:" }.to_string()).collect();
    [header, &rule].into_iter().chain(rest).map(line).collect()
}
