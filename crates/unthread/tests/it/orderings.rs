//! Orderings: those that make no sense are refused in the standard library's words, and a compare-exchange has two.

use super::fails;
use std::panic::catch_unwind;
use unthread::model::Builder;
use unthread::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicUsize, fence};

/// What the standard library says to the same.
fn of_std(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let payload = catch_unwind(f).expect_err("the standard library refuses it");
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned()).expect("a panic has a message")
}

#[test]
#[expect(invalid_atomic_ordering, reason = "that is what the test is about")]
fn what_the_standard_library_refuses_is_refused_in_its_words() {
    use std::sync::atomic as standard;
    macro_rules! same {
        ($atomic:ident => $call:expr) => {{
            fn ours($atomic: &AtomicUsize) {
                let _ = $call;
            }
            fn theirs($atomic: &standard::AtomicUsize) {
                let _ = $call;
            }
            let expected = of_std(|| theirs(&standard::AtomicUsize::new(0)));
            assert_eq!(fails(|| ours(&AtomicUsize::new(0))), ("panic", expected));
        }};
    }
    same!(x => x.load(Release));
    same!(x => x.load(AcqRel));
    same!(x => x.store(1, Acquire));
    same!(x => x.store(1, AcqRel));
    same!(x => x.compare_exchange(0, 1, SeqCst, Release));
    same!(x => x.compare_exchange(1, 0, SeqCst, AcqRel));
    same!(x => x.compare_exchange_weak(0, 1, SeqCst, Release));
    same!(x => x.compare_exchange_weak(1, 0, SeqCst, AcqRel));
    same!(x => x.fetch_update(SeqCst, Release, Some));
    same!(x => x.fetch_update(SeqCst, AcqRel, Some));
    assert_eq!(fails(|| fence(Relaxed)), ("panic", of_std(|| standard::fence(Relaxed))));
}

#[test]
fn every_other_pair_of_orderings_is_accepted() {
    super::holds(|| {
        let flag = AtomicBool::new(false);
        for success in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
            for failure in [Relaxed, Acquire, SeqCst] {
                assert_eq!(flag.compare_exchange(true, false, success, failure), Err(false));
                assert_eq!(flag.compare_exchange_weak(false, false, success, failure), Ok(false));
            }
            flag.compare_and_swap(false, false, success);
        }
    });
}

/// The table of an execution that compares and exchanges, and then panics.
fn table(spurious: usize, exchange: fn(&AtomicUsize)) -> String {
    let mut builder = Builder::new();
    builder.spurious_failures = spurious;
    let told = builder.try_check(move || {
        let x = AtomicUsize::new(0);
        exchange(&x);
        assert_eq!(x.load(Relaxed), 7);
    });
    told.unwrap_err()
}

#[test]
fn an_exchange_that_fails_has_its_own_ordering() {
    macro_rules! with {
        ($expected:expr, $success:ident, $failure:ident) => {
            table(0, |x| {
                let _ = x.compare_exchange($expected, 1, $success, $failure);
            })
        };
    }
    let stored = with!(0, AcqRel, Acquire);
    assert!(stored.contains("0→1 (AcqRel)"), "{stored}");
    let failed = with!(5, AcqRel, Acquire);
    assert!(failed.contains("fails: 0, not 5 (Acquire)"), "{failed}");
    let relaxed = with!(5, Release, Relaxed);
    assert!(relaxed.contains("fails: 0, not 5 ") && !relaxed.contains("(Release)"), "{relaxed}");
    let strong = with!(5, Relaxed, SeqCst);
    assert!(strong.contains("fails: 0, not 5 (SeqCst)"), "{strong}");
}

#[test]
fn a_weak_exchange_that_fails_without_a_reason_reads_with_the_ordering_of_failure() {
    let text = table(1, |x| {
        if x.compare_exchange_weak(0, 7, AcqRel, Acquire).is_ok() {
            return;
        }
        x.store(1, Relaxed);
    });
    assert!(text.contains("→ 0 (Acquire)"), "{text}");
}
