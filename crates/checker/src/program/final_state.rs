//! Final states: the values that are left when every thread has ended.

use super::{FinalExpr, FinalValue, Program};
use crate::base::Loc;

/// Values when every thread has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FinalState {
    /// The global cells.
    pub cells: Vec<i64>,
    /// The heap cells that are not 0.
    pub heap: Vec<(Loc, i64)>,
    /// For each initial thread, the registers that its routine lists as observed.
    pub registers: Vec<Vec<i64>>,
}

impl FinalState {
    /// Whether a proposition holds. One that divides by zero does not.
    pub fn satisfies(&self, program: &Program, proposition: &FinalExpr) -> bool {
        proposition.eval(&|value| self.value(program, value)).is_ok_and(|value| value != 0)
    }

    /// One of the values.
    pub fn value(&self, program: &Program, value: FinalValue) -> i64 {
        match value {
            FinalValue::Memory(loc) => loc.as_global().map_or(0, |index| self.cells[index]),
            FinalValue::Register { thread, register } => {
                let observed = &program.routines[program.initial[thread].routine].observed;
                let at =
                    observed.iter().position(|&reg| reg == register).expect("a condition's registers are observed");
                self.registers[thread][at]
            }
        }
    }
}
