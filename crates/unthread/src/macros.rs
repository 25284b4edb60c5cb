//! The macros `thread_local!` and `lazy_static!`, and how types are made.

/// `new`, which is a constant expression with feature `const-new`, and `const_new`, which always is one.
macro_rules! constructors {
    ($(#[$doc:meta])* new($($name:ident: $type:ty),*) -> $this:ty { $made:expr } const { $constant:expr }) => {
        $(#[$doc])*
        #[cfg(not(feature = "const-new"))]
        #[track_caller]
        pub fn new($($name: $type),*) -> $this {
            $made
        }

        $(#[$doc])*
        #[cfg(feature = "const-new")]
        #[track_caller]
        pub const fn new($($name: $type),*) -> $this {
            $constant
        }

        /// Like `new`, for constant expressions. A static, or what is in one, is in every execution as it is made here. Anything else gets its name when
        /// it is first used (see [`crate::guide::const_new`]).
        #[track_caller]
        pub const fn const_new($($name: $type),*) -> $this {
            $constant
        }
    };
}

/// Declares thread-local variables, as [`std::thread_local!`] does. Each thread of each execution has its own.
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!(@one $(#[$attribute])* $visibility $name, $type, $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = const $init:block) => {
        $crate::thread_local!(@one $(#[$attribute])* $visibility $name, $type, $init);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!(@one $(#[$attribute])* $visibility $name, $type, $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $init:expr) => {
        $crate::thread_local!(@one $(#[$attribute])* $visibility $name, $type, $init);
    };
    (@one $(#[$attribute:meta])* $visibility:vis $name:ident, $type:ty, $init:expr) => {
        $(#[$attribute])*
        $visibility static $name: $crate::thread::LocalKey<$type> = {
            fn init() -> $type {
                $init
            }
            $crate::thread::LocalKey::new(init)
        };
    };
}

/// Declares statics that are made when they are first needed, in every execution anew.
#[macro_export]
macro_rules! lazy_static {
    ($(#[$attribute:meta])* static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attribute])* () static ref $($rest)*);
    };
    ($(#[$attribute:meta])* pub static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attribute])* (pub) static ref $($rest)*);
    };
    ($(#[$attribute:meta])* pub ($($visibility:tt)+) static ref $($rest:tt)*) => {
        $crate::__lazy_static!($(#[$attribute])* (pub ($($visibility)+)) static ref $($rest)*);
    };
    () => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __lazy_static {
    ($(#[$attribute:meta])* ($($visibility:tt)*) static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        #[allow(missing_copy_implementations, non_camel_case_types, dead_code)]
        $(#[$attribute])*
        $($visibility)* struct $name {
            private: (),
        }
        #[doc(hidden)]
        $($visibility)* static $name: $name = $name { private: () };
        impl ::std::ops::Deref for $name {
            type Target = $type;

            fn deref(&self) -> &$type {
                static LAZY: $crate::lazy_static::Lazy<$type> = {
                    fn init() -> $type {
                        $init
                    }
                    $crate::lazy_static::Lazy { init }
                };
                LAZY.get()
            }
        }
        $crate::lazy_static!($($rest)*);
    };
}
