//! Executions and time of the same tests with unthread, loom and shuttle.
//!
//! unthread and loom look at everything (each by its own notion of what is different); shuttle's depth-first search does, too, and
//! is stopped where it takes too long. A tool that was stopped has a `>` before its time, which is that of the processor: whatever else
//! the machine has to do, tools that run on one thread can be compared.

use cpu_time::ThreadTime;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed as Count};
use std::time::{Duration, Instant};

/// The longest time for one tool and one test.
const PATIENCE: Duration = Duration::from_secs(20);

/// The tests, for one of the tools.
macro_rules! tests {
    ($name:ident, $tool:ident) => {
        mod $name {
            use $tool::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
            use $tool::sync::{Arc, Mutex};
            use $tool::{hint, thread};

            fn in_threads(n: usize, f: impl Fn(usize) + Clone + Send + 'static) {
                let threads: Vec<_> = (0..n)
                    .map(|index| {
                        let f = f.clone();
                        thread::spawn(move || f(index))
                    })
                    .collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            }

            pub fn store_buffering() {
                let cells = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
                in_threads(2, move |me| {
                    cells[me].store(1, Relaxed);
                    cells[1 - me].load(Relaxed);
                });
            }

            pub fn mutex_2x3() {
                let counter = Arc::new(Mutex::new(0));
                in_threads(2, move |_| (0..3).for_each(|_| *counter.lock().unwrap() += 1));
            }

            pub fn mutex_3x2() {
                let counter = Arc::new(Mutex::new(0));
                in_threads(3, move |_| (0..2).for_each(|_| *counter.lock().unwrap() += 1));
            }

            pub fn fetch_add_4() {
                let counter = Arc::new(AtomicUsize::new(0));
                in_threads(4, move |_| {
                    counter.fetch_add(1, AcqRel);
                });
            }

            pub fn readers_3x3() {
                let cell = Arc::new(AtomicUsize::new(0));
                let writer = {
                    let cell = cell.clone();
                    thread::spawn(move || cell.store(1, Release))
                };
                in_threads(3, move |_| {
                    for _ in 0..3 {
                        cell.load(Acquire);
                    }
                });
                writer.join().unwrap();
            }

            pub fn spinlock_2x2() {
                let lock = Arc::new(AtomicBool::new(false));
                in_threads(2, move |_| {
                    for _ in 0..2 {
                        while lock.compare_exchange(false, true, Acquire, Relaxed).is_err() {
                            hint::spin_loop();
                        }
                        lock.store(false, Release);
                    }
                });
            }

            struct Node {
                next: *mut Node,
            }

            pub fn treiber_2x2() {
                let head = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
                let stack = head.clone();
                in_threads(2, move |_| {
                    for _ in 0..2 {
                        let node = Box::into_raw(Box::new(Node { next: std::ptr::null_mut() }));
                        let mut old = stack.load(Relaxed);
                        loop {
                            // SAFETY: nobody else knows the node yet.
                            unsafe { (*node).next = old };
                            match stack.compare_exchange(old, node, Release, Relaxed) {
                                Ok(_) => break,
                                Err(now) => old = now,
                            }
                        }
                    }
                });
                let mut at = head.load(Acquire);
                while !at.is_null() {
                    // SAFETY: every node is in the list once, and the threads have ended.
                    at = unsafe { Box::from_raw(at) }.next;
                }
            }
        }
    };
}

tests!(our_tests, unthread);
tests!(loom_tests, loom);
tests!(shuttle_tests, shuttle);

/// How many executions a tool needed, how long it took, and whether it came to an end.
struct Measured {
    executions: u64,
    took: Duration,
    finished: bool,
}

fn measure(check: impl FnOnce(&'static AtomicU64) -> bool) -> Measured {
    let executions: &'static AtomicU64 = Box::leak(Box::default());
    let start = ThreadTime::now();
    let finished = check(executions);
    Measured { executions: executions.load(Count), took: start.elapsed(), finished }
}

fn with_unthread(f: fn()) -> Measured {
    with_engine(unthread::Engine::Dpor, f)
}

fn with_engine(engine: unthread::Engine, f: fn()) -> Measured {
    measure(|executions| {
        let mut builder = unthread::model::Builder::new();
        builder.engine = engine;
        builder.max_duration = Some(PATIENCE);
        let report = builder.report(move || {
            executions.fetch_add(1, Count);
            f();
        });
        report.verdict() == unthread::model::Verdict::Verified
    })
}

fn with_loom(f: fn()) -> Measured {
    let started = Instant::now();
    measure(|executions| {
        let mut builder = loom::model::Builder::new();
        builder.max_duration = Some(PATIENCE);
        builder.checkpoint_interval = 500;
        builder.check(move || {
            executions.fetch_add(1, Count);
            f();
        });
        started.elapsed() < PATIENCE
    })
}

fn with_shuttle(f: fn()) -> Measured {
    let started = Instant::now();
    measure(|executions| {
        let config = {
            let mut config = shuttle::Config::new();
            config.max_time = Some(PATIENCE);
            config
        };
        let scheduler = shuttle::scheduler::DfsScheduler::new(None, false);
        shuttle::Runner::new(scheduler, config).run(move || {
            executions.fetch_add(1, Count);
            f();
        });
        started.elapsed() < PATIENCE
    })
}

fn shown(measured: &Measured) -> String {
    let Measured { executions, took, finished } = measured;
    let seconds = took.as_secs_f64();
    let rate = *executions as f64 / seconds / 1000.0;
    format!("{executions:>9} {}{seconds:>9.4} s {rate:>6.0} k/s", if *finished { " " } else { ">" })
}

fn main() {
    let all: [(&str, [fn(); 3]); 7] = [
        ("store buffering", [our_tests::store_buffering, loom_tests::store_buffering, shuttle_tests::store_buffering]),
        ("mutex 2×3", [our_tests::mutex_2x3, loom_tests::mutex_2x3, shuttle_tests::mutex_2x3]),
        ("mutex 3×2", [our_tests::mutex_3x2, loom_tests::mutex_3x2, shuttle_tests::mutex_3x2]),
        ("fetch_add 4", [our_tests::fetch_add_4, loom_tests::fetch_add_4, shuttle_tests::fetch_add_4]),
        ("readers 3×3", [our_tests::readers_3x3, loom_tests::readers_3x3, shuttle_tests::readers_3x3]),
        ("spinlock 2×2", [our_tests::spinlock_2x2, loom_tests::spinlock_2x2, shuttle_tests::spinlock_2x2]),
        ("Treiber 2×2", [our_tests::treiber_2x2, loom_tests::treiber_2x2, shuttle_tests::treiber_2x2]),
    ];
    println!("Executions per second where nothing is reduced: unthread, loom");
    for (name, [ours, looms, _]) in [all[2], all[4]] {
        let (ours, looms) = (with_engine(unthread::Engine::Exhaustive, ours), with_loom(looms));
        println!("{name:16} {} {}", shown(&ours), shown(&looms));
    }
    println!("\n{:16} {:^35} {:^35} {:>8}", "", "unthread", "loom", "vs loom");
    for (name, [ours, looms, _]) in all {
        let (ours, looms) = (with_unthread(ours), with_loom(looms));
        let ratio = looms.took.as_secs_f64() / ours.took.as_secs_f64();
        println!("{name:16} {} {} {ratio:>7.1}×", shown(&ours), shown(&looms));
    }
    // Last, because it changes what happens at a panic, which is how loom ends what it gives up.
    println!("\n{:16} {:^35}", "", "shuttle, depth first");
    for (name, [_, _, shuttles]) in all {
        println!("{name:16} {}", shown(&with_shuttle(shuttles)));
    }
}
