//! Where a thread can fail before it looks at anything shared again.
//!
//! Backward data flow over the code between two visible instructions: `fails(i) = can_fail(i) ∨ (i is local ∧ fails(some successor))`, least fixed point.
//! "No" is certain, "yes" is a guess: whether a division is by zero depends on values.

use super::{BinaryOp, Expr, ExprOver, Indexed, Instr, Pc, Place, Routine};

/// For every instruction of a routine, whether the thread can fail after it, at the next visible one or before.
#[derive(Clone, Debug)]
pub struct Failing {
    after: Vec<bool>,
}

impl Failing {
    /// Analyses a valid routine (see `validate`).
    pub fn of(routine: &Routine) -> Failing {
        let code = &routine.code;
        let mut fails: Vec<bool> = code.iter().map(can_fail).collect();
        let after = |fails: &[bool], pc: usize| code[pc].successors(pc as Pc).any(|next| fails[next as usize]);
        let mut changed = true;
        while changed {
            changed = false;
            for pc in (0..code.len()).rev().filter(|&pc| code[pc].is_local()) {
                if !fails[pc] && after(&fails, pc) {
                    fails[pc] = true;
                    changed = true;
                }
            }
        }
        Failing { after: (0..code.len()).map(|pc| after(&fails, pc)).collect() }
    }

    /// Whether the thread can fail between `pc` and what it does next that others can see, or by trying that.
    pub fn after(&self, pc: Pc) -> bool {
        self.after[pc as usize]
    }
}

impl Instr {
    /// Whether others see nothing of it, and the thread goes on.
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Instr::Assign { .. }
                | Instr::Jump { .. }
                | Instr::Branch { .. }
                | Instr::Alloc { .. }
                | Instr::Assert { .. }
                | Instr::Assume { .. }
        )
    }
}

fn can_fail(instr: &Instr) -> bool {
    let is_computed = |Indexed { index, .. }: &Indexed| !matches!(index, ExprOver::Const(_));
    let by_itself = match instr {
        Instr::Assert { .. } | Instr::Panic { .. } | Instr::Free { .. } => true,
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. } => !matches!(place, Place::Cell(_)),
        Instr::Lock { lock, .. } | Instr::TryLock { lock, .. } | Instr::Unlock { lock, .. } => is_computed(lock),
        Instr::Wait { condvar, lock } => is_computed(condvar) || is_computed(lock),
        Instr::Notify { condvar, .. } => is_computed(condvar),
        _ => false,
    };
    let mut divides_somewhere = false;
    instr.for_each_expr(&mut |expr| divides_somewhere |= divides(expr));
    by_itself || divides_somewhere
}

/// Whether it divides by what may be zero.
fn divides(expr: &Expr) -> bool {
    match expr {
        ExprOver::Const(_) | ExprOver::Leaf(_) => false,
        ExprOver::Unary(_, operand) => divides(operand),
        ExprOver::Binary(BinaryOp::Div | BinaryOp::Rem, _, right) if !matches!(**right, ExprOver::Const(1..)) => true,
        ExprOver::Binary(_, left, right) => divides(left) || divides(right),
    }
}
