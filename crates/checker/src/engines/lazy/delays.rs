//! Which stores may wait while which loads of their thread go ahead.
//!
//! The paper rewrites the program along the path of the witness. Pairs of a store and a load have the same effect, are
//! finitely many for programs with loops, too, and need no rewriting.

use crate::execution::{Comparable, MemoryModel};
use crate::program::{Instr, Ordering, Pc, Place, Program, Routine};
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
pub(crate) fn site<S: Comparable>(subject: &S, thread: &S::Thread) -> Site {
    let (routine, pc) = subject.instruction(thread);
    (routine as u32, pc)
}

/// Whether some store can wait while something later of its thread goes ahead, as far as the code alone tells. If none can, the memory
/// model is SC.
pub(crate) fn can_delay(program: &Program, memory: MemoryModel) -> bool {
    // A block can be freed between a store's issue and its arrival.
    if program.frees() {
        return true;
    }
    program.routines.iter().any(|routine| {
        let ahead = overtakers_ahead(program, routine, memory);
        let mut code = routine.code.iter().enumerate();
        code.any(|(pc, instr)| is_buffered(instr) && instr.successors(pc as Pc).any(|next| ahead[next as usize]))
    })
}

/// For each instruction of a routine, whether it can go ahead of a store, or one that can follows before the thread has to wait for its
/// stores. Loads can, and under PSO other stores. A store to a block that may be freed can, too: it finds the block there, or not, when it is issued.
pub(crate) fn overtakers_ahead(program: &Program, routine: &Routine, memory: MemoryModel) -> Vec<bool> {
    let frees = program.frees();
    let overtakes = |instr: &Instr| match instr {
        Instr::Load { .. } => true,
        Instr::Store { place: Place::Deref { .. }, .. } if frees => is_buffered(instr),
        _ => memory.reorders_stores() && is_buffered(instr),
    };
    let mut ahead: Vec<bool> = routine.code.iter().map(overtakes).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for pc in (0..routine.code.len()).rev() {
            let instr = &routine.code[pc];
            if !ahead[pc] && !drains(instr) && instr.successors(pc as Pc).any(|next| ahead[next as usize]) {
                (ahead[pc], changed) = (true, true);
            }
        }
    }
    ahead
}

fn is_buffered(instr: &Instr) -> bool {
    matches!(instr, Instr::Store { ordering, .. } if *ordering != Ordering::SeqCst)
}

/// Whether every store of the thread has reached memory once the instruction is done (`execution/memory/mod.rs`).
fn drains(instr: &Instr) -> bool {
    match instr {
        Instr::Store { ordering, .. } | Instr::Fence { ordering } => *ordering == Ordering::SeqCst,
        Instr::Panic { .. } | Instr::Load { .. } | Instr::Choose { .. } | Instr::Yield => false,
        _ => !instr.is_local(),
    }
}
