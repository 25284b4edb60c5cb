//! Operators bind as in Rust.

use super::program;
use crate::program::Instr;

/// The value of an expression over constants.
fn value(expression: &str) -> i64 {
    let program = program(&format!("thread t {{ let r = {expression}; }}")).unwrap_or_else(|mistakes| {
        panic!("{expression}: {mistakes:?}");
    });
    match &program.routines[0].code[0] {
        Instr::Assign { value, .. } => value.eval(&|_| 0).unwrap(),
        other => panic!("{expression}: {other:?}"),
    }
}

#[test]
fn operators_bind_as_in_rust() {
    for (expression, expected) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 3 - 2", 5),
        ("1 << 2 + 1", 8),
        ("5 & 4 == 4", 1),
        ("4 | 2 ^ 3 & 2", 4),
        ("1 + 1 == 2 && 2 < 1 || 3 >= 3", 1),
        ("0 || 1 && 0", 0),
        ("-2 * 3", -6),
        ("!0 + 1", 2),
        ("~0", -1),
        ("- - 3", 3),
        ("0x10 + 1_000", 1016),
        ("0xffff_ffff_ffff_ffff", -1),
        ("true + true + null + false", 2),
        ("7 / 2 % 2", 1),
        ("-7 / 2", -3),
        ("1 != 2", 1),
        ("16 >> 2 << 1", 8),
        ("9223372036854775807 + 1", i64::MIN),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}
