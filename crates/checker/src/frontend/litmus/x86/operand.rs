//! Operands in both notations: `EAX`, `%eax`, `$1`, `1`, `[x]`, `(x)`, `[EAX+EBX*4+8]`, `8(%rax,%rbx,4)`, `x(%rip)`.

use super::register::{Part, part};
use crate::base::{Diagnostic, Span};
use crate::frontend::litmus::Arch;
use crate::frontend::litmus::lexer::{Cursor, Parsed, Word};

/// An operand and its place.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) kind: OperandKind,
    pub(super) span: Span,
}

/// What an operand is.
#[derive(Clone, Debug)]
pub(super) enum OperandKind {
    Register(Part),
    Memory(Address),
    Immediate(i64),
    /// The address of a variable, as a number.
    AddressOf(String),
    /// A bare name: a label after a jump, otherwise a variable.
    Name(String),
}

/// The address of an operand in memory: the sum of its parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Address {
    pub(super) symbol: Option<String>,
    pub(super) base: Option<Part>,
    pub(super) index: Option<(Part, i64)>,
    pub(super) displacement: i64,
    /// The size that `dword ptr` and its like say.
    pub(super) bits: Option<u8>,
}

/// Reads one operand.
pub(super) fn parse_operand(cursor: &mut Cursor, arch: Arch) -> Parsed<Operand> {
    let start = cursor.span();
    let kind = parse_kind(cursor, arch)?;
    Ok(Operand { kind, span: start.to(cursor.last_span()) })
}

fn parse_kind(cursor: &mut Cursor, arch: Arch) -> Parsed<OperandKind> {
    const WANTED: &str = "an operand: a register, a number, or a place in memory";
    match cursor.peek() {
        Word::Symbol("$") => {
            cursor.advance();
            match cursor.peek() {
                Word::Identifier(name) => {
                    cursor.advance();
                    Ok(OperandKind::AddressOf(name.to_string()))
                }
                _ => cursor.number("a number or a variable after `$`").map(OperandKind::Immediate),
            }
        }
        Word::Number(_) | Word::Symbol("-") => {
            let number = cursor.number(WANTED)?;
            let mut address = Address { displacement: number, ..Address::default() };
            match cursor.peek() {
                Word::Symbol("(") => parse_parenthesized(cursor, arch, &mut address)?,
                Word::Symbol("[") => parse_bracketed(cursor, arch, &mut address)?,
                _ => return Ok(OperandKind::Immediate(number)),
            }
            Ok(OperandKind::Memory(address))
        }
        Word::Symbol("[") => parse_memory(cursor, parse_bracketed, arch),
        Word::Symbol("(") => parse_memory(cursor, parse_parenthesized, arch),
        Word::Symbol("%") | Word::Identifier(_) => parse_named(cursor, arch),
        _ => Err(cursor.unexpected(WANTED)),
    }
}

fn parse_memory(
    cursor: &mut Cursor,
    parse: fn(&mut Cursor, Arch, &mut Address) -> Parsed<()>,
    arch: Arch,
) -> Parsed<OperandKind> {
    let mut address = Address::default();
    parse(cursor, arch, &mut address)?;
    Ok(OperandKind::Memory(address))
}

fn parse_kind_of_memory(cursor: &mut Cursor, arch: Arch) -> Parsed<OperandKind> {
    match cursor.peek() {
        Word::Number(_) | Word::Symbol("-" | "[" | "(") => parse_kind(cursor, arch),
        _ => Err(cursor.unexpected("a place in memory")),
    }
}

/// A register, a variable, a label, or memory with its size in front.
fn parse_named(cursor: &mut Cursor, arch: Arch) -> Parsed<OperandKind> {
    if let Some(register) = parse_part(cursor, arch)? {
        // A segment in front of an address changes nothing: `%cs:0(%rax)`.
        return if cursor.eat(":") { parse_kind_of_memory(cursor, arch) } else { Ok(OperandKind::Register(register)) };
    }
    let (name, _) = cursor.identifier("an operand")?;
    let size = match name.to_ascii_lowercase().as_str() {
        "byte" => Some(8),
        "word" => Some(16),
        "dword" => Some(32),
        "qword" => Some(64),
        _ => None,
    };
    if let Some(bits) = size.filter(|_| cursor.eat_word("ptr") || cursor.at_symbol("[")) {
        let mut address = Address { bits: Some(bits), ..Address::default() };
        parse_bracketed(cursor, arch, &mut address)?;
        return Ok(OperandKind::Memory(address));
    }
    if name.eq_ignore_ascii_case("offset")
        && let Word::Identifier(variable) = cursor.peek()
    {
        cursor.advance();
        return Ok(OperandKind::AddressOf(variable.to_string()));
    }
    let mut address = Address { symbol: Some(name.to_string()), ..Address::default() };
    let offset = cursor.eat("+");
    if offset || cursor.at_symbol("-") {
        address.displacement = cursor.number("a number of bytes")?;
    }
    match cursor.peek() {
        Word::Symbol("(") => parse_parenthesized(cursor, arch, &mut address)?,
        Word::Symbol("[") => parse_bracketed(cursor, arch, &mut address)?,
        _ if address.displacement == 0 => return Ok(OperandKind::Name(name.to_string())),
        _ => {}
    }
    Ok(OperandKind::Memory(address))
}

/// A register, if one is next. A percent sign allows nothing else.
fn parse_part(cursor: &mut Cursor, arch: Arch) -> Parsed<Option<Part>> {
    let percent = cursor.eat("%");
    if let Word::Identifier(name) = cursor.peek() {
        if let Some(part) = part(arch, name) {
            cursor.advance();
            return Ok(Some(part));
        }
        if percent {
            return Err(Diagnostic::new(cursor.span(), format!("{arch} has no register `{name}`")));
        }
    }
    if percent { Err(cursor.unexpected("a register")) } else { Ok(None) }
}

/// `(x)`, `(%rax)`, `(%rax,%rbx,4)`, `(,%rbx,4)`.
fn parse_parenthesized(cursor: &mut Cursor, arch: Arch, address: &mut Address) -> Parsed<()> {
    cursor.expect("(")?;
    if let Some(base) = parse_part(cursor, arch)? {
        add_base(address, base);
    } else if let Word::Identifier(name) = cursor.peek() {
        if address.symbol.replace(name.to_string()).is_some() {
            return Err(cursor.unexpected("a register"));
        }
        cursor.advance();
    } else if !cursor.at_symbol(",") {
        return Err(cursor.unexpected("a register or a variable"));
    }
    if cursor.eat(",") {
        let span = cursor.span();
        let index = parse_part(cursor, arch)?.ok_or_else(|| Diagnostic::new(span, "expected an index register"))?;
        let scale = if cursor.eat(",") { cursor.number("a scale")? } else { 1 };
        address.index = Some((index, scale));
    }
    cursor.expect(")").map(drop)
}

/// `[x]`, `[EAX]`, `[x+4]`, `[EAX+EBX*4-8]`.
fn parse_bracketed(cursor: &mut Cursor, arch: Arch, address: &mut Address) -> Parsed<()> {
    cursor.expect("[")?;
    loop {
        let negative = cursor.eat("-");
        let span = cursor.span();
        if let Word::Number(number) = cursor.peek() {
            cursor.advance();
            let number = if negative { number.wrapping_neg() } else { number };
            address.displacement = address.displacement.wrapping_add(number);
        } else if negative {
            return Err(cursor.unexpected("a number"));
        } else if let Some(part) = parse_part(cursor, arch)? {
            let scale = if cursor.eat("*") { Some(cursor.number("a scale")?) } else { None };
            match (scale, &address.base) {
                (None, None) => add_base(address, part),
                _ if address.index.is_none() => address.index = Some((part, scale.unwrap_or(1))),
                _ => return Err(Diagnostic::new(span, "an address has two registers at most")),
            }
        } else {
            let (name, span) = cursor.identifier("a register, a variable or a number")?;
            if address.symbol.replace(name.to_string()).is_some() {
                return Err(Diagnostic::new(span, "an address has one variable at most"));
            }
        }
        if !cursor.eat("+") && !cursor.at_symbol("-") {
            return cursor.expect("]").map(drop);
        }
    }
}

/// Addresses relative to the instruction pointer are absolute ones.
fn add_base(address: &mut Address, base: Part) {
    if !base.register.eq_ignore_ascii_case("rip") {
        address.base = Some(base);
    }
}
