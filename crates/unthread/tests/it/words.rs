//! The words of reports: objects by the names that the source has for them, operations by what they do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use unthread::model::Builder;
use unthread::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use unthread::sync::{Arc, Mutex, RwLock, mpsc};
use unthread::{future, hint, thread};

/// What a check that fails prints.
#[track_caller]
fn told(f: impl Fn() + Send + Sync + 'static) -> String {
    let text = Builder::new().try_check(f).unwrap_err();
    println!("{text}");
    text
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

static COUNTER: AtomicUsize = AtomicUsize::const_new(0);

struct Pair {
    left: AtomicUsize,
    right: Arc<AtomicBool>,
}

impl Pair {
    fn new() -> Pair {
        Pair { left: AtomicUsize::new(0), right: Arc::new(AtomicBool::new(false)) }
    }
}

#[test]
fn objects_have_the_names_of_variables_and_fields() {
    let text = told(|| {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(false));
        let cells = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let pair = Pair::new();
        let second = Pair::new();
        let wrapped = Mutex::new(AtomicUsize::new(0));
        let pointer = AtomicPtr::<u8>::new(std::ptr::null_mut());
        x.store(1, Release);
        y.store(true, Relaxed);
        cells[1].store(2, Relaxed);
        pair.left.store(3, Relaxed);
        pair.right.store(true, SeqCst);
        second.left.store(4, Relaxed);
        COUNTER.fetch_add(5, Relaxed);
        wrapped.lock().unwrap().store(6, Relaxed);
        pointer.load(Relaxed);
        drop(x.clone());
        panic!("to see it");
    });
    says(
        &text,
        &[
            "store x = 1 (Release)",
            "store y = true",
            "store cells[1] = 2",
            "store left = 3",
            "store right = true (SeqCst)",
            "store left#2 = 4",
            "fetch_add COUNTER 0→5",
            "lock wrapped",
            "store AtomicUsize@",
            "load pointer → null",
            "clone Arc x 1→2",
            "drop Arc x 2→1",
        ],
    );
    assert_eq!(text.matches('@').count(), 3, "one object has no name; its store waits and arrives: {text}");
}

#[test]
fn park_tokens_belong_to_threads() {
    let text = told(|| {
        // Spawned by the standard library, as far as places go.
        let threads: Vec<_> = [thread::park as fn(), thread::park].into_iter().map(thread::spawn).collect();
        threads[1].thread().unpark();
        for thread in threads {
            thread.join().unwrap();
        }
    });
    says(
        &text,
        &["deadlock: main waits for thread 1 to end; thread 1 waits for someone to unpark it", "unpark thread 2"],
    );
    assert!(!text.contains("park token@"), "{text}");
}

#[test]
fn a_parked_thread_does_not_spin() {
    let text = told(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let parked = thread::spawn(thread::park);
        let spins = {
            let flag = flag.clone();
            thread::spawn(move || {
                while !flag.load(Relaxed) {
                    hint::spin_loop();
                }
            })
        };
        parked.join().unwrap();
        flag.store(true, Relaxed);
        spins.join().unwrap();
    });
    says(&text, &["thread 1 waits for someone to unpark it", "thread 2 spins on `flag` for ever"]);
    assert!(!text.contains("thread 1 spins"), "{text}");
    // Turns that are alike are shown once.
    says(&text, &["and so on, "]);
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn several_holders_hold() {
    let text = told(|| {
        let lock = Arc::new(RwLock::new(0));
        let reader = {
            let lock = lock.clone();
            thread::spawn(move || {
                let _held = lock.read().unwrap();
                thread::park();
            })
        };
        let held = lock.read().unwrap();
        drop(lock.write());
        drop(held);
        reader.join().unwrap();
    });
    says(&text, &["which main and thread 1 hold"]);
    let text = told(|| {
        let lock = Mutex::new(0);
        let _held = lock.lock().unwrap();
        drop(lock.lock());
    });
    says(&text, &["main waits for `lock`, which main holds"]);
}

#[test]
fn channels_have_messages() {
    let text = told(|| {
        let (tx, rx) = mpsc::channel();
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        sender.join().unwrap();
        assert_eq!(rx.iter().sum::<i32>(), 3);
        assert!(rx.try_recv().is_ok());
    });
    says(
        &text,
        &[
            "send to channel (tx, rx): empty → 1 message",
            "send to channel (tx, rx): 1 message → 2 messages",
            "close channel (tx, rx): 2 messages → 2 messages, closed",
            "receive from channel (tx, rx): 1 message, closed → empty, closed",
            "receive from channel (tx, rx): empty, closed",
        ],
    );
    assert!(!text.contains("10995116") && !text.contains("had stored"), "{text}");
    let text = told(|| {
        let (tx, rx) = mpsc::sync_channel(0);
        let sender = thread::spawn(move || tx.send(1).unwrap());
        assert_eq!(rx.recv(), Ok(1));
        sender.join().unwrap();
        panic!("to see it");
    });
    says(&text, &["wait at channel (tx, rx): ", "send to channel (tx, rx): ", "has been taken"]);
    assert!(!text.contains("4294967"), "{text}");
}

#[test]
fn locks_are_poisoned_in_words() {
    let text = told(|| {
        let lock = Mutex::new(0);
        let _ = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock.lock().unwrap();
            panic!("with the lock");
        }));
        assert!(lock.is_poisoned());
        lock.clear_poison();
        panic!("to see it");
    });
    says(&text, &["poison lock", "is lock poisoned → yes", "clear the poison of lock"]);
    assert!(!text.contains("store lock"), "{text}");
}

#[test]
fn a_leak_says_which_reference_is_left() {
    let text = told(|| {
        let value = Arc::new(AtomicUsize::new(0));
        let other = value.clone();
        thread::spawn(move || {
            let kept = other.clone();
            std::mem::forget(kept);
        })
        .join()
        .unwrap();
    });
    says(&text, &["leak: `Arc value`, made at ", "the reference that thread 1 took at ", " is never given back\n"]);
    assert!(!text.contains("which it had stored"), "{text}");
    let text = told(|| std::mem::forget(Arc::new(0)));
    says(&text, &["the reference that it was made with is never given back"]);
}

#[test]
fn tasks_are_woken() {
    let text = told(|| {
        let result = future::block_on(async {
            let task = future::spawn(async { 7 });
            task.await
        });
        assert_eq!(result, Ok(8));
    });
    says(&text, &["has task ended → no", "task ends", "wake waker@", "has task ended → yes"]);
}

#[test]
fn a_failure_of_the_first_execution_says_so() {
    let text = told(|| panic!("at once"));
    says(&text, &["\nin the first execution, after 0.0"]);
    assert!(!text.contains("0 executions"), "{text}");
}

/// A reference that is gone is not what it refers to, which is still there.
#[test]
fn handles_are_not_what_they_refer_to() {
    struct Pointer(*mut Arc<AtomicUsize>);
    unsafe impl Send for Pointer {}
    let text = told(|| {
        let number = Arc::new(AtomicUsize::new(1));
        let second = number.clone();
        let place = Box::into_raw(Box::new(second));
        let shared = Pointer(place);
        let user = thread::spawn(move || unsafe { &*{ shared }.0 }.load(Relaxed));
        drop(unsafe { Box::from_raw(place) });
        user.join().unwrap();
    });
    says(&text, &["thread 1 uses `reference number`, which main has dropped"]);
}
