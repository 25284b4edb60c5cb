//! Engines `mcr` and `cumulative` on closures: what only the code under test sees (data behind locks, messages, plain cells) is seen in every way that it can be, and nothing
//! that cannot be predicted is taken for verified.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use std::time::Duration;
use unthread::cell::UnsafeCell;
use unthread::model::{Builder, Engine, MemoryModel, Report, StopReason, Verdict};
use unthread::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use unthread::{any, hint, thread};

/// What an execution has shown.
type Seen = StdArc<StdMutex<BTreeSet<Vec<usize>>>>;

/// Runs a closure that gives what it has seen; with one engine, under one memory model.
fn outcomes(
    engine: Engine,
    memory: MemoryModel,
    f: impl Fn() -> Vec<usize> + Send + Sync + 'static,
) -> (Report, BTreeSet<Vec<usize>>) {
    let seen: Seen = Seen::default();
    let notes = seen.clone();
    let report = Builder::new().memory(memory).engine(engine).report(move || {
        let outcome = f();
        notes.lock().unwrap().insert(outcome);
    });
    let seen = seen.lock().unwrap().clone();
    (report, seen)
}

/// `mcr` and `cumulative` see what `dpor` sees, and do not leave it to `dpor`. Gives the numbers of executions of `mcr` and `dpor` under TSO.
#[track_caller]
fn alike(f: impl Fn() -> Vec<usize> + Send + Sync + Clone + 'static) -> [u64; 2] {
    alike_by(|engine| engine, f)
}

/// They see what `dpor` sees, as they leave it to `dpor`: a wait times out because nothing else can happen.
#[track_caller]
fn left_to_dpor(f: impl Fn() -> Vec<usize> + Send + Sync + Clone + 'static) {
    alike_by(|_| Engine::Dpor, f);
}

#[track_caller]
fn alike_by(by: impl Fn(Engine) -> Engine, f: impl Fn() -> Vec<usize> + Send + Sync + Clone + 'static) -> [u64; 2] {
    let mut executions = [0; 2];
    for memory in MemoryModel::MACHINES {
        let (by_dpor, expected) = outcomes(Engine::Dpor, memory, f.clone());
        let [by_mcr, _] = [Engine::Mcr, Engine::Cumulative].map(|engine| {
            let (report, seen) = outcomes(engine, memory, f.clone());
            assert_eq!(report.engine, by(engine), "{memory}: {report:?}");
            assert_eq!(report.verdict(), by_dpor.verdict(), "{memory}: {report:?} {by_dpor:?}");
            let kinds = |report: &Report| report.violations.iter().map(|found| found.kind).collect::<Vec<_>>();
            assert_eq!(kinds(&report), kinds(&by_dpor), "{memory}");
            if by_dpor.verdict() == Verdict::Verified {
                assert_eq!(seen, expected, "{memory} with {engine}");
            }
            report
        });
        if memory == MemoryModel::Tso {
            executions = [by_mcr.statistics.executions, by_dpor.statistics.executions];
        }
    }
    executions
}

#[test]
fn data_behind_a_mutex_is_seen_in_every_order() {
    alike(|| {
        let list = StdArc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let list = list.clone();
                thread::spawn(move || list.lock().unwrap().push(number))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let list = list.lock().unwrap();
        list.clone()
    });
}

#[test]
fn a_mutex_that_cannot_be_taken_is_tried_too() {
    alike(|| {
        let list = StdArc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let list = list.clone();
                thread::spawn(move || {
                    let taken = list.try_lock().map(|mut list| list.push(number)).is_ok();
                    if let Ok(mut list) = list.try_lock() {
                        list.push(10 + number);
                    }
                    usize::from(taken)
                })
            })
            .collect();
        let mut seen: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        seen.extend(list.lock().unwrap().iter());
        seen
    });
}

#[test]
fn readers_of_a_lock_see_what_writers_left() {
    alike(|| {
        let value = StdArc::new(RwLock::new(0));
        let write = |add: usize| {
            let value = value.clone();
            thread::spawn(move || *value.write().unwrap() += add)
        };
        let read = || {
            let value = value.clone();
            thread::spawn(move || *value.read().unwrap())
        };
        let (writers, readers) = ([write(1), write(10)], [read(), read()]);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
}

/// What a thread does after it was notified is seen by a run before anything is known of who notified it.
#[test]
fn who_was_notified_may_wait_again_in_vain() {
    left_to_dpor(|| {
        let state = StdArc::new((Mutex::new(()), Condvar::new()));
        let [of_waiter, of_notifier] = [state.clone(), state.clone()];
        let waiter = thread::spawn(move || {
            let wait = |_| {
                let guard = of_waiter.0.lock().unwrap();
                let second = Duration::from_secs(1);
                of_waiter.1.wait_timeout(guard, second).unwrap().1.timed_out().into()
            };
            (0..2).map(wait).collect()
        });
        let notifier = thread::spawn(move || of_notifier.1.notify_one());
        let seen = waiter.join().unwrap();
        notifier.join().unwrap();
        seen
    });
}

#[test]
fn a_condition_variable_wakes_whoever_waits() {
    alike(|| {
        let state = StdArc::new((Mutex::new(0), Condvar::new()));
        let waiter = {
            let state = state.clone();
            thread::spawn(move || {
                let mut turns = 0;
                let mut value = state.0.lock().unwrap();
                while *value == 0 {
                    turns += 1;
                    value = state.1.wait(value).unwrap();
                }
                *value + 10 * turns
            })
        };
        let other = {
            let state = state.clone();
            thread::spawn(move || {
                *state.0.lock().unwrap() += 1;
                state.1.notify_one();
            })
        };
        *state.0.lock().unwrap() += 2;
        state.1.notify_all();
        other.join().unwrap();
        vec![waiter.join().unwrap()]
    });
}

#[test]
fn a_lost_wakeup_is_found() {
    alike(|| {
        let state = StdArc::new((Mutex::new(()), Condvar::new(), AtomicBool::new(false)));
        let waiter = {
            let state = state.clone();
            thread::spawn(move || {
                let lock = state.0.lock().unwrap();
                if !state.2.load(SeqCst) {
                    drop(state.1.wait(lock));
                }
            })
        };
        state.2.store(true, SeqCst);
        state.1.notify_one();
        waiter.join().unwrap();
        vec![]
    });
}

#[test]
fn messages_arrive_in_every_order() {
    alike(|| {
        let (sender, receiver) = mpsc::channel();
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let sender = sender.clone();
                thread::spawn(move || sender.send(number).unwrap())
            })
            .collect();
        drop(sender);
        let seen = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        seen
    });
}

#[test]
fn a_channel_with_a_bound_makes_senders_wait() {
    alike(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).unwrap();
            usize::from(sender.try_send(3).is_ok())
        });
        let mut seen: Vec<usize> = (0..2).map(|_| receiver.recv().unwrap()).collect();
        seen.extend(receiver.try_recv());
        drop(receiver);
        seen.push(100 + thread.join().unwrap());
        seen
    });
}

#[test]
fn a_message_that_does_not_come_is_given_up() {
    alike(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(7).is_ok());
        let first = receiver.recv_timeout(Duration::from_secs(1)).unwrap_or(0);
        let second = receiver.try_recv().unwrap_or(1);
        drop(receiver);
        vec![first, second, usize::from(thread.join().unwrap())]
    });
}

#[test]
fn references_that_are_given_back_are_counted() {
    alike(|| {
        let shared = Arc::new(Box::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || Arc::into_inner(shared).is_some().into())
            })
            .collect();
        let mine = usize::from(Arc::into_inner(shared).is_some());
        let mut seen: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        seen.push(mine);
        seen
    });
}

#[test]
fn references_are_given_back_in_any_order() {
    let [by_mcr, _] = alike(|| {
        let shared = Arc::new(());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || drop(shared.clone()))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        vec![]
    });
    assert_eq!(by_mcr, 1);
}

#[test]
fn references_are_counted_and_upgraded() {
    alike(|| {
        let shared = Arc::new(Box::new(7));
        let weak = Arc::downgrade(&shared);
        let other = shared.clone();
        let upgrades = thread::spawn(move || weak.upgrade().map_or(0, |shared| **shared + Arc::strong_count(&shared)));
        let drops = thread::spawn(move || drop(other));
        let count = Arc::strong_count(&shared);
        drop(shared);
        drops.join().unwrap();
        vec![count, upgrades.join().unwrap()]
    });
}

#[test]
fn an_arc_that_is_leaked_is_found() {
    alike(|| {
        let shared = Arc::new(AtomicUsize::new(0));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            if other.fetch_add(1, SeqCst) == 1 {
                std::mem::forget(other);
            }
        });
        shared.fetch_add(1, SeqCst);
        thread.join().unwrap();
        vec![]
    });
}

#[test]
fn a_parked_thread_is_woken() {
    alike(|| {
        let value = StdArc::new(AtomicUsize::new(0));
        let thread = {
            let value = value.clone();
            thread::spawn(move || {
                let mut turns = 0;
                while value.load(SeqCst) == 0 {
                    thread::park();
                    turns += 1;
                }
                turns
            })
        };
        thread.thread().unpark();
        value.store(1, SeqCst);
        thread.thread().unpark();
        vec![thread.join().unwrap()]
    });
}

#[test]
fn a_thread_that_nobody_unparks_is_found() {
    alike(|| {
        let thread = thread::spawn(thread::park);
        if any() {
            thread.thread().unpark();
        }
        thread.join().unwrap();
        vec![]
    });
}

#[test]
fn plain_data_is_seen_as_its_owners_left_it() {
    alike(|| {
        let shared = Rc::new((AtomicUsize::new(0), UnsafeCell::new(0)));
        let threads: Vec<_> = (1..3)
            .map(|number| {
                let shared = shared.clone();
                thread::spawn(move || {
                    // The same value is written by both: what lies behind it is not the same.
                    if shared.0.swap(1, SeqCst) == 0 {
                        shared.1.with_mut(|data| unsafe { *data = number });
                        shared.0.store(2, SeqCst);
                    }
                })
            })
            .collect();
        let seen = match shared.0.load(SeqCst) {
            2 => shared.1.with(|data| unsafe { *data }),
            _ => 0,
        };
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        vec![seen]
    });
}

#[test]
fn a_data_race_is_found() {
    alike(|| {
        let shared = Rc::new((AtomicBool::new(false), UnsafeCell::new(0)));
        let thread = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.with_mut(|data| unsafe { *data = 1 });
                shared.0.store(true, Relaxed);
            })
        };
        if !shared.0.load(Relaxed) {
            shared.1.with(|data| unsafe { *data });
        }
        thread.join().unwrap();
        vec![]
    });
}

#[test]
fn what_is_made_once_is_known_by_who_made_it() {
    alike(|| {
        let once = StdArc::new(OnceLock::new());
        let threads: Vec<_> = (1..3)
            .map(|number| {
                let once = once.clone();
                thread::spawn(move || *once.get_or_init(|| number))
            })
            .collect();
        let early = once.get().copied().unwrap_or(0);
        let mut seen: Vec<usize> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        seen.push(early);
        seen
    });
}

#[test]
fn a_barrier_lets_nobody_pass_alone() {
    alike(|| {
        let shared = StdArc::new((Barrier::new(2), AtomicUsize::new(0)));
        let thread = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.1.fetch_add(1, SeqCst);
                usize::from(shared.0.wait().is_leader())
            })
        };
        shared.1.fetch_add(1, SeqCst);
        let leads = usize::from(shared.0.wait().is_leader());
        vec![shared.1.load(SeqCst), leads, thread.join().unwrap()]
    });
}

#[test]
fn whether_a_thread_has_ended_can_be_asked() {
    alike(|| {
        let value = StdArc::new(AtomicUsize::new(0));
        let other = value.clone();
        let thread = thread::spawn(move || other.store(1, Relaxed));
        let ended = thread.is_finished();
        let seen = value.load(Relaxed);
        thread.join().unwrap();
        vec![usize::from(ended), seen]
    });
}

#[test]
fn spinning_threads_wait_for_a_change() {
    alike(|| {
        let shared = StdArc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    while !shared.0.load(Acquire) {
                        hint::spin_loop();
                    }
                    shared.1.fetch_add(1, Relaxed)
                })
            })
            .collect();
        shared.0.store(true, Release);
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
}

#[test]
fn stores_wait_in_buffers() {
    alike(|| {
        let shared = StdArc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = shared.clone();
        let thread = thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.load(Relaxed)
        });
        shared.1.store(1, Relaxed);
        let seen = shared.0.load(Relaxed);
        vec![seen, thread.join().unwrap()]
    });
}

#[test]
fn equal_values_need_one_execution() {
    let [by_mcr, by_dpor] = alike(|| {
        let value = StdArc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let value = value.clone();
                thread::spawn(move || value.store(1, SeqCst))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        vec![value.load(SeqCst)]
    });
    assert_eq!((by_mcr, by_dpor), (1, 6));
}

#[test]
fn addresses_are_left_to_dpor() {
    let report = Builder::new().engine(Engine::Mcr).report(|| {
        let boxed = Box::into_raw(Box::new(7));
        let pointer = StdArc::new(AtomicPtr::<i32>::new(std::ptr::null_mut()));
        let other = pointer.clone();
        let thread = thread::spawn(move || other.load(SeqCst).is_null());
        pointer.store(boxed, SeqCst);
        thread.join().unwrap();
        drop(unsafe { Box::from_raw(boxed) });
    });
    assert_eq!((report.engine, report.stop), (Engine::Dpor, StopReason::Exhausted));
}

#[test]
fn a_bound_on_preemptions_is_left_to_dpor() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    let report = builder.engine(Engine::Mcr).report(|| drop(thread::spawn(|| {}).join()));
    assert_eq!(report.engine, Engine::Dpor);
}

#[test]
fn an_assertion_that_fails_is_replayed() {
    let failure = Builder::new().engine(Engine::Mcr).try_check(|| {
        let number = StdArc::new(AtomicUsize::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || other.store(other.load(Acquire) + 1, Release));
        number.store(number.load(Acquire) + 1, Release);
        thread.join().unwrap();
        assert_eq!(2, number.load(Relaxed));
    });
    assert!(failure.unwrap_err().contains("UNTHREAD_REPLAY="));
}

#[test]
fn choices_that_do_not_meet_add_up_with_cumulative() {
    const READERS: usize = 6;
    let read = || {
        let number = Arc::new(AtomicUsize::new(0));
        let spawn = |_| {
            let number = number.clone();
            thread::spawn(move || _ = number.load(SeqCst))
        };
        let readers: Vec<_> = (0..READERS).map(spawn).collect();
        number.store(1, SeqCst);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    };
    let executions = [Engine::Mcr, Engine::Cumulative].map(|engine| {
        let report = Builder::new().engine(engine).report(read);
        assert_eq!((report.engine, report.verdict()), (engine, Verdict::Verified));
        report.statistics.executions
    });
    assert_eq!(executions[0], 1 << READERS);
    assert!(executions[1] <= 2 * READERS as u64, "{executions:?}");
}

#[test]
fn what_a_thread_returns_is_seen_by_who_waits_for_it() {
    alike(|| {
        let number = StdArc::new(AtomicUsize::new(0));
        let other = number.clone();
        let reader = thread::spawn(move || other.load(SeqCst));
        number.store(1, SeqCst);
        vec![reader.join().unwrap()]
    });
}

#[test]
fn what_a_thread_is_given_is_seen_by_those_who_see_what_it_does() {
    alike(|| {
        let (number, list) = (StdArc::new(AtomicUsize::new(0)), StdArc::new(Mutex::new(0)));
        let other = number.clone();
        let writer = thread::spawn(move || other.store(1, SeqCst));
        let (given, copy) = (number.load(SeqCst), list.clone());
        let pusher = thread::spawn(move || *copy.lock().unwrap() = 10 + given);
        let seen = *list.lock().unwrap();
        writer.join().unwrap();
        pusher.join().unwrap();
        vec![seen]
    });
}
