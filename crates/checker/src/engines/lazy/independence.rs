//! Steps that are independent of all other threads, now and later: taking one of them first loses nothing (partial order reduction).
//!
//! A thread all of whose next steps touch only what no other thread can still change (or, for a store, see) goes
//! first, alone. Whatever the others do, including any attack, they can do after it just as well: a step that an attack begins with, ends
//! with or is closed by touches what another thread touches later.

use super::emulation::{Mode, Object, Touched};
use crate::program::Pc;
use crate::program::futures::Futures;

impl Futures {
    /// Whether a thread that is at an instruction can still get in the way of a step that touches this.
    pub(crate) fn concerns(&self, (routine, pc): (u32, Pc), touched: &Touched) -> bool {
        let future = self.at(routine as usize, pc);
        touched.iter().any(|&(object, mode)| match object {
            Object::Cell(loc) => {
                let cell = self.named(loc);
                future.may_write(cell) || mode != Mode::Read && future.may_read(cell)
            }
            Object::Block(_) if mode == Mode::Read => future.may_free(),
            _ => true,
        })
    }
}
