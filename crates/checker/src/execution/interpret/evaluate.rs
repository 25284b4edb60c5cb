//! From an instruction and a thread's registers to the operation that the thread is at.

use super::{Interpreter, IrThread, MOST_CHOICES, MOST_LOCAL_STEPS};
use crate::base::{Failure, FailureKind, Loc, ThreadKey};
use crate::execution::{Operation, Queue};
use crate::program::{Access, DivisionByZero, Expr, Indexed, Instr, Place};

impl Interpreter<'_> {
    /// The operation that the thread is at.
    pub(super) fn next(&self, thread: &IrThread) -> Operation {
        if thread.holding_back {
            return Operation::JoinAll;
        }
        self.evaluate(thread).unwrap_or_else(|failure| Operation::Fail(failure.kind))
    }

    /// What is wrong, of a thread that has failed.
    pub(super) fn wrong(&self, thread: &IrThread) -> Failure {
        self.evaluate(thread).expect_err("the thread has failed")
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
            Instr::Cas { place: at, expected, desired, success, failure, .. } => Operation::Cas {
                loc: place(at)?.0,
                expected: eval(expected)?,
                desired: eval(desired)?,
                success: *success,
                failure: *failure,
            },
            Instr::Fence { ordering } => Operation::Fence { ordering: *ordering },
            Instr::Lock { lock, mode } => {
                Operation::Lock { lock: self.indexed(thread, lock)?, mode: *mode, queue: Queue::None }
            }
            Instr::TryLock { lock, mode, .. } => Operation::TryLock { lock: self.indexed(thread, lock)?, mode: *mode },
            Instr::Unlock { lock, mode } => {
                Operation::Unlock { lock: self.indexed(thread, lock)?, mode: *mode, silent: false }
            }
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

    pub(super) fn place(&self, thread: &IrThread, place: &Place) -> Result<(Loc, Access), Failure> {
        let eval = |expr: &Expr| thread.eval(expr).map_err(|DivisionByZero| division_by_zero());
        let (loc, access) = match place {
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
        let cell = loc.as_global().and_then(|index| self.program.cells.get(index));
        let is_plain = cell.is_some_and(|cell| cell.access == Access::Plain);
        Ok((loc, if is_plain { Access::Plain } else { access }))
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
