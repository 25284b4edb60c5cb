//! What `unthread` does not see, and what to write instead.

/// What to write instead of a path, if what it names is not seen. Paths begin with the name of a crate.
pub(super) fn advice(path: &[&str]) -> Option<String> {
    match path {
        ["std" | "core" | "alloc", rest @ ..] => instead_of_std(rest),
        [krate, ..] => elsewhere(krate, path.get(1).copied()),
        [] => None,
    }
}

/// What to write instead of a macro that is called by its name alone.
pub(super) fn advice_on_macro(name: &str) -> Option<String> {
    match name {
        "thread_local" => Some("`unthread::thread_local!`".to_string()),
        "lazy_static" => Some("`unthread::lazy_static!`".to_string()),
        _ => None,
    }
}

/// Types of `std::sync` that are the same for `unthread`: they only say what went wrong.
const SHARED: [&str; 4] = ["LockResult", "PoisonError", "TryLockError", "TryLockResult"];

fn instead_of_std(path: &[&str]) -> Option<String> {
    let seen = match path {
        ["sync", "atomic", "Ordering" | "compiler_fence", ..] => return None,
        ["sync", name, ..] if SHARED.contains(name) => return None,
        ["sync" | "thread", ..] => path,
        ["cell", "UnsafeCell", ..] => path,
        ["hint", "spin_loop", ..] => path,
        ["thread_local", ..] => return advice_on_macro("thread_local"),
        _ => return None,
    };
    let seen: Vec<&str> = seen.iter().copied().filter(|&segment| segment != "self").collect();
    Some(format!("`unthread::{}`", seen.join("::")))
}

/// Crates that are made of standard atomics, or of the system's locks.
fn elsewhere(krate: &str, module: Option<&str>) -> Option<String> {
    let instead = match (krate, module) {
        ("once_cell", Some("unsync")) => return None,
        ("once_cell", _) => "`unthread::sync::OnceLock` or `unthread::sync::LazyLock`",
        ("lazy_static", _) => "`unthread::lazy_static!`",
        ("parking_lot", _) => "`unthread::sync`, which has the standard library's interface",
        ("crossbeam_channel", _) | ("crossbeam", Some("channel")) | ("flume", _) => "`unthread::sync::mpsc`",
        ("crossbeam", Some("thread" | "scope")) => "`unthread::thread::scope`",
        (
            "crossbeam" | "crossbeam_utils" | "crossbeam_queue" | "crossbeam_deque" | "crossbeam_epoch"
            | "parking_lot_core" | "spin" | "arc_swap" | "dashmap" | "portable_atomic" | "atomic_waker",
            _,
        ) => "what is built with `unthread` types: what happens inside of this crate is not seen",
        _ => return None,
    };
    Some(instead.to_string())
}

#[cfg(test)]
mod tests {
    use super::advice;

    fn on(path: &str) -> Option<String> {
        advice(&path.split("::").collect::<Vec<_>>())
    }

    #[test]
    fn what_is_not_seen_has_a_counterpart() {
        assert_eq!(on("std::sync::Mutex").as_deref(), Some("`unthread::sync::Mutex`"));
        assert_eq!(on("core::sync::atomic::AtomicU8").as_deref(), Some("`unthread::sync::atomic::AtomicU8`"));
        assert_eq!(on("std::thread::spawn").as_deref(), Some("`unthread::thread::spawn`"));
        assert_eq!(on("alloc::sync::Arc").as_deref(), Some("`unthread::sync::Arc`"));
        assert!(on("parking_lot::Mutex").is_some() && on("crossbeam::channel::unbounded").is_some());
    }

    #[test]
    fn what_is_the_same_for_both_is_left_alone() {
        for path in [
            "std::sync::atomic::Ordering::SeqCst",
            "std::sync::PoisonError",
            "std::cell::Cell",
            "serde::de",
            "once_cell::unsync::Lazy",
        ] {
            assert_eq!(on(path), None, "{path}");
        }
    }
}
