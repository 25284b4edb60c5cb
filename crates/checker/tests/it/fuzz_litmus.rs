//! Mutated litmus tests: whatever the text, the front end answers with a valid program or with diagnostics that point into it.

use std::sync::Arc;

use unthread_checker::frontend::litmus::parse;
use unthread_checker::program::{Source, validate};

use crate::litmus_corpus::corpus;

const INPUTS: usize = 50_000;

/// What mutations put in: the words of the format, and a few that do not belong there.
const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "|",
    "=",
    "==",
    "!=",
    "~",
    "*",
    "&",
    "+",
    "-",
    "%",
    "$",
    "/\\",
    "\\/",
    "=>",
    "(*",
    "*)",
    "//",
    "/*",
    "\"",
    "\n",
    " ",
    "0",
    "1",
    "-1",
    "0x",
    "0xffffffffffffffff",
    "99999999999999999999",
    "x",
    "y",
    "a[9]",
    "P0",
    "P1",
    "P300",
    "0:EAX",
    "9:rax",
    "exists",
    "forall",
    "locations",
    "filter",
    "not",
    "true",
    "MOV",
    "movq",
    "LOCK",
    "XCHG",
    "cmpxchg",
    "JNE",
    "LEA",
    "[x+4]",
    "(%rax,%rbx,4)",
    "int",
    "while (1)",
    "if",
    "else",
    "for(;;)",
    "{{",
    "atomic_load(x)",
    "&e",
    "é",
    "\u{0}",
    "🦀",
];

/// A small generator of pseudo-random numbers: the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    /// A place between two characters.
    fn boundary(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// A short piece of a text.
    fn piece<'a>(&mut self, text: &'a str) -> &'a str {
        let start = self.boundary(text);
        let mut end = (start + self.below(40)).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[start..end.max(start)]
    }
}

fn mutate(random: &mut Random, text: &mut String, other: &str) {
    let at = random.boundary(text);
    match random.below(5) {
        0 => {
            let length = random.piece(&text[at..]).len();
            let mut end = at + length;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.replace_range(at..end, "");
        }
        1 => {
            let piece = random.piece(text).to_string();
            text.insert_str(at, &piece);
        }
        2 => {
            let piece = random.piece(other);
            text.insert_str(at, piece);
        }
        3 => {
            let word = WORDS[random.below(WORDS.len())];
            text.insert_str(at, word);
        }
        _ => text.truncate(at),
    }
}

#[test]
fn litmus_mutants_are_parsed_or_refused() {
    let corpus = corpus();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut accepted, mut refused) = (0, 0);
    for number in 0..INPUTS {
        let mut text = corpus[number % corpus.len()].1.clone();
        for _ in 0..=random.below(4) {
            let other = &corpus[random.below(corpus.len())].1;
            mutate(&mut random, &mut text, other);
        }
        match parse(Arc::new(Source::new("mutant", text.clone()))) {
            Ok(litmus) => {
                accepted += 1;
                assert_eq!(validate(&litmus.program), Ok(()), "{text}");
            }
            Err(diagnostics) => {
                refused += 1;
                assert!(!diagnostics.is_empty(), "{text}");
                for diagnostic in diagnostics {
                    let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
                    assert!(text.get(start..end).is_some(), "{start}..{end} is no place in\n{text}");
                    assert!(!diagnostic.message.is_empty(), "{text}");
                }
            }
        }
    }
    // Both happen often, or the mutations test nothing.
    assert!(accepted > INPUTS / 20 && refused > INPUTS / 4, "{accepted} accepted, {refused} refused");
}
