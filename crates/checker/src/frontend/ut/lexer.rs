//! Text to tokens. Keywords are words like any other here; the parser knows where each may stand.

use crate::base::{Diagnostic, Source, Span};

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An identifier or a keyword; its text is in the source.
    Word,
    Int(i64),
    Str(String),
    Punct(&'static str),
    /// The end of the text; the last token, once.
    End,
}

/// Longer ones first, so that the first match is the longest.
const PUNCTUATION: [&str; 51] = [
    "<<=", ">>=", "..=", "...", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "++", "--", "->", "=>", "::", "..", "+", "-", "*", "/", "%", "&", "|", "^", "!", "~", "=", "<", ">",
    "(", ")", "{", "}", "[", "]", ",", ";", ".", ":", "×", "?",
];

/// All tokens of the text, and what could not be read. Unreadable characters are skipped.
pub(super) fn tokens(source: &Source) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer { text: &source.text, at: 0, tokens: Vec::new(), diagnostics: Vec::new() };
    while lexer.at < lexer.text.len() {
        lexer.next();
    }
    let end = Span::new(lexer.at, lexer.at);
    lexer.tokens.push(Token { kind: TokenKind::End, span: end });
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&mut self) {
        let start = self.at;
        let first = self.rest().chars().next().unwrap_or(' ');
        if first.is_whitespace() {
            self.skip_while(char::is_whitespace);
        } else if self.rest().starts_with("//") {
            self.skip_while(|c| c != '\n');
        } else if self.rest().starts_with("/*") {
            self.block_comment();
        } else if is_word_start(first) {
            self.skip_while(is_word);
            self.push(start, TokenKind::Word);
        } else if first.is_ascii_digit() {
            self.number();
        } else if first == '"' {
            self.string();
        } else if let Some(punct) = PUNCTUATION.iter().find(|punct| self.rest().starts_with(**punct)) {
            self.at += punct.len();
            self.push(start, TokenKind::Punct(punct));
        } else {
            self.unreadable();
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn push(&mut self, start: usize, kind: TokenKind) {
        self.tokens.push(Token { kind, span: Span::new(start, self.at) });
    }

    fn block_comment(&mut self) {
        let start = self.at;
        match self.rest().find("*/") {
            Some(length) => self.at += length + 2,
            None => {
                self.at = self.text.len();
                self.diagnostics.push(
                    Diagnostic::new(Span::new(start, start + 2), "this comment never ends")
                        .label("opened here")
                        .hint("close it with `*/`"),
                );
            }
        }
    }

    fn number(&mut self) {
        let start = self.at;
        self.skip_while(is_word);
        let written = &self.text[start..self.at];
        let digits = written.replace('_', "");
        let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            // Hexadecimal is for bit patterns: all 64 bits may be written.
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(|bits| bits as i64),
            None => digits.parse().ok(),
        };
        let value = value.unwrap_or_else(|| {
            self.diagnostics.push(
                Diagnostic::new(Span::new(start, self.at), format!("`{}` is not a number", shorten(written)))
                    .label("not a 64-bit integer")
                    .hint("write a decimal number such as 42 or a hexadecimal one such as 0x2a"),
            );
            0
        });
        self.push(start, TokenKind::Int(value));
    }

    fn string(&mut self) {
        let start = self.at;
        let mut value = String::new();
        let mut escaped = false;
        for (offset, c) in self.text[start + 1..].char_indices() {
            match c {
                '\n' => break,
                '"' if !escaped => {
                    self.at = start + offset + 2;
                    return self.push(start, TokenKind::Str(value));
                }
                '\\' if !escaped => escaped = true,
                _ => {
                    value.push(if escaped && c == 'n' { '\n' } else { c });
                    escaped = false;
                }
            }
        }
        self.skip_while(|c| c != '\n');
        self.diagnostics.push(
            Diagnostic::new(Span::new(start, start + 1), "this text has no closing quote")
                .label("opened here")
                .hint("close it with `\"` on the same line"),
        );
        self.push(start, TokenKind::Str(value));
    }

    fn unreadable(&mut self) {
        let start = self.at;
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
        let readable =
            |c: char| c.is_whitespace() || is_word(c) || c == '"' || PUNCTUATION.iter().any(|p| p.starts_with(c));
        self.skip_while(|c| !readable(c));
        let what = shorten(&self.text[start..self.at]);
        self.diagnostics.push(
            Diagnostic::new(Span::new(start, self.at), format!("`{what}` means nothing here"))
                .label("unknown character")
                .hint("remove it"),
        );
    }
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= 20 { text.to_string() } else { text.chars().take(20).chain("…".chars()).collect() }
}
