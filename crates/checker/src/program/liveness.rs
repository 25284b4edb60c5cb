//! Live registers: those whose value can still matter.
//!
//! Standard backward data flow: `live_in(i) = uses(i) ∪ (live_out(i) \ defs(i))`, least fixed point. A thread clears its
//! dead registers whenever it stops at a visible operation, so two threads with the same future compare equal.

use super::{Expr, Indexed, Instr, Pc, Place, Reg, Routine};

/// For every instruction of a routine, the registers that are dead just before it.
#[derive(Clone, Debug)]
pub struct Liveness {
    dead_before: Vec<Vec<Reg>>,
}

type Bits = Vec<u64>;

impl Liveness {
    /// Analyses a valid routine (see `validate`).
    pub fn of(routine: &Routine) -> Liveness {
        let words = routine.registers.len().div_ceil(64);
        let mut live: Vec<Bits> = vec![vec![0; words]; routine.code.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for pc in (0..routine.code.len()).rev() {
                let before = live_before(routine, pc, &live, words);
                if live[pc] != before {
                    live[pc] = before;
                    changed = true;
                }
            }
        }
        let is_dead = |bits: &Bits, reg: usize| bits[reg / 64] >> (reg % 64) & 1 == 0;
        let dead =
            |bits: &Bits| (0..routine.registers.len()).filter(|&r| is_dead(bits, r)).map(|r| Reg(r as u16)).collect();
        Liveness { dead_before: live.iter().map(dead).collect() }
    }

    /// Registers that are dead just before `pc`.
    pub fn dead_before(&self, pc: Pc) -> &[Reg] {
        &self.dead_before[pc as usize]
    }
}

fn live_before(routine: &Routine, pc: usize, live: &[Bits], words: usize) -> Bits {
    let instr = &routine.code[pc];
    let mut bits = vec![0; words];
    for successor in instr.successors(pc as Pc) {
        for (word, from) in bits.iter_mut().zip(&live[successor as usize]) {
            *word |= from;
        }
    }
    if let Some(Reg(dst)) = instr.defined() {
        bits[dst as usize / 64] &= !(1 << (dst % 64));
    }
    let mut use_register = |Reg(reg): Reg| bits[reg as usize / 64] |= 1 << (reg % 64);
    instr.for_each_expr(&mut |expr| expr.for_each_leaf(&mut use_register));
    // Where a thread ends for good, what conditions ask about must have survived.
    if matches!(instr, Instr::End) {
        routine.observed.iter().copied().for_each(use_register);
    }
    bits
}

impl Instr {
    /// Where control can go from `pc`.
    pub fn successors(&self, pc: Pc) -> impl Iterator<Item = Pc> {
        let (first, second) = match self {
            Instr::Jump { target } => (Some(*target), None),
            Instr::Branch { then, otherwise, .. } => (Some(*then), Some(*otherwise)),
            Instr::End | Instr::Panic { .. } => (None, None),
            _ => (Some(pc + 1), None),
        };
        first.into_iter().chain(second)
    }

    /// The register that the instruction sets.
    pub fn defined(&self) -> Option<Reg> {
        match self {
            Instr::Assign { dst, .. }
            | Instr::Alloc { dst, .. }
            | Instr::Load { dst, .. }
            | Instr::Cas { dst, .. }
            | Instr::TryLock { dst, .. }
            | Instr::Choose { dst, .. } => Some(*dst),
            Instr::Rmw { dst, .. } | Instr::Fork { dst, .. } => *dst,
            _ => None,
        }
    }

    /// Calls `visit` with every expression that the instruction evaluates.
    pub fn for_each_expr<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        let place = |place: &'a Place, visit: &mut dyn FnMut(&'a Expr)| match place {
            Place::Cell(_) => {}
            Place::Element { index, .. } => visit(index),
            Place::Deref { pointer, .. } => visit(pointer),
        };
        let indexed = |Indexed { index, .. }: &'a Indexed, visit: &mut dyn FnMut(&'a Expr)| visit(index);
        match self {
            Instr::Jump { .. }
            | Instr::Alloc { .. }
            | Instr::Panic { .. }
            | Instr::End
            | Instr::Fence { .. }
            | Instr::Yield => {}
            Instr::Assign { value: expr, .. }
            | Instr::Branch { condition: expr, .. }
            | Instr::Assert { condition: expr, .. }
            | Instr::Assume { condition: expr }
            | Instr::Join { thread: expr }
            | Instr::Free { pointer: expr } => visit(expr),
            Instr::Load { place: at, .. } => place(at, visit),
            Instr::Store { place: at, value, .. } => {
                place(at, visit);
                visit(value);
            }
            Instr::Rmw { place: at, operand, .. } => {
                place(at, visit);
                visit(operand);
            }
            Instr::Cas { place: at, expected, desired, .. } => {
                place(at, visit);
                visit(expected);
                visit(desired);
            }
            Instr::Lock { lock, .. } | Instr::TryLock { lock, .. } | Instr::Unlock { lock, .. } => indexed(lock, visit),
            Instr::Wait { condvar, lock } => {
                indexed(condvar, visit);
                indexed(lock, visit);
            }
            Instr::Notify { condvar, .. } => indexed(condvar, visit),
            Instr::Fork { arguments, .. } => arguments.iter().for_each(visit),
            Instr::Choose { low, high, .. } => {
                visit(low);
                visit(high);
            }
        }
    }
}
