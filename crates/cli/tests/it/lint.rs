//! `cargo unthread lint`, on crates of its own.

use super::scratch::Scratch;
use std::path::Path;
use std::process::Command;

/// A crate of these files.
fn scratch(name: &str, files: &[(&str, &str)]) -> Scratch {
    let manifest = ("Cargo.toml", "[package]\nname = \"shared\"\nedition = \"2024\"\n[workspace]\n");
    Scratch::new(&format!("lint-{name}"), &[files, &[manifest]].concat())
}

/// The exit code, and what is printed.
fn lint(folder: &Path, arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-unthread"));
    let run = command.args(["unthread", "lint"]).args(arguments).current_dir(folder).output().unwrap();
    let printed = String::from_utf8(run.stdout).unwrap() + &String::from_utf8(run.stderr).unwrap();
    (run.status.code(), printed.lines().map(str::to_string).collect())
}

#[test]
fn what_is_not_seen_is_listed_with_its_place() {
    const LIB: &str = r#"//! Not std::sync::Mutex.
use std::sync::{atomic::{self, AtomicBool as Flag, Ordering}, Arc, PoisonError};
use std::thread::*;
/* use std::sync::Once; */
const TEXT: &str = "std::sync::Barrier";
pub struct Shared { flag: Flag, cell: core::cell::UnsafeCell<u8>, local: std::cell::Cell<u8> }
pub fn run(order: Ordering) -> Vec<std::sync::Weak<u8>> {
    println!("{:?}", std::thread::current().id());
    let _ = order == atomic::Ordering::SeqCst && std::hint::black_box(true);
    std::hint::spin_loop();
    vec![]
}
thread_local!(static HERE: u8 = 0);
"#;
    let crate_folder =
        scratch("lists", &[("src/lib.rs", LIB), ("src/deep/down.rs", "fn f() { parking_lot::Mutex::new(0); }")]);
    let (code, printed) = lint(crate_folder.path(), &[]);
    let down = "src/deep/down.rs:1:10: `parking_lot::Mutex::new` is not seen by a check; write `unthread::sync`, which has the standard library's interface";
    let expected = [
        down,
        "src/lib.rs:2:26: `std::sync::atomic::self` is not seen by a check; write `unthread::sync::atomic`",
        "src/lib.rs:2:32: `std::sync::atomic::AtomicBool` is not seen by a check; write `unthread::sync::atomic::AtomicBool`",
        "src/lib.rs:2:63: `std::sync::Arc` is not seen by a check; write `unthread::sync::Arc`",
        "src/lib.rs:3:18: `std::thread::*` is not seen by a check; write `unthread::thread::*`",
        "src/lib.rs:6:39: `core::cell::UnsafeCell` is not seen by a check; write `unthread::cell::UnsafeCell`",
        "src/lib.rs:7:36: `std::sync::Weak` is not seen by a check; write `unthread::sync::Weak`",
        "src/lib.rs:8:22: `std::thread::current` is not seen by a check; write `unthread::thread::current`",
        "src/lib.rs:10:5: `std::hint::spin_loop` is not seen by a check; write `unthread::hint::spin_loop`",
        "src/lib.rs:13:1: `thread_local!` is not seen by a check; write `unthread::thread_local!`",
        "10 uses in 2 of 2 files that a check does not see",
    ];
    assert_eq!(printed, expected);
    assert_eq!(code, Some(1));
}

#[test]
fn what_is_not_compiled_for_a_check_is_left_out() {
    const LIB: &str = r#"
#[cfg(not(unthread))]
use std::sync::Mutex;
#[cfg(loom)]
use loom::sync::Mutex;
#[cfg(not(any(loom, miri)))]
mod real;
mod shim {
    #[cfg(not(loom))]
    pub use std::sync::*;
    #[cfg(not(loom))]
    mod inner;
}
cfg_if::cfg_if! {
    if #[cfg(loom)] { use loom::thread; } else { use std::thread; }
}
struct Both { #[cfg(not(loom))] real: std::sync::Condvar }
fn f() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(not(loom))]
    { std::thread::yield_now(); }
}
impl Both { #[cfg(not(loom))] fn wait(&self) { std::thread::park() } }
"#;
    const REAL: &str = "pub use std::sync::RwLock;";
    let files = [("src/lib.rs", LIB), ("src/real.rs", REAL), ("src/real/deep.rs", REAL), ("src/shim/inner.rs", REAL)];
    let crate_folder = scratch("leaves-out", &files);
    let (code, printed) = lint(crate_folder.path(), &[]);
    assert_eq!((code, printed), (Some(0), vec!["nothing in 1 file that a check does not see".to_string()]));
}

#[test]
fn another_switch_is_respected() {
    let text = "#[cfg(not(checked))] use std::sync::Mutex;\n#[cfg(feature = \"x\")] use std::sync::Once;\n";
    let crate_folder = scratch("switch", &[("src/lib.rs", text)]);
    let (code, printed) = lint(crate_folder.path(), &["--cfg", "checked"]);
    assert_eq!((code, printed.len()), (Some(1), 2), "{printed:?}");
    assert!(printed[0].starts_with("src/lib.rs:2:38: `std::sync::Once`"), "{printed:?}");
    assert_eq!(lint(crate_folder.path(), &[]).1.len(), 3);
}

#[test]
fn tests_and_folders_are_looked_at_where_that_is_asked_for() {
    let files = [("src/lib.rs", ""), ("tests/all.rs", "use std::sync::mpsc::channel;")];
    let crate_folder = scratch("tests", &files);
    assert_eq!(lint(crate_folder.path(), &[]).0, Some(0));
    let found =
        "tests/all.rs:1:22: `std::sync::mpsc::channel` is not seen by a check; write `unthread::sync::mpsc::channel`";
    for arguments in [["--tests"], ["tests"], ["tests/all.rs"]] {
        let (code, printed) = lint(crate_folder.path(), &arguments);
        assert_eq!((code, printed[0].as_str()), (Some(1), found));
    }
}

#[test]
fn mistakes_are_told() {
    let crate_folder = scratch("mistakes", &[("src/lib.rs", "fn f() {\n    let = 1;\n}\n")]);
    let (code, printed) = lint(crate_folder.path(), &[]);
    assert_eq!(code, Some(2));
    assert!(printed[0].starts_with("error: src/lib.rs:2:9: "), "{printed:?}");
    assert_eq!(lint(crate_folder.path(), &["nowhere"]).0, Some(2));
    assert_eq!(lint(crate_folder.path(), &["-p", "nobody"]).0, Some(2));
}
