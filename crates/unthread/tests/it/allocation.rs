//! Running code under test takes memory for an execution and its threads, not for steps.
//!
//! The allocator of these tests counts. What grows with an execution (the path, what a thread has looked at) doubles now and then, and reversed races are kept;
//! so the bound is not zero, but far below one for a step.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use unthread::alloc::Allocator;
use unthread::model::{Builder, Engine, MemoryModel};
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use unthread::sync::{Arc, Mutex};
use unthread::thread;

struct Counting;

std::thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Allocator<Counting> = Allocator::around(Counting);

// SAFETY: everything is left to the system's allocator. Counting allocates nothing: the counter has no destructor and a constant first value.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Something that threads do again and again.
type Act = fn(usize, &AtomicUsize, &Mutex<usize>);

const ACTS: [(&str, Act); 3] = [
    ("update", |_, number, _| {
        number.fetch_add(1, SeqCst);
    }),
    ("store", |thread, number, _| number.store(thread, Relaxed)),
    ("lock", |_, _, locked| *locked.lock().unwrap() += 1),
];

/// Allocations of so many executions in which two threads do something so often.
fn allocations(engine: Engine, memory: MemoryModel, executions: usize, act: Act, times: usize) -> u64 {
    let before = ALLOCATIONS.get();
    let mut builder = Builder::new();
    builder.memory(memory).engine(engine).max_permutations = Some(executions);
    let report = builder.report(move || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0)));
        let run = |index| {
            let shared = shared.clone();
            thread::spawn(move || (0..times).for_each(|_| act(index, &shared.0, &shared.1)))
        };
        let threads = [0, 1].map(run);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(report.statistics.executions, executions as u64, "{report:?}");
    ALLOCATIONS.get() - before
}

#[test]
fn steps_allocate_nothing_in_the_steady_state() {
    const EXECUTIONS: usize = 100;
    for engine in [Engine::Random { seed: 1 }, Engine::Dpor] {
        for memory in [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso] {
            for (name, act) in ACTS {
                // The first executions take memory for all others.
                let later = |times| {
                    let [all, first] =
                        [2, 1].map(|half| allocations(engine, memory, half * EXECUTIONS, act, times) as f64);
                    (all - first) / EXECUTIONS as f64
                };
                let (few, many) = (later(10), later(60));
                let per_step = (many - few) / 100.0;
                assert!(per_step < 0.4, "{engine:?} {memory:?} {name}: {few} for 10 each, {many} for 60");
            }
        }
    }
}
