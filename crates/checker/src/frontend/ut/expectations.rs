//! What a program file says about its own verdicts, in its header comments.
//!
//! ```text
//! //! expect sc: verified, finals 3
//! //! expect tso pso: violation assertion
//! //! expect sc -D N=3: verified, values 12, finals 2
//! ```

use crate::base::{Diagnostic, Span, Verdict};
use crate::execution::MemoryModel;
use std::collections::BTreeMap;

/// One expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// Constants to set.
    pub defines: BTreeMap<String, i64>,
    /// The memory model.
    pub memory: MemoryModel,
    /// What the checker must say.
    pub verdict: Verdict,
    /// For a violation, its kind, as `ViolationKind::name` says it.
    pub violation: Option<String>,
    /// Whether the `exists` conditions are satisfied.
    pub exists: Option<bool>,
    /// How many distinct combinations of thread histories there are: as many as engine `mcr` has executions.
    pub values: Option<u64>,
    /// How many distinct final memories there are.
    pub finals: Option<u64>,
    /// The line that says so.
    pub span: Span,
}

/// Reads the `//! expect` lines of a file; a line for several memory models gives one expectation each.
pub fn expectations(text: &str) -> Result<Vec<Expectation>, Vec<Diagnostic>> {
    let mut expected = Vec::new();
    let mut diagnostics = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let span = Span::new(offset, offset + line.trim_end().len());
        offset += line.len();
        let comment = line.strip_prefix("//!").map(str::trim).unwrap_or("");
        if let Some(rest) = comment.strip_prefix("expect").filter(|rest| rest.starts_with(char::is_whitespace)) {
            match expectation(rest, span) {
                Ok(more) => expected.extend(more),
                Err(what) => diagnostics.push(
                    Diagnostic::new(span, what)
                        .label("cannot be understood")
                        .hint("write for example `//! expect tso pso -D N=2: violation assertion, finals 4`"),
                ),
            }
        }
    }
    if diagnostics.is_empty() { Ok(expected) } else { Err(diagnostics) }
}

fn expectation(text: &str, span: Span) -> Result<Vec<Expectation>, String> {
    let (when, what) = text.split_once(':').ok_or("an expectation needs a `:` before the verdict")?;
    let (memories, defines) = conditions(when)?;
    let mut parts = what.split(',').map(|part| part.split_whitespace().collect::<Vec<_>>());
    let (verdict, violation) = verdict(&parts.next().unwrap_or_default())?;
    let mut expected = Expectation {
        defines,
        memory: MemoryModel::default(),
        verdict,
        violation,
        exists: None,
        values: None,
        finals: None,
        span,
    };
    for part in parts {
        let [key, value] = part[..] else { return Err(format!("`{}` is not a name and a value", part.join(" "))) };
        let number = value.parse().map_err(|_| format!("`{value}` is not a number"));
        match key {
            "exists" if value == "yes" => expected.exists = Some(true),
            "exists" if value == "no" => expected.exists = Some(false),
            "exists" => return Err(format!("`exists` is `yes` or `no`, not `{value}`")),
            "values" => expected.values = Some(number?),
            "finals" => expected.finals = Some(number?),
            _ => return Err(format!("`{key}` is none of exists, values, finals")),
        }
    }
    Ok(memories.into_iter().map(|memory| Expectation { memory, ..expected.clone() }).collect())
}

/// `sc tso -D N=2`.
fn conditions(text: &str) -> Result<(Vec<MemoryModel>, BTreeMap<String, i64>), String> {
    let mut memories = Vec::new();
    let mut defines = BTreeMap::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "-D" => {
                let define = words.next().unwrap_or("");
                let parsed = define.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?)));
                let (name, value) = parsed.ok_or_else(|| format!("`-D {define}` is not of the form `-D N=2`"))?;
                defines.insert(name.to_string(), value);
            }
            _ => memories.push(word.parse()?),
        }
    }
    if memories.is_empty() { Err("no memory model is named".to_string()) } else { Ok((memories, defines)) }
}

fn verdict(words: &[&str]) -> Result<(Verdict, Option<String>), String> {
    match words {
        ["verified"] => Ok((Verdict::Verified, None)),
        ["inconclusive"] => Ok((Verdict::Inconclusive, None)),
        ["violation"] => Ok((Verdict::Violation, None)),
        ["violation", kind] => Ok((Verdict::Violation, Some(kind.to_string()))),
        _ => Err(format!("`{}` is none of verified, violation, inconclusive", words.join(" "))),
    }
}
