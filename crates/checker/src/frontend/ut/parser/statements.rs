//! Blocks and statements.

use super::{Parsed, Parser};
use crate::base::{Diagnostic, Span};
use crate::frontend::ut::ast::{Block, Expr, ExprKind, Statement, StatementKind};
use crate::program::BinaryOp;

const ASSIGNMENTS: [(&str, BinaryOp); 10] = [
    ("+=", BinaryOp::Add),
    ("-=", BinaryOp::Sub),
    ("*=", BinaryOp::Mul),
    ("/=", BinaryOp::Div),
    ("%=", BinaryOp::Rem),
    ("&=", BinaryOp::BitAnd),
    ("|=", BinaryOp::BitOr),
    ("^=", BinaryOp::BitXor),
    ("<<=", BinaryOp::Shl),
    (">>=", BinaryOp::Shr),
];

impl Parser<'_> {
    /// `{ … }`. Mistakes inside are reported and passed over.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        if !self.at("{") {
            return self.expected("`{`", "bodies stand in braces, also those of one statement or none: `{}`");
        }
        let open = self.advance();
        let statements = self.nested(|parser| parser.statements(open))?;
        Ok(Block { statements, span: open.to(self.previous_span()) })
    }

    fn statements(&mut self, open: Span) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            if self.eat("}") {
                return Ok(statements);
            }
            if self.at_end() || self.at_item() {
                let diagnostic = Diagnostic::new(self.span(), format!("expected `}}` before {}", self.found()))
                    .label("the block should have ended here")
                    .hint("declarations stand outside of threads and functions; close the block with `}`")
                    .related(open, "the block that is still open");
                // At the end of the file one missing brace says it all.
                if self.diagnostics.last().is_none_or(|last| last.message != diagnostic.message) {
                    self.report(diagnostic);
                }
                return Ok(statements);
            }
            if self.eat(";") {
                continue;
            }
            match self.statement() {
                Ok(statement) => statements.push(statement),
                Err(_) => self.skip_statement(),
            }
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let kind = match self.word().unwrap_or("") {
            "let" => self.let_statement()?,
            "if" => return self.if_statement(),
            "while" => {
                self.advance();
                let condition = self.condition_expression()?;
                StatementKind::While(condition, self.block()?)
            }
            "for" => self.for_statement()?,
            "loop" => {
                self.advance();
                StatementKind::Loop(self.block()?)
            }
            "break" => self.simple(StatementKind::Break)?,
            "continue" => self.simple(StatementKind::Continue)?,
            "yield" => self.simple(StatementKind::Yield)?,
            "return" => {
                self.advance();
                let value = if self.at(";") || self.at("}") { None } else { Some(self.expression()?) };
                self.semicolon("`return`")?;
                StatementKind::Return(value)
            }
            "fence" => self.fence()?,
            "join" => {
                self.advance();
                let handle = self.expression()?;
                self.semicolon("`join`")?;
                StatementKind::Join(handle)
            }
            "else" => return self.expected("a statement", "`else` follows the `}` of an `if`"),
            _ if self.at("{") => StatementKind::Block(self.block()?),
            _ => self.expression_statement()?,
        };
        Ok(Statement { kind, span: start.to(self.previous_span()) })
    }

    fn simple(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        let word = self.word().unwrap_or("");
        self.advance();
        self.semicolon(&format!("`{word}`"))?;
        Ok(kind)
    }

    fn fence(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let mut ordering = None;
        if self.eat("(") {
            if !self.at(")") {
                ordering = Some(self.ident("an ordering")?);
            }
            self.expect(")", "close with `)`: `fence(release);`")?;
        }
        self.semicolon("`fence`")?;
        Ok(StatementKind::Fence(ordering))
    }

    fn let_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at_word("mut") {
            let diagnostic = Diagnostic::new(self.span(), "`mut` is not needed")
                .label("remove this")
                .hint("every local variable can be assigned");
            self.report(diagnostic);
            self.advance();
        }
        let name = self.ident("the variable's name")?;
        self.no_type("local variables")?;
        self.expect("=", "a local variable needs a value: `let r = 0;`")?;
        let value = self.expression()?;
        self.semicolon("the declaration")?;
        Ok(StatementKind::Let(name, value))
    }

    fn if_statement(&mut self) -> Parsed<Statement> {
        let start = self.advance();
        let condition = self.condition_expression()?;
        let then = self.block()?;
        let mut otherwise = None;
        if self.eat_word("else") {
            let statement = if self.at_word("if") {
                self.nested(Self::if_statement)?
            } else {
                let block = self.block()?;
                Statement { span: block.span, kind: StatementKind::Block(block) }
            };
            otherwise = Some(Box::new(statement));
        }
        let span = start.to(self.previous_span());
        Ok(Statement { kind: StatementKind::If(condition, then, otherwise), span })
    }

    fn for_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.at("(") {
            return self.foreign_for();
        }
        let name = self.ident("the loop variable's name")?;
        if !self.eat_word("in") {
            return self.expected("`in`", "loops count like this: `for i in 0..n { … }`");
        }
        let low = self.expression()?;
        self.range_dots()?;
        let high = self.expression()?;
        Ok(StatementKind::For(name, low, high, self.block()?))
    }

    /// `for (…; …; …) { … }`: one mistake, whatever stands in the parentheses.
    fn foreign_for(&mut self) -> Parsed<StatementKind> {
        let wanted = "the loop variable's name";
        let failed = self.expected::<()>(wanted, "loops count like this: `for i in 0..n { … }`");
        debug_assert!(failed.is_err());
        while !self.at_end() && !self.at("{") && !self.at("}") {
            self.advance();
        }
        Ok(StatementKind::Block(self.block()?))
    }

    /// `..`, with help where the text has `..=`.
    pub(super) fn range_dots(&mut self) -> Parsed<()> {
        let hint = if self.at("..=") || self.at("...") {
            "ranges exclude their end: write `a..b + 1`"
        } else {
            "a range is written `a..b`, without its end"
        };
        self.expect("..", hint).map(|_| ())
    }

    /// The condition of `if`, `while` and questions about final states, where `=` is a slip for `==`.
    pub(super) fn condition_expression(&mut self) -> Parsed<Expr> {
        let condition = self.expression()?;
        if !self.at("=") {
            return Ok(condition);
        }
        let diagnostic = Diagnostic::new(self.span(), "this is an assignment in a condition")
            .label("assigns, does not compare")
            .hint("write `==` to compare");
        self.report(diagnostic);
        self.advance();
        let right = self.expression()?;
        let span = condition.span.to(right.span);
        Ok(Expr::new(ExprKind::Binary(BinaryOp::Eq, Box::new(condition), Box::new(right)), span))
    }

    fn expression_statement(&mut self) -> Parsed<StatementKind> {
        if matches!(self.word(), Some("assert" | "assume" | "panic")) && !self.is_punct(1, "(") {
            let word = self.word().unwrap_or("");
            self.advance();
            return self.expected("`(`", &format!("write `{word}(…);`"));
        }
        let target = self.expression()?;
        let kind = if self.eat("=") {
            let value = self.expression()?;
            StatementKind::Assign(target, None, value)
        } else if let Some((_, op)) = ASSIGNMENTS.iter().find(|(punct, _)| self.at(punct)) {
            self.advance();
            let value = self.expression()?;
            StatementKind::Assign(target, Some(*op), value)
        } else if self.at("++") || self.at("--") {
            let (found, instead) = if self.at("++") { ("++", "+= 1") } else { ("--", "-= 1") };
            let diagnostic = Diagnostic::new(self.span(), format!("there is no `{found}` operator"))
                .label("not an operator")
                .hint(format!("write `{instead}`, or `fetch_add` for one atomic step"));
            return self.fail(diagnostic);
        } else {
            StatementKind::Expr(target)
        };
        self.semicolon("the statement")?;
        Ok(kind)
    }
}
