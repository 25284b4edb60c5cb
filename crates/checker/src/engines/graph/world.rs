//! A graph that grows, with its threads and what is left to try.

use super::cast::Cast;
use crate::execution::graph::{Axioms, Event, Graph, Id, Kind, Places};
use smallvec::SmallVec;

/// A graph and what is left to try of it. A backward revisit starts a new one.
pub(super) struct World<T> {
    pub(super) graph: Graph,
    pub(super) cast: Cast<T>,
    pub(super) frames: Vec<Frame>,
    pub(super) revisit: Option<Revisit>,
}

/// An event that was added, and how else it could have been.
pub(super) struct Frame {
    /// How many events there were before it.
    pub(super) length: usize,
    /// What is left to try; the last is next.
    pub(super) rest: SmallVec<[Alternative; 6]>,
}

/// A way to go on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alternative {
    pub(super) thread: u16,
    pub(super) how: How,
    /// Who is notified, where that can be chosen; else a value.
    pub(super) choice: i64,
    /// Whether it is not the first that could be chosen.
    pub(super) second_choice: bool,
}

/// How an event is added.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// As a read from this write.
    From(Id),
    /// As a write at this place.
    At(u32),
    /// As the write that this read reads from, which was there before it.
    Revisit(Id),
    /// There is one way only.
    Only,
}

/// How a world began: a write that an earlier read reads from.
pub(super) struct Revisit {
    /// How many events there were before the write.
    pub(super) length: usize,
    /// The write.
    pub(super) write: Event,
    /// Its places that are left to try.
    pub(super) places: Places,
    /// The read.
    pub(super) read: Id,
}

impl<T> World<T> {
    pub(super) fn new(axioms: Axioms) -> World<T> {
        World { graph: Graph::new(axioms), cast: Cast::new(), frames: Vec::new(), revisit: None }
    }

    /// Whether a thread is taken back if events are until there are so many.
    pub(super) fn takes_back(&self, length: usize) -> bool {
        self.graph.events()[length.min(self.graph.len())..].iter().any(|event| event.resumes())
    }

    /// Takes events back until there are so many.
    pub(super) fn cut(&mut self, length: usize) {
        while self.graph.len() > length {
            let event = self.graph.pop().expect("there are more events");
            if let Kind::Fork(child) = event.kind {
                self.cast.forget(child);
            }
            if event.resumes() {
                self.cast.rewind(event.thread, self.graph.completed(event.thread));
            }
        }
    }
}
