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
        assert_eq!(checked(memory, || publish(Release, Acquire)).verdict(), Verdict::Verified);
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

/// All executions end well.
#[track_caller]
fn is_right(f: impl Fn() + Send + Sync + 'static) -> Report {
    let report = checked(MemoryModel::Cpp20, f);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    report
}

/// Something is wrong. Gives the kind.
#[track_caller]
fn is_wrong(f: impl Fn() + Send + Sync + 'static) -> String {
    let report = checked(MemoryModel::Cpp20, f);
    assert_eq!(report.verdict(), Verdict::Violation, "{report:?}");
    report.violations[0].kind.name().to_string()
}

/// One thread writes data and hands over; the main thread takes over and reads the data.
fn hand_over<S: 'static>(shared: S, give: fn(&S), take: impl FnOnce(&S)) {
    let shared = Arc::new((Data(UnsafeCell::new(0)), shared));
    let giver = thread::spawn({
        let shared = shared.clone();
        move || {
            shared.0.0.with_mut(|data| unsafe { *data = 1 });
            give(&shared.1);
        }
    });
    take(&shared.1);
    shared.0.0.with(|data| assert_eq!(unsafe { *data }, 1));
    giver.join().unwrap();
}

#[test]
fn whoever_is_handed_something_comes_after_who_gave_it() {
    use unthread::sync::{Barrier, Condvar, Notify, Once, OnceLock, RwLock};
    is_right(|| hand_over(Notify::new(), Notify::notify, Notify::wait));
    is_right(|| hand_over(Barrier::new(2), |it| _ = it.wait(), |it| _ = it.wait()));
    is_right(|| hand_over(OnceLock::new(), |it| it.set(1).unwrap(), |it| assert_eq!(*it.wait(), 1)));
    is_right(|| hand_over(Once::new(), |it| it.call_once(|| {}), Once::wait));
    is_right(|| {
        hand_over(
            (Mutex::new(false), Condvar::new()),
            |it| {
                *it.0.lock().unwrap() = true;
                it.1.notify_one();
            },
            |it| drop(it.1.wait_while(it.0.lock().unwrap(), |is_there| !*is_there)),
        );
    });
    is_right(|| {
        hand_over(
            RwLock::new(false),
            |it| *it.write().unwrap() = true,
            |it| {
                while !*it.read().unwrap() {
                    thread::yield_now();
                }
            },
        );
    });
    is_right(|| {
        hand_over(
            Mutex::new(false),
            |it| *it.lock().unwrap() = true,
            |it| {
                while it.try_lock().is_err() || !*it.lock().unwrap() {
                    thread::yield_now();
                }
            },
        );
    });
    is_right(|| hand_over(thread::current(), thread::Thread::unpark, |_| thread::park()));
    is_right(|| {
        hand_over(
            AtomicUsize::new(0),
            |it| it.store(1, Release),
            |it| {
                while it.load(Acquire) == 0 {
                    unthread::hint::spin_loop();
                }
            },
        )
    });
    assert_eq!(
        is_wrong(|| hand_over(
            AtomicUsize::new(0),
            |it| it.store(1, Release),
            |it| {
                while it.load(Relaxed) == 0 {
                    unthread::hint::spin_loop();
                }
            }
        )),
        "data-race"
    );
    is_wrong(|| hand_over(RwLock::new(false), |_| {}, |it| drop(it.read())));
}

#[test]
fn a_message_orders_who_sent_it_and_who_received_it_and_nobody_else() {
    use unthread::sync::mpsc;
    is_right(|| {
        let (sender, receiver) = mpsc::channel();
        let data = Arc::new(Data(UnsafeCell::new(0)));
        let other = thread::spawn({
            let data = data.clone();
            move || {
                data.0.with_mut(|data| unsafe { *data = 1 });
                sender.send(()).unwrap();
            }
        });
        receiver.recv().unwrap();
        data.0.with(|data| assert_eq!(unsafe { *data }, 1));
        assert!(receiver.recv().is_err());
        other.join().unwrap();
    });
    // Who is told that there are no more messages comes after all who sent.
    is_right(|| {
        let (sender, receiver) = mpsc::channel::<()>();
        let data = Arc::new(Data(UnsafeCell::new(0)));
        let other = thread::spawn({
            let data = data.clone();
            move || {
                data.0.with_mut(|data| unsafe { *data = 1 });
                drop(sender);
            }
        });
        if receiver.try_recv() == Err(mpsc::TryRecvError::Disconnected) {
            data.0.with(|data| assert_eq!(unsafe { *data }, 1));
        }
        other.join().unwrap();
    });
    // Two senders are not ordered by the channel.
    let kind = is_wrong(|| {
        let (sender, receiver) = mpsc::channel();
        let data = Arc::new(Data(UnsafeCell::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (sender, data) = (sender.clone(), data.clone());
                thread::spawn(move || {
                    data.0.with_mut(|data| unsafe { *data += 1 });
                    sender.send(()).unwrap();
                })
            })
            .collect();
        drop(sender);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(receiver);
    });
    assert_eq!(kind, "data-race");
}

#[test]
fn shared_holders_of_a_lock_are_not_ordered() {
    use unthread::sync::RwLock;
    let kind = is_wrong(|| {
        let shared = Arc::new((RwLock::new(()), Data(UnsafeCell::new(0))));
        let add = |shared: &(RwLock<()>, Data)| {
            let _held = shared.0.read().unwrap();
            shared.1.0.with_mut(|data| unsafe { *data += 1 });
        };
        let other = thread::spawn({
            let shared = shared.clone();
            move || add(&shared)
        });
        add(&shared);
        other.join().unwrap();
    });
    assert_eq!(kind, "data-race");
}

#[test]
fn statics_are_before_everything_and_what_a_thread_makes_is_not() {
    use unthread::sync::atomic::AtomicPtr;
    static COUNT: AtomicUsize = AtomicUsize::const_new(3);
    static LOCK: Mutex<usize> = Mutex::const_new(1);
    is_right(|| {
        let other = thread::spawn(|| {
            *LOCK.lock().unwrap() += 1;
            COUNT.fetch_add(1, Relaxed)
        });
        *LOCK.lock().unwrap() += 1;
        assert!(COUNT.load(Relaxed) >= 3);
        other.join().unwrap();
        assert_eq!(*LOCK.lock().unwrap(), 3);
    });
    let publish = |order: Ordering| {
        let slot = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Mutex<usize>>()));
        let other = thread::spawn({
            let slot = slot.clone();
            move || slot.store(Box::into_raw(Box::new(Mutex::new(1))), order)
        });
        let pointer = slot.load(Acquire);
        if !pointer.is_null() {
            assert_eq!(*unsafe { &*pointer }.lock().unwrap(), 1);
        }
        other.join().unwrap();
        drop(unsafe { Box::from_raw(slot.load(Relaxed)) });
    };
    is_right(move || publish(Release));
    // What a constant expression makes counts as made before everything (a limit that the guide names).
    if !cfg!(feature = "const-new") {
        is_wrong(move || publish(Relaxed));
    }
}

/// An atomic that a thread had exclusive access to is there again when others come to use it.
#[test]
fn exclusive_access_to_an_atomic_is_a_write() {
    is_right(|| {
        let mut number = AtomicUsize::new(0);
        *number.get_mut() = 5;
        let number = Arc::new(number);
        let other = thread::spawn({
            let number = number.clone();
            move || number.load(Relaxed)
        });
        assert_eq!((number.load(Relaxed), other.join().unwrap()), (5, 5));
    });
}

#[test]
fn references_are_counted_in_the_order_of_the_standard_library() {
    use unthread::sync::Weak;
    // Who gives back the last one comes after all others.
    is_right(|| {
        let shared = Arc::new(Data(UnsafeCell::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.with(|data| unsafe { *data });
                    if let Some(data) = Arc::into_inner(shared) {
                        data.0.with_mut(|data| unsafe { *data = 1 });
                    }
                })
            })
            .collect();
        drop(shared);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // So does who finds out that nobody else has one.
    is_right(|| {
        let mut shared = Arc::new(Data(UnsafeCell::new(0)));
        let other = thread::spawn({
            let shared = shared.clone();
            move || shared.0.with(|data| unsafe { *data })
        });
        if let Some(data) = Arc::get_mut(&mut shared) {
            data.0.with_mut(|data| unsafe { *data = 1 });
        }
        other.join().unwrap();
    });
    // Who counts references comes after nobody.
    let kind = is_wrong(|| {
        let shared = Arc::new(Data(UnsafeCell::new(0)));
        let other = thread::spawn({
            let shared = shared.clone();
            move || shared.0.with(|data| unsafe { *data })
        });
        if Arc::strong_count(&shared) == 1 {
            shared.0.with_mut(|data| unsafe { *data = 1 });
        }
        other.join().unwrap();
    });
    assert_eq!(kind, "data-race");
    // A weak reference that becomes a strong one.
    let outcomes = outcomes(MemoryModel::Cpp20, || {
        let shared = Arc::new(AtomicUsize::new(1));
        let weak: Weak<AtomicUsize> = Arc::downgrade(&shared);
        let other = thread::spawn(move || weak.upgrade().map_or(0, |shared| shared.load(Relaxed)));
        let mut shared = shared;
        let alone = usize::from(Arc::get_mut(&mut shared).is_some());
        drop(shared);
        (alone, other.join().unwrap())
    });
    assert_eq!(outcomes, BTreeSet::from([(0, 0), (0, 1), (1, 1)]));
}

#[test]
fn whoever_drops_comes_after_whoever_uses() {
    let freed = |order: Ordering| {
        let flag: &'static AtomicUsize = {
            static FLAG: AtomicUsize = AtomicUsize::const_new(0);
            &FLAG
        };
        let data = Box::into_raw(Box::new(AtomicUsize::new(0)));
        let address = data as usize;
        let other = thread::spawn(move || {
            unsafe { &*(address as *const AtomicUsize) }.store(1, Relaxed);
            flag.store(1, order);
        });
        if flag.load(Acquire) == 1 {
            drop(unsafe { Box::from_raw(data) });
            other.join().unwrap();
        } else {
            other.join().unwrap();
            drop(unsafe { Box::from_raw(data) });
        }
    };
    is_right(move || freed(Release));
    is_wrong(move || freed(Relaxed));
}

#[test]
fn what_never_ends_is_found() {
    assert_eq!(is_wrong(|| thread::park()), "deadlock");
    let kind = is_wrong(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = thread::spawn({
            let flag = flag.clone();
            move || flag.store(1, Release)
        });
        while flag.load(Acquire) != 2 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert_eq!(kind, "livelock");
    let kind = is_wrong(|| {
        let shared = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                let _first = shared.0.lock().unwrap();
                let _second = shared.1.lock().unwrap();
            }
        });
        let _first = shared.1.lock().unwrap();
        drop(shared.0.lock());
        drop(_first);
        other.join().unwrap();
    });
    assert_eq!(kind, "deadlock");
}

/// A loop that takes a lock in each turn, and a thread that waits for the lock.
#[test]
fn a_turn_that_polls_does_not_wait_for_good() {
    is_right(|| {
        let shared = Arc::new((Mutex::new(0), AtomicUsize::new(0)));
        let other = thread::spawn({
            let shared = shared.clone();
            move || {
                while shared.1.load(Acquire) == 0 {
                    thread::yield_now();
                }
                *shared.0.lock().unwrap() = 1;
            }
        });
        shared.1.store(1, Release);
        while *shared.0.lock().unwrap() == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

/// Nothing of an execution outlives its check.
#[test]
fn a_closure_is_gone_after_its_check() {
    let kept = std::sync::Arc::new(());
    for memory in [MemoryModel::Cpp20, MemoryModel::Tso] {
        let inside = kept.clone();
        let report = checked(memory, move || {
            let _inside = inside.clone();
            let flag = Arc::new(AtomicUsize::new(0));
            let other = thread::spawn({
                let flag = flag.clone();
                move || flag.fetch_add(1, Relaxed)
            });
            flag.fetch_add(2, Relaxed);
            flag.load(Relaxed);
            other.join().unwrap();
        });
        assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
        assert_eq!(std::sync::Arc::strong_count(&kept), 1, "{memory}");
    }
}
