//! Outcomes as text: one as herd7 prints it, several memory models side by side, many tests in a table.

use std::fmt::Write;

use super::{Litmus, Outcome};
use crate::execution::MemoryModel;
use crate::program::Quantifier;

/// One test in a table of many.
#[derive(Clone, Debug)]
pub struct SummaryLine {
    /// The test.
    pub name: String,
    /// Its outcome in each memory model that it was run under; none where the search did not end.
    pub outcomes: Vec<(MemoryModel, Option<Outcome>)>,
}

/// One outcome as herd7 prints it, without time and hash. Herd counts executions as witnesses; these are states.
pub fn herd_text(litmus: &Litmus, outcome: &Outcome) -> String {
    let mut text = heading(litmus);
    let states = outcome.states();
    let _ = writeln!(text, "States {}", states.len());
    for state in states {
        let _ = writeln!(text, "{state}");
    }
    let (positive, negative) = (outcome.positive.len(), outcome.negative.len());
    let _ = writeln!(text, "{}\nWitnesses\nPositive: {positive} Negative: {negative}", outcome.verdict());
    let _ = writeln!(text, "Condition {}", condition(litmus));
    let _ = writeln!(text, "Observation {} {} {positive} {negative}", litmus.name, outcome.frequency());
    text
}

/// The outcomes of one test under several memory models: which states each of them reaches. States that satisfy the
/// condition have a star.
pub fn compare_text(litmus: &Litmus, outcomes: &[(MemoryModel, Outcome)]) -> String {
    let mut states: Vec<&str> = outcomes.iter().flat_map(|(_, outcome)| outcome.states()).collect();
    states.sort_unstable();
    states.dedup();
    let cell = |wanted: fn(&Outcome) -> String| outcomes.iter().map(move |(_, outcome)| wanted(outcome));
    let heading_row = outcomes.iter().map(|(memory, _)| memory.to_string());
    let mut rows = vec![row("", "", heading_row)];
    for state in states {
        let star = if outcomes.iter().any(|(_, outcome)| outcome.positive.contains(state)) { "*" } else { "" };
        let reached = |(_, outcome): &(MemoryModel, Outcome)| {
            outcome.positive.contains(state) || outcome.negative.contains(state)
        };
        rows.push(row(star, state, outcomes.iter().map(|of| if reached(of) { "yes" } else { "-" }.to_string())));
    }
    rows.push(row("", "States", cell(|outcome| outcome.states().len().to_string())));
    rows.push(row("", "Observation", cell(|outcome| outcome.frequency().to_string())));
    rows.push(row("", "Verdict", cell(|outcome| outcome.verdict().to_string())));
    format!("{}{}Condition {}\n", heading(litmus), aligned(&rows), condition(litmus))
}

/// One line per test and one column per memory model, with the number of tests whose condition holds at the end.
pub fn summary_table(tests: &[SummaryLine]) -> String {
    let is_used = |memory: &MemoryModel| tests.iter().any(|test| test.outcome(*memory).is_some());
    let memories: Vec<MemoryModel> = MemoryModel::ALL.into_iter().filter(is_used).collect();
    if tests.is_empty() {
        return String::new();
    }
    let mut rows = vec![row("Test", "", memories.iter().map(MemoryModel::to_string))];
    for test in tests {
        let cell = |memory: &MemoryModel| match test.outcome(*memory) {
            None => "-".to_string(),
            Some(Some(outcome)) => {
                let (positive, states) = (outcome.positive.len(), outcome.states().len());
                format!("{} {} {positive}/{states}", outcome.verdict(), outcome.frequency())
            }
            Some(None) => "inconclusive".to_string(),
        };
        rows.push(row(&test.name, "", memories.iter().map(cell)));
    }
    let ok = |memory: &MemoryModel| {
        let outcomes = tests.iter().filter_map(|test| test.outcome(*memory)?);
        format!("{} Ok", outcomes.filter(|outcome| outcome.holds).count())
    };
    rows.push(row(&format!("{} tests", tests.len()), "", memories.iter().map(ok)));
    aligned(&rows)
}

impl SummaryLine {
    /// The outcome in a memory model, if the test was run under it.
    fn outcome(&self, memory: MemoryModel) -> Option<Option<&Outcome>> {
        let found = self.outcomes.iter().find(|(of, _)| *of == memory);
        found.map(|(_, outcome)| outcome.as_ref())
    }
}

fn heading(litmus: &Litmus) -> String {
    let question = match litmus.quantifier {
        Some(Quantifier::Exists) => "Allowed",
        Some(Quantifier::Forbidden) => "Forbidden",
        Some(Quantifier::Always) | None => "Required",
    };
    format!("Test {} {question}\n", litmus.name)
}

fn condition(litmus: &Litmus) -> &str {
    if litmus.condition.is_empty() { "forall (true)" } else { &litmus.condition }
}

fn row(first: &str, second: &str, rest: impl Iterator<Item = String>) -> Vec<String> {
    [first.to_string(), second.to_string()].into_iter().chain(rest).collect()
}

/// Rows as lines, columns as wide as their widest cell; empty columns vanish.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let line: Vec<String> = cells.map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}
