//! What threads can still do: for every instruction, what its thread can read and write from there on, as far as places are known before the program runs.
//!
//! Searches of states use it to let steps go first that are independent of all other threads (`engines/states/alone.rs`, `engines/lazy/search/`).

use super::{Expr, ExprOver, Instr, Pc, Place, Program};
use crate::base::Loc;
use rustc_hash::FxHashMap;

/// What threads can still do, by the instruction that they are at.
pub(crate) struct Futures {
    cells: FxHashMap<Loc, usize>,
    futures: Vec<Vec<Future>>,
}

/// What a thread can still read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Future {
    reads: Cells,
    writes: Cells,
    frees: bool,
}

/// A cell by its number, if some instruction names it. Others are reached through pointers alone.
pub(crate) type Named = Option<usize>;

/// A set of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cells {
    /// Places that are known only when the program runs.
    unknown: bool,
    known: Vec<u64>,
}

impl Cells {
    fn add(&mut self, cell: usize) {
        if self.known.len() <= cell / 64 {
            self.known.resize(cell / 64 + 1, 0);
        }
        self.known[cell / 64] |= 1 << (cell % 64);
    }

    fn add_all(&mut self, other: &Cells) {
        self.unknown |= other.unknown;
        if self.known.len() < other.known.len() {
            self.known.resize(other.known.len(), 0);
        }
        self.known.iter_mut().zip(&other.known).for_each(|(word, other)| *word |= other);
    }

    fn contains(&self, cell: Named) -> bool {
        let is_known = |cell: usize| self.known.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1);
        self.unknown || cell.is_some_and(is_known)
    }
}

impl Future {
    /// Whether the thread can still write the cell.
    pub(crate) fn may_write(&self, cell: Named) -> bool {
        self.writes.contains(cell)
    }

    /// Whether the thread can still read the cell.
    pub(crate) fn may_read(&self, cell: Named) -> bool {
        self.reads.contains(cell)
    }

    /// Whether the thread can still free a block.
    pub(crate) fn may_free(&self) -> bool {
        self.frees
    }
}

impl Futures {
    /// Analyses a valid program.
    pub(crate) fn of(program: &Program) -> Futures {
        let futures = program.routines.iter().map(|routine| vec![Future::default(); routine.code.len()]);
        let mut found = Futures { cells: FxHashMap::default(), futures: futures.collect() };
        let mut changed = true;
        while changed {
            changed = false;
            for (number, routine) in program.routines.iter().enumerate() {
                for pc in (0..routine.code.len()).rev() {
                    let future = found.from(number, pc, &routine.code[pc]);
                    changed |= found.futures[number][pc] != future;
                    found.futures[number][pc] = future;
                }
            }
        }
        found
    }

    /// What a thread can still do that is at an instruction.
    pub(crate) fn at(&self, routine: usize, pc: Pc) -> &Future {
        &self.futures[routine][pc as usize]
    }

    /// A cell's number.
    pub(crate) fn named(&self, loc: Loc) -> Named {
        self.cells.get(&loc).copied()
    }

    fn from(&mut self, routine: usize, pc: usize, instr: &Instr) -> Future {
        let mut future = Future::default();
        for next in instr.successors(pc as Pc) {
            let next = &self.futures[routine][next as usize];
            future.reads.add_all(&next.reads);
            future.writes.add_all(&next.writes);
            future.frees |= next.frees;
        }
        match instr {
            Instr::Load { place, .. } => self.add(place, &mut future.reads),
            Instr::Store { place, .. } => self.add(place, &mut future.writes),
            Instr::Rmw { place, .. } | Instr::Cas { place, .. } => {
                self.add(place, &mut future.reads);
                self.add(place, &mut future.writes);
            }
            Instr::Fork { routine, .. } => {
                let child = &self.futures[*routine][0];
                future.reads.add_all(&child.reads);
                future.writes.add_all(&child.writes);
                future.frees |= child.frees;
            }
            Instr::Free { .. } => (future.writes.unknown, future.frees) = (true, true),
            _ => {}
        }
        future
    }

    fn add(&mut self, place: &Place, cells: &mut Cells) {
        let mut add = |loc: Loc| {
            let next = self.cells.len();
            cells.add(*self.cells.entry(loc).or_insert(next));
        };
        match place {
            Place::Cell(cell) => add(Loc::global(*cell as usize)),
            Place::Element { base, length, index } => {
                let known = constant(index).filter(|index| (0..i64::from(*length)).contains(index));
                match known {
                    Some(index) => add(Loc::global(*base as usize + index as usize)),
                    None => (*base..*base + *length).for_each(|cell| add(Loc::global(cell as usize))),
                }
            }
            Place::Deref { pointer, offset, .. } => match constant(pointer).and_then(Loc::from_pointer) {
                Some(loc) => add(loc.offset(*offset)),
                None => cells.unknown = true,
            },
        }
    }
}

fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        ExprOver::Const(value) => Some(*value),
        _ => None,
    }
}
