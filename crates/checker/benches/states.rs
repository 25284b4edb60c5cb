//! How many states per second the `exhaustive` engine visits: Lamport's bakery, under TSO.

use std::sync::Arc;
use unthread_checker::base::{Source, Span};
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::program::{
    Access, BinaryOp, Cell, Expr, Instr, Loop, Ordering, Pc, Place, Program, Reg, Routine, Start, validate,
};
use unthread_checker::search::{Options, Unwatched};

fn main() {
    divan::main();
}

/// Threads and rounds.
#[divan::bench(args = [(2, 6), (3, 1), (3, 2)], sample_count = 3, sample_size = 1)]
fn bakery_under_tso(bencher: divan::Bencher, (threads, rounds): (u32, u32)) {
    let program = bakery(threads, rounds);
    let run = || check(&program, &Options { all_violations: true, ..Options::new(MemoryModel::Tso) }, &Unwatched);
    let states = run().statistics.states;
    bencher.counter(divan::counter::ItemsCount::new(states)).bench(run);
}

const MINE: Reg = Reg(0);
const SEEN: Reg = Reg(1);

/// Cells: `choosing` and `number` of each thread, and how many are inside.
fn bakery(threads: u32, rounds: u32) -> Program {
    let cell = |index: u32| Cell { name: format!("cell{index}"), initial: 0, access: Access::Atomic };
    let program = Program {
        name: "bakery".into(),
        source: Arc::new(Source::new("bakery", "")),
        cells: (0..=2 * threads).map(cell).collect(),
        locks: vec![],
        condvars: vec![],
        routines: (0..threads).map(|me| customer(me, threads, rounds)).collect(),
        initial: (0..threads as usize)
            .map(|routine| Start { name: format!("c{routine}"), routine, arguments: vec![] })
            .collect(),
        finally: None,
        conditions: vec![],
        automata: None,
    };
    validate(&program).expect("the program is well formed");
    program
}

fn customer(me: u32, threads: u32, rounds: u32) -> Routine {
    let (choosing, number, inside) = (|of: u32| of, |of: u32| threads + of, 2 * threads);
    let mut code = Vec::new();
    let mut loops = Vec::new();
    for _ in 0..rounds {
        code.extend([store(choosing(me), 1.into()), fence(), Instr::Assign { dst: MINE, value: 0.into() }]);
        for other in 0..threads {
            code.push(load(SEEN, number(other)));
            let end = code.len() as Pc + 2;
            let larger = Expr::from(SEEN).binary(BinaryOp::Gt, MINE.into());
            code.push(Instr::Branch { condition: larger, then: end - 1, otherwise: end });
            code.push(Instr::Assign { dst: MINE, value: SEEN.into() });
        }
        code.push(Instr::Assign { dst: MINE, value: Expr::from(MINE).binary(BinaryOp::Add, 1.into()) });
        code.extend([store(number(me), MINE.into()), fence(), store(choosing(me), 0.into())]);
        for other in (0..threads).filter(|&other| other != me) {
            spin(&mut code, &mut loops, choosing(other), SEEN.into());
            // The thread with the smaller number, or the same and a smaller index, goes first.
            let op = if other < me { BinaryOp::Le } else { BinaryOp::Lt };
            let waits = Expr::from(SEEN).binary(op, MINE.into()).binary(BinaryOp::And, SEEN.into());
            spin(&mut code, &mut loops, number(other), waits);
        }
        let alone = Expr::from(SEEN).binary(BinaryOp::Eq, 0.into());
        code.extend([
            load(SEEN, inside),
            Instr::Assert { condition: alone, message: "two are inside".into() },
            store(inside, 1.into()),
            store(inside, 0.into()),
            store(number(me), 0.into()),
        ]);
    }
    code.push(Instr::End);
    Routine {
        name: format!("c{me}"),
        parameters: 0,
        registers: vec!["mine".into(), "seen".into()],
        spans: vec![Span::default(); code.len()],
        code,
        loops,
        observed: vec![],
    }
}

/// Reads the cell until the condition on what was seen does not hold.
fn spin(code: &mut Vec<Instr>, loops: &mut Vec<Loop>, cell: u32, condition: Expr) {
    let head = code.len() as Pc;
    code.push(load(SEEN, cell));
    code.push(Instr::Branch { condition, then: head, otherwise: head + 2 });
    loops.push(Loop { head, end: head + 2, span: Span::default() });
}

fn load(dst: Reg, cell: u32) -> Instr {
    Instr::Load { dst, place: Place::Cell(cell), ordering: Ordering::Relaxed }
}

fn store(cell: u32, value: Expr) -> Instr {
    Instr::Store { place: Place::Cell(cell), value, ordering: Ordering::Relaxed }
}

fn fence() -> Instr {
    Instr::Fence { ordering: Ordering::SeqCst }
}
