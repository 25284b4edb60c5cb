//! Loops that poll something else than an atomic: a lock, what is in it, a thread, a count of references, a channel.
//!
//! A loop that waits is compared with one that takes every turn, but only a few of them: they must have the same outcomes.

use crate::fails;
use std::collections::BTreeSet;
use std::sync::Mutex as StdMutex;
use unthread::model::{Builder, Engine, MemoryModel, Verdict};
use unthread::sync::atomic::AtomicUsize;
use unthread::sync::atomic::Ordering::{Relaxed, SeqCst};
use unthread::sync::mpsc::{self, TryRecvError};
use unthread::sync::{Arc, Mutex, RwLock};
use unthread::{hint, thread};

/// The most turns of a loop, if there is a limit; executions with more are of no interest.
type Most = Option<usize>;

/// Polls until it is done.
fn until(most: Most, mut done: impl FnMut() -> bool) {
    let mut turns = 0;
    while !done() {
        if let Some(most) = most {
            turns += 1;
            unthread::assume(turns < most);
        }
        thread::yield_now();
    }
}

/// What a closure can return, by an engine.
fn outcomes<T: Ord + Clone + Send + 'static>(
    memory: MemoryModel,
    engine: Engine,
    f: impl Fn() -> T + Send + Sync + 'static,
) -> BTreeSet<T> {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = Builder::new().memory(memory).engine(engine).report(move || {
        let outcome = f();
        all.lock().unwrap().insert(outcome);
    });
    assert_eq!(report.verdict(), Verdict::Verified, "{memory:?} {engine:?}: {report:?}");
    seen.lock().unwrap().clone()
}

/// The closure is verified under every memory model, with the outcomes that it has turn by turn. Gives those.
#[track_caller]
fn waits<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    f: impl Fn(Most) -> T + Send + Sync + Copy + 'static,
) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
        let turn_by_turn = outcomes(memory, Engine::Dpor, move || f(Some(4)));
        for engine in [Engine::Exhaustive, Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
            assert_eq!(outcomes(memory, engine, move || f(None)), turn_by_turn, "{memory:?} {engine:?}");
        }
        found.extend(turn_by_turn);
    }
    found
}

#[test]
fn a_loop_that_tries_a_lock_waits_for_it() {
    let seen = waits(|most| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || *lock.lock().unwrap() += 1)
        };
        let mut found = 0;
        until(most, || {
            let Ok(mut number) = lock.try_lock() else { return false };
            *number += 1;
            found = *number;
            true
        });
        other.join().unwrap();
        found
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn a_loop_that_tries_to_write_waits_for_readers() {
    let seen = waits(|most| {
        let lock = Arc::new(RwLock::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || *lock.read().unwrap())
        };
        until(most, || lock.try_write().map(|mut number| *number = 1).is_ok());
        other.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}

#[test]
fn a_loop_that_looks_into_a_mutex_waits_until_others_have_been_there() {
    let seen = waits(|most| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || {
                *lock.lock().unwrap() += 1;
                *lock.lock().unwrap() += 1;
            })
        };
        let mut found = 0;
        until(most, || {
            found = *lock.lock().unwrap();
            found > 0
        });
        other.join().unwrap();
        found
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn others_see_that_a_loop_holds_a_lock() {
    let seen = waits(|most| {
        let shared = Arc::new((Mutex::new(()), AtomicUsize::new(0)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let tried = [(); 2].map(|()| shared.0.try_lock().is_ok());
                shared.1.store(1, Relaxed);
                tried
            })
        };
        until(most, || {
            let _guard = shared.0.lock().unwrap();
            shared.1.load(Relaxed) == 1
        });
        other.join().unwrap()
    });
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Two threads do something, and somebody else something different. Gives what they return.
fn three<S: Send + Sync + 'static, T: Send + 'static>(
    shared: S,
    polls: impl Fn(&S) -> T + Send + Copy + 'static,
    other: impl FnOnce(&S) -> T,
) -> [T; 3] {
    let shared = Arc::new(shared);
    let [one, two] = [(); 2].map(|()| {
        let shared = shared.clone();
        thread::spawn(move || polls(&shared))
    });
    let third = other(&shared);
    [one.join().unwrap(), two.join().unwrap(), third]
}

/// The same as [`waits`], for several loops at once, by the engine that they are left to.
#[track_caller]
fn wait<T: Ord + Clone + Send + std::fmt::Debug + 'static>(
    turns: usize,
    f: impl Fn(Most) -> T + Send + Sync + Copy + 'static,
) -> BTreeSet<T> {
    let mut found = BTreeSet::new();
    for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
        let turn_by_turn = outcomes(memory, Engine::Dpor, move || f(Some(turns)));
        assert_eq!(outcomes(memory, Engine::Dpor, move || f(None)), turn_by_turn, "{memory:?}");
        found.extend(turn_by_turn);
    }
    found
}

#[test]
fn several_loops_look_into_one_mutex() {
    let seen = wait(4, |most| {
        three(
            Mutex::new(0),
            move |lock| {
                let mut found = 0;
                until(most, || {
                    found = *lock.lock().unwrap();
                    found > 0
                });
                found
            },
            |lock| {
                *lock.lock().unwrap() += 1;
                *lock.lock().unwrap() += 1;
                0
            },
        )
    });
    assert_eq!(seen, BTreeSet::from([[1, 1, 0], [1, 2, 0], [2, 1, 0], [2, 2, 0]]));
}

#[test]
fn several_loops_take_from_one_queue() {
    let seen = wait(3, |most| {
        three(
            Mutex::new(Vec::new()),
            move |queue| {
                let mut found = 0;
                until(most, || match queue.lock().unwrap().pop() {
                    Some(number) => {
                        found = number;
                        true
                    }
                    None => false,
                });
                found
            },
            |queue| {
                queue.lock().unwrap().push(1);
                queue.lock().unwrap().push(2);
                0
            },
        )
    });
    assert_eq!(seen, BTreeSet::from([[1, 2, 0], [2, 1, 0]]));
}

#[test]
fn others_see_that_one_of_several_loops_holds_a_lock() {
    let seen = wait(3, |most| {
        three(
            Mutex::new(false),
            move |lock| {
                until(most, || *lock.lock().unwrap());
                false
            },
            |lock| {
                let tried = lock.try_lock().is_ok();
                *lock.lock().unwrap() = true;
                tried
            },
        )
    });
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[test]
fn others_see_every_time_that_a_loop_holds_a_lock() {
    let seen = wait(4, |most| {
        let lock = Arc::new(Mutex::new(false));
        let polling = {
            let lock = lock.clone();
            thread::spawn(move || until(most, || *lock.lock().unwrap()))
        };
        // More often than the turns that a loop takes before it waits.
        let tried = [(); 5].map(|()| lock.try_lock().is_ok());
        *lock.lock().unwrap() = true;
        polling.join().unwrap();
        tried == [false, true, false, true, false]
    });
    assert_eq!(seen.len(), 2);
}

#[test]
fn loops_that_hand_a_turn_to_each_other_wait_for_each_other() {
    let seen = wait(3, |most| {
        let shared = Arc::new(Mutex::new((0, Vec::new())));
        let run = |me: usize| {
            let shared = shared.clone();
            thread::spawn(move || {
                for _ in 0..2 {
                    until(most, || {
                        let mut shared = shared.lock().unwrap();
                        let mine = shared.0 == me;
                        if mine {
                            shared.0 = 1 - me;
                            shared.1.push(me);
                        }
                        mine
                    });
                }
            })
        };
        [0, 1].map(run).into_iter().for_each(|thread| thread.join().unwrap());
        shared.lock().unwrap().1.clone()
    });
    assert_eq!(seen, BTreeSet::from([vec![0, 1, 0, 1]]));
}

#[test]
fn loops_that_all_wait_for_nobody_never_end() {
    let (kind, message) = fails(|| {
        three(Mutex::new(false), |lock| until(None, || *lock.lock().unwrap()), |lock| drop(lock.lock().unwrap()));
    });
    assert_eq!(kind, "livelock", "{message}");
}

#[test]
fn a_count_in_a_mutex_is_a_count() {
    let (kind, message) = fails(|| {
        let (flag, turns) = (Arc::new(AtomicUsize::new(0)), Mutex::new(0));
        let other = {
            let flag = flag.clone();
            thread::spawn(move || flag.store(1, Relaxed))
        };
        while flag.load(Relaxed) == 0 {
            *turns.lock().unwrap() += 1;
            assert!(*turns.lock().unwrap() < 5, "gives up");
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert_eq!((kind, message.contains("gives up")), ("panic", true), "{message}");
}

#[test]
fn a_loop_that_asks_whether_a_thread_has_ended_waits_for_it() {
    let seen = waits(|most| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || number.store(1, Relaxed))
        };
        until(most, || other.is_finished());
        number.load(Relaxed)
    });
    assert_eq!(seen, BTreeSet::from([1]));
}

#[test]
fn a_loop_that_counts_references_waits_until_they_are_gone() {
    let seen = waits(|most| {
        let number = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let number = number.clone();
            thread::spawn(move || {
                number.fetch_add(1, SeqCst);
            });
        }
        until(most, || Arc::strong_count(&number) == 1);
        number.load(Relaxed)
    });
    assert_eq!(seen, BTreeSet::from([2]));
}

#[test]
fn a_loop_that_tries_to_receive_waits_for_a_message() {
    let seen = waits(|most| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
        });
        let mut sum = 0;
        until(most, || match receiver.try_recv() {
            Ok(number) => {
                sum += number;
                false
            }
            Err(error) => error == TryRecvError::Disconnected,
        });
        sum
    });
    assert_eq!(seen, BTreeSet::from([3]));
}

#[test]
fn a_loop_that_tries_a_lock_nobody_gives_back_never_ends() {
    let (kind, message) = fails(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || std::mem::forget(lock.lock().unwrap()))
        };
        while lock.try_lock().is_err() {
            thread::yield_now();
        }
        other.join().unwrap();
    });
    assert_eq!((kind, message.contains("`lock`")), ("livelock", true), "{message}");
}

#[test]
fn a_loop_that_spins_gives_up_and_begins_anew_waits() {
    let seen = waits(|most| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.store(1, Relaxed);
                shared.1.store(1, Relaxed);
            })
        };
        // It spins while the other is half way, but not for long.
        let mut given_up = false;
        until(most, || {
            for _ in 0..2 {
                if shared.1.load(Relaxed) == 1 {
                    return true;
                }
                if shared.0.load(Relaxed) == 0 {
                    return false;
                }
                hint::spin_loop();
            }
            given_up = true;
            false
        });
        other.join().unwrap();
        given_up
    });
    assert_eq!(seen, BTreeSet::from([false, true]));
}

#[test]
fn a_cell_that_others_change_and_change_back_is_not_waited_for() {
    let seen = waits(|most| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                for n in [1, 0, 1, 0] {
                    shared.store(n, Relaxed);
                }
            })
        };
        let mut last = 0;
        until(most, || {
            let first = shared.load(Relaxed);
            hint::spin_loop();
            last = shared.load(Relaxed);
            first == last
        });
        other.join().unwrap();
        last
    });
    assert_eq!(seen, BTreeSet::from([0, 1]));
}
