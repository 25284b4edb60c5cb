//! Handles: what points to something that others point to as well, such as a reference that is counted, or one end of a channel.
//!
//! A handle is in memory that somebody can free while another thread uses it. That it has come to its end is told to the machine as of any object, and so is who uses it: a
//! thread that looks at a handle may do so as late as its next operation, which then counts as the use. Handles that no thread uses but the one whose stack they are on need no number.

use super::context::ThreadContext;
use super::current::with_current;
use super::execution::Execution;
use super::lifetimes::{What, end, fail_on_gone};
use super::places::block_in_use;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use unthread_checker::base::ThreadKey;
use unthread_checker::execution::ObjectKind;

/// What a handle keeps beside a pointer that must not be followed once the handle is gone.
pub(crate) struct Seal {
    /// Says whether the rest makes sense: the handle is there, and its pointer is the one that was sealed.
    word: u64,
    made_at: Option<&'static Location<'static>>,
    /// The thread that made the handle, and its number among those that the thread made.
    owner: ThreadKey,
    nth: u32,
    /// The machine's number for it; 0 if it has none.
    number: AtomicU32,
}

const OPEN: u64 = 0x9c41_7ad2_5b6e_83f1;
const BROKEN: u64 = 0x5d7e_3000_0000_0000;

impl Seal {
    /// The seal of a handle that points to nothing.
    pub(crate) const fn of_nothing() -> Seal {
        Seal { word: OPEN, made_at: None, owner: ThreadKey(0), nth: 0, number: AtomicU32::new(0) }
    }

    /// The seal of a pointer.
    #[track_caller]
    pub(crate) fn of<T>(pointer: *const T) -> Seal {
        let made_at = Some(Location::caller());
        let next =
            |_: &Execution, thread: &ThreadContext| (thread.key, thread.n_handles.replace(thread.n_handles.get() + 1));
        let (owner, nth) = with_current(next).unwrap_or((ThreadKey(0), 0));
        Seal { word: word_of(pointer), made_at, owner, nth, number: AtomicU32::new(0) }
    }

    /// The running thread uses the handle: it must be there, now and at the thread's next operation, or the thread does not go on.
    #[track_caller]
    pub(crate) fn check<T>(&self, pointer: *const T, kind: &'static str) {
        self.check_again(pointer, kind);
        if self.made_at.is_none() {
            return;
        }
        let address = std::ptr::from_ref(self).addr();
        with_current(|execution, thread| {
            if execution.abandoned.get() || thread.owns(address) {
                return;
            }
            let mut through = thread.through.borrow_mut();
            let number = self.number(execution, kind);
            for used in [Some(number), block_in_use(execution, address)].into_iter().flatten() {
                if !through.contains(&used) {
                    through.push(used);
                }
            }
        });
    }

    /// The handle is still there, after an operation of the running thread.
    #[track_caller]
    pub(crate) fn check_again<T>(&self, pointer: *const T, kind: &'static str) {
        // SAFETY: it is a reference. The read is volatile because another thread may have dropped the handle, though it must not.
        let word = unsafe { (&raw const self.word).read_volatile() };
        if word != word_of(pointer) && word != OPEN {
            fail_on_gone(std::ptr::from_ref(self).addr(), kind);
        }
    }

    /// The machine's number for the handle, which is the same in every execution.
    fn number(&self, execution: &Execution, kind: &'static str) -> u32 {
        let known = self.number.load(Relaxed);
        if known != 0 {
            return known - 1;
        }
        let number = execution.names.borrow_mut().handle(self.owner, self.nth, kind, self.made_at);
        self.number.store(number + 1, Relaxed);
        number
    }

    /// The handle comes to its end.
    pub(crate) fn end(&mut self) {
        let number = self.number.get_mut().checked_sub(1);
        end(number, ObjectKind::Cell, std::ptr::from_ref(self).addr(), What::Made);
        // SAFETY: it is a reference. The write is volatile because nobody may read the memory any more, and whoever does so is to see it.
        unsafe { (&raw mut self.word).write_volatile(BROKEN) };
    }
}

fn word_of<T>(pointer: *const T) -> u64 {
    OPEN ^ (pointer.addr() as u64).rotate_left(17)
}
