//! Code under test that ends the process: told as a failure, and ignored in executions that are given up.

use crate::fails;
use unthread::model::{Builder, Engine, Verdict};
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unthread::sync::{Arc, Mutex};
use unthread::thread;

/// Ends the process if its thread unwinds, as the workers of some executors do.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

#[test]
fn code_that_aborts_is_a_violation() {
    let (kind, message) = fails(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || number.store(1, Relaxed))
        };
        if number.load(Relaxed) == 1 {
            std::process::abort();
        }
        other.join().unwrap();
    });
    assert_eq!((kind, message.as_str()), ("panic", "the process is aborted"));
    assert!(!std::thread::panicking());
}

#[test]
fn a_destructor_that_aborts_tells_of_the_panic_before() {
    let (kind, message) = fails(|| {
        let _abort = AbortOnPanic;
        panic!("what is really wrong");
    });
    assert_eq!((kind, message.as_str()), ("panic", "what is really wrong\nthe process is aborted"));
    assert!(!std::thread::panicking());
}

#[test]
fn destructors_may_abort_when_an_execution_is_given_up() {
    let mut builder = Builder::new();
    builder.engine = Engine::Random { seed: 1 };
    builder.max_permutations = Some(100);
    let report = builder.report(|| {
        let lock = Arc::new(Mutex::new(()));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                let _abort = AbortOnPanic;
                let _held = lock.lock().unwrap();
                unthread::assume(false);
            })
        };
        let _abort = AbortOnPanic;
        drop(lock.lock().unwrap());
        other.join().unwrap();
    });
    assert_eq!(report.verdict(), Verdict::Inconclusive, "{report:?}");
    assert!(!std::thread::panicking());
}
