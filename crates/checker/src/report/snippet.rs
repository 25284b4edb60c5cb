//! Places in the source, shown in the shape that Rust programmers know: file, line, column, the line itself, underlined.

use super::Style;
use crate::base::{Diagnostic, Source, Span};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use std::ops::Range;

/// All mistakes in a source, one after the other, and how many there are.
pub fn diagnostics(source: &Source, diagnostics: &[Diagnostic], style: Style) -> String {
    let text: String = diagnostics.iter().map(|diagnostic| mistake(source, diagnostic, style) + "\n\n").collect();
    let mistakes = if diagnostics.len() == 1 { "mistake" } else { "mistakes" };
    text + &error(&format!("{} {mistakes} in {}", diagnostics.len(), source.name), style)
}

/// A mistake that has no place in a source.
pub fn error(message: &str, style: Style) -> String {
    renderer(style).render(&[Group::with_title(Level::ERROR.primary_title(message))]) + "\n"
}

/// Something to know that has no place in a source.
pub fn warning(message: &str, style: Style) -> String {
    renderer(style).render(&[Group::with_title(Level::WARNING.primary_title(message))]) + "\n"
}

fn mistake(source: &Source, diagnostic: &Diagnostic, style: Style) -> String {
    let primary = annotation(source, AnnotationKind::Primary, diagnostic.span, &diagnostic.label);
    let related = diagnostic.related.iter();
    let related = related.map(|label| annotation(source, AnnotationKind::Context, label.span, &label.text));
    let snippet = Snippet::source(&source.text).path(&source.name).annotation(primary).annotations(related);
    let mut group = Level::ERROR.primary_title(&diagnostic.message).element(snippet);
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint));
    }
    renderer(style).render(&[group])
}

/// Places with a few words at each. The first one is what it is about.
pub(super) fn places(source: &Source, places: &[(Span, String)], style: Style) -> String {
    let kinds = std::iter::once(AnnotationKind::Primary).chain(std::iter::repeat(AnnotationKind::Context));
    let annotations = places.iter().zip(kinds).map(|((span, label), kind)| annotation(source, kind, *span, label));
    let snippet = Snippet::source(&source.text).path(&source.name).annotations(annotations);
    renderer(style).render(&[Group::with_level(Level::ERROR).element(snippet)])
}

fn annotation<'a>(source: &Source, kind: AnnotationKind, span: Span, label: &'a str) -> Annotation<'a> {
    kind.span(range(source, span)).label((!label.is_empty()).then_some(label))
}

/// The span as a range of whole characters of the text; nothing is assumed of who made it.
fn range(source: &Source, span: Span) -> Range<usize> {
    let boundary = |offset: u32| source.text.floor_char_boundary(offset as usize);
    let start = boundary(span.start);
    start..boundary(span.end).max(start)
}

fn renderer(style: Style) -> Renderer {
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width)
}
