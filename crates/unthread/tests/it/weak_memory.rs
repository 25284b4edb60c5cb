//! Bugs that only a compiler or a machine weaker than PSO punishes, each with its correct twin: found, and verified.

use crate::under;
use unthread::cell::UnsafeCell;
use unthread::model::{MemoryModel, Verdict};
use unthread::sync::Arc;
use unthread::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicUsize, fence};
use unthread::thread::{self, JoinHandle};

/// Data that is right to be shared only if something orders its uses.
struct Data(UnsafeCell<usize>);

unsafe impl Sync for Data {}

impl Data {
    fn new() -> Data {
        Data(UnsafeCell::new(0))
    }

    fn set(&self, value: usize) {
        self.0.with_mut(|data| unsafe { *data = value });
    }

    fn get(&self) -> usize {
        self.0.with(|data| unsafe { *data })
    }
}

fn number() -> AtomicUsize {
    AtomicUsize::new(0)
}

/// Starts a thread that shares something.
fn with<S: 'static, R: 'static>(shared: &Arc<S>, f: impl FnOnce(&S) -> R + 'static) -> JoinHandle<R> {
    let shared = shared.clone();
    thread::spawn(move || f(&shared))
}

/// The ordering, or the one that is too weak.
fn or(right: Ordering, wrong: Ordering, is_wrong: bool) -> Ordering {
    if is_wrong { wrong } else { right }
}

#[track_caller]
fn is_found(f: fn(bool)) {
    for memory in [MemoryModel::Cpp20, MemoryModel::Rc11] {
        let report = under(memory, move || f(true));
        assert_eq!(report.verdict(), Verdict::Violation, "{memory}: the bug is missed: {report:?}");
        let report = under(memory, move || f(false));
        assert_eq!(report.verdict(), Verdict::Verified, "{memory}: the correct twin: {report:?}");
    }
}

/// A queue of one place for one producer and one consumer.
#[test]
fn spsc_relaxed_load() {
    is_found(|bug| {
        let shared = Arc::new((Data::new(), number()));
        let producer = with(&shared, |(data, tail)| {
            data.set(7);
            tail.store(1, Release);
        });
        if shared.1.load(or(Acquire, Relaxed, bug)) == 1 {
            assert_eq!(shared.0.get(), 7);
        }
        producer.join().unwrap();
    });
}

#[test]
fn once_relaxed_get() {
    is_found(|bug| {
        const RUNNING: usize = 1;
        const DONE: usize = 2;
        let shared = Arc::new((number(), Data::new()));
        let get_or_init = move |(state, value): &(AtomicUsize, Data)| {
            if state.load(or(Acquire, Relaxed, bug)) == DONE {
                return value.get();
            }
            match state.compare_exchange(0, RUNNING, Acquire, Acquire) {
                Ok(_) => {
                    value.set(5);
                    state.store(DONE, Release);
                    5
                }
                Err(DONE) => value.get(),
                Err(_) => 5,
            }
        };
        let other = with(&shared, get_or_init);
        assert_eq!(get_or_init(&shared), 5);
        assert_eq!(other.join().unwrap(), 5);
    });
}

#[test]
fn mp_relaxed_load() {
    is_found(|bug| {
        let shared = Arc::new((number(), number()));
        let writer = with(&shared, |(data, ready)| {
            data.store(1, Relaxed);
            ready.store(1, Release);
        });
        if shared.1.load(or(Acquire, Relaxed, bug)) == 1 {
            assert_eq!(shared.0.load(Relaxed), 1);
        }
        writer.join().unwrap();
    });
}

/// What a thread makes is written by it: a thread that gets it without an acquire need not see its contents. What a constant expression makes
/// counts as made before everything (a limit that the guide names).
#[cfg(not(feature = "const-new"))]
#[test]
fn publish_relaxed_load() {
    use unthread::sync::atomic::AtomicPtr;
    is_found(|bug| {
        let shared = Arc::new(AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>()));
        let writer = with(&shared, |slot| slot.store(Box::into_raw(Box::new(AtomicUsize::new(3))), Release));
        let pointer = shared.load(or(Acquire, Relaxed, bug));
        if !pointer.is_null() {
            assert_eq!(unsafe { &*pointer }.load(Relaxed), 3);
        }
        writer.join().unwrap();
        drop(unsafe { Box::from_raw(shared.load(Relaxed)) });
    });
}

#[test]
fn spinlock_relaxed_lock() {
    is_found(|bug| {
        let shared = Arc::new((AtomicBool::new(false), Data::new()));
        let add = move |(locked, data): &(AtomicBool, Data)| {
            while locked.compare_exchange(false, true, or(Acquire, Relaxed, bug), Relaxed).is_err() {
                thread::yield_now();
            }
            data.set(data.get() + 1);
            locked.store(false, Release);
        };
        let other = with(&shared, add);
        add(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.get(), 2);
    });
}

#[test]
fn wrc_relaxed() {
    is_found(|bug| {
        let shared = Arc::new((number(), number()));
        let first = with(&shared, |(x, _)| x.store(1, Relaxed));
        let second = with(&shared, move |(x, y)| {
            if x.load(Relaxed) == 1 {
                y.store(1, or(Release, Relaxed, bug));
            }
        });
        if shared.1.load(Acquire) == 1 {
            assert_eq!(shared.0.load(Relaxed), 1);
        }
        first.join().unwrap();
        second.join().unwrap();
    });
}

/// An `Arc` by hand: the value is destroyed by who gives back the last reference.
fn counted(give_back: Ordering, fenced: bool) {
    let shared = Arc::new((AtomicUsize::new(2), Data::new()));
    let drop_one = move |(count, data): &(AtomicUsize, Data)| {
        data.get();
        if count.fetch_sub(1, give_back) == 1 {
            if fenced {
                fence(Acquire);
            }
            data.set(0);
        }
    };
    let other = with(&shared, drop_one);
    drop_one(&shared);
    other.join().unwrap();
}

#[test]
fn arc_missing_acquire() {
    is_found(|bug| counted(Release, !bug));
}

#[test]
fn arc_relaxed_dec() {
    is_found(|bug| counted(or(Release, Relaxed, bug), true));
}

#[test]
fn seqlock_no_rfence() {
    is_found(|bug| {
        let shared = Arc::new((number(), number(), number()));
        let writer = with(&shared, |(sequence, a, b)| {
            sequence.store(1, Relaxed);
            fence(Release);
            a.store(1, Relaxed);
            b.store(1, Relaxed);
            sequence.store(2, Release);
        });
        let (sequence, a, b) = &*shared;
        let before = sequence.load(Acquire);
        let seen = (a.load(Relaxed), b.load(Relaxed));
        if !bug {
            fence(Acquire);
        }
        if before % 2 == 0 && sequence.load(Relaxed) == before {
            assert_eq!(seen.0, seen.1);
        }
        writer.join().unwrap();
    });
}

/// The end of a Chase–Lev deque with one element: its owner and a thief must not both get it.
#[test]
fn cl_no_stealfence() {
    is_found(|bug| {
        let shared = Arc::new((number(), AtomicUsize::new(2)));
        let thief = with(&shared, move |(top, bottom)| {
            let t = top.load(Acquire);
            if !bug {
                fence(SeqCst);
            }
            let b = bottom.load(Acquire);
            t < b && top.compare_exchange(t, t + 1, SeqCst, Relaxed).is_ok()
        });
        let second = with(&shared, move |(top, bottom)| {
            let t = top.load(Acquire);
            if !bug {
                fence(SeqCst);
            }
            let b = bottom.load(Acquire);
            t < b && top.compare_exchange(t, t + 1, SeqCst, Relaxed).is_ok()
        });
        let (top, bottom) = &*shared;
        let b = bottom.load(Relaxed) - 1;
        bottom.store(b, Relaxed);
        fence(SeqCst);
        let t = top.load(Relaxed);
        let mut taken = 0;
        if t < b {
            taken = 1;
        } else if t == b {
            taken = usize::from(top.compare_exchange(t, t + 1, SeqCst, Relaxed).is_ok());
            bottom.store(b + 1, Relaxed);
        } else {
            bottom.store(b + 1, Relaxed);
        }
        let stolen = [thief, second].map(|thread| usize::from(thread.join().unwrap()));
        assert!(taken + stolen[0] + stolen[1] <= 2, "an element was taken twice");
    });
}

/// A plain store breaks a release sequence, since C++20 also one of the thread that began it.
#[test]
fn relseq_broken() {
    is_found(|bug| {
        let shared = Arc::new((Data::new(), number()));
        let writer = with(&shared, move |(data, flag)| {
            data.set(1);
            flag.store(1, Release);
            if bug {
                flag.store(2, Relaxed);
            } else {
                flag.fetch_add(1, Relaxed);
            }
        });
        if shared.1.load(Acquire) == 2 {
            assert_eq!(shared.0.get(), 1);
        }
        writer.join().unwrap();
    });
}

/// A swap is no fence.
#[test]
fn sb_swap_relaxed() {
    is_found(|bug| {
        let order = or(SeqCst, Relaxed, bug);
        let shared = Arc::new((number(), number()));
        let other = with(&shared, move |(x, y)| {
            x.swap(1, order);
            y.load(order)
        });
        shared.1.swap(1, order);
        let here = shared.0.load(order);
        assert!(here + other.join().unwrap() > 0);
    });
}

/// A compare-exchange that fails is a load with its failure ordering.
#[test]
fn sb_failed_cas() {
    is_found(|bug| {
        let shared = Arc::new((number(), number()));
        let read = move |cell: &AtomicUsize| {
            cell.compare_exchange(7, 8, SeqCst, or(SeqCst, Relaxed, bug)).unwrap_or_else(|found| found)
        };
        let other = with(&shared, move |(x, y)| {
            x.store(1, SeqCst);
            read(y)
        });
        shared.1.store(1, SeqCst);
        let here = read(&shared.0);
        assert!(here + other.join().unwrap() > 0);
    });
}

/// Taking and giving back a lock of one's own is no fence.
#[test]
fn sb_lock_between() {
    use unthread::sync::Mutex;
    is_found(|bug| {
        let shared = Arc::new((number(), number()));
        let between = move || match bug {
            true => *Mutex::new(()).lock().unwrap(),
            false => fence(SeqCst),
        };
        let other = with(&shared, move |(x, y)| {
            x.store(1, Relaxed);
            between();
            y.load(Relaxed)
        });
        shared.1.store(1, Relaxed);
        between();
        let here = shared.0.load(Relaxed);
        assert!(here + other.join().unwrap() > 0);
    });
}

#[test]
fn sb_sc_store_acq_load() {
    is_found(|bug| {
        let order = or(SeqCst, Acquire, bug);
        let shared = Arc::new((number(), number()));
        let other = with(&shared, move |(x, y)| {
            x.store(1, SeqCst);
            y.load(order)
        });
        shared.1.store(1, SeqCst);
        let here = shared.0.load(order);
        assert!(here + other.join().unwrap() > 0);
    });
}

#[test]
fn iriw_acq() {
    is_found(|bug| {
        let (store, load) = (or(SeqCst, Release, bug), or(SeqCst, Acquire, bug));
        let shared = Arc::new((number(), number()));
        let writers = [with(&shared, move |(x, _)| x.store(1, store)), with(&shared, move |(_, y)| y.store(1, store))];
        let reader = with(&shared, move |(x, y)| (x.load(load), y.load(load)));
        let (y, x) = (shared.1.load(load), shared.0.load(load));
        let there = reader.join().unwrap();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(!(there == (1, 0) && (y, x) == (1, 0)), "the readers disagree");
    });
}
