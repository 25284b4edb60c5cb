//! Which cells are plain. In C that is said by the access: `*x` is plain, `atomic_load(x)` is not. A program says it
//! of cells.

use std::collections::BTreeSet;

use crate::base::{Diagnostic, Loc};
use crate::program::{Access, Expr, Instr, Place, Program};

/// Declares cells plain to which all accesses are. Where a cell is accessed both ways, it stays atomic, and plain
/// accesses say so themselves. `plain` has the instructions of each routine that access memory plainly.
pub(super) fn declare(program: &mut Program, plain: &[BTreeSet<usize>]) -> Result<(), Diagnostic> {
    let mut is_plain = vec![plain.iter().any(|routine| !routine.is_empty()); program.cells.len()];
    for (routine, plain) in program.routines.iter().zip(plain) {
        let atomic = routine.code.iter().enumerate().filter(|(index, _)| !plain.contains(index));
        for place in atomic.filter_map(|(_, instr)| place(instr)) {
            cells(place, is_plain.len()).for_each(|cell| is_plain[cell] = false);
        }
    }
    for (routine, plain) in program.routines.iter_mut().zip(plain) {
        for &index in plain {
            let (Instr::Load { place, .. } | Instr::Store { place, .. }) = &mut routine.code[index] else { continue };
            if !cells(place, is_plain.len()).all(|cell| is_plain[cell]) {
                let what = "an array that is also accessed atomically needs a constant index here";
                *place = plainly(place).ok_or_else(|| Diagnostic::new(routine.spans[index], what))?;
            }
        }
    }
    for (cell, is_plain) in program.cells.iter_mut().zip(is_plain) {
        cell.access = if is_plain { Access::Plain } else { Access::Atomic };
    }
    Ok(())
}

fn place(instr: &Instr) -> Option<&Place> {
    match instr {
        Instr::Load { place, .. }
        | Instr::Store { place, .. }
        | Instr::Rmw { place, .. }
        | Instr::Cas { place, .. } => Some(place),
        _ => None,
    }
}

/// The cells that an access can be to. A computed pointer can point to any of them.
fn cells(place: &Place, all: usize) -> std::ops::Range<usize> {
    match (known(place), place) {
        (Some(cell), _) => cell..cell + 1,
        (None, Place::Element { base, length, .. }) => *base as usize..(*base + *length) as usize,
        (None, _) => 0..all,
    }
}

/// The one cell that an access is to, if that can be seen.
fn known(place: &Place) -> Option<usize> {
    match place {
        Place::Cell(cell) => Some(*cell as usize),
        Place::Element { base, length, index: Expr::Const(index) } => {
            (0..i64::from(*length)).contains(index).then(|| *base as usize + *index as usize)
        }
        _ => None,
    }
}

/// The same place, for an access that says itself that it is plain.
fn plainly(place: &Place) -> Option<Place> {
    let (pointer, offset) = match (known(place), place) {
        (Some(cell), _) => (Loc::global(cell).pointer().into(), 0),
        (None, Place::Deref { pointer, offset, .. }) => (pointer.clone(), *offset),
        (None, _) => return None,
    };
    Some(Place::Deref { pointer, offset, access: Access::Plain })
}
