//! What may be looked at after a panic: as in the standard library. Values are held by the machine, which no panic leaves half changed, and locks are poisoned.

use super::{Arc, Barrier, Condvar, LazyLock, Mutex, Notify, Once, OnceLock, RwLock, Weak, atomic, mpsc};
use crate::thread::JoinHandle;
use std::panic::{RefUnwindSafe, UnwindSafe};

macro_rules! unwind_safe {
    ($($type:ty),* $(,)?) => {$(
        impl UnwindSafe for $type {}
        impl RefUnwindSafe for $type {}
    )*};
}

unwind_safe! {
    atomic::AtomicBool,
    atomic::AtomicI8,
    atomic::AtomicI16,
    atomic::AtomicI32,
    atomic::AtomicI64,
    atomic::AtomicIsize,
    atomic::AtomicU8,
    atomic::AtomicU16,
    atomic::AtomicU32,
    atomic::AtomicU64,
    atomic::AtomicUsize,
    Barrier,
    Condvar,
    Notify,
    Once,
}

impl<T> RefUnwindSafe for atomic::AtomicPtr<T> {}
impl<T> UnwindSafe for atomic::AtomicPtr<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}
impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe, F: UnwindSafe> RefUnwindSafe for LazyLock<T, F> {}
impl<T: UnwindSafe, F: UnwindSafe> UnwindSafe for LazyLock<T, F> {}
impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Arc<T> {}
impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Weak<T> {}
impl<T> RefUnwindSafe for mpsc::Sender<T> {}
impl<T> UnwindSafe for mpsc::Sender<T> {}
impl<T> RefUnwindSafe for mpsc::SyncSender<T> {}
impl<T> UnwindSafe for mpsc::SyncSender<T> {}
impl<T> RefUnwindSafe for mpsc::Receiver<T> {}
impl<T> UnwindSafe for mpsc::Receiver<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> UnwindSafe for JoinHandle<T> {}
