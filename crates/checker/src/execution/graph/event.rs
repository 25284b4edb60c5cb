//! Events: what a thread did, as a node of an execution graph.

use super::Clock;
use crate::base::{Loc, Span, ThreadKey};
use crate::program::Ordering;

/// An event by its stamp: events are numbered in the order in which they were added.
pub type Id = u32;

/// Where a read reads from that reads the initial value.
pub const INITIAL: Id = Id::MAX;

/// A location by its number. Numbers are given when locations are first met, and stay.
pub type LocId = u32;

/// The location of events that have none.
pub const NOWHERE: LocId = LocId::MAX;

/// What has a modification order of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Object {
    /// A cell.
    Cell(Loc),
    /// A lock: its value is 0 when it is free, below 0 when it is held alone, else how many share it.
    Lock(u32),
    /// The queue of a condition variable.
    Condvar(u32),
    /// Whether a thread has ended.
    End(ThreadKey),
}

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads from one of several writes.
    Read,
    /// Reads from the only write that it can read from.
    Forced,
    /// Writes.
    Write,
    /// Accesses plain data that nobody holds, to write it or not.
    Touch(bool),
    /// A fence.
    Fence,
    /// Starts a thread, by its number.
    Fork(u16),
    /// Comes after all that other threads did.
    JoinAll,
    /// Frees a heap block.
    Free(Loc),
    /// One of several values.
    Choose,
    /// Nothing that matters to others.
    Silent,
    /// Something was wrong.
    Failed,
}

/// How an event is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the first six are the language's")]
pub enum Mode {
    Plain,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    /// Takes a lock alone: after everybody who gave it back.
    Lock,
    /// Takes a lock to share it: after everybody who held it alone and gave it back.
    LockShared,
    /// Gives a lock back, or hands over otherwise.
    Unlock,
    /// Has its place among the operations on a condition variable, and no other effect.
    Queue,
    /// Takes a message out of a channel: after who sent it, or, where there are none any more, after all who sent.
    Receive,
}

/// A node of an execution graph.
#[derive(Clone, Debug)]
pub struct Event {
    /// Whose, by number.
    pub thread: u16,
    /// Its place in the thread.
    pub index: u16,
    /// What kind.
    pub kind: Kind,
    /// Where.
    pub loc: LocId,
    /// How it is ordered.
    pub mode: Mode,
    /// Whether it is part of a read-modify-write.
    pub update: bool,
    /// Whether it waits in the thread's buffer on machines that have buffers.
    pub buffered: bool,
    /// Whether machines with buffers empty the thread's before it.
    pub drains: bool,
    /// Whether it is the last event of its operation.
    pub completes: bool,
    /// Whether its thread does nothing after it.
    pub last: bool,
    /// Whether its operation cannot go on with the value that it reads.
    pub blocked: bool,
    /// Whether another value could have been chosen first.
    pub second_choice: bool,
    /// The value that it reads or writes.
    pub value: i64,
    /// The operation's result, if it completes it.
    pub result: i64,
    /// What was chosen: a value, or what is done to a condition variable.
    pub choice: i64,
    /// The write that it reads from; of an update's write, the one that its read reads from.
    pub source: Id,
    /// Its place in the modification order, from 1; the initial write has 0.
    pub place: u32,
    /// Where it stands in the program.
    pub span: Span,
    /// What comes before it in program order and reads-from.
    pub porf: Clock,
    /// What happens before it.
    pub hb: Clock,
    /// What happens before an acquire that reads from it.
    pub released: Clock,
}

impl Event {
    /// An event of a kind, of a thread.
    pub fn new(thread: u16, kind: Kind) -> Event {
        Event {
            thread,
            index: 0,
            kind,
            loc: NOWHERE,
            mode: Mode::Relaxed,
            update: false,
            buffered: false,
            drains: true,
            completes: true,
            last: false,
            blocked: false,
            second_choice: false,
            value: 0,
            result: 0,
            choice: 0,
            source: INITIAL,
            place: 0,
            span: Span::default(),
            porf: Clock::default(),
            hb: Clock::default(),
            released: Clock::default(),
        }
    }

    /// Whether it reads.
    pub fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read | Kind::Forced)
    }

    /// Whether it writes something that can be read.
    pub fn is_write(&self) -> bool {
        self.kind == Kind::Write
    }

    /// Whether its thread goes on after an operation that is complete with it.
    pub fn resumes(&self) -> bool {
        self.completes && !self.last
    }

    /// Whether it is an access that changes its location.
    pub fn changes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Touch(true))
    }

    /// Whether an event comes before this one in program order and reads-from, or is it.
    #[inline]
    pub fn needs(&self, other: &Event) -> bool {
        self.porf.has(other.thread, other.index)
    }

    /// Whether an event happens before this one, or is it.
    #[inline]
    pub fn sees(&self, other: &Event) -> bool {
        self.hb.has(other.thread, other.index)
    }

    /// Whether two accesses race unless something orders them: of different threads, one of them a write, not both atomic.
    pub fn conflicts(&self, other: &Event) -> bool {
        self.thread != other.thread
            && (self.changes() || other.changes())
            && (self.mode == Mode::Plain || other.mode == Mode::Plain)
    }

    /// Whether it is a SeqCst operation.
    pub fn is_seq_cst(&self) -> bool {
        self.mode == Mode::SeqCst
    }
}

impl Mode {
    /// Whether it takes over what was released.
    pub fn acquires(self) -> bool {
        matches!(self, Mode::Acquire | Mode::AcqRel | Mode::SeqCst)
    }

    /// Whether it releases what came before.
    pub fn releases(self) -> bool {
        matches!(self, Mode::Release | Mode::AcqRel | Mode::SeqCst)
    }

    /// Whether it is a lock's, a condition variable's or a channel's.
    pub fn is_lock(self) -> bool {
        matches!(self, Mode::Lock | Mode::LockShared | Mode::Unlock | Mode::Queue | Mode::Receive)
    }
}

impl Mode {
    /// The ordering that it is, if it is one of the language.
    pub fn ordering(self) -> Option<Ordering> {
        match self {
            Mode::Relaxed => Some(Ordering::Relaxed),
            Mode::Acquire => Some(Ordering::Acquire),
            Mode::Release => Some(Ordering::Release),
            Mode::AcqRel => Some(Ordering::AcqRel),
            Mode::SeqCst => Some(Ordering::SeqCst),
            Mode::Plain | Mode::Lock | Mode::LockShared | Mode::Unlock | Mode::Queue | Mode::Receive => None,
        }
    }
}

impl From<Ordering> for Mode {
    fn from(ordering: Ordering) -> Mode {
        match ordering {
            Ordering::Relaxed => Mode::Relaxed,
            Ordering::Acquire => Mode::Acquire,
            Ordering::Release => Mode::Release,
            Ordering::AcqRel => Mode::AcqRel,
            Ordering::SeqCst => Mode::SeqCst,
        }
    }
}
