//! `cargo unthread test`, on a crate of its own. It has no dependencies: what the library prints is told by the crate's tests, so that nothing but the crate
//! has to be built.

use super::scratch::Scratch;
use std::path::Path;
use std::process::{Command, Output};

const LIB: &str = r#"
#[cfg(all(test, unthread, not(debug_assertions)))]
#[test]
fn a_counter_is_right() {
    eprint!("\rcounter: 1024 executions, 512/s ");
    let memory = std::env::var("UNTHREAD_MEMORY").unwrap_or("tso".to_string());
    assert_eq!(std::env::var("UNTHREAD_LOG").as_deref(), Ok("1"));
    eprintln!("\rcounter: verified with {memory} memory, exhausted: 2048 executions in 4.00 s (all executions)");
}

#[cfg(all(test, unthread))]
#[test]
fn another_is_not() {
    panic!("this is what happened, {} shows it", std::env::var("UNTHREAD_COMMAND").unwrap());
}

#[cfg(all(test, not(unthread)))]
#[test]
fn with_standard_types() {
    panic!("the cfg is missing");
}
"#;

fn scratch(name: &str) -> Scratch {
    let manifest = "[package]\nname = \"counter\"\nedition = \"2024\"\n[workspace]\n";
    Scratch::new(&format!("cargo-{name}"), &[("Cargo.toml", manifest), ("src/lib.rs", LIB)])
}

fn cargo_unthread(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-unthread"));
    command.arg("unthread").args(arguments).current_dir(folder);
    command.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_NET_OFFLINE", "true");
    command.output().unwrap()
}

#[test]
fn cargo_unthread_test_prints_a_line_for_each_check() {
    let crate_folder = scratch("passes");
    let arguments = ["test", "--memory", "pso", "--lib", "--", "a_counter"];
    let run = cargo_unthread(crate_folder.path(), &arguments);
    let out = String::from_utf8(run.stdout).unwrap();
    let expected = "counter: verified with pso memory, exhausted: 2048 executions in 4.00 s (all executions)";
    assert_eq!(out.lines().filter(|line| line.starts_with("counter")).collect::<Vec<_>>(), [expected], "{out}");
    assert!(out.contains("`release` profile"), "{out}");
    assert_eq!(run.status.code(), Some(0), "{out}");
}

#[test]
fn cargo_unthread_test_knows_the_memory_models() {
    let crate_folder = scratch("mistake");
    let run = cargo_unthread(crate_folder.path(), &["test", "--memory", "arm"]);
    let error = String::from_utf8(run.stderr).unwrap();
    assert!(error.contains("invalid value 'arm'") && error.contains("sc, tso, pso"), "{error}");
    assert_eq!(run.status.code(), Some(2), "{error}");
}

#[test]
fn cargo_unthread_test_fails_with_a_check_and_says_why() {
    let crate_folder = scratch("fails");
    let run = cargo_unthread(crate_folder.path(), &["test", "--lib"]);
    let out = String::from_utf8(run.stdout).unwrap();
    assert!(out.contains("this is what happened, cargo unthread test shows it"), "{out}");
    assert!(out.contains("counter: verified with tso memory"), "{out}");
    assert_eq!(run.status.code(), Some(1), "{out}");
}
