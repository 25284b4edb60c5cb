//! `clients/run`, on a package of its own: what it counts, and what it says of tests that crash. The package has no dependencies, and its tests print what the library would.

use super::scratch::Scratch;
use std::path::Path;
use std::process::Command;

const LIB: &str = r#"
#[cfg(test)]
mod tests {
    fn says(what: &str) {
        eprintln!("\rit: {what}");
    }

    #[test]
    fn a_passes() {
        says("verified by dpor with tso memory, exhausted: 2 executions in 0.00 s (all executions)");
    }

    #[test]
    fn b_crashes() {
        std::process::abort();
    }

    #[test]
    fn c_fails() {
        panic!("as it should");
    }

    #[test]
    fn d_is_cut() {
        says("inconclusive by dpor with tso memory, time-limit: 2 executions in 60.00 s");
    }

    #[test]
    fn e_is_incomplete() {
        says("inconclusive by dpor with tso memory, preemption-limit: 2 executions in 0.00 s (within the bound, incomplete): executions with more than 2 preemptions are left out");
    }

    #[test]
    fn f_is_bounded() {
        says("inconclusive by icb with tso memory, preemption-limit: 2 executions in 0.00 s (all executions with at most 2 preemptions)");
    }

    // As in crates whose tests are for loom alone.
    #[test]
    #[cfg_attr(not(loom), ignore)]
    fn g_is_ignored() {}

    #[test]
    fn h_works_and_does_not_end() {
        if std::env::var_os("STUCK").is_some() {
            let started = std::time::Instant::now();
            while started.elapsed().as_secs() < 60 {}
        }
    }

    #[test]
    fn i_comes_last() {}
}
"#;

fn scratch(name: &str) -> Scratch {
    let manifest = "[package]\nname = \"crashy\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let list = "# A package.\ncrashy 0.1.0 0.7.2 - - --lib\n";
    let files = [("crashy-0.1.0/Cargo.toml", manifest), ("crashy-0.1.0/src/lib.rs", LIB), ("list", list)];
    Scratch::new(&format!("clients-{name}"), &files)
}

/// The cells of the row of the package.
fn row(folder: &Path, environment: &[(&str, &str)]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/run");
    let mut command = Command::new("bash");
    command.arg(script).env("CLIENTS_DIR", folder).env("CLIENTS_LIST", folder.join("list"));
    command.env("CLIENTS_LIBRARY", folder).env("CARGO_TARGET_DIR", folder.join("target")).env_remove("RUSTFLAGS");
    command.env("CARGO_NET_OFFLINE", "true").envs(environment.iter().copied());
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let row = text.lines().find(|line| line.starts_with("crashy-0.1.0")).unwrap_or_else(|| panic!("{text}"));
    row.split_whitespace().map(str::to_string).collect()
}

#[test]
#[cfg(unix)]
fn a_crash_is_a_failure_and_what_was_cut_has_not_passed() {
    let folder = scratch("counts");
    let row = row(folder.path(), &[]);
    assert_eq!(row[1..4], ["4", "2", "2"], "passed, unfinished, failed: {row:?}");
    let note = row[5..].join(" ");
    assert!(note.contains("tests::b_crashes (crashed: exit code 134)") && note.contains("tests::c_fails"), "{note}");
}

#[test]
#[cfg(unix)]
fn a_package_that_is_stopped_has_the_seconds_that_it_took() {
    let folder = scratch("stopped");
    let row = row(folder.path(), &[("STUCK", "1"), ("CLIENTS_TOTAL", "4")]);
    let seconds: f64 = row[4].parse().unwrap();
    // However little of the processor it got.
    assert!((0.1..6.0).contains(&seconds), "{row:?}");
    assert_eq!(row[1..4], ["2", "3", "2"], "passed, unfinished, failed: {row:?}");
    assert!(row.join(" ").ends_with("stopped after 4 s: 1 tests not run"), "{row:?}");
}
