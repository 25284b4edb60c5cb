//! Every program of the corpus has the verdicts that it says it has.

use crate::retries::Patience;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::frontend::ut;
use unthread_checker::frontend::ut::Expectation;
use unthread_checker::program::Program;
use unthread_checker::report::{Style, diagnostics};
use unthread_checker::search::{Engine, Options, Report, StopReason, Unwatched};
use walkdir::WalkDir;

#[test]
fn algorithms_are_judged_as_they_expect() {
    judge_all(|folder| !["papers", "peers"].contains(&folder));
}

#[test]
fn programs_of_the_papers_are_judged_as_they_expect() {
    judge_all(|folder| folder == "papers");
}

#[test]
fn programs_that_other_tools_ran_are_judged_as_they_expect() {
    judge_all(|folder| folder == "peers");
}

/// Judges the programs in the folders that are wanted, by name.
fn judge_all(wanted: impl Fn(&str) -> bool) {
    let in_wanted =
        |path: &PathBuf| path.parent().and_then(Path::file_name).is_some_and(|f| wanted(&f.to_string_lossy()));
    let files: Vec<PathBuf> = programs().filter(in_wanted).collect();
    assert!(!files.is_empty(), "there are no programs");
    let complaints: Vec<String> = files.iter().filter_map(|file| judge(file).err()).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

fn programs() -> impl Iterator<Item = PathBuf> {
    let folder = Path::new(env!("CARGO_WORKSPACE_DIR")).join("corpus/programs");
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.expect("it is readable"));
    // Links are second names of programs that are there anyway.
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(walkdir::DirEntry::into_path).filter(|path| path.extension().is_some_and(|e| e == "ut"))
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
    let mut options = Options::new(expected.memory);
    if expected.values.is_some() || expected.finals.is_some() {
        // What is counted is counted to the end, and what can be counted does not store for ever.
        (options.all_violations, options.count_histories) = (true, true);
        options.rules.max_buffer = 64;
    }
    let report = check(&program, &options, &Unwatched);
    let mut differences: Vec<String> = differences(&report, expected).collect();
    if expected.values.is_some() {
        differences.extend(disagreements(&program, &options, &report));
    }
    let line = source.line_text(expected.span.start);
    let complain = |what: String| format!("{}: {}: `{line}`, but {what}", source.name, expected.memory);
    if differences.is_empty() { Ok(()) } else { Err(complain(differences.join(", "))) }
}

fn differences(report: &Report, expected: &Expectation) -> impl Iterator<Item = String> {
    let kind = report.violations.first().map(|violation| violation.kind.name());
    let found = report.observations.iter().all(|observation| observation.witness.is_some());
    let differs = |what: &str, expected: Option<u64>, is: Option<u64>| {
        expected.filter(|_| expected != is).map(|_| format!("{what} are {is:?}"))
    };
    let verdict = (report.verdict() != expected.verdict)
        .then(|| format!("the verdict is {} ({})", report.verdict().name(), report.stop.name()));
    let violation = (expected.violation.is_some() && expected.violation.as_deref() != kind)
        .then(|| format!("the violation is {}", kind.unwrap_or("not there")));
    let exists = expected.exists.filter(|&exists| exists != found).map(|_| format!("exists is {found}"));
    let counts = [
        differs("values", expected.values, report.statistics.histories),
        differs("finals", expected.finals, Some(report.final_memories() as u64)),
    ];
    [verdict, violation, exists].into_iter().chain(counts).flatten()
}

/// Where engines that learn from executions differ from what an exhaustive search found.
fn disagreements(program: &Program, options: &Options, exhaustive: &Report) -> impl Iterator<Item = String> + use<> {
    let kinds = |report: &Report| report.violations.iter().map(|violation| violation.kind).collect::<BTreeSet<_>>();
    let mut found = vec![];
    for engine in [Engine::Mcr, Engine::Cumulative] {
        let options = Options { engine, ..options.clone() };
        let report = match engine {
            // What takes long to learn is left out.
            Engine::Cumulative => check(program, &options, &Patience::new(2_000)),
            _ => check(program, &options, &Unwatched),
        };
        if report.stop == StopReason::Interrupted {
            continue;
        }
        let mut differ = |what: &str, is: String, same: bool| {
            found.extend((!same).then(|| format!("{engine} has {what} {is}")));
        };
        let verdict = format!("{} ({:?})", report.verdict().name(), report.stop);
        differ("verdict", verdict, report.stop == exhaustive.stop && report.verdict() == exhaustive.verdict());
        differ("violations", format!("{:?}", kinds(&report)), kinds(&report) == kinds(exhaustive));
        // Engine mcr needs one execution for each combination of histories, and has then seen all there is; cumulative looks only for what is asked.
        if engine == Engine::Mcr {
            let (memories, executions) = (report.final_memories(), report.statistics.executions);
            differ("final memories", memories.to_string(), memories == exhaustive.final_memories());
            differ("executions", executions.to_string(), Some(executions) == exhaustive.statistics.histories);
        }
    }
    found.into_iter()
}
