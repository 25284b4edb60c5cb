//! From the final states of all executions to the answer.

use std::collections::BTreeSet;
use std::fmt;

use super::{Litmus, Observed};
use crate::base::Loc;
use crate::program::{FinalExpr, FinalState, FinalValue, Quantifier};

/// The answer to a test under one memory model. States are as herd prints them: `0:EAX=1; [x]=2;`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The final states that satisfy the proposition.
    pub positive: BTreeSet<String>,
    /// Those that do not.
    pub negative: BTreeSet<String>,
    /// Whether the quantified condition holds.
    pub holds: bool,
}

/// How often the proposition holds, whatever the quantifier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as herd prints them")]
pub enum Frequency {
    Always,
    Sometimes,
    Never,
}

impl Litmus {
    /// The answer, from every final state that some execution reaches.
    pub fn outcome<'a>(&self, final_states: impl IntoIterator<Item = &'a FinalState>) -> Outcome {
        let (mut positive, mut negative) = (BTreeSet::new(), BTreeSet::new());
        for state in final_states {
            let value = |of: FinalValue| state.value(&self.program, of);
            if self.filter.as_ref().is_some_and(|filter| !satisfied(filter, &value)) {
                continue;
            }
            let is_positive = self.proposition.as_ref().is_none_or(|proposition| satisfied(proposition, &value));
            if is_positive { &mut positive } else { &mut negative }.insert(self.state_text(&value));
        }
        let holds = match self.quantifier {
            Some(Quantifier::Exists) => !positive.is_empty(),
            Some(Quantifier::Forbidden) => positive.is_empty(),
            Some(Quantifier::Always) | None => negative.is_empty(),
        };
        Outcome { positive, negative, holds }
    }

    fn state_text(&self, value: &impl Fn(FinalValue) -> i64) -> String {
        let part = |observed: &Observed| {
            let shown: Vec<_> = observed.values.iter().map(|of| self.show(observed, value(*of))).collect();
            let shown = shown.join(",");
            if observed.is_array {
                format!("{}={{{shown}}};", observed.text)
            } else {
                format!("{}={shown};", observed.text)
            }
        };
        self.observed.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    /// Addresses print as the names of what is there.
    fn show(&self, observed: &Observed, value: i64) -> String {
        let cell = Loc::from_pointer(value).and_then(Loc::as_global).and_then(|index| self.program.cells.get(index));
        match cell {
            Some(cell) => cell.name.strip_suffix("[0]").unwrap_or(&cell.name).to_string(),
            None => observed.ty.show(value),
        }
    }
}

impl Outcome {
    /// All final states, sorted.
    pub fn states(&self) -> BTreeSet<&str> {
        self.positive.iter().chain(&self.negative).map(String::as_str).collect()
    }

    /// `Ok` or `No`, as herd says whether the quantified condition holds.
    pub fn verdict(&self) -> &'static str {
        if self.holds { "Ok" } else { "No" }
    }

    /// How often the proposition holds.
    pub fn frequency(&self) -> Frequency {
        match (self.positive.is_empty(), self.negative.is_empty()) {
            (true, _) => Frequency::Never,
            (false, true) => Frequency::Always,
            (false, false) => Frequency::Sometimes,
        }
    }
}

fn satisfied(proposition: &FinalExpr, value: &impl Fn(FinalValue) -> i64) -> bool {
    proposition.eval(value).is_ok_and(|value| value != 0)
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Frequency::Always => "Always",
            Frequency::Sometimes => "Sometimes",
            Frequency::Never => "Never",
        })
    }
}
