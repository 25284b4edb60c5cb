//! Subjects whose threads can be copied, compared and hashed: what searches of states need beyond [`Describe`].

use super::{Describe, Laps};
use crate::program::{Pc, Program, Reg};
use std::fmt::Debug;
use std::hash::Hash;

/// A subject whose threads are values, and whose code is known. Several workers may run it at the same time.
pub trait Comparable: Describe<Thread: Clone + Debug + Eq + Hash + Send + Sync> + Sync {
    /// The program whose threads these are.
    fn code(&self) -> &Program;

    /// The same, but threads that spin go round and round. A search that knows its states comes to an end anyway, and has fewer of them.
    fn restless(self) -> Self;

    /// Whether threads that spin wait for what they look at to change.
    fn notices_spinning(&self) -> bool;

    /// Which instruction the thread is at: the routine, and where in its code.
    fn instruction(&self, thread: &Self::Thread) -> (usize, Pc);

    /// The value of a register that conditions observe, once the thread has ended.
    fn register(&self, thread: &Self::Thread, reg: Reg) -> i64;

    /// Where control passes from the thread's operation, with this result, to its next one: without the first, with the last.
    fn passed(&self, thread: &Self::Thread, result: i64) -> Vec<Pc>;

    /// As [`Subject::resume`](super::Subject::resume), counting laps.
    fn resume_counting(&self, thread: &mut Self::Thread, result: i64, laps: &mut Laps);
}
