//! Which steps concern nobody else, now or later: taking one of them first loses nothing (partial order reduction).
//!
//! For every instruction, what its thread can still read and write from there on is known beforehand, as far as places are known before
//! the program runs. A thread all of whose next steps touch only what no other thread can still change (or, for a store, see) goes
//! first, alone. Whatever the others do, including any attack, they can do after it just as well: a step that an attack begins with, ends
//! with or is closed by touches what another thread touches later.

use super::emulation::{Mode, Object, Touched};
use crate::program::{Expr, ExprOver, Instr, Loc, Pc, Place, Program};
use rustc_hash::FxHashMap;

/// What threads can still do, by the instruction that they are at.
pub(super) struct Futures {
    cells: FxHashMap<Loc, usize>,
    futures: Vec<Vec<Future>>,
}

/// What a thread can still read and write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Future {
    reads: Cells,
    writes: Cells,
    frees: bool,
}

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

    fn contains(&self, cell: Option<usize>) -> bool {
        let is_known = |cell: usize| self.known.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1);
        self.unknown || cell.is_some_and(is_known)
    }
}

impl Futures {
    pub(super) fn of(program: &Program) -> Futures {
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

    /// Whether a thread that is at an instruction can still get in the way of a step that touches this.
    pub(super) fn concerns(&self, (routine, pc): (u32, Pc), touched: &Touched) -> bool {
        let future = &self.futures[routine as usize][pc as usize];
        touched.iter().any(|&(object, mode)| match object {
            Object::Cell(loc) => {
                let cell = self.cells.get(&loc).copied();
                future.writes.contains(cell) || mode != Mode::Read && future.reads.contains(cell)
            }
            Object::Block(_) if mode == Mode::Read => future.frees,
            _ => true,
        })
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
