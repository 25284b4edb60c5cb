//! Sketches: small structured programs that are easy to generate, to shrink, to rewrite and to read.
//!
//! Every sketch lowers to a valid program, whatever its numbers say: indices are taken modulo what there is. So a generator
//! needs no side conditions, and removing any part of a sketch leaves a sketch.

use unthread_checker::program::{Access, LockMode, Ordering, Quantifier, RmwOp};

/// A whole program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// Variables `x`, `y`, `z`: as many as there are entries, at least one.
    pub cells: Vec<CellSketch>,
    /// Threads `t0`, `t1`, …
    pub threads: Vec<ThreadSketch>,
    /// Runs when all have ended.
    pub finally: Vec<Statement>,
    /// Whether final states show the registers.
    pub observed: bool,
    /// A question about final states.
    pub condition: Option<ConditionSketch>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSketch {
    /// Its name.
    pub name: &'static str,
    /// Its value at the start.
    pub initial: i64,
    /// Whether races on it are errors.
    pub access: Access,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSketch {
    /// Its name.
    pub name: String,
    /// The thread that forks it. None: it runs from the start.
    pub parent: Option<Parent>,
    /// What it does.
    pub body: Vec<Statement>,
}

/// How a thread is forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// An earlier thread, modulo the number of earlier threads.
    pub thread: usize,
    /// Before which statement of the parent's body.
    pub at: usize,
    /// Whether the parent joins it at its end.
    pub join: bool,
}

/// A question about final values: that each of these is what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionSketch {
    /// What is asked.
    pub quantifier: Quantifier,
    /// What is asked about, with the values that they are compared with. At least one.
    pub all: Vec<(Asked, i64)>,
}

/// What a condition asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Asked {
    Cell(usize),
    /// A register of a thread that runs from the start, modulo the number of those.
    Register(usize, u8),
}

/// What a thread does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "field names say it; lowering says what each does")]
pub enum Statement {
    Load {
        dst: Var,
        place: PlaceSketch,
        ordering: Ordering,
    },
    Store {
        place: PlaceSketch,
        value: Value,
        ordering: Ordering,
    },
    Rmw {
        dst: Var,
        place: PlaceSketch,
        op: RmwOp,
        operand: Value,
        ordering: Ordering,
    },
    Cas {
        dst: Var,
        place: PlaceSketch,
        expected: Value,
        desired: Value,
        /// If it stores.
        ordering: Ordering,
        /// If it does not: the ordering of a read.
        failure: Ordering,
    },
    Fence(Ordering),
    Yield,
    Assign {
        dst: Var,
        value: Value,
    },
    Choose {
        dst: Var,
        high: i64,
    },
    Assert(Test),
    Assume(Test),
    Panic,
    Lock(LockName, LockMode),
    Unlock(LockName, LockMode),
    TryLock {
        dst: Var,
        lock: LockName,
        mode: LockMode,
    },
    Notify {
        all: bool,
    },
    Alloc,
    Free,
    Join(Value),
    /// Lock, body, unlock.
    Locked {
        lock: LockName,
        mode: LockMode,
        body: Vec<Statement>,
    },
    /// If the lock can be taken: body, unlock.
    TryLocked {
        lock: LockName,
        mode: LockMode,
        body: Vec<Statement>,
    },
    /// Lock `m`, wait if the test holds, body, unlock.
    LockedWait {
        test: Option<(PlaceSketch, i64)>,
        body: Vec<Statement>,
    },
    If {
        test: Test,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Repeat {
        times: u8,
        body: Vec<Statement>,
    },
    /// Read until the value is (or is not) this one.
    Spin {
        place: PlaceSketch,
        value: i64,
        until_equal: bool,
        yields: bool,
    },
    /// Body and a look at a cell, again and again until what it finds is (or is not) this value.
    Retry {
        body: Vec<Statement>,
        place: PlaceSketch,
        look: Look,
        value: i64,
        until_equal: bool,
    },
    /// A lock in a cell that is free at 0: taken in a loop, perhaps after a look at it; body; given back, or not.
    SpinLocked {
        place: PlaceSketch,
        looks: bool,
        take: Look,
        body: Vec<Statement>,
        gives_back: bool,
    },
}

/// How a loop looks at a cell. What it finds is the value before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Look {
    Load,
    Rmw(RmwOp, i64),
    Cas { expected: i64, desired: i64 },
}

/// A register: `r0`, `r1`, `r2`, or the pointer `p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the documentation of the type says it")]
pub enum Var {
    R(u8),
    P,
}

/// Something to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Value {
    Const(i64),
    Var(Var),
    Plus(Var, i64),
    /// Divides the constant by the register.
    Quotient(i64, Var),
    /// The address of a variable.
    AddressOf(usize),
}

/// A shared cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum PlaceSketch {
    Cell(usize),
    /// An element of the array `a[2]`.
    Element(Value),
    /// What `p` points to, this many cells further on.
    Target(u8),
}

/// `var == value`, or `!=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the documentation of the type says it")]
pub struct Test {
    pub var: Var,
    pub equal: bool,
    pub value: i64,
}

/// Mutexes `m` and `n`, and the read-write lock `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the documentation of the type says it")]
pub enum LockName {
    M,
    N,
    Rw,
}

impl Statement {
    /// The statements inside of this one.
    pub fn bodies(&self) -> Vec<&Vec<Statement>> {
        match self {
            Statement::Locked { body, .. }
            | Statement::TryLocked { body, .. }
            | Statement::LockedWait { body, .. }
            | Statement::Repeat { body, .. }
            | Statement::Retry { body, .. }
            | Statement::SpinLocked { body, .. } => vec![body],
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    fn bodies_mut(&mut self) -> Vec<&mut Vec<Statement>> {
        match self {
            Statement::Locked { body, .. }
            | Statement::TryLocked { body, .. }
            | Statement::LockedWait { body, .. }
            | Statement::Repeat { body, .. }
            | Statement::Retry { body, .. }
            | Statement::SpinLocked { body, .. } => vec![body],
            Statement::If { then, otherwise, .. } => vec![then, otherwise],
            _ => vec![],
        }
    }

    /// Whether it goes round until something happens.
    pub fn is_loop(&self) -> bool {
        matches!(self, Statement::Spin { .. } | Statement::Retry { .. } | Statement::SpinLocked { .. })
    }

    /// Whether this or a statement inside of it is as described.
    pub fn any(&self, is: &impl Fn(&Statement) -> bool) -> bool {
        is(self) || self.bodies().into_iter().flatten().any(|statement| statement.any(is))
    }
}

impl Sketch {
    /// Whether some statement is as described.
    pub fn any(&self, is: impl Fn(&Statement) -> bool) -> bool {
        let bodies = self.threads.iter().map(|thread| &thread.body).chain([&self.finally]);
        bodies.into_iter().flatten().any(|statement| statement.any(&is))
    }

    /// The sketch with every statement replaced, inside out, by these.
    pub fn map(&self, replace: impl Fn(Statement) -> Vec<Statement>) -> Sketch {
        let mut sketch = self.clone();
        for body in sketch.threads.iter_mut().map(|thread| &mut thread.body).chain([&mut sketch.finally]) {
            map_body(body, &replace);
        }
        sketch
    }
}

fn map_body(body: &mut Vec<Statement>, replace: &impl Fn(Statement) -> Vec<Statement>) {
    let old = std::mem::take(body);
    body.extend(old.into_iter().flat_map(|mut statement| {
        statement.bodies_mut().into_iter().for_each(|body| map_body(body, replace));
        replace(statement)
    }));
}
