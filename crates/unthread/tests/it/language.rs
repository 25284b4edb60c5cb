//! Closures under the language's memory model, with engine `graph`.

use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, MemoryModel, Report, Verdict};
use unthread::sync::atomic::AtomicUsize;
use unthread::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use unthread::sync::{Arc, Mutex};
use unthread::thread;

fn checked(memory: MemoryModel, f: impl Fn() + Send + Sync + 'static) -> Report {
    let mut builder = Builder::new();
    builder.memory(memory);
    builder.engine(Engine::Graph);
    builder.report(f)
}

/// The outcomes of a closure over all executions.
fn outcomes(memory: MemoryModel, f: impl Fn() -> (usize, usize) + Send + Sync + 'static) -> BTreeSet<(usize, usize)> {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let notes = seen.clone();
    let report = checked(memory, move || {
        let outcome = f();
        notes.lock().unwrap().insert(outcome);
    });
    assert!(report.violations.is_empty(), "{report:?}");
    let all = seen.lock().unwrap();
    all.clone()
}

fn message_passing(store: Ordering, load: Ordering) -> (usize, usize) {
    let (data, ready) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let writer = thread::spawn({
        let (data, ready) = (data.clone(), ready.clone());
        move || {
            data.store(1, Relaxed);
            ready.store(1, store);
        }
    });
    let outcome = (ready.load(load), data.load(Relaxed));
    writer.join().unwrap();
    outcome
}

#[test]
fn a_relaxed_load_does_not_synchronise() {
    let weak = |store, load| outcomes(MemoryModel::Cpp20, move || message_passing(store, load)).contains(&(1, 0));
    assert!(!weak(Release, Acquire));
    assert!(weak(Release, Relaxed) && weak(Relaxed, Acquire) && weak(Relaxed, Relaxed));
    assert!(!outcomes(MemoryModel::Tso, || message_passing(Relaxed, Relaxed)).contains(&(1, 0)));
}

#[test]
fn a_seqcst_store_does_not_help_an_acquire_load() {
    let store_buffering = |load: Ordering| {
        let (x, y) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let other = thread::spawn({
            let (x, y) = (x.clone(), y.clone());
            move || {
                x.store(1, SeqCst);
                y.load(load)
            }
        });
        y.store(1, SeqCst);
        let seen = x.load(load);
        (seen, other.join().unwrap())
    };
    assert!(outcomes(MemoryModel::Cpp20, move || store_buffering(Acquire)).contains(&(0, 0)));
    assert!(!outcomes(MemoryModel::Cpp20, move || store_buffering(SeqCst)).contains(&(0, 0)));
}

struct Data(UnsafeCell<usize>);

// SAFETY: what is tested is whether accesses are ordered; the checker says if they are not, before they happen.
unsafe impl Sync for Data {}

fn publish(store: Ordering, load: Ordering) {
    let shared = Arc::new((Data(UnsafeCell::new(0)), AtomicUsize::new(0)));
    let writer = thread::spawn({
        let shared = shared.clone();
        move || {
            // SAFETY: nobody reads before the flag is set.
            shared.0.0.with_mut(|data| unsafe { *data = 1 });
            shared.1.store(1, store);
        }
    });
    if shared.1.load(load) == 1 {
        // SAFETY: the writer is done if its flag is seen by way of synchronisation.
        shared.0.0.with(|data| assert_eq!(unsafe { *data }, 1));
    }
    writer.join().unwrap();
}

#[test]
fn data_that_is_published_with_relaxed_is_a_race() {
    for memory in [MemoryModel::Cpp20, MemoryModel::Rc11] {
        assert_eq!(checked(memory, || publish(Release, Acquire)).verdict(), Verdict::Inconclusive);
        assert_eq!(checked(memory, || publish(Release, Relaxed)).verdict(), Verdict::Violation);
        assert_eq!(checked(memory, || publish(Relaxed, Acquire)).verdict(), Verdict::Violation);
    }
}

#[test]
fn a_mutex_orders_what_it_protects() {
    let report = checked(MemoryModel::Cpp20, || {
        let counter = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || *counter.lock().unwrap() += 1)
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*counter.lock().unwrap(), 2);
    });
    assert!(report.violations.is_empty(), "{report:?}");
}
