//! Raw pointers to the values of atomics, and atomics from raw pointers.

use crate::{fails, holds, under};
use std::collections::BTreeSet;
use std::sync::{Arc as StdArc, Mutex as StdMutex};
use unthread::model::{Builder, Engine, MemoryModel, Verdict};
use unthread::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Mutex};
use unthread::thread;

/// A pointer that may go to other threads.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
unsafe impl<T> Send for Shared<T> {}
unsafe impl<T> Sync for Shared<T> {}

#[test]
fn who_alone_stores_reads_its_stores_without_an_operation() {
    for memory in MemoryModel::MACHINES {
        let report = under(memory, || {
            let tail = Arc::new(AtomicUsize::new(3));
            let other = {
                let tail = tail.clone();
                thread::spawn(move || assert!([3, 4, 5].contains(&tail.load(Acquire))))
            };
            for next in [4, 5] {
                // Nobody else stores, so this is not a race, though others load.
                let own = unsafe { *tail.as_ptr() };
                assert_eq!(own, next - 1);
                tail.store(next, Release);
            }
            assert_eq!(unsafe { *tail.as_ptr() }, 5);
            other.join().unwrap();
        });
        assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    }
}

#[test]
fn what_is_written_through_a_pointer_is_stored() {
    holds(|| {
        let (number, flag) = (AtomicU8::new(1), AtomicBool::new(false));
        unsafe { *number.as_ptr() = 200 };
        assert_eq!((number.load(Relaxed), number.fetch_add(100, Relaxed)), (200, 200));
        assert_eq!(unsafe { *number.as_ptr() }, 44);
        unsafe { *flag.as_ptr() = true };
        assert!(flag.load(Relaxed));
        let mut number = number;
        *number.get_mut() += 1;
        assert_eq!((unsafe { *number.as_ptr() }, number.into_inner()), (45, 45));
    });
}

#[test]
fn what_is_written_through_a_pointer_under_a_lock_is_seen_by_the_next_who_holds_it() {
    holds(|| {
        let shared = Arc::new((Mutex::new(()), AtomicU32::new(0)));
        let add = |shared: &(Mutex<()>, AtomicU32)| {
            let _held = shared.0.lock().unwrap();
            unsafe { *shared.1.as_ptr() += 1 };
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || add(&shared))
        };
        add(&shared);
        other.join().unwrap();
        assert_eq!(shared.1.load(Relaxed), 2);
    });
}

#[test]
fn writing_through_a_pointer_races_with_loads() {
    let (kind, _) = fails(|| {
        let number = Arc::new(AtomicUsize::new(0));
        let other = {
            let number = number.clone();
            thread::spawn(move || unsafe { *number.as_ptr() = 1 })
        };
        number.load(Relaxed);
        other.join().unwrap();
    });
    assert_eq!(kind, "data-race");
}

#[test]
fn an_atomic_from_its_own_pointer_is_that_atomic() {
    holds(|| {
        let (number, pointer) = (AtomicUsize::new(1), AtomicPtr::new(std::ptr::null_mut::<u8>()));
        let same = unsafe { AtomicUsize::from_ptr(number.as_ptr()) };
        assert!(std::ptr::eq(same, &number));
        assert!(std::ptr::eq(unsafe { AtomicPtr::from_ptr(pointer.as_ptr()) }, &pointer));
        same.store(2, Relaxed);
        assert_eq!((number.load(Relaxed), unsafe { *number.as_ptr() }), (2, 2));
    });
}

#[test]
fn memory_is_used_as_an_atomic_and_then_as_what_it_was() {
    let atomic = holds(|| {
        let number = AtomicU32::new(7);
        let add = || number.fetch_add(1, Relaxed);
        thread::scope(|scope| {
            scope.spawn(add);
            add();
        });
        assert_eq!(number.into_inner(), 9);
    });
    let raw = holds(|| {
        let mut number = 7u32;
        let shared = unsafe { AtomicU32::from_ptr(&raw mut number) };
        let add = || shared.fetch_add(1, Relaxed);
        thread::scope(|scope| {
            scope.spawn(add);
            add();
        });
        assert_eq!(number, 9);
    });
    assert_eq!(raw, atomic);
}

#[test]
fn memory_may_be_used_again() {
    holds(|| {
        let mut numbers = Box::new([0u8; 2]);
        for turn in 1..3 {
            numbers[1] = 10 * turn;
            let shared = Shared(&raw mut numbers[1]);
            let add = move || {
                let Shared(pointer) = { shared };
                unsafe { AtomicU8::from_ptr(pointer) }.fetch_add(1, Relaxed);
            };
            let other = thread::spawn(add);
            add();
            other.join().unwrap();
            assert_eq!(*numbers, [0, 10 * turn + 2]);
        }
        let mut flag = false;
        assert!(!unsafe { AtomicBool::from_ptr(&raw mut flag) }.swap(true, Relaxed));
        assert!(flag);
    });
}

#[test]
fn memory_may_be_static() {
    static mut NUMBER: u32 = 0;
    holds(|| {
        for first in [0, 4] {
            let pointer = &raw mut NUMBER;
            // Nobody makes it new in every execution.
            unsafe { *pointer = first };
            let add = || unsafe { AtomicU32::from_ptr(&raw mut NUMBER) }.fetch_add(1, Relaxed);
            let other = thread::spawn(add);
            let sum = add() + other.join().unwrap();
            assert_eq!((sum, unsafe { *pointer }), (2 * first + 1, first + 2));
        }
    });
}

#[test]
fn stores_to_memory_wait_in_buffers() {
    for memory in MemoryModel::MACHINES {
        let seen: StdArc<StdMutex<BTreeSet<(usize, usize)>>> = StdArc::default();
        let notes = seen.clone();
        let report = under(memory, move || {
            let mut cells = [0usize; 2];
            let shared = Shared(cells.as_mut_ptr());
            let run = move |me: usize| {
                let Shared(cells) = { shared };
                let cell = |index: usize| unsafe { AtomicUsize::from_ptr(cells.add(index)) };
                cell(me).store(1, Release);
                cell(1 - me).load(Acquire)
            };
            let other = thread::spawn(move || run(1));
            notes.lock().unwrap().insert((run(0), other.join().unwrap()));
            assert_eq!(cells, [1, 1]);
        });
        assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
        assert_eq!(report.statistics.executions, if memory == MemoryModel::Sc { 3 } else { 4 });
        let seen = seen.lock().unwrap();
        assert_eq!(seen.contains(&(0, 0)), memory != MemoryModel::Sc, "{seen:?}");
        assert_eq!(seen.len(), if memory == MemoryModel::Sc { 3 } else { 4 });
    }
}

#[test]
fn engines_that_cannot_follow_pointers_leave_it_to_dpor() {
    for engine in [Engine::Mcr, Engine::Cumulative] {
        let report = Builder::new().engine(engine).report(|| {
            let mut number = 0u32;
            let shared = unsafe { AtomicU32::from_ptr(&raw mut number) };
            thread::scope(|scope| {
                scope.spawn(|| shared.store(shared.load(Relaxed) + 1, Relaxed));
                shared.store(shared.load(Relaxed) + 1, Relaxed);
            });
            assert_eq!(number, 2);
        });
        assert_eq!((report.verdict(), report.engine), (Verdict::Violation, Engine::Dpor), "{report:?}");
    }
}

#[test]
fn pointers_are_good_in_destructors_of_executions_that_are_given_up() {
    struct Stack(AtomicPtr<u32>);
    impl Drop for Stack {
        fn drop(&mut self) {
            // The values of an execution that fails may be anything that was stored, but nothing that was freed.
            let left = unsafe { *self.0.as_ptr() };
            self.0.swap(std::ptr::null_mut(), Relaxed);
            assert!(unsafe { *self.0.as_ptr() }.is_null());
            drop((!left.is_null()).then(|| unsafe { Box::from_raw(left) }));
        }
    }
    let (kind, message) = fails(|| {
        let stack = Arc::new(Stack(AtomicPtr::new(Box::into_raw(Box::new(1)))));
        let take = |stack: &Stack| stack.0.swap(std::ptr::null_mut(), AcqRel);
        let other = {
            let stack = stack.clone();
            thread::spawn(move || {
                let taken = take(&stack);
                drop((!taken.is_null()).then(|| unsafe { Box::from_raw(taken) }));
            })
        };
        assert!(unsafe { AtomicPtr::from_ptr(stack.0.as_ptr()) }.load(Acquire).is_null(), "not taken yet");
        other.join().unwrap();
    });
    assert_eq!((kind, message.contains("not taken yet")), ("panic", true), "{message}");
}
