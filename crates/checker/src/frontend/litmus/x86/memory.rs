//! Addresses to places.
//!
//! Addresses count bytes, the machine counts cells. An index or displacement is divided by the size of an element: of
//! the array that the address names, or of the access where it names none.

use super::lower::Lower;
use super::operand::Address;
use crate::base::{Diagnostic, Span};
use crate::frontend::litmus::lexer::Parsed;
use crate::program::{Access, BinaryOp, Expr, Place};

/// The place that an address means in an access of so many bits.
pub(super) fn place_of(lower: &mut Lower, address: &Address, bits: u8, span: Span) -> Parsed<Place> {
    match &address.symbol {
        Some(name) => place_in_variable(lower, name, address, bits, span),
        None => place_behind_pointer(lower, address, bits, span),
    }
}

fn place_in_variable(lower: &mut Lower, name: &str, address: &Address, bits: u8, span: Span) -> Parsed<Place> {
    let wrong = |what| Diagnostic::new(span, what);
    let variable = lower.symbols.variable(name).map_err(wrong)?;
    if bits == 64 {
        lower.symbols.widen(name);
    }
    let element = i64::from(variable.ty().bits / 8);
    let Some(offset) = offset_in_registers(lower, address) else {
        if address.displacement % element != 0 {
            return Err(wrong(format!("`{name}` has no element at byte {}", address.displacement)));
        }
        let cell = lower.symbols.element(name, address.displacement / element).map_err(wrong)?;
        return Ok(Place::Cell(cell as u32));
    };
    let index = in_cells(offset, address.displacement, element);
    Ok(Place::Element { base: variable.base, length: variable.length.unwrap_or(1), index })
}

fn place_behind_pointer(lower: &mut Lower, address: &Address, bits: u8, span: Span) -> Parsed<Place> {
    let Some(base) = &address.base else {
        return Err(Diagnostic::new(span, "memory at a fixed address is not supported")
            .hint("name a variable or a register that holds an address"));
    };
    let pointer = Expr::from(lower.code.register(&base.register));
    let index = address.index.as_ref().map(|(part, scale)| {
        let register = Expr::from(lower.code.register(&part.register));
        register.binary(BinaryOp::Mul, (*scale).into())
    });
    let pointer = match (index, address.displacement) {
        (None, 0) => pointer,
        (None, bytes) => pointer.binary(BinaryOp::Add, (bytes / i64::from(bits / 8)).into()),
        (Some(index), bytes) => pointer.binary(BinaryOp::Add, in_cells(index, bytes, i64::from(bits / 8))),
    };
    Ok(Place::Deref { pointer, offset: 0, access: Access::Atomic })
}

/// The bytes that registers add to a variable's address.
fn offset_in_registers(lower: &mut Lower, address: &Address) -> Option<Expr> {
    let base = address.base.as_ref().map(|part| Expr::from(lower.code.register(&part.register)));
    let index = address
        .index
        .as_ref()
        .map(|(part, scale)| Expr::from(lower.code.register(&part.register)).binary(BinaryOp::Mul, (*scale).into()));
    match (base, index) {
        (Some(base), Some(index)) => Some(base.binary(BinaryOp::Add, index)),
        (base, index) => base.or(index),
    }
}

fn in_cells(bytes: Expr, displacement: i64, element: i64) -> Expr {
    bytes.binary(BinaryOp::Add, displacement.into()).binary(BinaryOp::Div, element.into())
}
