//! Reading and writing operands: registers and their parts, memory, numbers.

use super::lower::{Lower, is_memory};
use super::memory::place_of;
use super::operand::{Address, Operand, OperandKind};
use super::register::Part;
use crate::base::Diagnostic;
use crate::frontend::litmus::lexer::Parsed;
use crate::frontend::litmus::{Arch, ValueType};
use crate::program::{BinaryOp, Expr, Instr, Ordering, Place};

impl Lower<'_> {
    /// The operand's value. It may be an expression over registers that change later.
    pub(super) fn read(&mut self, operand: &Operand, bits: u8) -> Parsed<Expr> {
        match &operand.kind {
            OperandKind::Immediate(value) => Ok(ValueType { bits, signed: true }.normalize(*value).into()),
            OperandKind::Register(part) => Ok(self.read_part(part, bits)),
            OperandKind::AddressOf(name) => {
                let address = self.symbols.address(name, 0);
                address.map(Expr::from).map_err(|what| Diagnostic::new(operand.span, what))
            }
            OperandKind::Memory(_) | OperandKind::Name(_) => {
                let place = self.memory(operand, bits)?;
                let stored = self.stored_bits(operand, bits);
                let dst = self.code.temporary();
                self.code.emit(Instr::Load { dst, place, ordering: Ordering::Relaxed });
                if stored != bits {
                    let narrowed = self.signed(bits, dst.into());
                    self.code.assign(dst, narrowed);
                }
                Ok(dst.into())
            }
        }
    }

    /// The operand's value in something that does not change.
    pub(super) fn read_once(&mut self, operand: &Operand, bits: u8) -> Parsed<Expr> {
        let value = self.read(operand, bits)?;
        Ok(if is_memory(operand) { value } else { self.keep(value) })
    }

    /// Copies a value to a temporary, unless it is a constant.
    pub(super) fn keep(&mut self, value: Expr) -> Expr {
        if matches!(value, Expr::Const(_)) {
            return value;
        }
        let temporary = self.code.temporary();
        self.code.assign(temporary, value);
        temporary.into()
    }

    pub(super) fn write(&mut self, operand: &Operand, bits: u8, value: Expr) -> Parsed<()> {
        match &operand.kind {
            OperandKind::Register(part) => {
                self.write_part(part, bits, value);
                Ok(())
            }
            OperandKind::Memory(_) | OperandKind::Name(_) => {
                let place = self.memory(operand, bits)?;
                self.code.emit(Instr::Store { place, value, ordering: Ordering::Relaxed });
                Ok(())
            }
            _ => Err(Diagnostic::new(operand.span, "a number cannot be written to")),
        }
    }

    pub(super) fn memory(&mut self, operand: &Operand, bits: u8) -> Parsed<Place> {
        match &operand.kind {
            OperandKind::Memory(address) => place_of(self, address, bits, operand.span),
            OperandKind::Name(name) => {
                let address = Address { symbol: Some(name.clone()), ..Address::default() };
                place_of(self, &address, bits, operand.span)
            }
            _ => Err(Diagnostic::new(operand.span, "this operand has to be in memory")),
        }
    }

    /// How many bits the memory behind an operand holds; what is not known fits.
    pub(super) fn stored_bits(&mut self, operand: &Operand, bits: u8) -> u8 {
        let symbol = match &operand.kind {
            OperandKind::Memory(address) => address.symbol.as_deref(),
            OperandKind::Name(name) => Some(name.as_str()),
            _ => None,
        };
        symbol.and_then(|name| self.symbols.variable(name).ok()).map_or(bits, |variable| variable.ty().bits)
    }

    /// Whole registers have this many bits.
    pub(super) fn whole(&self) -> u8 {
        if self.arch == Arch::X86 { 32 } else { 64 }
    }

    pub(super) fn read_part(&mut self, part: &Part, bits: u8) -> Expr {
        let reg = Expr::from(self.code.register(&part.register));
        let bits = bits.min(part.bits);
        if part.high {
            return reg.binary(BinaryOp::Shl, 48.into()).binary(BinaryOp::Shr, 56.into());
        }
        if bits == self.whole() { reg } else { self.signed(bits, reg) }
    }

    pub(super) fn write_part(&mut self, part: &Part, bits: u8, value: Expr) {
        let reg = self.code.register(&part.register);
        let bits = bits.min(part.bits);
        if bits == 64 {
            self.symbols.wide_registers.insert((self.code.thread, part.register.clone()));
        }
        let value = if bits == self.whole() {
            value
        } else if bits == 32 {
            let leaf = if matches!(value, Expr::Binary(..) | Expr::Unary(..)) { self.keep(value) } else { value };
            ValueType { bits, signed: false }.normalized(leaf, self.symbols.pointers)
        } else {
            let shift = if part.high { 8 } else { 0 };
            let mask = ((1i64 << bits) - 1) << shift;
            let inserted = value.binary(BinaryOp::Shl, shift.into()).binary(BinaryOp::BitAnd, mask.into());
            Expr::from(reg).binary(BinaryOp::BitAnd, (!mask).into()).binary(BinaryOp::BitOr, inserted)
        };
        self.code.assign(reg, value);
    }

    /// A leaf cut to so many bits, with their sign.
    pub(super) fn signed(&self, bits: u8, leaf: Expr) -> Expr {
        ValueType { bits, signed: true }.normalized(leaf, self.symbols.pointers && bits >= 32)
    }

    /// The result of arithmetic, cut to the operands' size, in a temporary.
    pub(super) fn normal(&mut self, bits: u8, value: Expr) -> Expr {
        let kept = self.keep(value);
        if let (Expr::Leaf(temporary), true) = (&kept, bits < 64) {
            let cut = self.signed(bits, kept.clone());
            self.code.assign(*temporary, cut);
        }
        kept
    }
}
