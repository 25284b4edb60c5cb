//! Conditions on final states: `exists`, `forbidden`, `always`.

use super::{Lowered, Lowerer};
use crate::base::{Diagnostic, Loc, Span};
use crate::frontend::ut::ast::{Expr, ExprKind, Ident};
use crate::frontend::ut::globals::Global;
use crate::frontend::ut::suggest;
use crate::program::{Condition, FinalExpr, FinalValue, Start};

impl<'a> Lowerer<'a, '_> {
    /// The conditions; the registers that they mention become observed.
    pub(super) fn conditions(&mut self, routines: &mut [Lowered], initial: &[Start]) -> Vec<Condition> {
        let file = self.file;
        let mut conditions = Vec::new();
        for condition in &file.conditions {
            let proposition = self.proposition(&condition.proposition, routines, initial);
            proposition.for_each_leaf(&mut |leaf| {
                if let FinalValue::Register { thread, register } = leaf {
                    let observed = &mut routines[initial[thread].routine].routine.observed;
                    if !observed.contains(&register) {
                        observed.push(register);
                    }
                }
            });
            conditions.push(Condition { quantifier: condition.quantifier, proposition, span: condition.span });
        }
        conditions
    }

    fn proposition(&mut self, expr: &'a Expr, routines: &[Lowered], initial: &[Start]) -> FinalExpr {
        match &expr.kind {
            ExprKind::Int(value) => (*value).into(),
            ExprKind::Unary(op, operand) => self.proposition(operand, routines, initial).unary(*op),
            ExprKind::Binary(op, left, right) => {
                let left = self.proposition(left, routines, initial);
                let right = self.proposition(right, routines, initial);
                left.binary(*op, right)
            }
            ExprKind::Name(name) => match self.globals.get(name) {
                Some(Global::Constant(value)) => value.into(),
                Some(Global::Variable { base, length: None, .. }) => memory(base),
                Some(other) => {
                    self.error(self.not_a_value(name, other, expr.span));
                    0.into()
                }
                None => {
                    self.error(self.unknown_in_condition(name, expr.span, routines));
                    0.into()
                }
            },
            ExprKind::Index(array, index) => self.final_element(array, index),
            ExprKind::Field(object, field) => self.final_local(object, field, routines, initial),
            _ => {
                self.error(not_in_conditions(expr.span));
                0.into()
            }
        }
    }

    fn final_element(&mut self, array: &Expr, index: &Expr) -> FinalExpr {
        let ExprKind::Name(name) = &array.kind else {
            self.error(not_in_conditions(array.span));
            return 0.into();
        };
        let Some(Global::Variable { base, length: Some(length), .. }) = self.globals.get(name) else {
            self.error(
                Diagnostic::new(array.span, format!("`{name}` is not an array"))
                    .label("cannot be indexed")
                    .hint("arrays are declared like this: `shared a[3] = 0;`"),
            );
            return 0.into();
        };
        let Some(number) = self.globals.constant(index, self.diagnostics) else { return 0.into() };
        match u32::try_from(number) {
            Ok(number) if number < length => memory(base + number),
            _ => {
                self.error(
                    Diagnostic::new(index.span, format!("`{name}` has no element {number}"))
                        .label("out of bounds")
                        .hint(format!("the elements are `{name}[0]` to `{name}[{}]`", length - 1)),
                );
                0.into()
            }
        }
    }

    /// `t1.r` or `worker[0].r`.
    fn final_local(&mut self, object: &Expr, local: &Ident, routines: &[Lowered], initial: &[Start]) -> FinalExpr {
        let start_name = match &object.kind {
            ExprKind::Name(name) => name.clone(),
            ExprKind::Index(array, index) => match &array.kind {
                ExprKind::Name(name) => match self.globals.constant(index, self.diagnostics) {
                    Some(number) => format!("{name}[{number}]"),
                    None => return 0.into(),
                },
                _ => return self.condition_error(not_in_conditions(object.span)),
            },
            _ => return self.condition_error(not_in_conditions(object.span)),
        };
        let Some(thread) = initial.iter().position(|start| start.name == start_name) else {
            return self.condition_error(self.no_such_thread(&start_name, object.span, initial));
        };
        let locals = &routines[initial[thread].routine].locals;
        let Some(register) = locals.get(&local.name) else {
            let known = locals.keys().map(String::as_str);
            let hint =
                suggest::hint(&local.name, known, &format!("declare it in the thread: `let {} = …;`", local.name));
            let message = format!("`{start_name}` has no variable `{}`", local.name);
            return self.condition_error(Diagnostic::new(local.span, message).label("not declared there").hint(hint));
        };
        FinalExpr::Leaf(FinalValue::Register { thread, register: *register })
    }

    fn condition_error(&mut self, diagnostic: Diagnostic) -> FinalExpr {
        self.error(diagnostic);
        0.into()
    }

    fn no_such_thread(&self, name: &str, span: Span, initial: &[Start]) -> Diagnostic {
        let base = name.split('[').next().unwrap_or(name);
        let hint = match self.globals.get(base) {
            Some(Global::Thread(_)) if !self.file.mains.is_empty() => {
                "conditions can ask for variables of `main` only; let the thread store them in shared variables"
                    .to_string()
            }
            Some(Global::Thread(index)) if self.file.threads[index].count.is_some() => {
                format!("name one of the threads: `{base}[0]`")
            }
            Some(Global::Variable { .. }) => {
                "conditions cannot follow pointers; use `finally { assert(…); }`".to_string()
            }
            _ => suggest::hint(name, initial.iter().map(|start| start.name.as_str()), "name a thread, as in `t1.r`"),
        };
        Diagnostic::new(span, format!("there is no thread `{name}` from the start")).label("not a thread").hint(hint)
    }

    fn unknown_in_condition(&self, name: &str, span: Span, routines: &[Lowered]) -> Diagnostic {
        let owner = routines.iter().find(|lowered| lowered.locals.contains_key(name));
        let diagnostic = self.unknown_variable(name, span);
        match owner {
            Some(owner) => {
                let hint = format!("a thread's variable is written with its thread: `{}.{name}`", owner.routine.name);
                diagnostic.hint(hint)
            }
            None => diagnostic,
        }
    }
}

fn memory(cell: u32) -> FinalExpr {
    FinalExpr::Leaf(FinalValue::Memory(Loc::global(cell as usize)))
}

fn not_in_conditions(span: Span) -> Diagnostic {
    Diagnostic::new(span, "this cannot stand in a condition")
        .label("not a final value")
        .hint("conditions ask for variables `x`, elements `a[0]` and locals `t1.r`; use `finally { … }` for more")
}
