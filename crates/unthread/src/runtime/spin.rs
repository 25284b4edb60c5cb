//! Spin hints: noticing that a turn of a loop has changed nothing.
//!
//! A turn is what a thread does from one hint to the next. If it did the same as the turn before, and left the cells that it accessed and the thread's registers
//! and stack as they were, then the next turn does the same, unless one of the cells shows another value: until then the thread waits. The same goes for a few
//! turns that are repeated: a loop that spins three times, gives up and is begun anew. A
//! loop that counts its turns changes its stack, and is run turn by turn until it gives up. If it never does, executions are too long; and if it allocates, its
//! stack depends on the allocator. Then the check begins anew: nobody looks at stacks, and a loop waits after a few turns that were alike. What
//! it would have done in further turns is left out, and the report says so.
//!
//! A turn that writes and takes it back (a flag is set, and reset) can be seen by others while it lasts. As long as nobody has, a turn more cannot be told
//! from a turn that came later; so the thread also goes on when others have accessed what it wrote. The same goes for a lock that a turn takes and gives back:
//! others may have changed what it protects, or failed to take it. Others that just poll it, too, do neither: their turns give it back *silently*. A turn is such
//! a one as far as it has done what a recent one did, and changed nothing.
//! A lock that could not be taken and a thread that has not ended are waited for, too.

use super::context::ThreadContext;
use super::current::{Request, after, may_be_silent, request, with_thread};
use super::execution::{Counting, Execution};
use super::stack::Here;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use unthread_checker::base::{Loc, ThreadKey};
use unthread_checker::execution::{Operation, Poll, Waits};
use unthread_checker::program::{Access, LockMode};

/// What a thread has done since its last spin hint, and in the turn before that.
#[derive(Default)]
pub(crate) struct Spin {
    turn: Vec<Deed>,
    /// The last turns that changed nothing for good, newest last.
    history: VecDeque<Turn>,
    /// It did something that it did not take back.
    effect: bool,
    /// It did something.
    active: bool,
    /// Its stack at the last hint.
    picture: Option<u64>,
    /// Turns in a row that changed nothing.
    turns: u32,
    /// Turns in a row that changed nothing but the stack.
    in_vain: u32,
    /// Hints in a row without any operation.
    idle: u32,
}

/// A turn that is over, and how it left the registers and the stack.
struct Turn {
    deeds: Vec<Deed>,
    picture: Option<u64>,
}

/// Something that a turn did, and that others can see or that depends on them.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Access(Accessed),
    Take(u32, LockMode),
    GiveBack(u32, LockMode),
    /// It could not take a lock.
    Fail(u32, LockMode),
    /// It asked whether a thread has ended, which had not.
    Ask(ThreadKey),
}

/// An access to a cell: what it found, unless it only wrote, and what it left.
#[derive(Clone, Copy, PartialEq)]
struct Accessed {
    loc: Loc,
    found: Option<i64>,
    left: i64,
    writes: bool,
}

/// What a thread waits for.
#[derive(Default)]
struct Awaited {
    /// Cells, with what they show.
    cells: Vec<(Loc, i64)>,
    /// Cells, with how often it wrote them.
    unseen: Vec<(Loc, u32)>,
    polls: Vec<Poll>,
}

/// Turns of a spinning thread in which nothing changed and nobody else could do anything: it will never end.
const MOST_TURNS: u32 = 300;

/// The most turns that are recognised when they are repeated.
const LONGEST_PERIOD: usize = 8;

/// Turns in vain after which a loop that counts them is not expected to give up.
const MANY_IN_VAIN: u32 = 1000;

/// Hints in a row without an operation, after which the hint is one: nobody must wait for ever for something that cannot be seen.
const MOST_IDLE: u32 = 1000;

impl Spin {
    /// Notes what came of an operation.
    pub(super) fn note(&mut self, operation: &Operation, result: i64) {
        self.active = true;
        let Some(loc) = operation.loc() else { return self.note_other(operation, result) };
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
        self.turn.push(Deed::Access(accessed));
    }

    /// Notes what came of an operation that is not on a cell.
    fn note_other(&mut self, operation: &Operation, result: i64) {
        let deed = match *operation {
            Operation::Yield | Operation::Fence { .. } => return,
            Operation::HasEnded { .. } if result != 0 => return,
            Operation::HasEnded { thread } => Deed::Ask(thread),
            Operation::TryLock { lock, mode } if result == 0 => Deed::Fail(lock, mode),
            Operation::Lock { lock, mode, .. } | Operation::TryLock { lock, mode } => Deed::Take(lock, mode),
            Operation::Unlock { lock, mode, .. } => Deed::GiveBack(lock, mode),
            _ => return self.changed(),
        };
        self.turn.push(deed);
    }

    /// The turn has changed something for good.
    pub(crate) fn changed(&mut self) {
        self.effect = true;
    }

    /// Whether giving back a lock is silent: the turn so far, with that, is as a recent one.
    pub(crate) fn is_silent(&self, lock: u32, mode: LockMode) -> bool {
        let n = self.turn.len();
        let is_alike =
            |turn: &Turn| turn.deeds.get(n) == Some(&Deed::GiveBack(lock, mode)) && turn.deeds[..n] == self.turn[..];
        !self.effect && self.history.iter().any(is_alike)
    }

    /// Whether the thread has given a hint: then it matters what the present turn changes.
    pub(crate) fn has_begun(&self) -> bool {
        self.picture.is_some()
    }

    /// The turn is over. Gives what the thread waits for if it changed nothing, or nothing but the stack for too many turns.
    fn end_turn(&mut self, picture: Option<u64>, most: Option<u32>, counting: &Counting) -> Option<Awaited> {
        self.remember_turn(picture);
        let repeated = (1..=LONGEST_PERIOD).find(|&period| self.goes_the_same_way(period));
        let waits_for = (1..=LONGEST_PERIOD).find(|&period| self.is_where_it_was(period));
        let is_in_vain = repeated.is_some() && (waits_for.is_none() || most.is_some());
        self.in_vain = if is_in_vain { self.in_vain + 1 } else { 0 };
        counting.some.fetch_or(is_in_vain, Relaxed);
        counting.many.fetch_or(self.in_vain > MANY_IN_VAIN, Relaxed);
        let period = match most {
            None => waits_for,
            Some(most) => repeated.filter(|_| self.in_vain > most),
        };
        let awaited = period.and_then(|period| awaited(&self.last_turns(period)));
        counting.cut.fetch_or(most.is_some() && awaited.is_some(), Relaxed);
        self.turns = if awaited.is_some() && most.is_none() { self.turns + 1 } else { 0 };
        awaited
    }

    /// The turn ends at a wait for some time. Says how many turns lead back to where the thread was before, if some do.
    pub(super) fn end_wait(&mut self, picture: Option<u64>) -> Option<usize> {
        self.remember_turn(picture);
        let leads_back = |&period: &usize| self.is_where_it_was(period) && changes_nothing(&self.last_turns(period));
        let period = (1..=LONGEST_PERIOD).find(leads_back);
        self.turns = if period.is_some() { self.turns + 1 } else { 0 };
        period
    }

    /// Turns in a row that changed nothing.
    pub(super) fn turns(&self) -> u32 {
        self.turns
    }

    fn last_turns(&self, n: usize) -> Vec<Deed> {
        let turns = self.history.range(self.history.len() - n..);
        turns.flat_map(|turn| turn.deeds.iter().copied()).collect()
    }

    fn remember_turn(&mut self, picture: Option<u64>) {
        let effect = std::mem::take(&mut self.effect);
        let deeds = std::mem::take(&mut self.turn);
        if effect || !self.has_begun() {
            self.history.clear();
        }
        if self.has_begun() && !effect {
            if self.history.len() == 2 * LONGEST_PERIOD {
                self.history.pop_front();
            }
            self.history.push_back(Turn { deeds, picture });
        }
        self.picture = picture;
    }

    /// Whether so many turns have changed nothing, not even the stack, and are repeated.
    fn is_where_it_was(&self, period: usize) -> bool {
        let picture = |back: usize| self.history.iter().rev().nth(back).and_then(|turn| turn.picture);
        picture(0).is_some() && picture(0) == picture(period) && self.goes_the_same_way(period)
    }

    /// Whether the last turns did the same as those before.
    ///
    /// What is on the stack where nothing was written yet depends on who used it before. Where turns went the same way as those before, from one hint to
    /// the next, all that they have written was written then, too.
    fn goes_the_same_way(&self, period: usize) -> bool {
        let newest = || self.history.iter().rev().map(|turn| &turn.deeds);
        let (last, before) = (newest().take(period), newest().skip(period).take(period));
        self.history.len() >= 2 * period && newest().take(period).any(|deeds| !deeds.is_empty()) && last.eq(before)
    }
}

/// What a turn waits for that has done this; nothing if it left a cell or a lock other than it found it.
fn awaited(turn: &[Deed]) -> Option<Awaited> {
    Some(Awaited { polls: polled(turn)?, ..awaited_cells(turn)? })
}

/// Whether a turn that has done this left all cells and locks as it found them.
fn changes_nothing(turn: &[Deed]) -> bool {
    let is_balanced = |deed: &Deed| match *deed {
        Deed::Take(lock, _) | Deed::GiveBack(lock, _) => visits(turn, lock).is_some(),
        _ => true,
    };
    turn.iter().all(is_balanced) && awaited_cells(turn).is_some()
}

/// The cells that such a turn waits for; nothing if it left one other than it found it.
fn awaited_cells(turn: &[Deed]) -> Option<Awaited> {
    let mut awaited = Awaited::default();
    let accesses = |deed: &Deed| if let Deed::Access(accessed) = deed { Some(*accessed) } else { None };
    let turn: Vec<Accessed> = turn.iter().filter_map(accesses).collect();
    for (at, last) in turn.iter().enumerate().rev() {
        let loc = last.loc;
        if awaited.cells.iter().any(|cell| cell.0 == loc) {
            continue;
        }
        let accesses = || turn[..=at].iter().filter(|access| access.loc == loc);
        let first = accesses().next()?;
        if first.found.is_some_and(|found| found != last.left) {
            return None;
        }
        // Others have changed it meanwhile, and back.
        let left = |access: &Accessed| access.left;
        if accesses()
            .map(left)
            .zip(accesses().skip(1))
            .any(|(left, next)| next.found.is_some_and(|found| found != left))
        {
            return None;
        }
        awaited.cells.push((loc, last.left));
        if accesses().any(|access| access.writes && access.found != Some(access.left)) {
            awaited.unseen.push((loc, accesses().filter(|access| access.writes).count() as u32));
        }
    }
    Some(awaited)
}

/// What such a turn waits for beside cells; nothing if it keeps a lock or gives one back that it had before.
fn polled(turn: &[Deed]) -> Option<Vec<Poll>> {
    let mut polls: Vec<Poll> = Vec::new();
    for (at, &deed) in turn.iter().enumerate() {
        let is_visited = |lock| polls.iter().any(|poll| matches!(*poll, Poll::Visited(known, _) if known == lock));
        let poll = match deed {
            Deed::Fail(lock, mode) => Poll::Free(lock, mode),
            Deed::Ask(thread) => Poll::Ended(thread),
            Deed::Take(lock, _) if !is_visited(lock) => Poll::Visited(lock, visits(&turn[at..], lock)?),
            Deed::GiveBack(lock, _) if !is_visited(lock) => return None,
            _ => continue,
        };
        polls.push(poll);
    }
    Some(polls)
}

/// How often a lock is taken and given back; nothing if the one is more often than the other.
fn visits(turn: &[Deed], lock: u32) -> Option<u32> {
    let (mut taken, mut given_back) = (0, 0);
    for deed in turn {
        match *deed {
            Deed::Take(of, _) if of == lock => taken += 1,
            Deed::GiveBack(of, _) if of == lock => given_back += 1,
            _ => {}
        }
    }
    (taken == given_back).then_some(taken + given_back)
}

/// The thread says that it waits for others. If its last turn changed nothing, it goes on when something that it accessed has changed, or when
/// nobody else can do anything.
#[track_caller]
pub(crate) fn spin_hint(here: &Here) {
    let asked = with_thread(|execution, thread| {
        let asked = ask(execution, thread, here);
        if asked.as_ref().is_some_and(|asked| !asked.polls.is_empty()) {
            execution.names.borrow_mut().mark_unfit("a loop polls a lock or a thread");
        }
        asked
    });
    if let Some(asked) = asked {
        request(asked);
    }
}

fn ask(execution: &Execution, thread: &ThreadContext, here: &Here) -> Option<Request> {
    let mut spin = thread.spin.borrow_mut();
    if !std::mem::take(&mut spin.active) {
        spin.idle += 1;
        return (spin.idle >= MOST_IDLE).then(|| Request::of(Operation::Yield));
    }
    spin.idle = 0;
    let picture = here.picture(thread.stack_base.get(), &execution.names.borrow());
    let Awaited { cells: awaiting, unseen, polls } =
        spin.end_turn(picture, execution.settings.turns, &execution.counting)?;
    let waits = if spin.turns < MOST_TURNS { Waits::Spinning } else { Waits::Forever };
    Some(Request { awaiting, unseen, polls, waits, ..Request::of(Operation::Yield) })
}
