//! Laps: how often a thread has come to the heads of the loops that it is in.
//!
//! A thread that goes round in circles comes back to the same local state. With its laps it does not: along any run of a thread, local state and
//! laps together never repeat. A loop that has been left is forgotten, so runs that left it after different numbers of laps meet again.

use crate::program::{Pc, Routine};

/// The loops that a thread is in, by their heads, with the number of laps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Laps(Vec<(Pc, u32)>);

/// Stands for jumps backwards that belong to no known loop.
const STRAY: Pc = Pc::MAX;

impl Laps {
    /// The thread comes to an instruction from another.
    pub(super) fn moved(&mut self, routine: &Routine, from: Pc, to: Pc) {
        let around = |head: Pc| routine.loops.iter().any(|l| l.head == head && (l.head..l.end).contains(&to));
        self.0.retain(|&(head, _)| head == STRAY || around(head));
        if routine.loops.iter().any(|l| l.head == to) {
            self.count(to);
        } else if to <= from {
            self.count(STRAY);
        }
    }

    fn count(&mut self, head: Pc) {
        match self.0.iter_mut().find(|lap| lap.0 == head) {
            Some(lap) => lap.1 += 1,
            None => self.0.push((head, 1)),
        }
        self.0.sort_unstable();
    }
}
