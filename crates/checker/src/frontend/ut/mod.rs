//! The program language `.ut`: small, integer-only, made for concurrent algorithms. `docs/language.md` specifies it.
//!
//! text → tokens (`lexer`) → tree (`ast`, `parser`) → what is declared (`globals`) → a program (`lower`).

mod ast;
mod expectations;
mod globals;
mod lexer;
mod lower;
mod parser;
mod suggest;

#[cfg(test)]
mod tests;

pub use expectations::{Expectation, expectations};

use crate::base::{Diagnostic, Source};
use crate::program::{Program, validate};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Mistakes reported at most; after these the rest is likely to be noise.
const MAX_DIAGNOSTICS: usize = 50;
/// Levels of blocks, of expressions, and of function calls: all of them recurse.
const MAX_NESTING: u32 = 100;
/// Instructions of a program, after functions have been expanded.
const MAX_CODE: usize = 100_000;
/// Tree nodes visited while functions are expanded: code that leaves no instructions costs time, too.
const MAX_WORK: usize = 4_000_000;
/// Registers of one routine.
const MAX_REGISTERS: usize = 4096;
/// Shared cells, and separately locks, and condition variables.
const MAX_CELLS: usize = 1 << 16;
/// Threads that run from the start.
const MAX_THREADS: usize = 4000;

/// Reads a program. `overrides` replace the values of constants (`-D N=4`).
///
/// The program is valid in the sense of [`validate`]; otherwise every mistake that was found is returned, in the
/// order of the text.
pub fn parse(source: Arc<Source>, overrides: &BTreeMap<String, i64>) -> Result<Program, Vec<Diagnostic>> {
    if u32::try_from(source.text.len()).is_err() {
        return Err(vec![Diagnostic::new(Default::default(), "the file is larger than 4 GB")]);
    }
    let (file, mut diagnostics) = parser::parse_file(&source);
    // With broken syntax, names may be missing only because their declarations could not be read.
    if !diagnostics.is_empty() {
        return Err(in_order(diagnostics));
    }
    let globals = globals::Globals::of(&file, overrides, &mut diagnostics);
    let program = lower::lower(&file, &globals, source, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(in_order(diagnostics));
    }
    debug_assert_eq!(validate(&program), Ok(()));
    Ok(program)
}

/// Sorted, without repetitions (a function's mistakes show wherever it is called), not too many.
fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by(|a, b| (a.span.start, a.span.end, &a.message).cmp(&(b.span.start, b.span.end, &b.message)));
    diagnostics.dedup();
    diagnostics.truncate(MAX_DIAGNOSTICS);
    diagnostics
}
