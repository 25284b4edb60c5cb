//! The seam between programs and the machine.

use super::{Dropped, Operation, State};
use crate::base::{Failure, Loc, Span, ThreadKey};
use crate::program::{FinalState, LockMode, Pc, Program};

/// A program that can be run again and again from its start, as a set of deterministic threads.
///
/// A thread is always *at* a visible operation. [`Subject::resume`] gives it the operation's result and runs it, locally, to
/// the next one. What a thread does depends on nothing but the results it was given.
pub trait Subject {
    /// The local state of a thread. The machine owns everything else.
    type Thread;

    /// The threads that run from the start, in order, each at its first operation.
    fn initial(&self) -> Vec<(ThreadKey, Self::Thread)>;

    /// The operation that the thread is at.
    fn operation(&self, thread: &Self::Thread) -> Operation;

    /// What is wrong, of a thread at a `Fail`.
    fn failure(&self, thread: &Self::Thread) -> Failure;

    /// Gives the thread the result of its operation and runs it to the next. Operations without a result get 0.
    fn resume(&self, thread: &mut Self::Thread, result: i64);

    /// The thread that a thread at a `Fork` starts.
    fn fork(&self, thread: &Self::Thread) -> Self::Thread;

    /// What a spinning thread waits for: some of these cells must show another value. Empty when it does not spin.
    fn awaiting<'t>(&self, thread: &'t Self::Thread) -> &'t [(Loc, i64)];

    /// What else a spinning thread waits for, where its turn wrote cells and left them as they were: each of them, with how often it did. It goes on when
    /// another thread has accessed one of them meanwhile.
    fn unseen<'t>(&self, _: &'t Self::Thread) -> &'t [(Loc, u32)] {
        &[]
    }

    /// What else a spinning thread waits for that is not a cell. It goes on when one of these has come about.
    fn polls<'t>(&self, _: &'t Self::Thread) -> &'t [Poll] {
        &[]
    }

    /// Whether the machine is to remember which thread accessed which cell or lock last: for [`Subject::unseen`] and [`Poll::Visited`].
    fn has_unseen(&self) -> bool {
        false
    }

    /// Whether a read-modify-write counts as a read where it leaves the value that it finds: then no thread can tell it from one. Not so if the order of all
    /// operations on the object matters, whatever their values.
    fn may_be_silent(&self, _: &Operation) -> bool {
        false
    }

    /// Whether there are opaque objects.
    fn has_opaque(&self) -> bool {
        false
    }

    /// The object that the thread's operation is on, if only the code that runs knows its contents: what others did to it before, the operation's result
    /// does not say. Every such object has a location of its own.
    fn opaque(&self, _: &Self::Thread) -> Option<Loc> {
        None
    }

    /// Why what threads do may depend on more than on results and on the contents of opaque objects, if so.
    fn unfit(&self) -> Option<String> {
        None
    }

    /// Whether something must be gone in the end to which references are not counted: that is seen only where all threads have come to their ends.
    fn has_uncounted(&self) -> bool {
        false
    }

    /// The lock that keeps all threads but its holder from memory, if there is one.
    fn bus(&self) -> Option<u32> {
        None
    }

    /// Values of the global cells before anything ran.
    fn initial_cells(&self) -> Vec<i64>;

    /// The same thread once more, where threads can be copied. An execution of those that cannot is taken back by running it
    /// again.
    fn copy(&self, thread: &Self::Thread) -> Option<Self::Thread>;

    /// Whether the thread could fail right after its operation, whatever the result. "No" is certain.
    fn may_fail_after(&self, _: &Self::Thread) -> bool {
        true
    }

    /// Hands over the cells that a thread has made since it was last asked, with their first values. No other thread can access them yet.
    fn take_new_cells(&self, _: &mut Self::Thread, _: &mut dyn FnMut(Loc, i64)) {}

    /// How many blocks a thread has allocated that [`Loc::heap`] names, where their cells are not handed over.
    fn allocated(&self, _: &Self::Thread) -> u32 {
        0
    }

    /// Whether the thread has made the cell that it has just handed over. If not, it was there before, and nobody knew it yet: a static.
    fn has_made(&self, _: &Self::Thread, _: Loc) -> bool {
        true
    }

    /// A cell in memory shows another value than the one that a thread wrote last.
    fn show(&self, _: &Self::Thread, _: Loc, _: i64) {}

    /// Hands over the objects that a thread has dropped since it was last asked.
    fn take_dropped(&self, _: &mut Self::Thread, _: &mut dyn FnMut(Dropped)) {}

    /// What the object that the thread's operation is on is part of, if that can be dropped by itself.
    fn part_of(&self, _: &Self::Thread) -> Option<Loc> {
        None
    }

    /// What the thread uses on its way to the object that its operation is on: pointers that can be dropped by themselves.
    fn through<'t>(&self, _: &'t Self::Thread) -> &'t [Loc] {
        &[]
    }

    /// What to say of a thread that uses an object that has been dropped.
    fn use_after_drop(&self, _: &Self::Thread, object: Loc) -> String {
        format!("{object} has been dropped")
    }

    /// How the thread takes it that it cannot go on.
    fn waits(&self, _: &Self::Thread) -> Waits {
        Waits::Forever
    }

    /// Whether the execution is over though some threads wait: they need not come to their ends.
    fn is_over(&self, _: &State<Self::Thread>) -> bool {
        false
    }

    /// What is wrong now that the execution is over.
    fn left_behind(&self, _: &State<Self::Thread>) -> Option<Failure> {
        None
    }
}

/// Something that a spinning thread waits for and that is not a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// A lock can be taken, which its turn could not take.
    Free(u32, LockMode),
    /// Another thread may have changed what a lock protects since, or may have seen that it was held, which its turn took and gave back in so many operations.
    Visited(u32, u32),
    /// A thread has ended, which had not.
    Ended(ThreadKey),
}

/// How a thread waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Until it can go on.
    Forever,
    /// The same, and this is what it waits for.
    For(String),
    /// It spins, by its own word or by waiting for some time again and again: when nothing else can happen, it takes another turn.
    Spinning,
    /// For some time: when nothing else can happen, it gives up.
    Timed,
    /// The same, and it has given up again and again since anything changed: it will never end.
    InVain,
}

/// What people call a subject's threads and objects, and where its operations stand.
pub trait Describe: Subject {
    /// What runs.
    fn title(&self) -> String;

    /// The program that runs, if it is one: conditions are asked of its final states.
    fn program(&self) -> Option<&Program> {
        None
    }

    /// Where the thread's operation stands in the source.
    fn span(&self, thread: &Self::Thread) -> Span;

    /// A place in the source, in words.
    fn place(&self, span: Span) -> String;

    /// The routine and the instruction that the thread is at, where it has them.
    fn site(&self, _: &Self::Thread) -> Option<(usize, Pc)> {
        None
    }

    /// The innermost loop around the thread's operation.
    fn loop_span(&self, _: &Self::Thread) -> Option<Span> {
        None
    }

    /// The variable that receives the result of the thread's operation, where it has a name.
    fn target(&self, _: &Self::Thread) -> Option<String> {
        None
    }

    /// The thread's name.
    fn name(&self, thread: &Self::Thread) -> String;

    /// A cell's name.
    fn loc_name(&self, loc: Loc) -> String;

    /// A lock's name.
    fn lock_name(&self, lock: u32) -> String;

    /// A condition variable's name.
    fn condvar_name(&self, condvar: u32) -> String;

    /// What else is to be known where threads wait for ever.
    fn aside(&self, _: &State<Self::Thread>) -> Option<String> {
        None
    }

    /// Whether some cells are plain, so that there can be data races.
    fn has_plain_cells(&self) -> bool;

    /// Whether it can matter which values are left in the end.
    fn has_final_states(&self) -> bool {
        true
    }

    /// The values in a state where every thread has ended.
    fn final_state(&self, state: &State<Self::Thread>) -> FinalState;

    /// Whether some thread can go round in circles without being noticed.
    fn has_cycles(&self) -> bool {
        false
    }
}
