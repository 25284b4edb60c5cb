//! Thread-local variables.

use crate::lazy_static::AccessError;
use crate::runtime::{kept, with_thread};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// A thread-local variable, made by [`crate::thread_local!`]. Each thread of each execution has its own.
pub struct LocalKey<T: 'static> {
    init: fn() -> T,
}

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn new(init: fn() -> T) -> LocalKey<T> {
        LocalKey { init }
    }

    /// Does something with the variable.
    #[track_caller]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        match self.try_with(f) {
            Ok(result) => result,
            Err(AccessError) => panic!("{AccessError}"),
        }
    }

    /// Does something with the variable, unless it has been dropped because its thread ends.
    #[track_caller]
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> std::result::Result<R, AccessError> {
        let address = std::ptr::from_ref(self).addr();
        let known = with_thread(|_, thread| {
            let locals = thread.locals.borrow();
            locals.iter().find(|local| local.0 == address).map(|local| local.1.clone())
        });
        let value = match known {
            Some(value) => value.ok_or(AccessError)?,
            None => {
                let value: Rc<dyn std::any::Any> = kept((self.init)());
                with_thread(|_, thread| thread.locals.borrow_mut().push((address, Some(value.clone()))));
                value
            }
        };
        let value = value.downcast_ref::<T>().expect("a thread-local has one type");
        Ok(f(value))
    }
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Changes the value.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.with(|cell| cell.set(value));
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// Changes the value and gives the old one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// Does something with the value.
    #[track_caller]
    pub fn with_borrow<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.with(|cell| f(&cell.borrow()))
    }

    /// Does something to the value.
    #[track_caller]
    pub fn with_borrow_mut<R>(&'static self, f: impl FnOnce(&mut T) -> R) -> R {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Changes the value.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        self.replace(value);
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// Changes the value and gives the old one.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
