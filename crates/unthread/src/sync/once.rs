//! Things that happen once.

use super::Mutex;
use crate::runtime::{Kind, Name, Request, abandon_or, request};
use std::cell::UnsafeCell;
use std::fmt;
use unthread_checker::base::Loc;
use unthread_checker::execution::{Operation, Waits};
use unthread_checker::program::{Access, Ordering};

/// Runs a closure once, as in [`std::sync`].
pub struct Once {
    /// How far it is, and whatever the closure did.
    done: Name,
    running: Mutex<()>,
}

/// What a closure is told that is run by [`Once::call_once_force`].
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

/// How far something is that happens once.
const NOT_YET: i64 = 0;
const DONE: i64 = 1;
/// The closure has panicked.
const POISONED: i64 = 2;

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
    constructors! {
        /// Nothing has been run.
        new() -> Once {
            Once { done: Name::new(Kind::Once), running: Mutex::new(()) }
        } const {
            Once { done: Name::constant(Kind::Once), running: Mutex::const_new(()) }
        }
    }

    /// Runs the closure unless one has been run. When it returns, one has been.
    ///
    /// # Panics
    /// If one has been run and has panicked.
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        self.call(|state| {
            assert!(!state.poisoned, "Once instance has previously been poisoned");
            f();
        });
    }

    /// Runs the closure unless one has been run and has returned.
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        self.call(f);
    }

    #[track_caller]
    fn call(&self, f: impl FnOnce(&OnceState)) {
        if self.is_completed() {
            return;
        }
        let _running = self.running.lock();
        let state = self.state();
        if state != DONE {
            let running = Running(self);
            f(&OnceState { poisoned: state == POISONED });
            std::mem::forget(running);
            self.set(DONE);
        }
    }

    /// Whether a closure has been run and has returned.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.state() == DONE
    }

    /// Waits until a closure has been run.
    ///
    /// # Panics
    /// If it has panicked.
    #[track_caller]
    pub fn wait(&self) {
        let state = self.wait_while(NOT_YET);
        assert!(state != POISONED, "Once instance has previously been poisoned");
    }

    /// Waits until a closure has been run and has returned.
    #[track_caller]
    pub fn wait_force(&self) {
        while self.wait_while(NOT_YET) == POISONED && self.wait_while(POISONED) != DONE {}
    }

    #[track_caller]
    fn wait_while(&self, state: i64) -> i64 {
        let (loc, waits) = (self.loc(), Waits::For("something that happens once".to_string()));
        let operation = Operation::Read { loc, ordering: Ordering::Acquire, access: Access::Atomic };
        request(Request { awaiting: vec![(loc, state)], waits, ..Request::on(Some(loc), operation) })
    }

    #[track_caller]
    fn state(&self) -> i64 {
        let (loc, ordering, access) = (self.loc(), Ordering::Acquire, Access::Atomic);
        request(Request::on(Some(loc), Operation::Read { loc, ordering, access }))
    }

    #[track_caller]
    fn set(&self, value: i64) {
        let (loc, ordering, access) = (self.loc(), Ordering::Release, Access::Atomic);
        request(Request::on(Some(loc), Operation::Write { loc, value, ordering, access }));
    }

    #[track_caller]
    fn loc(&self) -> Loc {
        Loc::global(self.done.get() as usize)
    }
}

impl OnceState {
    /// Whether a closure has been run and has panicked.
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// The closure runs while this lives.
struct Running<'o>(&'o Once);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        abandon_or((), || self.0.set(POISONED));
    }
}

impl<T> OnceLock<T> {
    constructors! {
        /// There is no value yet.
        new() -> OnceLock<T> {
            OnceLock { once: Once::new(), name: Name::new(Kind::OnceLock), value: UnsafeCell::new(None) }
        } const {
            OnceLock { once: Once::const_new(), name: Name::constant(Kind::OnceLock), value: UnsafeCell::new(None) }
        }
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
        self.once.call_once_force(|_| {
            let value = make();
            // SAFETY: the lock is held, and nobody reads before `done` is set.
            unsafe { *self.data() = Some(value) };
        });
        // SAFETY: as in `get`.
        unsafe { (*self.data()).as_ref() }.expect("it has been set")
    }

    /// The value, as soon as it has been set.
    #[track_caller]
    pub fn wait(&self) -> &T {
        self.once.wait_force();
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

impl<T: Clone> Clone for OnceLock<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    #[track_caller]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceLock<T> {}

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
