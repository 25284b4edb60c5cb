//! Threads to routines: the code of a state chooses among the transitions whose checks hold, and waits for ever if none does.
//!
//! Memory cells are named by computed addresses (`Loc::address`). `lock` and `unlock` are those of the bus.

use super::{Action, Expr, State, ThreadText, Transition};
use crate::base::{Loc, Source, Span};
use crate::program::{
    Access, Automata, BinaryOp, ControlState, Expr as IrExpr, Indexed, Instr, Lock, LockKind, LockMode, Ordering, Pc,
    Place, Program, Reg, Routine, Start,
};
use std::path::Path;
use std::sync::Arc;

/// Makes a program of threads that have at least an initial state each.
pub(super) fn lower(threads: &[ThreadText], source: Arc<Source>) -> Program {
    let (routines, states) = threads.iter().map(routine).unzip();
    let start =
        |(routine, thread): (usize, &ThreadText)| Start { name: thread.name.clone(), routine, arguments: vec![] };
    let name = Path::new(&source.name).file_stem().map_or("program".into(), |stem| stem.to_string_lossy().into_owned());
    Program {
        name,
        source,
        cells: Vec::new(),
        locks: vec![Lock { name: "bus".to_string(), kind: LockKind::Bus }],
        condvars: Vec::new(),
        routines,
        initial: threads.iter().enumerate().map(start).collect(),
        finally: None,
        conditions: Vec::new(),
        automata: Some(Automata { states }),
    }
}

fn routine(thread: &ThreadText) -> (Routine, Vec<ControlState>) {
    let mut registers = thread.registers.clone();
    // How many transitions are possible, and which of them is taken.
    let (count, pick) = (Reg(registers.len() as u16), Reg(registers.len() as u16 + 1));
    registers.extend([String::new(), String::new()]);
    let mut code = Code { instrs: Vec::new(), spans: Vec::new(), starts: Vec::new(), count, pick, here: thread.span };
    let mut outgoing: Vec<Vec<&Transition>> = thread.states.iter().map(|_| Vec::new()).collect();
    for transition in &thread.transitions {
        outgoing[transition.from].push(transition);
    }
    for (state, outgoing) in thread.states.iter().zip(&outgoing) {
        code.state(state, outgoing);
    }
    let starts = code.starts;
    let mut instrs = code.instrs;
    for instr in &mut instrs {
        if let Instr::Jump { target } = instr
            && let Some(state) = target.checked_sub(STATES)
        {
            *target = starts[state as usize];
        }
    }
    let control_state =
        |(state, &start): (&State, &Pc)| ControlState { name: state.name.clone(), start, goal: state.is_final };
    let states = thread.states.iter().zip(&starts).map(control_state).collect();
    let routine = Routine {
        name: thread.name.clone(),
        parameters: 0,
        registers,
        code: instrs,
        spans: code.spans,
        loops: Vec::new(),
        observed: Vec::new(),
    };
    (routine, states)
}

/// Jump targets from here on are states that have no code yet.
const STATES: Pc = 1 << 31;

struct Code {
    instrs: Vec<Instr>,
    spans: Vec<Span>,
    /// Where the code of each state begins.
    starts: Vec<Pc>,
    count: Reg,
    pick: Reg,
    here: Span,
}

impl Code {
    fn emit(&mut self, instr: Instr) {
        self.instrs.push(instr);
        self.spans.push(self.here);
    }

    fn next(&self) -> Pc {
        self.instrs.len() as Pc
    }

    fn state(&mut self, state: &State, outgoing: &[&Transition]) {
        self.here = state.span;
        self.starts.push(self.next());
        if state.is_final {
            self.emit(Instr::Yield);
        }
        match outgoing {
            [] => self.emit(Instr::End),
            [transition] => {
                self.here = transition.span;
                if let Action::Check(check) = &transition.action {
                    self.emit(Instr::Assume { condition: ir(check) });
                }
                self.take(transition);
            }
            _ => self.choice(outgoing),
        }
    }

    /// Counts what is possible, picks one, and goes there. Without a choice nothing of this can be seen by others.
    fn choice(&mut self, outgoing: &[&Transition]) {
        let (count, pick) = (self.count, self.pick);
        let always = outgoing.iter().filter(|transition| guard(transition).is_none()).count() as i64;
        self.emit(Instr::Assign { dst: count, value: always.into() });
        for transition in outgoing {
            if let Some(check) = guard(transition) {
                self.here = transition.span;
                let holds = check.binary(BinaryOp::Ne, 0.into());
                let value = IrExpr::from(count).binary(BinaryOp::Add, holds);
                self.emit(Instr::Assign { dst: count, value });
            }
        }
        self.emit(Instr::Assume { condition: count.into() });
        self.emit(Instr::Assign { dst: pick, value: 0.into() });
        let (choose, picked) = (self.next() + 1, self.next() + 2);
        let several = IrExpr::from(count).binary(BinaryOp::Gt, 1.into());
        self.emit(Instr::Branch { condition: several, then: choose, otherwise: picked });
        self.emit(Instr::Choose { dst: pick, low: 0.into(), high: count.into() });
        for transition in outgoing {
            self.here = transition.span;
            self.alternative(transition);
        }
        // One of them was picked.
        self.emit(Instr::Assume { condition: 0.into() });
        let end = self.next() - 1;
        self.emit(Instr::Jump { target: end });
    }

    /// Takes the transition if it is possible and the picked one.
    fn alternative(&mut self, transition: &Transition) {
        let check = guard(transition);
        let guard_at = check.map(|condition| {
            self.emit(Instr::Branch { condition, then: self.next() + 1, otherwise: 0 });
            self.next() - 1
        });
        let picked = IrExpr::from(self.pick).binary(BinaryOp::Eq, 0.into());
        let then = self.next() + 3;
        self.emit(Instr::Branch { condition: picked, then, otherwise: self.next() + 1 });
        let one_less = IrExpr::from(self.pick).binary(BinaryOp::Sub, 1.into());
        self.emit(Instr::Assign { dst: self.pick, value: one_less });
        let jump_at = self.next();
        self.emit(Instr::Jump { target: 0 });
        self.take(transition);
        let next = self.next();
        self.instrs[jump_at as usize] = Instr::Jump { target: next };
        if let Some(at) = guard_at
            && let Instr::Branch { otherwise, .. } = &mut self.instrs[at as usize]
        {
            *otherwise = next;
        }
    }

    /// Does what the transition does and goes on in its target.
    fn take(&mut self, transition: &Transition) {
        let bus = || Indexed { base: 0, length: 1, index: 0.into() };
        let instr = match &transition.action {
            Action::Noop | Action::Check(_) => None,
            Action::Read { register, address } => {
                Some(Instr::Load { dst: reg(*register), place: place(address), ordering: Ordering::Relaxed })
            }
            Action::Write { value, address } => {
                Some(Instr::Store { place: place(address), value: ir(value), ordering: Ordering::Relaxed })
            }
            Action::Local { register, value } => Some(Instr::Assign { dst: reg(*register), value: ir(value) }),
            Action::Fence => Some(Instr::Fence { ordering: Ordering::SeqCst }),
            Action::Lock => Some(Instr::Lock { lock: bus(), mode: LockMode::Exclusive }),
            Action::Unlock => Some(Instr::Unlock { lock: bus(), mode: LockMode::Exclusive }),
        };
        if let Some(instr) = instr {
            self.emit(instr);
        }
        self.emit(Instr::Jump { target: STATES + transition.to as Pc });
    }
}

fn guard(transition: &Transition) -> Option<IrExpr> {
    match &transition.action {
        Action::Check(check) => Some(ir(check)),
        _ => None,
    }
}

fn place(address: &Expr) -> Place {
    let base = IrExpr::from(Loc::address(0).pointer());
    let pointer = match ir(address) {
        IrExpr::Const(address) => Loc::address(0).pointer().wrapping_add(address).into(),
        address => base.binary(BinaryOp::Add, address),
    };
    Place::Deref { pointer, offset: 0, access: Access::Atomic }
}

fn reg(number: usize) -> Reg {
    Reg(number as u16)
}

fn ir(expr: &Expr) -> IrExpr {
    match expr {
        Expr::Const(value) => (*value).into(),
        Expr::Register(register) => reg(*register).into(),
        Expr::Unary(op, operand) => ir(operand).unary(*op),
        Expr::Binary(op, left, right) => ir(left).binary(*op, ir(right)),
    }
}
