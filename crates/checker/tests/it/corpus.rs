//! Every program of the corpus has the verdicts that it says it has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use unthread_checker::explore::{Options, Unwatched, check};
use unthread_checker::frontend::ut::{self, Expectation};
use unthread_checker::program::Source;
use unthread_checker::report::{Report, Style, diagnostics};
use walkdir::WalkDir;

#[test]
fn every_program_of_the_corpus_is_judged_as_it_expects() {
    let files = programs();
    assert!(!files.is_empty(), "there are no programs");
    let complaints: Vec<String> = files.iter().filter_map(|file| judge(file).err()).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/programs");
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.expect("it is readable"));
    entries.map(walkdir::DirEntry::into_path).filter(|path| path.extension().is_some_and(|e| e == "ut")).collect()
}

/// Everything about a file that is not as it says.
fn judge(file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).expect("it is readable");
    let source = Arc::new(Source::new(file.display().to_string(), text));
    let expected = ut::expectations(&source.text).map_err(|mistakes| diagnostics(&source, &mistakes, Style::PLAIN))?;
    if expected.is_empty() {
        return Err(format!("{}: no `//! expect` line says what is right", source.name));
    }
    let complaints: Vec<String> = expected.iter().filter_map(|expected| compare(&source, expected).err()).collect();
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

fn compare(source: &Arc<Source>, expected: &Expectation) -> Result<(), String> {
    let program = ut::parse(source.clone(), &expected.defines)
        .map_err(|mistakes| diagnostics(source, &mistakes, Style::PLAIN))?;
    let report = check(&program, &Options::new(expected.memory), &Unwatched);
    let line = source.line_text(expected.span.start);
    let differences: Vec<String> = differences(&report, expected).collect();
    let complain = |what: String| format!("{}: {}: `{line}`, but {what}", source.name, expected.memory);
    if differences.is_empty() { Ok(()) } else { Err(complain(differences.join(", "))) }
}

fn differences(report: &Report, expected: &Expectation) -> impl Iterator<Item = String> {
    let kind = report.violations.first().map(|violation| violation.kind.name());
    let found = report.observations.iter().all(|observation| observation.witness.is_some());
    let differs = |what: &str, expected: Option<u64>, is: u64| {
        expected.filter(|&expected| expected != is).map(|_| format!("{what} are {is}"))
    };
    let verdict = (report.verdict() != expected.verdict)
        .then(|| format!("the verdict is {} ({})", report.verdict().name(), report.stop.name()));
    let violation = (expected.violation.is_some() && expected.violation.as_deref() != kind)
        .then(|| format!("the violation is {}", kind.unwrap_or("not there")));
    let exists = expected.exists.filter(|&exists| exists != found).map(|_| format!("exists is {found}"));
    let counts = [
        differs("values", expected.values, report.final_memories() as u64),
        differs("finals", expected.finals, report.final_states.len() as u64),
        differs("executions", expected.executions, report.statistics.executions),
    ];
    [verdict, violation, exists].into_iter().chain(counts).flatten()
}
