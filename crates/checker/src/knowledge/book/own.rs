//! Cells that only one thread writes. What that thread reads there it has written itself, in every memory model, so a read need not look for a source: the value is part of the thread's local state, as
//! a register would be, for as long as the thread may still read it.

use crate::base::{Loc, ThreadKey};
use crate::execution::Operation;
use crate::program::futures::Futures;
use crate::program::{ExprOver, Instr, Pc, Place, Program, Routine};
use rustc_hash::FxHashMap;

/// What a thread has last written to cells of its own, where that is not the initial value and may still be read; sorted.
pub(crate) type Own = Vec<(Loc, i64)>;

/// Who owns which cells.
pub(crate) struct Owners {
    /// By thread. Those that own nothing are not here.
    threads: FxHashMap<ThreadKey, Owner>,
}

struct Owner {
    /// The thread's cells, with their initial values.
    cells: Vec<(Loc, i64)>,
    /// For every instruction, which of them may be read from there on before they are written again.
    live: Vec<Vec<bool>>,
}

impl Owners {
    /// Analyses a valid program.
    pub(crate) fn of(program: &Program) -> Owners {
        let futures = Futures::of(program);
        let threads = (0..program.initial.len()).filter_map(|thread| {
            let owner = Owner::of(program, thread, &futures)?;
            Some((ThreadKey::initial(thread), owner))
        });
        Owners { threads: threads.collect() }
    }

    /// What a thread finds in a cell, if it is the thread's own.
    pub(crate) fn value(&self, thread: ThreadKey, loc: Loc, own: &Own) -> Option<i64> {
        let cell = self.threads.get(&thread)?.cells.iter().find(|cell| cell.0 == loc)?;
        Some(own.iter().find(|cell| cell.0 == loc).unwrap_or(cell).1)
    }

    /// What a thread has written when it has come to an instruction by an operation with this result.
    pub(crate) fn after(&self, thread: ThreadKey, operation: &Operation, result: i64, own: &Own, pc: Pc) -> Own {
        let Some(Owner { cells, live }) = self.threads.get(&thread) else { return vec![] };
        let written = operation.written(result);
        let live = cells.iter().zip(&live[pc as usize]).filter(|cell| *cell.1);
        let values = live.map(|(&(loc, initial), _)| {
            let value = match written {
                Some((at, value)) if at == loc => value,
                _ => own.iter().find(|cell| cell.0 == loc).map_or(initial, |cell| cell.1),
            };
            (loc, value, initial)
        });
        values.filter(|(_, value, initial)| value != initial).map(|(loc, value, _)| (loc, value)).collect()
    }
}

impl Owner {
    /// Nothing if the thread owns nothing that it reads.
    fn of(program: &Program, thread: usize, futures: &Futures) -> Option<Owner> {
        let number = program.initial[thread].routine;
        let starts = program.initial.iter().filter(|start| start.routine == number).count();
        let forks = |instr: &Instr| matches!(instr, Instr::Fork { routine, .. } if *routine == number);
        if starts != 1 || program.finally == Some(number) || program.routines.iter().any(|r| r.code.iter().any(forks)) {
            return None;
        }
        let may_write = |routine: usize, loc: Loc| futures.at(routine, 0).may_write(futures.named(loc));
        let others = |loc: Loc| (0..program.routines.len()).any(|other| other != number && may_write(other, loc));
        let cells = program.cells.iter().enumerate().map(|(at, cell)| (Loc::global(at), cell.initial));
        let reads = |loc: Loc| futures.at(number, 0).may_read(futures.named(loc));
        let cells: Vec<_> = cells.filter(|&(loc, _)| may_write(number, loc) && reads(loc) && !others(loc)).collect();
        let live = live(&program.routines[number], &cells);
        (!cells.is_empty()).then_some(Owner { cells, live })
    }
}

/// For every instruction, which cells may be read from there on before they are written again.
fn live(routine: &Routine, cells: &[(Loc, i64)]) -> Vec<Vec<bool>> {
    let mut live = vec![vec![false; cells.len()]; routine.code.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..routine.code.len()).rev() {
            let instr = &routine.code[pc];
            for (at, &(loc, _)) in cells.iter().enumerate() {
                let later = || instr.successors(pc as Pc).any(|next| live[next as usize][at]);
                let is_live = match instr {
                    Instr::Load { place, .. } | Instr::Rmw { place, .. } | Instr::Cas { place, .. }
                        if may_be(place, loc) =>
                    {
                        true
                    }
                    Instr::Store { place, .. } if is_certainly(place, loc) => false,
                    _ => later(),
                };
                changed |= live[pc][at] != is_live;
                live[pc][at] = is_live;
            }
        }
    }
    live
}

fn may_be(place: &Place, loc: Loc) -> bool {
    match place {
        Place::Cell(cell) => Loc::global(*cell as usize) == loc,
        Place::Element { base, length, .. } => {
            loc.as_global().is_some_and(|cell| (*base as usize..(*base + *length) as usize).contains(&cell))
        }
        Place::Deref { .. } => true,
    }
}

fn is_certainly(place: &Place, loc: Loc) -> bool {
    match place {
        Place::Cell(_) => may_be(place, loc),
        Place::Element { base, index: ExprOver::Const(index), .. } => {
            Loc::global((i64::from(*base) + index) as usize) == loc
        }
        Place::Element { .. } | Place::Deref { .. } => false,
    }
}
