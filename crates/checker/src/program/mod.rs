//! Programs as the checker sees them: a small register machine per thread over shared cells and locks.
//!
//! Front ends lower their language to this form; `execution` runs it. A [`Routine`] is straight-line code with
//! jumps; a thread is a routine with arguments. Instructions are either *local* (assign, jump, branch, allocate, a
//! passing assert) or *visible*: they touch something that other threads can see. Local instructions never stop a thread.

mod automata;
mod essence;
mod expr;
mod failing;
mod final_state;
pub(crate) mod futures;
mod liveness;
mod print;
mod validate;

pub use automata::{Automata, ControlState};
pub use essence::Essence;
pub use expr::{BinaryOp, DivisionByZero, Expr, ExprOver, FinalExpr, FinalValue, UnaryOp};
pub use failing::Failing;
pub use final_state::FinalState;
pub use liveness::Liveness;
pub use print::PrintedRoutine;
pub use validate::validate;

use crate::base::{Loc, Source, Span};
use std::sync::Arc;

/// A register of a routine. A routine's parameters are its first registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u16);

/// An index into a routine's code.
pub type Pc = u32;

/// A whole program: what is shared, what runs, what is asked.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program's name, for reports.
    pub name: String,
    /// The text that spans point into.
    pub source: Arc<Source>,
    /// Shared cells; `Loc::global(i)` is `cells[i]`.
    pub cells: Vec<Cell>,
    /// Mutexes and read-write locks.
    pub locks: Vec<Lock>,
    /// Condition variables, by name.
    pub condvars: Vec<String>,
    /// Code.
    pub routines: Vec<Routine>,
    /// Threads that run from the start.
    pub initial: Vec<Start>,
    /// Runs alone when every thread has ended.
    pub finally: Option<usize>,
    /// Questions about final states.
    pub conditions: Vec<Condition>,
    /// Set if the program was written as automata: then there is one question, whether the goal can be reached.
    pub automata: Option<Automata>,
}

/// A shared cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its name, with the index for an array's element: `flag[1]`.
    pub name: String,
    /// The value before anything ran.
    pub initial: i64,
    /// Whether data races on it are errors.
    pub access: Access,
}

/// How a cell is meant to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Concurrent accesses are intended.
    Atomic,
    /// Two unsynchronised accesses, one of them a write, are a data race.
    Plain,
}

/// A lock that threads can hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// Its name.
    pub name: String,
    /// Whether it can be shared.
    pub kind: LockKind,
}

/// Kinds of locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// One holder.
    Mutex,
    /// One exclusive holder or many shared ones.
    RwLock,
    /// The bus: while a thread holds it, no other thread reads or writes memory.
    Bus,
}

/// The code of a thread.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its name.
    pub name: String,
    /// How many of the first registers are parameters.
    pub parameters: u16,
    /// Names of the registers; made-up temporaries are empty. A name that is used by several variables
    /// (scopes, inlined functions) belongs to the last of them.
    pub registers: Vec<String>,
    /// The instructions. The last one is `End` or a jump.
    pub code: Vec<Instr>,
    /// For each instruction, where it came from.
    pub spans: Vec<Span>,
    /// The loops of the code, for the detection of spinning.
    pub loops: Vec<Loop>,
    /// Registers that conditions on final states mention: live at the end.
    pub observed: Vec<Reg>,
}

/// A loop: all its code lies in `head..end`, and every iteration passes `head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The first instruction of each iteration.
    pub head: Pc,
    /// The first instruction after the loop's code.
    pub end: Pc,
    /// Where it stands, without its body.
    pub span: Span,
}

/// A thread to run: a routine with the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The thread's name.
    pub name: String,
    /// Index into `Program::routines`.
    pub routine: usize,
    /// Values of the parameters.
    pub arguments: Vec<i64>,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "field names say it; semantics are in DESIGN's table of operations")]
pub enum Instr {
    // Local.
    Assign {
        dst: Reg,
        value: Expr,
    },
    Jump {
        target: Pc,
    },
    Branch {
        condition: Expr,
        then: Pc,
        otherwise: Pc,
    },
    /// A new block of `cells` zeroed heap cells; `dst` becomes its address. Blocks are never reused.
    Alloc {
        dst: Reg,
        cells: u8,
    },
    /// Reports an error when the condition is 0, and goes on.
    Assert {
        condition: Expr,
        message: String,
    },
    /// Ends the interest in this execution when the condition is 0: the thread stops for good.
    Assume {
        condition: Expr,
    },
    /// Reports an error and stops the thread.
    Panic {
        message: String,
    },
    /// The thread is done.
    End,

    // Visible.
    Load {
        dst: Reg,
        place: Place,
        ordering: Ordering,
    },
    Store {
        place: Place,
        value: Expr,
        ordering: Ordering,
    },
    /// `dst` receives the old value.
    Rmw {
        dst: Option<Reg>,
        place: Place,
        op: RmwOp,
        operand: Expr,
        ordering: Ordering,
    },
    /// `dst` receives the old value; the store happens iff it equals `expected`.
    Cas {
        dst: Reg,
        place: Place,
        expected: Expr,
        desired: Expr,
        success: Ordering,
        failure: Ordering,
    },
    Fence {
        ordering: Ordering,
    },
    Lock {
        lock: Indexed,
        mode: LockMode,
    },
    /// `dst` becomes 1 if the lock was taken, else 0.
    TryLock {
        dst: Reg,
        lock: Indexed,
        mode: LockMode,
    },
    Unlock {
        lock: Indexed,
        mode: LockMode,
    },
    /// Releases the lock, waits to be notified, takes the lock again. No spurious wake-ups.
    Wait {
        condvar: Indexed,
        lock: Indexed,
    },
    Notify {
        condvar: Indexed,
        all: bool,
    },
    /// `dst` becomes the thread's handle.
    Fork {
        dst: Option<Reg>,
        routine: usize,
        arguments: Vec<Expr>,
    },
    Join {
        thread: Expr,
    },
    Free {
        pointer: Expr,
    },
    /// `dst` becomes any value of `low..high`. An empty range stops the thread as `Assume` does.
    Choose {
        dst: Reg,
        low: Expr,
        high: Expr,
    },
    Yield,
}

/// A shared cell, as an instruction names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "field names say it")]
pub enum Place {
    /// A variable: an index into `Program::cells`.
    Cell(u32),
    /// An array's element: `cells[base + index]`, out of bounds unless `0 <= index < length`.
    Element { base: u32, length: u32, index: Expr },
    /// What a pointer points to, `offset` cells further on. For a heap cell, `access` says how its field is declared.
    /// An access to a global is plain if the cell is declared so or `access` says so: C code can use one cell both
    /// ways.
    Deref { pointer: Expr, offset: u8, access: Access },
}

/// One of several locks or condition variables: entry `base + index`, out of bounds unless `0 <= index < length`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "field names say it")]
pub struct Indexed {
    pub base: u32,
    pub length: u32,
    pub index: Expr,
}

/// How a lock is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LockMode {
    /// Alone: a mutex, or the write side of a read-write lock.
    Exclusive,
    /// With other readers.
    Shared,
}

/// Memory orderings as source programs write them. What each means for a machine is said in `execution::memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the standard's")]
pub enum Ordering {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// Read-modify-write operators other than compare-exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum RmwOp {
    Swap,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
    Max,
    Min,
    /// One less, but not below 0: something is taken if it is there. The operand does not matter.
    Take,
    /// The operand is added, and no store has to arrive before: no machine has that. A name is drawn, which no program
    /// does.
    Draw,
    /// The operator on integers of so many bits.
    Typed {
        op: &'static RmwOp,
        bits: u8,
        signed: bool,
    },
}

/// A question about final states.
#[derive(Clone, Debug)]
pub struct Condition {
    /// What is asked.
    pub quantifier: Quantifier,
    /// Of which proposition.
    pub proposition: FinalExpr,
    /// Where it stands.
    pub span: Span,
}

/// What a condition asks about the set of final states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Does some final state satisfy it? An observation, never an error.
    Exists,
    /// A final state that satisfies it is an error.
    Forbidden,
    /// A final state that does not satisfy it is an error.
    Always,
}

impl Ordering {
    /// The strongest ordering of a compare-exchange that fails, where this is that of one which stores.
    pub fn on_failure(self) -> Ordering {
        match self {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Relaxed,
            other => other,
        }
    }

    /// Whether a read can have it.
    pub fn is_of_read(self) -> bool {
        !matches!(self, Ordering::Release | Ordering::AcqRel)
    }
}

impl RmwOp {
    /// The value left in memory.
    pub fn apply(self, old: i64, operand: i64) -> i64 {
        match self {
            RmwOp::Swap => operand,
            RmwOp::Add | RmwOp::Draw => old.wrapping_add(operand),
            RmwOp::Sub => old.wrapping_sub(operand),
            RmwOp::And => old & operand,
            RmwOp::Or => old | operand,
            RmwOp::Xor => old ^ operand,
            RmwOp::Nand => !(old & operand),
            RmwOp::Max => old.max(operand),
            RmwOp::Min => old.min(operand),
            RmwOp::Take => old.saturating_sub(1).max(0),
            RmwOp::Typed { op: RmwOp::Max, signed: false, .. } => (old as u64).max(operand as u64) as i64,
            RmwOp::Typed { op: RmwOp::Min, signed: false, .. } => (old as u64).min(operand as u64) as i64,
            RmwOp::Typed { op, bits, signed } => {
                let unused = 64 - u32::from(bits);
                let top = op.apply(old, operand) << unused;
                if signed { top >> unused } else { (top as u64 >> unused) as i64 }
            }
        }
    }
}

impl Program {
    /// A location's name as a person would write it.
    pub fn loc_name(&self, loc: Loc) -> String {
        match loc.as_global().and_then(|index| self.cells.get(index)) {
            Some(cell) => cell.name.clone(),
            None => loc.to_string(),
        }
    }

    /// Whether some thread frees a heap block.
    pub fn frees(&self) -> bool {
        self.routines.iter().any(|routine| routine.code.iter().any(|instr| matches!(instr, Instr::Free { .. })))
    }

    /// Declares everything that is shared plain, so that every unsynchronised access is a data race.
    pub fn make_plain(&mut self) {
        for cell in &mut self.cells {
            cell.access = Access::Plain;
        }
        let code = self.routines.iter_mut().flat_map(|routine| &mut routine.code);
        for instr in code {
            if let Instr::Load { place, .. } | Instr::Store { place, .. } = instr
                && let Place::Deref { access, .. } = place
            {
                *access = Access::Plain;
            }
        }
    }

    /// A value as a person would write it: pointers by what they point to.
    pub fn value_name(&self, value: i64) -> String {
        match Loc::from_pointer(value) {
            Some(loc) => format!("&{}", self.loc_name(loc)),
            None => value.to_string(),
        }
    }
}
