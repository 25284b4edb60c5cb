//! From x86 instructions to the register machine.
//!
//! *Values*: inside this file an operand of n bits is a number with the sign of its bit n-1. Registers of `X86` hold 32
//! bits in that form; those of `X86_64` hold 64, and writing 32 of them clears the rest. Cells hold what the last
//! store wrote, in that form.
//!
//! *Flags*: the two sides of the last comparison; a result that was not compared is compared with 0. Conditions
//! are asked of these two. That is exact but for arithmetic that overflows.
//!
//! *Memory*: an instruction without LOCK that changes memory is a load and then a store. XCHG and everything with LOCK
//! is one read-modify-write.

use std::collections::BTreeMap;

use super::mnemonic::{Arithmetic, Condition, Op};
use super::operand::{Operand, OperandKind};
use super::table::{Column, Instruction, Line};
use crate::base::{Diagnostic, Loc, Span};
use crate::frontend::litmus::code::{Code, Label};
use crate::frontend::litmus::lexer::Parsed;
use crate::frontend::litmus::symbols::Symbols;
use crate::frontend::litmus::{Arch, ValueType};
use crate::program::{BinaryOp, Expr, Instr, Ordering, Place, Reg, UnaryOp};

/// More instructions than any litmus test has.
const MAX_LINES: usize = 4096;

/// Lowers all columns.
pub(in super::super) fn lower(
    columns: &[Column],
    arch: Arch,
    symbols: &mut Symbols,
) -> Result<Vec<Code>, Vec<Diagnostic>> {
    symbols.pointers |= columns.iter().flat_map(|column| &column.lines).any(makes_pointer);
    let mut diagnostics = Vec::new();
    let mut codes = Vec::new();
    for column in columns {
        let mut lower = Lower::new(column, arch, symbols);
        lower.column(column, &mut diagnostics);
        codes.push(lower.code);
    }
    if diagnostics.is_empty() { Ok(codes) } else { Err(diagnostics) }
}

fn makes_pointer(line: &Line) -> bool {
    let Line::Instruction(instruction) = line else { return false };
    let has_address = |operand: &Operand| matches!(operand.kind, OperandKind::AddressOf(_));
    instruction.op == Op::LoadAddress || instruction.operands.iter().any(has_address)
}

/// One thread being lowered.
pub(super) struct Lower<'a> {
    pub(super) arch: Arch,
    pub(super) symbols: &'a mut Symbols,
    pub(super) code: Code,
    labels: BTreeMap<String, Label>,
    /// The sides of the last comparison, if anything in this thread asks for it.
    pub(super) flags: Option<(Reg, Reg)>,
}

impl<'a> Lower<'a> {
    fn new(column: &Column, arch: Arch, symbols: &'a mut Symbols) -> Lower<'a> {
        let mut code = Code::new(column.thread, symbols);
        let asked = column.lines.iter().any(|line| matches!(line, Line::Instruction(i) if i.op.reads_flags()));
        let flags = asked.then(|| (code.register("flags.left"), code.register("flags.right")));
        if let Some((left, _)) = flags {
            // At the start all flags are clear: nothing was equal, less, or below.
            code.assign(left, 1);
        }
        Lower { arch, symbols, code, labels: BTreeMap::new(), flags }
    }

    fn column(&mut self, column: &Column, diagnostics: &mut Vec<Diagnostic>) {
        if column.lines.len() > MAX_LINES {
            return diagnostics.push(Diagnostic::new(Span::default(), "a thread has too many instructions"));
        }
        for line in &column.lines {
            if let Line::Label(name, span) = line {
                let label = self.code.label();
                if self.labels.insert(name.clone(), label).is_some() {
                    diagnostics.push(Diagnostic::new(*span, format!("the label `{name}` stands twice in this thread")));
                }
            }
        }
        for line in &column.lines {
            match line {
                Line::Label(name, _) => self.code.place(self.labels[name]),
                Line::Instruction(instruction) => {
                    self.code.here = instruction.span;
                    self.code.release_temporaries();
                    diagnostics.extend(self.instruction(instruction).err());
                }
            }
        }
    }

    fn instruction(&mut self, instruction: &Instruction) -> Parsed<()> {
        let bits = self.size(instruction);
        let operands = instruction.operands.as_slice();
        match (instruction.op, operands) {
            (Op::Nop, _) => {}
            (Op::Return, _) => self.code.emit(Instr::End),
            (Op::FullFence, _) => self.code.emit(Instr::Fence { ordering: Ordering::SeqCst }),
            (Op::StoreFence, _) => self.code.emit(Instr::Fence { ordering: Ordering::Release }),
            (Op::Jump, [target]) => {
                let target = self.target(target)?;
                self.code.jump(target);
            }
            (Op::JumpIf(condition), [target]) => {
                let (target, next) = (self.target(target)?, self.code.label());
                let holds = self.holds(condition);
                self.code.branch(holds, target, next);
                self.code.place(next);
            }
            (Op::SetIf(condition), [operand]) => {
                let holds = self.holds(condition);
                self.write(operand, 8, holds)?;
            }
            (Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightSigned, _) => self.shift(instruction, bits)?,
            (op, [operand]) => self.unary(op, instruction.locked, bits, operand)?,
            (op, [first, second]) => {
                let (to, from) = self.directed(op, first, second);
                require_one_memory(instruction, to, from)?;
                self.binary(op, instruction.locked, bits, to, from)?;
            }
            _ => return Err(Diagnostic::new(instruction.span, "this instruction has the wrong number of operands")),
        }
        Ok(())
    }

    /// Destination and source. A compare-exchange names its memory first in herd's X86_64 too; what is exchanged or
    /// compared with memory has only one possible order.
    fn directed<'o>(&self, op: Op, first: &'o Operand, second: &'o Operand) -> (&'o Operand, &'o Operand) {
        let swapped = match op {
            Op::Exchange { .. } | Op::ExchangeAdd if is_memory(first) != is_memory(second) => is_memory(second),
            Op::CompareExchange => is_memory(second),
            _ => self.arch == Arch::X86_64,
        };
        if swapped { (second, first) } else { (first, second) }
    }

    /// The operands' size: by the mnemonic, by a register, by the memory.
    fn size(&mut self, instruction: &Instruction) -> u8 {
        let whole = if self.arch == Arch::X86 { 32 } else { 64 };
        let of_operand = |kind: fn(&OperandKind) -> Option<u8>| instruction.operands.iter().find_map(|o| kind(&o.kind));
        let by_register = || {
            of_operand(|kind| match kind {
                OperandKind::Register(part) => Some(part.bits),
                _ => None,
            })
        };
        let by_memory = || {
            of_operand(|kind| match kind {
                OperandKind::Memory(address) => address.bits,
                _ => None,
            })
        };
        let symbol = instruction.operands.iter().find_map(|operand| match &operand.kind {
            OperandKind::Memory(address) => address.symbol.as_deref(),
            OperandKind::Name(name) => Some(name.as_str()),
            _ => None,
        });
        let declared = || symbol.and_then(|name| self.symbols.variable(name).ok()).map(|variable| variable.ty().bits);
        let bits = instruction.bits.or_else(by_register).or_else(by_memory).or_else(declared).unwrap_or(32);
        bits.min(whole)
    }

    fn target(&self, operand: &Operand) -> Parsed<Label> {
        let OperandKind::Name(name) = &operand.kind else {
            return Err(Diagnostic::new(operand.span, "a jump needs a label"));
        };
        self.labels
            .get(name)
            .copied()
            .ok_or_else(|| Diagnostic::new(operand.span, format!("there is no label `{name}` in this thread")))
    }

    fn holds(&self, condition: Condition) -> Expr {
        // A thread with a condition has flags.
        let (left, right) = self.flags.unwrap_or((Reg(0), Reg(0)));
        condition.holds(left.into(), right.into())
    }

    /// Remembers a comparison for the conditions to come.
    pub(super) fn compare(&mut self, left: Expr, right: Expr) {
        if let Some((to_left, to_right)) = self.flags {
            self.code.assign(to_left, left);
            self.code.assign(to_right, right);
        }
    }

    /// INC, DEC, NEG, NOT.
    fn unary(&mut self, op: Op, locked: bool, bits: u8, operand: &Operand) -> Parsed<()> {
        match op {
            Op::Increment => self.arithmetic(Arithmetic::Add, locked, bits, operand, 1.into()),
            Op::Decrement => self.arithmetic(Arithmetic::Sub, locked, bits, operand, 1.into()),
            // NOT leaves the flags alone.
            Op::Not => {
                let flags = self.flags.take();
                let result = self.arithmetic(Arithmetic::Xor, locked, bits, operand, (-1).into());
                self.flags = flags;
                result
            }
            _ => self.negate(locked, bits, operand),
        }
    }

    fn negate(&mut self, locked: bool, bits: u8, operand: &Operand) -> Parsed<()> {
        if locked {
            return self.negate_locked(bits, operand);
        }
        let old = self.read_once(operand, bits)?;
        let result = self.normal(bits, old.clone().unary(UnaryOp::Neg));
        self.write(operand, bits, result)?;
        self.compare(0.into(), old);
        Ok(())
    }

    /// No read-modify-write negates: compare-exchange until it succeeds, on drained buffers, ends in the same states.
    fn negate_locked(&mut self, bits: u8, operand: &Operand) -> Parsed<()> {
        let place = self.memory(operand, bits)?;
        let (old, seen) = (self.code.temporary(), self.code.temporary());
        let (again, done) = (self.code.label(), self.code.label());
        self.code.emit(Instr::Fence { ordering: Ordering::SeqCst });
        self.code.place(again);
        self.code.emit(Instr::Load { dst: old, place: place.clone(), ordering: Ordering::Relaxed });
        let desired = self.normal(bits, Expr::from(old).unary(UnaryOp::Neg));
        let expected = old.into();
        let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
        self.code.emit(Instr::Cas { dst: seen, place, expected, desired, success, failure });
        self.code.branch(Expr::from(seen).binary(BinaryOp::Eq, old.into()), done, again);
        self.code.place(done);
        self.compare(0.into(), old.into());
        Ok(())
    }

    fn binary(&mut self, op: Op, locked: bool, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        match op {
            Op::Move => {
                let value = self.read(from, bits)?;
                self.write(to, bits, value)
            }
            Op::Extend { from: size, signed } => self.extend(size, signed, bits, to, from),
            Op::Exchange { locked: always } => self.exchange(locked || always, bits, to, from),
            Op::Arithmetic(op) => {
                let value = self.read(from, bits)?;
                self.arithmetic(op, locked, bits, to, value)
            }
            Op::Compare => {
                let right = self.read(from, bits)?;
                let left = self.read(to, bits)?;
                self.compare(left, right);
                Ok(())
            }
            Op::Test => {
                let right = self.read(from, bits)?;
                let left = self.read(to, bits)?;
                self.compare(left.binary(BinaryOp::BitAnd, right), 0.into());
                Ok(())
            }
            Op::ExchangeAdd => self.exchange_add(locked, bits, to, from),
            Op::CompareExchange => self.compare_exchange(locked, bits, to, from),
            Op::Bit(change) => self.bit(change, locked, bits, to, from),
            Op::LoadAddress => self.load_address(bits, to, from),
            Op::MoveIf(condition) => {
                let value = self.read(from, bits)?;
                let (then, end) = (self.code.label(), self.code.label());
                let holds = self.holds(condition);
                self.code.branch(holds, then, end);
                self.code.place(then);
                self.write(to, bits, value)?;
                self.code.place(end);
                Ok(())
            }
            _ => Err(Diagnostic::new(to.span.to(from.span), "this instruction has one operand")),
        }
    }

    fn extend(&mut self, size: Option<u8>, signed: bool, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        let by_operand = match &from.kind {
            OperandKind::Register(part) => Some(part.bits),
            OperandKind::Memory(address) => address.bits,
            _ => None,
        };
        let size = size.or(by_operand).unwrap_or(8);
        let bits = if let OperandKind::Register(part) = &to.kind { part.bits } else { bits };
        let value = self.read_once(from, size)?;
        let value = if signed { value } else { ValueType { bits: size, signed }.normalized(value, false) };
        self.write(to, bits, value)
    }

    fn shift(&mut self, instruction: &Instruction, bits: u8) -> Parsed<()> {
        let (to, count) = match instruction.operands.as_slice() {
            [first, second] => {
                let (to, from) = self.directed(instruction.op, first, second);
                (to, self.read(from, 8)?)
            }
            operands => (&operands[0], Expr::from(1)),
        };
        // The shifted operand has the size; the other one is a byte.
        let bits = match &to.kind {
            OperandKind::Register(part) => instruction.bits.unwrap_or(part.bits),
            _ => bits,
        };
        let count = count.binary(BinaryOp::BitAnd, if bits == 64 { 63 } else { 31 }.into());
        let old = self.read_once(to, bits)?;
        let (old, op) = match instruction.op {
            Op::ShiftLeft => (old, BinaryOp::Shl),
            Op::ShiftRight if bits < 64 => (ValueType { bits, signed: false }.normalized(old, false), BinaryOp::Shr),
            Op::ShiftRight => return Err(Diagnostic::new(to.span, "a 64-bit SHR is not supported")),
            _ => (old, BinaryOp::Shr),
        };
        let result = self.normal(bits, old.binary(op, count));
        self.compare(result.clone(), 0.into());
        self.write(to, bits, result)
    }

    fn load_address(&mut self, bits: u8, to: &Operand, from: &Operand) -> Parsed<()> {
        let place = self.memory(from, bits)?;
        let pointer_to = |cell: u32| Loc::global(cell as usize).pointer();
        let address = match place {
            Place::Cell(cell) => pointer_to(cell).into(),
            Place::Element { base, index, .. } => Expr::from(pointer_to(base)).binary(BinaryOp::Add, index),
            Place::Deref { pointer, .. } => pointer,
        };
        let address = self.keep(address);
        self.write(to, bits, address)
    }
}

pub(super) fn is_memory(operand: &Operand) -> bool {
    matches!(operand.kind, OperandKind::Memory(_) | OperandKind::Name(_))
}

fn require_one_memory(instruction: &Instruction, to: &Operand, from: &Operand) -> Parsed<()> {
    let locked_register = instruction.locked && !is_memory(to) && !is_memory(from);
    if is_memory(to) && is_memory(from) {
        return Err(Diagnostic::new(instruction.span, "only one operand can be in memory"));
    }
    if locked_register {
        return Err(Diagnostic::new(instruction.span, "LOCK needs an operand in memory"));
    }
    Ok(())
}
