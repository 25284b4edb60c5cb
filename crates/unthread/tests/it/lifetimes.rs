//! Objects that are used after their end are found, whatever their memory holds by then; their correct twins are verified.
//!
//! Each kind of mistake is a pair of programs that differ in when something ends.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use unthread::cell::{Cell, UnsafeCell};
use unthread::model::{Builder, Engine, MemoryModel, Report, Verdict};
use unthread::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize};
use unthread::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Notify, Once, OnceLock, RwLock, Weak, mpsc};
use unthread::{hint, thread};

/// A raw pointer that threads share, as lock-free code does.
struct Shared<T>(*mut T);

unsafe impl<T> Send for Shared<T> {}
unsafe impl<T> Sync for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    fn boxed(value: T) -> Shared<T> {
        Shared(Box::into_raw(Box::new(value)))
    }

    fn to(value: &T) -> Shared<T> {
        Shared(std::ptr::from_ref(value).cast_mut())
    }

    fn get<'a>(self) -> &'a T {
        unsafe { &*self.0 }
    }

    fn get_mut<'a>(self) -> &'a mut T {
        unsafe { &mut *self.0 }
    }

    fn free(self) {
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// When something ends.
#[derive(Clone, Copy, PartialEq)]
enum When {
    TooEarly,
    InTime,
}

use When::{InTime, TooEarly};

/// Ends something before or after the thread that uses it has ended.
fn in_turn<T>(when: When, user: thread::JoinHandle<T>, end: impl FnOnce()) {
    if when == TooEarly {
        end();
        user.join().unwrap();
    } else {
        user.join().unwrap();
        end();
    }
}

/// A value in a box that one thread uses, and that another one frees before or after the first has ended.
fn freed_box<T: 'static>(when: When, value: T, using: fn(&T)) {
    let shared = Shared::boxed(value);
    let user = thread::spawn(move || using(shared.get()));
    in_turn(when, user, || shared.free());
}

/// The same, where the thread that frees waits until the other one has begun to use the value, or until it is done with it.
fn freed_in_use<T: 'static>(when: When, value: T, using: fn(&T, &dyn Fn())) {
    let (shared, begun) = (Shared::boxed(value), Arc::new(AtomicBool::new(false)));
    let tell = begun.clone();
    let user = thread::spawn(move || using(shared.get(), &|| tell.store(true, SeqCst)));
    while !begun.load(SeqCst) {
        hint::spin_loop();
    }
    in_turn(when, user, || shared.free());
}

struct Node {
    _value: AtomicUsize,
    next: AtomicPtr<Node>,
}

/// A stack whose nodes are freed at once by whoever takes them, or never.
fn treiber(when: When) {
    let head = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
    for value in 0..2 {
        let next = head.load(Relaxed);
        let node = Box::new(Node { _value: AtomicUsize::new(value), next: AtomicPtr::new(next) });
        head.store(Box::into_raw(node), Relaxed);
    }
    let pop = move |head: &AtomicPtr<Node>| loop {
        let top = head.load(Acquire);
        if top.is_null() {
            return;
        }
        let next = unsafe { &*top }.next.load(Relaxed);
        if head.compare_exchange(top, next, SeqCst, Relaxed).is_ok() {
            if when == TooEarly {
                Shared(top).free();
            }
            return;
        }
    };
    let other = head.clone();
    let popper = thread::spawn(move || pop(&other));
    pop(&head);
    popper.join().unwrap();
}

/// A reader that says what it reads, and a writer that frees it if nobody does. Correct readers look again after they have said so.
fn hazard(when: When) {
    let current = Arc::new(AtomicPtr::new(Shared::boxed(AtomicUsize::new(1)).0));
    let hazard = Arc::new(AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>()));
    let (read, protect) = (current.clone(), hazard.clone());
    let reader = thread::spawn(move || {
        let seen = read.load(SeqCst);
        protect.store(seen, SeqCst);
        if when == TooEarly || read.load(SeqCst) == seen {
            Shared(seen).get().load(Relaxed);
        }
        protect.store(std::ptr::null_mut(), SeqCst);
    });
    let old = current.swap(Shared::boxed(AtomicUsize::new(2)).0, SeqCst);
    if hazard.load(SeqCst) != old {
        Shared(old).free();
    }
    reader.join().unwrap();
}

fn returns_a_pointer_to_its_local() -> Shared<AtomicUsize> {
    let local = AtomicUsize::new(5);
    Shared::to(std::hint::black_box(&local))
}

/// A kind of mistake, and its programs.
type Kind = (&'static str, fn(When));

const KINDS: &[Kind] = &[
    ("box, load", |when| freed_box(when, AtomicUsize::new(77), |atomic| _ = atomic.load(Relaxed))),
    ("box, store", |when| freed_box(when, AtomicUsize::new(77), |atomic| atomic.store(1, Release))),
    ("box, store that waits", |when| freed_box(when, AtomicU8::new(7), |atomic| atomic.store(1, Relaxed))),
    ("box, update", |when| freed_box(when, AtomicUsize::new(77), |atomic| _ = atomic.fetch_add(1, SeqCst))),
    ("box, exchange", |when| {
        freed_box(when, AtomicBool::new(false), |atomic| _ = atomic.compare_exchange(false, true, SeqCst, Relaxed));
    }),
    ("box, pointer", |when| {
        freed_box(when, AtomicPtr::new(std::ptr::null_mut::<u8>()), |atomic| _ = atomic.load(Acquire));
    }),
    ("box, last of many", |when| {
        freed_box(when, std::array::from_fn::<_, 9, _>(AtomicUsize::new), |all| _ = all[8].load(Relaxed));
    }),
    ("mutex, lock", |when| freed_box(when, Mutex::new(vec![1]), |mutex| mutex.lock().unwrap().push(2))),
    ("mutex, try_lock", |when| freed_box(when, Mutex::new(1), |mutex| _ = mutex.try_lock().map(|guard| *guard))),
    ("mutex, held", |when| {
        freed_in_use(when, Mutex::new(1), |mutex, tell| {
            let guard = mutex.lock().unwrap();
            tell();
            thread::yield_now();
            drop(guard);
        });
    }),
    ("rwlock, read", |when| freed_box(when, RwLock::new(1), |lock| _ = *lock.read().unwrap())),
    ("rwlock, write", |when| freed_box(when, RwLock::new(1), |lock| *lock.write().unwrap() = 2)),
    ("rwlock, held", |when| {
        freed_in_use(when, RwLock::new(1), |lock, tell| {
            let guard = lock.read().unwrap();
            tell();
            thread::yield_now();
            drop(guard);
        });
    }),
    ("condvar, notify", |when| freed_box(when, Condvar::new(), Condvar::notify_all)),
    ("condvar, waited for", |when| {
        let shared = Shared::boxed((Mutex::new(false), Condvar::new()));
        let waiter = thread::spawn(move || {
            let (mutex, condvar) = shared.get();
            let mut guard = mutex.lock().unwrap();
            while !*guard {
                guard = condvar.wait(guard).unwrap();
            }
        });
        *shared.get().0.lock().unwrap() = true;
        shared.get().1.notify_one();
        in_turn(when, waiter, || shared.free());
    }),
    ("once", |when| freed_box(when, Once::new(), |once| once.call_once(|| {}))),
    ("once lock", |when| freed_box(when, OnceLock::new(), |once| _ = once.set(1))),
    ("lazy lock", |when| freed_box(when, LazyLock::new(|| 1), |lazy| _ = **lazy)),
    ("barrier", |when| freed_box(when, Barrier::new(1), |barrier| _ = barrier.wait())),
    ("notify", |when| freed_box(when, Notify::new(), Notify::notify)),
    ("cell", |when| freed_box(when, Cell::new(1), |cell| _ = cell.get())),
    ("unsafe cell, with", |when| freed_box(when, UnsafeCell::new(1), |cell| cell.with(|_| ()))),
    ("unsafe cell, pointer", |when| freed_box(when, UnsafeCell::new(1), |cell| drop(cell.get()))),
    ("unsafe cell, borrowed", |when| {
        freed_in_use(when, UnsafeCell::new(1), |cell, tell| {
            cell.with(|_| {
                tell();
                thread::yield_now();
            });
        });
    }),
    ("unsafe cell, borrowed to write", |when| {
        freed_in_use(when, UnsafeCell::new(1), |cell, tell| cell.with_mut(|_| tell()));
    }),
    ("arc, pointer into it", |when| {
        let arc = Arc::new((0u64, AtomicUsize::new(1)));
        let shared = Shared::to(&arc.1);
        let user = thread::spawn(move || shared.get().load(Relaxed));
        in_turn(when, user, || drop(arc));
    }),
    ("arc, pointer into it, several references", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        let (shared, other) = (Shared::to(&*arc), arc.clone());
        let user = thread::spawn(move || shared.get().store(2, Relaxed));
        let holder = thread::spawn(move || {
            other.load(Relaxed);
        });
        in_turn(when, user, || drop(arc));
        holder.join().unwrap();
    }),
    ("arc, from a weak reference's pointer", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        let weak: Weak<AtomicUsize> = Arc::downgrade(&arc);
        let user = thread::spawn(move || match when {
            TooEarly => unsafe { &*weak.as_ptr() }.load(Relaxed),
            InTime => weak.upgrade().map_or(0, |arc| arc.load(Relaxed)),
        });
        drop(arc);
        user.join().unwrap();
    }),
    ("arc, reference in a box", |when| {
        let shared = Shared::boxed(Arc::new(AtomicUsize::new(1)));
        let user = thread::spawn(move || shared.get().load(Relaxed));
        in_turn(when, user, || shared.free());
    }),
    ("arc, clone of a reference in a box", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        freed_box(when, arc.clone(), |arc| drop(arc.clone()));
    }),
    ("arc, reference in a box to what is still there", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        freed_box(when, arc.clone(), |arc| _ = arc.load(Relaxed));
    }),
    ("arc, reference that is looked at after its last operation", |when| {
        let arc = Arc::new(1);
        freed_box(when, (arc.clone(), AtomicUsize::new(0)), |(arc, _)| assert_eq!(**arc, 1));
    }),
    ("arc, reference that is replaced", |when| {
        let (first, second) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(2)));
        let shared = Shared::boxed(first.clone());
        let user = thread::spawn(move || drop(shared.get().clone()));
        in_turn(when, user, || *shared.get_mut() = second.clone());
        shared.free();
    }),
    ("arc, reference that two threads drop", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        unsafe { Arc::increment_strong_count(Arc::as_ptr(&arc)) };
        let (shared, claimed) = (Shared::boxed(arc.clone()), Arc::new(AtomicBool::new(false)));
        let other = claimed.clone();
        let free = move |claimed: &AtomicBool| {
            if when == TooEarly || !claimed.swap(true, SeqCst) {
                shared.free();
            }
        };
        let user = thread::spawn(move || free(&other));
        free(&claimed);
        user.join().unwrap();
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(&arc)) };
    }),
    ("arc, reference in what another one refers to", |when| {
        let inner = Arc::new(AtomicUsize::new(1));
        let outer = Arc::new((0u64, inner.clone()));
        let shared = Shared::to(&outer.1);
        let user = thread::spawn(move || drop(shared.get().clone()));
        in_turn(when, user, || drop(outer));
    }),
    ("weak reference in a box, upgrade", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        freed_box(when, Arc::downgrade(&arc), |weak| drop(weak.upgrade()));
    }),
    ("weak reference in a box, clone", |when| {
        let arc = Arc::new(AtomicUsize::new(1));
        freed_box(when, Arc::downgrade(&arc), |weak| drop(weak.clone()));
    }),
    ("channel, clone of one of several senders", |when| {
        let (sender, receiver) = mpsc::channel::<u8>();
        freed_box(when, sender.clone(), |sender| drop(sender.clone()));
        drop((sender, receiver));
    }),
    ("arc, given back twice", |when| {
        let raw = Shared(Arc::into_raw(Arc::new(AtomicUsize::new(1))).cast_mut());
        if when == InTime {
            unsafe { Arc::increment_strong_count(raw.0) };
        }
        let user = thread::spawn(move || drop(unsafe { Arc::from_raw({ raw }.0) }));
        drop(unsafe { Arc::from_raw(raw.0) });
        user.join().unwrap();
    }),
    ("channel, sender", |when| {
        let (sender, receiver) = mpsc::channel();
        freed_box(when, sender, |sender| _ = sender.send(1));
        drop(receiver);
    }),
    ("channel, bounded sender", |when| {
        let (sender, receiver) = mpsc::sync_channel(1);
        freed_box(when, sender, |sender| _ = sender.try_send(1));
        drop(receiver);
    }),
    ("channel, receiver", |when| {
        let (sender, receiver) = mpsc::channel::<u8>();
        freed_box(when, receiver, |receiver| _ = receiver.try_recv());
        drop(sender);
    }),
    ("stack, frame that is gone", |when| {
        let kept = AtomicUsize::new(5);
        let shared = if when == TooEarly { returns_a_pointer_to_its_local() } else { Shared::to(&kept) };
        shared.get().load(Relaxed);
    }),
    ("stack, thread that has ended", |when| {
        let place = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let (give, done) = (place.clone(), Arc::new(AtomicBool::new(false)));
        let wait = done.clone();
        let owner = thread::spawn(move || {
            let local = AtomicUsize::new(1);
            give.store(Shared::to(&local).0, SeqCst);
            while when == InTime && !wait.load(SeqCst) {
                hint::spin_loop();
            }
            drop(local);
        });
        let found = place.load(SeqCst);
        if !found.is_null() {
            Shared(found).get().load(Relaxed);
        }
        done.store(true, SeqCst);
        owner.join().unwrap();
    }),
    ("field of a struct", |when| {
        struct Inner {
            _name: String,
            flag: AtomicBool,
        }
        let inner = Inner { _name: "inner".to_string(), flag: AtomicBool::new(false) };
        freed_box(when, inner, |inner| inner.flag.store(true, SeqCst));
    }),
    ("element of a vector", |when| {
        let vector = (0..5).map(AtomicUsize::new).collect::<Vec<_>>();
        let shared = Shared::to(&vector[3]);
        let user = thread::spawn(move || shared.get().load(Relaxed));
        in_turn(when, user, || drop(vector));
    }),
    ("element of a vector that is truncated", |when| {
        let mut vector = (0..5).map(AtomicUsize::new).collect::<Vec<_>>();
        let shared = Shared::to(&vector[3]);
        let user = thread::spawn(move || shared.get().load(Relaxed));
        if when == TooEarly {
            vector.truncate(2);
        }
        user.join().unwrap();
    }),
    ("option that is taken", |when| {
        let shared = Shared::boxed(Some(AtomicUsize::new(1)));
        let user = thread::spawn(move || shared.get().as_ref().map(|atomic| atomic.load(SeqCst)));
        in_turn(when, user, || drop(shared.get_mut().take()));
        shared.free();
    }),
    ("object that is replaced", |when| {
        let shared = Shared::boxed(AtomicUsize::new(1));
        let user = thread::spawn(move || shared.get().load(SeqCst));
        in_turn(when, user, || *shared.get_mut() = AtomicUsize::new(2));
        shared.free();
    }),
    ("value that is taken out", |when| {
        let shared = Shared::boxed(AtomicUsize::new(1));
        let user = thread::spawn(move || shared.get().load(SeqCst));
        in_turn(when, user, || assert_eq!(unsafe { Box::from_raw(shared.0) }.into_inner(), 1));
    }),
    ("double free, by two threads", |when| {
        let shared = Shared::boxed(AtomicUsize::new(1));
        let claimed = Arc::new(AtomicBool::new(false));
        let other = claimed.clone();
        let free = move |claimed: &AtomicBool| {
            if when == TooEarly || !claimed.swap(true, SeqCst) {
                shared.free();
            }
        };
        let user = thread::spawn(move || free(&other));
        free(&claimed);
        user.join().unwrap();
    }),
    ("double free, by one thread", |when| {
        let shared = Shared::boxed((0u128, Mutex::new(1)));
        shared.free();
        if when == TooEarly {
            shared.free();
        }
    }),
    ("use after free, by one thread", |when| {
        let shared = Shared::boxed(Mutex::new(vec![1]));
        if when == InTime {
            shared.get().lock().unwrap().push(1);
        }
        shared.free();
        if when == TooEarly {
            shared.get().lock().unwrap().push(1);
        }
    }),
    ("freed while waited for", |when| {
        let shared = Shared::boxed(AtomicBool::new(false));
        let waiter = thread::spawn(move || {
            while !shared.get().load(SeqCst) {
                hint::spin_loop();
            }
        });
        shared.get().store(true, SeqCst);
        in_turn(when, waiter, || shared.free());
    }),
    ("freed in another order", |when| {
        let first = Shared::boxed(AtomicUsize::new(1));
        let second = Shared::boxed(AtomicPtr::new(first.0));
        let user = thread::spawn(move || Shared(second.get().load(SeqCst)).get().load(SeqCst));
        if when == InTime {
            user.join().unwrap();
            second.free();
            first.free();
        } else {
            first.free();
            user.join().unwrap();
            second.free();
        }
    }),
    ("told by a flag", |when| {
        let (shared, done) = (Shared::boxed(AtomicUsize::new(1)), Arc::new(AtomicBool::new(false)));
        let tell = done.clone();
        let user = thread::spawn(move || {
            if when == TooEarly {
                tell.store(true, Release);
                shared.get().fetch_add(1, Relaxed);
            } else {
                shared.get().fetch_add(1, Relaxed);
                tell.store(true, Release);
            }
        });
        while !done.load(Acquire) {
            hint::spin_loop();
        }
        shared.free();
        user.join().unwrap();
    }),
    ("counted by hand", |when| {
        let shared = Shared::boxed((AtomicUsize::new(2), AtomicUsize::new(0)));
        let release = move || {
            let (count, value) = shared.get();
            if when == InTime {
                value.fetch_add(1, Relaxed);
            }
            let last = count.fetch_sub(1, SeqCst) == 1;
            if when == TooEarly {
                value.fetch_add(1, Relaxed);
            }
            if last {
                shared.free();
            }
        };
        let user = thread::spawn(release);
        release();
        user.join().unwrap();
    }),
    ("thread-local of another thread", |when| {
        unthread::thread_local! {
            static OWN: AtomicUsize = AtomicUsize::new(3);
        }
        let (sender, receiver) = mpsc::channel();
        let done = Arc::new(AtomicBool::new(false));
        let wait = done.clone();
        let owner = thread::spawn(move || {
            OWN.with(|own| sender.send(Shared::to(own)).unwrap());
            while when == InTime && !wait.load(SeqCst) {
                hint::spin_loop();
            }
        });
        receiver.recv().unwrap().get().load(SeqCst);
        done.store(true, SeqCst);
        owner.join().unwrap();
    }),
    ("treiber stack", treiber),
    ("hazard pointer", hazard),
];

fn check(engine: Engine, memory: MemoryModel, when: When, program: fn(When)) -> Report {
    Builder::new().engine(engine).memory(memory).report(move || program(when))
}

/// Whether the check was refused because it is not known what is on the heap.
pub(crate) fn is_refused(report: &Report) -> bool {
    let is_refusal = |kind: &str| kind == "unsupported";
    !crate::KNOWS_THE_HEAP && report.violations.iter().any(|violation| is_refusal(violation.kind.name()))
}

const MEMORY: [MemoryModel; 3] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso];

#[test]
fn what_ends_too_early_is_found_in_every_memory_model() {
    assert!(KINDS.len() >= 40);
    for (name, program) in KINDS {
        for memory in MEMORY {
            let report = check(Engine::Dpor, memory, TooEarly, *program);
            let kinds: Vec<_> = report.violations.iter().map(|violation| violation.kind.name()).collect();
            assert!(kinds == ["use-after-free"] || is_refused(&report), "{name}, {memory}: {report:#?}");
        }
    }
}

#[test]
fn what_ends_in_time_is_verified_in_every_memory_model() {
    for (name, program) in KINDS {
        for memory in MEMORY {
            let report = check(Engine::Dpor, memory, InTime, *program);
            let is_fine = report.verdict() == Verdict::Verified || is_refused(&report);
            assert!(is_fine, "{name}, {memory}: {report:#?}");
        }
    }
}

#[test]
fn other_engines_find_the_same() {
    let engines = [Engine::Mcr, Engine::Cumulative, Engine::Exhaustive, Engine::Icb { preemptions: 2, traces: false }];
    for (name, program) in KINDS {
        for (engine, memory) in engines.into_iter().flat_map(|engine| MEMORY.map(|memory| (engine, memory))) {
            let wrong = check(engine, memory, TooEarly, *program);
            assert_eq!(wrong.verdict(), Verdict::Violation, "{name}, {engine:?}, {memory}: {wrong:#?}");
            let right = check(engine, memory, InTime, *program);
            let is_wrong = right.verdict() == Verdict::Violation && !is_refused(&right);
            assert!(!is_wrong, "{name}, {engine:?}, {memory}: {right:#?}");
        }
    }
}

/// A pointer into a cell may outlive the cell, as long as nobody uses it.
#[test]
fn a_pointer_that_is_not_used_any_more_may_be_there_when_its_cell_is_gone() {
    let report = check(Engine::Dpor, MemoryModel::Pso, InTime, |_| {
        let other = thread::spawn(|| {});
        let cell = UnsafeCell::new(Some(1));
        let pointer = cell.get();
        assert_eq!(unsafe { pointer.deref() }, &Some(1));
        assert_eq!(cell.into_inner(), Some(1));
        thread::yield_now();
        drop(pointer);
        other.join().unwrap();
    });
    assert_eq!(report.verdict(), Verdict::Verified, "{report:#?}");
}
