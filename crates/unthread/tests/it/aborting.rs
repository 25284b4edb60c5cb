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

/// Tells the processes that a test starts from those that start them.
const INNER: &str = "UNTHREAD_TEST_INNER";

/// What a test prints to the error stream when it is run again, without being captured.
fn printed(test: &str, threads: &str) -> String {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads", threads]).env(INNER, "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).to_string()
}

#[test]
fn what_is_printed_where_nobody_is_interested_is_noise() {
    struct Talks(&'static str);
    impl Drop for Talks {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("a destructor of {}", self.0);
                std::process::abort();
            }
        }
    }
    if std::env::var_os(INNER).is_some() {
        eprintln!("before");
        // Destructors of executions that are given up.
        let mut builder = Builder::new();
        builder.engine = Engine::Random { seed: 1 };
        builder.max_permutations = Some(10);
        builder.report(|| {
            let _talks = Talks("an execution that is given up");
            unthread::assume(false);
        });
        // The standard library before it ends a process.
        let (kind, _) = fails(|| {
            struct Panics;
            impl Drop for Panics {
                fn drop(&mut self) {
                    panic!("again");
                }
            }
            let _panics = Panics;
            panic!("at first");
        });
        assert_eq!(kind, "panic");
        // What belongs to a failure is not noise.
        let (kind, _) = fails(|| {
            let _talks = Talks("a failure");
            panic!("at first");
        });
        assert_eq!(kind, "panic");
        return eprintln!("after");
    }
    let test = "aborting::what_is_printed_where_nobody_is_interested_is_noise";
    let printed = printed(test, "1");
    assert!(printed.starts_with("before\na destructor of a failure\n") && printed.ends_with("after\n"), "{printed}");
    assert!(!printed.contains("given up") && !printed.contains("non-unwinding"), "{printed}");
}

#[test]
fn what_others_print_is_not_lost() {
    if std::env::var_os(INNER).is_some() {
        let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let others: Vec<_> = (0..2)
            .map(|of| {
                let stop = stop.clone();
                std::thread::spawn(move || {
                    let mut lines = 0;
                    while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                        eprintln!("line {lines} of {of}");
                        lines += 1;
                    }
                    lines
                })
            })
            .collect();
        let mut builder = Builder::new();
        builder.engine = Engine::Random { seed: 1 };
        builder.max_permutations = Some(300);
        builder.report(|| unthread::assume(false));
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        let lines: Vec<u32> = others.into_iter().map(|other| other.join().unwrap()).collect();
        return eprintln!("all: {}", lines.iter().sum::<u32>());
    }
    let printed = printed("aborting::what_others_print_is_not_lost", "2");
    let all = printed.lines().find_map(|line| line.strip_prefix("all: ")).unwrap();
    let lines = printed.lines().filter(|line| line.starts_with("line ")).count();
    assert_eq!(all, lines.to_string());
}
