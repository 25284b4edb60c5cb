//! Expressions: pure, total but for division by zero, over any kind of leaf.
//!
//! One type serves two purposes. Over registers ([`Expr`]) it is what threads compute between visible
//! operations; over final values ([`FinalExpr`]) it is the condition asked of the end of an execution.
//! Arithmetic is on 64-bit signed integers and wraps, as hardware does.

use super::Reg;
use crate::base::Loc;

/// An expression over a thread's registers.
pub type Expr = ExprOver<Reg>;

/// An expression over the values left when every thread has ended.
pub type FinalExpr = ExprOver<FinalValue>;

/// An expression tree with leaves of type `L`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ExprOver<L> {
    /// A literal.
    Const(i64),
    /// A register or a final value.
    Leaf(L),
    /// A prefix operator.
    Unary(UnaryOp, Box<ExprOver<L>>),
    /// An infix operator. Both sides are always evaluated: short circuit is control flow, made by front ends.
    Binary(BinaryOp, Box<ExprOver<L>>, Box<ExprOver<L>>),
}

/// What a condition on the end of an execution can mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinalValue {
    /// The value in memory.
    Memory(Loc),
    /// A register of one of the program's initial threads (an index into `Program::initial`).
    Register {
        /// Index into `Program::initial`.
        thread: usize,
        /// The register.
        register: Reg,
    },
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// Arithmetic negation.
    Neg,
    /// Logical not: 1 if the operand is 0, else 0.
    Not,
    /// Bitwise complement.
    BitNot,
}

/// Infix operators. Comparisons and logic give 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    BitAnd,
    BitOr,
    BitXor,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
}

/// The one thing that can go wrong in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionByZero;

impl<L: Copy> ExprOver<L> {
    /// Evaluates with the leaves' values given by `leaf`.
    pub fn eval(&self, leaf: &impl Fn(L) -> i64) -> Result<i64, DivisionByZero> {
        Ok(match self {
            ExprOver::Const(value) => *value,
            ExprOver::Leaf(l) => leaf(*l),
            ExprOver::Unary(op, operand) => op.apply(operand.eval(leaf)?),
            ExprOver::Binary(op, left, right) => op.apply(left.eval(leaf)?, right.eval(leaf)?)?,
        })
    }

    /// Calls `visit` for every leaf, left to right.
    pub fn for_each_leaf(&self, visit: &mut impl FnMut(L)) {
        match self {
            ExprOver::Const(_) => {}
            ExprOver::Leaf(l) => visit(*l),
            ExprOver::Unary(_, operand) => operand.for_each_leaf(visit),
            ExprOver::Binary(_, left, right) => {
                left.for_each_leaf(visit);
                right.for_each_leaf(visit);
            }
        }
    }

    /// `self op right`.
    pub fn binary(self, op: BinaryOp, right: Self) -> Self {
        ExprOver::Binary(op, Box::new(self), Box::new(right))
    }

    /// `op self`.
    pub fn unary(self, op: UnaryOp) -> Self {
        ExprOver::Unary(op, Box::new(self))
    }
}

impl<L> From<i64> for ExprOver<L> {
    fn from(value: i64) -> Self {
        ExprOver::Const(value)
    }
}

impl From<Reg> for Expr {
    fn from(reg: Reg) -> Self {
        ExprOver::Leaf(reg)
    }
}

impl Expr {
    /// Whether this is the register plus or minus a constant that is not 0.
    pub fn increments(&self, reg: Reg) -> bool {
        let ExprOver::Binary(BinaryOp::Add | BinaryOp::Sub, left, right) = self else { return false };
        matches!((&**left, &**right), (ExprOver::Leaf(of), ExprOver::Const(by)) if *of == reg && *by != 0)
    }
}

impl UnaryOp {
    /// The operator's value.
    pub fn apply(self, operand: i64) -> i64 {
        match self {
            UnaryOp::Neg => operand.wrapping_neg(),
            UnaryOp::Not => (operand == 0).into(),
            UnaryOp::BitNot => !operand,
        }
    }
}

impl BinaryOp {
    /// The operator's value.
    pub fn apply(self, left: i64, right: i64) -> Result<i64, DivisionByZero> {
        Ok(match self {
            BinaryOp::Add => left.wrapping_add(right),
            BinaryOp::Sub => left.wrapping_sub(right),
            BinaryOp::Mul => left.wrapping_mul(right),
            BinaryOp::Div if right == 0 => return Err(DivisionByZero),
            BinaryOp::Rem if right == 0 => return Err(DivisionByZero),
            BinaryOp::Div => left.wrapping_div(right),
            BinaryOp::Rem => left.wrapping_rem(right),
            BinaryOp::BitAnd => left & right,
            BinaryOp::BitOr => left | right,
            BinaryOp::BitXor => left ^ right,
            BinaryOp::Shl => left.wrapping_shl(right as u32),
            BinaryOp::Shr => left.wrapping_shr(right as u32),
            BinaryOp::Eq => (left == right).into(),
            BinaryOp::Ne => (left != right).into(),
            BinaryOp::Lt => (left < right).into(),
            BinaryOp::Le => (left <= right).into(),
            BinaryOp::Gt => (left > right).into(),
            BinaryOp::Ge => (left >= right).into(),
            BinaryOp::And => (left != 0 && right != 0).into(),
            BinaryOp::Or => (left != 0 || right != 0).into(),
        })
    }
}
