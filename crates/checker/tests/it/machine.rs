//! The three machines on hand-written programs: what they may and may not do.

use std::sync::Arc;
use unthread_checker::base::{Source, Span};
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::Ordering::Relaxed;
use unthread_checker::program::{Access, Cell, Instr, Place, Program, Reg, Routine, Start, validate};
use unthread_checker::search::{Options, Unwatched};

/// A program whose threads are these straight-line codes over cells `x` and `y`, each with registers r0 and r1 observed.
fn program(threads: Vec<Vec<Instr>>) -> Program {
    let cell = |name: &str| Cell { name: name.into(), initial: 0, access: Access::Atomic };
    let routine = |code: Vec<Instr>| Routine {
        name: "t".into(),
        parameters: 0,
        registers: vec!["r0".into(), "r1".into()],
        spans: vec![Span::default(); code.len()],
        code,
        loops: vec![],
        observed: vec![Reg(0), Reg(1)],
    };
    let start = |routine: usize| Start { name: format!("t{routine}"), routine, arguments: vec![] };
    let program = Program {
        name: "test".into(),
        source: Arc::new(Source::new("test", "")),
        cells: vec![cell("x"), cell("y")],
        locks: vec![],
        condvars: vec![],
        initial: (0..threads.len()).map(start).collect(),
        routines: threads.into_iter().map(routine).collect(),
        finally: None,
        conditions: vec![],
        automata: None,
    };
    validate(&program).unwrap();
    program
}

fn store(cell: u32, value: i64) -> Instr {
    Instr::Store { place: Place::Cell(cell), value: value.into(), ordering: Relaxed }
}

fn load(dst: u16, cell: u32) -> Instr {
    Instr::Load { dst: Reg(dst), place: Place::Cell(cell), ordering: Relaxed }
}

/// Number of distinct combinations of registers at the end, under SC, TSO and PSO.
fn outcomes(threads: Vec<Vec<Instr>>) -> [usize; 3] {
    let program = program(threads);
    MemoryModel::MACHINES.map(|memory| check(&program, &Options::new(memory), &Unwatched).final_states.len())
}

#[test]
fn tso_allows_store_buffering() {
    let threads = vec![vec![store(0, 1), load(0, 1), Instr::End], vec![store(1, 1), load(0, 0), Instr::End]];
    assert_eq!(outcomes(threads), [3, 4, 4]);
}

#[test]
fn only_pso_reorders_stores() {
    let threads = vec![vec![store(0, 1), store(1, 1), Instr::End], vec![load(0, 1), load(1, 0), Instr::End]];
    assert_eq!(outcomes(threads), [3, 3, 4]);
}

#[test]
fn a_thread_sees_its_own_store_before_others_do() {
    let thread = |mine, other| vec![store(mine, 1), load(0, mine), load(1, other), Instr::End];
    assert_eq!(outcomes(vec![thread(0, 1), thread(1, 0)]), [3, 4, 4]);
}
