//! Programs that once went wrong, each small enough to be understood.

use std::sync::Arc;
use unthread_checker::base::{Loc, Source, Span};
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::{
    Access, BinaryOp, Cell, Expr, Instr, Ordering, Place, Program, Reg, RmwOp, Routine, Start, validate,
};
use unthread_checker::search::{Engine, Options, Report, Unwatched};
use unthread_generate::Statement::{Alloc, Free};
use unthread_generate::{CellSketch, Parent, PlaceSketch, Sketch, Statement, ThreadSketch, Value, Var};

const X: PlaceSketch = PlaceSketch::Cell(0);
const Y: PlaceSketch = PlaceSketch::Cell(1);
const P0: PlaceSketch = PlaceSketch::Target(0);

fn load(dst: u8, place: PlaceSketch) -> Statement {
    Statement::Load { dst: Var::R(dst), place, ordering: Ordering::Relaxed }
}

fn store(place: PlaceSketch, value: i64) -> Statement {
    Statement::Store { place, value: Value::Const(value), ordering: Ordering::Relaxed }
}

fn until(place: PlaceSketch, value: i64) -> Statement {
    Statement::Spin { place, value, until_equal: true, yields: false }
}

/// A plain `x`, an atomic `y`, and these threads, each forked first thing by the one before it if asked for.
fn sketch(forked: bool, bodies: Vec<Vec<Statement>>) -> Sketch {
    let thread = |(index, body): (usize, Vec<Statement>)| ThreadSketch {
        name: format!("w{index}"),
        parent: (forked && index > 0).then(|| Parent { thread: index - 1, at: 1, join: false }),
        body,
    };
    let cell = |name, access| CellSketch { name, initial: 0, access };
    Sketch {
        cells: vec![cell("x", Access::Plain), cell("y", Access::Atomic)],
        threads: bodies.into_iter().enumerate().map(thread).collect(),
        finally: vec![],
        observed: true,
        condition: None,
    }
}

fn report(program: &Program, memory: MemoryModel) -> Report {
    validate(program).unwrap();
    check(program, &Options { all_violations: true, ..Options::new(memory) }, &Unwatched)
}

/// What is wrong, as kind, thread, and the line in the source.
fn findings(program: &Program, memory: MemoryModel) -> Vec<String> {
    let report = report(program, memory);
    assert_eq!(report.stop.name(), "exhausted", "{:?}", report.stop);
    let line = |span: Span| program.source.line_text(span.start).trim().to_string();
    let show = |v: &unthread_checker::search::Violation| {
        format!("{}: {}: {}", v.kind.name(), v.thread.as_deref().unwrap_or(""), line(v.span.unwrap()))
    };
    report.violations.iter().map(show).collect()
}

/// A program with one atomic cell and one thread.
fn one_thread(registers: u16, code: Vec<Instr>) -> Program {
    let routine = |name: &str, parameters, code: Vec<Instr>| Routine {
        name: name.into(),
        parameters,
        registers: (0..registers).map(|r| format!("r{r}")).collect(),
        spans: vec![Span::default(); code.len()],
        code,
        loops: vec![],
        observed: vec![],
    };
    Program {
        name: "one thread".into(),
        source: Arc::new(Source::new("", "")),
        cells: vec![Cell { name: "x".into(), initial: 0, access: Access::Atomic }],
        locks: vec![],
        condvars: vec![],
        routines: vec![routine("main", 0, code), routine("child", 1, vec![Instr::End])],
        initial: vec![Start { name: "main".into(), routine: 0, arguments: vec![] }],
        finally: None,
        conditions: vec![],
        automata: None,
    }
}

#[test]
fn a_grandchild_can_allocate() {
    let sketch = sketch(true, vec![vec![load(0, Y)], vec![load(0, Y)], vec![Alloc, store(P0, 1)]]);
    assert_eq!(findings(&sketch.program(), MemoryModel::Sc), [""; 0]);
}

#[test]
fn an_exchange_behind_the_last_cell_is_a_failure() {
    let beyond = Place::Deref { pointer: Loc::global(0).pointer().into(), offset: 1, access: Access::Atomic };
    let cas = |place| {
        let (success, failure) = (Ordering::SeqCst, Ordering::SeqCst);
        Instr::Cas { dst: Reg(0), place, expected: 0.into(), desired: 1.into(), success, failure }
    };
    let program = one_thread(1, vec![cas(beyond), Instr::End]);
    assert_eq!(findings(&program, MemoryModel::Tso), ["invalid-pointer: main: "]);
}

#[test]
fn a_fork_whose_argument_divides_by_zero_fails() {
    let quotient = Expr::from(1).binary(BinaryOp::Div, Reg(0).into());
    let program = one_thread(1, vec![Instr::Fork { dst: None, routine: 1, arguments: vec![quotient] }, Instr::End]);
    assert_eq!(findings(&program, MemoryModel::Sc), ["division-by-zero: main: "]);
}

#[test]
fn more_to_choose_from_than_can_be_tried_is_a_failure() {
    for (low, high) in [(0, 1 << 40), (i64::MIN, i64::MAX)] {
        let program =
            one_thread(1, vec![Instr::Choose { dst: Reg(0), low: low.into(), high: high.into() }, Instr::End]);
        assert_eq!(findings(&program, MemoryModel::Tso), ["out-of-resources: main: "]);
    }
}

#[test]
fn an_endless_local_loop_is_not_taken_for_a_failed_assertion_or_assumption() {
    // Loops of several lengths, so that the bound is met at each of their instructions.
    for nops in 0..4 {
        let check =
            [Instr::Assert { condition: 1.into(), message: "never".into() }, Instr::Assume { condition: 1.into() }];
        let nop = Instr::Assign { dst: Reg(0), value: 0.into() };
        let code = [vec![nop; nops], check.to_vec(), vec![Instr::Jump { target: 0 }]].concat();
        assert_eq!(findings(&one_thread(1, code), MemoryModel::Sc), ["out-of-resources: main: "]);
    }
}

#[test]
fn a_store_that_reaches_a_freed_block_is_reported_where_it_stands() {
    let sketch = sketch(true, vec![vec![Alloc, store(P0, 1), load(0, Y)], vec![Free]]);
    let mut findings = findings(&sketch.program(), MemoryModel::Tso);
    findings.sort();
    assert_eq!(findings, ["use-after-free: w0: p[0] = 1 (Relaxed)"]);
}

#[test]
fn pso_lets_a_plain_store_race_with_who_saw_a_later_flag() {
    let sketch = sketch(false, vec![vec![store(X, 1), store(Y, 1)], vec![until(Y, 1), load(0, X)]]);
    assert_eq!(findings(&sketch.program(), MemoryModel::Sc), [""; 0]);
    assert_eq!(findings(&sketch.program(), MemoryModel::Tso), [""; 0]);
    assert_eq!(findings(&sketch.program(), MemoryModel::Pso), ["data-race: w0: x = 1 (Relaxed)"]);
}

#[test]
fn two_waiting_stores_of_one_value_race_each_by_itself() {
    let swap = Statement::Rmw {
        dst: Var::R(0),
        place: X,
        op: RmwOp::Swap,
        operand: Value::Const(0),
        ordering: Ordering::Relaxed,
    };
    let threads = vec![vec![load(1, X), store(X, 0), load(0, X)], vec![load(0, X), store(X, 0), swap]];
    let program = sketch(false, threads).program();
    for engine in [Engine::Exhaustive, Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
        let options = Options { engine, all_violations: true, ..Options::new(MemoryModel::Pso) };
        let report = check(&program, &options, &Unwatched);
        assert_eq!(report.violations.len(), 7, "{engine}: all pairs but those of two loads");
    }
}

#[test]
fn spinning_on_a_freed_cell_is_use_after_free_and_no_livelock() {
    let sketch = sketch(true, vec![vec![Alloc, Free], vec![until(P0, 1)]]);
    assert_eq!(findings(&sketch.program(), MemoryModel::Sc), ["use-after-free: w1: while p[0] != 1 {}"]);
}
