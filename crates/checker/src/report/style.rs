//! How text looks: with colours or without, and how wide.

use anstyle::{AnsiColor, Effects};

/// How text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour, with ANSI escape sequences.
    pub colour: bool,
    /// Columns of the terminal. Tables fold when they are wider.
    pub width: usize,
}

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Unsure,
    Heading,
    Faint,
}

impl Style {
    /// No colours, 100 columns: for files and pipes.
    pub const PLAIN: Style = Style { colour: false, width: 100 };

    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_string();
        }
        let style = match tone {
            Tone::Good => AnsiColor::Green.on_default() | Effects::BOLD,
            Tone::Bad => AnsiColor::Red.on_default() | Effects::BOLD,
            Tone::Unsure => AnsiColor::Yellow.on_default() | Effects::BOLD,
            Tone::Heading => anstyle::Style::new() | Effects::BOLD,
            Tone::Faint => anstyle::Style::new() | Effects::DIMMED,
        };
        format!("{style}{text}{style:#}")
    }
}
