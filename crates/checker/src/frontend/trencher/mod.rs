//! Trencher's input format: threads as automata over registers and numbered memory cells. `docs/trencher.md` specifies it.
//!
//! text → words → threads with transitions (`parser`) → a program (`lower`). Words are separated by blanks; from a word that
//! starts with `#` the rest of the line is a comment.

mod lower;
mod parser;

use crate::base::{Diagnostic, Source, Span};
use crate::program::{BinaryOp, Program, UnaryOp, validate};
use std::sync::Arc;

/// Mistakes reported at most.
const MAX_DIAGNOSTICS: usize = 50;
/// Levels of expressions, which recurse.
const MAX_NESTING: u32 = 100;
/// Registers of a thread.
const MAX_REGISTERS: usize = 4096;
/// Transitions of a program.
const MAX_TRANSITIONS: usize = 100_000;
/// Threads.
const MAX_THREADS: usize = 4000;

/// Reads a program. The program is valid in the sense of [`validate`]; otherwise every mistake that was found is returned, in the order of
/// the text.
pub fn parse(source: Arc<Source>) -> Result<Program, Vec<Diagnostic>> {
    if u32::try_from(source.text.len()).is_err() {
        return Err(vec![Diagnostic::new(Span::default(), "the file is larger than 4 GB")]);
    }
    let (threads, mut diagnostics) = parser::parse(&source);
    if !diagnostics.is_empty() {
        diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
        diagnostics.truncate(MAX_DIAGNOSTICS);
        return Err(diagnostics);
    }
    let program = lower::lower(&threads, source);
    debug_assert_eq!(validate(&program), Ok(()));
    Ok(program)
}

/// Whether a text looks like Trencher's format: its first word is `memory_size`, or it is `thread` and the third begins
/// something that a thread consists of.
pub fn is_likely(text: &str) -> bool {
    let lines = text.lines().map(|line| line.split_once('#').map_or(line, |(before, _)| before));
    let mut words = lines.flat_map(str::split_whitespace);
    match words.next() {
        Some("memory_size") => true,
        first => first == Some("thread") && matches!(words.nth(1), Some("initial" | "final" | "transition")),
    }
}

/// A thread as it stands in the text.
struct ThreadText {
    name: String,
    span: Span,
    /// The states in the order in which they are mentioned; the initial one is the first.
    states: Vec<State>,
    registers: Vec<String>,
    transitions: Vec<Transition>,
}

struct State {
    name: String,
    span: Span,
    is_final: bool,
}

struct Transition {
    from: usize,
    to: usize,
    action: Action,
    span: Span,
}

/// What a transition does.
enum Action {
    Noop,
    Read { register: usize, address: Expr },
    Write { value: Expr, address: Expr },
    Local { register: usize, value: Expr },
    Check(Expr),
    Fence,
    Lock,
    Unlock,
}

/// An expression over a thread's registers.
enum Expr {
    Const(i64),
    Register(usize),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}
