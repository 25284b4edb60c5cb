//! Statements.

use super::Lowerer;
use super::expressions::{Want, fold};
use super::scopes::{Binding, Leave, LoopLabels};
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Block, Expr, ExprKind, Ident, Statement, StatementKind};
use crate::program;
use crate::program::{BinaryOp, Instr, Ordering, Reg};

impl<'a> Lowerer<'a, '_> {
    /// A block with its own scope.
    pub(super) fn block(&mut self, block: &'a Block) {
        self.open_scope();
        for statement in &block.statements {
            self.statement(statement);
        }
        self.close_scope();
    }

    pub(super) fn statement(&mut self, statement: &'a Statement) {
        let mark = self.builder.temporaries_in_use();
        self.deeper(statement.span, (), |lowerer| lowerer.statement_of_any_kind(statement));
        self.builder.release_temporaries(mark);
    }

    fn statement_of_any_kind(&mut self, statement: &'a Statement) {
        let span = statement.span;
        match &statement.kind {
            StatementKind::Let(name, value) => {
                // The old meaning of the name is in force until the value is there.
                let register = self.variable_register(name);
                self.value_into(value, register, span);
                self.bind_local(&name.name, Binding::Variable { register, assignable: true });
            }
            StatementKind::Assign(target, op, value) => self.assign(target, *op, value, span),
            StatementKind::Expr(expr) => {
                self.evaluate(expr, Want::Nothing);
            }
            StatementKind::If(condition, then, otherwise) => self.if_else(condition, then, otherwise.as_deref()),
            StatementKind::While(condition, body) => self.while_loop(condition, body, span),
            StatementKind::For(name, low, high, body) => self.for_loop(name, low, high, body, span),
            StatementKind::Loop(body) => self.endless_loop(body, span),
            StatementKind::Break | StatementKind::Continue => self.break_or_continue(statement),
            StatementKind::Return(value) => self.return_statement(value.as_ref(), span),
            StatementKind::Fence(ordering) => self.fence(ordering.as_ref(), span),
            StatementKind::Yield => self.emit(Instr::Yield, span),
            StatementKind::Join(handle) => {
                let thread = self.value(handle);
                self.emit(Instr::Join { thread }, span);
            }
            StatementKind::Block(block) => self.block(block),
        }
    }

    /// `target = value`, or `target op= value`: of a shared variable a load, then a store.
    fn assign(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr, span: Span) {
        if let ExprKind::Name(name) = &target.kind
            && let Some(register) = self.assigned_local(name, target.span)
        {
            match op {
                None => self.value_into(value, register, span),
                Some(op) => {
                    let operand = self.value(value);
                    let value = fold(program::Expr::from(register).binary(op, operand));
                    self.emit(Instr::Assign { dst: register, value }, span);
                }
            }
            return;
        }
        let place = self.place(target);
        let old = op.and_then(|op| Some((op, self.load(&place.as_ref()?.place, Ordering::Relaxed, None, target.span))));
        let value = self.value(value);
        let value = match old {
            Some((op, old)) => fold(old.binary(op, value)),
            None => value,
        };
        if let Some(place) = place {
            self.emit(Instr::Store { place: place.place, value, ordering: Ordering::Relaxed }, span);
        }
    }

    /// The register to assign to, if the name is local.
    fn assigned_local(&mut self, name: &str, span: Span) -> Option<Reg> {
        match self.local(name)? {
            Binding::Variable { register, assignable: true } => Some(*register),
            Binding::Variable { register, assignable: false } => {
                let register = *register;
                self.error(
                    Diagnostic::new(span, format!("the loop variable `{name}` cannot be assigned"))
                        .label("counts the iterations")
                        .hint(format!("copy it, `let j = {name};`, or use `while`")),
                );
                Some(register)
            }
            // Parameters that are assigned somewhere have registers: see `calls`.
            Binding::Argument(_) => None,
        }
    }

    fn if_else(&mut self, condition: &'a Expr, then: &'a Block, otherwise: Option<&'a Statement>) {
        let [on_true, on_false, end] = [(); 3].map(|()| self.builder.label());
        self.condition(condition, on_true, on_false);
        self.builder.bind(on_true);
        self.block(then);
        if otherwise.is_some() {
            self.jump(end, then.span);
        }
        self.builder.bind(on_false);
        if let Some(otherwise) = otherwise {
            self.statement(otherwise);
        }
        self.builder.bind(end);
    }

    fn while_loop(&mut self, condition: &'a Expr, body: &'a Block, span: Span) {
        let [head, inside, end] = [(); 3].map(|()| self.builder.label());
        self.builder.bind(head);
        let mark = self.builder.temporaries_in_use();
        self.condition(condition, inside, end);
        self.builder.release_temporaries(mark);
        self.builder.bind(inside);
        self.loop_body(body, LoopLabels { on_break: end, on_continue: head });
        self.jump(head, condition.span);
        self.builder.bind(end);
        self.builder.looped(head, end, Span { end: condition.span.end, ..span });
    }

    fn for_loop(&mut self, name: &'a Ident, low: &'a Expr, high: &'a Expr, body: &'a Block, span: Span) {
        let header = Span::new(span.start as usize, high.span.end as usize);
        self.open_scope();
        let counter = self.variable_register(name);
        self.value_into(low, counter, header);
        let mut bound = self.value(high);
        // The bound is evaluated once: the body may change what it was made of.
        let fixed = match bound {
            program::Expr::Const(_) => true,
            program::Expr::Leaf(register) => self.builder.is_temporary(register),
            _ => false,
        };
        if !fixed {
            let register = self.builder.temporary();
            self.emit(Instr::Assign { dst: register, value: bound }, high.span);
            bound = register.into();
        }
        self.bind_local(&name.name, Binding::Variable { register: counter, assignable: false });
        let [head, inside, next, end] = [(); 4].map(|()| self.builder.label());
        self.builder.bind(head);
        let condition = program::Expr::from(counter).binary(BinaryOp::Lt, bound);
        self.branch(condition, inside, end, header);
        self.builder.bind(inside);
        self.loop_body(body, LoopLabels { on_break: end, on_continue: next });
        self.builder.bind(next);
        let value = program::Expr::from(counter).binary(BinaryOp::Add, 1.into());
        self.emit(Instr::Assign { dst: counter, value }, header);
        self.jump(head, header);
        self.builder.bind(end);
        self.builder.looped(head, end, header);
        self.close_scope();
    }

    fn endless_loop(&mut self, body: &'a Block, span: Span) {
        let [head, end] = [(); 2].map(|()| self.builder.label());
        self.builder.bind(head);
        self.loop_body(body, LoopLabels { on_break: end, on_continue: head });
        self.jump(head, Span::new(body.span.end.saturating_sub(1) as usize, body.span.end as usize));
        self.builder.bind(end);
        self.builder.looped(head, end, Span::new(span.start as usize, span.start as usize + "loop".len()));
    }

    fn loop_body(&mut self, body: &'a Block, labels: LoopLabels) {
        self.frame().loops.push(labels);
        self.block(body);
        self.frame().loops.pop();
    }

    fn break_or_continue(&mut self, statement: &Statement) {
        let breaks = matches!(statement.kind, StatementKind::Break);
        match self.frame().loops.last().copied() {
            Some(labels) if breaks => self.jump(labels.on_break, statement.span),
            Some(labels) => self.jump(labels.on_continue, statement.span),
            None => {
                let word = if breaks { "break" } else { "continue" };
                self.error(
                    Diagnostic::new(statement.span, format!("`{word}` outside of a loop"))
                        .label("no loop here")
                        .hint("use `return` to leave a function or to end a thread"),
                );
            }
        }
    }

    fn return_statement(&mut self, value: Option<&'a Expr>, span: Span) {
        match (self.frame().leave, value) {
            (Leave::End(end), value) => {
                if let Some(value) = value {
                    self.error(
                        Diagnostic::new(value.span, "a thread returns nothing")
                            .label("nobody could receive this")
                            .hint("store it in a shared variable, or declare a local variable and ask for it in a condition"),
                    );
                }
                self.jump(end, span);
            }
            (Leave::Function { result, end }, value) => {
                match (value, result) {
                    (Some(value), Some(result)) => self.value_into(value, result, span),
                    // Evaluated for what it does, its value is not wanted.
                    (Some(value), None) => drop(self.value(value)),
                    (None, Some(dst)) => self.emit(Instr::Assign { dst, value: 0.into() }, span),
                    (None, None) => {}
                }
                if value.is_none() && self.frame().returns_value {
                    self.error(
                        Diagnostic::new(span, "this `return` has no value, but another one of the function has")
                            .label("a value is missing")
                            .hint("write `return 0;`"),
                    );
                }
                self.jump(end, span);
            }
        }
    }

    fn fence(&mut self, ordering: Option<&'a Ident>, span: Span) {
        let Some(ordering) = ordering else { return self.emit(Instr::Fence { ordering: Ordering::SeqCst }, span) };
        let Some(found) = self.ordering(ordering.name.as_str(), ordering.span) else { return };
        if found == Ordering::Relaxed {
            self.error(
                Diagnostic::new(ordering.span, "a relaxed fence does nothing")
                    .label("not an ordering for a fence")
                    .hint("write acquire, release, acqrel or seqcst"),
            );
        }
        self.emit(Instr::Fence { ordering: found }, span);
    }
}
