//! Waits for some time: noticing that a thread gives up again and again, and that nothing comes of it.
//!
//! A wait for some time is given up when nothing else can happen. The loop around it may then wait again, for ever. A *turn* is what a thread does from then on until it waits for some time
//! again. If nobody else did anything meanwhile, and the turn left everything as it was (`spin.rs` says when), the execution is where it was before: giving up once more leads to the same wait.
//! Then the thread waits *in vain*, until somebody has done something else.
//!
//! Every operation begins a new *moment* of the execution, and a turn in vain leads back to the moment at which it began. So threads that wait in vain do not keep one another going.

use super::current::with_thread;
use super::execution::Execution;
use super::spin::Spin;
use super::stack::Here;
use unthread_checker::execution::{Operation, Queue, Waits};
use unthread_checker::program::LockMode;

/// What a thread has done since its last wait for some time.
#[derive(Default)]
pub(crate) struct Patience {
    spin: Spin,
    /// Its turns so far.
    turns: Vec<Turn>,
    /// The moment at which this turn began.
    began: u64,
    /// Its operations in this turn.
    operations: u64,
    /// All operations before this turn.
    before: u64,
    /// It waits, and nothing has come of the last turns: so many of them lead back.
    period: Option<usize>,
    /// It is asked whether to give up at once.
    asked: bool,
}

/// When a turn began, and when it ended.
#[derive(Clone, Copy)]
struct Turn {
    began: u64,
    ended: u64,
}

/// A thread waits where it has waited before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    /// The moment at which it did.
    moment: u64,
    /// It has done so too often for anything to come of it.
    too_often: bool,
}

/// Turns in vain after which nothing is expected to come of further ones. What a loop counts may be where nobody looks.
const MOST_TURNS: u32 = 100;

impl Patience {
    /// Notes what came of an operation, which began at that moment. There were so many before.
    pub(super) fn note(&mut self, operation: &Operation, result: i64, gives_up: bool, moment: u64, before: u64) {
        if !self.spin.has_begun() {
            return;
        }
        self.operations += 1;
        if gives_up {
            // The turn begins.
            (self.began, self.before, self.operations) = (moment, before, 1);
        }
        let mode = LockMode::Exclusive;
        match *operation {
            Operation::Wait { lock, .. } => self.spin.note(&Operation::Unlock { lock, mode, silent: false }, result),
            Operation::Reacquire { lock, .. } if gives_up => {
                self.spin.note(&Operation::Lock { lock, mode, queue: Queue::None }, result);
            }
            Operation::Choose { .. } if self.asked && result == 0 => {}
            _ => self.spin.note(operation, result),
        }
        self.asked = false;
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.spin.has_begun()
    }

    pub(crate) fn changed(&mut self) {
        self.spin.changed();
    }

    /// Whether nobody else has done anything in this turn, after so many operations.
    fn is_alone(&self, all: u64) -> bool {
        all - self.before == self.operations
    }

    fn end_turn(&mut self, all: u64, picture: Option<u64>) {
        if !self.is_alone(all) {
            self.spin.changed();
        }
        self.period = self.spin.end_wait(picture);
    }

    /// The moment at which the last turns began, if nobody else did anything between them.
    fn began_in_a_row(&self, period: usize) -> Option<u64> {
        let mut began = self.began;
        for turn in self.turns.iter().rev().take(period - 1) {
            if turn.ended != began {
                return None;
            }
            began = turn.began;
        }
        (period <= self.turns.len()).then_some(began)
    }
}

/// The thread is about to wait for some time, here. Says whether that is worth a try: it may give up at once then.
#[track_caller]
pub(crate) fn begins_to_wait(here: &Here) -> bool {
    with_thread(|execution, thread| {
        let picture = here.picture(thread.stack_base.get(), &execution.names.borrow());
        let mut patience = thread.patience.borrow_mut();
        patience.end_turn(execution.operations(), picture);
        let is_new = patience.period.is_none();
        if is_new && thread.timeouts_left.get() == 0 {
            execution.counting.note_few_timeouts();
        }
        patience.asked = true;
        is_new
    })
}

/// The thread waits from now on.
#[track_caller]
pub(crate) fn waits_again() -> Option<Again> {
    with_thread(|execution, thread| {
        let mut patience = thread.patience.borrow_mut();
        let period = patience.period.filter(|_| patience.is_alone(execution.operations()));
        let known = period.and_then(|period| patience.began_in_a_row(period));
        if let Some(moment) = known {
            execution.set_moment(moment);
        }
        let turn = Turn { began: patience.began, ended: execution.moment() };
        patience.turns.push(turn);
        known.map(|moment| Again { moment, too_often: patience.spin.turns() >= MOST_TURNS })
    })
}

/// How a thread waits for some time.
pub(super) fn waits(execution: &Execution, again: Option<Again>) -> Waits {
    match again.filter(|again| again.moment == execution.moment()) {
        None => Waits::Timed,
        Some(Again { too_often: false, .. }) => Waits::Spinning,
        Some(_) => Waits::InVain,
    }
}
