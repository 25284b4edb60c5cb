//! What names stand for: shared variables with their types, and registers with a value from the start.

use std::collections::{BTreeMap, BTreeSet};

use super::ValueType;
use crate::base::Loc;
use crate::program::{Access, Cell};

/// More cells than any litmus test has; a limit against `x[1000000000]`.
const MAX_CELLS: usize = 4096;

/// The shared variables of a test and the registers that its initial state mentions.
#[derive(Default)]
pub(super) struct Symbols {
    pub(super) cells: Vec<Cell>,
    variables: BTreeMap<String, Variable>,
    /// By thread number and canonical name.
    pub(super) registers: BTreeMap<(usize, String), InitialRegister>,
    /// Registers that a 64-bit instruction writes.
    pub(super) wide_registers: BTreeSet<(usize, String)>,
    /// Whether a register or cell can hold an address.
    pub(super) pointers: bool,
}

/// A shared variable: one cell, or those of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub(super) base: u32,
    /// The number of elements of an array.
    pub(super) length: Option<u32>,
    /// As declared.
    declared: Option<ValueType>,
    /// Whether a 64-bit instruction touches it.
    wide: bool,
}

/// What the initial state says of a register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InitialRegister {
    pub(super) value: i64,
    pub(super) declared: Option<ValueType>,
}

impl Variable {
    /// The declared type, or that of the accesses.
    pub(super) fn ty(&self) -> ValueType {
        self.declared.unwrap_or(if self.wide { ValueType::LONG } else { ValueType::INT })
    }

    pub(super) fn cells(&self) -> std::ops::Range<usize> {
        self.base as usize..(self.base + self.length.unwrap_or(1)) as usize
    }
}

impl Symbols {
    /// Declares a variable, or adds what is known about it. Fails with what is wrong.
    pub(super) fn declare(
        &mut self,
        name: &str,
        declared: Option<ValueType>,
        length: Option<u32>,
    ) -> Result<Variable, String> {
        if let Some(known) = self.variables.get_mut(name) {
            if length.is_some() && known.length != length {
                return Err(format!("`{name}` is declared twice, with different sizes"));
            }
            known.declared = declared.or(known.declared);
            return Ok(*known);
        }
        let count = length.unwrap_or(1) as usize;
        if self.cells.len() + count > MAX_CELLS {
            return Err(format!("a test can have {MAX_CELLS} memory cells at most"));
        }
        let variable = Variable { base: self.cells.len() as u32, length, declared, wide: false };
        let cell = |name| Cell { name, initial: 0, access: Access::Atomic };
        match length {
            None => self.cells.push(cell(name.to_string())),
            Some(length) => self.cells.extend((0..length).map(|index| cell(format!("{name}[{index}]")))),
        }
        self.variables.insert(name.to_string(), variable);
        Ok(variable)
    }

    /// The variable of that name; one that is not declared is an `int` with value 0.
    pub(super) fn variable(&mut self, name: &str) -> Result<Variable, String> {
        self.declare(name, None, None)
    }

    /// A C thread's parameter: the address of the variable that it points to.
    pub(super) fn parameter(&mut self, name: &str, ty: ValueType) -> Result<i64, String> {
        let known = self.variables.get(name).is_some_and(|variable| variable.declared.is_some());
        let variable = self.declare(name, Some(ty).filter(|_| !known), None)?;
        Ok(Loc::global(variable.base as usize).pointer())
    }

    /// The array that a pointer points to the start of.
    pub(super) fn array_at(&self, pointer: i64) -> Option<(u32, u32)> {
        let cell = Loc::from_pointer(pointer)?.as_global()?;
        let array = self.variables.values().find(|variable| variable.base as usize == cell)?;
        Some((array.base, array.length?))
    }

    /// A local variable of a C thread.
    pub(super) fn declare_register(&mut self, thread: usize, name: &str, ty: ValueType) {
        let register = self.registers.entry((thread, name.to_string())).or_default();
        register.declared = register.declared.or(Some(ty));
    }

    /// A 64-bit instruction touches the variable.
    pub(super) fn widen(&mut self, name: &str) {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.wide = true;
        }
    }

    /// The address of a variable, or of an array's element.
    pub(super) fn address(&mut self, name: &str, index: i64) -> Result<i64, String> {
        let cell = self.element(name, index)?;
        self.pointers = true;
        Ok(Loc::global(cell).pointer())
    }

    /// The cell of an array's element. Any variable has an element 0.
    pub(super) fn element(&mut self, name: &str, index: i64) -> Result<usize, String> {
        let cells = self.variable(name)?.cells();
        usize::try_from(index)
            .ok()
            .filter(|index| *index < cells.len())
            .map(|index| cells.start + index)
            .ok_or_else(|| format!("`{name}` has no element {index}"))
    }
}
