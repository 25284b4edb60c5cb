//! Tokens to a tree. The parser goes on after a mistake: at the next statement, or at the next item.

mod expressions;
mod items;
mod statements;

use super::ast::{File, Ident};
use super::lexer::{Token, TokenKind, tokens};
use super::{MAX_DIAGNOSTICS, MAX_NESTING};
use crate::base::{Diagnostic, Source, Span};

/// The tree of what could be understood, and every mistake found.
pub(super) fn parse_file(source: &Source) -> (File, Vec<Diagnostic>) {
    let (tokens, unreadable) = tokens(source);
    let mut parser = Parser { text: &source.text, tokens, at: 0, diagnostics: Vec::new(), nesting: 0 };
    let mut file = File::default();
    while !parser.at_end() {
        let before = parser.at;
        if parser.item(&mut file).is_err() {
            parser.skip_to_item(before);
        }
    }
    let mut diagnostics = parser.diagnostics;
    diagnostics.retain(|diagnostic| !follows_from(diagnostic, &unreadable, &source.text));
    diagnostics.extend(unreadable);
    (file, diagnostics)
}

/// Whether a mistake is there only because words could not be read: it stands on the line of one of them, or is that
/// something does not end.
fn follows_from(diagnostic: &Diagnostic, unreadable: &[Diagnostic], text: &str) -> bool {
    let at = diagnostic.span.start as usize;
    let same_line = |other: &Diagnostic| {
        let (first, last) = (at.min(other.span.start as usize), at.max(other.span.start as usize));
        !text[first..last].contains('\n')
    };
    let at_end = text[at..].trim().is_empty();
    unreadable.iter().any(same_line) || (at_end && !unreadable.is_empty())
}

/// Words that start an item.
const ITEMS: [&str; 14] = [
    "const",
    "shared",
    "plain",
    "mutex",
    "rwlock",
    "condvar",
    "struct",
    "thread",
    "fn",
    "main",
    "finally",
    "exists",
    "forbidden",
    "always",
];

/// Other words that cannot be names.
const KEYWORDS: [&str; 19] = [
    "let", "if", "else", "while", "for", "in", "loop", "break", "continue", "return", "fork", "join", "yield", "fence",
    "new", "true", "false", "null", "mut",
];

fn is_keyword(word: &str) -> bool {
    ITEMS.contains(&word) || KEYWORDS.contains(&word)
}

/// The mistake has been reported; the parser goes on at the next place where it can.
struct Failed;

type Parsed<T> = Result<T, Failed>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    diagnostics: Vec<Diagnostic>,
    nesting: u32,
}

impl<'a> Parser<'a> {
    fn token(&self) -> &Token {
        &self.tokens[self.at]
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The place of the token before: where a missing one should have followed.
    fn previous_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// The token `ahead` of the current one, or the end.
    fn peek(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn text_of(&self, token: &Token) -> &'a str {
        &self.text[token.span.start as usize..token.span.end as usize]
    }

    fn at_end(&self) -> bool {
        self.token().kind == TokenKind::End
    }

    fn is_punct(&self, ahead: usize, punct: &str) -> bool {
        matches!(self.peek(ahead).kind, TokenKind::Punct(p) if p == punct)
    }

    fn at(&self, punct: &str) -> bool {
        self.is_punct(0, punct)
    }

    /// The current word, if it is one.
    fn word(&self) -> Option<&'a str> {
        (self.token().kind == TokenKind::Word).then(|| self.text_of(self.token()))
    }

    fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        if !self.at_end() {
            self.at += 1;
        }
        span
    }

    fn eat(&mut self, punct: &str) -> bool {
        let found = self.at(punct);
        if found {
            self.advance();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// What stands here, for messages.
    fn found(&self) -> String {
        let token = self.token();
        match &token.kind {
            TokenKind::End => "the end of the file".to_string(),
            TokenKind::Str(_) => "a text".to_string(),
            TokenKind::Word if is_keyword(self.text_of(token)) => {
                format!("the keyword `{}`", self.text_of(token))
            }
            _ => format!("`{}`", self.text_of(token).chars().take(30).collect::<String>()),
        }
    }

    /// Records a mistake. After too many the rest of the file is given up.
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
        if self.diagnostics.len() >= MAX_DIAGNOSTICS {
            self.at = self.tokens.len() - 1;
        }
    }

    fn fail<T>(&mut self, diagnostic: Diagnostic) -> Parsed<T> {
        self.report(diagnostic);
        Err(Failed)
    }

    /// Reports that `wanted` should stand here.
    fn expected<T>(&mut self, wanted: &str, hint: &str) -> Parsed<T> {
        let message = format!("expected {wanted}, found {}", self.found());
        let diagnostic = Diagnostic::new(self.span(), message).label(format!("expected {wanted}")).hint(hint);
        self.fail(diagnostic)
    }

    fn expect(&mut self, punct: &str, hint: &str) -> Parsed<Span> {
        if self.at(punct) { Ok(self.advance()) } else { self.expected(&format!("`{punct}`"), hint) }
    }

    /// The `;` at the end of something. A missing one is reported where it belongs, and taken as written.
    fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(";") {
            return Ok(());
        }
        let end = self.previous_span().end as usize;
        let diagnostic = Diagnostic::new(Span::new(end, end), format!("expected `;` after {after}"))
            .label("`;` is missing here")
            .hint(format!("found {} instead; end {after} with `;`", self.found()));
        self.report(diagnostic);
        let on_new_line = self.text[end..self.span().start as usize].contains('\n');
        if on_new_line || self.at("}") { Ok(()) } else { Err(Failed) }
    }

    /// A name for something new or a mention of something declared.
    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        match self.word() {
            Some(word) if !is_keyword(word) => Ok(Ident { name: word.to_string(), span: self.advance() }),
            Some(word) => {
                let hint = format!("`{word}` is a keyword; choose another name");
                self.expected(what, &hint)
            }
            None => self.expected(what, "names start with a letter or `_`"),
        }
    }

    /// Comma-separated things up to `close`, which is consumed. A trailing comma is fine.
    fn list<T>(&mut self, close: &str, one: impl Fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = Vec::new();
        while !self.at(close) {
            all.push(one(self)?);
            if !self.eat(",") && !self.at(close) {
                return self.expected(&format!("`,` or `{close}`"), &format!("close the list with `{close}`"));
            }
        }
        self.advance();
        Ok(all)
    }

    /// Runs `parse` one level deeper, unless that is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let diagnostic = too_deep(self.span());
            return self.fail(diagnostic);
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    fn at_item(&self) -> bool {
        self.word().is_some_and(|word| ITEMS.contains(&word))
    }

    /// Skips to just after the next `;` of this block, or to what must end it: `}` or an item.
    fn skip_statement(&mut self) {
        let mut depth = 0_usize;
        while !self.at_end() {
            if depth == 0 && (self.at("}") || self.at_item()) {
                return;
            }
            let (open, close, semicolon) = (self.at("{"), self.at("}"), self.at(";"));
            self.advance();
            depth = depth + usize::from(open) - usize::from(close);
            if depth == 0 && (close || semicolon) {
                return;
            }
        }
    }

    /// Skips to the next item, which is not the one at `failed_at`, or to just after what ends this one.
    fn skip_to_item(&mut self, failed_at: usize) {
        let mut depth = 0_usize;
        while !self.at_end() {
            if depth == 0 && self.at_item() && self.at != failed_at {
                return;
            }
            let (open, close, semicolon) = (self.at("{"), self.at("}"), self.at(";"));
            self.advance();
            depth = (depth + usize::from(open)).saturating_sub(usize::from(close));
            if depth == 0 && (close || semicolon) {
                return;
            }
        }
    }
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::new(span, "this is nested too deeply")
        .label(format!("more than {MAX_NESTING} levels"))
        .hint("split it into several statements or functions")
}
