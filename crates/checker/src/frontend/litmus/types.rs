//! Types of cells and registers: how many bits a value has and whether it has a sign.

use crate::base::Loc;
use crate::program::{BinaryOp, ExprOver};

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueType {
    /// 8, 16, 32 or 64.
    pub bits: u8,
    /// Whether the highest bit is the sign.
    pub signed: bool,
}

impl ValueType {
    /// What has no declared type is an `int`.
    pub const INT: ValueType = ValueType { bits: 32, signed: true };
    /// Pointers, and whatever 64-bit instructions touch.
    pub const LONG: ValueType = ValueType { bits: 64, signed: true };

    /// The type that these words name together, such as `volatile unsigned long`. Words that say nothing about the
    /// size (`volatile`, `_Atomic`, names of unknown types) leave it an `int`.
    pub(super) fn named<'a>(words: impl IntoIterator<Item = &'a str>) -> ValueType {
        let mut result = ValueType::INT;
        for word in words {
            let word = word.trim_start_matches('_');
            let word = word.strip_prefix("atomic_").unwrap_or(word);
            match word {
                "unsigned" | "uint" => result.signed = false,
                "char" | "int8_t" | "s8" => result.bits = 8,
                "bool" | "Bool" | "uint8_t" | "uchar" | "u8" => result = ValueType { bits: 8, signed: false },
                "short" | "int16_t" | "s16" => result.bits = 16,
                "uint16_t" | "ushort" | "u16" => result = ValueType { bits: 16, signed: false },
                "uint32_t" | "u32" => result.signed = false,
                "long" | "llong" | "int64_t" | "intptr_t" | "int128" | "int128_t" | "s64" => result.bits = 64,
                "uint64_t" | "uintptr_t" | "ulong" | "ullong" | "size_t" | "uint128" | "uint128_t" | "u64" => {
                    result = ValueType { bits: 64, signed: false }
                }
                _ => {}
            }
        }
        result
    }

    /// The value of this type that has the same low bits. Pointers stay what they are.
    pub(super) fn normalize(self, value: i64) -> i64 {
        if self.bits >= 64 || Loc::from_pointer(value).is_some() {
            return value;
        }
        let shift = 64 - u32::from(self.bits);
        if self.signed { value << shift >> shift } else { ((value as u64) << shift >> shift) as i64 }
    }

    /// The same as an expression. With `pointers`, a value that is a pointer stays what it is; `value` should then be
    /// a leaf, since it is written down several times.
    pub(super) fn normalized<L: Copy>(self, value: ExprOver<L>, pointers: bool) -> ExprOver<L> {
        if self.bits >= 64 {
            return value;
        }
        if let ExprOver::Const(constant) = value {
            return self.normalize(constant).into();
        }
        let kept = if self.signed {
            let shift = 64 - i64::from(self.bits);
            value.clone().binary(BinaryOp::Shl, shift.into()).binary(BinaryOp::Shr, shift.into())
        } else {
            value.clone().binary(BinaryOp::BitAnd, ((1i64 << self.bits) - 1).into())
        };
        if !pointers {
            return kept;
        }
        // A pointer is `1 << 56` and an index that every type but the smallest can hold: put the high bit back.
        let is_pointer = value.binary(BinaryOp::Shr, 56.into()).binary(BinaryOp::Eq, 1.into());
        kept.binary(BinaryOp::BitOr, is_pointer.binary(BinaryOp::Shl, 56.into()))
    }

    /// The value as this type shows it.
    pub(super) fn show(self, value: i64) -> String {
        let value = self.normalize(value);
        if self.bits == 64 && !self.signed { (value as u64).to_string() } else { value.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Expr;

    #[test]
    fn names_of_types_say_size_and_sign() {
        let named = |text: &str| ValueType::named(text.split(' '));
        assert_eq!(named("volatile atomic_int"), ValueType::INT);
        assert_eq!(named("unsigned long"), ValueType { bits: 64, signed: false });
        assert_eq!(named("_Atomic uint8_t"), ValueType { bits: 8, signed: false });
        assert_eq!(named("long long"), ValueType::LONG);
    }

    #[test]
    fn the_expression_normalizes_as_the_function_does() {
        for bits in [8, 16, 32, 64] {
            for signed in [false, true] {
                let ty = ValueType { bits, signed };
                for value in [0, 1, -1, 127, 128, 255, 256, 1 << 31, -(1 << 40), i64::MIN, i64::MAX] {
                    let expr: Expr = ty.normalized(crate::program::Reg(0).into(), false);
                    assert_eq!(expr.eval(&|_| value), Ok(ty.normalize(value)), "{ty:?} of {value}");
                }
            }
        }
    }

    #[test]
    fn narrowing_keeps_pointers() {
        let pointer = Loc::global(3).pointer();
        for signed in [false, true] {
            let expr: Expr = ValueType { bits: 32, signed }.normalized(crate::program::Reg(0).into(), true);
            assert_eq!(expr.eval(&|_| pointer), Ok(pointer));
            assert_eq!(expr.eval(&|_| 7), Ok(7));
        }
    }
}
