//! What compiles with the standard library compiles with unthread, and gives the same: one text, run with both.

use crate::holds;
use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The functions of this module, with the types of a library.
macro_rules! surface {
    ($library:ident) => {
        use super::*;
        use $library::hint;
        use $library::sync::atomic::{Ordering::*, *};
        use $library::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, Weak, mpsc};
        use $library::thread;

        macro_rules! integers {
            ($results:ident: $atomic:ident of $int:ident, $rest:tt) => {{
                let (low, high) = ($int::MIN, $int::MAX);
                let mut number = $atomic::new(high);
                let results = [
                    number.fetch_add(2, SeqCst),
                    number.fetch_sub(1, Relaxed),
                    number.fetch_and(0x5a, Acquire),
                    number.fetch_or(0x13, Release),
                    number.fetch_xor(0x7f, AcqRel),
                    number.fetch_nand(0x3c, SeqCst),
                    number.fetch_max(high, SeqCst),
                    number.fetch_min(low, SeqCst),
                    number.swap(5, SeqCst),
                    number.load(Acquire),
                ];
                number.store(7, Release);
                $results.push(format!("{results:?} {number:?}"));
                $results.push(format!("{:?}", number.compare_exchange(7, 8, SeqCst, Relaxed)));
                $results.push(format!("{:?}", number.compare_exchange(7, 9, SeqCst, Relaxed)));
                $results.push(format!("{:?}", number.compare_exchange_weak(9, 9, SeqCst, Relaxed)));
                $results.push(format!("{:?}", number.fetch_update(SeqCst, Relaxed, |old| old.checked_add(1))));
                $results.push(format!("{:?}", number.try_update(SeqCst, Relaxed, |_| None)));
                $results.push(format!("{:?}", number.update(SeqCst, Relaxed, |old| old / 2)));
                *number.get_mut() += 1;
                $results.push(format!("{:?} {:?}", unsafe { *number.as_ptr() }, $atomic::default()));
                unsafe { *number.as_ptr() += 1 };
                $results.push(format!("{:?} {}", $atomic::from(3), number.into_inner()));
                let mut memory: $int = 4;
                unsafe { $atomic::from_ptr(&raw mut memory) }.fetch_add(1, SeqCst);
                $results.push(memory.to_string());
            }};
        }

        pub(super) fn atomics() -> Vec<String> {
            let mut results = Vec::new();
            integers!(results: AtomicI8 of i8, ());
            integers!(results: AtomicI16 of i16, ());
            integers!(results: AtomicI32 of i32, ());
            integers!(results: AtomicI64 of i64, ());
            integers!(results: AtomicIsize of isize, ());
            integers!(results: AtomicU8 of u8, ());
            integers!(results: AtomicU16 of u16, ());
            integers!(results: AtomicU32 of u32, ());
            integers!(results: AtomicU64 of u64, ());
            integers!(results: AtomicUsize of usize, ());
            let mut flag = AtomicBool::new(true);
            let old = [
                flag.fetch_and(false, SeqCst),
                flag.fetch_or(true, SeqCst),
                flag.fetch_nand(true, SeqCst),
                flag.fetch_xor(true, SeqCst),
                flag.fetch_not(SeqCst),
                flag.swap(true, SeqCst),
            ];
            *flag.get_mut() = unsafe { *flag.as_ptr() };
            results.push(format!("{old:?} {flag:?} {:?} {:?}", AtomicBool::default(), AtomicBool::from(true)));
            results.push(format!("{:?} {}", flag.compare_exchange(false, true, SeqCst, SeqCst), flag.into_inner()));
            let mut numbers = [1u32, 2, 3];
            let start = numbers.as_mut_ptr();
            let pointer = AtomicPtr::new(start);
            pointer.fetch_ptr_add(2, SeqCst);
            let third = unsafe { *pointer.load(SeqCst) };
            pointer.fetch_ptr_sub(1, SeqCst);
            pointer.fetch_byte_add(4, SeqCst);
            pointer.fetch_byte_sub(8, SeqCst);
            pointer.fetch_or(1, SeqCst);
            pointer.fetch_xor(3, SeqCst);
            pointer.fetch_and(!3, SeqCst);
            results.push(format!("{third} {}", pointer.load(SeqCst) == start));
            results.push(format!("{}", format!("{pointer:p}") == format!("{start:p}")));
            results.push(format!("{:?}", AtomicPtr::<u8>::default()));
            fence(SeqCst);
            compiler_fence(SeqCst);
            results
        }

        pub(super) fn locks() -> Vec<String> {
            let mut results = Vec::new();
            let mut mutex = Mutex::new(1);
            *mutex.lock().unwrap() += 1;
            let held = mutex.lock().unwrap();
            results.push(format!("{:?} {held} {held:?}", mutex.try_lock().is_err()));
            drop(held);
            *mutex.get_mut().unwrap() += 1;
            mutex.clear_poison();
            results.push(format!("{} {}", mutex.is_poisoned(), mutex.into_inner().unwrap()));
            results.push(format!("{:?}", [Mutex::<u8>::default(), Mutex::from(3)].map(|it| it.into_inner().unwrap())));
            let mut lock = RwLock::new(vec![1]);
            lock.write().unwrap().push(2);
            let (one, two) = (lock.read().unwrap(), lock.try_read().unwrap());
            results.push(format!("{one:?} {two:?} {}", lock.try_write().is_err()));
            drop((one, two));
            let mut alone = lock.write().unwrap();
            alone.push(3);
            let shared = RwLockWriteGuard::downgrade(alone);
            results.push(format!("{shared:?} {}", lock.try_read().is_ok()));
            drop(shared);
            lock.get_mut().unwrap().push(4);
            lock.clear_poison();
            results.push(format!("{} {:?}", lock.is_poisoned(), lock.into_inner().unwrap()));
            let shared = Arc::new((Mutex::new(0), Condvar::new(), Barrier::new(2)));
            let other = {
                let shared = shared.clone();
                thread::spawn(move || {
                    *shared.0.lock().unwrap() = 5;
                    shared.1.notify_all();
                    shared.1.notify_one();
                    shared.2.wait().is_leader()
                })
            };
            let number = shared.1.wait_while(shared.0.lock().unwrap(), |number| *number == 0).unwrap();
            let (number, _) = shared.1.wait_timeout(number, Duration::from_millis(1)).unwrap();
            let waited = shared.1.wait_timeout_while(number, Duration::from_millis(1), |number| *number == 5);
            let (number, result) = waited.unwrap();
            results.push(format!("{number} {}", result.timed_out()));
            drop(number);
            let leader = shared.2.wait().is_leader();
            results.push(format!("{}", leader != other.join().unwrap()));
            results
        }

        pub(super) fn once() -> Vec<String> {
            let mut results = Vec::new();
            let once = Once::new();
            once.call_once(|| results.push("once".to_string()));
            once.call_once(|| results.push("twice".to_string()));
            once.call_once_force(|state| results.push(format!("{}", state.is_poisoned())));
            once.wait();
            once.wait_force();
            let mut lock = OnceLock::new();
            results.push(format!("{} {:?} {:?}", once.is_completed(), lock.get(), lock.set(1)));
            results.push(format!("{:?} {} {:?}", lock.set(2), lock.get_or_init(|| 3), lock.wait()));
            *lock.get_mut().unwrap() += 1;
            results.push(format!("{:?} {:?}", lock.clone() == OnceLock::from(2), lock.take()));
            results.push(format!("{:?} {:?}", lock.get().copied(), lock.into_inner()));
            let mut lazy: LazyLock<u32> = LazyLock::new(|| 5);
            results.push(format!("{:?} {:?}", LazyLock::get(&lazy).copied(), LazyLock::get_mut(&mut lazy)));
            results.push(format!("{} {}", LazyLock::force(&lazy), *lazy));
            *LazyLock::force_mut(&mut lazy) += 1;
            *lazy += 1;
            results.push(format!("{:?} {:?}", LazyLock::get(&lazy).copied(), LazyLock::get_mut(&mut lazy)));
            results
        }

        pub(super) fn arcs() -> Vec<String> {
            let mut results = Vec::new();
            let mut arc = Arc::new(1);
            let weak = Arc::downgrade(&arc);
            results.push(format!("{} {} {arc} {arc:?}", Arc::strong_count(&arc), Arc::weak_count(&arc)));
            results.push(format!("{:?} {} {}", weak.upgrade(), weak.strong_count(), weak.weak_count()));
            results.push(format!("{:?}", Arc::get_mut(&mut arc)));
            *Arc::make_mut(&mut arc) += 1;
            results.push(format!("{:?} {}", weak.upgrade(), weak.ptr_eq(&Weak::new())));
            let other = arc.clone();
            results.push(format!("{} {:?}", Arc::ptr_eq(&arc, &other), Arc::try_unwrap(other)));
            let raw = Arc::into_raw(arc);
            let arc = unsafe {
                Arc::increment_strong_count(raw);
                Arc::decrement_strong_count(raw);
                Arc::from_raw(raw)
            };
            results.push(format!("{} {:?}", Arc::as_ptr(&arc) == raw, arc.cmp(&Arc::new(3))));
            results.push(format!("{:?} {}", Arc::into_inner(arc), Arc::unwrap_or_clone(Arc::new(4))));
            let cyclic = Arc::new_cyclic(|weak: &Weak<(u8, Weak<u8>)>| (weak.strong_count() as u8, Weak::new()));
            let weak = Arc::downgrade(&cyclic).into_raw();
            let weak = unsafe { Weak::from_raw(weak) };
            results.push(format!("{} {}", cyclic.0, weak.as_ptr() == Arc::as_ptr(&cyclic)));
            let texts: [Arc<str>; 5] =
                [Arc::from("a"), Arc::from("b".to_string()), Arc::from(Cow::Borrowed("c")), Arc::default(), Box::<str>::from("d").into()];
            results.push(format!("{texts:?} {:?}", Arc::<[u8]>::from(texts[0].clone())));
            let slices: [Arc<[u8]>; 5] =
                [Arc::from([1, 2]), Arc::from(vec![3]), Arc::from(&[4u8][..]), (5..7).collect(), Arc::default()];
            results.push(format!("{slices:?} {:?}", Arc::<[u8; 2]>::try_from(slices[0].clone())));
            results.push(format!("{:?}", Arc::<[u8; 3]>::try_from(slices[0].clone())));
            let paths: [Arc<Path>; 2] = [Arc::from(Path::new("a")), Arc::from(PathBuf::from("b"))];
            let systems: [Arc<OsStr>; 2] = [Arc::from(OsStr::new("a")), Arc::from(OsString::from("b"))];
            let strings: [Arc<CStr>; 3] = [Arc::from(c"a"), Arc::from(CString::default()), Arc::default()];
            results.push(format!("{paths:?} {systems:?} {strings:?}"));
            let any: Arc<dyn Any + Send + Sync> = Arc::from(Box::new(5u8) as Box<dyn Any + Send + Sync>);
            results.push(format!("{:?}", any.downcast::<u16>().unwrap_err().downcast::<u8>()));
            let mut room = Arc::<u8>::new_uninit();
            Arc::get_mut(&mut room).unwrap().write(6);
            results.push(format!("{:?}", unsafe { (room.assume_init(), Arc::<u8>::new_zeroed().assume_init()) }));
            let mut rooms = Arc::<[u8]>::new_uninit_slice(2);
            Arc::get_mut(&mut rooms).unwrap().iter_mut().for_each(|room| _ = room.write(7));
            let zeroes = Arc::<[u8]>::new_zeroed_slice(1);
            results.push(format!("{:?}", unsafe { (rooms.assume_init(), zeroes.assume_init()) }));
            results.push(format!("{:?}", Arc::pin(8)));
            results
        }

        pub(super) fn channels() -> Vec<String> {
            let mut results = Vec::new();
            let (sender, receiver) = mpsc::channel();
            [1, 2, 3, 4].into_iter().for_each(|number| sender.clone().send(number).unwrap());
            results.push(format!("{:?} {:?}", receiver.recv(), receiver.try_recv()));
            results.push(format!("{:?} {:?}", receiver.recv_timeout(Duration::ZERO), receiver.iter().next()));
            results.push(format!("{:?} {:?}", receiver.try_iter().next(), receiver.try_recv()));
            sender.send(5).unwrap();
            drop(sender);
            results.push(format!("{:?} {:?}", (&receiver).into_iter().collect::<Vec<_>>(), receiver.recv()));
            results.push(format!("{:?} {:?}", receiver.try_recv(), receiver.recv_timeout(Duration::ZERO)));
            results.push(format!("{:?}", receiver.into_iter().next()));
            let (sender, receiver) = mpsc::sync_channel(1);
            results.push(format!("{:?} {:?}", sender.try_send(1), sender.try_send(2)));
            results.push(format!("{:?} {:?}", receiver.recv(), sender.send(3)));
            drop(receiver);
            results.push(format!("{:?} {:?}", sender.try_send(4), sender.send(5)));
            results.push(format!("{} {}", sender.try_send(4).unwrap_err(), sender.send(5).unwrap_err()));
            results.push(format!("{}", mpsc::TrySendError::from(mpsc::SendError(6))));
            results.push(format!("{}", mpsc::RecvTimeoutError::from(mpsc::RecvError)));
            results.push(format!("{} {}", mpsc::TryRecvError::from(mpsc::RecvError), mpsc::RecvError));
            results
        }

        pub(super) fn threads() -> Vec<String> {
            $library::thread_local! {
                static NUMBER: Cell<u32> = const { Cell::new(1) };
                static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1]);
            }
            let mut results = Vec::new();
            let builder = thread::Builder::new().name("named".to_string()).stack_size(100_000);
            let handle = builder.spawn(|| (thread::current().name().map(str::to_string), NUMBER.replace(5))).unwrap();
            results.push(format!("{:?} {}", handle.thread().name(), handle.thread().id() != thread::current().id()));
            results.push(format!("{:?}", handle.join().unwrap()));
            NUMBER.set(NUMBER.get() + 1);
            results.push(format!("{} {} {:?}", NUMBER.take(), NUMBER.get(), NUMBER.try_with(Cell::get).is_ok()));
            LIST.with_borrow_mut(|list| list.push(2));
            results.push(format!("{:?} {:?}", LIST.with_borrow(Vec::len), LIST.replace(vec![3])));
            LIST.set(vec![4, 5]);
            results.push(format!("{:?} {:?}", LIST.take(), LIST.with(|list| list.borrow().len())));
            let numbers = [1, 2, 3];
            let sum = thread::scope(|scope| {
                let sum = scope.spawn(|| numbers.iter().sum::<u32>());
                let named = thread::Builder::new().spawn_scoped(scope, || numbers.len() as u32).unwrap();
                let inner = scope.spawn(|| scope.spawn(|| 100).join().unwrap());
                sum.join().unwrap() + named.join().unwrap() + inner.join().unwrap()
            });
            let handle = unsafe { thread::Builder::new().spawn_unchecked(|| numbers[0]) }.unwrap();
            results.push(format!("{sum} {}", handle.join().unwrap()));
            thread::current().unpark();
            thread::park();
            thread::current().unpark();
            thread::park_timeout(Duration::from_millis(1));
            thread::sleep(Duration::ZERO);
            thread::yield_now();
            hint::spin_loop();
            unsafe { hint::assert_unchecked(sum > 0) };
            let chosen = hint::select_unpredictable(hint::black_box(true), 1, 2);
            results.push(format!("{chosen} {} {}", thread::panicking(), thread::available_parallelism().is_ok()));
            results
        }

        pub(super) const ALL: [fn() -> Vec<String>; 6] = [atomics, locks, once, arcs, channels, threads];
    };
}

mod standard {
    surface!(std);
}

mod ours {
    surface!(unthread);
}

#[test]
fn what_the_standard_library_does_is_done_here() {
    for (standard, ours) in standard::ALL.into_iter().zip(ours::ALL) {
        let expected = standard();
        holds(move || assert_eq!(ours(), expected));
    }
}
