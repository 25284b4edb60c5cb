//! The initial state: `{ x=1; uint64_t y; 0:EAX=x; int a[2]={1,2}; }`.

use super::lexer::{Cursor, Parsed, Word};
use super::symbols::{InitialRegister, Symbols};
use super::{Arch, ValueType};
use crate::base::{Diagnostic, Span};

/// Reads the initial state with its braces.
pub(super) fn parse_init(cursor: &mut Cursor, arch: Arch) -> Parsed<Symbols> {
    let mut symbols = Symbols::default();
    cursor.expect("{")?;
    while !cursor.eat("}") {
        if cursor.eat(";") {
            continue;
        }
        parse_entry(cursor, arch, &mut symbols)?;
        if !cursor.at_symbol("}") && !cursor.at_symbol(";") {
            return Err(cursor.unexpected("`;` or `}` after an entry of the initial state"));
        }
    }
    Ok(symbols)
}

fn parse_entry(cursor: &mut Cursor, arch: Arch, symbols: &mut Symbols) -> Parsed<()> {
    let declared = parse_type(cursor);
    if let Some((thread, name, span)) = parse_register(cursor, arch)? {
        if thread > MAX_THREAD {
            return Err(Diagnostic::new(span, "a test has fewer threads than that"));
        }
        let value = if cursor.eat("=") { parse_value(cursor, symbols)? } else { 0 };
        let value = if arch == Arch::X86 { ValueType::INT.normalize(value) } else { value };
        symbols.registers.insert((thread, name), InitialRegister { value, declared });
        return Ok(());
    }
    let in_brackets = cursor.eat("[");
    let (name, span) = cursor.identifier("a variable or a register such as `0:EAX`")?;
    if in_brackets {
        cursor.expect("]")?;
    }
    if !in_brackets && cursor.eat("[") {
        return parse_array(cursor, symbols, declared, name, span);
    }
    let variable = symbols.declare(name, declared, None).map_err(|what| Diagnostic::new(span, what))?;
    if cursor.eat("=") {
        let value = parse_value(cursor, symbols)?;
        symbols.cells[variable.base as usize].initial = declared.map_or(value, |ty| cell_value(ty, value));
    }
    Ok(())
}

/// The greatest thread number that makes sense.
pub(super) const MAX_THREAD: usize = 255;

/// Cells hold what an instruction of their size would have stored: the value with its sign.
fn cell_value(ty: ValueType, value: i64) -> i64 {
    ValueType { signed: true, ..ty }.normalize(value)
}

/// The words before the name: `volatile int`, `uint64_t`, `int *`.
fn parse_type(cursor: &mut Cursor) -> Option<ValueType> {
    let mut words = Vec::new();
    let mut pointer = false;
    loop {
        match (cursor.peek(), cursor.peek_at(1)) {
            (Word::Symbol("*"), _) => pointer = true,
            (Word::Identifier(word), Word::Identifier(_) | Word::Number(_) | Word::Symbol("*")) => words.push(word),
            (Word::Identifier(word), Word::Symbol("[")) if matches!(cursor.peek_at(2), Word::Identifier(_)) => {
                words.push(word)
            }
            _ if pointer => return Some(ValueType::LONG),
            _ if words.is_empty() => return None,
            _ => return Some(ValueType::named(words)),
        }
        cursor.advance();
    }
}

/// `0:EAX` or `P0:EAX`: the thread's number and the canonical name of the register.
pub(super) fn parse_register(cursor: &mut Cursor, arch: Arch) -> Parsed<Option<(usize, String, Span)>> {
    let thread = match (cursor.peek(), cursor.peek_at(1)) {
        (Word::Number(number), Word::Symbol(":")) => usize::try_from(number).ok(),
        (Word::Identifier(name), Word::Symbol(":")) => thread_number(name),
        _ => None,
    };
    let Some(thread) = thread else { return Ok(None) };
    let start = cursor.advance().span;
    cursor.advance();
    cursor.eat("%");
    let (name, span) = cursor.identifier("a register")?;
    match arch.register_name(name) {
        Some(name) => Ok(Some((thread, name, start.to(span)))),
        None => Err(Diagnostic::new(span, format!("{arch} has no register `{name}`"))),
    }
}

/// The number in `P0`.
pub(super) fn thread_number(name: &str) -> Option<usize> {
    name.strip_prefix('P')?.parse().ok()
}

fn parse_array(
    cursor: &mut Cursor,
    symbols: &mut Symbols,
    declared: Option<ValueType>,
    name: &str,
    span: Span,
) -> Parsed<()> {
    let size_span = cursor.span();
    let length = cursor.number("the number of elements")?;
    let length = u32::try_from(length).ok().filter(|length| *length > 0);
    let length = length.ok_or_else(|| Diagnostic::new(size_span, "an array has at least one element"))?;
    cursor.expect("]")?;
    let variable = symbols.declare(name, declared, Some(length)).map_err(|what| Diagnostic::new(span, what))?;
    if !cursor.eat("=") {
        return Ok(());
    }
    cursor.expect("{")?;
    let mut cells = variable.cells();
    while !cursor.eat("}") {
        let Some(cell) = cells.next() else {
            return Err(Diagnostic::new(cursor.span(), format!("`{name}` has {length} elements only")));
        };
        let value = parse_value(cursor, symbols)?;
        symbols.cells[cell].initial = declared.map_or(value, |ty| cell_value(ty, value));
        if !cursor.at_symbol("}") {
            cursor.expect(",")?;
        }
    }
    Ok(())
}

/// A number, or the address of a variable.
pub(super) fn parse_value(cursor: &mut Cursor, symbols: &mut Symbols) -> Parsed<i64> {
    let ampersand = cursor.eat("&");
    if let (false, Word::Number(_) | Word::Symbol("-")) = (ampersand, cursor.peek()) {
        return cursor.number("a number");
    }
    let (name, span) = cursor.identifier("a number or the name of a variable")?;
    if name.ends_with("_INIT") {
        if !cursor.eat("(") {
            // `ATOMIC_FLAG_INIT` and its like: not set.
            return Ok(0);
        }
        let value = parse_value(cursor, symbols)?;
        cursor.expect(")")?;
        return Ok(value);
    }
    let mut index = 0;
    if cursor.eat("[") {
        index = cursor.number("an index")?;
        cursor.expect("]")?;
    }
    symbols.address(name, index).map_err(|what| Diagnostic::new(span, what))
}
