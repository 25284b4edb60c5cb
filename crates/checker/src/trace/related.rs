//! What relates the events of an execution graph, for those who tell of it.

use crate::base::Loc;
use crate::program::Ordering;

/// What relates the events of an execution graph, by their positions in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Related {
    /// For each event, the write that it reads from; nothing if that is the initial value, or if it reads nothing.
    pub reads_from: Vec<Option<usize>>,
    /// For each location, its writes in modification order.
    pub modification_order: Vec<(Loc, Vec<usize>)>,
    /// Releases, and acquires that synchronise with them.
    pub synchronises: Vec<(usize, usize)>,
    /// The orderings that are too weak, where stronger ones would rule the execution out.
    pub advice: Option<Advice>,
}

/// Stronger orderings with which an execution could not be, or with which nothing would be wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The changes. None of them can be left out, or made weaker.
    pub changes: Vec<Change>,
    /// Why the execution would not be possible then.
    pub obstacle: Obstacle,
}

/// A stronger ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The event. Others that stand in the same place of the source change with it.
    pub event: usize,
    /// What it has.
    pub from: Ordering,
    /// What it would need.
    pub to: Ordering,
}

/// What stronger orderings would bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This access could not be what it is: a read would see something newer.
    Access(usize),
    /// The SeqCst operations could not be in one order.
    Order,
    /// What races would be ordered.
    Ordered,
}
