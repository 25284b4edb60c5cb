//! The subject for IR programs: an interpreter whose threads can be copied and compared.
//!
//! Invariant: an [`IrThread`] is at a visible instruction (or has failed or stopped), all registers that are dead there are 0, and the others hold the
//! simplest values that cannot be told from those that were computed.

use super::spin::{Spin, may_go_on_for_ever, spinning_loops};
use super::{Describe, Failure, FailureKind, Laps, Operation, State, Subject, ThreadKey};
use crate::program::{
    Access, DivisionByZero, Essence, Expr, Failing, Indexed, Instr, Liveness, Loc, LockKind, Loop, Pc, Place, Program,
    Reg, Routine, Span,
};
use crate::report::FinalState;

/// Runs the threads of a program.
pub struct Interpreter<'p> {
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
pub struct IrThread {
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
    /// Requires a valid program (see `program::validate`).
    pub fn new(program: &'p Program) -> Interpreter<'p> {
        let analyse = |routine: &Routine| {
            let liveness = Liveness::of(routine);
            let spinning = spinning_loops(routine, &liveness);
            let essence = Essence::of(routine, &liveness);
            Analysis { liveness, essence, failing: Failing::of(routine), spinning }
        };
        let bus = program.locks.iter().position(|lock| lock.kind == LockKind::Bus).map(|at| at as u32);
        Interpreter { program, analyses: program.routines.iter().map(analyse).collect(), bus }
    }

    /// The same, but threads that spin go round and round. A search that knows its states comes to an end anyway, and has fewer of them.
    pub fn restless(program: &'p Program) -> Interpreter<'p> {
        let mut interpreter = Interpreter::new(program);
        interpreter.analyses.iter_mut().for_each(|analysis| analysis.spinning.clear());
        interpreter
    }

    /// The program.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// Whether threads that spin wait for what they look at to change.
    pub fn notices_spinning(&self) -> bool {
        self.analyses.iter().any(|analysis| !analysis.spinning.is_empty())
    }

    /// Whether some thread can go round in circles.
    pub fn has_cycles(&self) -> bool {
        let routines = self.program.routines.iter().zip(&self.analyses);
        routines.into_iter().any(|(routine, analysis)| may_go_on_for_ever(routine, &analysis.liveness))
    }

    /// Which instruction the thread is at: the routine, and where in its code.
    pub fn site(&self, thread: &IrThread) -> (usize, Pc) {
        (thread.routine as usize, thread.pc)
    }

    /// Where the thread's operation stands in the source.
    pub fn span(&self, thread: &IrThread) -> Span {
        self.routine(thread).spans[thread.pc as usize]
    }

    /// The innermost loop around the thread's operation: where it stands.
    pub fn loop_span(&self, thread: &IrThread) -> Option<Span> {
        let around = self.routine(thread).loops.iter().filter(|l| (l.head..l.end).contains(&thread.pc));
        around.min_by_key(|l| l.end - l.head).map(|l| l.span)
    }

    /// The variable that receives the result of the thread's operation, where it has a name.
    pub fn target(&self, thread: &IrThread) -> Option<&'p str> {
        let routine = self.routine(thread);
        let Reg(reg) = routine.code[thread.pc as usize].defined().filter(|_| !thread.holding_back)?;
        Some(routine.registers[reg as usize].as_str()).filter(|name| !name.is_empty())
    }

    /// The thread's name: that of its start, or of its routine if it was forked.
    pub fn name(&self, thread: &IrThread) -> String {
        let is_finally = self.program.finally == Some(thread.routine as usize);
        match self.program.initial.get(thread.key.0 as usize - 1) {
            _ if is_finally => "finally".to_string(),
            Some(start) => start.name.clone(),
            None => self.routine(thread).name.clone(),
        }
    }

    /// The value of a register that conditions observe, once the thread has ended.
    pub fn register(&self, thread: &IrThread, reg: Reg) -> i64 {
        thread.registers[reg.0 as usize]
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

    /// Where control passes from the thread's operation, with this result, to its next one: without the first, with the last.
    pub fn passed(&self, thread: &IrThread, result: i64) -> Vec<Pc> {
        let mut passed = Vec::new();
        self.advance(&mut thread.clone(), result, |pc| passed.push(pc));
        passed
    }

    /// As [`Subject::resume`], counting laps.
    pub(crate) fn resume_counting(&self, thread: &mut IrThread, result: i64, laps: &mut Laps) {
        let (routine, mut from) = (self.routine(thread), thread.pc);
        self.advance(thread, result, |pc| {
            laps.moved(routine, from, pc);
            from = pc;
        });
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
            Instr::Fence { .. } | Instr::Yield | Instr::Assert { .. } => thread.spin.nothing(),
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

    /// The operation of a visible instruction, or of a local one that failed.
    fn evaluate(&self, thread: &IrThread) -> Result<Operation, Failure> {
        let eval = |expr: &Expr| thread.eval(expr).map_err(|DivisionByZero| division_by_zero());
        let place = |place: &Place| self.place(thread, place);
        Ok(match &self.routine(thread).code[thread.pc as usize] {
            Instr::Load { place: at, ordering, .. } => {
                let (loc, access) = place(at)?;
                Operation::Read { loc, ordering: *ordering, access }
            }
            Instr::Store { place: at, value, ordering } => {
                let (loc, access) = place(at)?;
                Operation::Write { loc, value: eval(value)?, ordering: *ordering, access }
            }
            Instr::Rmw { place: at, op, operand, ordering, .. } => {
                Operation::Rmw { loc: place(at)?.0, op: *op, operand: eval(operand)?, ordering: *ordering }
            }
            Instr::Cas { place: at, expected, desired, ordering, .. } => Operation::Cas {
                loc: place(at)?.0,
                expected: eval(expected)?,
                desired: eval(desired)?,
                ordering: *ordering,
            },
            Instr::Fence { ordering } => Operation::Fence { ordering: *ordering },
            Instr::Lock { lock, mode } => Operation::Lock { lock: self.indexed(thread, lock)?, mode: *mode },
            Instr::TryLock { lock, mode, .. } => Operation::TryLock { lock: self.indexed(thread, lock)?, mode: *mode },
            Instr::Unlock { lock, mode } => Operation::Unlock { lock: self.indexed(thread, lock)?, mode: *mode },
            Instr::Wait { condvar, lock } => {
                let (condvar, lock) = (self.indexed(thread, condvar)?, self.indexed(thread, lock)?);
                match thread.waiting {
                    false => Operation::Wait { condvar, lock },
                    true => Operation::Reacquire { condvar, lock },
                }
            }
            Instr::Notify { condvar, all } => Operation::Notify { condvar: self.indexed(thread, condvar)?, all: *all },
            Instr::Fork { arguments, .. } => match thread.key.child(thread.forks) {
                Some(child) => {
                    arguments.iter().try_for_each(|argument| eval(argument).map(drop))?;
                    Operation::Fork { child }
                }
                None => return Err(Failure::new(FailureKind::OutOfResources, "too many threads are forked")),
            },
            Instr::Join { thread: handle } => Operation::Join { thread: ThreadKey(eval(handle)? as u64) },
            Instr::Free { pointer } => Operation::Free { block: heap_block(eval(pointer)?)? },
            Instr::Choose { low, high, .. } => match (eval(low)?, eval(high)?) {
                (low, high) if low >= high => Operation::Stop,
                (low, high) if low.abs_diff(high) > MOST_CHOICES => {
                    let message = format!("{low}..{high} is more to choose from than {MOST_CHOICES}");
                    return Err(Failure::new(FailureKind::OutOfResources, message));
                }
                (low, high) => Operation::Choose { low, high },
            },
            Instr::Yield => Operation::Yield,
            Instr::End => Operation::End,
            Instr::Assert { condition, message } => match eval(condition)? {
                0 => return Err(Failure::new(FailureKind::Assertion, message.clone())),
                _ => return Err(endless()),
            },
            Instr::Assume { .. } if thread.stopped => Operation::Stop,
            Instr::Assume { condition } => {
                eval(condition)?;
                return Err(endless());
            }
            Instr::Panic { message } => return Err(Failure::new(FailureKind::Panic, message.clone())),
            Instr::Alloc { .. } => {
                return Err(Failure::new(FailureKind::OutOfResources, "too many blocks are allocated"));
            }
            Instr::Assign { value: expr, .. } | Instr::Branch { condition: expr, .. } => {
                eval(expr)?;
                return Err(endless());
            }
            Instr::Jump { .. } => return Err(endless()),
        })
    }

    fn place(&self, thread: &IrThread, place: &Place) -> Result<(Loc, Access), Failure> {
        let eval = |expr: &Expr| thread.eval(expr).map_err(|DivisionByZero| division_by_zero());
        let (loc, heap_access) = match place {
            Place::Cell(cell) => (Loc::global(*cell as usize), Access::Atomic),
            Place::Element { base, length, index } => {
                let index = eval(index)?;
                if !(0..i64::from(*length)).contains(&index) {
                    let message = format!("index {index} is out of bounds: there are {length} elements");
                    return Err(Failure::new(FailureKind::OutOfBounds, message));
                }
                (Loc::global(*base as usize + index as usize), Access::Atomic)
            }
            Place::Deref { pointer, offset, access } => (pointed_to(eval(pointer)?)?.offset(*offset), *access),
        };
        let declared = loc.as_global().and_then(|index| self.program.cells.get(index)).map(|cell| cell.access);
        Ok((loc, declared.unwrap_or(heap_access)))
    }

    fn indexed(&self, thread: &IrThread, at: &Indexed) -> Result<u32, Failure> {
        let index = thread.eval(&at.index).map_err(|DivisionByZero| division_by_zero())?;
        if (0..i64::from(at.length)).contains(&index) {
            return Ok(at.base + index as u32);
        }
        let message = format!("index {index} is out of bounds: there are {} elements", at.length);
        Err(Failure::new(FailureKind::OutOfBounds, message))
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
        if thread.holding_back {
            return Operation::JoinAll;
        }
        self.evaluate(thread).unwrap_or_else(Operation::Fail)
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

    fn may_fail_after(&self, thread: &IrThread) -> bool {
        self.analyses[thread.routine as usize].failing.after(thread.pc)
    }

    fn initial_cells(&self) -> Vec<i64> {
        self.program.cells.iter().map(|cell| cell.initial).collect()
    }
}

impl Describe for Interpreter<'_> {
    fn title(&self) -> String {
        self.program.name.clone()
    }

    fn program(&self) -> Option<&Program> {
        Some(self.program)
    }

    fn span(&self, thread: &IrThread) -> Span {
        self.span(thread)
    }

    fn site(&self, thread: &IrThread) -> Option<(usize, Pc)> {
        Some(self.site(thread))
    }

    fn place(&self, span: Span) -> String {
        let at = self.program.source.line_column(span.start);
        format!("{}:{}:{}", self.program.source.name, at.line, at.column)
    }

    fn loop_span(&self, thread: &IrThread) -> Option<Span> {
        self.loop_span(thread)
    }

    fn target(&self, thread: &IrThread) -> Option<String> {
        self.target(thread).map(str::to_string)
    }

    fn name(&self, thread: &IrThread) -> String {
        self.name(thread)
    }

    fn loc_name(&self, loc: Loc) -> String {
        self.program.loc_name(loc)
    }

    fn lock_name(&self, lock: u32) -> String {
        self.program.locks[lock as usize].name.clone()
    }

    fn condvar_name(&self, condvar: u32) -> String {
        self.program.condvars[condvar as usize].clone()
    }

    fn has_plain_cells(&self) -> bool {
        let plain_field = |instr: &Instr| {
            let (Instr::Load { place, .. } | Instr::Store { place, .. }) = instr else { return false };
            matches!(place, Place::Deref { access: Access::Plain, .. })
        };
        self.program.cells.iter().any(|cell| cell.access == Access::Plain)
            || self.program.routines.iter().any(|routine| routine.code.iter().any(plain_field))
    }

    fn final_state(&self, state: &State<IrThread>) -> FinalState {
        FinalState::of(self, state)
    }

    fn has_cycles(&self) -> bool {
        self.has_cycles()
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

fn pointed_to(value: i64) -> Result<Loc, Failure> {
    match Loc::from_pointer(value) {
        Some(loc) => Ok(loc),
        None if value == 0 => Err(Failure::new(FailureKind::NullDereference, "a null pointer is used")),
        None => Err(Failure::new(FailureKind::InvalidPointer, format!("{value} is not a pointer"))),
    }
}

fn heap_block(value: i64) -> Result<Loc, Failure> {
    let loc = pointed_to(value)?;
    match loc.block() {
        Some(block) if block == loc => Ok(block),
        _ => Err(Failure::new(FailureKind::InvalidPointer, "only what `new` returned can be freed")),
    }
}

fn division_by_zero() -> Failure {
    Failure::new(FailureKind::DivisionByZero, "division by zero")
}

fn endless() -> Failure {
    let message =
        format!("{MOST_LOCAL_STEPS} local instructions in a row: a loop without any shared access does not end");
    Failure::new(FailureKind::OutOfResources, message)
}
