//! Words to threads. After a mistake, reading goes on at the next word that can start something.

use super::{
    Action, Expr, MAX_DIAGNOSTICS, MAX_NESTING, MAX_REGISTERS, MAX_THREADS, MAX_TRANSITIONS, State, ThreadText,
    Transition,
};
use crate::base::{Diagnostic, Source, Span};
use crate::program::{BinaryOp, UnaryOp};
use std::collections::BTreeMap;

/// The threads of a text and what is wrong with it.
pub(super) fn parse(source: &Source) -> (Vec<ThreadText>, Vec<Diagnostic>) {
    let text = &source.text;
    let mut parser = Parser { words: words(text), at: 0, end: text.len(), diagnostics: Vec::new(), transitions: 0 };
    let mut threads: Vec<ThreadText> = Vec::new();
    while let Some(word) = parser.next() {
        if word.text == "memory_size" {
            parser.memory_size();
            continue;
        }
        if word.text != "thread" {
            parser.complain(word.span, format!("expected `thread`, found `{}`", shown(word.text)));
            parser.skip_to(&["thread"]);
            continue;
        }
        if let Ok(thread) = parser.thread() {
            if let Some(other) = threads.iter().find(|other| other.name == thread.name) {
                let diagnostic = Diagnostic::new(thread.span, format!("thread `{}` is there twice", thread.name));
                parser.diagnostics.push(diagnostic.related(other.span, "the first one"));
            }
            threads.push(thread);
        }
        if parser.diagnostics.len() > MAX_DIAGNOSTICS {
            break;
        }
    }
    if threads.is_empty() && parser.diagnostics.is_empty() {
        parser.complain(Span::new(text.len(), text.len()), "there is no thread");
    }
    if let Some(thread) = threads.get(MAX_THREADS) {
        parser.complain(thread.span, format!("there are more than {MAX_THREADS} threads"));
    }
    (threads, parser.diagnostics)
}

#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    span: Span,
}

/// The words of a text, without comments.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        for word in line.split_whitespace() {
            if word.starts_with('#') {
                break;
            }
            let at = start + (word.as_ptr() as usize - line.as_ptr() as usize);
            words.push(Word { text: word, span: Span::new(at, at + word.len()) });
        }
        start += line.len();
    }
    words
}

struct Parser<'a> {
    words: Vec<Word<'a>>,
    at: usize,
    end: usize,
    diagnostics: Vec<Diagnostic>,
    transitions: usize,
}

/// A mistake that has been noted.
struct Noted;

/// Names of a thread and their numbers.
#[derive(Default)]
struct Names<'a> {
    states: BTreeMap<&'a str, usize>,
    registers: BTreeMap<&'a str, usize>,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let word = self.words.get(self.at).copied();
        self.at += word.is_some() as usize;
        word
    }

    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(|word| word.text)
    }

    fn complain(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(span, message));
    }

    fn skip_to(&mut self, starts: &[&str]) {
        while self.peek().is_some_and(|word| !starts.contains(&word)) {
            self.at += 1;
        }
    }

    /// The next word, which is to be a name of something.
    fn name(&mut self, what: &str) -> Result<Word<'a>, Noted> {
        match self.next() {
            Some(word) => Ok(word),
            None => {
                self.complain(Span::new(self.end, self.end), format!("{what} is missing at the end of the text"));
                Err(Noted)
            }
        }
    }

    /// What follows `memory_size`. Cells come into being when they are used, so the number says nothing.
    fn memory_size(&mut self) {
        let Ok(word) = self.name("the size of the memory") else { return };
        if !word.text.parse().is_ok_and(|size: i64| size >= 0) {
            self.complain(word.span, format!("expected a number of cells, found `{}`", shown(word.text)));
            self.skip_to(&["thread", "memory_size"]);
        }
    }

    /// What follows `thread`, up to and with `end`.
    fn thread(&mut self) -> Result<ThreadText, Noted> {
        let word = self.name("the thread's name")?;
        let mut names = Names::default();
        let mut thread = ThreadText {
            name: word.text.to_string(),
            span: word.span,
            states: Vec::new(),
            registers: Vec::new(),
            transitions: Vec::new(),
        };
        let mut has_initial = false;
        loop {
            let word = self.name("`end`")?;
            let result = match word.text {
                "end" => break,
                "initial" if has_initial => {
                    self.complain(word.span, "a thread has one initial state");
                    self.name("the initial state").map(drop)
                }
                "initial" => {
                    has_initial = true;
                    self.initial(&mut thread, &mut names)
                }
                "final" => self.name("the final state").map(|word| {
                    let state = thread.state(word, &mut names);
                    thread.states[state].is_final = true;
                }),
                "transition" => self.transition(&mut thread, &mut names, word.span),
                "thread" => {
                    let diagnostic = Diagnostic::new(word.span, "the thread before this one has no `end`");
                    self.diagnostics.push(diagnostic.related(thread.span, "this thread"));
                    self.at -= 1;
                    return Err(Noted);
                }
                other => {
                    let message =
                        format!("expected `initial`, `final`, `transition` or `end`, found `{}`", shown(other));
                    self.complain(word.span, message);
                    Err(Noted)
                }
            };
            if result.is_err() {
                self.skip_to(&["initial", "final", "transition", "end", "thread"]);
            }
        }
        if !has_initial {
            self.complain(thread.span, format!("thread `{}` has no initial state", shown(&thread.name)));
        }
        Ok(thread)
    }

    /// The initial state comes first, whatever was mentioned before.
    fn initial(&mut self, thread: &mut ThreadText, names: &mut Names<'a>) -> Result<(), Noted> {
        let word = self.name("the initial state")?;
        let state = thread.state(word, names);
        if state != 0 {
            thread.states.swap(0, state);
            for number in names.states.values_mut() {
                *number = swapped(*number, state);
            }
            for transition in &mut thread.transitions {
                transition.from = swapped(transition.from, state);
                transition.to = swapped(transition.to, state);
            }
        }
        Ok(())
    }

    fn transition(&mut self, thread: &mut ThreadText, names: &mut Names<'a>, start: Span) -> Result<(), Noted> {
        let from = self.name("the state that the transition leaves")?;
        let to = self.name("the state that the transition leads to")?;
        let (from, to) = (thread.state(from, names), thread.state(to, names));
        let action = self.action(thread, names)?;
        let span = start.to(self.words[self.at - 1].span);
        self.transitions += 1;
        if self.transitions > MAX_TRANSITIONS {
            self.complain(span, format!("there are more than {MAX_TRANSITIONS} transitions"));
            self.at = self.words.len();
            return Err(Noted);
        }
        thread.transitions.push(Transition { from, to, action, span });
        Ok(())
    }

    fn action(&mut self, thread: &mut ThreadText, names: &mut Names<'a>) -> Result<Action, Noted> {
        let word = self.name("what the transition does")?;
        Ok(match word.text {
            "noop" => Action::Noop,
            "mfence" => Action::Fence,
            "lock" => Action::Lock,
            "unlock" => Action::Unlock,
            "check" => Action::Check(self.expression(thread, names, 0)?),
            "read" => {
                let register = self.register(thread, names)?;
                Action::Read { register, address: self.expression(thread, names, 0)? }
            }
            "local" => {
                let register = self.register(thread, names)?;
                Action::Local { register, value: self.expression(thread, names, 0)? }
            }
            "write" => {
                let value = self.expression(thread, names, 0)?;
                Action::Write { value, address: self.expression(thread, names, 0)? }
            }
            other => {
                let message = format!("`{}` is not something that a transition can do", shown(other));
                let hint = "there are read, write, local, check, mfence, lock, unlock and noop";
                self.diagnostics.push(Diagnostic::new(word.span, message).hint(hint));
                return Err(Noted);
            }
        })
    }

    fn register(&mut self, thread: &mut ThreadText, names: &mut Names<'a>) -> Result<usize, Noted> {
        let word = self.name("a register")?;
        if word.text.parse::<i64>().is_ok() || operator(word.text).is_some() {
            self.complain(word.span, format!("expected a register, found `{}`", shown(word.text)));
            return Err(Noted);
        }
        self.named_register(word, thread, names)
    }

    fn named_register(
        &mut self,
        word: Word<'a>,
        thread: &mut ThreadText,
        names: &mut Names<'a>,
    ) -> Result<usize, Noted> {
        let next = thread.registers.len();
        let number = *names.registers.entry(word.text).or_insert(next);
        if number == MAX_REGISTERS {
            self.complain(word.span, format!("a thread has at most {MAX_REGISTERS} registers"));
            return Err(Noted);
        }
        if number == next {
            thread.registers.push(word.text.to_string());
        }
        Ok(number)
    }

    /// An expression, operators first.
    fn expression(&mut self, thread: &mut ThreadText, names: &mut Names<'a>, depth: u32) -> Result<Expr, Noted> {
        let word = self.name("an expression")?;
        if depth > MAX_NESTING {
            self.complain(word.span, "this expression is nested too deeply");
            return Err(Noted);
        }
        if let Ok(value) = word.text.parse() {
            return Ok(Expr::Const(value));
        }
        match operator(word.text) {
            Some(Operator::Unary(op)) => Ok(Expr::Unary(op, Box::new(self.expression(thread, names, depth + 1)?))),
            Some(Operator::Binary(op)) => {
                let left = self.expression(thread, names, depth + 1)?;
                let right = self.expression(thread, names, depth + 1)?;
                Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
            }
            None if matches!(word.text, "transition" | "end" | "thread" | "initial" | "final") => {
                self.complain(word.span, format!("expected an expression, found `{}`", word.text));
                self.at -= 1;
                Err(Noted)
            }
            None if word.text.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                self.named_register(word, thread, names).map(Expr::Register)
            }
            None => {
                let message = format!("`{}` is neither a number, nor a register, nor an operator", shown(word.text));
                let hint = "operators are == != < <= > >= && || + - * / % & ! and stand before their operands";
                self.diagnostics.push(Diagnostic::new(word.span, message).hint(hint));
                Err(Noted)
            }
        }
    }
}

impl ThreadText {
    /// The number of a state by name.
    fn state<'a>(&mut self, word: Word<'a>, names: &mut Names<'a>) -> usize {
        *names.states.entry(word.text).or_insert_with(|| {
            self.states.push(State { name: word.text.to_string(), span: word.span, is_final: false });
            self.states.len() - 1
        })
    }
}

fn swapped(number: usize, with_first: usize) -> usize {
    match number {
        0 => with_first,
        number if number == with_first => 0,
        number => number,
    }
}

enum Operator {
    Unary(UnaryOp),
    Binary(BinaryOp),
}

fn operator(word: &str) -> Option<Operator> {
    let binary = match word {
        "!" => return Some(Operator::Unary(UnaryOp::Not)),
        "==" => BinaryOp::Eq,
        "!=" => BinaryOp::Ne,
        "<" => BinaryOp::Lt,
        "<=" => BinaryOp::Le,
        ">" => BinaryOp::Gt,
        ">=" => BinaryOp::Ge,
        "&&" => BinaryOp::And,
        "||" => BinaryOp::Or,
        "+" => BinaryOp::Add,
        "-" => BinaryOp::Sub,
        "*" => BinaryOp::Mul,
        "/" => BinaryOp::Div,
        "%" => BinaryOp::Rem,
        "&" => BinaryOp::BitAnd,
        _ => return None,
    };
    Some(Operator::Binary(binary))
}

/// The beginning of a word that may be long.
fn shown(word: &str) -> String {
    let start: String = word.chars().take(40).collect();
    if start.len() < word.len() { start + "…" } else { start }
}
