//! Built-in functions: locks, condition variables, assertions, choice.

use super::Lowerer;
use super::expressions::Want;
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Expr, ExprKind, SyncKind};
use crate::program;
use crate::program::{Instr, LockMode};

impl<'a> Lowerer<'a, '_> {
    /// A call of a built-in function, with its value if it has one.
    pub(super) fn builtin(&mut self, name: &str, arguments: &'a [Expr], span: Span, want: Want) -> program::Expr {
        let (usage, has_value) = usage(name);
        let expected = match name {
            "wait" => 2..=2,
            "assert" => 1..=2,
            "panic" => 0..=1,
            _ => 1..=1,
        };
        if !expected.contains(&arguments.len()) {
            self.error(
                Diagnostic::new(span, format!("`{name}` is given {}", count(arguments.len())))
                    .label("wrong number of arguments")
                    .hint(format!("write `{usage}`")),
            );
            return 0.into();
        }
        if want != Want::Nothing && !has_value {
            self.error(
                Diagnostic::new(span, format!("`{name}` has no value"))
                    .label("nothing to use here")
                    .hint(format!("make it a statement: `{usage};`")),
            );
        }
        match name {
            "choose" => return self.choose(&arguments[0], span, want),
            "try_lock" => return self.try_lock(&arguments[0], SyncKind::Mutex, LockMode::Exclusive, name, span, want),
            "try_read_lock" => {
                return self.try_lock(&arguments[0], SyncKind::RwLock, LockMode::Shared, name, span, want);
            }
            "try_write_lock" => {
                return self.try_lock(&arguments[0], SyncKind::RwLock, LockMode::Exclusive, name, span, want);
            }
            "wait" => self.wait(arguments, span),
            "notify" | "notify_all" => {
                if let Some(condvar) = self.sync(&arguments[0], SyncKind::Condvar, name) {
                    self.emit(Instr::Notify { condvar, all: name == "notify_all" }, span);
                }
            }
            "assert" | "panic" => self.failure(name, arguments, span),
            "assume" => {
                let condition = self.value(&arguments[0]);
                self.emit(Instr::Assume { condition }, span);
            }
            "free" => {
                let pointer = self.value(&arguments[0]);
                self.emit(Instr::Free { pointer }, span);
            }
            _ => self.lock_or_unlock(name, &arguments[0], span),
        }
        0.into()
    }

    fn lock_or_unlock(&mut self, name: &str, argument: &'a Expr, span: Span) {
        let (kind, mode) = match name {
            "lock" | "unlock" => (SyncKind::Mutex, LockMode::Exclusive),
            "read_lock" | "read_unlock" => (SyncKind::RwLock, LockMode::Shared),
            _ => (SyncKind::RwLock, LockMode::Exclusive),
        };
        let Some(lock) = self.sync(argument, kind, name) else { return };
        let instr = if name.ends_with("unlock") { Instr::Unlock { lock, mode } } else { Instr::Lock { lock, mode } };
        self.emit(instr, span);
    }

    fn try_lock(
        &mut self,
        argument: &'a Expr,
        kind: SyncKind,
        mode: LockMode,
        name: &str,
        span: Span,
        want: Want,
    ) -> program::Expr {
        let Some(lock) = self.sync(argument, kind, name) else { return 0.into() };
        let dst = want.register().unwrap_or_else(|| self.builder.temporary());
        self.emit(Instr::TryLock { dst, lock, mode }, span);
        dst.into()
    }

    fn wait(&mut self, arguments: &'a [Expr], span: Span) {
        let condvar = self.sync(&arguments[0], SyncKind::Condvar, "wait");
        let lock = self.sync(&arguments[1], SyncKind::Mutex, "wait");
        if let (Some(condvar), Some(lock)) = (condvar, lock) {
            self.emit(Instr::Wait { condvar, lock }, span);
        }
    }

    fn choose(&mut self, argument: &'a Expr, span: Span, want: Want) -> program::Expr {
        let ExprKind::Range(low, high) = &argument.kind else {
            self.error(
                Diagnostic::new(argument.span, "`choose` needs a range")
                    .label("not a range")
                    .hint("write `choose(0..3)` for 0, 1 or 2"),
            );
            return 0.into();
        };
        let low = self.value(low);
        let high = self.value(high);
        let dst = want.register().unwrap_or_else(|| self.builder.temporary());
        self.emit(Instr::Choose { dst, low, high }, span);
        dst.into()
    }

    /// `assert(condition, "message")` or `panic("message")`.
    fn failure(&mut self, name: &str, arguments: &'a [Expr], span: Span) {
        let (condition, message) =
            if name == "assert" { (Some(&arguments[0]), arguments.get(1)) } else { (None, arguments.first()) };
        let written = match message.map(|message| (&message.kind, message.span)) {
            Some((ExprKind::Str(text), _)) => Some(text.clone()),
            Some((_, span)) => {
                self.error(
                    Diagnostic::new(span, "the message must be a text")
                        .label("not a text")
                        .hint("write it in quotes: `\"lost update\"`"),
                );
                None
            }
            None => None,
        };
        let Some(condition) = condition else {
            return self.emit(Instr::Panic { message: written.unwrap_or_else(|| "panic".to_string()) }, span);
        };
        let message = written.unwrap_or_else(|| self.text_at(condition.span));
        let condition = self.value(condition);
        let holds_always = matches!(condition, program::Expr::Const(value) if value != 0);
        if !holds_always {
            self.emit(Instr::Assert { condition, message }, span);
        }
    }

    /// The text of the place on one line.
    fn text_at(&self, span: Span) -> String {
        let text = self.text.get(span.start as usize..span.end as usize).unwrap_or("");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// How a built-in function is called, and whether it has a value.
fn usage(name: &str) -> (&'static str, bool) {
    match name {
        "lock" => ("lock(m)", false),
        "unlock" => ("unlock(m)", false),
        "try_lock" => ("try_lock(m)", true),
        "read_lock" => ("read_lock(l)", false),
        "read_unlock" => ("read_unlock(l)", false),
        "try_read_lock" => ("try_read_lock(l)", true),
        "write_lock" => ("write_lock(l)", false),
        "write_unlock" => ("write_unlock(l)", false),
        "try_write_lock" => ("try_write_lock(l)", true),
        "wait" => ("wait(c, m)", false),
        "notify" => ("notify(c)", false),
        "notify_all" => ("notify_all(c)", false),
        "assert" => ("assert(x == 1, \"message\")", false),
        "assume" => ("assume(x == 1)", false),
        "panic" => ("panic(\"message\")", false),
        "choose" => ("choose(0..3)", true),
        _ => ("free(p)", false),
    }
}

/// `no arguments`, `1 argument`, `2 arguments`.
pub(super) fn count(arguments: usize) -> String {
    match arguments {
        0 => "no arguments".to_string(),
        1 => "1 argument".to_string(),
        more => format!("{more} arguments"),
    }
}
