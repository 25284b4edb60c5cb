//! Which stores may wait while which loads of their thread go ahead.

use crate::execution::{Interpreter, IrThread};
use crate::program::{Instr, Ordering, Pc, Program, Routine};
use rustc_hash::FxHashSet;

/// An instruction: a routine, and where in its code.
pub(crate) type Site = (u32, Pc);

/// Pairs of a store and a load of the same thread: the store may wait while the load goes ahead.
///
/// The programs that searches look at are the given one with these delays built in. Without any, threads take turns (SC); with all,
/// this is TSO. What is built in adds nothing that TSO cannot do, so that of a program with some delays TSO makes the
/// same as of the program without.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    pairs: FxHashSet<(Site, Site)>,
    stores: FxHashSet<Site>,
}

impl Delays {
    /// Whether nothing may wait.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// How many pairs there are.
    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Adds a pair. Says whether it is new.
    pub(crate) fn add(&mut self, store: Site, load: Site) -> bool {
        self.stores.insert(store);
        self.pairs.insert((store, load))
    }

    /// Whether the store may wait while the load goes ahead.
    pub(crate) fn allow(&self, store: Site, load: Site) -> bool {
        self.pairs.contains(&(store, load))
    }

    /// Whether the store may wait at all.
    pub(crate) fn may_wait(&self, store: Site) -> bool {
        self.stores.contains(&store)
    }
}

/// The instruction that a thread is at.
pub(crate) fn site(subject: &Interpreter<'_>, thread: &IrThread) -> Site {
    let (routine, pc) = subject.site(thread);
    (routine as u32, pc)
}

/// Whether some store can wait while a later load of its thread goes ahead, as far as the code alone tells. If none can, TSO is SC.
pub(crate) fn can_delay(program: &Program) -> bool {
    program.routines.iter().any(|routine| {
        let stores = (0..routine.code.len()).filter(|&pc| is_buffered(&routine.code[pc]));
        stores.into_iter().any(|store| reaches_load(routine, store as Pc))
    })
}

fn reaches_load(routine: &Routine, store: Pc) -> bool {
    let mut seen = vec![false; routine.code.len()];
    let mut work = vec![store];
    while let Some(pc) = work.pop() {
        for next in routine.code[pc as usize].successors(pc) {
            let instr = &routine.code[next as usize];
            if matches!(instr, Instr::Load { .. }) {
                return true;
            }
            if !drains(instr) && !std::mem::replace(&mut seen[next as usize], true) {
                work.push(next);
            }
        }
    }
    false
}

fn is_buffered(instr: &Instr) -> bool {
    matches!(instr, Instr::Store { ordering, .. } if *ordering != Ordering::SeqCst)
}

/// Whether every store of the thread has reached memory once the instruction is done (`execution/memory.rs`).
fn drains(instr: &Instr) -> bool {
    match instr {
        Instr::Store { ordering, .. } | Instr::Fence { ordering } => *ordering == Ordering::SeqCst,
        Instr::Assign { .. }
        | Instr::Jump { .. }
        | Instr::Branch { .. }
        | Instr::Alloc { .. }
        | Instr::Assert { .. }
        | Instr::Assume { .. }
        | Instr::Panic { .. }
        | Instr::Load { .. }
        | Instr::Choose { .. }
        | Instr::Yield => false,
        _ => true,
    }
}
