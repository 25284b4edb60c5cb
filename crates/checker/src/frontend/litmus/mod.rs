//! Litmus tests in the format of herd7: `X86`, `X86_64` and `C`.
//!
//! A test is a header, an initial state, a program of several threads, and a question about the states in which it can end.
//! [`parse`] gives the program for the checker and the question for [`Litmus::outcome`]. What is not supported is a
//! diagnostic with its place, never a guess.
//!
//! All cells of a litmus test are atomic: these tests do not ask about data races.

mod c;
mod code;
mod condition;
mod header;
mod init;
mod lexer;
mod loops;
mod outcome;
mod plain;
mod print;
mod symbols;
mod types;
mod x86;

use std::fmt;
use std::sync::Arc;

pub use outcome::{Frequency, Outcome};
pub use print::{SummaryLine, compare_text, herd_text, summary_table};
pub use types::ValueType;

use crate::base::{Diagnostic, Source, Span};
use crate::program::{Condition, FinalExpr, FinalValue, Program, Quantifier, UnaryOp, validate};
use lexer::{Cursor, Style};

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Litmus {
    /// Its name.
    pub name: String,
    /// What its threads are written in.
    pub arch: Arch,
    /// Its threads and memory, with the condition if there is one.
    pub program: Program,
    /// What is asked of the final states; nothing if only locations are to be shown.
    pub quantifier: Option<Quantifier>,
    /// Of which proposition it is asked.
    pub proposition: Option<FinalExpr>,
    /// States in which this is 0 do not count.
    pub filter: Option<FinalExpr>,
    /// What makes up a final state, in the order in which it prints.
    pub observed: Vec<Observed>,
    /// The condition as it was written, on one line.
    pub condition: String,
}

/// A part of a final state: a register, a variable, or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// How it is called: `0:EAX`, `[x]`, `a[1]`, `a`.
    pub text: String,
    /// Where its value is; an array has several.
    pub values: Vec<FinalValue>,
    /// How a number there is to be read.
    pub ty: ValueType,
    /// Whether it prints in braces.
    pub is_array: bool,
    /// Registers come first, by thread; then variables by name.
    order: (usize, String, usize),
}

/// What the threads of a test are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arch {
    /// 32-bit x86, destination first.
    X86,
    /// 64-bit x86, destination last.
    X86_64,
    /// C with C11 atomics.
    C,
}

/// Longer texts are no litmus tests.
const MAX_LENGTH: usize = 1 << 20;

/// Reads a litmus test.
pub fn parse(source: Arc<Source>) -> Result<Litmus, Vec<Diagnostic>> {
    let alone = |diagnostic: Diagnostic| vec![diagnostic];
    if source.text.len() > MAX_LENGTH {
        return Err(vec![Diagnostic::new(Span::default(), "this file is too long for a litmus test")]);
    }
    let header = header::parse_header(&source.text).map_err(alone)?;
    let mut cursor = Cursor::new(&source.text, header.end, Style::Litmus);
    let mut symbols = init::parse_init(&mut cursor, header.arch).map_err(alone)?;
    let mut threads = match header.arch {
        Arch::C => c::parse_threads(&mut cursor, &mut symbols)?,
        arch => {
            let columns = x86::parse_table(&mut cursor, arch)?;
            x86::lower(&columns, arch, &mut symbols)?
        }
    };
    let question = condition::parse_question(&mut cursor, header.arch, &mut symbols, &mut threads).map_err(alone)?;
    let mut program = Program {
        name: header.name.clone(),
        source: source.clone(),
        cells: symbols.cells,
        locks: Vec::new(),
        condvars: Vec::new(),
        routines: Vec::new(),
        initial: Vec::new(),
        finally: None,
        conditions: Vec::new(),
        automata: None,
    };
    let plain: Vec<_> = threads.iter().map(|thread| thread.plain().clone()).collect();
    for (index, thread) in threads.into_iter().enumerate() {
        let (routine, start) = thread.finish(index);
        program.routines.push(routine);
        program.initial.push(start);
    }
    plain::declare(&mut program, &plain).map_err(alone)?;
    program.conditions.extend(program_condition(&question));
    debug_assert_eq!(validate(&program), Ok(()));
    let written = &source.text[question.span.start as usize..question.span.end as usize];
    Ok(Litmus {
        name: header.name,
        arch: header.arch,
        program,
        quantifier: question.quantifier,
        proposition: question.proposition,
        filter: question.filter,
        observed: question.observed,
        condition: written.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}

/// The question without its filter: what the filter drops satisfies `forall` and does not satisfy the others.
fn program_condition(question: &condition::Question) -> Option<Condition> {
    let (quantifier, proposition) = (question.quantifier?, question.proposition.clone()?);
    let proposition = match (&question.filter, quantifier) {
        (None, _) => proposition,
        (Some(filter), Quantifier::Always) => {
            filter.clone().unary(UnaryOp::Not).binary(crate::program::BinaryOp::Or, proposition)
        }
        (Some(filter), _) => filter.clone().binary(crate::program::BinaryOp::And, proposition),
    };
    Some(Condition { quantifier, proposition, span: question.span })
}

impl Arch {
    /// The name of a register as herd prints it, if this is one.
    fn register_name(self, name: &str) -> Option<String> {
        match self {
            Arch::C => Some(name.to_string()),
            _ => x86::part(self, name).map(|part| part.register),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::X86 => "X86",
            Arch::X86_64 => "X86_64",
            Arch::C => "C",
        })
    }
}
