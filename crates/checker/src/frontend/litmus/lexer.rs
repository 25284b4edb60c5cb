//! Words of a litmus test, with their places.
//!
//! A test is written in two styles. Around the program, `(*` opens a comment and `||` is two empty columns; in the C code
//! of threads, `(*` starts a dereference and `||` is an operator. A character that begins no word becomes
//! [`Word::Unknown`], so that the parser can say what it wanted there.

use crate::base::{Diagnostic, Span};

/// How to cut the text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Initial state, instruction columns and conditions.
    Litmus,
    /// The code of C threads.
    C,
}

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    Identifier(&'a str),
    Number(i64),
    Symbol(&'static str),
    Unknown,
    End,
}

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    pub(super) span: Span,
}

/// Reads tokens one after the other.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    next: usize,
}

/// What a parsing function gives.
pub(super) type Parsed<T> = Result<T, Diagnostic>;

/// Longest first: the first that fits is taken.
const LITMUS_SYMBOLS: &[&str] = &[
    "/\\", "\\/", "=>", "==", "!=", "<=", ">=", "{", "}", "(", ")", "[", "]", ";", ",", ":", "|", "=", "~", "*", "&",
    "+", "-", "%", "$", "<", ">",
];
const C_SYMBOLS: &[&str] = &[
    "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "{", "}", "(", ")", "[", "]", ";", ",", ":", "|", "=", "~", "*", "&", "+", "-", "%", "<", ">", "!", "^", "/",
    "?",
];

impl<'a> Cursor<'a> {
    /// The words of `text` from byte `start` on.
    pub(super) fn new(text: &'a str, start: usize, style: Style) -> Cursor<'a> {
        let mut tokens = Vec::new();
        let mut at = start;
        loop {
            at = skip_blanks(text, at, style);
            let (word, length) = read_word(&text[at..], style);
            tokens.push(Token { word, span: Span::new(at, at + length) });
            at += length;
            if word == Word::End {
                return Cursor { text, tokens, next: 0 };
            }
        }
    }

    /// The words from here on, cut in another style.
    pub(super) fn restyled(&self, style: Style) -> Cursor<'a> {
        Cursor::new(self.text, self.span().start as usize, style)
    }

    /// Where the cursor stands, for `rewind`.
    pub(super) fn position(&self) -> usize {
        self.next
    }

    pub(super) fn rewind(&mut self, position: usize) {
        self.next = position;
    }

    pub(super) fn peek(&self) -> Word<'a> {
        self.peek_at(0)
    }

    /// The word `ahead` words after the next one. After the last word comes `End`, for ever.
    pub(super) fn peek_at(&self, ahead: usize) -> Word<'a> {
        self.tokens.get(self.next + ahead).map_or(Word::End, |token| token.word)
    }

    /// The place of the next word.
    pub(super) fn span(&self) -> Span {
        self.tokens[self.next.min(self.tokens.len() - 1)].span
    }

    /// The place of the word that was read last.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.next.saturating_sub(1).min(self.tokens.len() - 1)].span
    }

    pub(super) fn advance(&mut self) -> Token<'a> {
        let token = self.tokens[self.next.min(self.tokens.len() - 1)];
        self.next = (self.next + 1).min(self.tokens.len());
        token
    }

    pub(super) fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Word::Symbol(found) if found == symbol)
    }

    /// Reads the symbol if it is next.
    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    /// Reads the word if it is next, in any case.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Word::Identifier(name) if name.eq_ignore_ascii_case(word));
        if found {
            self.advance();
        }
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Parsed<Span> {
        if self.at_symbol(symbol) { Ok(self.advance().span) } else { Err(self.unexpected(&format!("`{symbol}`"))) }
    }

    pub(super) fn identifier(&mut self, what: &str) -> Parsed<(&'a str, Span)> {
        match self.peek() {
            Word::Identifier(name) => Ok((name, self.advance().span)),
            _ => Err(self.unexpected(what)),
        }
    }

    /// A number with an optional sign.
    pub(super) fn number(&mut self, what: &str) -> Parsed<i64> {
        let negative = self.at_symbol("-") && matches!(self.peek_at(1), Word::Number(_));
        if negative {
            self.advance();
        }
        match self.peek() {
            Word::Number(value) => {
                self.advance();
                Ok(if negative { value.wrapping_neg() } else { value })
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// The text between two places.
    pub(super) fn text(&self, span: Span) -> &'a str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// "expected this, found that", at the next word.
    pub(super) fn unexpected(&self, wanted: &str) -> Diagnostic {
        let found = match self.peek() {
            Word::End => "the end of the file".to_string(),
            _ => format!("`{}`", self.text(self.span())),
        };
        Diagnostic::new(self.span(), format!("expected {wanted}, found {found}")).label(format!("expected {wanted}"))
    }
}

/// The first byte at or after `at` that is neither blank nor comment.
pub(super) fn skip_blanks(text: &str, mut at: usize, style: Style) -> usize {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        let rest = &rest[blank..];
        at += blank;
        at += match style {
            Style::Litmus if rest.starts_with("(*") => comment_length(rest),
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => return at,
        };
    }
}

/// The length of the `(* … *)` comment that `text` starts with. Comments nest.
fn comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (2, 1);
    while depth > 0 && at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"(*") => (at, depth) = (at + 2, depth + 1),
            Some(b"*)") => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

fn read_word(text: &str, style: Style) -> (Word<'_>, usize) {
    let Some(first) = text.chars().next() else { return (Word::End, 0) };
    let length_while = |accepts: fn(char) -> bool| text.find(|c| !accepts(c)).unwrap_or(text.len());
    if first.is_ascii_digit() {
        let length = length_while(|c| c.is_ascii_alphanumeric());
        return (read_number(&text[..length]).map_or(Word::Unknown, Word::Number), length);
    }
    // Compilers write labels such as `.L1`.
    let is_label = style == Style::Litmus && first == '.' && text[1..].starts_with(|c: char| c.is_ascii_alphabetic());
    if first.is_ascii_alphabetic() || first == '_' || is_label {
        let length = match style {
            Style::Litmus => length_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'),
            Style::C => length_while(|c| c.is_ascii_alphanumeric() || c == '_'),
        };
        return (Word::Identifier(&text[..length]), length);
    }
    let symbols = if style == Style::C { C_SYMBOLS } else { LITMUS_SYMBOLS };
    match symbols.iter().find(|symbol| text.starts_with(**symbol)) {
        Some(symbol) => (Word::Symbol(symbol), symbol.len()),
        None => (Word::Unknown, first.len_utf8()),
    }
}

/// Decimal or hexadecimal, with C's suffixes. Unsigned 64-bit numbers wrap into the signed ones.
fn read_number(text: &str) -> Option<i64> {
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse::<u64>(),
    };
    value.ok().map(|value| value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str, style: Style) -> Vec<Word<'_>> {
        Cursor::new(text, 0, style).tokens.iter().map(|token| token.word).collect()
    }

    #[test]
    fn a_star_after_a_parenthesis_is_a_comment_outside_c_only() {
        assert_eq!(words("(* (* x *) *) 1", Style::Litmus), [Word::Number(1), Word::End]);
        assert_eq!(words("(*x", Style::C), [Word::Symbol("("), Word::Symbol("*"), Word::Identifier("x"), Word::End]);
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal_and_too_large_ones_are_no_words() {
        assert_eq!(words("0x10 18446744073709551615", Style::Litmus), [Word::Number(16), Word::Number(-1), Word::End]);
        assert_eq!(words("18446744073709551616", Style::Litmus), [Word::Unknown, Word::End]);
    }

    #[test]
    fn an_unclosed_comment_ends_with_the_text() {
        assert_eq!(words("(* (*", Style::Litmus), [Word::End]);
        assert_eq!(words("/* ü", Style::C), [Word::End]);
    }
}
