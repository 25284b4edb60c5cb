//! Code under test that does not come to its next operation, or uses up its stack. Each hang is run in a process of its own, which must end in time, with a report.

use std::process::Command;
use std::time::{Duration, Instant};
use unthread::model::{Builder, StopReason, Verdict};
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unthread::thread;

/// Tells the processes that a test starts from those that start them.
const INNER: &str = "UNTHREAD_TEST_HANGS";

/// The longest time for each check, and how much later the process may end: on a machine that does nothing else, within a second.
const MOST: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(20);

/// A check of something that hangs fails in time, and its report says so, with these words. The process is gone then, too.
#[track_caller]
fn hangs(test: &str, words: &[&str], f: fn()) {
    if std::env::var_os(INNER).is_some() {
        let mut builder = Builder::new();
        builder.max_duration = Some(MOST);
        let told = builder.try_check(f).unwrap_err();
        panic!("{told}");
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INNER, "1");
    let started = Instant::now();
    let output = command.output().unwrap();
    let took = started.elapsed();
    let printed = String::from_utf8_lossy(&output.stdout).to_string() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{printed}");
    assert!(took < MOST + GRACE, "{took:?}: {printed}");
    for word in words {
        assert!(printed.contains(word), "{word} is missing: {printed}");
    }
}

#[test]
fn a_loop_without_an_operation() {
    hangs(
        "hanging::a_loop_without_an_operation",
        &["hang: thread 1 does not come to another operation", "hanging.rs:", "a loop without an operation"],
        || {
            let number = Arc::new(AtomicUsize::new(0));
            let other = {
                let number = number.clone();
                thread::spawn(move || {
                    number.store(1, Relaxed);
                    loop {
                        std::hint::black_box(0);
                    }
                })
            };
            let _: () = other.join().unwrap();
        },
    );
}

#[test]
fn a_loop_on_a_flag_of_std() {
    hangs(
        "hanging::a_loop_on_a_flag_of_std",
        &["hang: main does not come to another operation", "hanging.rs:"],
        || {
            let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let other = {
                let flag = flag.clone();
                thread::spawn(move || {
                    AtomicUsize::new(0).store(1, Relaxed);
                    flag.store(true, Relaxed);
                })
            };
            // Nobody else can go on meanwhile.
            while !flag.load(Relaxed) {
                std::hint::spin_loop();
            }
            other.join().unwrap();
        },
    );
}

#[test]
fn a_lock_of_std_that_is_held_across_an_operation() {
    hangs(
        "hanging::a_lock_of_std_that_is_held_across_an_operation",
        &["hang: ", "a lock of the standard library", "hanging.rs:"],
        || {
            let lock = std::sync::Arc::new(std::sync::Mutex::new(AtomicUsize::new(0)));
            let run = |lock: std::sync::Arc<std::sync::Mutex<AtomicUsize>>| {
                let number = lock.lock().unwrap();
                number.fetch_add(1, Relaxed);
                number.fetch_add(1, Relaxed);
            };
            let other = {
                let lock = lock.clone();
                thread::spawn(move || run(lock))
            };
            run(lock);
            other.join().unwrap();
        },
    );
}

#[test]
fn a_channel_of_std_that_is_empty() {
    hangs(
        "hanging::a_channel_of_std_that_is_empty",
        &["hang: main does not come", "it has not come to an operation yet"],
        || {
            let (_sender, receiver) = std::sync::mpsc::channel::<()>();
            receiver.recv().unwrap();
        },
    );
}

#[test]
fn a_thread_of_std_that_does_not_end() {
    hangs("hanging::a_thread_of_std_that_does_not_end", &["hang: main does not come", "hanging.rs:"], || {
        AtomicUsize::new(0).store(1, Relaxed);
        std::thread::spawn(|| {
            loop {
                std::thread::park();
            }
        })
        .join()
        .unwrap();
    });
}

#[test]
fn a_destructor_that_waits_in_an_execution_that_is_given_up() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            while std::thread::panicking() {
                std::hint::black_box(0);
            }
        }
    }
    hangs("hanging::a_destructor_that_waits_in_an_execution_that_is_given_up", &["hang: main does not come"], || {
        let _waits = Waits;
        panic!("this is where it begins");
    });
}

/// Whatever the loop allocates.
#[test]
fn a_loop_that_allocates() {
    hangs("hanging::a_loop_that_allocates", &["hang: main does not come"], || {
        AtomicUsize::new(0).store(1, Relaxed);
        loop {
            std::hint::black_box(vec![0u8; 1 << 16]);
            std::hint::black_box(vec![String::from("x"); 100]);
        }
    });
}

/// Without a limit, whoever waits is told why.
#[test]
fn a_thread_that_takes_long_is_worth_a_warning() {
    static SLOW: std::sync::Once = std::sync::Once::new();
    if std::env::var_os(INNER).is_some() {
        crate::holds(|| {
            AtomicUsize::new(0).store(1, Relaxed);
            SLOW.call_once(|| std::thread::sleep(Duration::from_millis(5500)));
        });
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "hanging::a_thread_that_takes_long_is_worth_a_warning";
    let output = command.args(["--exact", test]).env(INNER, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let warning =
        "main has not come to an operation for 5 s; its last operation is at crates/unthread/tests/it/hanging.rs:";
    assert!(printed.contains(warning) && printed.contains("UNTHREAD_MAX_SECONDS"), "{printed}");
}

/// Each step takes so long that the search would look at the clock much too late.
#[test]
fn time_is_kept_where_steps_are_slow() {
    let mut builder = Builder::new();
    builder.max_duration = Some(MOST);
    let started = Instant::now();
    let report = builder.report(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let run = |number: &AtomicUsize| {
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(10));
                number.fetch_add(1, Relaxed);
            }
        };
        let other = {
            let number = number.clone();
            thread::spawn(move || run(&number))
        };
        run(&number);
        other.join().unwrap();
    });
    assert!(started.elapsed() < MOST + GRACE, "{:?}", started.elapsed());
    assert_eq!((report.verdict(), report.stop.name()), (Verdict::Inconclusive, "time-limit"));
}

/// A test that hangs does not keep others from being checked on the same OS thread.
#[test]
fn checks_go_on_after_a_hang() {
    let mut builder = Builder::new();
    builder.max_duration = Some(Duration::from_millis(300));
    for _ in 0..3 {
        let report = builder.report(|| {
            loop {
                std::hint::black_box(0);
            }
        });
        assert!(matches!(report.stop, StopReason::Hang(_)), "{report:?}");
        let number = crate::holds(|| {
            let number = Arc::new(AtomicUsize::new(0));
            let other = {
                let number = number.clone();
                thread::spawn(move || number.fetch_add(1, Relaxed))
            };
            number.fetch_add(1, Relaxed);
            other.join().unwrap();
        });
        assert_eq!(number, 2);
    }
}

#[inline(never)]
fn deep(number: Option<&AtomicUsize>, levels: usize) -> usize {
    let room = std::hint::black_box([levels; 16]);
    if let Some(number) = number {
        number.store(levels, Relaxed);
    }
    if levels == 0 { 0 } else { deep(number, levels - 1) + room[levels % 16] }
}

/// The stack of a thread is used up, in its own code and in operations.
#[test]
fn a_stack_that_overflows_is_a_violation() {
    for _ in 0..3 {
        let (kind, message) = crate::fails(|| {
            std::hint::black_box(deep(None, usize::MAX));
        });
        assert_eq!(kind, "out-of-resources");
        assert!(message.contains("the stack of main overflows") && message.contains("stack_size"), "{message}");
        let mut builder = Builder::new();
        builder.max_branches = 1 << 20;
        let told = builder.try_check(|| {
            let named = thread::Builder::new().name("digger".to_string());
            let dig = || std::hint::black_box(deep(Some(&AtomicUsize::new(0)), usize::MAX));
            named.spawn(dig).unwrap().join().unwrap();
        });
        let told = told.unwrap_err();
        assert!(told.contains("the stack of digger overflows"), "{told}");
    }
}

/// Where a thread cannot be left, because it is in the allocator, the process ends, but not without a word.
#[test]
fn a_stack_that_overflows_while_it_allocates_is_told() {
    #[inline(never)]
    fn dig(levels: usize) -> usize {
        let (few, many) = (Box::new(levels), vec![levels; 30]);
        std::hint::black_box(&many);
        if levels == usize::MAX { 0 } else { *few + dig(levels + 1) + many[0] }
    }
    if std::env::var_os(INNER).is_some() {
        crate::holds(|| drop(std::hint::black_box(Box::new(dig(0)))));
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "hanging::a_stack_that_overflows_while_it_allocates_is_told";
    let output = command.args(["--exact", test, "--nocapture"]).env(INNER, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && printed.contains("the stack of main overflows"), "{printed}");
}

/// As much as is asked for can be used.
#[test]
fn stacks_can_be_larger() {
    const LEVELS: usize = 12_000;
    let dig = || {
        std::hint::black_box(deep(None, LEVELS * 2));
    };
    let mut builder = Builder::new();
    builder.stack_size = 64 << 20;
    assert_eq!(builder.report(dig).verdict(), Verdict::Verified);
    builder.stack_size = 64 << 10;
    assert_eq!(builder.report(dig).verdict(), Verdict::Violation);
}
