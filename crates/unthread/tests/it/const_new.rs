//! Feature `const-new`: `new` is what it is in the standard library, a constant expression.

use crate::holds;
use unthread::cell::{Cell, UnsafeCell};
use unthread::future::AtomicWaker;
use unthread::model::{Builder, Engine, Verdict};
use unthread::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use unthread::sync::{Arc, Weak};
use unthread::thread;

#[cfg(feature = "const-new")]
#[test]
fn statics_are_made_with_new() {
    use unthread::sync::atomic::{AtomicI8, AtomicU64};
    use unthread::sync::{Barrier, Condvar, LazyLock, Mutex, Notify, Once, OnceLock, RwLock};
    static COUNT: AtomicUsize = AtomicUsize::new(1);
    static LARGE: AtomicU64 = AtomicU64::new(1 << 63 | 5);
    static SMALL: AtomicI8 = AtomicI8::new(-128);
    static TEXT: &str = "abc";
    static POINTER: AtomicPtr<u8> = AtomicPtr::new(TEXT.as_ptr().cast_mut());
    static LIST: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static MAP: RwLock<Option<String>> = RwLock::new(None);
    static FILLED: Condvar = Condvar::new();
    static ONCE: Once = Once::new();
    static SET: OnceLock<u32> = OnceLock::new();
    static MADE: LazyLock<u32> = LazyLock::new(|| 7);
    static BOTH: Barrier = Barrier::new(2);
    static DONE: Notify = Notify::new();
    holds(|| {
        let other = thread::spawn(|| {
            COUNT.fetch_add(1, Relaxed);
            LIST.lock().unwrap().push(1);
            FILLED.notify_one();
            BOTH.wait();
            DONE.notify();
        });
        let mut list = LIST.lock().unwrap();
        while list.is_empty() {
            list = FILLED.wait(list).unwrap();
        }
        drop(list);
        BOTH.wait();
        DONE.wait();
        other.join().unwrap();
        ONCE.call_once(|| *MAP.write().unwrap() = Some("made".to_string()));
        assert_eq!((COUNT.load(Relaxed), LARGE.load(Relaxed), SMALL.load(Relaxed)), (2, 1 << 63 | 5, -128));
        assert_eq!(unsafe { *POINTER.load(Relaxed) }, b'a');
        assert_eq!((MAP.read().unwrap().as_deref(), *SET.get_or_init(|| 3), *MADE), (Some("made"), 3, 7));
    });
}

/// A type of the code under test, as it would be written for the standard library.
struct Stack {
    head: AtomicPtr<Node>,
    length: AtomicUsize,
    waker: AtomicWaker,
    last: Cell<u32>,
    data: UnsafeCell<[u8; 2]>,
    nobody: Weak<u32>,
}

struct Node {
    next: AtomicPtr<Node>,
    value: u32,
}

/// With the feature, a constant expression.
macro_rules! stack {
    () => {
        Stack {
            head: AtomicPtr::new(std::ptr::null_mut()),
            length: AtomicUsize::new(0),
            waker: AtomicWaker::new(),
            last: Cell::new(0),
            data: UnsafeCell::new([0; 2]),
            nobody: Weak::new(),
        }
    };
}

impl Stack {
    #[cfg(not(feature = "const-new"))]
    fn new() -> Stack {
        stack!()
    }

    #[cfg(feature = "const-new")]
    const fn new() -> Stack {
        stack!()
    }

    fn push(&self, value: u32) {
        let node = Box::into_raw(Box::new(Node { next: AtomicPtr::new(std::ptr::null_mut()), value }));
        let mut head = self.head.load(Acquire);
        loop {
            unsafe { &*node }.next.store(head, Relaxed);
            match self.head.compare_exchange_weak(head, node, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        self.length.fetch_add(1, Relaxed);
        self.waker.wake();
    }

    fn pop(&self) -> Option<u32> {
        let mut head = self.head.load(Acquire);
        while !head.is_null() {
            let next = unsafe { &*head }.next.load(Relaxed);
            match self.head.compare_exchange(head, next, AcqRel, Acquire) {
                Ok(_) => return Some(unsafe { Box::from_raw(head) }.value),
                Err(now) => head = now,
            }
        }
        None
    }
}

/// Two threads push; nodes are on the heap, and named by the memory that they are in.
#[test]
fn a_type_that_is_made_by_a_constant_expression_takes_no_more_executions() {
    let executions = holds(|| {
        let stack = Arc::new(Stack::new());
        let other = {
            let stack = stack.clone();
            thread::spawn(move || stack.push(1))
        };
        stack.push(2);
        other.join().unwrap();
        let all = [stack.pop(), stack.pop(), stack.pop()];
        assert!(all == [Some(1), Some(2), None] || all == [Some(2), Some(1), None]);
        stack.last.set(stack.length.load(Relaxed) as u32);
        assert_eq!((stack.last.get(), stack.data.with(|data| unsafe { *data })), (2, [0; 2]));
        assert!(stack.nobody.upgrade().is_none());
    });
    // With the feature and without it.
    assert_eq!(executions, 16);
}

#[cfg(feature = "const-new")]
#[test]
fn objects_that_are_not_statics_are_made_inside_of_the_closure() {
    let outside = std::sync::Arc::new(unthread::sync::atomic::AtomicBool::new(false));
    let (kind, message) = crate::fails(move || {
        let other = {
            let outside = outside.clone();
            thread::spawn(move || outside.swap(true, Relaxed))
        };
        outside.swap(true, Relaxed);
        other.join().unwrap();
    });
    assert_eq!(kind, "unsupported");
    assert!(message.contains("must be a static, or be made inside of the closure"), "{message}");
}

/// The first value of the head is an address, which is another one in every execution.
#[test]
fn an_object_that_begins_with_an_address_has_the_same_name_in_all_executions() {
    struct Queue {
        head: AtomicPtr<u32>,
        first: *mut u32,
    }
    unsafe impl Send for Queue {}
    unsafe impl Sync for Queue {}
    impl Drop for Queue {
        fn drop(&mut self) {
            drop(unsafe { Box::from_raw(self.first) });
        }
    }
    let executions = holds(|| {
        // What is allocated before differs from execution to execution.
        let _pad = vec![0u8; unthread::choose(0..2) * 64];
        let first = Box::into_raw(Box::new(1));
        let queue = Arc::new(Queue { head: AtomicPtr::new(first), first });
        let other = {
            let queue = queue.clone();
            thread::spawn(move || queue.head.swap(std::ptr::null_mut(), AcqRel).is_null())
        };
        let taken = queue.head.swap(std::ptr::null_mut(), AcqRel).is_null();
        assert!(taken != other.join().unwrap());
    });
    assert_eq!(executions, 4);
}

/// Objects may begin with numbers that count on from execution to execution. All executions are looked at, but nothing is verified by that.
#[test]
fn an_object_that_begins_with_another_value_has_the_same_name() {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    for engine in [Engine::Dpor, Engine::Mcr, Engine::Cumulative] {
        let report = Builder::new().engine(engine).report(|| {
            let first = NEXT.fetch_add(1, Relaxed);
            let cells = Arc::new([AtomicUsize::new(first), AtomicUsize::new(first)]);
            let run = move |cells: &[AtomicUsize; 2], me: usize| {
                cells[me].fetch_add(1, Relaxed);
                cells[1 - me].load(Relaxed) - first
            };
            let other = {
                let cells = cells.clone();
                thread::spawn(move || run(&cells, 1))
            };
            assert_ne!((run(&cells, 0), other.join().unwrap()), (0, 0));
        });
        assert_eq!(
            (report.stop.name(), report.engine, report.statistics.executions),
            ("nondeterminism", Engine::Dpor, 3)
        );
        let report = Builder::new().engine(engine).report(|| {
            let number = Arc::new(AtomicUsize::new(NEXT.fetch_add(1, Relaxed)));
            let first = number.load(Relaxed);
            let other = {
                let number = number.clone();
                thread::spawn(move || number.store(number.load(Relaxed) + 1, Relaxed))
            };
            number.store(number.load(Relaxed) + 1, Relaxed);
            other.join().unwrap();
            assert_eq!(number.load(Relaxed), first + 2);
        });
        assert_eq!(report.verdict(), Verdict::Violation);
    }
}
