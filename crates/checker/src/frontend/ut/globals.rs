//! What a file declares: constants with their values, and a place for everything that is shared.

use super::ast::{Expr, ExprKind, File, Ident, Initial, SyncKind, Variable};
use super::{MAX_CELLS, MAX_DIAGNOSTICS, suggest};
use crate::base::{Diagnostic, Span};
use crate::program::{Access, BinaryOp, Cell, Lock, LockKind};
use std::collections::BTreeMap;

/// Everything that has a name outside of threads and functions. There is one name space.
#[derive(Debug, Default)]
pub(super) struct Globals<'a> {
    pub(super) names: BTreeMap<&'a str, (Global, Span)>,
    pub(super) fields: BTreeMap<&'a str, Field<'a>>,
    pub(super) cells: Vec<Cell>,
    pub(super) locks: Vec<Lock>,
    pub(super) condvars: Vec<String>,
}

/// What a name stands for. Lengths are those of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    Constant(i64),
    Variable {
        base: u32,
        length: Option<u32>,
        access: Access,
    },
    Sync {
        kind: SyncKind,
        base: u32,
        length: Option<u32>,
    },
    /// An index into `File::structs`.
    Struct(usize),
    /// An index into `File::functions`.
    Function(usize),
    /// An index into `File::threads`.
    Thread(usize),
}

impl Global {
    /// The kind of thing, for messages.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Global::Constant(_) => "a constant",
            Global::Variable { length: None, .. } => "a shared variable",
            Global::Variable { .. } => "an array",
            Global::Sync { kind, .. } => kind.description(),
            Global::Struct(_) => "a struct",
            Global::Function(_) => "a function",
            Global::Thread(_) => "a thread",
        }
    }
}

/// Where a field lies. Pointers have no types, so this must be the same in all structs that have such a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) offset: u8,
    pub(super) access: Access,
    declared: &'a Ident,
}

/// The functions that the language has.
pub(super) const BUILTINS: [&str; 17] = [
    "lock",
    "unlock",
    "try_lock",
    "read_lock",
    "read_unlock",
    "try_read_lock",
    "write_lock",
    "write_unlock",
    "try_write_lock",
    "wait",
    "notify",
    "notify_all",
    "assert",
    "assume",
    "panic",
    "choose",
    "free",
];

impl<'a> Globals<'a> {
    /// Declares everything in the file, reporting what cannot be.
    pub(super) fn of(
        file: &'a File,
        overrides: &BTreeMap<String, i64>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Globals<'a> {
        let mut globals = Globals::default();
        globals.constants(file, overrides, diagnostics);
        for variable in &file.variables {
            globals.variable(variable, diagnostics);
        }
        globals.syncs(file, diagnostics);
        globals.structs(file, diagnostics);
        for (index, function) in file.functions.iter().enumerate() {
            globals.declare(&function.name, Global::Function(index), diagnostics);
            distinct(&function.parameters, "parameter", diagnostics);
        }
        for (index, thread) in file.threads.iter().enumerate() {
            globals.declare(&thread.name, Global::Thread(index), diagnostics);
            distinct(&thread.parameters, "parameter", diagnostics);
        }
        globals
    }

    /// What a name stands for.
    pub(super) fn get(&self, name: &str) -> Option<Global> {
        self.names.get(name).map(|(global, _)| *global)
    }

    /// The value of a constant expression, or nothing after reporting why there is none.
    pub(super) fn constant(&self, expr: &Expr, diagnostics: &mut Vec<Diagnostic>) -> Option<i64> {
        match &expr.kind {
            ExprKind::Int(value) => Some(*value),
            ExprKind::Name(name) => match self.get(name) {
                Some(Global::Constant(value)) => Some(value),
                found => {
                    diagnostics.push(self.not_constant(name, found.is_some(), expr.span));
                    None
                }
            },
            ExprKind::Unary(op, operand) => Some(op.apply(self.constant(operand, diagnostics)?)),
            ExprKind::Binary(op, left, right) => {
                let left = self.constant(left, diagnostics)?;
                match (op, left != 0) {
                    (BinaryOp::And, false) => return Some(0),
                    (BinaryOp::Or, true) => return Some(1),
                    _ => {}
                }
                let right = self.constant(right, diagnostics)?;
                let value = op.apply(left, right).ok();
                if value.is_none() {
                    diagnostics.push(
                        Diagnostic::new(expr.span, "division by zero in a constant")
                            .label("the divisor is 0")
                            .hint("choose constants such that the divisor is not 0"),
                    );
                }
                value
            }
            _ => {
                diagnostics.push(
                    Diagnostic::new(expr.span, "this is not a constant")
                        .label("known only when the program runs")
                        .hint("use numbers, constants and operators"),
                );
                None
            }
        }
    }

    fn not_constant(&self, name: &str, declared: bool, span: Span) -> Diagnostic {
        if declared {
            return Diagnostic::new(span, format!("`{name}` is not a constant"))
                .label("known only when the program runs")
                .hint("use numbers, constants and operators");
        }
        let constants = self.names.iter().filter(|(_, (global, _))| matches!(global, Global::Constant(_)));
        let otherwise = format!("declare it before it is used: `const {name} = 2;`");
        Diagnostic::new(span, format!("unknown constant `{name}`")).label("not declared").hint(suggest::hint(
            name,
            constants.map(|(name, _)| *name),
            &otherwise,
        ))
    }

    fn declare(&mut self, name: &'a Ident, global: Global, diagnostics: &mut Vec<Diagnostic>) {
        if BUILTINS.contains(&name.name.as_str()) {
            diagnostics.push(
                Diagnostic::new(name.span, format!("`{}` is the name of a built-in function", name.name))
                    .label("already taken")
                    .hint("choose another name"),
            );
        }
        if let Some((_, first)) = self.names.get(name.name.as_str()) {
            diagnostics.push(
                Diagnostic::new(name.span, format!("`{}` is declared twice", name.name))
                    .label("declared again")
                    .hint("choose another name")
                    .related(*first, "first declared here"),
            );
        } else {
            self.names.insert(&name.name, (global, name.span));
        }
    }

    fn constants(&mut self, file: &'a File, overrides: &BTreeMap<String, i64>, diagnostics: &mut Vec<Diagnostic>) {
        for constant in &file.constants {
            let written = self.constant(&constant.value, diagnostics);
            let value = overrides.get(&constant.name.name).copied().or(written).unwrap_or(0);
            self.declare(&constant.name, Global::Constant(value), diagnostics);
        }
        let names: Vec<&str> = file.constants.iter().map(|constant| constant.name.name.as_str()).collect();
        for name in overrides.keys().filter(|name| !names.contains(&name.as_str())) {
            let declared = match names.as_slice() {
                [] => "the program declares no constants".to_string(),
                names => format!("the constants are {}", names.join(", ")),
            };
            let near = suggest::nearest(name, names.iter().copied());
            let hint = near.map_or(declared.clone(), |near| format!("did you mean `{near}`? {declared}"));
            diagnostics.push(
                Diagnostic::new(Span::default(), format!("there is no constant `{name}` to set"))
                    .label("not declared in this file")
                    .hint(hint),
            );
        }
    }

    /// The number of elements; nothing for something that is no array.
    fn length(&self, size: Option<&Expr>, used: usize, diagnostics: &mut Vec<Diagnostic>) -> Option<u32> {
        let size = size?;
        let length = self.constant(size, diagnostics)?;
        match u32::try_from(length) {
            Ok(length @ 1..) if used + length as usize <= MAX_CELLS => return Some(length),
            _ => {}
        }
        let (label, hint) = if length < 1 {
            (format!("this is {length}"), "an array has at least one element".to_string())
        } else {
            (format!("this is {length}"), format!("a program has at most {MAX_CELLS} shared cells"))
        };
        diagnostics.push(Diagnostic::new(size.span, "this is no size for an array").label(label).hint(hint));
        Some(1)
    }

    fn variable(&mut self, variable: &'a Variable, diagnostics: &mut Vec<Diagnostic>) {
        let (base, mistakes) = (self.cells.len(), diagnostics.len());
        let length = self.length(variable.size.as_ref(), base, diagnostics);
        let size_is_known = diagnostics.len() == mistakes;
        let count = length.unwrap_or(1) as usize;
        let values = match &variable.initial {
            Initial::Zero => vec![0; count],
            Initial::One(value) => vec![self.constant(value, diagnostics).unwrap_or(0); count],
            Initial::Each(values, span) => {
                if size_is_known && (length.is_none() || values.len() != count) {
                    diagnostics.push(wrong_initial(variable, length, values.len(), *span));
                }
                let constants: Vec<i64> =
                    values.iter().map(|value| self.constant(value, diagnostics).unwrap_or(0)).collect();
                (0..count).map(|index| constants.get(index).copied().unwrap_or(0)).collect()
            }
        };
        if base + count > MAX_CELLS {
            return too_many(&variable.name, "shared variables", diagnostics);
        }
        for (index, initial) in values.into_iter().enumerate() {
            let name = element_name(&variable.name.name, length, index);
            self.cells.push(Cell { name, initial, access: variable.access });
        }
        let global = Global::Variable { base: base as u32, length, access: variable.access };
        self.declare(&variable.name, global, diagnostics);
    }

    fn syncs(&mut self, file: &'a File, diagnostics: &mut Vec<Diagnostic>) {
        for sync in &file.syncs {
            let kind = match sync.kind {
                SyncKind::Mutex => Some(LockKind::Mutex),
                SyncKind::RwLock => Some(LockKind::RwLock),
                SyncKind::Condvar => None,
            };
            let base = if kind.is_some() { self.locks.len() } else { self.condvars.len() };
            let length = self.length(sync.size.as_ref(), base, diagnostics);
            let count = length.unwrap_or(1) as usize;
            if base + count > MAX_CELLS {
                too_many(&sync.name, "locks", diagnostics);
                continue;
            }
            for index in 0..count {
                let name = element_name(&sync.name.name, length, index);
                match kind {
                    Some(kind) => self.locks.push(Lock { name, kind }),
                    None => self.condvars.push(name),
                }
            }
            self.declare(&sync.name, Global::Sync { kind: sync.kind, base: base as u32, length }, diagnostics);
        }
    }

    fn structs(&mut self, file: &'a File, diagnostics: &mut Vec<Diagnostic>) {
        for (index, structure) in file.structs.iter().enumerate() {
            self.declare(&structure.name, Global::Struct(index), diagnostics);
            distinct(structure.fields.iter().map(|(_, field)| field), "field", diagnostics);
            if structure.fields.is_empty() || structure.fields.len() > usize::from(u8::MAX) {
                diagnostics.push(
                    Diagnostic::new(
                        structure.name.span,
                        format!("`{}` has no fields, or too many", structure.name.name),
                    )
                    .label(format!("{} fields", structure.fields.len()))
                    .hint("a struct has 1 to 255 fields"),
                );
                continue;
            }
            for (offset, (access, declared)) in structure.fields.iter().enumerate() {
                let field = Field { offset: offset as u8, access: *access, declared };
                let first = *self.fields.entry(&declared.name).or_insert(field);
                let same_place = first.offset == field.offset && first.access == field.access;
                let in_this_struct = structure.fields.iter().any(|(_, other)| std::ptr::eq(other, first.declared));
                if !same_place && !in_this_struct && diagnostics.len() < MAX_DIAGNOSTICS {
                    diagnostics.push(
                        Diagnostic::new(
                            declared.span,
                            format!("field `{}` lies elsewhere in another struct", declared.name),
                        )
                        .label("at another place, or plain in one and not in the other")
                        .hint("pointers have no types: rename one of the fields, or give both the same place")
                        .related(first.declared.span, "the other field"),
                    );
                }
            }
        }
    }
}

fn distinct<'a>(names: impl IntoIterator<Item = &'a Ident>, what: &str, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
    for name in names {
        if let Some(first) = seen.insert(&name.name, name.span) {
            diagnostics.push(
                Diagnostic::new(name.span, format!("{what} `{}` is declared twice", name.name))
                    .label("declared again")
                    .hint("choose another name")
                    .related(first, "first declared here"),
            );
        }
    }
}

fn element_name(name: &str, length: Option<u32>, index: usize) -> String {
    if length.is_some() { format!("{name}[{index}]") } else { name.to_string() }
}

fn too_many(name: &Ident, what: &str, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.push(
        Diagnostic::new(name.span, format!("too many {what}"))
            .label("one too many")
            .hint(format!("a program has at most {MAX_CELLS} of them")),
    );
}

fn wrong_initial(variable: &Variable, length: Option<u32>, values: usize, span: Span) -> Diagnostic {
    let name = &variable.name.name;
    match length {
        Some(length) => Diagnostic::new(span, format!("`{name}` has {length} elements, but {values} values are given"))
            .label(format!("{values} values"))
            .hint("give as many values as elements, or one value for all: `= 0`"),
        None => Diagnostic::new(span, format!("`{name}` is not an array"))
            .label("a list of values")
            .hint(format!("write `{name}[{values}]` to declare an array")),
    }
}
