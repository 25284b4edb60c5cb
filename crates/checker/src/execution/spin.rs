//! Spinning: noticing that a loop iteration changed nothing.
//!
//! Definition. An iteration of a loop *stutters* if it came back to the loop's head with the registers that it started with
//! (the live ones) and did nothing but read: loads, compare-exchanges that failed, read-modify-writes that left the value as it was,
//! fences and yields. After it, the machine is where it was before, but for steps that other threads or flushes made and could have made anyway. So the
//! next iteration is worth running only when one of the cells that were read shows another value: until then the
//! thread *awaits*.
//!
//! Invariant: a frame exists for a loop only while the program counter is inside of it and nothing but reading was done since
//! its head was passed.

use crate::base::Loc;
use crate::program::{Instr, Liveness, Loop, Pc, Reg, Routine};

/// The loops that a thread is in and has only read in, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spin {
    frames: Vec<Frame>,
    /// Set at the head of the innermost loop after an iteration that stuttered: what it read.
    awaiting: Vec<(Loc, i64)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    head: Pc,
    end: Pc,
    registers: Vec<i64>,
    reads: Vec<(Loc, i64)>,
}

impl Spin {
    /// What must change before the next iteration is worth running.
    pub(super) fn awaiting(&self) -> &[(Loc, i64)] {
        &self.awaiting
    }

    /// The thread read a value and changed nothing.
    pub(super) fn read(&mut self, loc: Loc, value: i64) {
        self.awaiting.clear();
        for frame in &mut self.frames {
            if !frame.reads.contains(&(loc, value)) {
                frame.reads.push((loc, value));
            }
        }
    }

    /// The thread changed something.
    pub(super) fn effect(&mut self) {
        self.awaiting.clear();
        self.frames.clear();
    }

    /// The thread did something that neither reads nor changes.
    pub(super) fn nothing(&mut self) {
        self.awaiting.clear();
    }

    /// The program counter moved.
    pub(super) fn moved(&mut self, pc: Pc) {
        while self.frames.last().is_some_and(|frame| !(frame.head..frame.end).contains(&pc)) {
            self.frames.pop();
        }
    }

    /// The thread is at the head of a loop that can spin, with these live registers.
    pub(super) fn at_head(&mut self, spinning: Loop, registers: &[i64]) {
        if let Some(at) = self.frames.iter().position(|frame| frame.head == spinning.head) {
            self.frames.truncate(at + 1);
            let frame = self.frames.pop().expect("it was just found");
            if frame.registers == registers && !frame.reads.is_empty() {
                self.awaiting = frame.reads;
                self.awaiting.sort_unstable();
            }
        }
        let (head, end) = (spinning.head, spinning.end);
        self.frames.push(Frame { head, end, registers: registers.to_vec(), reads: Vec::new() });
    }
}

/// The loops of a routine whose iterations can stutter. Others are not worth watching, and watching would keep states
/// apart: a loop that stores on every way round, or one that counts (`for`), never comes back to where it was.
pub(super) fn spinning_loops(routine: &Routine, liveness: &Liveness) -> Vec<Loop> {
    routine.loops.iter().copied().filter(|l| can_stutter(routine, liveness, *l)).collect()
}

/// Whether some loop of a routine need not count: only such loops can go on for ever in finitely many states.
pub(super) fn may_go_on_for_ever(routine: &Routine, liveness: &Liveness) -> bool {
    routine.loops.iter().any(|&l| comes_back(routine, liveness, l, &|_| false))
        || routine.code.iter().enumerate().any(|(pc, instr)| {
            let known = |to: u32| routine.loops.iter().any(|l| l.head == to);
            instr.successors(pc as Pc).any(|to| to <= pc as Pc && !known(to))
        })
}

fn can_stutter(routine: &Routine, liveness: &Liveness, l: Loop) -> bool {
    comes_back(routine, liveness, l, &is_effect)
}

/// Whether there is a way round the loop that changes no counter and avoids some instructions.
fn comes_back(routine: &Routine, liveness: &Liveness, l: Loop, avoid: &dyn Fn(&Instr) -> bool) -> bool {
    let counters = counters(routine, liveness, l);
    let blocks = |instr: &Instr| avoid(instr) || instr.defined().is_some_and(|reg| counters.contains(&reg));
    let mut seen = vec![false; (l.end - l.head) as usize];
    let mut work = vec![l.head];
    while let Some(pc) = work.pop() {
        let instr = &routine.code[pc as usize];
        if blocks(instr) {
            continue;
        }
        for next in instr.successors(pc).filter(|next| (l.head..l.end).contains(next)) {
            if next == l.head {
                return true;
            }
            if !std::mem::replace(&mut seen[(next - l.head) as usize], true) {
                work.push(next);
            }
        }
    }
    false
}

/// Registers that are live at the loop's head and change in one way only: by adding a constant to themselves.
fn counters(routine: &Routine, liveness: &Liveness, l: Loop) -> Vec<Reg> {
    let dead = liveness.dead_before(l.head);
    let body = &routine.code[l.head as usize..l.end as usize];
    let steps = |reg: Reg, instr: &Instr| match instr {
        Instr::Assign { value, .. } => value.increments(reg),
        _ => false,
    };
    (0..routine.registers.len() as u16)
        .map(Reg)
        .filter(|reg| !dead.contains(reg))
        .filter(|&reg| {
            let mut definitions = body.iter().filter(|instr| instr.defined() == Some(reg)).peekable();
            definitions.peek().is_some() && definitions.all(|instr| steps(reg, instr))
        })
        .collect()
}

/// Whether the instruction always changes something that lasts.
fn is_effect(instr: &Instr) -> bool {
    match instr {
        Instr::Assign { .. }
        | Instr::Jump { .. }
        | Instr::Branch { .. }
        | Instr::Assert { .. }
        | Instr::Assume { .. }
        | Instr::Load { .. }
        | Instr::Rmw { .. }
        | Instr::Cas { .. }
        | Instr::Fence { .. }
        | Instr::Yield => false,
        Instr::Alloc { .. }
        | Instr::Panic { .. }
        | Instr::End
        | Instr::Store { .. }
        | Instr::Lock { .. }
        | Instr::TryLock { .. }
        | Instr::Unlock { .. }
        | Instr::Wait { .. }
        | Instr::Notify { .. }
        | Instr::Fork { .. }
        | Instr::Join { .. }
        | Instr::Free { .. }
        | Instr::Choose { .. } => true,
    }
}
