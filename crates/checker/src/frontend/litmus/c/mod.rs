//! C threads: `P0(atomic_int *x, int *y) { int r0 = atomic_load_explicit(x, memory_order_relaxed); … }`.
//!
//! Parsed and lowered in one pass, from left to right, which is the order of evaluation. Parameters that are pointers
//! stand for the shared variables of the same name; everything that is declared in a body is a register. Sizes of local
//! types matter only where arithmetic can overflow them.

mod call;
mod expression;
mod statement;

use std::collections::BTreeMap;

use super::ValueType;
use super::code::{Code, Label};
use super::init::{MAX_THREAD, thread_number};
use super::lexer::{Cursor, Parsed, Style, Word};
use super::symbols::Symbols;
use crate::base::Diagnostic;
use crate::program::{Expr, Place, Reg};

/// Parentheses and blocks deeper than this are a mistake, or an attack.
const MAX_DEPTH: usize = 60;
/// More instructions or registers than any litmus test has.
const MAX_SIZE: usize = 4096;

/// Reads all threads. The cursor then stands after them.
pub(super) fn parse_threads(cursor: &mut Cursor, symbols: &mut Symbols) -> Result<Vec<Code>, Vec<Diagnostic>> {
    let mut inner = cursor.restyled(Style::C);
    let threads = parse_all(&mut inner, symbols).map_err(|diagnostic| vec![diagnostic])?;
    *cursor = inner.restyled(Style::Litmus);
    Ok(threads)
}

fn parse_all(cursor: &mut Cursor, symbols: &mut Symbols) -> Parsed<Vec<Code>> {
    let mut threads: Vec<Code> = Vec::new();
    while let Some(number) = heading(cursor) {
        let span = cursor.advance().span;
        if number > MAX_THREAD || threads.iter().any(|code| code.thread == number) {
            return Err(Diagnostic::new(span, format!("there is a thread P{number} already, or too many of them")));
        }
        threads.push(parse_thread(number, cursor, symbols)?);
    }
    if threads.is_empty() { Err(cursor.unexpected("a thread such as `P0(int *x) { … }`")) } else { Ok(threads) }
}

/// The number of the thread that starts here, after words such as `static void`.
fn heading(cursor: &mut Cursor) -> Option<usize> {
    while cursor.eat_word("static") || cursor.eat_word("void") {}
    match cursor.peek() {
        Word::Identifier(name) => thread_number(name),
        _ => None,
    }
}

fn parse_thread(number: usize, cursor: &mut Cursor, symbols: &mut Symbols) -> Parsed<Code> {
    let code = Code::new(number, symbols);
    let mut thread = ThreadCode {
        cursor,
        symbols,
        code,
        shared: BTreeMap::new(),
        locals: BTreeMap::new(),
        loops: Vec::new(),
        depth: 0,
        operators: 0,
    };
    thread.parameters()?;
    thread.block()?;
    Ok(thread.code)
}

/// One thread being read and lowered.
struct ThreadCode<'p, 'a> {
    cursor: &'p mut Cursor<'a>,
    symbols: &'p mut Symbols,
    code: Code,
    /// Parameters, by name: the address of what they point to.
    shared: BTreeMap<String, i64>,
    /// Variables of the body.
    locals: BTreeMap<String, ValueType>,
    /// Where `break` and `continue` of the loops around go.
    loops: Vec<(Label, Label)>,
    depth: usize,
    /// Operators in the current statement: the greatest depth that its expressions can have.
    operators: usize,
}

/// What an expression can stand for before it is known whether its value is wanted.
enum Term {
    Value(Expr),
    Local(Reg, ValueType),
    Memory(Place),
    /// `&r0` of a local variable.
    AddressOfLocal(Reg, ValueType),
}

impl ThreadCode<'_, '_> {
    fn parameters(&mut self) -> Parsed<()> {
        self.cursor.expect("(")?;
        if self.cursor.eat_word("void") && self.cursor.eat(")") {
            return Ok(());
        }
        while !self.cursor.eat(")") {
            let ty = self.type_name()?;
            let pointer = self.stars();
            let (name, span) = self.cursor.identifier("a parameter's name")?;
            if self.cursor.eat("[") {
                self.cursor.expect("]")?;
            } else if !pointer {
                self.declare_local(name, ty);
                if !self.cursor.at_symbol(")") {
                    self.cursor.expect(",")?;
                }
                continue;
            }
            let declared = self.symbols.parameter(name, ty).map_err(|what| Diagnostic::new(span, what))?;
            self.shared.insert(name.to_string(), declared);
            if !self.cursor.at_symbol(")") {
                self.cursor.expect(",")?;
            }
        }
        Ok(())
    }

    /// Skips `*` and qualifiers; whether there was a `*`.
    fn stars(&mut self) -> bool {
        let mut pointer = false;
        loop {
            if self.cursor.eat("*") {
                pointer = true;
            } else if !(self.cursor.eat_word("const")
                || self.cursor.eat_word("volatile")
                || self.cursor.eat_word("restrict"))
            {
                return pointer;
            }
        }
    }

    fn declare_local(&mut self, name: &str, ty: ValueType) -> Reg {
        self.locals.insert(name.to_string(), ty);
        self.symbols.declare_register(self.code.thread, name, ty);
        self.code.register(name)
    }

    fn at_type(&self) -> bool {
        matches!(self.cursor.peek(), Word::Identifier(name) if is_type_word(name) && self.cursor.peek_at(1) != Word::Symbol("("))
            || matches!(self.cursor.peek(), Word::Identifier("_Atomic"))
    }

    /// All words of a type, up to the stars.
    fn type_name(&mut self) -> Parsed<ValueType> {
        let mut words = Vec::new();
        while let Word::Identifier(word) = self.cursor.peek() {
            if !is_type_word(word) {
                break;
            }
            self.cursor.advance();
            words.push(word);
            if word == "_Atomic" && self.cursor.eat("(") {
                while let Word::Identifier(word) = self.cursor.peek() {
                    self.cursor.advance();
                    words.push(word);
                }
                self.cursor.expect(")")?;
            }
        }
        if words.is_empty() { Err(self.cursor.unexpected("a type")) } else { Ok(ValueType::named(words)) }
    }

    /// Counts a level of nesting; the caller takes it off again.
    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(self.cursor.span(), "this is nested too deeply"));
        }
        if self.code.size() > MAX_SIZE {
            return Err(Diagnostic::new(self.cursor.span(), "this thread is too long"));
        }
        Ok(())
    }
}

fn is_type_word(word: &str) -> bool {
    const WORDS: &[&str] = &[
        "int",
        "char",
        "short",
        "long",
        "unsigned",
        "signed",
        "void",
        "bool",
        "_Bool",
        "const",
        "volatile",
        "_Atomic",
        "register",
        "static",
        "struct",
        "__int128",
        "__uint128",
        "u8",
        "u16",
        "u32",
        "u64",
        "s8",
        "s16",
        "s32",
        "s64",
    ];
    const ATOMIC: &[&str] = &[
        "int", "uint", "long", "ulong", "llong", "ullong", "char", "uchar", "schar", "short", "ushort", "bool", "flag",
        "t",
    ];
    WORDS.contains(&word)
        || word.ends_with("_t")
        || word.strip_prefix("atomic_").is_some_and(|rest| ATOMIC.contains(&rest))
}
