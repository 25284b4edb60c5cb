//! Standard output and error: colours, width, and readers that go away.

use crate::flags::Color;
use std::io;
use std::io::{IsTerminal, Write};
use unthread_checker::base::{Diagnostic, Source};
use unthread_checker::report;
use unthread_checker::report::Style;

/// Where results and complaints go.
pub(crate) struct Terminal {
    out: Style,
    err: Style,
}

impl Terminal {
    pub(crate) fn new(color: Color) -> Terminal {
        let out = style(color, io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()));
        let err = style(color, io::stderr().is_terminal(), terminal_size::terminal_size_of(io::stderr()));
        Terminal { out, err }
    }

    /// How text on standard output looks.
    pub(crate) fn style(&self) -> Style {
        self.out
    }

    /// Writes to standard output, at once. A closed pipe is no mistake, and changes no exit code: a reader that takes only the first lines gets the exit code of all of them.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        }
    }

    /// Says what is wrong with a source.
    pub(crate) fn diagnostics(&self, source: &Source, diagnostics: &[Diagnostic]) {
        self.complain(&report::diagnostics(source, diagnostics, self.err));
    }

    /// Says what is wrong otherwise.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.complain(&report::error(&format!("{error:#}"), self.err));
    }

    /// Says what is not wrong, but easily overlooked.
    pub(crate) fn warning(&self, message: &str) {
        self.complain(&report::warning(message, self.err));
    }

    /// A closed standard error is not worth failing for.
    fn complain(&self, text: &str) {
        let _ = io::stderr().write_all(text.as_bytes());
    }
}

fn style(color: Color, is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Style {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let dumb = set("TERM").is_some_and(|term| term == "dumb");
    let colour = match color {
        Color::Auto => is_terminal && set("NO_COLOR").is_none() && !dumb,
        Color::Always => true,
        Color::Never => false,
    };
    let width = size.map_or(Style::PLAIN.width, |(width, _)| width.0.into());
    Style { colour, width }
}
