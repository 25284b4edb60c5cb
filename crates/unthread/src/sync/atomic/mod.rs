//! Atomic types and fences, as in [`std::sync::atomic`].
//!
//! Orderings mean what a compiler makes of them on the machine that is checked; see the crate's documentation.

mod flag;
mod integer;
mod pointer;
mod raw;
mod value;

pub use flag::AtomicBool;
pub use integer::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};
pub use pointer::AtomicPtr;
pub use std::sync::atomic::{Ordering, compiler_fence};

use crate::runtime::perform;
use unthread_checker::execution::Operation;

/// A fence. `SeqCst` waits until the thread's stores have arrived; what the others do depends on the memory model.
#[track_caller]
pub fn fence(order: Ordering) {
    assert!(order != Ordering::Relaxed, "there is no such thing as a relaxed fence");
    perform(Operation::Fence { ordering: value::ordering(order) });
}

/// Says that the thread spins. The old name of [`crate::hint::spin_loop`].
#[track_caller]
#[inline(always)]
pub fn spin_loop_hint() {
    crate::hint::spin_loop();
}
