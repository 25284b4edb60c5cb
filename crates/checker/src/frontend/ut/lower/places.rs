//! Places: the shared cells, locks and condition variables that expressions name.

use super::Lowerer;
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Expr, ExprKind, SyncKind};
use crate::frontend::ut::globals::Global;
use crate::frontend::ut::suggest;
use crate::program;
use crate::program::{Access, Indexed, Instr, Ordering, Place, Reg};

/// A cell that an instruction can access.
#[derive(Clone, Debug)]
pub(super) struct SharedPlace {
    pub(super) place: Place,
    pub(super) access: Access,
}

impl<'a> Lowerer<'a, '_> {
    /// The cell that an expression names, or nothing after saying why it names none.
    pub(super) fn place(&mut self, expr: &'a Expr) -> Option<SharedPlace> {
        match &expr.kind {
            ExprKind::Name(name) => self.named_place(name, expr.span),
            ExprKind::Index(array, index) => self.element(array, index),
            ExprKind::Field(object, field) => {
                let pointer = self.value(object);
                let Some(found) = self.globals.fields.get(field.name.as_str()) else {
                    let fields = self.globals.fields.keys().copied();
                    let otherwise = format!("declare it in a struct: `struct Node {{ {} }}`", field.name);
                    let hint = suggest::hint(&field.name, fields, &otherwise);
                    let diagnostic = Diagnostic::new(field.span, format!("no struct has a field `{}`", field.name));
                    self.error(diagnostic.label("unknown field").hint(hint));
                    return None;
                };
                let place = Place::Deref { pointer, offset: found.offset, access: found.access };
                Some(SharedPlace { place, access: found.access })
            }
            _ => {
                self.error(
                    Diagnostic::new(expr.span, "this is not a variable")
                        .label("cannot be assigned")
                        .hint("variables `x`, elements `a[i]` and fields `p.next` can"),
                );
                None
            }
        }
    }

    fn named_place(&mut self, name: &str, span: Span) -> Option<SharedPlace> {
        if self.local(name).is_some() {
            self.error(
                Diagnostic::new(span, format!("`{name}` is a local variable"))
                    .label("not shared")
                    .hint("atomic operations are for shared variables; read and assign local ones directly"),
            );
            return None;
        }
        let diagnostic = match self.globals.get(name) {
            Some(Global::Variable { base, length: None, access }) => {
                return Some(SharedPlace { place: Place::Cell(base), access });
            }
            Some(Global::Constant(_)) => Diagnostic::new(span, format!("the constant `{name}` cannot be changed"))
                .label("a constant")
                .hint(format!("declare it as `shared {name} = …;` instead of `const`")),
            Some(other) => self.not_a_value(name, other, span),
            None => self.unknown_variable(name, span),
        };
        self.error(diagnostic);
        None
    }

    fn element(&mut self, array: &'a Expr, index: &'a Expr) -> Option<SharedPlace> {
        let index = self.value(index);
        let not_an_array = |what: &str| {
            Diagnostic::new(array.span, format!("{what} is not an array"))
                .label("cannot be indexed")
                .hint("arrays are declared like this: `shared a[3] = 0;`")
        };
        let ExprKind::Name(name) = &array.kind else {
            self.error(not_an_array("this"));
            return None;
        };
        let diagnostic = match self.globals.get(name) {
            _ if self.local(name).is_some() => not_an_array(&format!("the local variable `{name}`")),
            Some(Global::Variable { base, length: Some(length), access }) => {
                let place = match index {
                    program::Expr::Const(index) if (0..i64::from(length)).contains(&index) => {
                        Place::Cell(base + index as u32)
                    }
                    index => Place::Element { base, length, index },
                };
                return Some(SharedPlace { place, access });
            }
            Some(other @ (Global::Variable { .. } | Global::Constant(_))) => {
                not_an_array(&format!("`{name}`, {},", other.kind()))
            }
            Some(other) => self.not_a_value(name, other, array.span),
            None => self.unknown_variable(name, array.span),
        };
        self.error(diagnostic);
        None
    }

    /// Reads a cell.
    pub(super) fn load(&mut self, place: &Place, ordering: Ordering, into: Option<Reg>, span: Span) -> program::Expr {
        let dst = into.unwrap_or_else(|| self.builder.temporary());
        self.emit(Instr::Load { dst, place: place.clone(), ordering }, span);
        dst.into()
    }

    /// The lock or condition variable of this kind that an expression names.
    pub(super) fn sync(&mut self, expr: &'a Expr, wanted: SyncKind, function: &str) -> Option<Indexed> {
        let (name, index) = match &expr.kind {
            ExprKind::Name(name) => (name, None),
            ExprKind::Index(array, index) => match &array.kind {
                ExprKind::Name(name) => (name, Some(&**index)),
                _ => return self.not_sync(expr, wanted, None),
            },
            _ => return self.not_sync(expr, wanted, None),
        };
        let Some(Global::Sync { kind, base, length }) = self.globals.get(name) else {
            return self.not_sync(expr, wanted, Some(name));
        };
        if kind != wanted {
            let found = kind.description();
            let hint = match (kind, function) {
                (SyncKind::RwLock, "lock") => format!("write `write_lock({name})` or `read_lock({name})`"),
                (SyncKind::RwLock, "unlock") => format!("write `write_unlock({name})` or `read_unlock({name})`"),
                (SyncKind::RwLock, "try_lock") => format!("write `try_write_lock({name})` or `try_read_lock({name})`"),
                (SyncKind::Mutex, "read_lock" | "write_lock") => format!("write `lock({name})`"),
                (SyncKind::Mutex, "read_unlock" | "write_unlock") => format!("write `unlock({name})`"),
                (SyncKind::Mutex, "try_read_lock" | "try_write_lock") => format!("write `try_lock({name})`"),
                _ => format!("`{function}` needs {}", wanted.description()),
            };
            self.error(
                Diagnostic::new(expr.span, format!("`{name}` is {found}, not {}", wanted.description()))
                    .label(found)
                    .hint(hint),
            );
            return None;
        }
        match (index, length) {
            (None, None) => Some(Indexed { base, length: 1, index: 0.into() }),
            (Some(index), Some(length)) => Some(Indexed { base, length, index: self.value(index) }),
            (None, Some(_)) => {
                self.error(
                    Diagnostic::new(expr.span, format!("`{name}` is an array"))
                        .label("which of them?")
                        .hint(format!("choose one: `{name}[0]`")),
                );
                None
            }
            (Some(index), None) => {
                self.error(
                    Diagnostic::new(index.span, format!("`{name}` is not an array"))
                        .label("no index belongs here")
                        .hint(format!("write `{name}` alone")),
                );
                None
            }
        }
    }

    fn not_sync(&mut self, expr: &Expr, wanted: SyncKind, name: Option<&str>) -> Option<Indexed> {
        let (wanted_name, keyword) = (wanted.description(), wanted.keyword());
        let of_kind = self
            .globals
            .names
            .iter()
            .filter(|(_, (global, _))| matches!(global, Global::Sync { kind, .. } if *kind == wanted));
        let name = name.unwrap_or("m");
        let (message, otherwise) = match self.globals.get(name) {
            Some(other) => {
                let message = format!("`{name}` is {}, not {wanted_name}", other.kind());
                (message, format!("{wanted_name} is declared with `{keyword}`"))
            }
            None => (format!("this is not {wanted_name}"), format!("declare it: `{keyword} {name};`")),
        };
        let hint = suggest::hint(name, of_kind.map(|(name, _)| *name), &otherwise);
        self.error(Diagnostic::new(expr.span, message).label(format!("not {wanted_name}")).hint(hint));
        None
    }
}
