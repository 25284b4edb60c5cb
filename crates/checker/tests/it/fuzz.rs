//! Parsers on broken input: texts of the corpus with random mistakes. Whatever the text, the answer is a valid program, or
//! diagnostics that point into the text, and it comes soon.
//!
//! Every run sees the same inputs. `UNTHREAD_FUZZ_SECONDS=600` goes on from there for that long with each parser.

use crate::litmus_corpus::corpus;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use unthread_checker::base::{Diagnostic, Source};
use unthread_checker::frontend::{litmus, trencher, ut};
use unthread_checker::program::{Program, validate};

/// Inputs for each parser by default.
const INPUTS: usize = 30_000;

/// More than any text needs, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// Put in by mutations: words of either format, and a few that belong to none.
const WORDS: &str = "{ } ( ) [ ] ; , : | = == != ~ * & + - % $ . .. += << /\\ \\/ => (* *) // /* \" 0 1 -1 0x \
    0xffffffffffffffff 99999999999999999999 x y a[9] P0 P1 P300 0:EAX 9:rax exists forall forbidden locations filter \
    not true MOV movq LOCK XCHG cmpxchg JNE LEA [x+4] (%rax,%rbx,4) int while (1) if else for(;;) {{ atomic_load(x) \
    spin_lock(x) &e thread fn main finally loop new fork join choose(0..9) assume(0) fetch_add × é \u{0} 🦀";

#[test]
fn the_program_language_survives_random_mistakes() {
    let folder = PathBuf::from(env!("CARGO_WORKSPACE_DIR")).join("corpus/programs");
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "ut"));
    let mut texts: Vec<String> = programs.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    texts.push(include_str!("../../src/frontend/ut/tests/sample.ut").to_string());
    survives(&texts, |source| ut::parse(source, &BTreeMap::new()));
}

#[test]
fn litmus_tests_survive_random_mistakes() {
    let texts: Vec<String> = corpus().into_iter().map(|(_, text)| text).collect();
    survives(&texts, |source| litmus::parse(source).map(|litmus| litmus.program));
}

#[test]
fn automata_survive_random_mistakes() {
    survives(&[include_str!("automata.trencher").to_string()], trencher::parse);
}

fn survives(texts: &[String], parse: impl Fn(Arc<Source>) -> Result<Program, Vec<Diagnostic>>) {
    let seconds = std::env::var("UNTHREAD_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut inputs, mut accepted) = (0, 0);
    while end.map_or(inputs < INPUTS, |end| Instant::now() < end) {
        let text = mutated(texts, &mut random);
        let start = Instant::now();
        let parsed = parse(Arc::new(Source::new("fuzz", text.clone())));
        assert!(start.elapsed() < PATIENCE, "this takes too long:\n{text}");
        inputs += 1;
        match parsed {
            Ok(program) => {
                accepted += 1;
                assert_eq!(validate(&program), Ok(()), "{text}");
            }
            Err(diagnostics) => {
                assert!(!diagnostics.is_empty(), "refused without a reason:\n{text}");
                let inside = |d: &Diagnostic| text.get(d.span.start as usize..d.span.end as usize).is_some();
                assert!(diagnostics.iter().all(inside), "a place outside of the text: {diagnostics:?}\n{text}");
                assert!(diagnostics.iter().all(|diagnostic| !diagnostic.message.is_empty()), "{text}");
            }
        }
    }
    println!("{inputs} inputs, {accepted} of them accepted");
    // Both happen often, or the mistakes are too gross, or none.
    assert!(accepted > inputs / 50 && inputs - accepted > inputs / 4, "{accepted} of {inputs} were accepted");
}

/// A small generator of pseudo-random numbers: the same on every machine.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    /// A short piece of a text: whole words, mostly.
    fn piece(&mut self, text: &str) -> (usize, usize) {
        let at = if self.below(4) == 0 { characters(text) } else { words(text) };
        let first = self.below(at.len());
        (at[first], at[(first + self.below(6)).min(at.len() - 1)])
    }
}

/// One to four mistakes: pieces deleted, doubled, replaced by others, put where they do not belong, or the end cut off.
fn mutated(texts: &[String], random: &mut Random) -> String {
    let mut text = texts[random.below(texts.len())].clone();
    for _ in 0..1 + random.below(4) {
        let (start, end) = random.piece(&text);
        let other = &texts[random.below(texts.len())];
        let (from, to) = random.piece(other);
        let piece = &other[from..to];
        let replacement = match random.below(16) {
            0..3 => String::new(),
            3..6 => text[start..end].repeat(2 + random.below(3)),
            6..9 => piece.to_string(),
            9..12 => format!("{}{piece}", &text[start..end]),
            12..15 => {
                let words: Vec<&str> = WORDS.split(' ').collect();
                words[random.below(words.len())].to_string()
            }
            _ => {
                text.truncate(end);
                continue;
            }
        };
        text.replace_range(start..end, &replacement);
    }
    text
}

/// Where words and symbols begin and end.
fn words(text: &str) -> Vec<usize> {
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

fn characters(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}
