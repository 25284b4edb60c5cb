//! Accesses to cells, as instructions and as text.

use super::{ARRAY, Lowering, REGISTERS, SEEN};
use crate::sketch::{Look, PlaceSketch, Statement, Value, Var};
use unthread_checker::base::Loc;
use unthread_checker::program::{Access, BinaryOp, Expr, Instr, Ordering, Place, Reg};

impl Lowering {
    pub(super) fn access(&self, statement: &Statement) -> (String, Instr) {
        match *statement {
            Statement::Load { dst, place, ordering } => (
                format!("{} = {} ({ordering:?})", var_text(dst), self.place_text(place)),
                Instr::Load { dst: var(dst), place: self.place(place), ordering },
            ),
            Statement::Store { place, value, ordering } => (
                format!("{} = {} ({ordering:?})", self.place_text(place), self.value_text(value)),
                Instr::Store { place: self.place(place), value: self.value(value), ordering },
            ),
            Statement::Rmw { dst, place, op, operand, ordering } => (
                format!(
                    "{} = {op:?}({}, {}) ({ordering:?})",
                    var_text(dst),
                    self.place_text(place),
                    self.value_text(operand)
                ),
                Instr::Rmw {
                    dst: Some(var(dst)),
                    place: self.place(place),
                    op,
                    operand: self.value(operand),
                    ordering,
                },
            ),
            Statement::Cas { dst, place, expected, desired, ordering: success, failure } => {
                let (expected_text, desired_text) = (self.value_text(expected), self.value_text(desired));
                let (expected, desired) = (self.value(expected), self.value(desired));
                let (place_text, place) = (self.place_text(place), self.place(place));
                (
                    format!(
                        "{} = cas({place_text}, {expected_text}, {desired_text}) ({success:?}, {failure:?})",
                        var_text(dst)
                    ),
                    Instr::Cas { dst: var(dst), place, expected, desired, success, failure },
                )
            }
            _ => unreachable!("only accesses are given"),
        }
    }

    /// What a loop looks at, and what it finds.
    pub(super) fn look(&self, place: PlaceSketch, look: Look) -> (String, Instr) {
        let (text, place, ordering) = (self.place_text(place), self.place(place), Ordering::SeqCst);
        match look {
            Look::Load => (text, Instr::Load { dst: SEEN, place, ordering }),
            Look::Rmw(op, operand) => (
                format!("{op:?}({text}, {operand})"),
                Instr::Rmw { dst: Some(SEEN), place, op, operand: operand.into(), ordering },
            ),
            Look::Cas { expected, desired } => (
                format!("cas({text}, {expected}, {desired})"),
                Instr::Cas {
                    dst: SEEN,
                    place,
                    expected: expected.into(),
                    desired: desired.into(),
                    success: ordering,
                    failure: ordering.on_failure(),
                },
            ),
        }
    }

    pub(super) fn place(&self, place: PlaceSketch) -> Place {
        match place {
            PlaceSketch::Cell(cell) => Place::Cell((cell % self.cells.len()) as u32),
            PlaceSketch::Element(index) => {
                Place::Element { base: self.cells.len() as u32, length: ARRAY as u32, index: self.value(index) }
            }
            PlaceSketch::Target(offset) => {
                Place::Deref { pointer: var(Var::P).into(), offset: offset % 2, access: Access::Atomic }
            }
        }
    }

    pub(super) fn place_text(&self, place: PlaceSketch) -> String {
        match place {
            PlaceSketch::Cell(cell) => self.cells[cell % self.cells.len()].to_string(),
            PlaceSketch::Element(index) => format!("a[{}]", self.value_text(index)),
            PlaceSketch::Target(offset) => format!("p[{}]", offset % 2),
        }
    }

    pub(super) fn value(&self, value: Value) -> Expr {
        match value {
            Value::Const(value) => value.into(),
            Value::Var(of) => var(of).into(),
            Value::Plus(of, by) => Expr::from(var(of)).binary(BinaryOp::Add, by.into()),
            Value::Quotient(value, by) => Expr::from(value).binary(BinaryOp::Div, var(by).into()),
            Value::AddressOf(cell) => Loc::global(cell % self.cells.len()).pointer().into(),
        }
    }

    pub(super) fn value_text(&self, value: Value) -> String {
        match value {
            Value::Const(value) => value.to_string(),
            Value::Var(of) => var_text(of),
            Value::Plus(of, by) => format!("{} + {by}", var_text(of)),
            Value::Quotient(value, by) => format!("{value} / {}", var_text(by)),
            Value::AddressOf(cell) => format!("&{}", self.place_text(PlaceSketch::Cell(cell))),
        }
    }
}

pub(super) fn var(var: Var) -> Reg {
    match var {
        Var::P => Reg(0),
        Var::R(index) => Reg(1 + u16::from(index % 3)),
    }
}

pub(super) fn var_text(of: Var) -> String {
    REGISTERS[var(of).0 as usize].to_string()
}
