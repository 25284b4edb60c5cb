//! The program as a table: a column per thread, a row per line.

use super::mnemonic::{Op, decode};
use super::operand::{Operand, parse_operand};
use crate::base::{Diagnostic, Span};
use crate::frontend::litmus::Arch;
use crate::frontend::litmus::condition::is_ignored_section;
use crate::frontend::litmus::init::{MAX_THREAD, thread_number};
use crate::frontend::litmus::lexer::{Cursor, Parsed, Word};

/// One thread's instructions.
pub(in super::super) struct Column {
    pub(super) thread: usize,
    pub(super) lines: Vec<Line>,
}

/// A label or an instruction.
pub(super) enum Line {
    Label(String, Span),
    Instruction(Instruction),
}

/// An instruction with its operands in the order of the text.
pub(super) struct Instruction {
    pub(super) op: Op,
    /// The operands' size, if the mnemonic says it.
    pub(super) bits: Option<u8>,
    pub(super) locked: bool,
    pub(super) operands: Vec<Operand>,
    pub(super) span: Span,
}

/// More than this is not shown.
const MAX_DIAGNOSTICS: usize = 20;

/// Reads the table up to the locations or the condition. Every row that is wrong is reported.
pub(in super::super) fn parse_table(cursor: &mut Cursor, arch: Arch) -> Result<Vec<Column>, Vec<Diagnostic>> {
    let mut columns = parse_heading(cursor).map_err(|diagnostic| vec![diagnostic])?;
    let mut diagnostics = Vec::new();
    while !at_end_of_table(cursor) && diagnostics.len() < MAX_DIAGNOSTICS {
        parse_row(cursor, arch, &mut columns, &mut diagnostics);
    }
    if diagnostics.is_empty() { Ok(columns) } else { Err(diagnostics) }
}

fn parse_heading(cursor: &mut Cursor) -> Parsed<Vec<Column>> {
    cursor.eat(";");
    let mut columns: Vec<Column> = Vec::new();
    loop {
        let (name, span) = cursor.identifier("a thread's name such as `P0`")?;
        let thread = thread_number(name).filter(|thread| *thread <= MAX_THREAD);
        let thread = thread.ok_or_else(|| {
            Diagnostic::new(span, format!("`{name}` is not a thread's name")).hint("threads are called `P0`, `P1`, …")
        })?;
        if columns.iter().any(|column| column.thread == thread) {
            return Err(Diagnostic::new(span, format!("there are two columns for `{name}`")));
        }
        columns.push(Column { thread, lines: Vec::new() });
        if !cursor.eat("|") {
            cursor.expect(";")?;
            return Ok(columns);
        }
    }
}

fn at_end_of_table(cursor: &Cursor) -> bool {
    match (cursor.peek(), cursor.peek_at(1)) {
        (Word::End | Word::Symbol("~" | "("), _) => true,
        (Word::Identifier(name), Word::Symbol(":")) => is_ignored_section(name),
        (Word::Identifier("exists" | "forall" | "locations" | "filter" | "final" | "observed"), _) => true,
        (Word::Identifier("not"), Word::Identifier("exists")) => true,
        _ => false,
    }
}

fn parse_row(cursor: &mut Cursor, arch: Arch, columns: &mut [Column], diagnostics: &mut Vec<Diagnostic>) {
    for number in 0.. {
        let start = cursor.span();
        let mut lines = Vec::new();
        let mut parsed = parse_cell(cursor, arch, &mut lines);
        if parsed.is_ok() && !cursor.at_symbol("|") && !cursor.at_symbol(";") {
            parsed = Err(cursor.unexpected("`|` or `;` after an instruction"));
        }
        match columns.get_mut(number) {
            Some(column) => column.lines.append(&mut lines),
            None if lines.is_empty() => {}
            None => parsed = Err(Diagnostic::new(start, "there are more columns here than threads")),
        }
        if let Err(diagnostic) = parsed {
            diagnostics.push(diagnostic);
            while !matches!(cursor.peek(), Word::End | Word::Symbol("|" | ";")) {
                cursor.advance();
            }
        }
        if !cursor.eat("|") {
            cursor.advance();
            return;
        }
    }
}

/// Labels, then at most one instruction.
fn parse_cell(cursor: &mut Cursor, arch: Arch, lines: &mut Vec<Line>) -> Parsed<()> {
    while let (Word::Identifier(name), Word::Symbol(":")) = (cursor.peek(), cursor.peek_at(1)) {
        lines.push(Line::Label(name.to_string(), cursor.advance().span));
        cursor.advance();
    }
    if let Word::Identifier(_) = cursor.peek() {
        lines.push(Line::Instruction(parse_instruction(cursor, arch)?));
    }
    Ok(())
}

fn parse_instruction(cursor: &mut Cursor, arch: Arch) -> Parsed<Instruction> {
    let start = cursor.span();
    let locked = cursor.eat_word("lock");
    if locked {
        // An assembler takes `lock; incl x` for one instruction, and so does herd.
        cursor.eat(";");
    }
    let (name, span) = cursor.identifier("an instruction")?;
    let (op, bits) = decode(&name.to_ascii_lowercase()).ok_or_else(|| {
        Diagnostic::new(span, format!("the instruction `{name}` is not supported")).label("unknown instruction")
    })?;
    let mut operands = Vec::new();
    if !matches!(cursor.peek(), Word::End | Word::Symbol("|" | ";")) {
        operands.push(parse_operand(cursor, arch)?);
        while cursor.eat(",") {
            operands.push(parse_operand(cursor, arch)?);
        }
    }
    let whole = start.to(cursor.last_span());
    if !op.operands().contains(&operands.len()) {
        return Err(Diagnostic::new(whole, format!("`{name}` does not take {} operand(s)", operands.len())));
    }
    if locked && !op.lockable() {
        return Err(Diagnostic::new(whole, format!("`{name}` cannot have the prefix LOCK")));
    }
    Ok(Instruction { op, bits, locked, operands, span: whole })
}
