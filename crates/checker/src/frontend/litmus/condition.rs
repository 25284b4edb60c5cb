//! What is asked at the end: `locations`, `filter`, and the quantified condition.

use super::code::Code;
use super::init::{parse_register, parse_value};
use super::lexer::{Cursor, Parsed, Word};
use super::symbols::Symbols;
use super::{Arch, Observed, ValueType};
use crate::base::{Diagnostic, Loc, Span};
use crate::program::{BinaryOp, ExprOver, FinalExpr, FinalValue, Quantifier, UnaryOp};

/// Everything after the program.
pub(super) struct Question {
    pub(super) quantifier: Option<Quantifier>,
    pub(super) proposition: Option<FinalExpr>,
    pub(super) filter: Option<FinalExpr>,
    /// In the order in which they print.
    pub(super) observed: Vec<Observed>,
    /// The condition with its quantifier.
    pub(super) span: Span,
}

/// Sections between program and condition that matter for other memory models only.
pub(super) fn is_ignored_section(name: &str) -> bool {
    matches!(name, "regions" | "scopes" | "levels")
}

/// Parentheses and negations deeper than this are a mistake, or an attack.
const MAX_DEPTH: usize = 100;

/// Reads everything up to the end of the file.
pub(super) fn parse_question(
    cursor: &mut Cursor,
    arch: Arch,
    symbols: &mut Symbols,
    threads: &mut [Code],
) -> Parsed<Question> {
    let mut parser = Parser { cursor, arch, symbols, threads, observed: Vec::new(), depth: 0 };
    let mut filter = None;
    parser.skip_sections();
    loop {
        if parser.cursor.eat_word("locations") {
            parser.locations()?;
        } else if parser.cursor.eat_word("filter") {
            let known = parser.observed.len();
            filter = Some(parser.proposition()?);
            // A filter chooses among the states and is not part of them.
            parser.observed.truncate(known);
        } else {
            break;
        }
    }
    let start = parser.cursor.span();
    let quantifier = parser.quantifier()?;
    let proposition = if quantifier.is_some() { Some(parser.proposition()?) } else { None };
    let span = start.to(parser.cursor.last_span());
    parser.cursor.eat(";");
    if parser.cursor.peek() != Word::End && !parser.cursor.eat_word("with") {
        return Err(parser.cursor.unexpected("`/\\`, `\\/` or the end of the test"));
    }
    let mut observed = parser.observed;
    observed.sort_by(|a, b| a.order.cmp(&b.order));
    observed.dedup_by(|a, b| a.order == b.order);
    Ok(Question { quantifier, proposition, filter, observed, span })
}

struct Parser<'p, 'a> {
    cursor: &'p mut Cursor<'a>,
    arch: Arch,
    symbols: &'p mut Symbols,
    threads: &'p mut [Code],
    observed: Vec<Observed>,
    depth: usize,
}

/// A register, a variable or an array: its values, and how they look.
struct Location {
    values: Vec<FinalValue>,
    ty: ValueType,
    is_array: bool,
}

impl Parser<'_, '_> {
    fn skip_sections(&mut self) {
        let Word::Identifier(name) = self.cursor.peek() else { return };
        if !is_ignored_section(name) {
            return;
        }
        const NEXT: [&str; 6] = ["exists", "forall", "locations", "filter", "final", "not"];
        while !matches!(self.cursor.peek(), Word::End | Word::Symbol("~"))
            && !matches!(self.cursor.peek(), Word::Identifier(name) if NEXT.contains(&name))
        {
            self.cursor.advance();
        }
    }

    fn quantifier(&mut self) -> Parsed<Option<Quantifier>> {
        if matches!(self.cursor.peek(), Word::Symbol("~") | Word::Identifier("not")) {
            self.cursor.advance();
            return if self.cursor.eat_word("exists") {
                Ok(Some(Quantifier::Forbidden))
            } else {
                Err(self.cursor.unexpected("`exists`"))
            };
        }
        Ok(match self.cursor.peek() {
            Word::End => None,
            Word::Identifier("exists" | "final") => {
                self.cursor.advance();
                Some(Quantifier::Exists)
            }
            Word::Identifier("forall") => {
                self.cursor.advance();
                Some(Quantifier::Always)
            }
            Word::Symbol("(") => Some(Quantifier::Exists),
            _ => return Err(self.cursor.unexpected("`exists`, `~exists` or `forall`")),
        })
    }

    fn locations(&mut self) -> Parsed<()> {
        self.cursor.expect("[")?;
        while !self.cursor.eat("]") {
            self.location()?;
            // A type says how litmus7 prints the location; ours are declared in the initial state.
            while matches!(self.cursor.peek(), Word::Identifier(_) | Word::Symbol("*")) {
                self.cursor.advance();
            }
            if !self.cursor.at_symbol("]") {
                self.cursor.expect(";")?;
            }
        }
        Ok(())
    }

    /// Disjunctions bind weakest, then conjunctions, then implications: so it is in herd.
    fn proposition(&mut self) -> Parsed<FinalExpr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(self.cursor.span(), "this condition is nested too deeply"));
        }
        let mut alternatives = vec![self.conjunction()?];
        while self.cursor.eat("\\/") {
            alternatives.push(self.conjunction()?);
        }
        self.depth -= 1;
        Ok(balanced(BinaryOp::Or, alternatives))
    }

    fn conjunction(&mut self) -> Parsed<FinalExpr> {
        let mut parts = vec![self.implication()?];
        while self.cursor.eat("/\\") {
            parts.push(self.implication()?);
        }
        Ok(balanced(BinaryOp::And, parts))
    }

    fn implication(&mut self) -> Parsed<FinalExpr> {
        let premise = self.negation()?;
        if !self.cursor.eat("=>") {
            return Ok(premise);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Diagnostic::new(self.cursor.span(), "this condition is nested too deeply"));
        }
        let conclusion = self.implication()?;
        self.depth -= 1;
        Ok(premise.unary(UnaryOp::Not).binary(BinaryOp::Or, conclusion))
    }

    fn negation(&mut self) -> Parsed<FinalExpr> {
        let mut negated = false;
        while self.cursor.eat("~") || self.cursor.eat_word("not") {
            negated = !negated;
        }
        let inner = if self.cursor.eat("(") {
            let inner = self.proposition()?;
            self.cursor.expect(")")?;
            inner
        } else if self.cursor.eat_word("true") {
            1.into()
        } else if self.cursor.eat_word("false") {
            0.into()
        } else {
            self.comparison()?
        };
        Ok(if negated { inner.unary(UnaryOp::Not) } else { inner })
    }

    fn comparison(&mut self) -> Parsed<FinalExpr> {
        let left = self.location()?;
        let op = match self.cursor.peek() {
            Word::Symbol("=" | "==") => BinaryOp::Eq,
            Word::Symbol("!=") => BinaryOp::Ne,
            Word::Symbol("<") => BinaryOp::Lt,
            Word::Symbol("<=") => BinaryOp::Le,
            Word::Symbol(">") => BinaryOp::Gt,
            Word::Symbol(">=") => BinaryOp::Ge,
            _ => return Err(self.cursor.unexpected("`=` or `!=`")),
        };
        self.cursor.advance();
        let right = if self.at_location() {
            let right = self.location()?;
            right.values.iter().map(|value| self.normalized(*value, right.ty)).collect()
        } else {
            self.values(left.ty)?
        };
        self.compare(&left, op, right)
    }

    /// Whether a location stands on the right of a comparison: a bare name there is an address.
    fn at_location(&self) -> bool {
        match (self.cursor.peek(), self.cursor.peek_at(1)) {
            (Word::Number(_), Word::Symbol(":")) | (Word::Symbol("[" | "*"), _) => true,
            (Word::Identifier(name), Word::Symbol(":")) => super::init::thread_number(name).is_some(),
            _ => false,
        }
    }

    /// A number, an address, or `{1,2}` for an array.
    fn values(&mut self, ty: ValueType) -> Parsed<Vec<FinalExpr>> {
        if !self.cursor.eat("{") {
            let value = parse_value(self.cursor, self.symbols)?;
            return Ok(vec![ty.normalize(value).into()]);
        }
        let mut values = Vec::new();
        while !self.cursor.eat("}") {
            let value = parse_value(self.cursor, self.symbols)?;
            values.push(ty.normalize(value).into());
            if !self.cursor.at_symbol("}") {
                self.cursor.expect(",")?;
            }
        }
        Ok(values)
    }

    fn compare(&self, left: &Location, op: BinaryOp, right: Vec<FinalExpr>) -> Parsed<FinalExpr> {
        let misfit = |what: &str| Err(Diagnostic::new(self.cursor.last_span(), what));
        if left.values.len() != right.len() {
            return misfit("the two sides do not have the same number of values");
        }
        if left.is_array && !matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
            return misfit("arrays have no order");
        }
        let pairs = left.values.iter().zip(right);
        let all = if op == BinaryOp::Ne { BinaryOp::Or } else { BinaryOp::And };
        let compared = pairs.map(|(value, other)| self.normalized(*value, left.ty).binary(op, other));
        Ok(balanced(all, compared.collect()))
    }

    fn normalized(&self, value: FinalValue, ty: ValueType) -> FinalExpr {
        ty.normalized(ExprOver::Leaf(value), self.symbols.pointers)
    }

    /// `0:EAX`, `x`, `[x]`, `*x`, `x[1]`.
    fn location(&mut self) -> Parsed<Location> {
        if let Some((thread, name, span)) = parse_register(self.cursor, self.arch)? {
            return self.register(thread, &name, span);
        }
        let in_brackets = self.cursor.eat("[");
        if !in_brackets {
            self.cursor.eat("*");
        }
        let (name, span) = self.cursor.identifier("a variable or a register such as `0:EAX`")?;
        let wrong = |what| Diagnostic::new(span, what);
        if name == "fault" && self.cursor.at_symbol("(") {
            return Err(wrong("faults are not supported".to_string()));
        }
        let variable = self.symbols.variable(name).map_err(wrong)?;
        let mut index = None;
        if self.cursor.eat("[") {
            let number = self.cursor.number("an index")?;
            index = Some(self.symbols.element(name, number).map_err(wrong)?);
            self.cursor.expect("]")?;
        }
        if in_brackets {
            self.cursor.expect("]")?;
        }
        let cells = index.map_or(variable.cells(), |cell| cell..cell + 1);
        let is_array = index.is_none() && variable.length.is_some();
        let text = match index {
            Some(cell) => self.symbols.cells[cell].name.clone(),
            None if is_array => name.to_string(),
            None => format!("[{name}]"),
        };
        let values = cells.clone().map(|cell| FinalValue::Memory(Loc::global(cell))).collect::<Vec<_>>();
        let order = (usize::MAX, name.to_string(), cells.start);
        self.observed.push(Observed { text, values: values.clone(), ty: variable.ty(), is_array, order });
        Ok(Location { values, ty: variable.ty(), is_array })
    }

    fn register(&mut self, thread: usize, name: &str, span: Span) -> Parsed<Location> {
        let Some(index) = self.threads.iter().position(|code| code.thread == thread) else {
            return Err(Diagnostic::new(span, format!("there is no thread P{thread}")));
        };
        let register = self.threads[index].register(name);
        self.threads[index].observe(register);
        let ty = self.register_type(thread, name);
        let values = vec![FinalValue::Register { thread: index, register }];
        let order = (thread, name.to_string(), 0);
        let text = format!("{thread}:{name}");
        self.observed.push(Observed { text, values: values.clone(), ty, is_array: false, order });
        Ok(Location { values, ty, is_array: false })
    }

    /// As declared; otherwise an `int`, unless something wider is put there.
    fn register_type(&self, thread: usize, name: &str) -> ValueType {
        let key = (thread, name.to_string());
        let declared = self.symbols.registers.get(&key).and_then(|register| register.declared);
        let initial = self.symbols.registers.get(&key).map_or(0, |register| register.value);
        let wide = self.symbols.wide_registers.contains(&key) || ValueType::INT.normalize(initial) != initial;
        declared.unwrap_or(if wide { ValueType::LONG } else { ValueType::INT })
    }
}

/// The operator over all parts as a tree of little depth, however many there are.
fn balanced(op: BinaryOp, mut parts: Vec<FinalExpr>) -> FinalExpr {
    while parts.len() > 1 {
        let mut halved = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            halved.push(match rest.next() {
                Some(right) => left.binary(op, right),
                None => left,
            });
        }
        parts = halved;
    }
    parts.pop().unwrap_or(1.into())
}
