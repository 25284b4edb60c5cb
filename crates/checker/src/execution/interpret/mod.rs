//! The subject for IR programs: an interpreter whose threads can be copied and compared.
//!
//! Invariant: an [`IrThread`] is at a visible instruction (or has failed or stopped), all registers that are dead there are 0, and the others hold the
//! simplest values that cannot be told from those that were computed.

mod comparable;
mod describe;
mod evaluate;

use super::spin::{Spin, spinning_loops};
use super::{Comparable, Operation, Subject};
use crate::base::{Failure, Loc, ThreadKey};
use crate::program::{
    DivisionByZero, Essence, Expr, Failing, Instr, Liveness, LockKind, Loop, Pc, Program, Reg, Routine,
};

/// The threads of a valid program (see `program::validate`), as a subject.
pub fn interpret(program: &Program) -> impl Comparable {
    Interpreter::new(program)
}

/// Runs the threads of a program.
struct Interpreter<'p> {
    program: &'p Program,
    analyses: Vec<Analysis>,
    bus: Option<u32>,
}

/// What is known of a routine beforehand.
struct Analysis {
    liveness: Liveness,
    essence: Essence,
    failing: Failing,
    spinning: Vec<Loop>,
}

/// A thread of an IR program, at a visible operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct IrThread {
    key: ThreadKey,
    routine: u32,
    pc: Pc,
    registers: Vec<i64>,
    forks: u32,
    allocations: u32,
    /// Waits for a condition variable: the first half of a `Wait` is done.
    waiting: bool,
    /// `finally` before all others have ended.
    holding_back: bool,
    /// An assumption did not hold. Nothing else matters of the thread any more.
    stopped: bool,
    spin: Spin,
}

/// The most values to choose from: each of them is tried.
const MOST_CHOICES: u64 = 1 << 16;

/// More local instructions than this without a visible one: the thread will never come to one.
const MOST_LOCAL_STEPS: u32 = 100_000;

impl<'p> Interpreter<'p> {
    fn new(program: &'p Program) -> Interpreter<'p> {
        let analyse = |routine: &Routine| {
            let liveness = Liveness::of(routine);
            let spinning = spinning_loops(routine, &liveness);
            let essence = Essence::of(routine, &liveness);
            Analysis { liveness, essence, failing: Failing::of(routine), spinning }
        };
        let bus = program.locks.iter().position(|lock| lock.kind == LockKind::Bus).map(|at| at as u32);
        Interpreter { program, analyses: program.routines.iter().map(analyse).collect(), bus }
    }

    fn routine(&self, thread: &IrThread) -> &'p Routine {
        &self.program.routines[thread.routine as usize]
    }

    fn start(&self, key: ThreadKey, routine: usize, arguments: &[i64]) -> IrThread {
        let mut registers = arguments.to_vec();
        registers.resize(self.program.routines[routine].registers.len(), 0);
        let mut thread = IrThread {
            key,
            routine: routine as u32,
            pc: 0,
            registers,
            forks: 0,
            allocations: 0,
            waiting: false,
            holding_back: false,
            stopped: false,
            spin: Spin::default(),
        };
        self.run(&mut thread, |_| {});
        thread
    }

    /// Runs local instructions until the next visible one, then clears what is dead.
    fn run(&self, thread: &mut IrThread, mut pass: impl FnMut(Pc)) {
        let routine = self.routine(thread);
        let analysis = &self.analyses[thread.routine as usize];
        for _ in 0..MOST_LOCAL_STEPS {
            pass(thread.pc);
            thread.spin.moved(thread.pc);
            if let Some(l) = analysis.spinning.iter().find(|l| l.head == thread.pc) {
                thread.clear_dead(&analysis.liveness);
                thread.spin.at_head(*l, &thread.registers);
            }
            match self.local(thread, &routine.code[thread.pc as usize]) {
                Some(next) => thread.pc = next,
                None => break,
            }
        }
        thread.clear_dead(&analysis.liveness);
        analysis.essence.simplify(thread.pc, &mut thread.registers);
        if let Instr::Assume { condition } = &routine.code[thread.pc as usize]
            && thread.eval(condition) == Ok(0)
        {
            thread.registers.fill(0);
            (thread.stopped, thread.spin) = (true, Spin::default());
        }
    }

    /// Gives a thread the result of its operation and runs it to the next. Shows where control passes.
    fn advance(&self, thread: &mut IrThread, result: i64, pass: impl FnMut(Pc)) {
        if std::mem::take(&mut thread.holding_back) {
            return;
        }
        let instr = &self.routine(thread).code[thread.pc as usize];
        match instr {
            Instr::Load { place, .. } => {
                let loc = self.place(thread, place).expect("the load was performed").0;
                thread.spin.read(loc, result);
            }
            Instr::Rmw { place, op, operand, .. } => {
                let loc = self.place(thread, place).expect("the update was performed").0;
                let operand = thread.eval(operand).expect("the update was performed");
                thread.spin_rmw(loc, result, op.apply(result, operand));
            }
            Instr::Cas { place, expected, desired, .. } => {
                let loc = self.place(thread, place).expect("the exchange was performed").0;
                let expected = thread.eval(expected).expect("the exchange was performed");
                let desired = thread.eval(desired).expect("the exchange was performed");
                thread.spin_rmw(loc, result, if result == expected { desired } else { result });
            }
            Instr::Fence { .. } | Instr::Yield => thread.spin.nothing(),
            Instr::Wait { .. } if !thread.waiting => {
                thread.spin.effect();
                thread.waiting = true;
                return;
            }
            Instr::Fork { .. } => {
                thread.spin.effect();
                thread.forks += 1;
            }
            _ => thread.spin.effect(),
        }
        thread.waiting = false;
        if let Some(dst) = instr.defined() {
            thread.set(dst, result);
        }
        thread.pc += 1;
        self.run(thread, pass);
    }

    /// Performs a local instruction and says where to go on. Nothing, if the instruction is visible or fails.
    fn local(&self, thread: &mut IrThread, instr: &Instr) -> Option<Pc> {
        let next = thread.pc + 1;
        match instr {
            Instr::Assign { dst, value } => {
                let value = thread.eval(value).ok()?;
                thread.set(*dst, value);
                Some(next)
            }
            Instr::Jump { target } => Some(*target),
            Instr::Branch { condition, then, otherwise } => {
                Some(if thread.eval(condition).ok()? != 0 { *then } else { *otherwise })
            }
            Instr::Alloc { dst, .. } => {
                let block = Loc::heap(thread.key.0, thread.allocations)?;
                thread.allocations += 1;
                thread.spin.effect();
                thread.set(*dst, block.pointer());
                Some(next)
            }
            Instr::Assert { condition, .. } | Instr::Assume { condition } => {
                (thread.eval(condition).ok()? != 0).then_some(next)
            }
            _ => None,
        }
    }
}

impl Subject for Interpreter<'_> {
    type Thread = IrThread;

    fn initial(&self) -> Vec<(ThreadKey, IrThread)> {
        let starts = self.program.initial.iter().map(|start| (start.routine, start.arguments.as_slice(), false));
        let finally = self.program.finally.map(|routine| (routine, &[][..], true));
        let threads = starts.chain(finally).enumerate().map(|(index, (routine, arguments, holding_back))| {
            let key = ThreadKey::initial(index);
            (key, IrThread { holding_back, ..self.start(key, routine, arguments) })
        });
        threads.collect()
    }

    fn operation(&self, thread: &IrThread) -> Operation {
        self.next(thread)
    }

    fn failure(&self, thread: &IrThread) -> Failure {
        self.wrong(thread)
    }

    fn resume(&self, thread: &mut IrThread, result: i64) {
        self.advance(thread, result, |_| {});
    }

    fn fork(&self, thread: &IrThread) -> IrThread {
        let Instr::Fork { routine, arguments, .. } = &self.routine(thread).code[thread.pc as usize] else {
            panic!("only a thread at a fork is asked to fork");
        };
        let eval = |expr: &Expr| thread.eval(expr).expect("the fork was performed");
        let arguments: Vec<i64> = arguments.iter().map(eval).collect();
        let key = thread.key.child(thread.forks).expect("the fork was performed");
        self.start(key, *routine, &arguments)
    }

    fn awaiting<'t>(&self, thread: &'t IrThread) -> &'t [(Loc, i64)] {
        thread.spin.awaiting()
    }

    fn bus(&self) -> Option<u32> {
        self.bus
    }

    fn copy(&self, thread: &IrThread) -> Option<IrThread> {
        Some(thread.clone())
    }

    fn allocated(&self, thread: &IrThread) -> u32 {
        thread.allocations
    }

    fn may_fail_after(&self, thread: &IrThread) -> bool {
        self.analyses[thread.routine as usize].failing.after(thread.pc)
    }

    fn initial_cells(&self) -> Vec<i64> {
        self.program.cells.iter().map(|cell| cell.initial).collect()
    }
}

impl IrThread {
    fn eval(&self, expr: &Expr) -> Result<i64, DivisionByZero> {
        expr.eval(&|Reg(reg)| self.registers[reg as usize])
    }

    fn set(&mut self, Reg(reg): Reg, value: i64) {
        self.registers[reg as usize] = value;
    }

    fn clear_dead(&mut self, liveness: &Liveness) {
        for &reg in liveness.dead_before(self.pc) {
            self.set(reg, 0);
        }
    }

    fn spin_rmw(&mut self, loc: Loc, old: i64, new: i64) {
        match old == new {
            true => self.spin.read(loc, old),
            false => self.spin.effect(),
        }
    }
}
