//! Where the code under test stands, if no location was handed down: in destructors, which nobody calls by name.

use std::backtrace::Backtrace;

/// The innermost place that is neither in this crate nor in the standard library, if the program knows its places.
pub(super) fn place_of_caller() -> Option<String> {
    let text = Backtrace::force_capture().to_string();
    let places = text.lines().filter_map(|line| line.trim_start().strip_prefix("at "));
    let mut others =
        places.skip_while(|place| !is_ours(place)).skip_while(|place| is_ours(place) || is_standard(place));
    others.next().map(|place| place.trim_start_matches("./").to_string())
}

/// Whether a destructor is being run.
pub(super) fn is_in_destructor() -> bool {
    let text = Backtrace::force_capture().to_string();
    let calls = text.lines().filter(|line| !line.trim_start().starts_with("at "));
    // Below a thread's stack is the one of whoever runs it.
    let mut calls = calls.take_while(|call| !call.contains("coroutine_func"));
    calls.any(|call| call.contains("drop_in_place") || call.contains("Drop>::drop"))
}

fn is_ours(place: &str) -> bool {
    // Files of this crate are named from the workspace, or from the current folder if that is the crate's.
    let folder = file!().trim_end_matches("runtime/backtrace.rs");
    place.contains(folder)
        || place.starts_with("./src/") && std::env::var("CARGO_PKG_NAME").is_ok_and(|name| name == "unthread")
}

fn is_standard(place: &str) -> bool {
    place.contains("/rustc/")
        || place.contains("/library/core/")
        || place.contains("/library/alloc/")
        || place.contains("/library/std/")
}
