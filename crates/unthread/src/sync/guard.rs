//! What types of locks and their guards have in common, by delegation to [`super::lock::Lock`].

/// A lock around a value: what does not depend on who may hold it at the same time.
macro_rules! lock_methods {
    ($lock:ident) => {
        impl<T> $lock<T> {
            constructors! {
                /// A lock around a value.
                new(value: T) -> $lock<T> {
                    $lock { inner: Lock::new(crate::runtime::Kind::$lock, value) }
                } const {
                    $lock { inner: Lock::constant(crate::runtime::Kind::$lock, value) }
                }
            }

            /// The value; the lock is no more.
            #[track_caller]
            pub fn into_inner(self) -> LockResult<T> {
                self.inner.into_inner()
            }
        }

        impl<T: ?Sized> $lock<T> {
            /// The value, for whoever has exclusive access.
            #[track_caller]
            pub fn get_mut(&mut self) -> LockResult<&mut T> {
                self.inner.get_mut()
            }

            /// Whether a thread has panicked that held it and could change the value.
            #[track_caller]
            pub fn is_poisoned(&self) -> bool {
                self.inner.is_poisoned()
            }

            /// Forgets that a thread has panicked.
            #[track_caller]
            pub fn clear_poison(&self) {
                self.inner.set_poisoned(false);
            }
        }

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
        // SAFETY: it shows the value and nothing else, and all threads of an execution are on one OS thread.
        unsafe impl<T: ?Sized + Sync> Sync for $guard<'_, T> {}

        impl<T: ?Sized> std::ops::Deref for $guard<'_, T> {
            type Target = T;

            fn deref(&self) -> &T {
                // SAFETY: nobody else writes while this thread holds the lock.
                unsafe { &*self.lock.inner.data() }
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
                self.holding.begin_change();
                // SAFETY: this thread holds the lock alone, and the guard is borrowed exclusively.
                unsafe { &mut *self.lock.inner.data() }
            }
        }

        impl<T: ?Sized> Drop for $guard<'_, T> {
            #[track_caller]
            fn drop(&mut self) {
                self.lock.inner.release(&self.holding);
            }
        }
    };
}

pub(super) use {exclusive_guard_traits, guard_traits, lock_methods};
