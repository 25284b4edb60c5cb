//! What the names of instructions mean.

use crate::program::{BinaryOp, ExprOver, RmwOp};

/// An instruction without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Move,
    /// MOVZX, MOVSX and their AT&T forms: from so many bits, if the name says it.
    Extend {
        from: Option<u8>,
        signed: bool,
    },
    /// XCHG is locked with or without the prefix; herd's UXCH is not.
    Exchange {
        locked: bool,
    },
    Arithmetic(Arithmetic),
    Increment,
    Decrement,
    Negate,
    Not,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Compare,
    Test,
    ExchangeAdd,
    CompareExchange,
    /// BT, BTS, BTR, BTC: what happens to the bit.
    Bit(Option<Arithmetic>),
    LoadAddress,
    Jump,
    JumpIf(Condition),
    SetIf(Condition),
    MoveIf(Condition),
    FullFence,
    StoreFence,
    Nop,
    Return,
}

/// Operators that exist as read-modify-writes too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// What conditional instructions ask of the last comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
    Negative,
    NotNegative,
}

/// The instruction of that name (in lower case), and the size of its operands if the name says it.
pub(super) fn decode(name: &str) -> Option<(Op, Option<u8>)> {
    if let Some(op) = exact(name) {
        return Some((op, None));
    }
    if let Some(decoded) = decode_extension(name) {
        return Some(decoded);
    }
    let (stem, suffix) = name.split_at_checked(name.len().checked_sub(1)?)?;
    Some((exact(stem)?, Some(suffix_bits(suffix)?)))
}

fn exact(name: &str) -> Option<Op> {
    Some(match name {
        "mov" | "movabs" | "movnti" => Op::Move,
        "movzx" => Op::Extend { from: None, signed: false },
        "movsx" | "movsxd" => Op::Extend { from: None, signed: true },
        "xchg" => Op::Exchange { locked: true },
        "uxch" => Op::Exchange { locked: false },
        "add" => Op::Arithmetic(Arithmetic::Add),
        "sub" => Op::Arithmetic(Arithmetic::Sub),
        "and" => Op::Arithmetic(Arithmetic::And),
        "or" => Op::Arithmetic(Arithmetic::Or),
        "xor" => Op::Arithmetic(Arithmetic::Xor),
        "inc" => Op::Increment,
        "dec" => Op::Decrement,
        "neg" => Op::Negate,
        "not" => Op::Not,
        "shl" | "sal" => Op::ShiftLeft,
        "shr" => Op::ShiftRight,
        "sar" => Op::ShiftRightSigned,
        "cmp" => Op::Compare,
        "test" => Op::Test,
        "xadd" => Op::ExchangeAdd,
        "cmpxchg" => Op::CompareExchange,
        "bt" => Op::Bit(None),
        "bts" => Op::Bit(Some(Arithmetic::Or)),
        "btr" => Op::Bit(Some(Arithmetic::And)),
        "btc" => Op::Bit(Some(Arithmetic::Xor)),
        "lea" => Op::LoadAddress,
        "jmp" => Op::Jump,
        "mfence" => Op::FullFence,
        "sfence" => Op::StoreFence,
        "nop" | "pause" | "endbr64" | "endbr32" | "lfence" | "clflush" | "clflushopt" => Op::Nop,
        "ret" => Op::Return,
        _ => return conditional(name),
    })
}

fn conditional(name: &str) -> Option<Op> {
    if let Some(code) = name.strip_prefix("cmov") {
        return condition(code).map(Op::MoveIf);
    }
    if let Some(code) = name.strip_prefix("set") {
        return condition(code).map(Op::SetIf);
    }
    condition(name.strip_prefix('j')?).map(Op::JumpIf)
}

fn condition(code: &str) -> Option<Condition> {
    Some(match code {
        "e" | "z" => Condition::Equal,
        "ne" | "nz" => Condition::NotEqual,
        "l" | "lt" | "nge" => Condition::Less,
        "le" | "ng" => Condition::LessOrEqual,
        "g" | "gt" | "nle" => Condition::Greater,
        "ge" | "nl" => Condition::GreaterOrEqual,
        "b" | "c" | "nae" => Condition::Below,
        "be" | "na" => Condition::BelowOrEqual,
        "a" | "nbe" => Condition::Above,
        "ae" | "nb" | "nc" => Condition::AboveOrEqual,
        "s" => Condition::Negative,
        "ns" => Condition::NotNegative,
        _ => return None,
    })
}

/// `movzbl`, `movswq`, `movslq`, `movzb`.
fn decode_extension(name: &str) -> Option<(Op, Option<u8>)> {
    let (sizes, signed) = name
        .strip_prefix("movz")
        .map(|sizes| (sizes, false))
        .or(name.strip_prefix("movs").map(|sizes| (sizes, true)))?;
    let (from, to) = sizes.split_at_checked(1)?;
    let to = if to.is_empty() { None } else { Some(suffix_bits(to)?) };
    Some((Op::Extend { from: Some(suffix_bits(from)?), signed }, to))
}

fn suffix_bits(suffix: &str) -> Option<u8> {
    Some(match suffix {
        "b" => 8,
        "w" => 16,
        "l" | "d" => 32,
        "q" => 64,
        _ => return None,
    })
}

impl Op {
    /// Whether the instruction looks at the flags.
    pub(super) fn reads_flags(self) -> bool {
        matches!(self, Op::JumpIf(_) | Op::SetIf(_) | Op::MoveIf(_))
    }

    /// How many operands it can have.
    pub(super) fn operands(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Op::FullFence | Op::StoreFence | Op::Return => 0..=0,
            Op::Nop => 0..=1,
            Op::Increment | Op::Decrement | Op::Negate | Op::Not => 1..=1,
            Op::Jump | Op::JumpIf(_) | Op::SetIf(_) => 1..=1,
            Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightSigned => 1..=2,
            _ => 2..=2,
        }
    }

    /// Whether LOCK may stand before it.
    pub(super) fn lockable(self) -> bool {
        matches!(
            self,
            Op::Exchange { .. }
                | Op::Arithmetic(_)
                | Op::Increment
                | Op::Decrement
                | Op::Negate
                | Op::Not
                | Op::ExchangeAdd
                | Op::CompareExchange
                | Op::Bit(Some(_))
        )
    }
}

impl Arithmetic {
    pub(super) fn binary(self) -> BinaryOp {
        match self {
            Arithmetic::Add => BinaryOp::Add,
            Arithmetic::Sub => BinaryOp::Sub,
            Arithmetic::And => BinaryOp::BitAnd,
            Arithmetic::Or => BinaryOp::BitOr,
            Arithmetic::Xor => BinaryOp::BitXor,
        }
    }

    pub(super) fn rmw(self) -> RmwOp {
        match self {
            Arithmetic::Add => RmwOp::Add,
            Arithmetic::Sub => RmwOp::Sub,
            Arithmetic::And => RmwOp::And,
            Arithmetic::Or => RmwOp::Or,
            Arithmetic::Xor => RmwOp::Xor,
        }
    }
}

impl Condition {
    /// The condition after a comparison of `left` with `right`, both with their sign.
    pub(super) fn holds<L>(self, left: ExprOver<L>, right: ExprOver<L>) -> ExprOver<L>
    where
        L: Copy,
    {
        // Flipping the sign bit turns the unsigned order into the signed one.
        let unsigned = |expr: ExprOver<L>| expr.binary(BinaryOp::BitXor, i64::MIN.into());
        let (op, is_unsigned) = match self {
            Condition::Equal => (BinaryOp::Eq, false),
            Condition::NotEqual => (BinaryOp::Ne, false),
            Condition::Less | Condition::Negative => (BinaryOp::Lt, false),
            Condition::LessOrEqual => (BinaryOp::Le, false),
            Condition::Greater => (BinaryOp::Gt, false),
            Condition::GreaterOrEqual | Condition::NotNegative => (BinaryOp::Ge, false),
            Condition::Below => (BinaryOp::Lt, true),
            Condition::BelowOrEqual => (BinaryOp::Le, true),
            Condition::Above => (BinaryOp::Gt, true),
            Condition::AboveOrEqual => (BinaryOp::Ge, true),
        };
        if is_unsigned { unsigned(left).binary(op, unsigned(right)) } else { left.binary(op, right) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_give_sizes_unless_they_belong_to_the_name() {
        assert_eq!(decode("movq"), Some((Op::Move, Some(64))));
        assert_eq!(decode("sub"), Some((Op::Arithmetic(Arithmetic::Sub), None)));
        assert_eq!(decode("subb"), Some((Op::Arithmetic(Arithmetic::Sub), Some(8))));
        assert_eq!(decode("cmovl"), Some((Op::MoveIf(Condition::Less), None)));
        assert_eq!(decode("cmovcl"), Some((Op::MoveIf(Condition::Below), Some(32))));
        assert_eq!(decode("setb"), Some((Op::SetIf(Condition::Below), None)));
        assert_eq!(decode("movzbl"), Some((Op::Extend { from: Some(8), signed: false }, Some(32))));
        assert_eq!(decode("movslq"), Some((Op::Extend { from: Some(32), signed: true }, Some(64))));
        for unknown in ["", "l", "movss", "jp", "hlt", "é"] {
            assert_eq!(decode(unknown), None, "{unknown}");
        }
    }
}
