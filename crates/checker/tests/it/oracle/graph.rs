//! Execution graphs: events, where reads take their values from, and the order of writes to each cell.

use super::relation::{Relation, Set};
use unthread_checker::program::{Ordering, Program};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Event {
    /// By name; nobody wrote what was there from the start.
    pub(crate) thread: Option<ThreadName>,
    pub(crate) kind: Kind,
    /// The instruction.
    pub(crate) pc: usize,
}

/// The thread that forked it times 8, plus the number of the fork from 1 on: the same in every execution.
pub(crate) type ThreadName = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Read {
        cell: usize,
        mode: Mode,
    },
    Write {
        cell: usize,
        mode: Mode,
        value: i64,
    },
    Fence(Ordering),
    /// A block is freed, which has these cells.
    Free {
        first: usize,
        cells: usize,
    },
    /// The begin or the end of a thread, a fork, a join, a lock that is taken or given back: no access to a cell.
    Other,
}

/// How a cell is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Mode {
    Plain,
    Atomic(Ordering),
}

/// A graph, complete or not.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) events: Vec<Event>,
    /// Reads with the writes that they read from.
    pub(crate) rf: Vec<(usize, usize)>,
    /// For each cell its writes, in modification order. The first is the value from the start.
    pub(crate) mo: Vec<Vec<usize>>,
    /// The two halves of read-modify-writes.
    pub(crate) rmw: Vec<(usize, usize)>,
    /// What forks, joins and locks order.
    pub(crate) hand_over: Vec<(usize, usize)>,
    /// The order in which condition variables were used, and from who notifies to who goes on: it orders nothing in the
    /// language, and everything on a machine.
    pub(crate) notifications: Vec<(usize, usize)>,
    /// The first values of blocks: plain writes by whoever allocates them.
    pub(crate) made: Vec<usize>,
}

impl Graph {
    /// Nothing but the values from the start.
    pub(crate) fn new(program: &Program) -> Graph {
        let init = |(cell, declared): (usize, &unthread_checker::program::Cell)| {
            let kind = Kind::Write { cell, mode: Mode::Plain, value: declared.initial };
            Event { thread: None, kind, pc: 0 }
        };
        Graph {
            events: program.cells.iter().enumerate().map(init).collect(),
            rf: vec![],
            mo: (0..program.cells.len()).map(|cell| vec![cell]).collect(),
            rmw: vec![],
            hand_over: vec![],
            notifications: vec![],
            made: vec![],
        }
    }

    pub(crate) fn add(&mut self, event: Event) -> usize {
        self.events.push(event);
        self.events.len() - 1
    }

    pub(crate) fn value(&self, write: usize) -> i64 {
        match self.events[write].kind {
            Kind::Write { value, .. } => value,
            other => panic!("{other:?} has no value"),
        }
    }

    /// The values that are left.
    pub(crate) fn memory(&self) -> Vec<i64> {
        self.mo.iter().map(|writes| self.value(*writes.last().expect("the first value"))).collect()
    }

    /// The events that are as described.
    pub(crate) fn set(&self, is: impl Fn(&Event) -> bool) -> Set {
        let members = self.events.iter().enumerate().filter(|(_, event)| is(event));
        members.fold(0, |set, (number, _)| set | 1 << number)
    }

    /// The pairs of different events that are as described.
    pub(crate) fn pairs(&self, are: impl Fn(&Event, &Event) -> bool) -> Relation {
        let all = (0..self.events.len()).flat_map(|a| (0..self.events.len()).map(move |b| (a, b)));
        Relation::of(self.events.len(), all.filter(|&(a, b)| a != b && are(&self.events[a], &self.events[b])))
    }

    /// Program order. Events of a thread have numbers in their order; what was there from the start is before
    /// everything.
    pub(crate) fn sb(&self) -> Relation {
        let events = &self.events;
        let is = |&(a, b): &(usize, usize)| match (events[a].thread, events[b].thread) {
            (None, Some(_)) => true,
            (a_thread, b_thread) => a_thread.is_some() && a_thread == b_thread && a < b,
        };
        let all = (0..events.len()).flat_map(|a| (0..events.len()).map(move |b| (a, b)));
        Relation::of(events.len(), all.filter(is))
    }

    /// Reads-from: from writes to reads.
    pub(crate) fn rf(&self) -> Relation {
        Relation::of(self.events.len(), self.rf.iter().map(|&(read, write)| (write, read)))
    }

    /// Modification order.
    pub(crate) fn mo(&self) -> Relation {
        let of_cell = |writes: &Vec<usize>| {
            let pairs = (0..writes.len()).flat_map(|a| (a + 1..writes.len()).map(move |b| (a, b)));
            pairs.map(|(a, b)| (writes[a], writes[b])).collect::<Vec<_>>()
        };
        Relation::of(self.events.len(), self.mo.iter().flat_map(of_cell))
    }
}

impl Event {
    pub(crate) fn cell(&self) -> Option<usize> {
        match self.kind {
            Kind::Read { cell, .. } | Kind::Write { cell, .. } => Some(cell),
            _ => None,
        }
    }

    /// Whether the event is about a block with these cells.
    pub(crate) fn uses(&self, first: usize, cells: usize) -> bool {
        match self.kind {
            Kind::Free { first: other, .. } => other == first,
            _ => self.cell().is_some_and(|cell| (first..first + cells).contains(&cell)),
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write { .. })
    }

    pub(crate) fn is_read(&self) -> bool {
        matches!(self.kind, Kind::Read { .. })
    }

    pub(crate) fn is_fence(&self) -> bool {
        matches!(self.kind, Kind::Fence(_))
    }

    pub(crate) fn is_atomic(&self) -> bool {
        matches!(self.kind, Kind::Read { mode: Mode::Atomic(_), .. } | Kind::Write { mode: Mode::Atomic(_), .. })
    }

    fn ordering(&self) -> Option<Ordering> {
        match self.kind {
            Kind::Read { mode: Mode::Atomic(ordering), .. } | Kind::Write { mode: Mode::Atomic(ordering), .. } => {
                Some(ordering)
            }
            Kind::Fence(ordering) => Some(ordering),
            _ => None,
        }
    }

    /// At least release: what a read says does not count.
    pub(crate) fn releases(&self) -> bool {
        use Ordering::{AcqRel, Release, SeqCst};
        !self.is_read() && matches!(self.ordering(), Some(Release | AcqRel | SeqCst))
    }

    /// At least acquire: what a write says does not count.
    pub(crate) fn acquires(&self) -> bool {
        use Ordering::{AcqRel, Acquire, SeqCst};
        !self.is_write() && matches!(self.ordering(), Some(Acquire | AcqRel | SeqCst))
    }

    pub(crate) fn is_seqcst(&self) -> bool {
        self.ordering() == Some(Ordering::SeqCst)
    }
}
