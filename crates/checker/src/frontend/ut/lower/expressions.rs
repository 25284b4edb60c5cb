//! Expressions: each shared access becomes an instruction, left to right; what is left is a pure expression over registers.

use super::Lowerer;
use super::builder::Label;
use super::scopes::Binding;
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Expr, ExprKind};
use crate::frontend::ut::globals::Global;
use crate::frontend::ut::suggest;
use crate::program;
use crate::program::{BinaryOp, Instr, Ordering, Reg, UnaryOp};

/// What becomes of an expression's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// It is used. If one instruction makes it, that may set this register.
    Value(Option<Reg>),
    /// The expression is a statement.
    Nothing,
}

impl Want {
    /// The register that an instruction shall set, if it may choose one.
    pub(super) fn register(self) -> Option<Reg> {
        match self {
            Want::Value(register) => register,
            Want::Nothing => None,
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// The value, as an expression that stays valid until the statement ends.
    pub(super) fn value(&mut self, expr: &'a Expr) -> program::Expr {
        self.evaluate(expr, Want::Value(None))
    }

    /// Assigns the value to a register, without a detour if one instruction can do it.
    pub(super) fn value_into(&mut self, expr: &'a Expr, dst: Reg, span: Span) {
        let value = self.evaluate(expr, Want::Value(Some(dst)));
        if value != dst.into() {
            self.emit(Instr::Assign { dst, value }, span);
        }
    }

    pub(super) fn evaluate(&mut self, expr: &'a Expr, want: Want) -> program::Expr {
        self.deeper(expr.span, 0.into(), |lowerer| lowerer.evaluate_any_kind(expr, want))
    }

    fn evaluate_any_kind(&mut self, expr: &'a Expr, want: Want) -> program::Expr {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Call(name, arguments) => return self.call(name, arguments, span, want),
            ExprKind::Method(object, name, arguments) => return self.operation(object, name, arguments, span, want),
            ExprKind::Fork(name, arguments) => return self.fork(name, arguments, span, want),
            ExprKind::New(name, fields) => return self.new_block(name, fields, span, want),
            _ if want == Want::Nothing => self.useless(expr),
            _ => {}
        }
        match &expr.kind {
            ExprKind::Int(value) => (*value).into(),
            ExprKind::Name(name) => self.name(name, span, want),
            ExprKind::Unary(op, operand) => {
                let operand = self.value(operand);
                fold(operand.unary(*op))
            }
            ExprKind::Binary(..) if self.needs_jumps(expr) => self.truth(expr, want),
            ExprKind::Binary(op, left, right) => {
                let left = self.value(left);
                let right = self.value(right);
                fold(left.binary(*op, right))
            }
            ExprKind::Index(..) | ExprKind::Field(..) => match self.place(expr) {
                Some(place) => self.load(&place.place, Ordering::Relaxed, want.register(), span),
                None => 0.into(),
            },
            ExprKind::Str(_) => {
                self.misplaced(span, "a text is not a value", "texts are messages: `assert(x == 1, \"lost\")`")
            }
            _ => self.misplaced(span, "a range is not a value", "ranges stand in `choose(a..b)` and `for i in a..b`"),
        }
    }

    fn misplaced(&mut self, span: Span, message: &str, hint: &str) -> program::Expr {
        self.error(Diagnostic::new(span, message).label("not a number").hint(hint));
        0.into()
    }

    fn useless(&mut self, expr: &Expr) {
        let hint = match &expr.kind {
            ExprKind::Binary(BinaryOp::Eq, ..) => "write `=` to assign",
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Index(..) => "to read it, write `let r = …;`",
            _ => "assign it, assert it, or remove it",
        };
        self.error(Diagnostic::new(expr.span, "this statement does nothing").label("the value is not used").hint(hint));
    }

    fn name(&mut self, name: &str, span: Span, want: Want) -> program::Expr {
        match self.local(name) {
            Some(Binding::Variable { register, .. }) => return (*register).into(),
            Some(Binding::Argument(value)) => return value.clone(),
            None => {}
        }
        match self.globals.get(name) {
            Some(Global::Constant(value)) => value.into(),
            Some(Global::Variable { base, length: None, .. }) => {
                self.load(&program::Place::Cell(base), Ordering::Relaxed, want.register(), span)
            }
            Some(other) => {
                self.error(self.not_a_value(name, other, span));
                0.into()
            }
            None => {
                self.error(self.unknown_variable(name, span));
                0.into()
            }
        }
    }

    /// A diagnostic for a declared name that has no value.
    pub(super) fn not_a_value(&self, name: &str, global: Global, span: Span) -> Diagnostic {
        use super::super::ast::SyncKind;
        let hint = match global {
            Global::Variable { .. } => format!("choose an element: `{name}[0]`"),
            Global::Sync { kind: SyncKind::Mutex, .. } => {
                format!("mutexes are taken and released: `lock({name}); unlock({name});`")
            }
            Global::Sync { kind: SyncKind::RwLock, .. } => {
                format!("it is taken with `read_lock({name})` or `write_lock({name})`")
            }
            Global::Sync { kind: SyncKind::Condvar, .. } => {
                format!("it is used as `wait({name}, m)` and `notify({name})`")
            }
            Global::Struct(_) => format!("`new {name}` makes one"),
            Global::Function(_) => format!("call it: `{name}(…)`"),
            Global::Thread(_) => {
                format!("`fork {name}(…)` starts one; its variables can be asked for in conditions only")
            }
            Global::Constant(_) => "use its value".to_string(),
        };
        Diagnostic::new(span, format!("`{name}` is {}, not a value", global.kind())).label(global.kind()).hint(hint)
    }

    pub(super) fn unknown_variable(&self, name: &str, span: Span) -> Diagnostic {
        let globals = self
            .globals
            .names
            .iter()
            .filter(|(_, (global, _))| matches!(global, Global::Constant(_) | Global::Variable { .. }));
        let known = self.local_names().chain(globals.map(|(name, _)| *name));
        let otherwise = format!("declare it: `shared {name} = 0;` for all threads, or `let {name} = 0;` for this one");
        Diagnostic::new(span, format!("unknown variable `{name}`"))
            .label("not declared")
            .hint(suggest::hint(name, known, &otherwise))
    }

    /// Jumps to one of the labels.
    pub(super) fn condition(&mut self, expr: &'a Expr, then: Label, otherwise: Label) {
        self.deeper(expr.span, (), |lowerer| match &expr.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => lowerer.condition(operand, otherwise, then),
            ExprKind::Binary(op, left, right) if lowerer.needs_jumps(expr) => {
                let second = lowerer.builder.label();
                match op {
                    BinaryOp::And => lowerer.condition(left, second, otherwise),
                    _ => lowerer.condition(left, then, second),
                }
                lowerer.builder.bind(second);
                lowerer.condition(right, then, otherwise);
            }
            _ => {
                let value = lowerer.value(expr);
                lowerer.branch(value, then, otherwise, expr.span);
            }
        });
    }

    /// 1 or 0, of an expression that needs jumps.
    fn truth(&mut self, expr: &'a Expr, want: Want) -> program::Expr {
        let dst = want.register().unwrap_or_else(|| self.builder.temporary());
        let [on_true, on_false, end] = [(); 3].map(|()| self.builder.label());
        self.condition(expr, on_true, on_false);
        self.builder.bind(on_true);
        self.emit(Instr::Assign { dst, value: 1.into() }, expr.span);
        self.jump(end, expr.span);
        self.builder.bind(on_false);
        self.emit(Instr::Assign { dst, value: 0.into() }, expr.span);
        self.builder.bind(end);
        dst.into()
    }

    /// Whether `&&` and `||` here must skip their right side: it does something that others can see, or can fail.
    fn needs_jumps(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
                !self.is_pure(right) || self.needs_jumps(left)
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.needs_jumps(operand),
            _ => false,
        }
    }

    fn is_pure(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(_) => true,
            ExprKind::Name(name) => {
                self.local(name).is_some() || !matches!(self.globals.get(name), Some(Global::Variable { .. }))
            }
            ExprKind::Unary(_, operand) => self.is_pure(operand),
            ExprKind::Binary(op, left, right) => {
                let total = !matches!(op, BinaryOp::Div | BinaryOp::Rem)
                    || matches!(right.kind, ExprKind::Int(divisor) if divisor != 0);
                total && self.is_pure(left) && self.is_pure(right)
            }
            _ => false,
        }
    }

    pub(super) fn jump(&mut self, to: Label, span: Span) {
        self.branch(1.into(), to, to, span);
    }

    pub(super) fn branch(&mut self, condition: program::Expr, then: Label, otherwise: Label, span: Span) {
        if !self.gave_up {
            self.code += 1;
            self.builder.branch(condition, then, otherwise, span);
        }
    }
}

/// Evaluates the root if its operands are constants. A division by zero stays for the run.
pub(super) fn fold(expr: program::Expr) -> program::Expr {
    use program::ExprOver::{Binary, Const, Unary};
    match &expr {
        Unary(op, operand) => match **operand {
            Const(operand) => op.apply(operand).into(),
            _ => expr,
        },
        Binary(op, left, right) => match (op, &**left, &**right) {
            (op, Const(left), Const(right)) => op.apply(*left, *right).map(Into::into).unwrap_or(expr),
            (BinaryOp::And, Const(0), _) => 0.into(),
            (BinaryOp::Or, Const(left), _) if *left != 0 => 1.into(),
            _ => expr,
        },
        _ => expr,
    }
}
