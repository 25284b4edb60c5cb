//! Local names: frames of functions, scopes of blocks, and what each name is bound to.

use super::Lowerer;
use super::builder::Label;
use crate::frontend::ut::ast::Ident;
use crate::program::{Expr, Reg};
use std::collections::BTreeMap;

/// The local state of a thread's body, or of a function that is being expanded.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// An index into `File::functions`; nothing for a thread.
    pub(super) function: Option<usize>,
    /// Where `return` goes.
    pub(super) leave: Leave,
    pub(super) returns_value: bool,
    /// Innermost last; later bindings hide earlier ones.
    pub(super) scopes: Vec<Vec<(&'a str, Binding)>>,
    /// Innermost last.
    pub(super) loops: Vec<LoopLabels>,
    /// For each name the register of the variable that was declared last.
    pub(super) last_declared: BTreeMap<&'a str, Reg>,
    /// Registers of the frame's variables.
    pub(super) registers: Vec<Reg>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Leave {
    /// A thread ends.
    End(Label),
    /// A function hands over its value, if anyone wants it.
    Function { result: Option<Reg>, end: Label },
}

/// What a local name means.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Variable {
        register: Reg,
        assignable: bool,
    },
    /// A parameter that is never assigned stands for its argument, a constant or a register.
    Argument(Expr),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LoopLabels {
    pub(super) on_break: Label,
    pub(super) on_continue: Label,
}

impl<'a> Frame<'a> {
    pub(super) fn new(function: Option<usize>, leave: Leave) -> Frame<'a> {
        Frame {
            function,
            leave,
            returns_value: false,
            scopes: vec![Vec::new()],
            loops: Vec::new(),
            last_declared: BTreeMap::new(),
            registers: Vec::new(),
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// The innermost frame. Code is lowered inside of one only.
    pub(super) fn frame(&mut self) -> &mut Frame<'a> {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    /// What the name means here, if it is local.
    pub(super) fn local(&self, name: &str) -> Option<&Binding> {
        let scopes = self.frames.last()?.scopes.iter().rev();
        scopes.flat_map(|scope| scope.iter().rev()).find(|(bound, _)| *bound == name).map(|(_, binding)| binding)
    }

    pub(super) fn local_names(&self) -> impl Iterator<Item = &'a str> {
        self.frames.last().into_iter().flat_map(|frame| frame.scopes.iter().flatten()).map(|(name, _)| *name)
    }

    pub(super) fn bind_local(&mut self, name: &'a str, binding: Binding) {
        if let Some(scope) = self.frame().scopes.last_mut() {
            scope.push((name, binding));
        }
    }

    /// A register for a new variable, which is not yet in scope.
    pub(super) fn variable_register(&mut self, name: &'a Ident) -> Reg {
        let function = self.frame().function;
        let register = self.builder.variable(function, &name.name);
        let frame = self.frame();
        frame.last_declared.insert(&name.name, register);
        frame.registers.push(register);
        register
    }

    /// A new variable, in scope from here.
    pub(super) fn declare(&mut self, name: &'a Ident, assignable: bool) -> Reg {
        let register = self.variable_register(name);
        self.bind_local(&name.name, Binding::Variable { register, assignable });
        register
    }

    pub(super) fn open_scope(&mut self) {
        self.frame().scopes.push(Vec::new());
    }

    pub(super) fn close_scope(&mut self) {
        let function = self.frame().function;
        let scope = self.frame().scopes.pop().unwrap_or_default();
        for (_, binding) in scope {
            if let Binding::Variable { register, .. } = binding {
                self.builder.retire(function, register);
            }
        }
    }
}
