//! Spectators: threads that only read. No other thread can tell whether they are there, so a search looks at one of them at a time.
//!
//! What the other threads do does not depend on spectators, and what a spectator does depends on the others and on no other spectator. So everything that can go wrong with one of them goes wrong
//! while the rest of them have not begun, and these can begin when nothing else can happen: they do not wait for anybody and end. Final states are the same in each of these searches. Spectators with the same code and
//! arguments do the same, so that one of them is enough. Which *combinations* of what spectators do are possible is not seen, so this is no way to count those, nor to find
//! everything that is wrong: a deadlock names all threads that are stuck.

use crate::program::{Instr, Program};

/// The searches that are needed, each as the initial threads that it leaves out until nothing else can happen.
pub(crate) fn searches(program: &Program) -> Vec<Vec<bool>> {
    let joins = program.routines.iter().any(|routine| routine.code.iter().any(|i| matches!(i, Instr::Join { .. })));
    let is_spectator = |routine: usize| {
        let routine = &program.routines[routine];
        !joins && routine.observed.is_empty() && routine.code.iter().all(only_reads)
    };
    let spectators: Vec<usize> =
        (0..program.initial.len()).filter(|&thread| is_spectator(program.initial[thread].routine)).collect();
    let same = |a: usize, b: usize| {
        let (a, b) = (&program.initial[a], &program.initial[b]);
        (a.routine, &a.arguments) == (b.routine, &b.arguments)
    };
    let first_of_its_kind = |at: usize| !spectators[..at].iter().any(|&other| same(other, spectators[at]));
    let watched = (0..spectators.len()).filter(|&at| first_of_its_kind(at)).map(|at| spectators[at]);
    let left_out = |watched: usize| {
        (0..program.initial.len()).map(|thread| thread != watched && spectators.contains(&thread)).collect()
    };
    let searches: Vec<Vec<bool>> = watched.map(left_out).collect();
    if searches.is_empty() { vec![vec![]] } else { searches }
}

/// Whether the instruction changes nothing that others see, never waits, and cannot make an execution irrelevant (`assume`).
fn only_reads(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Assign { .. }
            | Instr::Jump { .. }
            | Instr::Branch { .. }
            | Instr::Assert { .. }
            | Instr::Panic { .. }
            | Instr::End
            | Instr::Load { .. }
            | Instr::Fence { .. }
            | Instr::Yield
    )
}
