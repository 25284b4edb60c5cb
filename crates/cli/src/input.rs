//! Files: from a name on the command line to a program.

use crate::terminal::Terminal;
use anyhow::{Context, bail};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use unthread_checker::base::{Diagnostic, Source};
use unthread_checker::frontend::{Constants, FRONT_ENDS, FrontEnd, litmus};
use unthread_checker::program::Program;

/// Reads a program, by the file's extension. Says what is wrong with it and gives nothing if there is anything.
pub(crate) fn program(file: &str, defines: &[(String, i64)], terminal: &Terminal) -> Option<Program> {
    let parsed = read(file).and_then(|source| {
        let front_end = FrontEnd::of(extension(file), &source.text);
        let Some(front_end) = front_end.or((file == "-").then_some(&FRONT_ENDS[0])) else {
            bail!("{file}: neither {}", files());
        };
        if !front_end.has_constants && !defines.is_empty() {
            bail!("{file}: {} has no constants that `-D` could set", front_end.what);
        }
        let parsed = (front_end.parse)(source.clone(), &constants(defines)?);
        Ok((source, parsed))
    });
    parsed_or_complain(parsed, terminal)
}

/// Reads a litmus test, likewise.
pub(crate) fn litmus_test(file: &Path, terminal: &Terminal) -> Option<litmus::Litmus> {
    let parsed = read(&file.to_string_lossy()).map(|source| (source.clone(), litmus::parse(source)));
    parsed_or_complain(parsed, terminal)
}

/// What can be read: "a program (.ut), nor a litmus test (.litmus)".
fn files() -> String {
    let file = |front_end: &FrontEnd| {
        let extensions: Vec<String> = front_end.extensions.iter().map(|extension| format!(".{extension}")).collect();
        format!("{} ({})", front_end.what, extensions.join(", "))
    };
    FRONT_ENDS.iter().map(file).collect::<Vec<_>>().join(", nor ")
}

type Parsed<T> = (Arc<Source>, Result<T, Vec<Diagnostic>>);

fn parsed_or_complain<T>(parsed: anyhow::Result<Parsed<T>>, terminal: &Terminal) -> Option<T> {
    match parsed {
        Ok((_, Ok(parsed))) => Some(parsed),
        Ok((source, Err(diagnostics))) => {
            terminal.diagnostics(&source, &diagnostics);
            None
        }
        Err(error) => {
            terminal.error(&error);
            None
        }
    }
}

fn read(file: &str) -> anyhow::Result<Arc<Source>> {
    if file == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(Arc::new(Source::new("<stdin>", text("<stdin>", bytes)?)));
    }
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {file}"))?;
    Ok(Arc::new(Source::new(file, text(file, bytes)?)))
}

/// Bytes as text. Some editors put an invisible mark in front, which means nothing.
fn text(file: &str, bytes: Vec<u8>) -> anyhow::Result<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
            bail!("{file}:{line}: this line is not UTF-8 text");
        }
    }
}

fn extension(file: &str) -> &str {
    Path::new(file).extension().and_then(|extension| extension.to_str()).unwrap_or("")
}

fn constants(defines: &[(String, i64)]) -> anyhow::Result<Constants> {
    let mut constants = Constants::new();
    for (name, value) in defines {
        if constants.insert(name.clone(), *value).is_some_and(|before| before != *value) {
            bail!("`-D {name}` is given twice with different values");
        }
    }
    Ok(constants)
}
