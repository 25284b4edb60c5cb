//! How the shared pointer is made from other things, and what becomes of it.

use super::Arc;
use std::any::Any;
use std::borrow::{Cow, ToOwned};
use std::error::Error;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

impl<T> From<T> for Arc<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        Arc::new(value)
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    #[track_caller]
    fn from(value: [T; N]) -> Self {
        Arc::from_std(std::sync::Arc::new(value))
    }
}

impl<T, const N: usize> From<Arc<[T; N]>> for Arc<[T]> {
    fn from(array: Arc<[T; N]>) -> Self {
        Arc::coerce(array, |array| array)
    }
}

impl<T: Any + Send + Sync> From<Arc<T>> for Arc<dyn Any + Send + Sync> {
    fn from(value: Arc<T>) -> Self {
        Arc::coerce(value, |value| value)
    }
}

impl<'a, T: Error + Send + Sync + 'a> From<Arc<T>> for Arc<dyn Error + Send + Sync + 'a> {
    fn from(error: Arc<T>) -> Self {
        Arc::coerce(error, |error| error)
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Arc::from_std(items.into_iter().collect())
    }
}

impl<'a, B> From<Cow<'a, B>> for Arc<B>
where
    B: ToOwned + ?Sized,
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[track_caller]
    fn from(value: Cow<'a, B>) -> Self {
        match value {
            Cow::Borrowed(borrowed) => Arc::from(borrowed),
            Cow::Owned(owned) => Arc::from(owned),
        }
    }
}

/// Whatever the standard pointer is made from.
macro_rules! from {
    ($(impl $([$($generics:tt)*])? From<$from:ty> for $to:ty;)*) => {$(
        impl$(<$($generics)*>)? From<$from> for Arc<$to> {
            #[track_caller]
            fn from(value: $from) -> Self {
                Arc::from_std(value.into())
            }
        }
    )*};
}

from! {
    impl [T: ?Sized] From<Box<T>> for T;
    impl [T] From<Vec<T>> for [T];
    impl [T: Clone] From<&[T]> for [T];
    impl From<&str> for str;
    impl From<String> for str;
    impl From<&Path> for Path;
    impl From<PathBuf> for Path;
    impl From<&OsStr> for OsStr;
    impl From<OsString> for OsStr;
    impl From<&CStr> for CStr;
    impl From<CString> for CStr;
}

impl From<Arc<str>> for Arc<[u8]> {
    fn from(text: Arc<str>) -> Self {
        text.into_type(Into::into)
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    fn try_from(slice: Arc<[T]>) -> Result<Self, Arc<[T]>> {
        match slice.len() == N {
            true => Ok(slice.into_type(|slice| slice.try_into().ok().expect("it is that long"))),
            false => Err(slice),
        }
    }
}

impl Default for Arc<str> {
    #[track_caller]
    fn default() -> Self {
        Arc::from("")
    }
}

impl<T> Default for Arc<[T]> {
    #[track_caller]
    fn default() -> Self {
        Arc::from([])
    }
}

impl Default for Arc<CStr> {
    #[track_caller]
    fn default() -> Self {
        Arc::from(c"")
    }
}

impl<T> Arc<T> {
    /// Room for a value.
    #[track_caller]
    pub fn new_uninit() -> Arc<MaybeUninit<T>> {
        Arc::from_std(std::sync::Arc::new_uninit())
    }

    /// Room for a value, of zeroes.
    #[track_caller]
    pub fn new_zeroed() -> Arc<MaybeUninit<T>> {
        Arc::from_std(std::sync::Arc::new_zeroed())
    }
}

impl<T> Arc<[T]> {
    /// Room for so many values.
    #[track_caller]
    pub fn new_uninit_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from_std(std::sync::Arc::new_uninit_slice(length))
    }

    /// Room for so many values, of zeroes.
    #[track_caller]
    pub fn new_zeroed_slice(length: usize) -> Arc<[MaybeUninit<T>]> {
        Arc::from_std(std::sync::Arc::new_zeroed_slice(length))
    }
}

impl<T> Arc<MaybeUninit<T>> {
    /// The value is there.
    ///
    /// # Safety
    /// It is.
    pub unsafe fn assume_init(self) -> Arc<T> {
        // SAFETY: as the caller promises.
        self.into_type(|value| unsafe { value.assume_init() })
    }
}

impl<T> Arc<[MaybeUninit<T>]> {
    /// The values are there.
    ///
    /// # Safety
    /// They are.
    pub unsafe fn assume_init(self) -> Arc<[T]> {
        // SAFETY: as the caller promises.
        self.into_type(|values| unsafe { values.assume_init() })
    }
}
