//! Loops with a spin hint: those that wait, those that give up, and those that never end.

use crate::{fails, holds};
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, MemoryModel, StopReason, Verdict};
use unthread::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unthread::sync::atomic::{AtomicBool, AtomicUsize};
use unthread::sync::{Arc, Mutex};
use unthread::{hint, thread};

/// Everything that a closure can return, in whatever execution.
fn outcomes<T: Ord + Clone + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = Builder::new().report(move || {
        let outcome = f();
        all.lock().unwrap().insert(outcome);
    });
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    seen.lock().unwrap().clone()
}

#[test]
fn a_loop_that_counts_on_its_stack_may_give_up_before_others_have_run() {
    for most in [1, 2, 3, 7] {
        let seen = outcomes(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = {
                let flag = flag.clone();
                thread::spawn(move || flag.store(true, Release))
            };
            let mut turns = 0;
            while !flag.load(Acquire) && turns < most {
                hint::spin_loop();
                turns += 1;
            }
            let gave_up = !flag.load(SeqCst);
            other.join().unwrap();
            (turns, gave_up)
        });
        let given_up = seen.iter().filter(|outcome| outcome.1).count();
        assert_eq!(given_up, 1, "it gives up after {most} turns: {seen:?}");
        assert_eq!(seen.iter().filter(|outcome| !outcome.1).count(), most + 1, "{seen:?}");
    }
}

#[test]
fn what_follows_a_loop_that_gives_up_is_checked() {
    let (kind, message) = fails(|| {
        let (ready, data) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let other = {
            let (ready, data) = (ready.clone(), data.clone());
            thread::spawn(move || {
                data.store(1, Relaxed);
                ready.store(true, Release);
            })
        };
        for _ in 0..10 {
            if ready.load(Acquire) {
                break;
            }
            thread::yield_now();
        }
        assert_eq!(data.load(Relaxed), 1, "it was ready");
        other.join().unwrap();
    });
    assert_eq!(kind, "panic", "{message}");
}

#[test]
fn a_count_in_plain_data_is_a_count() {
    let (kind, _) = fails(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(true, Release))
        };
        let turns = Box::new(UnsafeCell::new(0));
        while !flag.load(Acquire) {
            turns.with_mut(|turns| unsafe { *turns += 1 });
            assert!(turns.with(|turns| unsafe { *turns }) < 3, "gives up");
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert_eq!(kind, "panic");
}

#[test]
fn a_helper_that_spins_is_seen_through() {
    struct Backoff {
        step: std::cell::Cell<u32>,
    }
    impl Backoff {
        fn snooze(&self) {
            for _ in 0..1 << self.step.get() {
                hint::spin_loop();
            }
            self.step.set((self.step.get() + 1).min(3));
        }
    }
    holds(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(true, Release))
        };
        let backoff = Backoff { step: std::cell::Cell::new(0) };
        while !flag.load(Acquire) {
            backoff.snooze();
        }
        other.join().unwrap();
    });
}

#[test]
fn a_loop_that_waits_costs_no_executions() {
    let executions = holds(|| {
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
    assert!(executions <= 5, "{executions}");
}

#[test]
fn a_loop_that_waits_for_what_cannot_be_seen_is_inconclusive() {
    let report = Builder::new().report(|| {
        let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        while !flag.load(Acquire) {
            thread::yield_now();
        }
    });
    assert_eq!(report.stop, StopReason::EventLimit);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
}

#[test]
fn whether_a_lock_is_poisoned_depends_on_the_order() {
    let seen = outcomes(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _guard = lock.lock().unwrap();
                    panic!("while the lock is held");
                }));
            })
        };
        let early = lock.is_poisoned();
        let locked = lock.lock().is_err();
        other.join().unwrap();
        lock.clear_poison();
        (early, locked, lock.lock().is_err())
    });
    let expected = [(false, false, false), (false, true, false), (true, true, false)];
    assert_eq!(seen, BTreeSet::from(expected));
}

#[test]
fn a_loop_that_sets_a_flag_and_resets_it_waits_until_others_have_looked() {
    let seen = outcomes(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let seen = [(); 3].map(|()| shared.0.load(Acquire));
                shared.1.store(true, Release);
                seen
            })
        };
        while !shared.1.load(Acquire) {
            shared.0.swap(1, SeqCst);
            shared.0.swap(2, SeqCst);
            shared.0.swap(0, SeqCst);
            thread::yield_now();
        }
        other.join().unwrap()
    });
    // Any three numbers can be seen: also 2, then 1, then 2, though that takes three turns.
    assert_eq!(seen.len(), 27, "{seen:?}");
}

#[test]
fn a_poll_that_takes_a_flag_ends() {
    holds(|| {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.1.store(7, Release))
        };
        let poll = || {
            assert!(!shared.0.swap(true, Acquire), "nobody else takes it");
            let found = shared.1.load(Acquire);
            shared.0.store(false, Release);
            found
        };
        while poll() == 0 {
            thread::yield_now();
        }
        other.join().unwrap();
    });
}

/// A queue for one producer and one consumer, each with a copy of what it last saw of the other.
struct Ring {
    read: AtomicUsize,
    write: AtomicUsize,
}

#[test]
fn a_consumer_that_polls_twice_in_a_turn_is_no_surprise() {
    holds(|| {
        let ring = Arc::new(Ring { read: AtomicUsize::new(0), write: AtomicUsize::new(0) });
        let producer = ring.clone();
        let producer = thread::spawn(move || {
            for n in 1..=2 {
                let _ = producer.write.load(Relaxed);
                producer.write.store(n, Release);
            }
        });
        let consumer = thread::spawn(move || {
            let mut known = 0;
            let mut pop = || {
                let read = ring.read.load(Relaxed);
                if read == known {
                    known = ring.write.load(Acquire);
                }
                (read != known).then(|| {
                    ring.read.store(read + 1, Release);
                    read
                })
            };
            let (mut first, mut second) = (None, None);
            loop {
                first = first.or_else(&mut pop);
                if first.is_some() && second.is_none() {
                    second = pop();
                    if second.is_some() {
                        break;
                    }
                }
                thread::yield_now();
            }
            assert_eq!((first, second), (Some(0), Some(1)));
        });
        producer.join().unwrap();
        consumer.join().unwrap();
    });
}

/// Waits for three numbers, and yields after so many spins, again and again.
fn backs_off(goes_wrong: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let sent = Arc::new(AtomicUsize::new(0));
        let other = sent.clone();
        let sender = thread::spawn(move || (1..=2).for_each(|n| other.store(n, Release)));
        for n in 1..=2 {
            let mut spins = 0;
            while sent.load(Acquire) < n {
                if spins < 20 {
                    hint::spin_loop();
                    spins += 1;
                } else {
                    thread::yield_now();
                    spins = 0;
                }
            }
        }
        sender.join().unwrap();
        assert!(!goes_wrong || sent.load(Acquire) != 2);
    }
}

#[test]
fn a_loop_that_counts_its_turns_and_never_gives_up_is_looked_at_for_a_few_turns() {
    let report =
        Builder::new().try_check(backs_off(false)).expect("nothing is wrong, and it does not spin without a hint");
    assert_eq!(report.stop, StopReason::EventLimit, "more turns are left out");
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    assert!(report.statistics.executions > 10);
}

#[test]
fn what_follows_a_loop_that_counts_its_turns_is_checked() {
    let message = Builder::new().try_check(backs_off(true)).expect_err("the assertion fails");
    assert!(message.contains("assertion failed: !goes_wrong"), "{message}");
    let schedule = message.split_once("UNTHREAD_REPLAY=").and_then(|(_, rest)| rest.split_whitespace().next());
    let schedule = schedule.expect("there is a schedule").to_string();
    let replayed = std::panic::catch_unwind(|| unthread::replay(backs_off(true), &schedule));
    let text = replayed.expect_err("it fails again").downcast::<String>().expect("with a message");
    assert!(text.contains("assertion failed: !goes_wrong"), "{text}");
}

#[test]
fn a_loop_that_allocates_on_every_turn_is_looked_at_for_a_few_turns() {
    let report = Builder::new().report(|| {
        let sent = Arc::new(AtomicUsize::new(0));
        let other = sent.clone();
        let sender = thread::spawn(move || {
            let mut kept = Vec::new();
            for n in 1..=3 {
                other.store(n, Release);
                kept.push(vec![n; 40]);
            }
        });
        loop {
            let turn = vec![0usize; 40];
            if sent.load(Acquire) == 3 {
                break;
            }
            thread::yield_now();
            std::hint::black_box(&turn);
        }
        sender.join().unwrap();
    });
    let is_known = matches!(report.stop, StopReason::Exhausted | StopReason::EventLimit);
    assert!(is_known, "the allocator makes a difference: {report:?}");
}

/// A thread waits for a flag for so many turns, and then gives up by a panic. The other one sets the flag, or does not.
fn gives_up_after_turns(is_set: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let flag = Arc::new(AtomicUsize::new(0));
        let waiter = {
            let flag = flag.clone();
            thread::spawn(move || {
                let is_there = (0..5).any(|_| {
                    let is_there = flag.load(Acquire) == 1;
                    thread::yield_now();
                    is_there
                });
                assert!(is_there, "too late");
            })
        };
        flag.store(is_set.into(), Release);
        waiter.join().unwrap();
    }
}

#[test]
fn a_loop_that_gives_up_is_no_failure_where_schedulers_are_fair() {
    let mut builder = Builder::new();
    assert!(!builder.fair);
    assert_eq!(builder.report(gives_up_after_turns(true)).verdict(), Verdict::Violation);
    builder.fair = true;
    let report = builder.report(gives_up_after_turns(true));
    assert_eq!((report.verdict(), report.stop), (Verdict::Inconclusive, StopReason::EventLimit));
    assert!(builder.try_check(gives_up_after_turns(true)).is_ok());
    // Nobody sets it: that has nothing to do with who goes first.
    assert_eq!(builder.report(gives_up_after_turns(false)).verdict(), Verdict::Violation);
}

/// A thread that waits takes no turn more because another one uses an object on its stack for the first time, and gives it its name.
#[test]
fn that_an_object_gets_its_name_is_no_turn_of_a_loop() {
    fn run(ready: &AtomicUsize, others: &[AtomicUsize; 3]) {
        thread::scope(|scope| {
            scope.spawn(|| {
                // Nobody else uses these. Each gets its name when the thread has done what comes before.
                others.iter().for_each(|other| _ = other.load(Relaxed));
                ready.store(1, Release);
            });
            while ready.load(Acquire) == 0 {
                thread::yield_now();
            }
        });
    }
    // Every order of all steps: the loop takes its turns before, between and after those of the other thread.
    let check = |body: fn()| Builder::new().engine(Engine::Exhaustive).memory(MemoryModel::Sc).report(body);
    let named = check(|| run(&AtomicUsize::new(0), &[5, 6, 7].map(AtomicUsize::new)));
    let unnamed = check(|| {
        let (ready, others) = (AtomicUsize::const_new(0), [5, 6, 7].map(AtomicUsize::const_new));
        run(&ready, &others);
    });
    assert_eq!((named.verdict(), unnamed.verdict()), (Verdict::Verified, Verdict::Verified), "{unnamed:?}");
    assert_eq!(named.statistics, unnamed.statistics);
}
