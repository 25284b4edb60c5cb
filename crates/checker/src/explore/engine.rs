//! The engines by name. A new one is a variant here, a file beside this one and an arm in [`super::check`].

use super::Options;
use std::{fmt, str::FromStr};

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Every reachable state of the machine, once: slow, and obviously right.
    Exhaustive,
    /// Maximal causality reduction: one execution per combination of thread histories.
    Mcr,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 2] = [Engine::Exhaustive, Engine::Mcr];

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Exhaustive => "exhaustive",
            Engine::Mcr => "mcr",
        }
    }

    /// The options as the engine understands them. The bound on store buffers keeps a search of states finite; an engine that
    /// runs executions to their end has no use for it, beyond what a schedule can write down.
    pub(super) fn adapt(self, options: &Options) -> Options {
        let mut options = options.clone();
        if self != Engine::Exhaustive {
            options.rules = options.rules.unbounded();
        }
        options
    }

    /// In a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Engine::Exhaustive => "every reachable state, once",
            Engine::Mcr => "maximal causality reduction: one execution per combination of thread histories",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Engine::ALL.into_iter().find(|engine| engine.name() == text).ok_or_else(|| {
            let names = Engine::ALL.map(Engine::name).join(", ");
            format!("`{text}` is not an engine; there are: {names}")
        })
    }
}
