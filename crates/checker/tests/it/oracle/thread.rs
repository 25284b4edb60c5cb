//! Threads between events: local instructions, and what they name.

use super::graph::{Mode, ThreadName};
use unthread_checker::base::Loc;
use unthread_checker::program::{Access, Expr, Indexed, Instr, Ordering, Place, Program, Reg};

/// One thread of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) name: ThreadName,
    pub(crate) routine: usize,
    pub(crate) pc: usize,
    pub(crate) registers: Vec<i64>,
    pub(crate) phase: Phase,
    /// How many threads it has forked.
    pub(crate) forks: u64,
    /// The event before its first one: the fork.
    pub(crate) forked_by: Option<usize>,
    /// Its begin and its end, as events.
    pub(crate) begin: Option<usize>,
    pub(crate) end: Option<usize>,
    /// The step that it took last.
    pub(crate) last_step: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `finally`, before all others have ended.
    Last,
    Running,
    Ended,
    /// By an assumption that does not hold.
    Stopped,
    /// By an assertion that does not hold, or a panic.
    Failed,
}

/// What a thread cannot do here.
pub(crate) type Unsupported = String;

/// More local instructions in a row than any bounded loop has.
const MOST_LOCAL_STEPS: usize = 10_000;

impl Thread {
    pub(crate) fn new(program: &Program, name: ThreadName, routine: usize, mut arguments: Vec<i64>) -> Thread {
        arguments.resize(program.routines[routine].registers.len(), 0);
        Thread {
            name,
            routine,
            pc: 0,
            registers: arguments,
            phase: Phase::Running,
            forks: 0,
            forked_by: None,
            begin: None,
            end: None,
            last_step: None,
        }
    }

    pub(crate) fn instr<'p>(&self, program: &'p Program) -> &'p Instr {
        &program.routines[self.routine].code[self.pc]
    }

    pub(crate) fn eval(&self, expr: &Expr) -> Result<i64, Unsupported> {
        expr.eval(&|Reg(reg)| self.registers[reg as usize]).map_err(|_| "division by zero".to_string())
    }

    /// Runs on to the next instruction that others can see, or to the end.
    pub(crate) fn run_locally(&mut self, program: &Program) -> Result<(), Unsupported> {
        for _ in 0..MOST_LOCAL_STEPS {
            match self.instr(program) {
                Instr::Assign { dst, value } => {
                    self.registers[dst.0 as usize] = self.eval(value)?;
                    self.pc += 1;
                }
                Instr::Jump { target } => self.pc = *target as usize,
                Instr::Branch { condition, then, otherwise } => {
                    self.pc = if self.eval(condition)? != 0 { *then } else { *otherwise } as usize;
                }
                Instr::Yield => self.pc += 1,
                Instr::Assert { condition, .. } if self.eval(condition)? == 0 => return self.leave(Phase::Failed),
                Instr::Assume { condition } if self.eval(condition)? == 0 => return self.leave(Phase::Stopped),
                Instr::Assert { .. } | Instr::Assume { .. } => self.pc += 1,
                Instr::Choose { low, high, .. } if self.eval(low)? >= self.eval(high)? => {
                    return self.leave(Phase::Stopped);
                }
                Instr::Panic { .. } => return self.leave(Phase::Failed),
                Instr::End => return self.leave(Phase::Ended),
                _ => return Ok(()),
            }
        }
        Err("a loop that does nothing".into())
    }

    fn leave(&mut self, phase: Phase) -> Result<(), Unsupported> {
        self.phase = phase;
        Ok(())
    }

    /// The result of an instruction goes to its register, and the thread runs on.
    pub(crate) fn finish(&mut self, program: &Program, result: i64) -> Result<(), Unsupported> {
        if let Some(Reg(dst)) = self.instr(program).defined() {
            self.registers[dst as usize] = result;
        }
        self.pc += 1;
        self.run_locally(program)
    }

    /// The cell of an access, and whether a load or a store of it is plain.
    pub(crate) fn place(&self, program: &Program, place: &Place) -> Result<(usize, Access), Unsupported> {
        let (cell, access) = match place {
            Place::Cell(cell) => (Some(*cell as usize), Access::Atomic),
            Place::Element { base, length, index } => {
                let index = self.eval(index)?;
                let is_there = (0..i64::from(*length)).contains(&index);
                (is_there.then(|| *base as usize + index as usize), Access::Atomic)
            }
            Place::Deref { pointer, offset, access } => {
                let cell = Loc::from_pointer(self.eval(pointer)?).and_then(|loc| loc.offset(*offset).as_global());
                (cell, *access)
            }
        };
        let cell = cell.filter(|&cell| cell < program.cells.len()).ok_or("an access to something that is no cell")?;
        let declared = program.cells[cell].access;
        Ok((cell, if declared == Access::Plain { declared } else { access }))
    }

    pub(crate) fn mode(access: Access, ordering: Ordering) -> Mode {
        match access {
            Access::Plain => Mode::Plain,
            Access::Atomic => Mode::Atomic(ordering),
        }
    }

    pub(crate) fn indexed(&self, at: &Indexed) -> Result<usize, Unsupported> {
        let index = self.eval(&at.index)?;
        let is_there = (0..i64::from(at.length)).contains(&index);
        if is_there { Ok(at.base as usize + index as usize) } else { Err("an index out of bounds".into()) }
    }
}
