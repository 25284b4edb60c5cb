//! Cells by which threads wait for one another. Who is woken, or receives, comes after who woke it, or sent: the one releases, the other acquires.

use super::current::{Request, request};
use super::patience::waits_again;
use unthread_checker::base::Loc;
use unthread_checker::execution::{Operation, Waits};
use unthread_checker::program::{Ordering, RmwOp};

/// A cell that threads change and wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signal {
    cell: u32,
    opaque: bool,
}

impl Signal {
    /// A cell that is all there is: a flag.
    pub(crate) fn flag(cell: u32) -> Signal {
        Signal { cell, opaque: false }
    }

    /// The cell of an object whose contents only the code under test knows: the place of an operation in the order of all operations on that object is
    /// what counts.
    pub(crate) fn opaque(cell: u32) -> Signal {
        Signal { cell, opaque: true }
    }

    fn loc(self) -> Loc {
        Loc::global(self.cell as usize)
    }

    fn request(self, operation: Operation) -> Request {
        Request::on(self.opaque.then(|| self.loc()), operation)
    }

    /// A read-modify-write. Gives what was there.
    #[track_caller]
    pub(crate) fn update(self, op: RmwOp, operand: i64, ordering: Ordering) -> i64 {
        request(self.request(Operation::Rmw { loc: self.loc(), op, operand, ordering }))
    }

    /// A compare-exchange. Gives what was there.
    #[track_caller]
    pub(crate) fn exchange(self, expected: i64, desired: i64, [success, failure]: [Ordering; 2]) -> i64 {
        let loc = self.loc();
        request(self.request(Operation::Cas { loc, expected, desired, success, failure }))
    }

    /// A read-modify-write that takes over what others have handed over, once the cell does not show `while_value` any more.
    #[track_caller]
    pub(crate) fn update_when_changed(self, while_value: i64, op: RmwOp, operand: i64, waits: Waits) -> i64 {
        let operation = Operation::Rmw { loc: self.loc(), op, operand, ordering: Ordering::Acquire };
        let again = if waits == Waits::Timed { waits_again() } else { None };
        request(Request { awaiting: vec![(self.loc(), while_value)], waits, again, ..self.request(operation) })
    }
}
