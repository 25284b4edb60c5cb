//! A trace as a table: a row per step, a column per thread. Where that is too wide, one column names the thread.

use super::Style;
use super::style::Tone;
use super::words::Words;
use crate::trace::Event;
use unicode_width::UnicodeWidthStr;

/// Blanks between columns.
const GAP: usize = 2;

/// The first columns are step and line.
const NUMBERS: usize = 2;

/// The steps of a trace, from the first to the last.
pub(super) fn table(words: &Words<'_>, style: Style) -> String {
    let wide = wide(words);
    let columns = if wide.width() <= style.width { wide } else { narrow(words) };
    columns.print(&words.trace.events, style)
}

/// Cells by row; the first row is the heading.
struct Columns(Vec<Vec<String>>);

/// step, a column per thread, line, buffer.
fn wide(words: &Words<'_>) -> Columns {
    let trace = words.trace;
    let acting = |thread: usize| trace.events.iter().any(|event| event.step.thread.index() == thread);
    let threads: Vec<usize> = (0..trace.threads.len()).filter(|&thread| acting(thread)).collect();
    let names = threads.iter().map(|&thread| words.thread(crate::execution::ThreadId(thread as u16)));
    let row = |event: &Event| {
        let cell =
            |&thread: &usize| if thread == event.step.thread.index() { words.event(event) } else { String::new() };
        threads.iter().map(cell).collect()
    };
    Columns::around(words, names.collect(), row)
}

/// step, thread, what it does, line, buffer.
fn narrow(words: &Words<'_>) -> Columns {
    let row = |event: &Event| vec![words.thread(event.step.thread), words.event(event)];
    Columns::around(words, vec!["thread".to_string(), String::new()], row)
}

impl Columns {
    /// Puts step and line number before and the buffer after the given cells.
    fn around(words: &Words<'_>, heading: Vec<String>, row: impl Fn(&Event) -> Vec<String>) -> Columns {
        let buffered = words.trace.events.iter().any(|event| !event.buffer.is_empty());
        let edge = |before: [String; 2], middle: Vec<String>, buffer: String| {
            let buffer = buffered.then_some(buffer);
            before.into_iter().chain(middle).chain(buffer).collect()
        };
        let mut rows = vec![edge(["step".to_string(), "line".to_string()], heading, "its store buffer".to_string())];
        for (at, event) in words.trace.events.iter().enumerate() {
            let line = words.program.source.line_column(event.span.start).line;
            let buffer = words.buffer(&event.buffer);
            rows.push(edge([(at + 1).to_string(), line.to_string()], row(event), buffer));
        }
        Columns(rows)
    }

    fn widths(&self) -> Vec<usize> {
        let column = |at: usize| self.0.iter().map(|row| row[at].width()).max().unwrap_or(0);
        (0..self.0[0].len()).map(column).collect()
    }

    fn width(&self) -> usize {
        self.widths().iter().map(|width| width + GAP).sum()
    }

    fn print(&self, events: &[Event], style: Style) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for (at, row) in self.0.iter().enumerate() {
            let tone = match at.checked_sub(1).map(|at| &events[at]) {
                None => Some(Tone::Heading),
                Some(event) if event.failure.is_some() => Some(Tone::Bad),
                Some(event) if event.operation.is_none() => Some(Tone::Faint),
                Some(_) => None,
            };
            for line in lines(row, &widths, style.width) {
                text += &tone.map_or(line.clone(), |tone| style.paint(tone, &line));
                text.push('\n');
            }
        }
        text
    }
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
