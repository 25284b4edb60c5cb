//! What `std` has and loom lacks: locks that are downgraded, channels without room, things that happen once, weak references, scopes, tasks.

use crate::{fails, holds};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{SendError, TrySendError};
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use std::time::Duration;
use unthread::model::{Builder, Engine, MemoryModel, StopReason};
use unthread::sync::atomic::{AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Weak, mpsc};
use unthread::{future, thread};
use unthread_generate::{cases, check_all};

/// Everything that a closure can give, and why the check ended.
fn outcomes<T: Ord + Send + 'static>(
    memory: MemoryModel,
    engine: Engine,
    f: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, StopReason) {
    let seen: StdArc<StdMutex<BTreeSet<T>>> = StdArc::default();
    let notes = seen.clone();
    let mut builder = Builder::new();
    builder.max_permutations = Some(4_000);
    let report = builder.memory(memory).engine(engine).report(move || {
        let outcome = f();
        notes.lock().unwrap().insert(outcome);
    });
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, report.stop)
}

/// What a thread does with a lock around a number.
#[derive(Clone, Copy, Debug)]
enum Locking {
    Write,
    Read,
    TryWrite,
    TryRead,
    Downgrade,
}

fn perform(command: Locking, me: usize, lock: &RwLock<usize>) -> usize {
    match command {
        Locking::Write => std::mem::replace(&mut *lock.write().unwrap(), me),
        Locking::Read => *lock.read().unwrap(),
        Locking::TryWrite => lock.try_write().map_or(100, |mut value| std::mem::replace(&mut *value, me)),
        Locking::TryRead => lock.try_read().map_or(100, |value| *value),
        Locking::Downgrade => {
            let mut value = lock.write().unwrap();
            let before = std::mem::replace(&mut *value, me);
            let value = RwLockWriteGuard::downgrade(value);
            assert_eq!(*value, me, "somebody wrote meanwhile");
            before
        }
    }
}

fn use_lock(script: &[Vec<Locking>]) -> Vec<usize> {
    let lock = Arc::new(RwLock::new(0));
    let threads = script.iter().enumerate().map(|(index, commands)| {
        let (lock, commands) = (lock.clone(), commands.clone());
        thread::spawn(move || -> Vec<usize> {
            commands.iter().map(|&command| perform(command, index + 1, &lock)).collect()
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

/// What a thread does with a channel that has no room. The main thread receives so many messages at most.
#[derive(Clone, Copy, Debug)]
enum Sending {
    Send,
    TrySend,
}

fn use_channel(script: &[Vec<Sending>], most: usize) -> Vec<usize> {
    let (sender, receiver) = mpsc::sync_channel(0);
    let threads = script.iter().enumerate().map(|(index, commands)| {
        let (sender, commands) = (sender.clone(), commands.clone());
        let perform = move |command: &Sending| match command {
            Sending::Send => sender.send(index).map_or(200, |()| 201),
            Sending::TrySend => sender.try_send(index).map_or(300, |()| 301),
        };
        thread::spawn(move || -> Vec<usize> { commands.iter().map(perform).collect() })
    });
    let threads: Vec<_> = threads.collect();
    drop(sender);
    let mut seen: Vec<usize> = receiver.iter().take(most).collect();
    drop(receiver);
    seen.extend(threads.into_iter().flat_map(|thread| thread.join().unwrap()));
    seen
}

/// Engines see what `exhaustive` sees, under every memory model.
fn compare(f: impl Fn() -> Vec<usize> + Clone + Send + Sync + 'static) -> Result<(), String> {
    for memory in MemoryModel::MACHINES {
        let expected = outcomes(memory, Engine::Exhaustive, f.clone());
        if expected.1 == StopReason::ExecutionLimit {
            continue;
        }
        for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
            let seen = outcomes(memory, engine, f.clone());
            if seen != expected {
                return Err(format!("{memory}, {engine}: {seen:?}, and by exhaustive {expected:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn generated_scripts_of_locks_have_the_same_outcomes_with_all_engines() {
    use Locking::{Downgrade, Read, TryRead, TryWrite, Write};
    let command = prop::sample::select(&[Write, Read, TryWrite, TryRead, Downgrade, Downgrade][..]);
    let scripts = prop::collection::vec(prop::collection::vec(command, 1..3), 2..3);
    check_all(scripts, cases(50), |script| {
        let script = script.clone();
        compare(move || use_lock(&script))
    });
}

#[test]
fn generated_scripts_of_channels_have_the_same_outcomes_with_all_engines() {
    let command = prop::sample::select(&[Sending::Send, Sending::TrySend][..]);
    let scripts = (prop::collection::vec(prop::collection::vec(command, 1..3), 1..3), 0..3usize);
    check_all(scripts, cases(30), |(script, most)| {
        let (script, most) = (script.clone(), *most);
        compare(move || use_channel(&script, most))
    });
}

#[test]
fn a_downgraded_lock_lets_readers_in_and_no_writer() {
    for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
        let (seen, stop) = outcomes(MemoryModel::Tso, engine, || {
            let lock = Arc::new(RwLock::new(0));
            let reader = {
                let lock = lock.clone();
                thread::spawn(move || lock.try_read().map_or(9, |value| *value))
            };
            let mut value = lock.write().unwrap();
            *value = 1;
            let value = RwLockWriteGuard::downgrade(value);
            assert!(lock.try_write().is_err());
            let seen = reader.join().unwrap();
            drop(value);
            assert!(lock.try_write().is_ok());
            seen
        });
        assert_eq!((seen, stop), (BTreeSet::from([0, 1, 9]), StopReason::Exhausted));
    }
}

#[test]
fn a_message_without_room_is_sent_when_it_has_been_taken() {
    holds(|| {
        let receives = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = mpsc::sync_channel(0);
        let senders = [1, 2].map(|message| {
            let (sender, receives) = (sender.clone(), receives.clone());
            thread::spawn(move || {
                sender.send(message).unwrap();
                assert_eq!(receives.load(SeqCst), 1, "nobody can have taken it");
            })
        });
        drop(sender);
        receives.store(1, SeqCst);
        let mut received: Vec<usize> = receiver.iter().collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        received.sort_unstable();
        assert_eq!(received, [1, 2]);
    });
}

#[test]
fn a_message_that_nobody_takes_comes_back() {
    let (seen, _) = outcomes(MemoryModel::Tso, Engine::Dpor, || {
        let (sender, receiver) = mpsc::sync_channel(0);
        let sender = thread::spawn(move || sender.send("message"));
        let taken = receiver.try_recv();
        drop(receiver);
        match (sender.join().unwrap(), taken) {
            (Ok(()), Ok("message")) => "taken",
            (Err(SendError("message")), Err(_)) => "back",
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(seen, BTreeSet::from(["back", "taken"]));
}

#[test]
fn who_does_not_want_to_wait_succeeds_if_the_receiver_does() {
    for timed in [false, true] {
        let (seen, _) = outcomes(MemoryModel::Tso, Engine::Dpor, move || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let receiver = thread::spawn(move || match timed {
                false => receiver.recv().ok(),
                true => receiver.recv_timeout(Duration::from_secs(1)).ok(),
            });
            let sent = sender.try_send(5);
            assert!(!matches!(sent, Err(TrySendError::Disconnected(_))) || timed);
            drop(sender);
            assert_eq!(receiver.join().unwrap(), sent.ok().map(|()| 5));
            sent.is_ok()
        });
        assert_eq!(seen, BTreeSet::from([false, true]));
    }
}

#[test]
fn something_that_happens_once_is_poisoned_by_a_panic() {
    holds(|| {
        let once = Once::new();
        let attempt = |f: &dyn Fn()| catch_unwind(AssertUnwindSafe(|| once.call_once(f))).is_ok();
        assert!(!attempt(&|| panic!("on purpose")) && !once.is_completed());
        assert!(!attempt(&|| ()));
        once.call_once_force(|state| assert!(state.is_poisoned()));
        assert!(once.is_completed() && attempt(&|| unreachable!()));
    });
}

#[test]
fn a_value_that_is_set_once_can_be_waited_for() {
    holds(|| {
        let value: Arc<OnceLock<usize>> = Arc::default();
        let setter = {
            let value = value.clone();
            thread::spawn(move || value.set(7).unwrap())
        };
        assert_eq!((*value.wait(), value.get()), (7, Some(&7)));
        setter.join().unwrap();
        assert_eq!(*value, OnceLock::from(7));
    });
    let wait_in_vain = || assert_eq!(*OnceLock::<usize>::new().wait(), 0);
    assert_eq!(fails(wait_in_vain).0, "deadlock");
}

#[test]
fn the_only_reference_may_be_joined_by_another() {
    for mutates in [false, true] {
        let (seen, stop) = outcomes(MemoryModel::Tso, Engine::Dpor, move || {
            let mut only = Arc::new(Box::new(1));
            let weak = Arc::downgrade(&only);
            let other = thread::spawn(move || weak.upgrade().is_some_and(|value| **value == 1));
            let was_only = match mutates {
                true => {
                    **Arc::make_mut(&mut only) = 2;
                    **only == 2
                }
                false => Arc::try_unwrap(only).is_ok(),
            };
            (was_only, other.join().unwrap())
        });
        let expected =
            if mutates { vec![(true, false), (true, true)] } else { vec![(false, true), (true, false), (true, true)] };
        assert_eq!((seen, stop), (expected.into_iter().collect(), StopReason::Exhausted), "mutates: {mutates}");
    }
}

#[test]
fn weak_references_are_counted_and_kept_as_raw_pointers() {
    holds(|| {
        let strong = Arc::new(5);
        let weak = Arc::downgrade(&strong);
        assert_eq!((weak.strong_count(), weak.weak_count()), (1, 1));
        let raw = weak.into_raw();
        // SAFETY: it comes from `into_raw`.
        let weak = unsafe { Weak::from_raw(raw) };
        assert_eq!(weak.upgrade().as_deref(), Some(&5));
        drop(strong);
        assert!(weak.upgrade().is_none() && weak.weak_count() == 0);
        let any: Arc<dyn std::any::Any + Send + Sync> = Arc::from_std(StdArc::new(6));
        let any = any.downcast::<String>().unwrap_err();
        assert_eq!(*any.downcast::<i32>().unwrap(), 6);
    });
}

#[test]
fn a_scope_waits_for_threads_of_its_threads() {
    holds(|| {
        let number = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                scope.spawn(|| number.fetch_add(1, Relaxed));
                number.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(number.load(Relaxed), 2);
    });
}

#[test]
fn a_panic_in_a_scope_is_told_though_its_threads_wait() {
    let (kind, message) = fails(|| {
        let (_sender, receiver) = mpsc::channel::<()>();
        let receiver = Mutex::new(receiver);
        thread::scope(|scope| {
            scope.spawn(|| receiver.lock().unwrap().recv());
            panic!("in a scope");
        });
    });
    // As with the standard library, the scope waits for them.
    assert_eq!(kind, "deadlock");
    assert!(message.contains("; main panicked at ") && message.ends_with(": in a scope"), "{message}");
}

#[test]
fn a_task_can_be_awaited_by_another() {
    holds(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let tasks = [1, 2].map(|by| {
            let number = number.clone();
            future::spawn(async move {
                future::yield_now().await;
                number.fetch_add(by, Relaxed);
                by
            })
        });
        let sum = future::block_on(async move {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!((sum, number.load(Relaxed)), (3, 3));
        assert_eq!(future::spawn(async { 4 }).join().unwrap(), 4);
    });
}

#[test]
fn an_atomic_is_changed_by_a_function() {
    holds(|| {
        let number = Arc::new(AtomicUsize::new(1));
        let other = {
            let number = number.clone();
            thread::spawn(move || number.update(AcqRel, Acquire, |value| value * 3))
        };
        let mine = number.update(AcqRel, Acquire, |value| value + 1);
        assert!(matches!((mine, other.join().unwrap(), number.load(Relaxed)), (1, 2, 6) | (3, 1, 4)));
        assert_eq!(number.try_update(Relaxed, Relaxed, |_| None), Err(number.load(Relaxed)));
    });
}

#[test]
fn what_is_shared_may_be_used_after_a_panic() {
    fn may_be<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    may_be::<(AtomicUsize, Mutex<std::cell::Cell<i32>>, RwLock<std::cell::Cell<i32>>, Once, OnceLock<i32>)>();
    may_be::<(Arc<Mutex<i32>>, Weak<i32>, mpsc::Sender<i32>, mpsc::Receiver<i32>, thread::JoinHandle<i32>)>();
    holds(|| {
        let number = Arc::new(AtomicUsize::new(1));
        assert!(catch_unwind(|| assert_eq!(number.swap(2, Relaxed), 0)).is_err());
        assert_eq!(number.load(Relaxed), 2);
    });
}

#[test]
fn a_writer_may_come_before_readers_that_need_one_another() {
    for polls in [false, true] {
        let (seen, stop) = outcomes(MemoryModel::Tso, Engine::Dpor, move || {
            let lock = Arc::new(RwLock::new(()));
            let here = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
            let readers = [0, 1].map(|me| {
                let (lock, here) = (lock.clone(), here.clone());
                thread::spawn(move || {
                    let _shared = lock.read().unwrap();
                    here[me].store(1, SeqCst);
                    while here[1 - me].load(SeqCst) == 0 {
                        thread::yield_now();
                    }
                })
            });
            let guard = loop {
                match polls {
                    false => break lock.write().unwrap(),
                    true => match lock.try_write() {
                        Ok(guard) => break guard,
                        Err(_) => thread::yield_now(),
                    },
                }
            };
            let seen = here[0].load(SeqCst) + here[1].load(SeqCst);
            drop(guard);
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            seen
        });
        assert_eq!((seen, stop), (BTreeSet::from([0, 2]), StopReason::Exhausted), "polls: {polls}");
    }
}
