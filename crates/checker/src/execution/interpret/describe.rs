//! What people call the threads and objects of a program.

use super::{Interpreter, IrThread};
use crate::execution::{Describe, State};
use crate::program::{Access, Instr, Loc, Pc, Place, Program, Span};
use crate::report::FinalState;

impl Describe for Interpreter<'_> {
    fn title(&self) -> String {
        self.program.name.clone()
    }

    fn program(&self) -> Option<&Program> {
        Some(self.program)
    }

    fn span(&self, thread: &IrThread) -> Span {
        self.span(thread)
    }

    fn site(&self, thread: &IrThread) -> Option<(usize, Pc)> {
        Some(self.site(thread))
    }

    fn place(&self, span: Span) -> String {
        let at = self.program.source.line_column(span.start);
        format!("{}:{}:{}", self.program.source.name, at.line, at.column)
    }

    fn loop_span(&self, thread: &IrThread) -> Option<Span> {
        self.loop_span(thread)
    }

    fn target(&self, thread: &IrThread) -> Option<String> {
        self.target(thread).map(str::to_string)
    }

    fn name(&self, thread: &IrThread) -> String {
        self.name(thread)
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
        FinalState::of(self, state)
    }

    fn has_cycles(&self) -> bool {
        self.has_cycles()
    }
}
