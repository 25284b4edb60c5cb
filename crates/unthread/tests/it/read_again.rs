//! A read-write lock that a thread holds for reading and takes again: the standard library may let it wait behind a writer.

use unthread::model::{Builder, Engine, MemoryModel, Report, Verdict};
use unthread::sync::atomic::AtomicUsize;
use unthread::sync::atomic::Ordering::{Acquire, Release};
use unthread::sync::{Arc, RwLock, RwLockWriteGuard};
use unthread::{hint, thread};

/// What every engine says, under every memory model.
#[track_caller]
fn everywhere(expected: Option<&str>, f: impl Fn() + Send + Sync + Copy + 'static) {
    for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
        for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative, Engine::Exhaustive] {
            let report = Builder::new().memory(memory).engine(engine).report(f);
            assert_eq!(found(&report), expected, "{memory} {engine}: {report:?}");
        }
    }
}

/// The kind of what was found, if it has to do with waiting behind a writer.
fn found(report: &Report) -> Option<&'static str> {
    let violation = report.violations.first();
    match violation {
        Some(violation) if violation.message.contains("takes it again while") => Some(violation.kind.name()),
        Some(violation) => panic!("something else: {violation:?}"),
        None => {
            assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
            None
        }
    }
}

fn pair() -> (Arc<RwLock<u32>>, Arc<RwLock<u32>>) {
    let lock = Arc::new(RwLock::new(0));
    (lock.clone(), lock)
}

#[test]
fn a_reader_that_reads_again_may_wait_for_a_writer_that_waits_for_it() {
    everywhere(Some("deadlock"), || {
        let (lock, other) = pair();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first, *second);
        drop((first, second));
        writer.join().unwrap();
    });
}

#[test]
fn who_gives_it_back_first_does_not() {
    everywhere(None, || {
        let (lock, other) = pair();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let first = *lock.read().unwrap();
        let second = *lock.read().unwrap();
        assert!(first <= second);
        writer.join().unwrap();
    });
}

#[test]
fn without_a_writer_it_may_be_read_again() {
    everywhere(None, || {
        let (lock, other) = pair();
        let reader = thread::spawn(move || {
            let first = other.read().unwrap();
            *first + *other.read().unwrap()
        });
        let first = lock.read().unwrap();
        assert_eq!(*first + *lock.read().unwrap(), 0);
        drop(first);
        assert_eq!(reader.join().unwrap(), 0);
    });
}

#[test]
fn a_writer_that_comes_before_or_after_is_not_in_the_way() {
    everywhere(None, || {
        let (lock, other) = pair();
        thread::spawn(move || *other.write().unwrap() += 1).join().unwrap();
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        assert_eq!(*first + *second, 2);
        drop((first, second));
        let other = lock.clone();
        thread::spawn(move || *other.write().unwrap() += 1).join().unwrap();
    });
}

#[test]
fn a_writer_that_is_told_only_later_is_not_in_the_way() {
    // The writer begins when both readers' locks have been given back: it is ordered by a flag, not by the lock.
    for (early, expected) in [(false, None), (true, Some("deadlock"))] {
        let test = move || {
            let (lock, other) = pair();
            let flag = Arc::new(AtomicUsize::new(0));
            let go = flag.clone();
            let writer = thread::spawn(move || {
                while go.load(Acquire) == 0 {
                    hint::spin_loop();
                }
                *other.write().unwrap() += 1;
            });
            let first = lock.read().unwrap();
            flag.store(usize::from(early), Release);
            let second = lock.read().unwrap();
            drop((first, second));
            flag.store(1, Release);
            writer.join().unwrap();
        };
        everywhere(expected, test);
    }
}

#[test]
fn a_writer_that_only_tries_does_not_wait() {
    everywhere(None, || {
        let (lock, other) = pair();
        let writer = thread::spawn(move || drop(other.try_write()));
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        drop((first, second));
        writer.join().unwrap();
    });
}

#[test]
fn a_lock_that_was_downgraded_is_held_for_reading() {
    let test = |again: bool| {
        move || {
            let (lock, other) = pair();
            let writer = thread::spawn(move || *other.write().unwrap() += 1);
            let held = RwLockWriteGuard::downgrade(lock.write().unwrap());
            if again {
                drop(lock.read().unwrap());
            }
            drop(held);
            writer.join().unwrap();
        }
    };
    assert_eq!(found(&Builder::new().report(test(true))), Some("deadlock"));
    assert_eq!(found(&Builder::new().report(test(false))), None);
}

#[test]
fn it_can_be_allowed() {
    let mut builder = Builder::new();
    builder.recursive_reads = true;
    let report = builder.report(|| {
        let (lock, other) = pair();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let first = lock.read().unwrap();
        let second = lock.read().unwrap();
        drop((first, second));
        writer.join().unwrap();
    });
    assert_eq!(found(&report), None);
}

#[test]
fn the_report_says_who_waits_for_whom() {
    let text = Builder::new().try_check(|| {
        let (lock, other) = pair();
        let writer = thread::spawn(move || *other.write().unwrap() += 1);
        let first = lock.read().unwrap();
        drop(lock.read().unwrap());
        drop(first);
        writer.join().unwrap();
    });
    let text = text.unwrap_err();
    println!("{text}");
    assert!(text.starts_with("deadlock: main holds "), "{text}");
    assert!(
        text.contains("while thread 1 waits to write: it may have to wait behind thread 1, which waits for main"),
        "{text}"
    );
    assert!(text.contains("in main at ") && text.contains("in thread 1 at "), "{text}");
}
