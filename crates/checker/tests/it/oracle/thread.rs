//! Threads between events: local instructions, and what they name.

use super::graph::{Mode, ThreadName};
use unthread_checker::base::{Loc, ThreadKey};
use unthread_checker::program::{Access, Expr, Indexed, Instr, Ordering, Place, Program, Reg};

/// One thread of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) name: ThreadName,
    /// What names its blocks.
    pub(crate) key: ThreadKey,
    pub(crate) allocations: u32,
    /// Where it waits for a notification, and the event that notified it.
    pub(crate) waits: Option<(usize, Option<usize>)>,
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

/// What was allocated: its cells have numbers in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) loc: Loc,
    pub(crate) first: usize,
    pub(crate) cells: usize,
    pub(crate) freed: bool,
}

/// What a thread cannot do here.
pub(crate) type Unsupported = String;

/// More local instructions in a row than any bounded loop has.
const MOST_LOCAL_STEPS: usize = 10_000;

impl Thread {
    pub(crate) fn new(
        program: &Program,
        (name, key): (ThreadName, ThreadKey),
        routine: usize,
        mut arguments: Vec<i64>,
    ) -> Thread {
        arguments.resize(program.routines[routine].registers.len(), 0);
        Thread {
            name,
            key,
            allocations: 0,
            waits: None,
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
                instr if self.is_astray(program, instr)? => return self.leave(Phase::Failed),
                _ => return Ok(()),
            }
        }
        Err("a loop that does nothing".into())
    }

    /// Whether an instruction uses a pointer that is none.
    fn is_astray(&self, program: &Program, instr: &Instr) -> Result<bool, Unsupported> {
        match instr {
            Instr::Load { place: Place::Deref { pointer, .. }, .. }
            | Instr::Store { place: Place::Deref { pointer, .. }, .. }
            | Instr::Rmw { place: Place::Deref { pointer, .. }, .. }
            | Instr::Cas { place: Place::Deref { pointer, .. }, .. } => {
                let loc = Loc::from_pointer(self.eval(pointer)?);
                Ok(loc.is_none_or(|loc| loc.as_global().is_some_and(|index| index >= program.cells.len())))
            }
            Instr::Free { pointer } => {
                let loc = Loc::from_pointer(self.eval(pointer)?);
                Ok(loc.is_none_or(|loc| loc.block() != Some(loc)))
            }
            _ => Ok(false),
        }
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
    pub(crate) fn place(
        &self,
        program: &Program,
        blocks: &[Block],
        place: &Place,
    ) -> Result<(usize, Access), Unsupported> {
        let (cell, access) = match place {
            Place::Cell(cell) => (Some(*cell as usize), Access::Atomic),
            Place::Element { base, length, index } => {
                let index = self.eval(index)?;
                let is_there = (0..i64::from(*length)).contains(&index);
                (is_there.then(|| *base as usize + index as usize), Access::Atomic)
            }
            Place::Deref { pointer, offset, access } => {
                let loc = Loc::from_pointer(self.eval(pointer)?).map(|loc| loc.offset(*offset));
                let block = loc.and_then(Loc::block).and_then(|loc| blocks.iter().find(|block| block.loc == loc));
                if let (Some(loc), Some(block)) = (loc, block) {
                    let offset = usize::from(loc.offset_in_block());
                    let is_there = offset < block.cells;
                    return is_there.then_some((block.first + offset, *access)).ok_or("outside of a block".to_string());
                }
                (loc.and_then(Loc::as_global), *access)
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
