//! Tests that depend on more than the schedule are never verified, whatever it is that they depend on. `UNTHREAD_CASES` says how often each is tried.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicBool as StdBool, AtomicUsize as StdUsize};
use std::sync::{Mutex as StdMutex, OnceLock};
use std::time::Instant;
use unthread::model::{Builder, Engine, MemoryModel, Report, StopReason, Verdict};
use unthread::sync::atomic::Ordering::Relaxed;
use unthread::sync::atomic::{AtomicPtr, AtomicUsize};
use unthread::sync::{Arc, Mutex};
use unthread::thread;

const ENGINES: [Engine; 4] = [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive];

fn checked(engine: Engine, preemptions: Option<usize>, f: fn()) -> Report {
    let mut builder = Builder::new();
    builder.engine(engine).preemption_bound = preemptions;
    builder.report(f)
}

/// Never verified, with any engine, and the reason is told.
#[track_caller]
fn depends(f: fn()) {
    let cases = std::env::var("UNTHREAD_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(5);
    for _ in 0..cases {
        for (engine, bound) in ENGINES.map(|engine| (engine, None)).into_iter().chain([(Engine::Dpor, Some(1))]) {
            let report = checked(engine, bound, f);
            match &report.stop {
                StopReason::Nondeterminism(why) => {
                    assert!(why.contains("nondeterminism.rs:"), "{why}");
                    assert!(why.contains("next time"), "{why}");
                }
                stop => assert_eq!(report.verdict(), Verdict::Violation, "{engine}: {stop:?}"),
            }
            assert_ne!(report.verdict(), Verdict::Verified, "{engine}");
        }
    }
}

/// One of two threads stores, the other loads: which one, is not for the schedule to say.
fn meet(first: bool) {
    let act = |number: &AtomicUsize, stores| match stores {
        true => number.store(1, Relaxed),
        false => assert!(number.load(Relaxed) < 2),
    };
    let number = Arc::new(AtomicUsize::new(0));
    let other = {
        let number = number.clone();
        thread::spawn(move || act(&number, first))
    };
    act(&number, !first);
    other.join().unwrap();
}

#[test]
fn the_order_of_a_hash_map() {
    depends(|| {
        let names: HashMap<&str, usize> = [("a", 0), ("b", 1)].into();
        let cells = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let other = {
            let cells = cells.clone();
            thread::spawn(move || cells.iter().for_each(|cell| cell.store(1, Relaxed)))
        };
        let seen: Vec<usize> = names.values().map(|&cell| cells[cell].load(Relaxed)).collect();
        other.join().unwrap();
        // Wrong only if the map gives the first cell first.
        assert!(*names.values().next().unwrap() == 1 || seen != [0, 1]);
    });
}

#[test]
fn the_time() {
    depends(|| {
        static START: OnceLock<Instant> = OnceLock::new();
        let elapsed = START.get_or_init(Instant::now).elapsed();
        meet((elapsed.as_nanos() / 1000).is_multiple_of(2));
    });
}

/// Memory that is not given back, so that no address comes twice.
fn fresh() -> *mut u64 {
    Box::into_raw(Box::new(0))
}

#[test]
fn an_address() {
    depends(|| {
        let bits = fresh().addr() >> 4;
        meet(bits.count_ones().is_multiple_of(2));
    });
}

#[test]
fn pointers_as_keys() {
    depends(|| {
        let keys = [fresh(), fresh()];
        let map: HashMap<*mut u64, usize> = keys.into_iter().zip(0..).collect();
        meet(*map.values().next().unwrap() == 0);
    });
}

#[test]
fn ids_of_std_threads() {
    depends(|| {
        let id = format!("{:?}", std::thread::spawn(|| std::thread::current().id()).join().unwrap());
        meet(id.contains(['1', '3', '5', '7', '9']) && id.trim_end_matches(')').ends_with(['1', '3', '5', '7', '9']));
    });
}

#[test]
fn random_numbers() {
    depends(|| meet(RandomState::new().build_hasher().finish().is_multiple_of(2)));
}

/// What is stored counts, too.
#[test]
fn random_values() {
    depends(|| {
        let number = AtomicUsize::new(0);
        number.store(RandomState::new().build_hasher().finish() as usize, Relaxed);
    });
}

#[test]
fn a_static_counter() {
    static RUNS: StdUsize = StdUsize::new(0);
    depends(|| meet(RUNS.fetch_add(1, Relaxed).is_multiple_of(2)));
}

/// It differs once in the life of the process, in the very first execution.
#[test]
fn a_static_that_is_set_once() {
    for engine in ENGINES {
        let done: &'static StdBool = Box::leak(Box::new(StdBool::new(false)));
        let report = Builder::new().engine(engine).report(move || meet(done.swap(true, Relaxed)));
        assert!(matches!(report.stop, StopReason::Nondeterminism(_)), "{engine}: {report:?}");
        let done: &'static OnceLock<()> = Box::leak(Box::default());
        let report = Builder::new().engine(engine).report(move || meet(done.set(()).is_ok()));
        assert!(matches!(report.stop, StopReason::Nondeterminism(_)), "{engine}: {report:?}");
    }
}

#[test]
fn an_environment_variable_that_a_thread_changes() {
    const NAME: &str = "UNTHREAD_TEST_CHANGED_BY_A_THREAD";
    static ALONE: StdMutex<()> = StdMutex::new(());
    let _alone = ALONE.lock();
    depends(|| {
        let was_set = std::env::var_os(NAME).is_some();
        let other = thread::spawn(move || match was_set {
            // SAFETY: nobody else in this process asks for this variable.
            true => unsafe { std::env::remove_var(NAME) },
            // SAFETY: as above.
            false => unsafe { std::env::set_var(NAME, "1") },
        });
        other.join().unwrap();
        meet(was_set);
    });
}

#[test]
fn a_channel_of_std() {
    static CHANNEL: OnceLock<StdMutex<Channel>> = OnceLock::new();
    type Channel = (std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<()>);
    depends(|| {
        let channel = CHANNEL.get_or_init(|| StdMutex::new(std::sync::mpsc::channel())).lock().unwrap();
        let received = channel.1.try_recv().is_ok();
        if !received {
            channel.0.send(()).unwrap();
        }
        drop(channel);
        meet(received);
    });
}

#[test]
fn a_thread_local_of_std() {
    std::thread_local!(static RUNS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
    depends(|| {
        let runs = RUNS.get();
        RUNS.set(runs + 1);
        meet(runs.is_multiple_of(2));
    });
}

#[test]
fn a_file() {
    static PATH: OnceLock<std::path::PathBuf> = OnceLock::new();
    PATH.get_or_init(|| std::env::temp_dir().join(format!("unthread-nondeterminism-{}", std::process::id())));
    depends(|| {
        let path = PATH.get().unwrap();
        let length = std::fs::read(path).map_or(0, |text| text.len());
        std::fs::write(path, vec![b'.'; length + 1]).unwrap();
        meet(length.is_multiple_of(2));
    });
    std::fs::remove_file(PATH.get().unwrap()).unwrap();
}

/// A report says what was done, where, and what is done instead.
#[test]
fn both_sides_are_told() {
    static RUNS: StdUsize = StdUsize::new(0);
    let told = Builder::new().try_check(|| {
        let number = AtomicUsize::new(5);
        match RUNS.fetch_add(1, Relaxed) {
            0 => number.store(6, Relaxed),
            _ => drop(number.load(Relaxed)),
        }
    });
    let told = told.unwrap_err();
    assert!(told.contains("depends on more than the schedule"), "{told}");
    assert!(told.contains("main writes 6 to number at "), "{told}");
    assert!(told.contains("the next time it reads number at "), "{told}");
}

/// What is kept outside and changes nothing of what threads do is nobody's concern.
#[test]
fn what_changes_nothing_does_not_count() {
    for engine in ENGINES {
        for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
            let (runs, seen) = (std::sync::Arc::new(StdUsize::new(0)), std::sync::Arc::new(StdMutex::new(Vec::new())));
            let report = Builder::new().memory(memory).engine(engine).report(move || {
                runs.fetch_add(1, Relaxed);
                let names: HashMap<&str, usize> = [("a", 0), ("b", 1)].into();
                let list = Arc::new(Mutex::new(Vec::new()));
                let other = {
                    let list = list.clone();
                    thread::spawn(move || list.lock().unwrap().push(names.len()))
                };
                list.lock().unwrap().push(1);
                other.join().unwrap();
                seen.lock().unwrap().push(list.lock().unwrap().clone());
            });
            assert_eq!(report.verdict(), Verdict::Verified, "{engine}: {report:?}");
        }
    }
}

/// Memory is elsewhere in every execution.
#[test]
fn addresses_that_are_only_stored_do_not_count() {
    for engine in ENGINES {
        let report = Builder::new().engine(engine).report(|| {
            let head = Arc::new(AtomicPtr::new(fresh()));
            let other = {
                let head = head.clone();
                thread::spawn(move || head.swap(fresh(), Relaxed))
            };
            let mine = fresh();
            let old = head.load(Relaxed);
            let taken = head.compare_exchange(old, mine, Relaxed, Relaxed).is_ok();
            assert!(!taken || !other.join().unwrap().is_null());
        });
        assert_eq!(report.verdict(), Verdict::Verified, "{engine}: {report:?}");
    }
}
