//! The first tests that anybody writes.

use unthread::model::{Builder, MemoryModel, Verdict};
use unthread::sync::Arc;
use unthread::sync::atomic::AtomicUsize;
use unthread::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unthread::thread;

fn increment_twice() {
    let num = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let num = num.clone();
            thread::spawn(move || {
                let curr = num.load(Acquire);
                num.store(curr + 1, Release);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(2, num.load(Relaxed));
}

#[test]
fn a_lost_update_is_found_and_shown() {
    let text = Builder::new().try_check(increment_twice).unwrap_err();
    println!("{text}");
    assert!(text.contains("assertion `left == right` failed"), "{text}");
    assert!(text.contains("UNTHREAD_REPLAY="), "{text}");
}

#[test]
fn atomic_increments_are_not_lost() {
    let report = Builder::new().report(|| {
        let num = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let num = num.clone();
                thread::spawn(move || num.fetch_add(1, Relaxed))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(4, num.load(Relaxed));
    });
    println!("{report:?}");
    assert_eq!(report.verdict(), Verdict::Verified);
    assert_eq!(report.statistics.executions, 24);
}

#[test]
fn store_buffering_is_a_matter_of_the_memory_model_and_of_orderings() {
    for (memory, order, seen) in
        [(MemoryModel::Sc, Relaxed, false), (MemoryModel::Tso, Relaxed, true), (MemoryModel::Tso, SeqCst, false)]
    {
        let report = Builder::new().memory(memory).report(move || {
            let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let other = {
                let (x, y) = (x.clone(), y.clone());
                thread::spawn(move || {
                    x.store(1, order);
                    y.load(order)
                })
            };
            y.store(1, order);
            let b = x.load(order);
            let a = other.join().unwrap();
            assert!(a == 1 || b == 1);
        });
        assert_eq!(report.verdict() == Verdict::Violation, seen, "{memory} {order:?}");
    }
}
