//! The shapes that tests for loom have.

use crate::{fails, holds};
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, Verdict};
use unthread::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, fence};
use unthread::sync::{Arc, Barrier, Condvar, Mutex, Notify, OnceLock, RwLock, mpsc};
use unthread::{alloc, future, hint, thread};

/// Shared on the test's own responsibility.
struct Shared<T> {
    inner: T,
}

unsafe impl<T> Sync for Shared<T> {}
unsafe impl<T> Send for Shared<T> {}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

#[test]
fn a_message_is_passed_through_a_flag() {
    let run = || {
        let shared = Arc::new(Shared { inner: (UnsafeCell::new(0), AtomicBool::new(false)) });
        let writer = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.with_mut(|data| unsafe { *data = 42 });
                shared.1.store(true, Release);
            })
        };
        if shared.1.load(Acquire) {
            assert_eq!(shared.0.with(|data| unsafe { *data }), 42);
        }
        writer.join().unwrap();
    };
    holds(run);
}

#[test]
fn unsynchronised_accesses_race() {
    let (kind, message) = fails(|| {
        let cell = Arc::new(Shared { inner: UnsafeCell::new(0) });
        let writer = {
            let cell = cell.clone();
            thread::spawn(move || cell.with_mut(|data| unsafe { *data = 1 }))
        };
        cell.with(|data| unsafe { *data });
        writer.join().unwrap();
    });
    assert_eq!(kind, "data-race", "{message}");
}

#[test]
fn an_access_that_lasts_races_with_what_happens_meanwhile() {
    let (kind, _) = fails(|| {
        let shared = Arc::new(Shared { inner: (UnsafeCell::new(0), AtomicUsize::new(0)) });
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                if shared.1.load(Acquire) == 1 {
                    shared.0.with_mut(|data| unsafe { *data = 1 });
                }
            })
        };
        let reading = shared.0.get();
        shared.1.store(1, Release);
        let _ = unsafe { *reading.deref() };
        other.join().unwrap();
    });
    assert_eq!(kind, "data-race");
}

#[test]
fn a_mutex_protects_its_data() {
    let executions = holds(|| {
        let counter = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        *counter.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*counter.lock().unwrap(), 6);
    });
    assert_eq!(executions, 90);
}

#[test]
fn locks_in_different_orders_deadlock() {
    let (kind, message) = fails(|| {
        let locks = Arc::new((Mutex::new(()), Mutex::new(())));
        let other = {
            let locks = locks.clone();
            thread::spawn(move || {
                let _second = locks.1.lock().unwrap();
                let _first = locks.0.lock().unwrap();
            })
        };
        {
            let _first = locks.0.lock().unwrap();
            let _second = locks.1.lock().unwrap();
        }
        other.join().unwrap();
    });
    assert_eq!(kind, "deadlock", "{message}");
}

#[test]
fn a_lock_taken_twice_is_a_deadlock() {
    let (kind, message) = fails(|| {
        let lock = Mutex::new(());
        let _once = lock.lock().unwrap();
        let _twice = lock.lock().unwrap();
    });
    assert_eq!(kind, "deadlock", "{message}");
}

#[test]
fn readers_share_and_writers_do_not() {
    holds(|| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let writer = {
            let lock = lock.clone();
            thread::spawn(move || {
                let mut data = lock.write().unwrap();
                data.0 += 1;
                data.1 += 1;
            })
        };
        let reader = {
            let lock = lock.clone();
            thread::spawn(move || {
                let data = lock.read().unwrap();
                assert_eq!(data.0, data.1);
            })
        };
        let data = lock.read().unwrap();
        assert_eq!(data.0, data.1);
        drop(data);
        writer.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn a_lost_notification_is_a_deadlock() {
    let (kind, _) = fails(|| {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        let other = {
            let pair = pair.clone();
            thread::spawn(move || pair.1.notify_one())
        };
        let guard = pair.0.lock().unwrap();
        drop(pair.1.wait(guard).unwrap());
        other.join().unwrap();
    });
    assert_eq!(kind, "deadlock");
}

#[test]
fn a_spin_lock_with_a_hint_ends() {
    holds(|| {
        let shared = Arc::new(Shared { inner: (AtomicBool::new(false), UnsafeCell::new(0)) });
        let work = |shared: &(AtomicBool, UnsafeCell<i32>)| {
            while shared.0.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                hint::spin_loop();
            }
            shared.1.with_mut(|data| unsafe { *data += 1 });
            shared.0.store(false, Release);
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || work(&shared))
        };
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.with(|data| unsafe { *data }), 2);
    });
}

#[test]
fn waiting_for_a_flag_with_a_hint_ends() {
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(true, Release))
        };
        while !flag.load(Acquire) {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

#[test]
fn a_flag_that_nobody_sets_is_a_livelock() {
    let (kind, message) = fails(|| {
        let flag = AtomicBool::new(false);
        while !flag.load(Acquire) {
            thread::yield_now();
        }
    });
    assert_eq!(kind, "livelock", "{message}");
}

#[test]
fn a_bounded_spin_goes_on_when_nobody_else_can() {
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let parked = {
            let flag = flag.clone();
            thread::spawn(move || {
                thread::park();
                flag.store(true, Release);
            })
        };
        for _ in 0..5 {
            if flag.load(Acquire) {
                break;
            }
            hint::spin_loop();
        }
        parked.thread().unpark();
        parked.join().unwrap();
    });
}

#[test]
fn park_waits_for_unpark() {
    holds(|| {
        let data = Arc::new(AtomicUsize::new(0));
        let other = {
            let data = data.clone();
            thread::spawn(move || {
                thread::park();
                assert_eq!(data.load(Acquire), 1);
            })
        };
        data.store(1, Release);
        other.thread().unpark();
        other.join().unwrap();
    });
    assert_eq!(fails(thread::park).0, "deadlock");
}

#[test]
fn fences_order_stores_and_loads() {
    holds(|| {
        let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let enter = |flags: &[AtomicBool; 2], me: usize| {
            flags[me].store(true, Relaxed);
            fence(SeqCst);
            !flags[1 - me].load(Relaxed)
        };
        let other = {
            let flags = flags.clone();
            thread::spawn(move || enter(&flags, 1))
        };
        let here = enter(&flags, 0);
        assert!(!(here && other.join().unwrap()));
    });
}

#[test]
fn an_arc_that_is_kept_is_leaked() {
    let (kind, message) = fails(|| std::mem::forget(Arc::new(1)));
    assert_eq!(kind, "leak", "{message}");
    assert!(message.contains("shapes.rs"), "{message}");
    assert_eq!(fails(|| std::mem::forget(alloc::Track::new(1))).0, "leak");
}

#[test]
fn references_are_counted() {
    holds(|| {
        let shared = Arc::new(AtomicUsize::new(1));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.load(Relaxed))
        };
        other.join().unwrap();
        assert_eq!(Arc::strong_count(&shared), 1);
        let raw = Arc::into_raw(shared);
        let shared = unsafe { Arc::from_raw(raw) };
        let weak = Arc::downgrade(&shared);
        assert!(weak.upgrade().is_some());
        assert_eq!(Arc::try_unwrap(shared).unwrap().into_inner(), 1);
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn who_drops_last_can_be_anyone() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    struct Last(std::sync::Arc<std::sync::Mutex<std::collections::BTreeSet<Option<String>>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.lock().unwrap().insert(thread::current().name().map(str::to_string));
        }
    }
    let notes = seen.clone();
    holds(move || {
        let shared = Arc::new(Last(notes.clone()));
        for name in ["a", "b", "c"] {
            let shared = shared.clone();
            thread::Builder::new().name(name.to_string()).spawn(move || drop(shared)).unwrap();
        }
    });
    assert_eq!(seen.lock().unwrap().len(), 4, "{seen:?}");
}

#[test]
fn messages_arrive_in_order_whoever_sends_them() {
    holds(|| {
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let sender = sender.clone();
                thread::spawn(move || (0..2).for_each(|number| sender.send((thread, number)).unwrap()))
            })
            .collect();
        drop(sender);
        let all: Vec<_> = receiver.into_iter().collect();
        for thread in 0..2 {
            let own: Vec<_> = all.iter().filter(|message| message.0 == thread).map(|message| message.1).collect();
            assert_eq!(own, [0, 1]);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_future_is_woken() {
    holds(|| {
        let shared = Arc::new((future::AtomicWaker::new(), AtomicBool::new(false)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.store(true, Release);
                shared.0.wake();
            })
        };
        future::block_on(std::future::poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            if shared.1.load(Acquire) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        }));
        other.join().unwrap();
    });
}

#[test]
fn a_stack_keeps_its_elements() {
    struct Node {
        value: usize,
        next: *mut Node,
    }
    fn push(head: &AtomicPtr<Node>, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        let mut old = head.load(Relaxed);
        loop {
            unsafe { (*node).next = old };
            match head.compare_exchange(old, node, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => old = now,
            }
        }
    }
    holds(|| {
        let head = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let other = {
            let head = head.clone();
            thread::spawn(move || push(&head, 1))
        };
        push(&head, 2);
        other.join().unwrap();
        let (mut at, mut sum) = (head.load(Acquire), 0);
        while !at.is_null() {
            let node = unsafe { Box::from_raw(at) };
            (sum, at) = (sum + node.value, node.next);
        }
        assert_eq!(sum, 3);
    });
}

#[test]
fn waiting_for_a_pointer_and_for_what_it_points_to_ends() {
    struct Entry {
        active: AtomicBool,
    }
    let executions = holds(|| {
        let entry = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Entry>()));
        let maker = {
            let entry = entry.clone();
            thread::spawn(move || {
                let made = Box::into_raw(Box::new(Entry { active: AtomicBool::new(false) }));
                entry.store(made, Release);
                // SAFETY: the entry is freed after this thread has ended.
                unsafe { &*made }.active.store(true, Release);
            })
        };
        let user = {
            let entry = entry.clone();
            thread::spawn(move || {
                loop {
                    // SAFETY: as above.
                    if unsafe { entry.load(Acquire).as_ref() }.is_some_and(|entry| entry.active.load(Acquire)) {
                        return;
                    }
                    thread::yield_now();
                }
            })
        };
        maker.join().unwrap();
        user.join().unwrap();
        // SAFETY: the threads have ended.
        drop(unsafe { Box::from_raw(entry.load(Acquire)) });
    });
    assert!(executions > 2);
}

unthread::thread_local! {
    static LOCAL: std::cell::Cell<usize> = std::cell::Cell::new(1);
}

unthread::lazy_static! {
    static ref LAZY: AtomicUsize = AtomicUsize::new(0);
}

#[test]
fn thread_locals_are_local_and_statics_are_not() {
    holds(|| {
        LOCAL.set(2);
        let other = thread::spawn(|| {
            LAZY.fetch_add(1, AcqRel);
            LOCAL.get()
        });
        LAZY.fetch_add(1, AcqRel);
        assert_eq!(other.join().unwrap(), 1);
        assert_eq!((LOCAL.get(), LAZY.load(Acquire)), (2, 2));
    });
}

#[test]
fn notify_barrier_once_and_scope_work_as_they_should() {
    holds(|| {
        let notify = Arc::new(Notify::new());
        let other = {
            let notify = notify.clone();
            thread::spawn(move || notify.notify())
        };
        notify.wait();
        other.join().unwrap();
    });
    holds(|| {
        let (barrier, once, counter) = (Barrier::new(2), OnceLock::new(), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    counter.fetch_add(1, Relaxed);
                    barrier.wait();
                    assert_eq!(counter.load(Relaxed), 2);
                    assert_eq!(*once.get_or_init(|| 7), 7);
                });
            }
        });
    });
}

#[test]
fn an_update_that_changes_nothing_is_a_read() {
    let executions = holds(|| {
        let shared = Arc::new((AtomicBool::new(true), AtomicUsize::new(6), AtomicPtr::new(std::ptr::null_mut::<u8>())));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    assert!(shared.0.swap(true, AcqRel) && shared.0.load(Relaxed));
                    assert_eq!((shared.1.fetch_or(2, AcqRel), shared.1.fetch_max(3, Relaxed)), (6, 6));
                    assert!(shared.2.swap(std::ptr::null_mut(), Relaxed).is_null());
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(executions, 1);
}

#[test]
fn an_update_that_would_change_something_earlier_is_tried_there() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let all = seen.clone();
    let executions = holds(move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || (flag.swap(1, AcqRel), flag.swap(1, AcqRel)))
        };
        let here = (flag.swap(1, AcqRel), flag.load(Relaxed), flag.swap(0, AcqRel));
        all.lock().unwrap().insert((here, other.join().unwrap(), flag.load(Relaxed)));
    });
    let seen = seen.lock().unwrap();
    let first = [
        ((0, 1, 1), (0, 1), 1),
        ((0, 1, 1), (1, 0), 1),
        ((0, 1, 1), (1, 1), 0),
        ((1, 1, 1), (0, 0), 1),
        ((1, 1, 1), (0, 1), 0),
    ];
    assert_eq!(seen.iter().copied().collect::<Vec<_>>(), first);
    assert_eq!(executions, 5);
}

/// A lock whose guard has the pointer to its data, as guards in real crates do: it is still there when the lock has been given back.
struct SpinLock {
    taken: AtomicBool,
    data: UnsafeCell<usize>,
}

struct SpinGuard<'l> {
    data: unthread::cell::MutPtr<usize>,
    lock: &'l SpinLock,
}

impl SpinLock {
    fn lock(&self) -> SpinGuard<'_> {
        while self.taken.swap(true, Acquire) {
            thread::yield_now();
        }
        SpinGuard { data: self.data.get_mut(), lock: self }
    }
}

impl Drop for SpinGuard<'_> {
    fn drop(&mut self) {
        self.lock.taken.store(false, Release);
    }
}

#[test]
fn a_pointer_in_a_guard_that_gives_its_lock_back_is_no_race() {
    for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
        let report = Builder::new().engine(engine).report(|| {
            let lock = Arc::new(SpinLock { taken: AtomicBool::new(false), data: UnsafeCell::new(0) });
            let other = {
                let lock = lock.clone();
                thread::spawn(move || unsafe { *lock.lock().data.deref() += 1 })
            };
            unsafe { *lock.lock().data.deref() += 1 };
            other.join().unwrap();
            assert_eq!(unsafe { *lock.lock().data.deref() }, 2);
        });
        assert_eq!(report.verdict(), Verdict::Verified, "{engine:?}: {report:?}");
    }
}

#[test]
fn a_pointer_that_is_kept_when_its_lock_has_been_given_back_is_a_race() {
    let (kind, message) = fails(|| {
        let lock = Arc::new(SpinLock { taken: AtomicBool::new(false), data: UnsafeCell::new(0) });
        let other = {
            let lock = lock.clone();
            thread::spawn(move || unsafe { *lock.lock().data.deref() += 1 })
        };
        while lock.taken.swap(true, Acquire) {
            thread::yield_now();
        }
        let data = lock.data.get_mut();
        lock.taken.store(false, Release);
        lock.taken.load(Relaxed);
        drop(data);
        other.join().unwrap();
    });
    assert_eq!(kind, "data-race", "{message}");
}
