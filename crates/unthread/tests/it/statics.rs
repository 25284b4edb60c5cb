//! What constant expressions make: statics, with which every execution begins as the source says, and anything else.

use crate::{fails, holds};
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, MemoryModel, Verdict};
use unthread::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicUsize};
use unthread::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Notify, Once, OnceLock, RwLock};
use unthread::thread;

#[test]
fn a_static_atomic_begins_with_its_value_in_every_execution() {
    static NUMBER: AtomicUsize = AtomicUsize::const_new(7);
    static NEGATIVE: AtomicI64 = AtomicI64::const_new(-3);
    static POINTER: AtomicPtr<u32> = AtomicPtr::const_new(std::ptr::null_mut());
    let executions = holds(|| {
        let other = thread::spawn(|| NUMBER.fetch_add(1, Relaxed));
        let here = NUMBER.fetch_add(1, Relaxed);
        let there = other.join().unwrap();
        assert_eq!([here.min(there), here.max(there), NUMBER.load(Relaxed)], [7, 8, 9]);
        assert_eq!(NEGATIVE.swap(1, Relaxed), -3);
        assert!(POINTER.swap(std::ptr::dangling_mut(), Relaxed).is_null());
        assert_eq!(format!("{NUMBER:?}"), "9");
    });
    assert_eq!(executions, 2);
}

#[test]
fn statics_buffer_stores_like_anything_else() {
    static SEEN: std::sync::Mutex<Vec<(usize, usize)>> = std::sync::Mutex::new(Vec::new());
    static X: AtomicUsize = AtomicUsize::const_new(0);
    static Y: AtomicUsize = AtomicUsize::const_new(0);
    let executions = holds(|| {
        let other = thread::spawn(|| {
            X.store(1, Release);
            Y.load(Acquire)
        });
        Y.store(1, Release);
        let here = X.load(Acquire);
        SEEN.lock().unwrap().push((here, other.join().unwrap()));
    });
    let mut seen = SEEN.lock().unwrap().clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(executions, 4);
}

#[test]
fn data_of_static_locks_is_new_in_every_execution_and_goes_with_it() {
    static LIST: Mutex<Vec<Arc<u32>>> = Mutex::const_new(Vec::new());
    static TEXT: RwLock<String> = RwLock::const_new(String::new());
    static FILLED: Condvar = Condvar::const_new();
    holds(|| {
        let other = thread::spawn(|| {
            LIST.lock().unwrap().push(Arc::new(1));
            FILLED.notify_one();
            TEXT.write().unwrap().push('a');
        });
        let mut list = LIST.lock().unwrap();
        while list.is_empty() {
            list = FILLED.wait(list).unwrap();
        }
        assert_eq!(list.len(), 1);
        assert!(TEXT.read().unwrap().len() <= 1);
        drop(list);
        other.join().unwrap();
        assert_eq!(*TEXT.read().unwrap(), "a");
    });
}

#[test]
fn what_a_static_makes_is_made_in_every_execution() {
    static VALUE: LazyLock<Arc<AtomicUsize>> = LazyLock::const_new(|| Arc::new(AtomicUsize::new(5)));
    static ONCE: Once = Once::const_new();
    static SET: OnceLock<usize> = OnceLock::const_new();
    static RUNS: AtomicUsize = AtomicUsize::const_new(0);
    static BOTH: Barrier = Barrier::const_new(2);
    holds(|| {
        let run = || {
            VALUE.fetch_add(1, SeqCst);
            ONCE.call_once(|| _ = RUNS.fetch_add(1, SeqCst));
            BOTH.wait();
        };
        let other = thread::spawn(run);
        run();
        other.join().unwrap();
        assert_eq!((VALUE.load(SeqCst), RUNS.load(SeqCst)), (7, 1));
        assert_eq!((SET.get(), SET.get_or_init(|| 3), SET.set(4)), (None, &3, Err(4)));
    });
}

#[test]
fn a_race_for_a_static_is_found() {
    struct Shared(UnsafeCell<u32>);
    unsafe impl Sync for Shared {}
    static DATA: Shared = Shared(UnsafeCell::const_new(0));
    static READY: AtomicBool = AtomicBool::const_new(false);
    let run = |waits: bool| {
        let other = thread::spawn(|| {
            DATA.0.with_mut(|data| unsafe { *data += 1 });
            READY.store(true, Release);
        });
        if !waits || READY.load(Acquire) {
            DATA.0.with(|data| assert!(unsafe { *data } <= 1));
        }
        other.join().unwrap();
    };
    holds(move || run(true));
    assert_eq!(fails(move || run(false)).0, "data-race");
}

#[test]
fn a_static_notification_is_forgotten() {
    static DONE: Notify = Notify::const_new();
    holds(|| {
        let other = thread::spawn(|| DONE.notify());
        DONE.wait();
        other.join().unwrap();
    });
}

#[test]
fn checks_on_several_os_threads_share_a_static_and_not_its_value() {
    static COUNT: Mutex<usize> = Mutex::const_new(0);
    let check = || {
        Builder::new().report(|| {
            let other = thread::spawn(|| *COUNT.lock().unwrap() += 1);
            *COUNT.lock().unwrap() += 1;
            other.join().unwrap();
            assert_eq!(*COUNT.lock().unwrap(), 2);
        })
    };
    let both = [std::thread::spawn(check), std::thread::spawn(check)];
    assert!(both.into_iter().all(|check| check.join().unwrap().verdict() == Verdict::Verified));
}

/// A type that can be made by a constant expression, and need not be a static.
struct Pair {
    cells: [AtomicUsize; 2],
    sum: Mutex<usize>,
}

impl Pair {
    const fn new() -> Pair {
        Pair { cells: [AtomicUsize::const_new(0), AtomicUsize::const_new(0)], sum: Mutex::const_new(0) }
    }

    fn named_at_once() -> Pair {
        Pair { cells: [AtomicUsize::new(0), AtomicUsize::new(0)], sum: Mutex::new(0) }
    }
}

/// Everything that two threads can see that store to one cell, load the other, and add to the sum.
fn seen_in_pair(memory: MemoryModel, engine: Engine, make: fn() -> Pair) -> BTreeSet<[usize; 5]> {
    let seen: StdArc<StdMutex<BTreeSet<[usize; 5]>>> = StdArc::default();
    let notes = seen.clone();
    let report = Builder::new().memory(memory).engine(engine).report(move || {
        let pair = Arc::new(make());
        let run = |pair: &Pair, me: usize| {
            pair.cells[me].store(me + 1, Relaxed);
            let other = pair.cells[1 - me].load(Relaxed);
            let mut sum = pair.sum.lock().unwrap();
            *sum = *sum * 10 + me + 1;
            (other, *sum)
        };
        let other = {
            let pair = pair.clone();
            thread::spawn(move || run(&pair, 1))
        };
        let (here, there) = (run(&pair, 0), other.join().unwrap());
        let sum = *pair.sum.lock().unwrap();
        notes.lock().unwrap().insert([here.0, here.1, there.0, there.1, sum]);
    });
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn what_a_constant_expression_makes_need_not_be_a_static() {
    for memory in MemoryModel::MACHINES {
        let expected = seen_in_pair(memory, Engine::Dpor, Pair::named_at_once);
        assert_eq!(expected.iter().any(|seen| (seen[0], seen[2]) == (0, 0)), memory != MemoryModel::Sc);
        for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive] {
            assert_eq!(seen_in_pair(memory, engine, Pair::new), expected, "{memory}, {engine}");
        }
    }
}

#[test]
fn what_a_constant_expression_makes_can_be_looked_at_and_taken_apart() {
    holds(|| {
        let mut copies = [const { AtomicUsize::const_new(3) }; 2];
        assert_eq!(format!("{copies:?}"), "[3, 3]");
        copies[0].store(5, Relaxed);
        *copies[1].get_mut() += 1;
        assert_eq!(copies.map(|copy| copy.into_inner()), [5, 4]);
        let (lock, once) = (Mutex::const_new(vec![1]), OnceLock::const_new());
        lock.lock().unwrap().push(*once.get_or_init(|| 2));
        assert_eq!((lock.into_inner().unwrap(), once.into_inner()), (vec![1, 2], Some(2)));
    });
}

#[test]
fn zeroed_memory_is_an_atomic_like_any_other() {
    let executions = holds(|| {
        let cells: Arc<[AtomicUsize; 2]> = Arc::new(unsafe { std::mem::zeroed() });
        let (pointer, flag): (AtomicPtr<u8>, AtomicBool) = unsafe { std::mem::zeroed() };
        assert!(pointer.load(Relaxed).is_null() && !flag.swap(true, Relaxed) && flag.into_inner());
        let other = {
            let cells = cells.clone();
            thread::spawn(move || cells[1].fetch_add(1, Relaxed))
        };
        let here = cells[1].fetch_add(1, Relaxed);
        assert_eq!((here + other.join().unwrap(), cells[0].load(Relaxed), cells[1].load(Relaxed)), (1, 0, 2));
    });
    assert_eq!(executions, 2);
}

/// Its destructor performs an operation.
struct Closing(AtomicUsize);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.swap(1, SeqCst);
    }
}

/// The main thread has been unwound by then, and there is no stack to leave the destructor on.
#[test]
fn a_static_of_an_execution_that_is_given_up_is_dropped_after_its_threads() {
    unthread::lazy_static! {
        static ref CLOSING: Closing = Closing(AtomicUsize::new(0));
    }
    let (kind, _) = fails(|| {
        let lock = Arc::new(Mutex::new(()));
        assert_eq!(CLOSING.0.load(SeqCst), 0);
        let held = lock.lock().unwrap();
        let other = thread::spawn({
            let lock = lock.clone();
            move || drop(lock.lock().unwrap())
        });
        other.join().unwrap();
        drop(held);
    });
    assert_eq!(kind, "deadlock");
}

/// A stack is used again and again: an object that has been dropped is no reason to fail when another one comes to the same place.
#[test]
fn a_constant_may_be_where_another_object_was() {
    #[inline(never)]
    fn used(number: AtomicUsize) -> usize {
        std::hint::black_box(&number).fetch_add(1, Relaxed)
    }
    holds(|| {
        for _ in 0..2 {
            assert_eq!((used(AtomicUsize::new(1)), used(AtomicUsize::const_new(2))), (1, 2));
        }
    });
}
