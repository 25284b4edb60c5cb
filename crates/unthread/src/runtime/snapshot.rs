//! What data was when a thread got access to it, so that a spin hint, or a wait for some time, can tell whether the thread's turn has changed it.

use super::current::{with_execution, with_thread};
use super::name::unnamed;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Data that its holder may change, and what it was.
pub(crate) struct Snapshot {
    data: Option<(*const u8, usize, u64)>,
}

/// Larger data is taken to have changed.
const MOST_DATA: usize = 4096;

impl Snapshot {
    /// Of data that is not looked at: it is taken to have changed.
    pub(crate) fn none() -> Snapshot {
        Snapshot { data: None }
    }

    /// Of this data, where it matters whether it changes.
    pub(crate) fn of<T: ?Sized>(data: *const T, size: usize) -> Snapshot {
        let matters = with_thread(|_, thread| thread.minds_changes());
        let pointer = data.cast::<u8>();
        Snapshot { data: (matters && size <= MOST_DATA).then(|| (pointer, size, picture(pointer, size))) }
    }

    /// The access is over: says that the data has changed, unless it is known that it has not.
    pub(crate) fn note_change(&self) {
        let is_same = self.data.is_some_and(|(pointer, size, before)| picture(pointer, size) == before);
        if !is_same {
            with_thread(|_, thread| thread.has_changed_data());
        }
    }
}

/// One number for data. That objects in it have got their numbers is no change.
fn picture(pointer: *const u8, size: usize) -> u64 {
    const WORD: usize = size_of::<u64>();
    let before = pointer.align_offset(WORD).min(size);
    let words = (size - before) / WORD;
    // SAFETY: the data is there as long as somebody has access to it, and all its bytes may be read, whatever they mean.
    let byte = |at: usize| unsafe { pointer.add(at).read_volatile() };
    // SAFETY: as above, and the words are aligned.
    let word = |nth: usize| unsafe { pointer.add(before).cast::<u64>().add(nth).read_volatile() };
    let mut hasher = FxHasher::default();
    with_execution(|execution| {
        let names = execution.names.borrow();
        (0..before).for_each(|at| hasher.write_u8(byte(at)));
        (0..words).for_each(|nth| hasher.write_u64(unnamed(&names, word(nth))));
        (before + words * WORD..size).for_each(|at| hasher.write_u8(byte(at)));
    });
    hasher.finish()
}
