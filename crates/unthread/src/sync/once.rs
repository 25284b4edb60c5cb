//! Things that happen once.

use super::Mutex;
use crate::runtime::{Name, Request, request};
use std::cell::UnsafeCell;
use std::fmt;
use unthread_checker::execution::Operation;
use unthread_checker::program::{Access, Loc, Ordering};

/// Runs a closure once, as in [`std::sync`].
pub struct Once {
    /// A flag, and whatever the closure did.
    done: Name,
    running: Mutex<()>,
}

/// A value that is set once, as in [`std::sync`].
pub struct OnceLock<T> {
    once: Once,
    name: Name,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: the value is written once, under a lock, before others are told that it is there.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: it owns its value.
unsafe impl<T: Send> Send for OnceLock<T> {}

impl Once {
    /// Nothing has been run.
    #[track_caller]
    pub fn new() -> Once {
        Once { done: Name::new("Once"), running: Mutex::new(()) }
    }

    /// A static.
    pub const fn const_new() -> Once {
        Once { done: Name::of_static("Once"), running: Mutex::const_new(()) }
    }

    /// Runs the closure unless one has been run. When it returns, one has been.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if self.is_completed() {
            return;
        }
        let _running = self.running.lock();
        if !self.is_completed() {
            f();
            let loc = self.loc();
            let (value, ordering, access) = (1, Ordering::Release, Access::Atomic);
            request(Request::on(Some(loc), Operation::Write { loc, value, ordering, access }));
        }
    }

    /// Whether a closure has been run.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        let (loc, ordering, access) = (self.loc(), Ordering::Acquire, Access::Atomic);
        request(Request::on(Some(loc), Operation::Read { loc, ordering, access })) != 0
    }

    #[track_caller]
    fn loc(&self) -> Loc {
        Loc::global(self.done.get() as usize)
    }
}

impl<T> OnceLock<T> {
    /// There is no value yet.
    #[track_caller]
    pub fn new() -> OnceLock<T> {
        OnceLock { once: Once::new(), name: Name::new("OnceLock"), value: UnsafeCell::new(None) }
    }

    /// A static: `static V: OnceLock<u32> = OnceLock::const_new()`. In every execution there is no value at first.
    pub const fn const_new() -> OnceLock<T> {
        let (once, name) = (Once::const_new(), Name::of_static("OnceLock"));
        OnceLock { once, name, value: UnsafeCell::new(None) }
    }

    #[track_caller]
    fn data(&self) -> *mut Option<T> {
        self.name.data(self.value.get())
    }

    /// The value, if it has been set.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: once it has been set, nobody writes it again while `self` is shared.
        self.once.is_completed().then(|| unsafe { (*self.data()).as_ref() })?
    }

    /// The value, for whoever has exclusive access.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Sets the value, unless it has been set.
    #[track_caller]
    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("the closure runs once"));
        value.map_or(Ok(()), Err)
    }

    /// The value; the closure makes it if it has not been set.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        self.once.call_once(|| {
            let value = make();
            // SAFETY: the lock is held, and nobody reads before `done` is set.
            unsafe { *self.data() = Some(value) };
        });
        // SAFETY: as in `get`.
        unsafe { (*self.data()).as_ref() }.expect("it has been set")
    }

    /// The value; there is no more.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out.
    #[track_caller]
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl Default for Once {
    #[track_caller]
    fn default() -> Self {
        Once::new()
    }
}

impl<T> Default for OnceLock<T> {
    #[track_caller]
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> From<T> for OnceLock<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        let lock = OnceLock::new();
        let _ = lock.set(value);
        lock
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceLock").finish_non_exhaustive()
    }
}
