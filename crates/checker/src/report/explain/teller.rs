//! Pieces of sentences: who did what, and where.

use crate::report::story::{JsonStep, StepKind, Story};

/// A sentence and the steps that it names.
pub(super) type Told = Option<(String, Vec<usize>)>;

/// Speaks about a story.
pub(super) struct Teller<'a> {
    pub(super) story: &'a Story,
}

impl Teller<'_> {
    pub(super) fn step(&self, at: usize) -> &JsonStep {
        &self.story.steps[at]
    }

    /// The thread of a step.
    pub(super) fn who(&self, at: usize) -> String {
        self.thread(self.step(at).thread)
    }

    /// A thread's name, with its number where others have the same name.
    pub(super) fn thread(&self, number: u16) -> String {
        let name = self.story.threads.get(usize::from(number)).map_or("", String::as_str);
        match self.story.threads.iter().filter(|other| *other == name).count() {
            0 | 1 => name.to_string(),
            _ => format!("{name}#{number}"),
        }
    }

    /// The cell, quoted.
    pub(super) fn cell(&self, at: usize) -> String {
        format!("`{}`", self.step(at).cell.as_deref().unwrap_or_default())
    }

    /// `line 7`, with the file where there are several.
    pub(super) fn line(&self, at: usize) -> String {
        let step = self.step(at);
        match &step.file {
            Some(file) => format!("{file}:{}", step.line),
            None => format!("line {}", step.line),
        }
    }

    /// `lines 7 and 9`.
    pub(super) fn lines(&self, first: usize, second: usize) -> String {
        match (&self.step(first).file, &self.step(second).file) {
            (None, None) => format!("lines {} and {}", self.step(first).line, self.step(second).line),
            _ => format!("{} and {}", self.line(first), self.line(second)),
        }
    }

    /// `T1's store to `x` (line 7)`.
    pub(super) fn possessive(&self, at: usize) -> String {
        let what = match self.step(at).kind {
            StepKind::Read => "read of",
            StepKind::Cas => "compare-exchange of",
            StepKind::Rmw => "update of",
            StepKind::Free => return format!("{}'s free ({})", self.who(at), self.line(at)),
            _ => "store to",
        };
        format!("{}'s {what} {} ({})", self.who(at), self.cell(at), self.line(at))
    }

    /// `stored to`, `updated`.
    pub(super) fn stored(&self, at: usize) -> &'static str {
        match self.step(at).kind {
            StepKind::Rmw | StepKind::Cas => "updated",
            _ => "stored to",
        }
    }

    /// `T2 read `x` = 0 (line 15)`. Pointers are not spelled out.
    pub(super) fn read(&self, at: usize) -> String {
        let step = self.step(at);
        let value = step.read.filter(|value| value.unsigned_abs() < 1 << 48);
        let value = value.map_or(String::new(), |value| format!(" = {value}"));
        format!("{} read {}{value} ({})", self.who(at), self.cell(at), self.line(at))
    }

    /// Positions of steps of other threads than that of a step.
    pub(super) fn foreign(&self, than: usize) -> impl DoubleEndedIterator<Item = usize> {
        let thread = self.step(than).thread;
        (0..self.story.steps.len()).filter(move |&at| self.step(at).thread != thread)
    }
}
