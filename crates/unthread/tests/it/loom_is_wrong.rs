//! Every case where loom 0.7.2 is known to be wrong or to stop.

use crate::{fails, holds, under};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use std::time::Duration;
use unthread::model::{Builder, MemoryModel, Verdict};
use unthread::sync::atomic::Ordering::{self, Relaxed, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicUsize};
use unthread::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use unthread::thread;

/// The outcomes that a closure reports, over all executions.
fn outcomes<T: Ord + Send + 'static>(memory: MemoryModel, f: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let notes = seen.clone();
    let report = under(memory, move || {
        let outcome = f();
        notes.lock().unwrap().insert(outcome);
    });
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    std::sync::Arc::into_inner(seen).unwrap().into_inner().unwrap()
}

fn cell() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

fn store_buffering(order: Ordering) -> (usize, usize) {
    let (x, y) = (cell(), cell());
    let other = {
        let (x, y) = (x.clone(), y.clone());
        thread::spawn(move || {
            x.store(1, order);
            y.load(order)
        })
    };
    y.store(1, order);
    let here = x.load(order);
    (here, other.join().unwrap())
}

#[test]
fn seqcst_stores_and_loads_are_sequentially_consistent() {
    for memory in MemoryModel::MACHINES {
        assert!(!outcomes(memory, || store_buffering(SeqCst)).contains(&(0, 0)), "{memory}");
    }
    assert!(outcomes(MemoryModel::Tso, || store_buffering(Relaxed)).contains(&(0, 0)));
    assert_eq!(outcomes(MemoryModel::Sc, || store_buffering(Relaxed)).len(), 3);
}

#[test]
fn all_threads_see_independent_writes_in_one_order() {
    for memory in MemoryModel::MACHINES {
        let seen = outcomes(memory, || {
            let (x, y) = (cell(), cell());
            let write = |cell: &Arc<AtomicUsize>| {
                let cell = cell.clone();
                thread::spawn(move || cell.store(1, SeqCst))
            };
            let read = |first: &Arc<AtomicUsize>, second: &Arc<AtomicUsize>| {
                let (first, second) = (first.clone(), second.clone());
                thread::spawn(move || (first.load(SeqCst), second.load(SeqCst)))
            };
            let writers = [write(&x), write(&y)];
            let readers = [read(&x, &y), read(&y, &x)];
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            readers.map(|reader| reader.join().unwrap())
        });
        assert!(!seen.contains(&[(1, 0), (1, 0)]), "{memory}");
        assert_eq!(seen.len(), 15, "{memory}");
    }
}

#[test]
fn one_of_two_exchanges_wins() {
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.compare_exchange(false, true, Relaxed, Relaxed).is_ok())
        };
        let here = flag.compare_exchange(false, true, Relaxed, Relaxed).is_ok();
        assert!(here != other.join().unwrap());
    });
}

#[test]
fn a_swap_sees_what_others_have_seen_before() {
    holds(|| {
        let x = cell();
        let writer = {
            let x = x.clone();
            thread::spawn(move || {
                x.store(1, Relaxed);
                x.store(2, Relaxed);
            })
        };
        let seen = (x.load(Relaxed), x.load(Relaxed));
        let swapped = x.swap(3, Relaxed);
        if seen.1 == 2 {
            assert_eq!(swapped, 2);
        }
        writer.join().unwrap();
    });
}

#[test]
fn a_first_load_explores_everything() {
    let seen = outcomes(MemoryModel::Tso, || {
        let x = cell();
        let writer = {
            let x = x.clone();
            thread::spawn(move || {
                x.store(1, Relaxed);
                x.store(2, Relaxed);
            })
        };
        let seen = (x.load(Relaxed), x.load(Relaxed));
        writer.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]));
}

#[test]
fn a_redundant_load_changes_nothing() {
    let run = |redundant: bool| {
        outcomes(MemoryModel::Tso, move || {
            let (x, y) = (cell(), cell());
            let other = {
                let (x, y) = (x.clone(), y.clone());
                thread::spawn(move || {
                    x.store(1, Relaxed);
                    if redundant {
                        x.load(Relaxed);
                    }
                    y.load(Relaxed)
                })
            };
            y.store(1, Relaxed);
            let here = x.load(Relaxed);
            (here, other.join().unwrap())
        })
    };
    assert_eq!(run(false), run(true));
    assert_eq!(run(true).len(), 4);
}

#[test]
fn a_weak_exchange_can_fail_without_a_reason() {
    let run = |failures| {
        let mut builder = Builder::new();
        builder.spurious_failures = failures;
        builder.report(|| {
            let x = AtomicUsize::new(0);
            assert!(x.compare_exchange_weak(0, 1, Relaxed, Relaxed).is_ok());
        })
    };
    assert_eq!(run(1).verdict(), Verdict::Violation);
    assert_eq!(run(0).verdict(), Verdict::Verified);
}

#[test]
fn a_wait_can_end_without_a_reason() {
    let (kind, message) = fails(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || {
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            })
        };
        let guard = pair.0.lock().unwrap();
        if !*guard {
            let guard = pair.1.wait(guard).unwrap();
            assert!(*guard, "woken too early");
        } else {
            drop(guard);
        }
        other.join().unwrap();
    });
    assert_eq!((kind, message.as_str()), ("panic", "woken too early"));
}

#[test]
fn a_wait_can_time_out_and_need_not() {
    let seen = outcomes(MemoryModel::Tso, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || {
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            })
        };
        let mut guard = pair.0.lock().unwrap();
        let mut timed_out = false;
        if !*guard {
            let (again, result) = pair.1.wait_timeout(guard, Duration::from_millis(1)).unwrap();
            (guard, timed_out) = (again, result.timed_out());
        }
        let ready = *guard;
        drop(guard);
        other.join().unwrap();
        (ready, timed_out)
    });
    assert_eq!(seen, BTreeSet::from([(false, true), (true, false), (true, true)]));
}

#[test]
fn a_mutex_is_poisoned_by_a_panic() {
    holds(|| {
        let mutex = Arc::new(Mutex::new(0));
        let other = {
            let mutex = mutex.clone();
            thread::spawn(move || {
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _guard = mutex.lock();
                    panic!("on purpose");
                }));
                assert!(panicked.is_err());
            })
        };
        other.join().unwrap();
        assert!(mutex.is_poisoned() && mutex.lock().is_err());
        mutex.clear_poison();
        assert!(mutex.lock().is_ok());
    });
}

#[test]
fn trying_a_held_lock_is_no_deadlock() {
    holds(|| {
        let mutex = Mutex::new(());
        let held = mutex.lock().unwrap();
        assert!(mutex.try_lock().is_err());
        drop(held);
        assert!(mutex.try_lock().is_ok());
        let lock = RwLock::new(());
        let held = lock.read().unwrap();
        assert!(lock.try_write().is_err() && lock.try_read().is_ok());
        drop(held);
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn unpark_is_possible_while_the_thread_joins() {
    holds(|| {
        let main = thread::current();
        let other = thread::spawn(move || main.unpark());
        other.join().unwrap();
        thread::park();
    });
}

#[test]
fn waiting_for_a_condition_leaves_the_park_token() {
    holds(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let main = thread::current();
        let other = {
            let pair = pair.clone();
            thread::spawn(move || {
                main.unpark();
                *pair.0.lock().unwrap() = true;
                pair.1.notify_one();
            })
        };
        let mut guard = pair.0.lock().unwrap();
        while !*guard {
            guard = pair.1.wait(guard).unwrap();
        }
        drop(guard);
        thread::park();
        other.join().unwrap();
    });
}

#[test]
fn a_channel_ends_with_its_senders() {
    holds(|| {
        let (sender, receiver) = mpsc::channel();
        let other = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [1, 2]);
        assert!(receiver.recv().is_err());
        other.join().unwrap();
    });
}

#[test]
fn there_can_be_more_than_five_threads() {
    let executions = holds(|| {
        let threads: Vec<_> = (0..8).map(|number| thread::spawn(move || number)).collect();
        for (number, thread) in threads.into_iter().enumerate() {
            assert_eq!(thread.join().unwrap(), number);
        }
    });
    assert_eq!(executions, 1);
}

#[test]
fn a_spin_loop_without_a_hint_is_named() {
    let line = line!() + 7;
    let text = Builder::new().try_check(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(true, Relaxed))
        };
        while !flag.load(Relaxed) {}
        other.join().unwrap();
    });
    let text = text.unwrap_err();
    assert!(text.contains("spin_loop()") && text.contains("most of them at"), "{text}");
    let place = format!("{}:{line}:", file!().rsplit('/').next().unwrap());
    assert!(text.contains(&place), "{place} is not in {text}");
}
