//! A story as a table: a row per step, a column per thread. Where that is too wide, one column names the thread. A store that reaches memory at
//! once is one row, and stretches of steps that do not matter are folded.

use super::Style;
use super::story::{JsonStep, JsonStore, StepKind, Story};
use super::style::Tone;
use unicode_width::UnicodeWidthStr;

/// Blanks between columns.
const GAP: usize = 2;

/// The first columns are step and line.
const NUMBERS: usize = 2;

/// Fewer steps than this are shown even if they do not matter.
const WORTH_FOLDING: usize = 3;

/// The steps of a story, from the first to the last. `events` are the steps that matter most.
pub(super) fn table(story: &Story, events: &[usize], style: Style) -> String {
    let rows = rows(story);
    let wide = wide(story, &rows);
    let columns = if wide.width() <= style.width { wide } else { narrow(story, &rows) };
    columns.print(story, &rows, events, style)
}

/// What a row shows.
enum Row {
    /// A step, and whether the next one, which flushes what it stored, is part of it.
    Step { at: usize, flushed: bool },
    /// So many steps that do not matter.
    Folded(usize),
}

fn rows(story: &Story) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    while at < story.steps.len() {
        let idle = story.steps[at..].iter().take_while(|step| !step.relevant).count();
        if idle >= WORTH_FOLDING {
            rows.push(Row::Folded(idle));
            at += idle;
            continue;
        }
        let flushed = story.steps[at].commit == Some(at + 1);
        rows.push(Row::Step { at, flushed });
        at += if flushed { 2 } else { 1 };
    }
    rows
}

/// Cells by row; the first row is the heading.
struct Columns(Vec<Vec<String>>);

/// step, line, a column per thread, buffer.
fn wide(story: &Story, rows: &[Row]) -> Columns {
    let shown = |thread: usize| {
        rows.iter().any(|row| matches!(row, Row::Step { at, .. } if usize::from(story.steps[*at].thread) == thread))
    };
    let threads: Vec<usize> = (0..story.threads.len()).filter(|&thread| shown(thread)).collect();
    let names = threads.iter().map(|&thread| format!("{thread} {}", story.threads[thread]));
    let row = |step: &JsonStep, text: String| {
        let cell = |&thread: &usize| if thread == usize::from(step.thread) { text.clone() } else { String::new() };
        threads.iter().map(cell).collect()
    };
    Columns::around(story, rows, names.collect(), row)
}

/// step, line, thread, what it does, buffer.
fn narrow(story: &Story, rows: &[Row]) -> Columns {
    let row = |step: &JsonStep, text: String| vec![format!("{} {}", step.thread, step.name), text];
    Columns::around(story, rows, vec!["thread".to_string(), String::new()], row)
}

impl Columns {
    /// Puts step and line number before and the buffer after the given cells.
    fn around(
        story: &Story,
        rows: &[Row],
        heading: Vec<String>,
        middle: impl Fn(&JsonStep, String) -> Vec<String>,
    ) -> Columns {
        let buffered = story.steps.iter().any(|step| !step.buffer.is_empty());
        let edge = |before: [String; 2], middle: Vec<String>, buffer: String| {
            let buffer = buffered.then_some(buffer);
            before.into_iter().chain(middle).chain(buffer).collect()
        };
        let n_middle = heading.len();
        let mut table = vec![edge(["step".to_string(), "line".to_string()], heading, "its store buffer".to_string())];
        for row in rows {
            table.push(match *row {
                Row::Step { at, flushed } => {
                    let step = &story.steps[at];
                    let last = &story.steps[if flushed { at + 1 } else { at }];
                    let text = if flushed { format!("{} ⇒ memory", step.text) } else { step.text.clone() };
                    edge([(at + 1).to_string(), step.line.to_string()], middle(step, text), buffer(&last.buffer))
                }
                Row::Folded(count) => {
                    let mut cells = vec![String::new(); n_middle];
                    cells[0] = format!("… {count} steps");
                    edge(["…".to_string(), String::new()], cells, String::new())
                }
            });
        }
        Columns(table)
    }

    fn widths(&self) -> Vec<usize> {
        let column = |at: usize| self.0.iter().map(|row| row[at].width()).max().unwrap_or(0);
        (0..self.0[0].len()).map(column).collect()
    }

    fn width(&self) -> usize {
        self.widths().iter().map(|width| width + GAP).sum()
    }

    fn print(&self, story: &Story, rows: &[Row], events: &[usize], style: Style) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (at, cells) in self.0.iter().enumerate() {
            let row = at.checked_sub(1).map(|at| &rows[at]);
            let tone = match row {
                None => Some(Tone::Heading),
                Some(Row::Folded(_)) => Some(Tone::Faint),
                Some(Row::Step { at, .. }) if story.steps[*at].failure.is_some() => Some(Tone::Bad),
                Some(Row::Step { at, .. }) if events.contains(at) => Some(Tone::Heading),
                Some(Row::Step { at, .. }) if story.steps[*at].kind == StepKind::Flush => Some(Tone::Faint),
                Some(Row::Step { .. }) => None,
            };
            let matters = matches!(row, Some(Row::Step { at, .. }) if events.contains(at));
            for (number, line) in lines(cells, &widths, style.width).into_iter().enumerate() {
                let line = if matters && number == 0 { format!("▸{}", &line[1..]) } else { line };
                text += &tone.map_or(line.clone(), |tone| style.paint(tone, &line));
                text.push('\n');
            }
        }
        text
    }
}

/// What waits in a buffer: `[x=1, y=2]`; nothing for an empty one.
fn buffer(stores: &[JsonStore]) -> String {
    let store = |store: &JsonStore| {
        let value = store.value_as.clone().unwrap_or_else(|| store.value.to_string());
        format!("{}={value}", store.cell)
    };
    let stores: Vec<String> = stores.iter().map(store).collect();
    if stores.is_empty() { String::new() } else { format!("[{}]", stores.join(", ")) }
}

/// A row as one line, or as two if it is too wide: the last cell, the buffer, then hangs below.
fn lines(row: &[String], widths: &[usize], width: usize) -> Vec<String> {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let padding = " ".repeat(width - cell.width());
        // Numbers are aligned to the right.
        let padded = if column < NUMBERS { padding + cell } else { cell.clone() + &padding };
        line = line + &" ".repeat(GAP) + &padded;
    }
    let line = line.trim_end();
    let Some((last, rest)) = row.split_last().filter(|_| line.width() > width) else { return vec![line.to_string()] };
    let indent: usize = widths[..=NUMBERS].iter().map(|width| GAP + width).sum();
    let hanging = format!("{}{last}", " ".repeat(indent + GAP));
    lines(rest, widths, usize::MAX).into_iter().chain([hanging]).collect()
}
