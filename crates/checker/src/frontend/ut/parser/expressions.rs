//! Expressions, by precedence climbing with Rust's precedences.

use super::{Parsed, Parser, too_deep};
use crate::base::Diagnostic;
use crate::frontend::ut::MAX_NESTING;
use crate::frontend::ut::ast::{Expr, ExprKind, Ident};
use crate::frontend::ut::lexer::TokenKind;
use crate::program::{BinaryOp, UnaryOp};

/// Infix operators and how tightly they bind.
const OPERATORS: [(&str, BinaryOp, u8); 18] = [
    ("||", BinaryOp::Or, 1),
    ("&&", BinaryOp::And, 2),
    ("==", BinaryOp::Eq, COMPARISON),
    ("!=", BinaryOp::Ne, COMPARISON),
    ("<", BinaryOp::Lt, COMPARISON),
    ("<=", BinaryOp::Le, COMPARISON),
    (">", BinaryOp::Gt, COMPARISON),
    (">=", BinaryOp::Ge, COMPARISON),
    ("|", BinaryOp::BitOr, 4),
    ("^", BinaryOp::BitXor, 5),
    ("&", BinaryOp::BitAnd, 6),
    ("<<", BinaryOp::Shl, 7),
    (">>", BinaryOp::Shr, 7),
    ("+", BinaryOp::Add, 8),
    ("-", BinaryOp::Sub, 8),
    ("*", BinaryOp::Mul, 9),
    ("/", BinaryOp::Div, 9),
    ("%", BinaryOp::Rem, 9),
];
const COMPARISON: u8 = 3;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let expression = self.nested(|parser| parser.binary(0))?;
        self.no_foreign_operator()?;
        Ok(expression)
    }

    /// Operators of other languages that people try.
    fn no_foreign_operator(&mut self) -> Parsed<()> {
        let hint = match (&self.token().kind, self.word()) {
            (TokenKind::Punct("?"), _) => "use `if` and `else`",
            (TokenKind::Punct("->"), _) => "a dot follows pointers, too: `p.next`",
            (_, Some("and")) => "write `&&`",
            (_, Some("or")) => "write `||`",
            _ => return Ok(()),
        };
        let message = format!("there is no {} operator", self.found());
        let diagnostic = Diagnostic::new(self.span(), message).label("not an operator").hint(hint);
        self.fail(diagnostic)
    }

    /// Operators that bind tighter than `outer`.
    fn binary(&mut self, outer: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut compared = false;
        while let Some(&(_, op, tightness)) = OPERATORS.iter().find(|(punct, ..)| self.at(punct)) {
            if tightness <= outer {
                break;
            }
            if tightness == COMPARISON && std::mem::replace(&mut compared, true) {
                let diagnostic = Diagnostic::new(self.span(), "comparisons cannot be chained")
                    .label("a second comparison")
                    .hint("write `a < b && b < c`, or use parentheses");
                return self.fail(diagnostic);
            }
            self.advance();
            let right = self.binary(tightness)?;
            let span = left.span.to(right.span);
            left = self.build(ExprKind::Binary(op, Box::new(left), Box::new(right)), span)?;
        }
        Ok(left)
    }

    /// A node, unless its tree is too high for anyone to walk.
    fn build(&mut self, kind: ExprKind, span: crate::base::Span) -> Parsed<Expr> {
        let expr = Expr::new(kind, span);
        if expr.height > MAX_NESTING { self.fail(too_deep(span)) } else { Ok(expr) }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.token().kind {
            TokenKind::Punct("!") => UnaryOp::Not,
            TokenKind::Punct("~") => UnaryOp::BitNot,
            TokenKind::Punct("-") => UnaryOp::Neg,
            TokenKind::Punct("&" | "*") => {
                let diagnostic = Diagnostic::new(self.span(), "there is no address-of and no dereference operator")
                    .label("not an operator here")
                    .hint("pointers come from `new Node`, and `p.field` follows them");
                return self.fail(diagnostic);
            }
            _ => return self.postfix(),
        };
        let start = self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        self.build(ExprKind::Unary(op, Box::new(operand)), span)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        loop {
            if self.eat("[") {
                let index = self.expression()?;
                let close = self.expect("]", "close the index with `]`")?;
                let span = expr.span.to(close);
                expr = self.build(ExprKind::Index(Box::new(expr), Box::new(index)), span)?;
            } else if self.eat(".") {
                let member = self.ident("a field or an operation")?;
                let object = Box::new(expr);
                let start = object.span;
                let kind = if self.eat("(") {
                    let arguments = self.list(")", |parser| parser.expression())?;
                    ExprKind::Method(object, member, arguments)
                } else {
                    ExprKind::Field(object, member)
                };
                let span = start.to(self.previous_span());
                expr = self.build(kind, span)?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match &self.token().kind {
            TokenKind::Int(value) => ExprKind::Int(*value),
            TokenKind::Str(text) => ExprKind::Str(text.clone()),
            TokenKind::Punct("(") => {
                self.advance();
                let inner = self.condition_expression()?;
                let close = self.expect(")", "close the parenthesis")?;
                return Ok(Expr { span: start.to(close), ..inner });
            }
            TokenKind::Word => return self.word_expression(),
            _ => return self.expected("an expression", "a number, a variable, a call or `( … )` can stand here"),
        };
        self.advance();
        Ok(Expr::new(kind, start))
    }

    fn word_expression(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.word().unwrap_or("") {
            "true" => ExprKind::Int(1),
            "false" | "null" => ExprKind::Int(0),
            // The one keyword that conditions mention: `main.r`.
            "main" if self.is_punct(1, ".") => ExprKind::Name("main".to_string()),
            "fork" => {
                self.advance();
                let name = if self.at_word("main") {
                    Ident { name: "main".to_string(), span: self.advance() }
                } else {
                    self.ident("a thread's name")?
                };
                let arguments = if self.eat("(") { self.arguments()? } else { Vec::new() };
                let span = start.to(self.previous_span());
                return self.build(ExprKind::Fork(name, arguments), span);
            }
            "new" => return self.new_expression(),
            "if" | "while" | "for" | "loop" | "join" | "fence" | "yield" => {
                return self.expected("an expression", "this is a statement and has no value");
            }
            _ => {
                let name = self.ident("an expression")?;
                if !self.eat("(") {
                    return Ok(Expr::new(ExprKind::Name(name.name), name.span));
                }
                let arguments = self.arguments()?;
                let span = start.to(self.previous_span());
                return self.build(ExprKind::Call(name, arguments), span);
            }
        };
        self.advance();
        Ok(Expr::new(kind, start))
    }

    /// After `(`: expressions, or a range.
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.list(")", |parser| {
            let low = parser.expression()?;
            if !(parser.at("..") || parser.at("..=") || parser.at("...")) {
                return Ok(low);
            }
            parser.range_dots()?;
            let high = parser.expression()?;
            let span = low.span.to(high.span);
            parser.build(ExprKind::Range(Box::new(low), Box::new(high)), span)
        })
    }

    fn new_expression(&mut self) -> Parsed<Expr> {
        let start = self.advance();
        let name = self.ident("a struct's name")?;
        let mut fields = Vec::new();
        if self.field_values_follow() {
            self.advance();
            fields = self.list("}", |parser| {
                let field = parser.ident("a field's name")?;
                parser.expect(":", "fields are set like this: `new Node { value: 1 }`")?;
                Ok((field, parser.expression()?))
            })?;
        }
        let span = start.to(self.previous_span());
        self.build(ExprKind::New(name, fields), span)
    }

    /// Whether `{` opens field values here, and not the body of an `if` or `while`.
    fn field_values_follow(&self) -> bool {
        let set = self.peek(1).kind == TokenKind::Word && self.is_punct(2, ":");
        let none = self.is_punct(1, "}") && [";", ",", ")"].iter().any(|punct| self.is_punct(2, punct));
        self.at("{") && (set || none)
    }
}
