//! Tests of the language: what programs become, and what is said about those that are wrong.

mod diagnostics;
mod expectations;
mod limits;
mod lowering;
mod precedence;

use super::parse;
use crate::base::{Diagnostic, Source};
use crate::program::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

fn program(text: &str) -> Result<Program, Vec<Diagnostic>> {
    parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new())
}

/// The program as text, or its mistakes as text.
fn printed(text: &str) -> String {
    match program(text) {
        Ok(program) => program.to_string(),
        Err(diagnostics) => rendered(text, &diagnostics),
    }
}

/// One line per mistake, with the underlined text, its label and the hint.
fn rendered(text: &str, diagnostics: &[Diagnostic]) -> String {
    let source = Source::new("test.ut", text);
    let one = |diagnostic: &Diagnostic| {
        let span = diagnostic.span;
        let place = source.line_column(span.start);
        let underlined = &text[span.start as usize..span.end as usize];
        let hint = diagnostic.hint.as_deref().unwrap_or("NO HINT");
        assert!(!diagnostic.label.is_empty(), "no label: {diagnostic:?}");
        let (line, column) = (place.line, place.column);
        format!("{line}:{column} {}\n    {underlined:?}: {}; {hint}\n", diagnostic.message, diagnostic.label)
    };
    diagnostics.iter().map(one).collect()
}
