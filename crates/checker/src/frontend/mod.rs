//! Front ends: text in, a [`Program`] or every mistake with its place out.
//!
//! They are a table, [`FRONT_ENDS`]: a new one is a folder, and an entry there. The commands find the front end of a file in it.

pub mod litmus;
pub mod trencher;
pub mod ut;

use crate::base::{Diagnostic, Source};
use crate::program::Program;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values for a program's constants, by name.
pub type Constants = BTreeMap<String, i64>;

/// A language in which programs are written.
pub struct FrontEnd {
    /// What its files are, in words.
    pub what: &'static str,
    /// The extensions of its files. The first front end also reads standard input.
    pub extensions: &'static [&'static str],
    /// Whether a text without a telling extension is in this language, if that can be said.
    pub is_likely: Option<fn(&str) -> bool>,
    /// Whether its programs have constants that can be set.
    pub has_constants: bool,
    /// The program, or every mistake.
    pub parse: fn(Arc<Source>, &Constants) -> Result<Program, Vec<Diagnostic>>,
}

/// All of them.
pub const FRONT_ENDS: [FrontEnd; 3] = [
    FrontEnd { what: "a program", extensions: &["ut"], is_likely: None, has_constants: true, parse: ut::parse },
    FrontEnd {
        what: "a litmus test",
        extensions: &["litmus"],
        is_likely: None,
        has_constants: false,
        parse: |source, _| litmus::parse(source).map(|litmus| litmus.program),
    },
    FrontEnd {
        what: "an automaton",
        extensions: &["trencher", "txt"],
        is_likely: Some(trencher::is_likely),
        has_constants: false,
        parse: |source, _| trencher::parse(source),
    },
];

impl FrontEnd {
    /// The front end of a file with this extension and text. An extension that tells nothing is empty.
    pub fn of(extension: &str, text: &str) -> Option<&'static FrontEnd> {
        FRONT_ENDS.iter().find(|front_end| match front_end.is_likely {
            Some(is_likely) if extension.is_empty() => is_likely(text),
            _ => front_end.extensions.contains(&extension),
        })
    }
}
