//! Threads of a program are values, and its code is known.

use super::{Interpreter, IrThread};
use crate::execution::{Comparable, Laps};
use crate::program::{Pc, Program, Reg};

impl Comparable for Interpreter<'_> {
    fn code(&self) -> &Program {
        self.program
    }

    fn restless(mut self) -> Self {
        self.analyses.iter_mut().for_each(|analysis| analysis.spinning.clear());
        self
    }

    fn notices_spinning(&self) -> bool {
        self.analyses.iter().any(|analysis| !analysis.spinning.is_empty())
    }

    fn instruction(&self, thread: &IrThread) -> (usize, Pc) {
        (thread.routine as usize, thread.pc)
    }

    fn register(&self, thread: &IrThread, reg: Reg) -> i64 {
        thread.registers[reg.0 as usize]
    }

    fn passed(&self, thread: &IrThread, result: i64) -> Vec<Pc> {
        let mut passed = Vec::new();
        self.advance(&mut thread.clone(), result, |pc| passed.push(pc));
        passed
    }

    fn resume_counting(&self, thread: &mut IrThread, result: i64, laps: &mut Laps) {
        let (routine, mut from) = (self.routine(thread), thread.pc);
        self.advance(thread, result, |pc| {
            laps.moved(routine, from, pc);
            from = pc;
        });
    }
}
