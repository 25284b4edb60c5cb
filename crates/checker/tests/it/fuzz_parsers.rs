//! Parsers on broken input: thousands of programs with random mistakes. None may panic or hang; what is accepted is valid.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use unthread_checker::frontend::ut;
use unthread_checker::program::{Diagnostic, Program, Source, validate};
use walkdir::WalkDir;

/// A small generator, so that every run sees the same inputs.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

/// Where words and symbols begin and end: mistakes are made there, mostly.
fn boundaries(text: &str) -> Vec<usize> {
    let mut found = vec![0];
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        if !(c.is_alphanumeric() && last.is_alphanumeric()) {
            found.push(at);
        }
        last = c;
    }
    found.push(text.len());
    found
}

/// One to four mistakes: pieces deleted, doubled, swapped for others, moved.
fn mutated(texts: &[String], random: &mut Random) -> String {
    let mut text = texts[random.below(texts.len())].clone();
    for _ in 0..1 + random.below(4) {
        let at = boundaries(&text);
        let first = random.below(at.len());
        let last = (first + random.below(6)).min(at.len() - 1);
        let (start, end) = (at[first], at[last]);
        let other = &texts[random.below(texts.len())];
        let from = boundaries(other);
        let piece = random.below(from.len() - 1);
        let piece = &other[from[piece]..from[(piece + 1 + random.below(4)).min(from.len() - 1)]];
        let replacement = match random.below(5) {
            0 => String::new(),
            1 => text[start..end].repeat(2 + random.below(3)),
            2 => piece.to_string(),
            3 => format!("{}{piece}", &text[start..end]),
            _ => ["{", "}", "(", ")", ";", "-1", "9999999999", "=", "..", "\"", "é", "*", "0"][random.below(13)]
                .to_string(),
        };
        text.replace_range(start..end, &replacement);
    }
    text
}

fn survives(texts: &[String], rounds: usize, parse: impl Fn(Arc<Source>) -> Result<Program, Vec<Diagnostic>>) {
    let mut random = Random(2024);
    let mut accepted = 0;
    for _ in 0..rounds {
        let text = mutated(texts, &mut random);
        let length = text.len();
        match parse(Arc::new(Source::new("fuzz", text.clone()))) {
            Ok(program) => {
                accepted += 1;
                assert_eq!(validate(&program), Ok(()), "{text}");
            }
            Err(diagnostics) => {
                assert!(!diagnostics.is_empty(), "refused without a reason: {text}");
                let inside = |d: &Diagnostic| d.span.start <= d.span.end && d.span.end as usize <= length;
                assert!(diagnostics.iter().all(inside), "a place outside of the text: {diagnostics:?}\n{text}");
            }
        }
    }
    // Otherwise the mistakes are too gross to reach anything but the parser.
    assert!(accepted > rounds / 50, "only {accepted} of {rounds} were accepted");
}

fn files(folder: &str) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_WORKSPACE_DIR")).join(folder);
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
}

#[test]
fn the_program_language_survives_random_mistakes() {
    let mut texts = files("corpus/programs");
    texts.push(include_str!("../../src/frontend/ut/tests/sample.ut").to_string());
    survives(&texts, 12_000, |source| ut::parse(source, &BTreeMap::new()));
}
