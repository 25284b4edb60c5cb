//! Whether it can be told which reference is the last to be given back.

use std::any::type_name;
use std::mem::needs_drop;

/// Whether something can be told by when, or by which thread, a value of this type is dropped.
///
/// Not so of what has no destructor, nor of what is made of nothing but numbers and objects of ours: that they come to their end is known to the machine, whoever drops them. A type of the code
/// under test that has a destructor may have one of its own.
pub(super) fn sees_last<T: ?Sized>() -> bool {
    needs_drop::<T>() && !is_ours(type_name::<T>())
}

/// Types that are plain data, or whose destructors do nothing but to tell the machine, as far as what they hold is of that kind, too.
const OURS: [&str; 8] = [
    "unthread::cell::Cell",
    "unthread::cell::UnsafeCell",
    "unthread::sync::barrier::Barrier",
    "unthread::sync::condvar::Condvar",
    "unthread::sync::mutex::Mutex",
    "unthread::sync::notify::Notify",
    "unthread::sync::once::Once",
    "unthread::sync::rwlock::RwLock",
];

const NUMBERS: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

fn is_ours(name: &str) -> bool {
    let is_part_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut paths = name.split(|c: char| !is_part_of_path(c)).filter(|path| !path.is_empty());
    let punctuation = name.chars().filter(|&c| !is_part_of_path(c));
    let is_known = |path: &str| {
        NUMBERS.contains(&path)
            || OURS.contains(&path)
            || path.starts_with("unthread::sync::atomic::")
            || path.bytes().all(|byte| byte.is_ascii_digit())
    };
    // No references, pointers, or types of traits: only tuples, arrays and arguments.
    punctuation.into_iter().all(|c| "()[]<>,; ".contains(c)) && paths.all(is_known)
}

#[cfg(test)]
mod tests {
    use super::sees_last;
    use crate::cell::UnsafeCell;
    use crate::sync::Mutex;
    use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

    struct Watched(#[expect(dead_code, reason = "it is the type that counts")] AtomicUsize);

    impl Drop for Watched {
        fn drop(&mut self) {}
    }

    #[test]
    fn what_is_made_of_our_objects_alone_has_no_destructor_that_shows() {
        assert!(!sees_last::<usize>());
        assert!(!sees_last::<AtomicUsize>());
        assert!(!sees_last::<(AtomicUsize, [AtomicBool; 3], Mutex<(u8, i128)>)>());
        assert!(!sees_last::<[UnsafeCell<[u64; 2]>]>());
        assert!(sees_last::<Watched>());
        assert!(sees_last::<(AtomicUsize, Watched)>());
        assert!(sees_last::<Mutex<Watched>>());
        assert!(sees_last::<(AtomicUsize, Box<u8>)>());
        assert!(sees_last::<(AtomicUsize, Vec<u8>)>());
        assert!(!sees_last::<AtomicPtr<u8>>());
    }
}
