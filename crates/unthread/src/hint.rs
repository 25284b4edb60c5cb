//! Hints, as in [`std::hint`].

pub use std::hint::{black_box, cold_path, select_unpredictable};

/// Says that the thread spins: see [`crate::thread::yield_now`].
#[track_caller]
#[inline(always)]
pub fn spin_loop() {
    crate::runtime::spin_hint(&crate::runtime::Here::now());
}

/// Panics: what cannot be reached has been.
///
/// # Safety
/// As for the standard one; here, being wrong is found out.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("`unreachable_unchecked` was reached");
}

/// Panics if the condition does not hold.
///
/// # Safety
/// As for the standard one; here, being wrong is found out.
#[track_caller]
pub unsafe fn assert_unchecked(condition: bool) {
    assert!(condition, "what `assert_unchecked` was told does not hold");
}
