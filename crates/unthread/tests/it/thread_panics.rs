//! Panics of threads: they are for whoever joins the thread, as in the standard library. Threads that nobody waits for end with the process.

use super::{fails, holds};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use unthread::model::{Builder, Engine, MemoryModel, Report, Verdict};
use unthread::sync::atomic::AtomicUsize;
use unthread::sync::atomic::Ordering::{Relaxed, SeqCst};
use unthread::sync::{Arc, Condvar, Mutex};
use unthread::{future, thread};

/// The text of a payload.
fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<&str>().copied().unwrap_or_default()
}

#[test]
fn a_panic_that_is_joined_and_handled_is_what_the_program_means() {
    holds(|| {
        let error = thread::spawn(|| panic!("as planned")).join().unwrap_err();
        assert_eq!(text(&*error), "as planned");
    });
    holds(|| {
        let handle =
            thread::Builder::new().name("worker".to_string()).spawn(|| -> u8 { panic!("as planned") }).unwrap();
        assert!(handle.join().is_err());
    });
}

#[test]
fn every_engine_says_so() {
    let of_one = |handled: bool| {
        move || {
            let count = Arc::new(AtomicUsize::new(0));
            let other = count.clone();
            let thread = thread::spawn(move || {
                if other.fetch_add(1, SeqCst) == 1 {
                    panic!("the second");
                }
            });
            let first = count.fetch_add(1, SeqCst) == 0;
            let joined = thread.join();
            assert_eq!(joined.is_err(), first);
            if !handled {
                joined.unwrap();
            }
        }
    };
    for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
        for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive] {
            let report = Builder::new().memory(memory).engine(engine).report(of_one(true));
            assert_eq!(report.verdict(), Verdict::Verified, "{memory} {engine}: {report:?}");
            let report = Builder::new().memory(memory).engine(engine).report(of_one(false));
            let found: Vec<_> = report.violations.iter().map(|violation| violation.kind.name()).collect();
            assert_eq!(found, ["panic"], "{memory} {engine}: {report:?}");
        }
    }
}

#[test]
fn one_that_is_unwrapped_is_told_by_its_cause() {
    let (kind, message) = fails(|| thread::spawn(|| panic!("what is really wrong")).join().unwrap());
    let lines: Vec<_> = message.lines().collect();
    assert_eq!((kind, lines[0]), ("panic", "what is really wrong"));
    assert!(lines[1].starts_with("thread 1 panicked at ") && lines[1].contains("thread_panics.rs:"), "{message}");
    assert!(lines[1].ends_with("called `Result::unwrap()` on an `Err` value: Any { .. }"), "{message}");
}

#[test]
fn one_that_goes_on_in_whoever_joins_is_the_same_panic() {
    let (kind, message) = fails(|| {
        if let Err(payload) = thread::spawn(|| -> u8 { panic!("passed on") }).join() {
            resume_unwind(payload);
        }
    });
    assert_eq!((kind, message.as_str()), ("panic", "passed on"));
}

#[test]
fn a_panic_that_was_caught_before_is_not_told() {
    let (kind, message) = fails(|| {
        assert!(catch_unwind(|| panic!("long ago")).is_err());
        if let Err(payload) = thread::spawn(|| -> u8 { panic!("passed on") }).join() {
            resume_unwind(payload);
        }
    });
    assert_eq!((kind, message.as_str()), ("panic", "passed on"));
}

#[test]
fn another_panic_of_whoever_joins_is_its_own() {
    let (kind, message) = fails(|| {
        assert!(thread::spawn(|| panic!("handled")).join().is_err());
        panic!("something else");
    });
    assert_eq!((kind, message.as_str()), ("panic", "something else"));
}

#[test]
fn one_that_nobody_joins_is_a_failure() {
    let (kind, message) = fails(|| drop(thread::spawn(|| panic!("alone"))));
    assert_eq!((kind, message.lines().next()), ("panic", Some("alone")));
    // The handle goes when the thread has panicked already.
    let (kind, message) = fails(|| {
        let ended = Arc::new(AtomicUsize::new(0));
        let ends = ended.clone();
        let handle = thread::spawn(move || {
            struct Tells(Arc<AtomicUsize>);
            impl Drop for Tells {
                fn drop(&mut self) {
                    self.0.store(1, SeqCst);
                }
            }
            let _tells = Tells(ends);
            panic!("alone");
        });
        while ended.load(SeqCst) == 0 {
            thread::yield_now();
        }
        drop(handle);
    });
    assert_eq!((kind, message.lines().next()), ("panic", Some("alone")));
}

#[test]
fn the_option_makes_any_panic_of_a_thread_a_failure() {
    let mut builder = Builder::new();
    builder.thread_panics_fail = true;
    let report = builder.report(|| assert!(thread::spawn(|| panic!("any")).join().is_err()));
    let messages: Vec<_> = report.violations.iter().map(|violation| violation.message.as_str()).collect();
    assert_eq!(messages, ["any"]);
}

#[test]
fn a_scope_hands_over_what_is_joined_and_panics_for_the_rest() {
    holds(|| {
        thread::scope(|scope| {
            let handle = scope.spawn(|| panic!("as planned"));
            assert!(handle.join().is_err());
        });
    });
    let (kind, message) = fails(|| {
        thread::scope(|scope| {
            scope.spawn(|| panic!("what is really wrong"));
        });
    });
    assert_eq!((kind, message.lines().next()), ("panic", Some("what is really wrong")));
    assert!(message.ends_with(": a scoped thread panicked"), "{message}");
    holds(|| {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("as planned"));
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<String>().map(String::as_str), Some("a scoped thread panicked"));
    });
}

#[test]
fn a_scope_that_panics_waits_for_its_threads() {
    holds(|| {
        let count = AtomicUsize::new(0);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            thread::scope(|scope| {
                scope.spawn(|| count.fetch_add(1, Relaxed));
                panic!("in a scope");
            });
        }));
        assert_eq!(text(&*caught.unwrap_err()), "in a scope");
        assert_eq!(count.load(Relaxed), 1);
    });
}

#[test]
fn who_waits_for_a_thread_that_has_panicked_is_told() {
    let (kind, message) = fails(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = pair.clone();
        let handle = thread::spawn(move || {
            assert!(std::hint::black_box(false), "it does not get there");
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let mut done = pair.0.lock().unwrap();
        while !*done {
            done = pair.1.wait(done).unwrap();
        }
        drop(done);
        handle.join().unwrap();
    });
    assert_eq!(kind, "deadlock");
    assert!(message.contains("; thread 1 panicked at ") && message.ends_with("it does not get there"), "{message}");
}

#[test]
fn a_loop_without_a_hint_that_waits_for_a_thread_that_has_panicked_is_told() {
    let text = Builder::new().try_check(|| {
        let done = AtomicUsize::new(0);
        let handle = thread::spawn(|| assert!(std::hint::black_box(false), "it does not get there"));
        while done.load(SeqCst) == 0 {}
        handle.join().unwrap();
    });
    let text = text.unwrap_err();
    assert!(text.starts_with("event-limit: "), "{text}");
    assert!(
        text.contains(". In some execution, thread 1 panicked at ") && text.ends_with(": it does not get there"),
        "{text}"
    );
}

#[test]
fn a_lock_is_poisoned_by_a_thread_that_is_joined() {
    holds(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let thread = thread::spawn(move || {
            let _held = other.lock().unwrap();
            panic!("with the lock");
        });
        assert!(thread.join().is_err());
        assert!(lock.is_poisoned() && lock.lock().is_err());
    });
}

#[test]
fn a_task_that_panics_is_an_error_for_whoever_awaits_it() {
    holds(|| {
        let result = future::block_on(async { future::spawn(async { panic!("as planned") }).await });
        assert_eq!(result, Err(future::JoinError));
    });
    let (kind, message) = fails(|| drop(future::spawn(async { panic!("alone") })));
    assert_eq!((kind, message.lines().next()), ("panic", Some("alone")));
}

/// A thread that waits for ever, and a main thread that does not wait for it.
fn waits_for_ever() {
    drop(thread::spawn(|| {
        loop {
            thread::park();
        }
    }));
}

fn with_all_threads(f: fn()) -> Report {
    let mut builder = Builder::new();
    builder.all_threads_end = true;
    builder.report(f)
}

#[test]
fn the_process_ends_with_its_main_thread() {
    for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive] {
        let report = Builder::new().engine(engine).report(waits_for_ever);
        assert_eq!(report.verdict(), Verdict::Verified, "{engine}: {report:?}");
    }
    assert_eq!(with_all_threads(waits_for_ever).violations[0].kind.name(), "deadlock");
}

#[test]
fn a_main_thread_that_waits_does_not_end() {
    let (kind, _) = fails(|| thread::spawn(thread::park).join().unwrap());
    assert_eq!(kind, "deadlock");
}

#[test]
fn what_a_waiting_thread_holds_is_not_leaked() {
    let holds_something = || {
        let value = Arc::new(Mutex::new(0));
        drop(thread::spawn(move || {
            let _held = value.lock().unwrap();
            thread::park();
        }));
    };
    holds(holds_something);
    // Something that is really leaked, by who has ended, is.
    let (kind, _) = fails(|| std::mem::forget(Arc::new(0)));
    assert_eq!(kind, "leak");
}
