//! What single types do, what is left behind, and what is not deterministic.

use crate::{fails, holds, under};
use std::sync::atomic::{AtomicIsize as StdAtomicIsize, AtomicUsize as StdAtomicUsize};
use unthread::model::{Builder, Engine, MemoryModel, StopReason, Verdict};
use unthread::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicI8, AtomicU8, AtomicU64, AtomicUsize};
use unthread::sync::{Arc, Mutex};
use unthread::{any, choose, thread};

#[test]
fn integers_wrap_at_their_width_and_compare_by_their_sign() {
    holds(|| {
        let byte = AtomicU8::new(255);
        assert_eq!((byte.fetch_add(2, Relaxed), byte.load(Relaxed)), (255, 1));
        assert_eq!((byte.fetch_nand(3, Relaxed), byte.load(Relaxed)), (1, 254));
        let signed = AtomicI8::new(-128);
        assert_eq!((signed.fetch_sub(1, Relaxed), signed.load(Relaxed)), (-128, 127));
        assert_eq!((signed.fetch_min(-5, Relaxed), signed.load(Relaxed)), (127, -5));
        let large = AtomicU64::new(u64::MAX);
        assert_eq!((large.fetch_max(1, Relaxed), large.load(Relaxed)), (u64::MAX, u64::MAX));
        assert_eq!(large.fetch_update(Relaxed, Relaxed, |value| Some(value / 2)), Ok(u64::MAX));
    });
}

#[test]
fn exclusive_access_changes_an_atomic() {
    holds(|| {
        let mut number = AtomicUsize::new(1);
        *number.get_mut() += 1;
        number.with_mut(|value| *value *= 5);
        assert_eq!((number.fetch_add(1, Relaxed), number.into_inner()), (10, 11));
    });
}

#[test]
fn every_choice_is_tried() {
    let either = || {
        let (number, _) = (choose(0..3), any());
        assert!(number < 3);
    };
    assert_eq!(holds(either), 6);
    assert_eq!(fails(|| assert_ne!(choose(0..3), 2)).0, "panic");
}

#[test]
fn shared_pointers_become_unsized_ones() {
    use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    trait Shape: Send + Sync {
        fn corners(&self) -> usize;
    }
    struct Square(AtomicUsize);
    impl Shape for Square {
        fn corners(&self) -> usize {
            self.0.fetch_add(1, Relaxed)
        }
    }
    let executions = holds(|| {
        let square = Arc::new(Square(AtomicUsize::new(4)));
        let kept = square.clone();
        let shape: Arc<dyn Shape> = Arc::coerce(square, |shape| shape);
        let shapes: Arc<[Arc<dyn Shape>]> = Arc::new([shape.clone(), shape]).into();
        let other = shapes.clone();
        let thread = thread::spawn(move || other[0].corners());
        let corners = shapes[1].corners();
        assert_eq!(corners + thread.join().unwrap(), 9);
        assert_eq!(Arc::strong_count(&kept), 3);
        let any: Arc<dyn std::any::Any + Send + Sync> = kept.into();
        assert!(any.downcast::<Square>().is_ok());
        let error: Arc<dyn std::error::Error + Send + Sync> = Arc::new(std::fmt::Error).into();
        assert!(error.is::<std::fmt::Error>());
    });
    assert_eq!(executions, 2);
    let (kind, message) = super::fails(|| {
        let other: Arc<dyn Send> = Arc::coerce(Arc::new(1), |_| std::sync::Arc::new(2));
        drop(other);
    });
    assert_eq!((kind, message.as_str()), ("panic", "the pointer must stay the same"));
}

#[test]
fn a_panic_of_any_thread_is_a_violation() {
    let (kind, message) = fails(|| drop(thread::spawn(|| panic!("in a thread"))));
    assert_eq!((kind, message.lines().next()), ("panic", Some("in a thread")));
}

#[test]
fn what_is_not_deterministic_is_named() {
    static RUNS: StdAtomicUsize = StdAtomicUsize::new(0);
    let report = under(MemoryModel::Tso, || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(())));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.0.store(1, Release))
        };
        if RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2 == 1 {
            drop(shared.1.lock());
        }
        shared.0.load(Acquire);
        other.join().unwrap();
    });
    assert!(matches!(report.stop, StopReason::Nondeterminism(_)), "{report:?}");
}

/// Values that are there.
static ALIVE: StdAtomicIsize = StdAtomicIsize::new(0);

struct Counted;

impl Counted {
    fn new() -> Counted {
        ALIVE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn a_thousand_abandoned_executions_leave_nothing() {
    let mut builder = Builder::new();
    builder.engine = Engine::Random { seed: 1 };
    builder.max_permutations = Some(1000);
    let report = builder.report(|| {
        let shared = Arc::new((Mutex::new(Counted::new()), Mutex::new(vec![Counted::new()])));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let _local = Box::new(Counted::new());
                let _first = shared.0.lock().unwrap();
                let _second = shared.1.lock().unwrap();
                unthread::assume(false);
            })
        };
        let _local = Counted::new();
        let _first = shared.0.lock().unwrap();
        drop(shared.1.lock().unwrap());
        unthread::assume(false);
        other.join().unwrap();
    });
    assert_eq!(report.violations.len(), 0, "{report:?}");
    assert_eq!(ALIVE.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[test]
fn engines_agree() {
    let run = |engine| {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
        let notes = seen.clone();
        let mut builder = Builder::new();
        builder.engine = engine;
        builder.max_permutations = matches!(engine, Engine::Random { .. } | Engine::Pct { .. }).then_some(2000);
        builder.report(move || {
            let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let other = {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.0.store(1, Relaxed);
                    shared.1.load(Relaxed)
                })
            };
            shared.1.store(1, Relaxed);
            let here = shared.0.load(Relaxed);
            notes.lock().unwrap().insert((here, other.join().unwrap()));
        });
        std::mem::take(&mut *seen.lock().unwrap())
    };
    let all = run(Engine::Exhaustive);
    assert_eq!(all.len(), 4);
    for engine in [Engine::Dpor, Engine::Random { seed: 3 }, Engine::Pct { seed: 3, depth: 3 }] {
        assert_eq!(run(engine), all, "{engine}");
    }
}

#[test]
fn a_bound_on_preemptions_verifies_nothing_but_finds_what_it_covers() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(1);
    let lost_update = || {
        let number = Arc::new(AtomicUsize::new(0));
        let add = |number: &AtomicUsize| number.store(number.load(Relaxed) + 1, Relaxed);
        let other = {
            let number = number.clone();
            thread::spawn(move || add(&number))
        };
        add(&number);
        other.join().unwrap();
        assert_eq!(number.load(Relaxed), 2);
    };
    assert_eq!(builder.report(lost_update).verdict(), Verdict::Violation);
}

#[test]
fn a_bound_on_preemptions_says_what_it_covers() {
    let increments = |threads: usize| {
        move || {
            let number = std::sync::Arc::new(AtomicUsize::new(0));
            let spawn = |_| {
                let number = number.clone();
                thread::spawn(move || (0..2).map(|_| number.fetch_add(1, Relaxed)).sum::<usize>())
            };
            let threads: Vec<_> = (0..threads).map(spawn).collect();
            threads.into_iter().for_each(|thread| assert!(thread.join().unwrap() < 100));
        }
    };
    for memory in MemoryModel::MACHINES {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(1);
        let report = builder.memory(memory).report(increments(3));
        assert_eq!(report.stop, StopReason::PreemptionLimit, "{memory}");
        assert_eq!(report.coverage.as_deref(), Some("all executions with at most 1 preemptions"), "{memory}");
        builder.preemption_bound = Some(9);
        let report = builder.report(increments(2));
        assert_eq!((report.verdict(), report.statistics.executions), (Verdict::Verified, 6), "{memory}");
    }
}

#[test]
fn a_larger_bound_on_preemptions_covers_more() {
    let outcomes = |memory: MemoryModel, bound: usize| {
        let seen: std::sync::Arc<std::sync::Mutex<std::collections::BTreeSet<[usize; 3]>>> = Default::default();
        let notes = seen.clone();
        let mut builder = Builder::new();
        builder.preemption_bound = Some(bound);
        builder.memory(memory).report(move || {
            let cells = std::sync::Arc::new([const { 0 }; 2].map(AtomicUsize::new));
            let spawn = |own: usize, add: usize| {
                let cells = cells.clone();
                thread::spawn(move || {
                    cells[own].store(add, Relaxed);
                    cells[1 - own].load(Relaxed)
                })
            };
            let threads = [spawn(0, 1), spawn(1, 10), spawn(0, 100)];
            let outcome = threads.map(|thread| thread.join().unwrap());
            notes.lock().unwrap().insert(outcome);
        });
        let seen = seen.lock().unwrap();
        seen.clone()
    };
    for memory in MemoryModel::MACHINES {
        let [none, one, two] = [0, 1, 2].map(|bound| outcomes(memory, bound));
        assert!(none.is_subset(&one) && one.is_subset(&two), "{memory}");
        assert!(none.len() < one.len(), "{memory}: {none:?} {one:?}");
    }
}

#[test]
fn a_failure_is_replayed_from_its_schedule() {
    let lost_update = || {
        let number = Arc::new(AtomicUsize::new(0));
        let add = |number: &AtomicUsize| number.store(number.load(Relaxed) + 1, Relaxed);
        let other = {
            let number = number.clone();
            thread::spawn(move || add(&number))
        };
        add(&number);
        other.join().unwrap();
        assert_eq!(number.load(Relaxed), 2);
    };
    let report = Builder::new().report(lost_update);
    let schedule = report.violations[0].schedule.to_string();
    let replayed = std::panic::catch_unwind(move || unthread::replay(lost_update, &schedule)).unwrap_err();
    assert!(replayed.downcast_ref::<String>().unwrap().contains("left: 1"));
}

#[test]
fn types_are_for_checks_only() {
    let outside = std::panic::catch_unwind(|| AtomicUsize::new(0).load(Relaxed));
    assert!(outside.is_err());
}

#[test]
fn a_choice_has_at_most_65536_values() {
    let (kind, message) = fails(|| {
        choose(0..65_537);
    });
    assert_eq!(kind, "panic");
    assert!(message.contains("at most 65536 values, not 65537"), "{message}");
}

#[test]
fn destructors_that_panic_when_an_execution_is_given_up_do_no_harm() {
    static HALF_WAY: StdAtomicUsize = StdAtomicUsize::new(0);
    /// Insists on an even number, which others make odd for a moment.
    struct Even(Arc<Mutex<u32>>);
    impl Drop for Even {
        fn drop(&mut self) {
            let is_even = self.0.lock().unwrap().is_multiple_of(2);
            HALF_WAY.fetch_add(usize::from(!is_even), SeqCst);
            assert!(is_even, "half-way");
        }
    }
    let executions = holds(|| {
        let number = Arc::new(Mutex::new(0));
        let threads = [(); 2].map(|()| {
            let even = Even(number.clone());
            thread::spawn(move || {
                let mut number = even.0.lock().unwrap();
                *number += 1;
                unthread::assume(choose(0..2) == 0);
                *number += 1;
                drop(number);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!((executions > 0, HALF_WAY.load(SeqCst)), (true, 0));
}

/// Its destructor insists on something.
struct Insists(Arc<AtomicUsize>);

impl Drop for Insists {
    fn drop(&mut self) {
        assert_eq!(self.0.load(Relaxed), 2, "not done");
    }
}

#[test]
fn a_destructor_that_panics_while_its_thread_unwinds_is_a_violation() {
    let report = Builder::new().report(|| {
        let done = Arc::new(AtomicUsize::new(0));
        let other = {
            let done = done.clone();
            thread::spawn(move || done.fetch_add(1, Relaxed))
        };
        let _insists = Insists(done.clone());
        assert_eq!(done.load(Relaxed), 1, "too early");
        done.fetch_add(1, Relaxed);
        other.join().unwrap();
    });
    let [violation] = &report.violations[..] else { panic!("{report:?}") };
    assert_eq!(violation.kind.name(), "panic");
    assert!(violation.message.contains("too early") && violation.message.contains("not done"), "{}", violation.message);
    // What is done for that leaves no trace: panics are caught as always, and nobody takes this thread to unwind.
    assert!(!std::thread::panicking());
    assert!(std::panic::catch_unwind(|| panic!("as always")).is_err());
    assert!(!std::thread::panicking());
}

#[test]
fn a_panic_in_a_function_that_cannot_unwind_is_a_violation() {
    extern "C" fn cannot_unwind(value: usize) {
        assert_eq!(value, 1, "too early");
    }
    let (kind, message) = fails(|| {
        let done = Arc::new(AtomicUsize::new(0));
        let other = {
            let done = done.clone();
            thread::spawn(move || done.fetch_add(1, Relaxed))
        };
        cannot_unwind(done.load(Relaxed));
        other.join().unwrap();
    });
    assert_eq!(kind, "panic");
    assert!(message.contains("too early") && message.contains("cannot unwind"), "{message}");
}

#[test]
fn destructors_may_panic_when_an_execution_is_given_up() {
    /// Its destructor must not be run before it is allowed.
    struct Patient(Arc<AtomicUsize>);

    impl Drop for Patient {
        fn drop(&mut self) {
            assert_eq!(self.0.load(Relaxed), 1, "too early");
        }
    }

    let mut builder = Builder::new();
    builder.engine = Engine::Random { seed: 1 };
    builder.max_permutations = Some(100);
    let report = builder.report(|| {
        let (lock, allowed) = (Arc::new(Mutex::new(())), Arc::new(AtomicUsize::new(0)));
        let other = {
            let (lock, allowed) = (lock.clone(), allowed.clone());
            thread::spawn(move || {
                let _patient = Patient(allowed.clone());
                let _held = lock.lock().unwrap();
                unthread::assume(false);
                allowed.store(1, Relaxed);
            })
        };
        let _patient = Patient(allowed);
        drop(lock.lock().unwrap());
        other.join().unwrap();
    });
    assert_eq!(report.violations.len(), 0, "{report:?}");
    assert!(!std::thread::panicking());
}

#[test]
fn a_thread_has_the_name_and_the_stack_that_it_was_given() {
    holds(|| {
        assert_eq!(thread::current().name(), None, "the main thread was not given any");
        let builder = || thread::Builder::new().stack_size(1 << 20).name("large".to_string());
        let large = builder().spawn(|| {
            std::hint::black_box(&mut [0usize; 1 << 19]);
            thread::current().name().map(ToString::to_string)
        });
        assert_eq!(large.unwrap().join().unwrap().as_deref(), Some("large"));
        thread::scope(|scope| {
            let scoped = builder().spawn_scoped(scope, || thread::current().name().map(ToString::to_string));
            assert_eq!(scoped.unwrap().join().unwrap().as_deref(), Some("large"));
        });
    });
}

#[test]
fn a_future_may_be_polled_though_nobody_woke_it() {
    let most = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = most.clone();
    holds(move || {
        let mut polls = 0;
        let done = Arc::new(AtomicBool::new(false));
        let polls = unthread::future::block_on(std::future::poll_fn(|context| {
            if polls == 0 {
                let (done, waker) = (done.clone(), context.waker().clone());
                thread::spawn(move || {
                    done.store(true, Release);
                    waker.wake();
                });
            }
            polls += 1;
            if done.load(Acquire) { std::task::Poll::Ready(polls) } else { std::task::Poll::Pending }
        }));
        seen.fetch_max(polls, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(most.load(std::sync::atomic::Ordering::Relaxed), 3);
}
