//! Instructions that read an operand and write it: one read-modify-write with LOCK, a load and a store without.

use super::lower::{Lower, is_memory};
use super::mnemonic::Arithmetic;
use super::operand::Operand;
use super::register::{Part, part};
use crate::frontend::litmus::lexer::Parsed;
use crate::program::{BinaryOp, Expr, Instr, Ordering, RmwOp, UnaryOp};

impl Lower<'_> {
    pub(super) fn arithmetic(
        &mut self,
        op: Arithmetic,
        locked: bool,
        bits: u8,
        to: &Operand,
        value: Expr,
    ) -> Parsed<()> {
        let old = if locked {
            let place = self.memory(to, bits)?;
            let dst = self.flags.map(|_| self.code.temporary());
            let operand = value.clone();
            self.code.emit(Instr::Rmw { dst, place, op: op.rmw(), operand, ordering: Ordering::SeqCst });
            let Some(old) = dst else { return Ok(()) };
            old.into()
        } else {
            self.read_once(to, bits)?
        };
        // The value may be the register that is about to change.
        let value = if self.flags.is_some() && op == Arithmetic::Sub { self.keep(value) } else { value };
        let result = self.normal(bits, old.clone().binary(op.binary(), value.clone()));
        if op == Arithmetic::Sub {
            self.compare(old, value);
        } else {
            self.compare(result.clone(), 0.into());
        }
        if locked { Ok(()) } else { self.write(to, bits, result) }
    }

    pub(super) fn exchange(&mut self, locked: bool, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        let new = self.read(from, bits)?;
        if locked && is_memory(to) {
            let place = self.memory(to, bits)?;
            let old = self.code.temporary();
            let (dst, op) = (Some(old), RmwOp::Swap);
            self.code.emit(Instr::Rmw { dst, place, op, operand: new, ordering: Ordering::SeqCst });
            return self.write(from, bits, old.into());
        }
        let old = self.read_once(to, bits)?;
        self.write(to, bits, new)?;
        self.write(from, bits, old)
    }

    pub(super) fn exchange_add(&mut self, locked: bool, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        let value = self.read(from, bits)?;
        if locked {
            let place = self.memory(to, bits)?;
            let old = self.code.temporary();
            let (dst, op) = (Some(old), RmwOp::Add);
            self.code.emit(Instr::Rmw { dst, place, op, operand: value.clone(), ordering: Ordering::SeqCst });
            let result = self.normal(bits, Expr::from(old).binary(BinaryOp::Add, value));
            self.compare(result, 0.into());
            return self.write(from, bits, old.into());
        }
        let old = self.read_once(to, bits)?;
        let result = self.normal(bits, old.clone().binary(BinaryOp::Add, value));
        self.compare(result.clone(), 0.into());
        self.write(from, bits, old)?;
        self.write(to, bits, result)
    }

    pub(super) fn compare_exchange(&mut self, locked: bool, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        let accumulator = part(self.arch, "eax").unwrap_or(Part { register: String::new(), bits: 32, high: false });
        let accumulator = Part { bits, ..accumulator };
        let expected = self.read_part(&accumulator, bits);
        let expected = self.keep(expected);
        let desired = self.read(from, bits)?;
        let (write, end) = (self.code.label(), self.code.label());
        let old = if locked {
            let place = self.memory(to, bits)?;
            let dst = self.code.temporary();
            let expected = expected.clone();
            let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
            self.code.emit(Instr::Cas { dst, place, expected, desired: desired.clone(), success, failure });
            dst.into()
        } else {
            self.read_once(to, bits)?
        };
        self.compare(expected.clone(), old.clone());
        let failed = self.code.label();
        let equal = old.clone().binary(BinaryOp::Eq, expected);
        self.code.branch(equal, write, failed);
        self.code.place(failed);
        self.write_part(&accumulator, bits, old);
        self.code.jump(end);
        self.code.place(write);
        if !locked {
            self.write(to, bits, desired)?;
        }
        self.code.place(end);
        Ok(())
    }

    /// BT, BTS, BTR, BTC: the carry becomes the old bit.
    pub(super) fn bit(
        &mut self,
        change: Option<Arithmetic>,
        locked: bool,
        bits: u8,
        to: &Operand,
        from: &Operand,
    ) -> Parsed<()> {
        let number = self.read(from, bits)?.binary(BinaryOp::BitAnd, (i64::from(bits) - 1).into());
        let number = self.keep(number);
        let mask = Expr::from(1).binary(BinaryOp::Shl, number.clone());
        let Some(change) = change else {
            let old = self.read_once(to, bits)?;
            let bit = old.binary(BinaryOp::Shr, number).binary(BinaryOp::BitAnd, 1.into());
            self.compare(0.into(), bit);
            return Ok(());
        };
        let mask = if change == Arithmetic::And { mask.unary(UnaryOp::BitNot) } else { mask };
        let old = if locked {
            let place = self.memory(to, bits)?;
            let dst = self.code.temporary();
            let op = change.rmw();
            self.code.emit(Instr::Rmw { dst: Some(dst), place, op, operand: mask, ordering: Ordering::SeqCst });
            dst.into()
        } else {
            let old = self.read_once(to, bits)?;
            let old = self.keep(old);
            let result = self.normal(bits, old.clone().binary(change.binary(), mask));
            self.write(to, bits, result)?;
            old
        };
        self.compare(0.into(), old.binary(BinaryOp::Shr, number).binary(BinaryOp::BitAnd, 1.into()));
        Ok(())
    }
}
