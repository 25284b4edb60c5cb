//! Expressions: what they read is loaded on the way, in order; the rest is an expression over registers.

use super::{Term, ThreadCode};
use crate::base::{Diagnostic, Loc};
use crate::frontend::litmus::ValueType;
use crate::frontend::litmus::lexer::{Parsed, Word};
use crate::program::{Access, BinaryOp, Expr, Instr, Ordering, Place, UnaryOp};

/// More operators than any statement of a litmus test has.
const MAX_OPERATORS: usize = 200;

/// How strongly the conditional operator binds; assignments bind weaker.
const LOWEST: u8 = 1;

impl ThreadCode<'_, '_> {
    /// An expression's value.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let term = self.expression_term()?;
        Ok(self.value(term))
    }

    /// An expression that may turn out to be something that can be assigned to, such as `*x`.
    pub(super) fn expression_term(&mut self) -> Parsed<Term> {
        self.enter()?;
        let mut term = self.term()?;
        if infix_operator(self.cursor.peek()).is_some() || self.cursor.at_symbol("?") {
            let first = self.value(term);
            let mut value = self.infix_after(first, LOWEST)?;
            if self.cursor.eat("?") {
                value = self.conditional(value)?;
            }
            term = Term::Value(value);
        }
        self.depth -= 1;
        Ok(term)
    }

    fn infix(&mut self, weakest: u8) -> Parsed<Expr> {
        let term = self.term()?;
        let first = self.value(term);
        self.infix_after(first, weakest)
    }

    /// What follows the first operand, as long as its operators bind at least this strongly.
    fn infix_after(&mut self, mut left: Expr, weakest: u8) -> Parsed<Expr> {
        while let Some((op, strength)) = infix_operator(self.cursor.peek()).filter(|(_, strength)| *strength >= weakest)
        {
            self.cursor.advance();
            self.count_operator()?;
            left = match op {
                BinaryOp::And | BinaryOp::Or => self.short_circuit(op, left, strength)?,
                _ => {
                    let right = self.infix(strength + 1)?;
                    fold(op, left, right)
                }
            };
        }
        Ok(left)
    }

    fn count_operator(&mut self) -> Parsed<()> {
        self.operators += 1;
        if self.operators > MAX_OPERATORS {
            return Err(Diagnostic::new(self.cursor.span(), "this statement has too many operators"));
        }
        Ok(())
    }

    /// `&&` and `||`: the right side does nothing when the left one decides.
    fn short_circuit(&mut self, op: BinaryOp, left: Expr, strength: u8) -> Parsed<Expr> {
        let result = self.code.temporary();
        let before = self.code.len();
        let (right_side, end) = (self.code.label(), self.code.label());
        self.code.assign(result, left.clone().binary(BinaryOp::Ne, 0.into()));
        let (then, otherwise) = if op == BinaryOp::And { (right_side, end) } else { (end, right_side) };
        self.code.branch(result.into(), then, otherwise);
        self.code.place(right_side);
        let start = self.code.len();
        let right = self.infix(strength + 1)?;
        if self.code.len() == start && !can_fail(&right) {
            // Nothing to skip: no control flow is needed.
            self.code.truncate(before);
            return Ok(left.binary(op, right));
        }
        self.code.assign(result, right.binary(BinaryOp::Ne, 0.into()));
        self.code.place(end);
        Ok(result.into())
    }

    /// `condition ? then : otherwise`, after the question mark.
    fn conditional(&mut self, condition: Expr) -> Parsed<Expr> {
        self.count_operator()?;
        let result = self.code.temporary();
        let (then, otherwise, end) = (self.code.label(), self.code.label(), self.code.label());
        self.code.branch(condition, then, otherwise);
        self.code.place(then);
        let value = self.expression()?;
        self.code.assign(result, value);
        self.code.jump(end);
        self.cursor.expect(":")?;
        self.code.place(otherwise);
        let value = self.expression()?;
        self.code.assign(result, value);
        self.code.place(end);
        Ok(result.into())
    }

    /// Prefix operators, then a name, a number, a call or parentheses, then indices.
    pub(super) fn term(&mut self) -> Parsed<Term> {
        self.enter()?;
        let term = self.prefixed()?;
        self.depth -= 1;
        Ok(term)
    }

    fn prefixed(&mut self) -> Parsed<Term> {
        let unary = match self.cursor.peek() {
            Word::Symbol("-") => Some(UnaryOp::Neg),
            Word::Symbol("!") => Some(UnaryOp::Not),
            Word::Symbol("~") => Some(UnaryOp::BitNot),
            _ => None,
        };
        if let Some(op) = unary {
            self.cursor.advance();
            self.count_operator()?;
            let operand = self.term()?;
            return Ok(Term::Value(match self.value(operand) {
                Expr::Const(value) => op.apply(value).into(),
                value => value.unary(op),
            }));
        }
        if self.cursor.eat("+") {
            return self.term();
        }
        if self.cursor.eat("*") {
            let pointer = self.term()?;
            let pointer = match pointer {
                Term::AddressOfLocal(reg, ty) => return Ok(Term::Local(reg, ty)),
                pointer => self.value(pointer),
            };
            return Ok(Term::Memory(self.place_at(pointer)));
        }
        if self.cursor.at_symbol("&") {
            let span = self.cursor.advance().span;
            return match self.term()? {
                Term::Local(reg, ty) => Ok(Term::AddressOfLocal(reg, ty)),
                Term::Memory(place) => Ok(Term::Value(address_of(place))),
                _ => Err(Diagnostic::new(span, "only variables have an address")),
            };
        }
        let term = self.primary()?;
        self.indices(term)
    }

    fn primary(&mut self) -> Parsed<Term> {
        if self.cursor.eat("(") {
            if self.at_type() {
                let ty = self.type_name()?;
                let ty = if self.stars() { ValueType::LONG } else { ty };
                self.cursor.expect(")")?;
                let operand = self.term()?;
                return Ok(match operand {
                    Term::Local(..) | Term::Memory(_) => Term::Value(self.value(operand)),
                    Term::Value(Expr::Const(value)) => Term::Value(ty.normalize(value).into()),
                    operand => operand,
                });
            }
            let inner = self.expression_term()?;
            self.cursor.expect(")")?;
            return Ok(inner);
        }
        if let Word::Number(value) = self.cursor.peek() {
            self.cursor.advance();
            return Ok(Term::Value(value.into()));
        }
        let (name, span) = self.cursor.identifier("an expression")?;
        if self.cursor.at_symbol("(") {
            return self.call(name, span);
        }
        if let Some(ty) = self.locals.get(name).copied() {
            return Ok(Term::Local(self.code.register(name), ty));
        }
        if let Some(address) = self.shared.get(name) {
            return Ok(Term::Value((*address).into()));
        }
        if name == "NULL" || name == "false" || name == "true" {
            return Ok(Term::Value(i64::from(name == "true").into()));
        }
        Err(Diagnostic::new(span, format!("`{name}` is not declared"))
            .hint("shared variables are parameters of the thread: `int *x`"))
    }

    fn indices(&mut self, mut term: Term) -> Parsed<Term> {
        while self.cursor.eat("[") {
            self.count_operator()?;
            let base = self.value(term);
            let index = self.expression()?;
            self.cursor.expect("]")?;
            let array = match base {
                Expr::Const(pointer) => self.symbols.array_at(pointer),
                _ => None,
            };
            term = Term::Memory(match array {
                Some((base, length)) => Place::Element { base, length, index },
                None => self.place_at(fold(BinaryOp::Add, base, index)),
            });
        }
        Ok(term)
    }

    /// What a pointer points to.
    pub(super) fn place_at(&self, pointer: Expr) -> Place {
        if let Expr::Const(value) = pointer
            && let Some(cell) = Loc::from_pointer(value).and_then(Loc::as_global)
            && cell < self.symbols.cells.len()
        {
            return Place::Cell(cell as u32);
        }
        Place::Deref { pointer, offset: 0, access: Access::Atomic }
    }

    /// A term's value; memory is loaded now.
    pub(super) fn value(&mut self, term: Term) -> Expr {
        match term {
            Term::Value(value) => value,
            Term::Local(reg, _) | Term::AddressOfLocal(reg, _) => reg.into(),
            Term::Memory(place) => self.load_plainly(place),
        }
    }

    pub(super) fn load(&mut self, place: Place, ordering: Ordering) -> Expr {
        let dst = self.code.temporary();
        self.code.emit(Instr::Load { dst, place, ordering });
        dst.into()
    }

    /// A load that is not atomic.
    pub(super) fn load_plainly(&mut self, place: Place) -> Expr {
        let dst = self.code.temporary();
        self.code.emit_plain(Instr::Load { dst, place, ordering: Ordering::Relaxed });
        dst.into()
    }
}

/// The operator on two values, computed at once where both are known.
pub(super) fn fold(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    if let (Expr::Const(a), Expr::Const(b)) = (&left, &right)
        && let Ok(value) = op.apply(*a, *b)
    {
        return value.into();
    }
    left.binary(op, right)
}

/// Whether evaluation can divide by zero.
fn can_fail(value: &Expr) -> bool {
    match value {
        Expr::Const(_) | Expr::Leaf(_) => false,
        Expr::Unary(_, operand) => can_fail(operand),
        Expr::Binary(op, left, right) => {
            matches!(op, BinaryOp::Div | BinaryOp::Rem) || can_fail(left) || can_fail(right)
        }
    }
}

fn address_of(place: Place) -> Expr {
    let pointer_to = |cell: u32| Loc::global(cell as usize).pointer();
    match place {
        Place::Cell(cell) => pointer_to(cell).into(),
        Place::Element { base, index, .. } => Expr::from(pointer_to(base)).binary(BinaryOp::Add, index),
        Place::Deref { pointer, .. } => pointer,
    }
}

/// C's infix operators and how strongly they bind.
fn infix_operator(word: Word) -> Option<(BinaryOp, u8)> {
    let Word::Symbol(symbol) = word else { return None };
    Some(match symbol {
        "||" => (BinaryOp::Or, LOWEST),
        "&&" => (BinaryOp::And, 2),
        "|" => (BinaryOp::BitOr, 3),
        "^" => (BinaryOp::BitXor, 4),
        "&" => (BinaryOp::BitAnd, 5),
        "==" => (BinaryOp::Eq, 6),
        "!=" => (BinaryOp::Ne, 6),
        "<" => (BinaryOp::Lt, 7),
        "<=" => (BinaryOp::Le, 7),
        ">" => (BinaryOp::Gt, 7),
        ">=" => (BinaryOp::Ge, 7),
        "<<" => (BinaryOp::Shl, 8),
        ">>" => (BinaryOp::Shr, 8),
        "+" => (BinaryOp::Add, 9),
        "-" => (BinaryOp::Sub, 9),
        "*" => (BinaryOp::Mul, 10),
        "/" => (BinaryOp::Div, 10),
        "%" => (BinaryOp::Rem, 10),
        _ => return None,
    })
}
