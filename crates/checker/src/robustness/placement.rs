//! Where fences can stand, which stores can have a stronger ordering instead, and programs with such changes.

use crate::engines::lazy::delays::Site;
use crate::engines::lazy::retrace::Attack;
use crate::program::{Instr, Loop, Ordering, Pc, Program, Routine};
use std::collections::BTreeSet;

/// A change that keeps stores from waiting: a fence that is to be put into a program, or a stronger ordering of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence {
    /// The routine.
    pub routine: usize,
    /// An instruction of it.
    pub pc: Pc,
    /// What to do there.
    pub side: Side,
}

/// On which side of an instruction a fence stands, or how the instruction changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// A thread that comes to the instruction passes the fence first.
    Before,
    /// A thread that has executed the instruction passes the fence next; one that jumps behind it does not.
    After,
    /// No fence: the instruction, a store, is a release store.
    Release,
    /// No fence: the instruction, a store, is a sequentially consistent store.
    SeqCst,
}

impl Side {
    /// What the change costs, roughly: a full fence, a store that drains by itself, a store behind others.
    pub(super) fn cost(self) -> usize {
        match self {
            Side::Before | Side::After => 4,
            Side::SeqCst => 3,
            Side::Release => 1,
        }
    }

    /// The ordering that the store gets.
    pub fn ordering(self) -> Option<Ordering> {
        match self {
            Side::Before | Side::After => None,
            Side::Release => Some(Ordering::Release),
            Side::SeqCst => Some(Ordering::SeqCst),
        }
    }
}

/// A program with fences, and where its instructions were before.
pub(super) struct Fenced {
    pub(super) program: Program,
    /// For each routine and instruction, the instruction that it was; a fence is what it stands before.
    pub(super) origins: Vec<Vec<Pc>>,
}

/// The program with the fences.
pub fn fenced(program: &Program, fences: &[Fence]) -> Program {
    with_fences(program, fences).program
}

pub(super) fn with_fences(program: &Program, fences: &[Fence]) -> Fenced {
    let mut program = program.clone();
    let mut origins = Vec::new();
    for number in 0..program.routines.len() {
        let has = |pc: usize, side: Side| fences.contains(&Fence { routine: number, pc: pc as Pc, side });
        let (origin, starts) = put_into(&mut program.routines[number], has);
        origins.push(origin);
        if let Some(automata) = &mut program.automata {
            automata.states[number].iter_mut().for_each(|state| state.start = starts[state.start as usize]);
        }
    }
    Fenced { program, origins }
}

/// Puts fences into a routine. Gives, for each instruction, which it was; and where jumps to each old instruction go now.
fn put_into(routine: &mut Routine, has: impl Fn(usize, Side) -> bool) -> (Vec<Pc>, Vec<Pc>) {
    let fence = Instr::Fence { ordering: Ordering::SeqCst };
    let (mut code, mut spans, mut origins, mut starts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (pc, instr) in routine.code.iter_mut().enumerate() {
        if let Instr::Store { ordering, .. } = instr {
            let stronger = [Side::SeqCst, Side::Release].into_iter().find(|&side| has(pc, side));
            *ordering = stronger.and_then(Side::ordering).unwrap_or(*ordering);
        }
        starts.push(code.len() as Pc);
        let before = has(pc, Side::Before).then_some(&fence);
        let after = has(pc, Side::After).then_some(&fence);
        for instr in before.into_iter().chain([&*instr]).chain(after) {
            code.push(instr.clone());
            spans.push(routine.spans[pc]);
            origins.push(pc as Pc);
        }
    }
    for instr in &mut code {
        match instr {
            Instr::Jump { target } => *target = starts[*target as usize],
            Instr::Branch { then, otherwise, .. } => {
                (*then, *otherwise) = (starts[*then as usize], starts[*otherwise as usize]);
            }
            _ => {}
        }
    }
    let end = code.len() as Pc;
    let moved = |pc: Pc| starts.get(pc as usize).copied().unwrap_or(end);
    for Loop { head, end, .. } in &mut routine.loops {
        (*head, *end) = (moved(*head), moved(*end));
    }
    (routine.code, routine.spans) = (code, spans);
    (origins, starts)
}

/// Changes, each of which an attack does not survive: fences after its stores; in automata, at the control states that it passes. With
/// `orderings`, also stronger orderings of its stores.
pub(super) fn against(program: &Program, attack: &Attack, orderings: bool) -> Vec<Fence> {
    let mut changes: BTreeSet<Fence> = BTreeSet::new();
    if program.automata.is_some() {
        let passed = &attack.passed[..attack.before_last];
        changes.extend(passed.iter().filter_map(|&site| at_state(program, site)));
        return changes.into_iter().collect();
    }
    let n_before_last = attack.stores.len() - usize::from(attack.last.is_some());
    let waited_for = &attack.stores[..n_before_last];
    changes.extend(waited_for.iter().map(|&store| change(store, Side::After)));
    if orderings {
        changes.extend(attack.stores.iter().map(|&store| change(store, Side::SeqCst)));
        if attack.shown {
            changes.extend(attack.stores.iter().skip(1).map(|&store| change(store, Side::Release)));
        }
    }
    changes.into_iter().collect()
}

/// A change at an instruction.
pub(super) fn change((routine, pc): Site, side: Side) -> Fence {
    Fence { routine: routine as usize, pc, side }
}

/// A fence at a control state, if one there can be worth more than at the next: it reads, or several ways lead there or on from there.
pub(super) fn at_state(program: &Program, (routine, pc): Site) -> Option<Fence> {
    let states = &program.automata.as_ref()?.states[routine as usize];
    let at = states.iter().position(|state| state.start == pc)?;
    let routine_code = &program.routines[routine as usize].code;
    let end = states.get(at + 1).map_or(routine_code.len(), |next| next.start as usize);
    let code = &routine_code[pc as usize..end];
    let is_start = |target: Pc| states.iter().any(|state| state.start == target);
    let jumps = |instr: &&Instr| matches!(instr, Instr::Jump { target } if is_start(*target));
    let comes = |instr: &&Instr| matches!(instr, Instr::Jump { target } if *target == pc);
    let reads = code.iter().any(|instr| matches!(instr, Instr::Load { .. }));
    let outgoing = code.iter().filter(jumps).count();
    let incoming = routine_code.iter().filter(comes).count();
    let matters = reads || outgoing > 1 || incoming > 1;
    matters.then_some(Fence { routine: routine as usize, pc, side: Side::Before })
}
