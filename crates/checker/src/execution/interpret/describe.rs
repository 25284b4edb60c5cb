//! What people call the threads and objects of a program.

use super::{Interpreter, IrThread};
use crate::base::{Loc, Span};
use crate::execution::spin::may_go_on_for_ever;
use crate::execution::{Comparable, Describe, State};
use crate::program::{Access, FinalState, Instr, Pc, Place, Program, Reg};

impl Describe for Interpreter<'_> {
    fn title(&self) -> String {
        self.program.name.clone()
    }

    fn program(&self) -> Option<&Program> {
        Some(self.program)
    }

    fn span(&self, thread: &IrThread) -> Span {
        self.routine(thread).spans[thread.pc as usize]
    }

    fn site(&self, thread: &IrThread) -> Option<(usize, Pc)> {
        Some(self.instruction(thread))
    }

    fn place(&self, span: Span) -> String {
        let at = self.program.source.line_column(span.start);
        format!("{}:{}:{}", self.program.source.name, at.line, at.column)
    }

    fn loop_span(&self, thread: &IrThread) -> Option<Span> {
        let around = self.routine(thread).loops.iter().filter(|l| (l.head..l.end).contains(&thread.pc));
        around.min_by_key(|l| l.end - l.head).map(|l| l.span)
    }

    fn target(&self, thread: &IrThread) -> Option<String> {
        let routine = self.routine(thread);
        let Reg(reg) = routine.code[thread.pc as usize].defined().filter(|_| !thread.holding_back)?;
        Some(routine.registers[reg as usize].clone()).filter(|name| !name.is_empty())
    }

    /// That of its start, or of its routine if it was forked.
    fn name(&self, thread: &IrThread) -> String {
        let is_finally = self.program.finally == Some(thread.routine as usize);
        match self.program.initial.get(thread.key.0 as usize - 1) {
            _ if is_finally => "finally".to_string(),
            Some(start) => start.name.clone(),
            None => self.routine(thread).name.clone(),
        }
    }

    fn loc_name(&self, loc: Loc) -> String {
        self.program.loc_name(loc)
    }

    fn lock_name(&self, lock: u32) -> String {
        self.program.locks[lock as usize].name.clone()
    }

    fn condvar_name(&self, condvar: u32) -> String {
        self.program.condvars[condvar as usize].clone()
    }

    fn has_plain_cells(&self) -> bool {
        let plain_field = |instr: &Instr| {
            let (Instr::Load { place, .. } | Instr::Store { place, .. }) = instr else { return false };
            matches!(place, Place::Deref { access: Access::Plain, .. })
        };
        self.program.cells.iter().any(|cell| cell.access == Access::Plain)
            || self.program.routines.iter().any(|routine| routine.code.iter().any(plain_field))
    }

    fn final_state(&self, state: &State<IrThread>) -> FinalState {
        let registers = self.program.initial.iter().zip(&state.threads).map(|(start, thread)| {
            let observed = &self.program.routines[start.routine].observed;
            observed.iter().map(|&reg| self.register(&thread.local, reg)).collect()
        });
        FinalState {
            cells: state.shared.cells().to_vec(),
            heap: state.shared.heap().to_vec(),
            registers: registers.collect(),
        }
    }

    fn has_cycles(&self) -> bool {
        let routines = self.program.routines.iter().zip(&self.analyses);
        routines.into_iter().any(|(routine, analysis)| may_go_on_for_ever(routine, &analysis.liveness))
    }
}
