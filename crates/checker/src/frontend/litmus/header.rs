//! The first lines: architecture, name, and what generators say about the test.

use super::Arch;
use super::lexer::{Parsed, Style, skip_blanks};
use crate::base::{Diagnostic, Span};

/// What the first lines say.
pub(super) struct Header {
    pub(super) arch: Arch,
    pub(super) name: String,
    /// Where the initial state begins.
    pub(super) end: usize,
}

/// Reads up to the brace of the initial state.
pub(super) fn parse_header(text: &str) -> Parsed<Header> {
    let start = skip_blanks(text, 0, Style::Litmus);
    let line_end = end_of_line(text, start);
    let line = &text[start..line_end];
    let (word, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let arch = match word {
        "X86" => Arch::X86,
        "X86_64" => Arch::X86_64,
        "C" => Arch::C,
        _ => {
            return Err(Diagnostic::new(
                Span::new(start, start + word.len()),
                "a litmus test starts with its architecture",
            )
            .hint("`X86`, `X86_64` and `C` are supported"));
        }
    };
    let name = name.trim();
    if name.is_empty() {
        return Err(Diagnostic::new(Span::new(start, line_end), "the test has no name")
            .hint("write it after the architecture: `X86 SB`"));
    }
    Ok(Header { arch, name: name.to_string(), end: skip_description(text, line_end)? })
}

/// Skips the quoted description and lines such as `Cycle=Fre PodWR`.
fn skip_description(text: &str, mut at: usize) -> Parsed<usize> {
    loop {
        at = skip_blanks(text, at, Style::Litmus);
        let rest = &text[at..];
        if rest.starts_with('{') {
            return Ok(at);
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let closing = quoted.find('"').ok_or_else(|| {
                Diagnostic::new(Span::new(at, at + 1), "this description does not end").label("opened here")
            })?;
            at += closing + 2;
            continue;
        }
        let line = Span::new(at, end_of_line(text, at));
        if !text[at..line.end as usize].contains('=') {
            return Err(Diagnostic::new(line, "expected the initial state in braces")
                .hint("an initial state can be empty: `{}`"));
        }
        at = line.end as usize;
    }
}

fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |length| at + length)
}
