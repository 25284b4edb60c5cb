//! The programs that other tools ran, with the numbers of an independent brute-force count of them.

use crate::tell_skipped;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::{Instr, Pc, Program};
use unthread_checker::search::{Engine, Options, Report, StopReason, Unwatched};

/// Where the count has no opinion about the condition on final states: it was counted without.
const UNCHECKED: [&str; 3] = ["sb", "sb_rfi", "w22"];

/// Engine `mcr` is compared where there are no more combinations of histories than this.
const MODERATE: u64 = 800;

/// One line of the count.
struct Row {
    line: String,
    program: String,
    defines: BTreeMap<String, i64>,
    memory: MemoryModel,
    traces: u64,
    values: u64,
    finals: u64,
    violation: bool,
}

#[test]
fn exhaustive_search_reproduces_an_independent_count() {
    for row in rows() {
        let mut options = Options { all_violations: true, count_histories: true, ..Options::new(row.memory) };
        // Without loops that store for ever, buffers need no bound.
        options.rules.max_buffer = 64;
        let report = counted(&row, &options);
        let counted = (row.values, row.finals, row.violation);
        let values = report.statistics.histories.expect("they are finite");
        let is = (values, report.final_memories() as u64, is_wrong(&row, &options));
        assert_eq!(is, counted, "{}", row.line);
    }
}

#[test]
fn mcr_runs_each_combination_of_an_independent_count_once() {
    for row in rows().into_iter().filter(|row| row.values <= MODERATE) {
        let options = Options { all_violations: true, engine: Engine::Mcr, ..Options::new(row.memory) };
        let report = counted(&row, &options);
        let counted = (row.values, row.finals, row.violation);
        let is = (report.statistics.executions, report.final_memories() as u64, is_wrong(&row, &options));
        assert_eq!(is, counted, "{}", row.line);
    }
}

#[test]
fn dpor_runs_each_trace_of_an_independent_count_once() {
    for row in rows() {
        let options = Options { all_violations: true, engine: Engine::Dpor, ..Options::new(row.memory) };
        let report = counted(&row, &options);
        let counted = (row.traces, 0, row.finals, row.violation);
        let done = report.statistics;
        let finals = report.final_memories() as u64;
        let is = (done.executions, done.redundant, finals, is_wrong(&row, &options));
        assert_eq!(is, counted, "{}", row.line);
    }
}

/// Checks the program as it was counted: threads went on after assertions that failed. So they are left out.
fn counted(row: &Row, options: &Options) -> Report {
    let mut program = program(row);
    for routine in &mut program.routines {
        for (pc, instr) in routine.code.iter_mut().enumerate() {
            if let Instr::Assert { .. } = instr {
                *instr = Instr::Jump { target: pc as Pc + 1 };
            }
        }
    }
    let report = check(&program, options, &Unwatched);
    assert_eq!(report.stop, StopReason::Exhausted, "{}", row.line);
    report
}

/// Whether something is wrong with the program, with its assertions.
fn is_wrong(row: &Row, options: &Options) -> bool {
    let options = Options { all_violations: false, count_histories: false, ..options.clone() };
    !check(&program(row), &options, &Unwatched).violations.is_empty()
}

fn rows() -> Vec<Row> {
    let file = Path::new(env!("CARGO_WORKSPACE_DIR")).join("../shared/peers/oracle.csv");
    let Ok(text) = std::fs::read_to_string(&file) else {
        tell_skipped(&format!("there is no {}; the programs' own expectations hold the small ones", file.display()));
        return Vec::new();
    };
    let rows: Vec<Row> = text.lines().skip(1).map(row).collect();
    assert!(!rows.is_empty(), "the count is empty");
    rows
}

/// `program,n,fenced,model,rfco,rf,values,finals,violation,states`
fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |at: usize| fields[at].parse::<i64>().expect("a number");
    let count = |at: usize| number(at).try_into().expect("a count");
    let mut defines = BTreeMap::from([("FENCED".to_string(), number(2))]);
    // 0: the program has no size.
    if number(1) > 0 {
        defines.insert("N".to_string(), number(1));
    }
    if UNCHECKED.contains(&fields[0]) {
        defines.insert("CHECK".to_string(), 0);
    }
    Row {
        line: line.to_string(),
        program: fields[0].to_string(),
        defines,
        memory: fields[3].parse().expect("a memory model"),
        traces: count(4),
        values: count(6),
        finals: count(7),
        violation: number(8) == 1,
    }
}

fn program(row: &Row) -> Program {
    let name = if row.program == "fib" { "fib_bench" } else { &row.program };
    let file: PathBuf = [env!("CARGO_WORKSPACE_DIR"), "corpus/programs/peers", name].iter().collect();
    let file = file.with_extension("ut");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let source = Arc::new(Source::new(file.display().to_string(), text));
    ut::parse(source, &row.defines).unwrap_or_else(|mistakes| panic!("{}: {mistakes:?}", row.line))
}
