//! Calls: functions are expanded where they are called, threads are forked, blocks allocated.

use super::Lowerer;
use super::builtins::count;
use super::expressions::Want;
use super::scopes::{Binding, Frame, Leave};
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Block, Expr, ExprKind, Function, Ident, Statement, StatementKind};
use crate::frontend::ut::globals::{BUILTINS, Global};
use crate::frontend::ut::suggest;
use crate::program;
use crate::program::{Instr, Ordering, Place, Reg};
use std::collections::BTreeSet;

/// What expansion must know of a function's body beforehand.
#[derive(Debug, Default)]
pub(super) struct FunctionFacts<'a> {
    /// How many `return`s there are.
    returns: usize,
    /// Whether one of them has a value.
    pub(super) returns_value: bool,
    /// Names that are assigned, perhaps parameters.
    assigned: BTreeSet<&'a str>,
}

impl<'a> FunctionFacts<'a> {
    pub(super) fn of(function: &'a Function) -> FunctionFacts<'a> {
        let mut facts = FunctionFacts::default();
        facts.block(&function.body);
        facts
    }

    fn block(&mut self, block: &'a Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Return(value) => {
                self.returns += 1;
                self.returns_value |= value.is_some();
            }
            StatementKind::Assign(Expr { kind: ExprKind::Name(name), .. }, ..) => {
                self.assigned.insert(name);
            }
            StatementKind::If(_, then, otherwise) => {
                self.block(then);
                otherwise.iter().for_each(|otherwise| self.statement(otherwise));
            }
            StatementKind::While(_, body)
            | StatementKind::For(_, _, _, body)
            | StatementKind::Loop(body)
            | StatementKind::Block(body) => self.block(body),
            _ => {}
        }
    }
}

impl<'a> Lowerer<'a, '_> {
    /// `name(arguments)`: a built-in function or one of the program's.
    pub(super) fn call(&mut self, name: &'a Ident, arguments: &'a [Expr], span: Span, want: Want) -> program::Expr {
        if BUILTINS.contains(&name.name.as_str()) {
            return self.builtin(&name.name, arguments, span, want);
        }
        match self.globals.get(&name.name) {
            Some(Global::Function(index)) => return self.call_function(index, arguments, span, want),
            Some(Global::Thread(_)) => self.error(
                Diagnostic::new(name.span, format!("`{}` is a thread, not a function", name.name))
                    .label("cannot be called")
                    .hint(format!("start it with `fork {}(…)`", name.name)),
            ),
            Some(other) => self.error(
                Diagnostic::new(name.span, format!("`{}` is {}, not a function", name.name, other.kind()))
                    .label("cannot be called")
                    .hint("functions are declared with `fn`"),
            ),
            None => {
                let functions = self.file.functions.iter().map(|function| function.name.name.as_str());
                let otherwise = format!("declare it: `fn {}(…) {{ … }}`", name.name);
                let hint = suggest::hint(&name.name, functions.chain(BUILTINS), &otherwise);
                let diagnostic = Diagnostic::new(name.span, format!("unknown function `{}`", name.name));
                self.error(diagnostic.label("not declared").hint(hint));
            }
        }
        0.into()
    }

    fn call_function(&mut self, index: usize, arguments: &'a [Expr], span: Span, want: Want) -> program::Expr {
        let function = &self.file.functions[index];
        let name = &function.name;
        if self.frames.iter().any(|frame| frame.function == Some(index)) {
            self.error(
                Diagnostic::new(span, format!("`{}` calls itself", name.name))
                    .label("recursion")
                    .hint("functions are expanded where they are called; use a loop")
                    .related(name.span, "the function"),
            );
            return 0.into();
        }
        if arguments.len() != function.parameters.len() {
            let diagnostic = wrong_count("", name, &function.parameters, arguments.len(), span);
            self.error(diagnostic);
            return 0.into();
        }
        if want != Want::Nothing && !self.facts[index].returns_value {
            self.error(
                Diagnostic::new(span, format!("`{}` returns nothing", name.name))
                    .label("has no value")
                    .hint("write `return value;` in the function")
                    .related(name.span, "the function"),
            );
        }
        let arguments: Vec<program::Expr> = arguments.iter().map(|argument| self.value(argument)).collect();
        self.expand(index, arguments, span, want)
    }

    fn expand(&mut self, index: usize, arguments: Vec<program::Expr>, span: Span, want: Want) -> program::Expr {
        let function = &self.file.functions[index];
        self.expanded.insert(index);
        let end = self.builder.label();
        let returns = self.facts[index].returns;
        let tail = function.body.statements.last().and_then(|last| match &last.kind {
            StatementKind::Return(Some(value)) if returns == 1 => Some(value),
            _ => None,
        });
        let result = match want {
            Want::Value(into) if tail.is_none() => Some(into.unwrap_or_else(|| self.builder.temporary())),
            _ => None,
        };
        let mut frame = Frame::new(Some(index), Leave::Function { result, end });
        frame.returns_value = self.facts[index].returns_value;
        self.frames.push(frame);
        self.open_scope();
        self.bind_arguments(index, arguments, span);
        let value = match tail {
            Some(value) => self.expand_with_tail(&function.body, value, want),
            None => {
                self.block(&function.body);
                if let Some(dst) = result {
                    self.emit(Instr::Assign { dst, value: 0.into() }, function.body.span);
                }
                result.map_or(0.into(), Into::into)
            }
        };
        self.close_scope();
        self.frames.pop();
        self.builder.bind(end);
        value
    }

    /// A body whose only `return` is its last statement: the value needs no jump, and mostly no register.
    fn expand_with_tail(&mut self, body: &'a Block, value: &'a Expr, want: Want) -> program::Expr {
        self.open_scope();
        for statement in &body.statements[..body.statements.len() - 1] {
            self.statement(statement);
        }
        let value = match want {
            Want::Nothing => self.value_unused(value),
            Want::Value(_) => self.evaluate(value, want),
        };
        // The function's own variables may be overwritten by another call before the value is used.
        let mentions_own = mentions(&value, &self.frame().registers);
        self.close_scope();
        if !mentions_own {
            return value;
        }
        let dst = want.register().unwrap_or_else(|| self.builder.temporary());
        self.emit(Instr::Assign { dst, value }, body.span);
        dst.into()
    }

    /// Evaluates for what the expression does, as in `return x.swap(1);` of a function called as a statement.
    fn value_unused(&mut self, expr: &'a Expr) -> program::Expr {
        self.value(expr);
        0.into()
    }

    fn bind_arguments(&mut self, index: usize, arguments: Vec<program::Expr>, span: Span) {
        let parameters = &self.file.functions[index].parameters;
        for (parameter, argument) in parameters.iter().zip(arguments) {
            let simple = matches!(argument, program::Expr::Const(_) | program::Expr::Leaf(_));
            if simple && !self.facts[index].assigned.contains(parameter.name.as_str()) {
                self.bind_local(&parameter.name, Binding::Argument(argument));
            } else {
                let dst = self.declare(parameter, true);
                self.emit(Instr::Assign { dst, value: argument }, span);
            }
        }
    }

    /// `fork name(arguments)`.
    pub(super) fn fork(&mut self, name: &'a Ident, arguments: &'a [Expr], span: Span, want: Want) -> program::Expr {
        let Some(Global::Thread(routine)) = self.globals.get(&name.name) else {
            let diagnostic = self.not_a_thread(name);
            self.error(diagnostic);
            return 0.into();
        };
        self.forked.insert(routine);
        let thread = &self.file.threads[routine];
        if arguments.len() != thread.parameters.len() {
            let diagnostic = wrong_count("fork ", &thread.name, &thread.parameters, arguments.len(), span);
            self.error(diagnostic);
            return 0.into();
        }
        let arguments = arguments.iter().map(|argument| self.value(argument)).collect();
        let dst = match want {
            Want::Nothing => None,
            Want::Value(into) => Some(into.unwrap_or_else(|| self.builder.temporary())),
        };
        self.emit(Instr::Fork { dst, routine, arguments }, span);
        dst.map_or(0.into(), Into::into)
    }

    fn not_a_thread(&self, name: &Ident) -> Diagnostic {
        let message = match self.globals.get(&name.name) {
            Some(other) => format!("`{}` is {}, not a thread", name.name, other.kind()),
            None if name.name == "main" => "`main` runs by itself".to_string(),
            None => format!("unknown thread `{}`", name.name),
        };
        let threads = self.file.threads.iter().map(|thread| thread.name.name.as_str());
        let otherwise = "threads are declared with `thread name(parameters) { … }`";
        Diagnostic::new(name.span, message)
            .label("not a thread to start")
            .hint(suggest::hint(&name.name, threads, otherwise))
    }

    /// `new Name { field: value }`: the values, then the block, then a relaxed store for each field.
    pub(super) fn new_block(
        &mut self,
        name: &'a Ident,
        fields: &'a [(Ident, Expr)],
        span: Span,
        want: Want,
    ) -> program::Expr {
        let Some(Global::Struct(index)) = self.globals.get(&name.name) else {
            let structs = self.file.structs.iter().map(|structure| structure.name.name.as_str());
            let hint = suggest::hint(&name.name, structs, "structs are declared with `struct Node { value, next }`");
            let diagnostic = Diagnostic::new(name.span, format!("unknown struct `{}`", name.name));
            self.error(diagnostic.label("not a struct").hint(hint));
            return 0.into();
        };
        let declared = &self.file.structs[index].fields;
        let mut values = Vec::new();
        for (field, value) in fields {
            let value = self.value(value);
            match declared.iter().position(|(_, known)| known.name == field.name) {
                Some(offset) => values.push((offset, field, value)),
                None => {
                    let known = declared.iter().map(|(_, known)| known.name.as_str());
                    let all = known.clone().collect::<Vec<_>>().join(", ");
                    let hint = suggest::hint(&field.name, known, &format!("its fields are {all}"));
                    let message = format!("`{}` has no field `{}`", name.name, field.name);
                    self.error(Diagnostic::new(field.span, message).label("unknown field").hint(hint));
                }
            }
        }
        // The values are stored after the register is set, so they must not mention it.
        let mentioned = |register| values.iter().any(|(_, _, value)| mentions(value, &[register]));
        let into = want.register().filter(|register| !mentioned(*register));
        let dst = into.unwrap_or_else(|| self.builder.temporary());
        self.emit(Instr::Alloc { dst, cells: declared.len() as u8 }, span);
        for (offset, field, value) in values {
            let place = Place::Deref { pointer: dst.into(), offset: offset as u8, access: declared[offset].0 };
            self.emit(Instr::Store { place, value, ordering: Ordering::Relaxed }, field.span);
        }
        dst.into()
    }
}

fn mentions(value: &program::Expr, registers: &[Reg]) -> bool {
    let mut found = false;
    value.for_each_leaf(&mut |register| found |= registers.contains(&register));
    found
}

fn wrong_count(before: &str, name: &Ident, parameters: &[Ident], given: usize, span: Span) -> Diagnostic {
    let names = parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", ");
    Diagnostic::new(span, format!("`{}` is given {}", name.name, count(given)))
        .label("wrong number of arguments")
        .hint(format!("write `{before}{}({names})`", name.name))
        .related(name.span, "declared here")
}
