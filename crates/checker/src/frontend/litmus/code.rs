//! A thread under construction: registers by name, instructions, labels.

use std::collections::{BTreeMap, BTreeSet};

use super::loops::find_loops;
use super::symbols::Symbols;
use crate::base::Span;
use crate::program::{Expr, Instr, Pc, Reg, Routine, Start};

/// The code of one thread while it is being lowered.
pub(super) struct Code {
    /// The number in the thread's name.
    pub(super) thread: usize,
    registers: Vec<String>,
    names: BTreeMap<String, Reg>,
    arguments: Vec<i64>,
    observed: BTreeSet<Reg>,
    temporaries: Vec<Reg>,
    temporaries_in_use: usize,
    instrs: Vec<Instr>,
    spans: Vec<Span>,
    /// Which instructions access memory plainly.
    plain: BTreeSet<usize>,
    /// Where each label stands, once it does. Until `finish`, jump targets are labels.
    labels: Vec<Option<Pc>>,
    /// The place that the next instructions come from.
    pub(super) here: Span,
}

/// A place in the code that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u32);

impl Code {
    /// A thread without instructions. Registers with an initial value become its parameters.
    pub(super) fn new(thread: usize, symbols: &Symbols) -> Code {
        let mut code = Code {
            thread,
            registers: Vec::new(),
            names: BTreeMap::new(),
            arguments: Vec::new(),
            observed: BTreeSet::new(),
            temporaries: Vec::new(),
            temporaries_in_use: 0,
            instrs: Vec::new(),
            spans: Vec::new(),
            plain: BTreeSet::new(),
            labels: Vec::new(),
            here: Span::default(),
        };
        for ((of, name), register) in &symbols.registers {
            if *of == thread {
                code.register(name);
                code.arguments.push(register.value);
            }
        }
        code
    }

    /// The register of that name.
    pub(super) fn register(&mut self, name: &str) -> Reg {
        if let Some(reg) = self.names.get(name) {
            return *reg;
        }
        let reg = self.fresh(name);
        self.names.insert(name.to_string(), reg);
        reg
    }

    fn fresh(&mut self, name: &str) -> Reg {
        self.registers.push(name.to_string());
        Reg((self.registers.len() - 1) as u16)
    }

    /// A register without a name, until `release_temporaries`.
    pub(super) fn temporary(&mut self) -> Reg {
        if self.temporaries_in_use == self.temporaries.len() {
            let reg = self.fresh("");
            self.temporaries.push(reg);
        }
        self.temporaries_in_use += 1;
        self.temporaries[self.temporaries_in_use - 1]
    }

    /// A register without a name that no other code uses. It is 0 at the start.
    pub(super) fn hidden(&mut self) -> Reg {
        self.fresh("")
    }

    /// All temporaries may be used again.
    pub(super) fn release_temporaries(&mut self) {
        self.temporaries_in_use = 0;
    }

    /// The condition asks about this register.
    pub(super) fn observe(&mut self, reg: Reg) {
        self.observed.insert(reg);
    }

    /// How many instructions or registers there are, whichever is more.
    pub(super) fn size(&self) -> usize {
        self.instrs.len().max(self.registers.len())
    }

    pub(super) fn emit(&mut self, instr: Instr) {
        self.instrs.push(instr);
        self.spans.push(self.here);
    }

    /// Emits a load or a store that is not atomic.
    pub(super) fn emit_plain(&mut self, instr: Instr) {
        self.plain.insert(self.instrs.len());
        self.emit(instr);
    }

    /// How many instructions there are.
    pub(super) fn len(&self) -> usize {
        self.instrs.len()
    }

    /// Takes back the instructions from `length` on. No label may stand behind it that is still to be used.
    pub(super) fn truncate(&mut self, length: usize) {
        self.instrs.truncate(length);
        self.spans.truncate(length);
        self.plain.split_off(&length);
    }

    pub(super) fn assign(&mut self, dst: Reg, value: impl Into<Expr>) {
        self.emit(Instr::Assign { dst, value: value.into() });
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// The label stands before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0 as usize] = Some(self.instrs.len() as Pc);
    }

    pub(super) fn jump(&mut self, target: Label) {
        self.emit(Instr::Jump { target: target.0 });
    }

    pub(super) fn branch(&mut self, condition: Expr, then: Label, otherwise: Label) {
        self.emit(Instr::Branch { condition, then: then.0, otherwise: otherwise.0 });
    }

    /// The instructions that access memory plainly.
    pub(super) fn plain(&self) -> &BTreeSet<usize> {
        &self.plain
    }

    /// The finished routine and the thread that runs it. Labels that were never placed are the end.
    pub(super) fn finish(mut self, routine: usize) -> (Routine, Start) {
        let end = self.instrs.len() as Pc;
        self.here = self.spans.last().map_or(self.here, |span| Span { start: span.end, end: span.end });
        self.emit(Instr::End);
        let resolve = |target: &mut Pc| *target = self.labels[*target as usize].unwrap_or(end);
        for instr in &mut self.instrs {
            match instr {
                Instr::Jump { target } => resolve(target),
                Instr::Branch { then, otherwise, .. } => {
                    resolve(then);
                    resolve(otherwise);
                }
                _ => {}
            }
        }
        let name = format!("P{}", self.thread);
        let loops = find_loops(&self.instrs, &self.spans);
        let routine_of = Routine {
            name: name.clone(),
            parameters: self.arguments.len() as u16,
            registers: self.registers,
            code: self.instrs,
            spans: self.spans,
            loops,
            observed: self.observed.into_iter().collect(),
        };
        (routine_of, Start { name, routine, arguments: self.arguments })
    }
}
