//! Spin hints: noticing that a turn of a loop has changed nothing.
//!
//! A turn is what a thread does from one hint to the next. If it did the same as the turn before, and left the cells that it accessed and the thread's registers
//! and stack as they were, then the next turn does the same, unless one of the cells shows another value: until then the thread waits. A
//! loop that counts its turns changes its stack, and is run turn by turn until it gives up.
//!
//! A turn that writes and takes it back (a flag is set, and reset) can be seen by others while it lasts. As long as nobody has, a turn more cannot be told
//! from a turn that came later; so the thread also goes on when others have accessed what it wrote.

use super::current::{Request, after, may_be_silent, request, with_thread};
use super::execution::ThreadContext;
use super::stack::Here;
use unthread_checker::execution::{Operation, Waits};
use unthread_checker::program::{Access, Loc};

/// What a thread has done since its last spin hint, and in the turn before that.
#[derive(Default)]
pub(crate) struct Spin {
    accesses: Vec<Accessed>,
    before: Option<Vec<Accessed>>,
    /// It did something that it did not take back.
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

/// An access to a cell: what it found, unless it only wrote, and what it left.
#[derive(Clone, Copy, PartialEq)]
struct Accessed {
    loc: Loc,
    found: Option<i64>,
    left: i64,
    writes: bool,
}

/// What a thread waits for: cells with what they show, and cells with how often it wrote them.
type Awaited = (Vec<(Loc, i64)>, Vec<(Loc, u32)>);

/// Turns of a spinning thread in which nothing changed and nobody else could do anything: it will never end.
const MOST_TURNS: u32 = 300;

/// Hints in a row without an operation, after which the hint is one: nobody must wait for ever for something that cannot be seen.
const MOST_IDLE: u32 = 1000;

impl Spin {
    /// Notes what came of an operation.
    pub(super) fn note(&mut self, operation: &Operation, result: i64) {
        self.active = true;
        let Some(loc) = operation.loc() else {
            self.effect |= !matches!(operation, Operation::Yield | Operation::Fence { .. });
            return;
        };
        let (left, found) = (after(operation, result), Some(result));
        let accessed = match operation {
            // Whether data changes that the machine does not hold is seen when the access ends.
            Operation::Touch { .. } | Operation::Write { access: Access::Plain, .. } => return,
            Operation::Count { by, .. } if *by != 0 => return self.changed(),
            Operation::Write { .. } => Accessed { loc, found: None, left, writes: true },
            Operation::Rmw { .. } => Accessed { loc, found, left, writes: left != result || !may_be_silent(operation) },
            Operation::Cas { expected, .. } => Accessed { loc, found, left, writes: result == *expected },
            _ => Accessed { loc, found, left, writes: false },
        };
        self.accesses.push(accessed);
    }

    /// The turn has changed something for good.
    pub(crate) fn changed(&mut self) {
        self.effect = true;
    }

    /// Whether the thread has given a hint: then it matters what the present turn changes.
    pub(crate) fn has_begun(&self) -> bool {
        self.picture.is_some()
    }

    /// The turn is over. Gives what the thread waits for if it changed nothing.
    fn turn(&mut self, picture: Option<u64>) -> Option<Awaited> {
        let effect = std::mem::take(&mut self.effect);
        let accesses = std::mem::take(&mut self.accesses);
        // What is on the stack where nothing was written yet depends on who used it before. Where the turn before went the same way, from one hint to
        // the next, all that this one has written was written then, too.
        let same_way = !effect && !accesses.is_empty() && self.before.as_ref() == Some(&accesses);
        let same_place = picture.is_some() && picture == self.picture;
        let awaited = if same_way && same_place { awaited(&accesses) } else { None };
        self.before = (self.has_begun() && !effect).then_some(accesses);
        self.picture = picture;
        self.turns = if awaited.is_some() { self.turns + 1 } else { 0 };
        awaited
    }
}

/// What a turn waits for that has done this; nothing if it left a cell other than it found it.
fn awaited(turn: &[Accessed]) -> Option<Awaited> {
    let (mut cells, mut unseen): Awaited = (Vec::new(), Vec::new());
    for (at, last) in turn.iter().enumerate().rev() {
        let loc = last.loc;
        if cells.iter().any(|cell| cell.0 == loc) {
            continue;
        }
        let accesses = || turn[..=at].iter().filter(|access| access.loc == loc);
        let first = accesses().next()?;
        if first.found.is_some_and(|found| found != last.left) {
            return None;
        }
        cells.push((loc, last.left));
        if accesses().any(|access| access.writes && access.found != Some(access.left)) {
            unseen.push((loc, accesses().filter(|access| access.writes).count() as u32));
        }
    }
    Some((cells, unseen))
}

/// The thread says that it waits for others. If its last turn changed nothing, it goes on when something that it accessed has changed, or when
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
    let (awaiting, unseen) = spin.turn(here.picture(thread.stack_base.get()))?;
    let waits = if spin.turns < MOST_TURNS { Waits::Spinning } else { Waits::Forever };
    Some(Request { awaiting, unseen, waits, ..Request::of(Operation::Yield) })
}
