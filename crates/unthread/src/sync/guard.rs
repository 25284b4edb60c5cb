//! What locks and their guards have in common.

/// A lock around a value: `Default`, `From` and `Debug`.
macro_rules! lock_traits {
    ($lock:ident) => {
        impl<T: Default> Default for $lock<T> {
            #[track_caller]
            fn default() -> Self {
                $lock::new(T::default())
            }
        }

        impl<T> From<T> for $lock<T> {
            #[track_caller]
            fn from(value: T) -> Self {
                $lock::new(value)
            }
        }

        impl<T: ?Sized> std::fmt::Debug for $lock<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($lock)).finish_non_exhaustive()
            }
        }
    };
}

/// A guard shows the value that it guards.
macro_rules! guard_traits {
    ($guard:ident) => {
        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: nobody else writes while this thread holds the lock.
                unsafe { &*self.lock.data() }
            }
        }

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard<'_, T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}

/// So does a guard that nobody else has at the same time, which can also change it.
macro_rules! exclusive_guard_traits {
    ($guard:ident) => {
        crate::sync::guard::guard_traits!($guard);

        impl<T: ?Sized> std::ops::DerefMut for $guard<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                // SAFETY: this thread holds the lock alone, and the guard is borrowed exclusively.
                unsafe { &mut *self.lock.data() }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[track_caller]
            fn drop(&mut self) {
                crate::runtime::abandon_or((), || {
                    self.lock.poison.done(self.was_panicking);
                    let (lock, mode) = (self.lock.poison.lock(), LockMode::Exclusive);
                    let operation = Operation::Unlock { lock, mode };
                    crate::runtime::request(crate::runtime::Request::on(self.lock.contents(), operation));
                });
            }
        }
    };
}

pub(super) use {exclusive_guard_traits, guard_traits, lock_traits};
