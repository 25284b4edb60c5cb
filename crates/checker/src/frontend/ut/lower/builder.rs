//! Builds the code of one routine: instructions, labels, registers, loops.

use super::tidy::tidy;
use crate::base::Span;
use crate::frontend::ut::MAX_REGISTERS;
use crate::program::{Expr, Instr, Loop, Pc, Reg, Routine};
use std::collections::BTreeMap;

/// A place in the code that may not be known yet. While code is built, jumps name labels in place of code positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(Pc);

/// Whose variable a register is: a name within the thread itself, or within a function (by index) expanded into it.
type Owner = (Option<usize>, String);

#[derive(Debug, Default)]
pub(super) struct Builder {
    code: Vec<Instr>,
    spans: Vec<Span>,
    registers: Vec<String>,
    labels: Vec<Pc>,
    loops: Vec<(Label, Label, Span)>,
    /// Registers of variables that went out of scope, for the next variable of the same name.
    retired: BTreeMap<Owner, Vec<Reg>>,
    free_temporaries: Vec<Reg>,
    used_temporaries: Vec<Reg>,
}

impl Builder {
    pub(super) fn emit(&mut self, instr: Instr, span: Span) {
        self.code.push(instr);
        self.spans.push(span);
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(0);
        Label(self.labels.len() as Pc - 1)
    }

    /// The label's place is here.
    pub(super) fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.code.len() as Pc;
    }

    pub(super) fn jump(&mut self, to: Label, span: Span) {
        self.emit(Instr::Jump { target: to.0 }, span);
    }

    pub(super) fn branch(&mut self, condition: Expr, then: Label, otherwise: Label, span: Span) {
        match condition {
            Expr::Const(0) => self.jump(otherwise, span),
            Expr::Const(_) => self.jump(then, span),
            _ => self.emit(Instr::Branch { condition, then: then.0, otherwise: otherwise.0 }, span),
        }
    }

    /// Records a loop, and where its text stands without the body.
    pub(super) fn looped(&mut self, head: Label, end: Label, span: Span) {
        self.loops.push((head, end, span));
    }

    pub(super) fn is_full(&self) -> bool {
        self.registers.len() >= MAX_REGISTERS
    }

    /// A register for a variable. Variables of the same name that are never in scope together share one, so that
    /// a condition on the final value means whichever was assigned.
    pub(super) fn variable(&mut self, owner: Option<usize>, name: &str) -> Reg {
        let retired = self.retired.get_mut(&(owner, name.to_string())).and_then(Vec::pop);
        retired.unwrap_or_else(|| self.register(name))
    }

    /// The variable is out of scope.
    pub(super) fn retire(&mut self, owner: Option<usize>, register: Reg) {
        let name = self.registers[register.0 as usize].clone();
        self.retired.entry((owner, name)).or_default().push(register);
    }

    /// A register for an intermediate value, until the temporaries are released.
    pub(super) fn temporary(&mut self) -> Reg {
        let register = self.free_temporaries.pop().unwrap_or_else(|| self.register(""));
        self.used_temporaries.push(register);
        register
    }

    pub(super) fn is_temporary(&self, register: Reg) -> bool {
        self.registers[register.0 as usize].is_empty()
    }

    pub(super) fn temporaries_in_use(&self) -> usize {
        self.used_temporaries.len()
    }

    /// Releases the temporaries taken since `temporaries_in_use` was `mark`.
    pub(super) fn release_temporaries(&mut self, mark: usize) {
        // In reverse, so that the next statement gets the same registers in the same order.
        self.free_temporaries.extend(self.used_temporaries.drain(mark..).rev());
    }

    fn register(&mut self, name: &str) -> Reg {
        // Beyond the limit the program is refused; until then any register will do.
        if self.is_full() {
            return Reg(0);
        }
        self.registers.push(name.to_string());
        Reg(self.registers.len() as u16 - 1)
    }

    /// The routine, with jumps resolved and useless code removed.
    pub(super) fn finish(self, name: &str, parameters: usize) -> Routine {
        let place = |label: Pc| self.labels[label as usize];
        let mut code = self.code;
        for instr in &mut code {
            match instr {
                Instr::Jump { target } => *target = place(*target),
                Instr::Branch { then, otherwise, .. } => (*then, *otherwise) = (place(*then), place(*otherwise)),
                _ => {}
            }
        }
        let loops = self.loops.iter().map(|&(head, end, span)| Loop { head: place(head.0), end: place(end.0), span });
        let loops = loops.collect();
        let mut routine = Routine {
            name: name.to_string(),
            parameters: parameters as u16,
            registers: self.registers,
            code,
            spans: self.spans,
            loops,
            observed: Vec::new(),
        };
        tidy(&mut routine);
        routine
    }
}
