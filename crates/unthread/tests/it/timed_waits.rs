//! Waits for some time: a wait times out where nothing else can happen, any of several may be the first, and it never blocks for good. What `dpor` and
//! `exhaustive` see is what a second semantics of scripts says that shares no code with them (`timed_waits/oracle.rs`).

mod oracle;

use oracle::{Command, Script, TimeOuts, everything};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use std::time::Duration;
use unthread::model::{Builder, Engine, MemoryModel, Report, StopReason, Verdict};
use unthread::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Condvar, Mutex, mpsc};
use unthread::thread;
use unthread_generate::{cases, check_all};

const SECOND: Duration = Duration::from_secs(1);

/// What threads of one execution saw.
type Outcome = Vec<Vec<usize>>;

fn report(builder: &Builder, f: impl Fn() -> Outcome + Send + Sync + 'static) -> (Report, BTreeSet<Outcome>) {
    let seen: StdArc<StdMutex<BTreeSet<Outcome>>> = StdArc::default();
    let notes = seen.clone();
    let report = builder.report(move || {
        let outcome = f();
        notes.lock().unwrap().insert(outcome);
    });
    let seen = seen.lock().unwrap().clone();
    (report, seen)
}

fn builder(memory: MemoryModel, engine: Engine, timeouts: usize) -> Builder {
    let mut builder = Builder::new();
    builder.memory(memory).engine(engine);
    (builder.timeouts, builder.spurious_wakeups, builder.max_permutations) = (timeouts, 0, Some(20_000));
    builder
}

/// All engines see these outcomes, and nothing is wrong.
#[track_caller]
fn sees(timeouts: usize, expected: &[&[usize]], f: impl Fn() -> Vec<usize> + Send + Sync + Clone + 'static) {
    let expected: BTreeSet<Outcome> = expected.iter().map(|seen| vec![seen.to_vec()]).collect();
    for memory in MemoryModel::MACHINES {
        for engine in [Engine::Dpor, Engine::Exhaustive, Engine::Mcr, Engine::Cumulative] {
            let f = f.clone();
            let (report, seen) = report(&builder(memory, engine, timeouts), move || vec![f()]);
            assert_eq!(report.verdict(), Verdict::Verified, "{memory}, {engine}: {report:?}");
            assert!(report.statistics.executions > 0);
            assert_eq!(seen, expected, "{memory}, {engine}");
        }
    }
}

/// A thread waits so often, and another one notifies it once, without the lock.
fn waits(times: usize) -> impl Fn() -> Vec<usize> + Send + Sync + Clone + 'static {
    move || {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let waiter = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut seen = Vec::new();
                for _ in 0..times {
                    let guard = shared.0.lock().unwrap();
                    let (guard, result) = shared.1.wait_timeout(guard, SECOND).unwrap();
                    seen.push(usize::from(result.timed_out()));
                    drop(guard);
                }
                seen
            })
        };
        let notifier = thread::spawn(move || shared.1.notify_one());
        notifier.join().unwrap();
        waiter.join().unwrap()
    }
}

#[test]
fn a_notification_ends_at_most_one_of_several_waits() {
    for timeouts in [0, 1, 2] {
        sees(timeouts, &[&[]], waits(0));
        sees(timeouts, &[&[0], &[1]], waits(1));
        sees(
            timeouts,
            &[&[0, 1], &[1, 1]].iter().map(|seen| &seen[..]).chain(second(timeouts)).collect::<Vec<_>>(),
            waits(2),
        );
    }
    sees(1, &[&[0, 1, 1], &[1, 0, 1], &[1, 1, 1]], waits(3));
    sees(2, &[&[0, 1, 1], &[1, 0, 1], &[1, 1, 0], &[1, 1, 1]], waits(3));
}

/// The first of two waits times out before the notification only while the notifier can go on.
fn second(timeouts: usize) -> impl Iterator<Item = &'static [usize]> {
    (timeouts > 0).then_some(&[1, 0][..]).into_iter()
}

#[test]
fn what_is_left_out_is_said() {
    let is_said = |timeouts, times, what: &str| {
        let waits = waits(times);
        let (report, _) = report(&builder(MemoryModel::Tso, Engine::Dpor, timeouts), move || vec![waits()]);
        let coverage = report.coverage.unwrap_or_default();
        let rest = coverage.strip_prefix(&format!("all executions{what}"));
        assert!(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(';')), "{coverage}");
    };
    is_said(1, 1, "");
    is_said(1, 2, ", with at most 1 time-out of each thread while others can go on");
    is_said(0, 1, ", with at most 0 time-outs of each thread while others can go on");
    is_said(2, 2, "");
}

#[test]
fn any_of_several_waits_may_be_the_first_to_time_out() {
    for timeouts in [0, 1] {
        sees(timeouts, &[&[0, 1], &[1, 0]], || {
            let order = Arc::new(AtomicUsize::new(0));
            let wait = || {
                let order = order.clone();
                thread::spawn(move || {
                    thread::park_timeout(SECOND);
                    order.fetch_add(1, SeqCst)
                })
            };
            [wait(), wait()].map(|thread| thread.join().unwrap()).to_vec()
        });
    }
}

#[test]
fn a_time_out_lets_others_go_on() {
    for timeouts in [0, 2] {
        sees(timeouts, &[&[7]], || {
            let (lock, sent) = (Arc::new(Mutex::new(0)), mpsc::channel::<()>());
            let holder = {
                let lock = lock.clone();
                thread::spawn(move || {
                    let mut held = lock.lock().unwrap();
                    assert_eq!(sent.1.recv_timeout(SECOND), Err(mpsc::RecvTimeoutError::Timeout));
                    *held = 7;
                })
            };
            while *lock.lock().unwrap() != 7 {
                thread::yield_now();
            }
            holder.join().unwrap();
            drop(sent.0);
            vec![*lock.lock().unwrap()]
        });
    }
}

#[test]
fn a_message_comes_or_does_not() {
    for (bound, timeouts) in [(None, 0), (None, 1), (Some(0), 0), (Some(0), 1), (Some(1), 2)] {
        let send = move |wanted: usize| {
            move || {
                let receive = |receiver: mpsc::Receiver<usize>| {
                    let seen = (0..2).map(|_| receiver.recv_timeout(SECOND).unwrap_or(9));
                    seen.collect::<Vec<_>>()
                };
                let Some(bound) = bound else {
                    let (sender, receiver) = mpsc::channel();
                    let receiver = thread::spawn(move || receive(receiver));
                    let other = sender.clone();
                    let sender_thread =
                        thread::spawn(move || (0..wanted).for_each(|number| other.send(number).unwrap_or(())));
                    let seen = receiver.join().unwrap();
                    sender_thread.join().unwrap();
                    drop(sender);
                    return seen;
                };
                let (sender, receiver) = mpsc::sync_channel(bound);
                let receiver = thread::spawn(move || receive(receiver));
                let other = sender.clone();
                let sender_thread =
                    thread::spawn(move || (0..wanted).for_each(|number| other.send(number).unwrap_or(())));
                let seen = receiver.join().unwrap();
                sender_thread.join().unwrap();
                drop(sender);
                seen
            }
        };
        sees(timeouts, &[&[9, 9]], send(0));
        match timeouts {
            0 => sees(0, &[&[0, 9]], send(1)),
            1 => sees(1, &[&[0, 9], &[9, 0]], send(1)),
            _ => sees(2, &[&[0, 9], &[9, 0], &[9, 9]], send(1)),
        }
    }
}

#[test]
fn a_loop_of_waits_ends_when_its_condition_holds() {
    for timeouts in [0, 1] {
        sees(timeouts, &[&[1]], || {
            let done = Arc::new(AtomicBool::new(false));
            let setter = {
                let done = done.clone();
                thread::spawn(move || done.store(true, Release))
            };
            let waiting = thread::spawn(move || {
                while !done.load(Acquire) {
                    thread::park_timeout(SECOND);
                }
                1
            });
            setter.join().unwrap();
            vec![waiting.join().unwrap()]
        });
    }
}

/// Waits in vain do not keep one another going, and somebody who can end them does.
#[test]
fn a_loop_of_waits_that_never_ends_is_a_livelock() {
    let waits = |n_setters: usize| {
        move || {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let waiters = (0..2).map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let mut done = shared.0.lock().unwrap();
                    while !*done {
                        done = shared.1.wait_timeout(done, SECOND).unwrap().0;
                    }
                })
            });
            let waiters: Vec<_> = waiters.collect();
            for _ in 0..n_setters {
                thread::park_timeout(SECOND);
                *shared.0.lock().unwrap() = true;
            }
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            vec![]
        }
    };
    for timeouts in [0, 1] {
        for engine in [Engine::Dpor, Engine::Mcr] {
            let (endless, _) = report(&builder(MemoryModel::Tso, engine, timeouts), waits(0));
            let kinds: Vec<_> = endless.violations.iter().map(|found| found.kind.name()).collect();
            assert_eq!(kinds, ["livelock"], "{endless:?}");
            assert!(endless.violations[0].message.contains("waits for some time again and again"), "{endless:?}");
            let (ends, _) = report(&builder(MemoryModel::Tso, engine, timeouts), waits(1));
            assert_eq!(ends.verdict(), Verdict::Verified, "{ends:?}");
        }
    }
}

#[test]
fn a_wait_whose_lock_is_never_given_back_is_a_deadlock() {
    let (report, _) = report(&builder(MemoryModel::Tso, Engine::Dpor, 0), || {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let waiter = {
            let shared = shared.clone();
            thread::spawn(move || drop(shared.1.wait_timeout(shared.0.lock().unwrap(), SECOND).unwrap().0))
        };
        let _held = shared.0.lock().unwrap();
        thread::park();
        waiter.join().unwrap();
        vec![]
    });
    assert_eq!(report.violations[0].kind.name(), "deadlock", "{report:?}");
}

/// What a thread does after the process has ended is nobody's business.
#[test]
fn a_thread_that_waits_again_and_again_ends_with_the_process() {
    let (report, _) = report(&builder(MemoryModel::Tso, Engine::Dpor, 1), || {
        let turns = Arc::new(AtomicUsize::new(0));
        thread::spawn(move || {
            loop {
                turns.fetch_add(1, Relaxed);
                thread::park_timeout(SECOND);
            }
        });
        vec![]
    });
    let ended = report.stop == StopReason::Exhausted || cfg!(feature = "loom");
    assert!(ended, "{report:?}");
}

#[test]
fn what_nobody_completes_is_not_verified() {
    let (report, _) = report(&builder(MemoryModel::Tso, Engine::Dpor, 1), || {
        unthread::assume(false);
        vec![]
    });
    assert_eq!((report.verdict(), &report.stop), (Verdict::Inconclusive, &StopReason::NoExecution));
}

fn scripts() -> impl Strategy<Value = Script> {
    let command = prop::sample::select(&Command::ALL[..]);
    prop::collection::vec(prop::collection::vec(command, 1..4), 2..4)
}

#[test]
fn generated_scripts_have_the_outcomes_of_the_oracle() {
    check_all((scripts(), 0..3_usize), cases(80), |(script, timeouts)| {
        let expected = everything(script, *timeouts, TimeOuts::WhereNothingElse);
        let engines = [Engine::Dpor, Engine::Exhaustive, Engine::Mcr, Engine::Cumulative];
        let pairs = MemoryModel::MACHINES.into_iter().flat_map(|memory| engines.map(|engine| (memory, engine)));
        pairs.into_iter().try_for_each(|(memory, engine)| {
            if engine == Engine::Exhaustive && script.concat().len() > 4 {
                return Ok(());
            }
            let seen = seen_by(script, *timeouts, memory, engine);
            let wrong = |seen| format!("{memory}, {engine}, {timeouts}: {seen:?} instead of {expected:?}");
            match seen {
                Some(seen) if seen != expected => Err(wrong(seen)),
                _ => Ok(()),
            }
        })
    });
}

/// Broken twins: waits that time out at any moment, however often; waits that never do where nothing else can happen.
#[test]
fn broken_twins_of_the_rule_are_caught() {
    use Command::*;
    let script = |threads: &[&[Command]]| -> Script { threads.iter().map(|commands| commands.to_vec()).collect() };
    let scripts = [
        script(&[&[Wait, Wait], &[Notify]]),
        script(&[&[Receive, Receive], &[Send]]),
        script(&[&[HoldAndPark], &[Bump]]),
    ];
    for twin in [TimeOuts::Always, TimeOuts::Never] {
        let is_caught = |script: &Script| {
            let seen = seen_by(script, 0, MemoryModel::Tso, Engine::Dpor).expect("it is small");
            seen != everything(script, 0, twin)
        };
        assert!(scripts.iter().any(is_caught), "{twin:?}");
    }
}

/// What is seen, and whether some execution ends in a deadlock, if all has been looked at.
fn seen_by(script: &Script, timeouts: usize, memory: MemoryModel, engine: Engine) -> Option<(BTreeSet<Outcome>, bool)> {
    let script = script.clone();
    let mut builder = builder(memory, engine, timeouts);
    builder.max_permutations = Some(5_000);
    let (report, seen) = report(&builder, move || run(&script));
    match report.violations.first() {
        Some(violation) => {
            assert_eq!(violation.kind.name(), "deadlock", "{report:?}");
            Some((BTreeSet::new(), true))
        }
        None if report.stop == StopReason::ExecutionLimit => None,
        None => {
            assert_eq!(report.stop, StopReason::Exhausted, "{report:?}");
            Some((seen, false))
        }
    }
}

struct World {
    count: Mutex<usize>,
    changed: Condvar,
    flag: AtomicUsize,
    sender: mpsc::Sender<usize>,
}

fn run(script: &Script) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let (count, changed, flag) = (Mutex::new(0), Condvar::new(), AtomicUsize::new(0));
    let world = Rc::new(World { count, changed, flag, sender });
    let mut receiver = Some(receiver);
    let mut first = None;
    let threads: Vec<_> = script
        .iter()
        .enumerate()
        .map(|(number, commands)| {
            let (commands, world, receiver, first_thread) =
                (commands.clone(), world.clone(), receiver.take(), first.clone());
            let spawned = thread::spawn(move || {
                let mut seen = Vec::new();
                for command in commands {
                    perform(command, number, &world, receiver.as_ref(), first_thread.as_ref(), &mut seen);
                }
                // The end of a receiver is no part of the game.
                (seen, receiver)
            });
            first.get_or_insert_with(|| spawned.thread().clone());
            spawned
        })
        .collect();
    let (seen, _receivers): (Outcome, Vec<_>) = threads.into_iter().map(|thread| thread.join().unwrap()).unzip();
    seen
}

fn perform(
    command: Command,
    number: usize,
    world: &World,
    receiver: Option<&mpsc::Receiver<usize>>,
    first: Option<&thread::Thread>,
    seen: &mut Vec<usize>,
) {
    match command {
        Command::Wait => {
            let guard = world.count.lock().unwrap();
            let (guard, result) = world.changed.wait_timeout(guard, SECOND).unwrap();
            seen.extend([*guard, 100 + usize::from(result.timed_out())]);
        }
        Command::WaitForEver => {
            let guard = world.count.lock().unwrap();
            seen.push(*world.changed.wait(guard).unwrap());
        }
        Command::Notify => world.changed.notify_one(),
        Command::NotifyAll => world.changed.notify_all(),
        Command::Bump => {
            let mut count = world.count.lock().unwrap();
            *count += 1;
            seen.push(*count);
        }
        Command::Park => thread::park_timeout(SECOND),
        Command::HoldAndPark => {
            let mut count = world.count.lock().unwrap();
            thread::park_timeout(SECOND);
            *count += 1;
        }
        Command::Unpark => first.iter().for_each(|first| first.unpark()),
        Command::Receive => seen.extend(receiver.map(|receiver| receiver.recv_timeout(SECOND).unwrap_or(99))),
        Command::Send => world.sender.send(number).unwrap(),
        Command::Set => world.flag.store(number + 1, SeqCst),
        Command::Look => seen.push(world.flag.load(SeqCst)),
    }
}
