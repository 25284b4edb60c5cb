//! Spin hints: noticing that a turn of a loop has changed nothing.
//!
//! A turn is what a thread does from one hint to the next. If it did nothing but read, read the same as the turn before, and left the thread's registers
//! and stack as they were, then the next turn does the same, unless one of the cells that it read shows another value: until then the thread waits. A
//! loop that counts its turns changes its stack, and is run turn by turn until it gives up.

use super::current::{Request, after, request, with_thread};
use super::execution::ThreadContext;
use super::stack::Here;
use unthread_checker::execution::{Operation, Waits};
use unthread_checker::program::Loc;

/// What a thread has done since its last spin hint.
#[derive(Default)]
pub(crate) struct Spin {
    /// Cells that it read, and what they showed.
    reads: Vec<(Loc, i64)>,
    /// The same, in the turn before.
    before: Vec<(Loc, i64)>,
    /// It did something that others can see.
    effect: bool,
    /// It did something.
    active: bool,
    /// Its stack at the last hint.
    picture: Option<u64>,
    /// Turns in a row that changed nothing.
    turns: u32,
    /// Hints in a row without any operation.
    idle: u32,
}

/// Turns of a spinning thread in which nothing changed and nobody else could do anything: it will never end.
const MOST_TURNS: u32 = 300;

/// Hints in a row without an operation, after which the hint is one: nobody must wait for ever for something that cannot be seen.
const MOST_IDLE: u32 = 1000;

impl Spin {
    /// Notes what came of an operation.
    pub(super) fn note(&mut self, operation: &Operation, result: i64) {
        self.active = true;
        match (operation, operation.loc()) {
            (Operation::Yield | Operation::Fence { .. } | Operation::Touch { writes: false, .. }, _) => {}
            (Operation::Write { .. } | Operation::Touch { .. }, _) => self.effect = true,
            (_, Some(loc)) if after(operation, result) == result => self.reads.push((loc, result)),
            _ => self.effect = true,
        }
        if self.effect {
            self.reads.clear();
        }
    }

    /// The turn is over. Gives what the thread waits for if it changed nothing.
    fn turn(&mut self, picture: Option<u64>) -> Option<Vec<(Loc, i64)>> {
        let effect = std::mem::take(&mut self.effect);
        let reads = std::mem::take(&mut self.reads);
        // What is on the stack where nothing was written yet depends on who used it before. Where the turn before went the same way, all that this
        // one has written was written then, too.
        let same_way = !effect && !reads.is_empty() && reads == self.before;
        let same = same_way && picture.is_some() && picture == self.picture;
        self.picture = picture;
        self.turns = if same { self.turns + 1 } else { 0 };
        let mut cells = if same { reads.clone() } else { Vec::new() };
        self.before = reads;
        cells.sort_unstable();
        cells.dedup();
        same.then_some(cells)
    }
}

/// The thread says that it waits for others. If its last turn changed nothing, it goes on when something that it read shows another value, or when
/// nobody else can do anything.
#[track_caller]
pub(crate) fn spin_hint(here: &Here) {
    let asked = with_thread(|_, thread| ask(thread, here));
    if let Some(asked) = asked {
        request(asked);
    }
}

fn ask(thread: &ThreadContext, here: &Here) -> Option<Request> {
    let mut spin = thread.spin.borrow_mut();
    if !std::mem::take(&mut spin.active) {
        spin.idle += 1;
        return (spin.idle >= MOST_IDLE).then(|| Request::of(Operation::Yield));
    }
    spin.idle = 0;
    let awaiting = spin.turn(here.picture(thread.stack_base.get()))?;
    let waits = if spin.turns < MOST_TURNS { Waits::Spinning } else { Waits::Forever };
    Some(Request { awaiting, waits, ..Request::of(Operation::Yield) })
}
