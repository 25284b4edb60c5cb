//! Atomic operations: `x.load(acquire)`, `a[i].fetch_add(1)`, `p.next.cas(old, new)`.

use super::Lowerer;
use super::builtins::count;
use super::expressions::Want;
use super::places::SharedPlace;
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Expr, ExprKind, Ident};
use crate::frontend::ut::globals::Global;
use crate::frontend::ut::suggest;
use crate::program;
use crate::program::{Access, BinaryOp, Instr, Ordering, RmwOp};

/// The methods: name, what it does, number of arguments before the ordering.
const METHODS: [(&str, Method, usize); 13] = [
    ("load", Method::Load, 0),
    ("store", Method::Store, 1),
    ("swap", Method::Rmw(RmwOp::Swap), 1),
    ("fetch_add", Method::Rmw(RmwOp::Add), 1),
    ("fetch_sub", Method::Rmw(RmwOp::Sub), 1),
    ("fetch_and", Method::Rmw(RmwOp::And), 1),
    ("fetch_or", Method::Rmw(RmwOp::Or), 1),
    ("fetch_xor", Method::Rmw(RmwOp::Xor), 1),
    ("fetch_nand", Method::Rmw(RmwOp::Nand), 1),
    ("fetch_max", Method::Rmw(RmwOp::Max), 1),
    ("fetch_min", Method::Rmw(RmwOp::Min), 1),
    ("cas", Method::Cas, 2),
    ("compare_exchange", Method::CompareExchange, 2),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Load,
    Store,
    /// The old value.
    Rmw(RmwOp),
    /// 1 if it stored, else 0.
    Cas,
    /// The old value.
    CompareExchange,
}

impl Method {
    /// How many orderings can be written.
    fn orderings(self) -> usize {
        if matches!(self, Method::Cas | Method::CompareExchange) { 2 } else { 1 }
    }
}

const ORDERINGS: [(&str, Ordering); 5] = [
    ("relaxed", Ordering::Relaxed),
    ("acquire", Ordering::Acquire),
    ("release", Ordering::Release),
    ("acqrel", Ordering::AcqRel),
    ("seqcst", Ordering::SeqCst),
];

impl<'a> Lowerer<'a, '_> {
    /// `object.name(arguments)`.
    pub(super) fn operation(
        &mut self,
        object: &'a Expr,
        name: &'a Ident,
        arguments: &'a [Expr],
        span: Span,
        want: Want,
    ) -> program::Expr {
        let Some((_, method, operands)) = METHODS.into_iter().find(|(known, ..)| *known == name.name) else {
            let diagnostic = self.unknown_operation(object, name);
            self.error(diagnostic);
            return 0.into();
        };
        if arguments.len() < operands || arguments.len() > operands + method.orderings() {
            let orderings = if method.orderings() == 2 { "one or two orderings" } else { "an ordering" };
            self.error(
                Diagnostic::new(span, format!("`{}` is given {}", name.name, count(arguments.len())))
                    .label("wrong number of arguments")
                    .hint(format!("write `{}`, with {orderings} at the end if you like", usage(method, &name.name))),
            );
            return 0.into();
        }
        let Some(place) = self.place(object) else { return 0.into() };
        let ordering = self.operation_ordering(method, &name.name, arguments.get(operands));
        let failure = self.failure_ordering(&name.name, ordering, arguments.get(operands + 1));
        self.check_plain(&place, method, arguments.len() > operands, span);
        let operands: Vec<program::Expr> = arguments[..operands].iter().map(|operand| self.value(operand)).collect();
        self.perform(method, place.place, operands, (ordering, failure), span, want)
    }

    fn perform(
        &mut self,
        method: Method,
        place: program::Place,
        operands: Vec<program::Expr>,
        (ordering, failure): (Ordering, Ordering),
        span: Span,
        want: Want,
    ) -> program::Expr {
        let mut operands = operands.into_iter();
        let success = ordering;
        let mut operand = || operands.next().unwrap_or(program::Expr::Const(0));
        match method {
            Method::Load => self.load(&place, ordering, want.register(), span),
            Method::Store => {
                if want != Want::Nothing {
                    self.error(
                        Diagnostic::new(span, "`store` has no value")
                            .label("nothing to use here")
                            .hint("make it a statement, or use `swap` for the old value"),
                    );
                }
                self.emit(Instr::Store { place, value: operand(), ordering }, span);
                0.into()
            }
            Method::Rmw(op) => {
                let dst = match want {
                    Want::Nothing => None,
                    Want::Value(into) => Some(into.unwrap_or_else(|| self.builder.temporary())),
                };
                self.emit(Instr::Rmw { dst, place, op, operand: operand(), ordering }, span);
                dst.map_or(0.into(), Into::into)
            }
            Method::CompareExchange => {
                let dst = want.register().unwrap_or_else(|| self.builder.temporary());
                let (expected, desired) = (operand(), operand());
                self.emit(Instr::Cas { dst, place, expected, desired, success, failure }, span);
                dst.into()
            }
            Method::Cas => {
                let mut expected = operand();
                // It is used twice; a copy of a large expression inside a large expression would double every time.
                if !matches!(expected, program::Expr::Const(_) | program::Expr::Leaf(_)) {
                    let copy = self.builder.temporary();
                    self.emit(Instr::Assign { dst: copy, value: expected }, span);
                    expected = copy.into();
                }
                let dst = self.builder.temporary();
                let found = program::Expr::from(dst).binary(BinaryOp::Eq, expected.clone());
                self.emit(Instr::Cas { dst, place, expected, desired: operand(), success, failure }, span);
                found
            }
        }
    }

    fn unknown_operation(&self, object: &Expr, name: &Ident) -> Diagnostic {
        if let ExprKind::Name(object) = &object.kind
            && let Some(global @ Global::Sync { .. }) = self.globals.get(object)
        {
            return Diagnostic::new(name.span, format!("`{object}` is {}, not a variable", global.kind()))
                .label("not an operation of it")
                .hint(format!("locks are used through functions, such as `lock({object})`"));
        }
        let otherwise = format!("the operations are {}", METHODS.map(|(name, ..)| name).join(", "));
        Diagnostic::new(name.span, format!("unknown operation `{}`", name.name))
            .label("not an operation")
            .hint(suggest::hint(&name.name, METHODS.map(|(name, ..)| name), &otherwise))
    }

    /// The ordering that is written, or the default: relaxed loads and stores, sequentially consistent RMWs.
    fn operation_ordering(&mut self, method: Method, name: &str, written: Option<&'a Expr>) -> Ordering {
        let (default, allowed): (_, &[&str]) = match method {
            Method::Load => (Ordering::Relaxed, &["relaxed", "acquire", "seqcst"]),
            Method::Store => (Ordering::Relaxed, &["relaxed", "release", "seqcst"]),
            _ => (Ordering::SeqCst, &["relaxed", "acquire", "release", "acqrel", "seqcst"]),
        };
        written.map_or(default, |written| self.written_ordering(name, default, allowed, written))
    }

    /// The ordering of a compare-exchange that fails: what is written, or the strongest that goes with the other one.
    fn failure_ordering(&mut self, name: &str, success: Ordering, written: Option<&'a Expr>) -> Ordering {
        let name = format!("{name} that fails");
        let allowed = &["relaxed", "acquire", "seqcst"];
        let default = success.on_failure();
        written.map_or(default, |written| self.written_ordering(&name, default, allowed, written))
    }

    /// The ordering that is written, which must be one of those that are allowed.
    fn written_ordering(&mut self, name: &str, default: Ordering, allowed: &[&str], written: &'a Expr) -> Ordering {
        let ExprKind::Name(word) = &written.kind else {
            self.error(
                Diagnostic::new(written.span, "an ordering is expected here")
                    .label("not an ordering")
                    .hint(format!("write {}", allowed.join(", "))),
            );
            return default;
        };
        let ordering = self.ordering(word, written.span).unwrap_or(default);
        let known = ORDERINGS.iter().any(|(known, _)| known == word);
        if known && !allowed.contains(&word.as_str()) {
            self.error(
                Diagnostic::new(written.span, format!("a {name} cannot be {word}"))
                    .label("makes no sense here")
                    .hint(format!("write {}", allowed.join(", "))),
            );
        }
        ordering
    }

    /// The ordering of that name.
    pub(super) fn ordering(&mut self, word: &str, span: Span) -> Option<Ordering> {
        let found = ORDERINGS.into_iter().find(|(name, _)| *name == word);
        if found.is_none() {
            let names = ORDERINGS.map(|(name, _)| name);
            let plain = word.replace('_', "").to_lowercase();
            let near = names.into_iter().find(|name| **name == plain);
            let otherwise = format!("the orderings are {}", names.join(", "));
            let hint = near.map_or_else(|| suggest::hint(word, names, &otherwise), |near| format!("write `{near}`"));
            self.error(Diagnostic::new(span, format!("unknown ordering `{word}`")).label("not an ordering").hint(hint));
        }
        found.map(|(_, ordering)| ordering)
    }

    /// Plain variables are for data that something else protects.
    fn check_plain(&mut self, place: &SharedPlace, method: Method, ordered: bool, span: Span) {
        let atomic = ordered || !matches!(method, Method::Load | Method::Store);
        if place.access == Access::Plain && atomic {
            self.error(
                Diagnostic::new(span, "an atomic operation on plain data")
                    .label("declared as `plain`")
                    .hint("declare it as `shared` (a field: without `plain`), or read and assign it directly"),
            );
        }
    }
}

fn usage(method: Method, name: &str) -> String {
    match method {
        Method::Load => "x.load()".to_string(),
        Method::Store | Method::Rmw(_) => format!("x.{name}(value)"),
        Method::Cas | Method::CompareExchange => format!("x.{name}(old, new)"),
    }
}
