//! Removes code that cannot run and jumps that lead to jumps. What is left is what a person would have written, so that
//! lowering can be simple: constant branches vanish here, and an empty loop body becomes a branch to its own head.

use crate::program::{Instr, Loop, Pc, Routine};

/// Tidies a routine whose last instruction is `End`.
pub(super) fn tidy(routine: &mut Routine) {
    remove_false_loops(routine);
    let mut is_head = vec![false; routine.code.len()];
    routine.loops.iter().for_each(|l| is_head[l.head as usize] = true);
    thread_jumps(routine, &is_head);
    let keep = kept(routine, &is_head);
    // Where each instruction goes: the number of kept ones before it.
    let mut places: Vec<Pc> = Vec::with_capacity(keep.len() + 1);
    let mut count = 0;
    for kept in &keep {
        places.push(count);
        count += Pc::from(*kept);
    }
    places.push(count);
    let place = |pc: Pc| places[pc as usize];

    let mut kept = keep.iter();
    routine.code.retain(|_| *kept.next().unwrap_or(&true));
    let mut kept = keep.iter();
    routine.spans.retain(|_| *kept.next().unwrap_or(&true));
    routine.code.iter_mut().for_each(|instr| retarget(instr, place));
    routine.loops.iter_mut().for_each(|l| *l = Loop { head: place(l.head), end: place(l.end), ..*l });
    routine.loops.sort_by_key(|l| (l.head, std::cmp::Reverse(l.end)));
}

/// Forgets loops that never run a second iteration, such as those with a constant condition.
fn remove_false_loops(routine: &mut Routine) {
    let reached = reached(&routine.code);
    let code = &routine.code;
    let goes_to = |pc: Pc, head: Pc| reached[pc as usize] && code[pc as usize].successors(pc).any(|next| next == head);
    routine.loops.retain(|l| (l.head..l.end).any(|pc| goes_to(pc, l.head)));
}

/// Which instructions control can come to.
fn reached(code: &[Instr]) -> Vec<bool> {
    let mut reached = vec![false; code.len()];
    let mut open: Vec<Pc> = vec![0];
    while let Some(pc) = open.pop() {
        if !std::mem::replace(&mut reached[pc as usize], true) {
            open.extend(code[pc as usize].successors(pc));
        }
    }
    reached
}

fn retarget(instr: &mut Instr, to: impl Fn(Pc) -> Pc) {
    match instr {
        Instr::Jump { target } => *target = to(*target),
        Instr::Branch { then, otherwise, .. } => {
            *then = to(*then);
            *otherwise = to(*otherwise);
        }
        _ => {}
    }
}

/// Lets every jump lead to where the jumps that it leads to lead. Loop heads stay on the way: iterations must pass them.
fn thread_jumps(routine: &mut Routine, is_head: &[bool]) {
    let code = routine.code.clone();
    let end_of = |start: Pc| {
        let mut at = start;
        // A circle of jumps ends the search, too.
        for _ in 0..code.len() {
            match code[at as usize] {
                Instr::Jump { target } if !is_head[at as usize] && target != start => at = target,
                _ => break,
            }
        }
        at
    };
    routine.code.iter_mut().for_each(|instr| retarget(instr, end_of));
}

/// Which instructions stay: those that can be reached, but not jumps to what follows anyway.
fn kept(routine: &Routine, is_head: &[bool]) -> Vec<bool> {
    let mut keep = reached(&routine.code);
    let length = keep.len();
    keep[length - 1] = true;
    // Backwards, so that what lies between a jump and its target is already decided.
    for pc in (0..length).rev() {
        if let Instr::Jump { target } = routine.code[pc] {
            let target = target as usize;
            let leads_on = target > pc && !keep[pc + 1..target].contains(&true);
            keep[pc] &= !leads_on || is_head[pc];
        }
    }
    keep
}
