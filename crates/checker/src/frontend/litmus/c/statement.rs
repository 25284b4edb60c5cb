//! Statements.

use super::expression::fold;
use super::{Term, ThreadCode};
use crate::base::Diagnostic;
use crate::frontend::litmus::ValueType;
use crate::frontend::litmus::lexer::{Parsed, Word};
use crate::program::{BinaryOp, Expr, Instr, Ordering, Reg};

impl ThreadCode<'_, '_> {
    /// `{ … }`.
    pub(super) fn block(&mut self) -> Parsed<()> {
        self.cursor.expect("{")?;
        while !self.cursor.eat("}") {
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Parsed<()> {
        self.enter()?;
        self.begin();
        match self.cursor.peek() {
            Word::Symbol("{") => self.block()?,
            Word::Symbol(";") => drop(self.cursor.advance()),
            Word::Identifier("if") => self.conditional_statement()?,
            Word::Identifier("while") => self.while_loop()?,
            Word::Identifier("do") => self.do_loop()?,
            Word::Identifier("for") => self.for_loop()?,
            Word::Identifier("return") => {
                self.cursor.advance();
                self.cursor.expect(";")?;
                self.code.emit(Instr::End);
            }
            Word::Identifier("break" | "continue") => self.leave()?,
            Word::Identifier(word @ ("goto" | "switch" | "case" | "asm")) => {
                return Err(Diagnostic::new(self.cursor.span(), format!("`{word}` is not supported")));
            }
            _ => {
                self.simple()?;
                self.cursor.expect(";")?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// A new statement: its place, and nothing in use.
    fn begin(&mut self) {
        self.code.here = self.cursor.span();
        self.code.release_temporaries();
        self.operators = 0;
    }

    /// A declaration, an assignment or a call, without its semicolon.
    fn simple(&mut self) -> Parsed<()> {
        if self.at_type() {
            return self.declaration();
        }
        for (symbol, op) in [("++", BinaryOp::Add), ("--", BinaryOp::Sub)] {
            if self.cursor.eat(symbol) {
                let target = self.term()?;
                return self.update(target, op, 1.into());
            }
        }
        if let (Word::Identifier(name), Word::Symbol("=")) = (self.cursor.peek(), self.cursor.peek_at(1))
            && !self.locals.contains_key(name)
            && !self.shared.contains_key(name)
        {
            // Tests are written for tools that take every name for a register.
            self.declare_local(name, ValueType::INT);
        }
        let target = self.term()?;
        if let Some(op) = assignment_operator(self.cursor.peek()) {
            self.cursor.advance();
            return match op {
                None => {
                    let value = self.expression()?;
                    self.assign(target, value)
                }
                Some(op) => {
                    let old = self.read_again(&target)?;
                    let value = self.expression()?;
                    self.assign(target, fold(op, old, value))
                }
            };
        }
        for (symbol, op) in [("++", BinaryOp::Add), ("--", BinaryOp::Sub)] {
            if self.cursor.eat(symbol) {
                return self.update(target, op, 1.into());
            }
        }
        if let Term::Memory(_) = target {
            self.value(target);
        }
        Ok(())
    }

    fn update(&mut self, target: Term, op: BinaryOp, value: Expr) -> Parsed<()> {
        let old = self.read_again(&target)?;
        self.assign(target, fold(op, old, value))
    }

    /// The value of something that will be assigned to afterwards.
    fn read_again(&mut self, target: &Term) -> Parsed<Expr> {
        match target {
            Term::Local(reg, _) => Ok((*reg).into()),
            Term::Memory(place) => Ok(self.load_plainly(place.clone())),
            _ => Err(Diagnostic::new(self.cursor.last_span(), "this cannot be assigned to")),
        }
    }

    fn assign(&mut self, target: Term, value: Expr) -> Parsed<()> {
        match target {
            Term::Local(reg, ty) => self.assign_local(reg, ty, value),
            Term::Memory(place) => self.code.emit_plain(Instr::Store { place, value, ordering: Ordering::Relaxed }),
            _ => return Err(Diagnostic::new(self.cursor.last_span(), "this cannot be assigned to")),
        }
        Ok(())
    }

    fn assign_local(&mut self, reg: Reg, ty: ValueType, value: Expr) {
        let overflows = can_overflow(&value);
        self.code.assign(reg, value);
        if overflows && ty.bits < 64 {
            self.code.assign(reg, ty.normalized(reg.into(), self.symbols.pointers));
        }
    }

    fn declaration(&mut self) -> Parsed<()> {
        let ty = self.type_name()?;
        loop {
            let ty = if self.stars() { ValueType::LONG } else { ty };
            let (name, span) = self.cursor.identifier("a variable's name")?;
            if self.shared.contains_key(name) {
                return Err(Diagnostic::new(span, format!("`{name}` is a parameter already")));
            }
            if self.cursor.at_symbol("[") {
                return Err(Diagnostic::new(span, "local arrays are not supported"));
            }
            let reg = self.declare_local(name, ty);
            if self.cursor.eat("=") {
                let value = self.expression()?;
                self.assign_local(reg, ty, value);
            }
            if !self.cursor.eat(",") {
                return Ok(());
            }
        }
    }

    fn condition(&mut self) -> Parsed<Expr> {
        self.cursor.expect("(")?;
        let condition = self.expression()?;
        self.cursor.expect(")")?;
        Ok(condition)
    }

    fn conditional_statement(&mut self) -> Parsed<()> {
        self.cursor.advance();
        let condition = self.condition()?;
        let (then, otherwise, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.branch(condition, then, otherwise);
        self.code.place(then);
        self.statement()?;
        if !self.cursor.eat_word("else") {
            self.code.place(otherwise);
            return Ok(());
        }
        self.code.jump(end);
        self.code.place(otherwise);
        self.statement()?;
        self.code.place(end);
        Ok(())
    }

    fn while_loop(&mut self) -> Parsed<()> {
        self.cursor.advance();
        let (head, body, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.place(head);
        let condition = self.condition()?;
        self.code.branch(condition, body, end);
        self.code.place(body);
        self.loops.push((end, head));
        self.statement()?;
        self.loops.pop();
        self.code.jump(head);
        self.code.place(end);
        Ok(())
    }

    fn do_loop(&mut self) -> Parsed<()> {
        self.cursor.advance();
        let (head, test, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.place(head);
        self.loops.push((end, test));
        self.statement()?;
        self.loops.pop();
        if !self.cursor.eat_word("while") {
            return Err(self.cursor.unexpected("`while`"));
        }
        self.begin();
        self.code.place(test);
        let condition = self.condition()?;
        self.cursor.expect(";")?;
        self.code.branch(condition, head, end);
        self.code.place(end);
        Ok(())
    }

    /// The step is read before the body but runs after it: the text of the body comes first in the code.
    fn for_loop(&mut self) -> Parsed<()> {
        self.cursor.advance();
        self.cursor.expect("(")?;
        if !self.cursor.at_symbol(";") {
            self.simple()?;
        }
        self.cursor.expect(";")?;
        let (head, body, step, end) = (self.code.label(), self.code.label(), self.code.label(), self.code.label());
        self.code.place(head);
        self.begin();
        let condition = if self.cursor.at_symbol(";") { 1.into() } else { self.expression()? };
        self.code.branch(condition, body, end);
        self.cursor.expect(";")?;
        let step_text = self.cursor.position();
        self.skip_to_closing_parenthesis()?;
        self.code.place(body);
        self.loops.push((end, step));
        self.statement()?;
        self.loops.pop();
        let after = self.cursor.position();
        self.cursor.rewind(step_text);
        self.code.place(step);
        self.begin();
        if !self.cursor.at_symbol(")") {
            self.simple()?;
        }
        self.cursor.expect(")")?;
        self.cursor.rewind(after);
        self.code.jump(head);
        self.code.place(end);
        Ok(())
    }

    fn skip_to_closing_parenthesis(&mut self) -> Parsed<()> {
        let mut depth = 0;
        loop {
            match self.cursor.peek() {
                Word::Symbol("(") => depth += 1,
                Word::Symbol(")") if depth == 0 => return self.cursor.expect(")").map(drop),
                Word::Symbol(")") => depth -= 1,
                Word::End => return Err(self.cursor.unexpected("`)`")),
                _ => {}
            }
            self.cursor.advance();
        }
    }

    fn leave(&mut self) -> Parsed<()> {
        let token = self.cursor.advance();
        self.cursor.expect(";")?;
        let Some((end, next)) = self.loops.last().copied() else {
            return Err(Diagnostic::new(token.span, "there is no loop around this"));
        };
        self.code.jump(if token.word == Word::Identifier("break") { end } else { next });
        Ok(())
    }
}

/// `=` or `+=` and its like.
fn assignment_operator(word: Word) -> Option<Option<BinaryOp>> {
    let Word::Symbol(symbol) = word else { return None };
    Some(match symbol {
        "=" => None,
        "+=" => Some(BinaryOp::Add),
        "-=" => Some(BinaryOp::Sub),
        "*=" => Some(BinaryOp::Mul),
        "/=" => Some(BinaryOp::Div),
        "%=" => Some(BinaryOp::Rem),
        "&=" => Some(BinaryOp::BitAnd),
        "|=" => Some(BinaryOp::BitOr),
        "^=" => Some(BinaryOp::BitXor),
        "<<=" => Some(BinaryOp::Shl),
        ">>=" => Some(BinaryOp::Shr),
        _ => return None,
    })
}

fn can_overflow(value: &Expr) -> bool {
    match value {
        Expr::Const(_) | Expr::Leaf(_) => false,
        Expr::Unary(_, operand) => can_overflow(operand) || !matches!(**operand, Expr::Const(_)),
        Expr::Binary(op, left, right) => {
            let grows = matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl);
            grows || can_overflow(left) || can_overflow(right)
        }
    }
}
