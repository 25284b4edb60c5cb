//! Threads that share nothing that is seen: the line about a check says so.

use crate::under;
use unthread::model::{MemoryModel, Verdict};
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unthread::sync::{Arc, Mutex, mpsc};
use unthread::thread;

/// Whether it is said of a check, which finds nothing wrong, that its threads never met.
fn are_apart(f: fn()) -> bool {
    let report = under(MemoryModel::Tso, f);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    report.coverage.is_some_and(|coverage| coverage.contains("no operation of two threads met"))
}

#[test]
fn a_lost_update_of_a_standard_atomic_does_not_go_without_a_word() {
    assert!(are_apart(|| {
        let number = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let update = |number: &std::sync::atomic::AtomicUsize| number.store(number.load(Relaxed) + 1, Relaxed);
        let others = [0, 1].map(|_| {
            let number = number.clone();
            thread::spawn(move || update(&number))
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(number.load(Relaxed), 2);
    }));
}

#[test]
fn what_all_threads_only_read_is_no_meeting() {
    assert!(are_apart(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || number.load(Relaxed))
        };
        assert_eq!(number.load(Relaxed), other.join().unwrap());
    }));
}

#[test]
fn threads_that_share_something_meet() {
    assert!(!are_apart(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || number.store(1, Relaxed))
        };
        number.load(Relaxed);
        other.join().unwrap();
    }));
    assert!(!are_apart(|| {
        let number = Arc::new(Mutex::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || *number.lock().unwrap() += 1)
        };
        other.join().unwrap();
        assert_eq!(*number.lock().unwrap(), 1);
    }));
    assert!(!are_apart(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(1).unwrap());
        assert_eq!(receiver.recv(), Ok(1));
    }));
    assert!(!are_apart(|| {
        let main = thread::current();
        thread::spawn(move || main.unpark());
        thread::park();
    }));
}

#[test]
fn one_thread_need_not_meet_anybody() {
    assert!(!are_apart(|| assert_eq!(AtomicUsize::new(1).load(Relaxed), 1)));
}

/// Also where what tests print is not shown.
#[test]
fn whoever_runs_the_test_sees_it() {
    const INNER: &str = "UNTHREAD_TEST_APART";
    if std::env::var_os(INNER).is_some() {
        return unthread::model(|| drop(thread::spawn(|| ()).join()));
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "apart::whoever_runs_the_test_sees_it"]).env(INNER, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    assert!(
        printed.contains("whoever_runs_the_test_sees_it: verified by dpor")
            && printed.contains("no operation of two threads met"),
        "{printed}"
    );
}
