//! `--max-time` and `--max-memory`, with programs (`endless/`) that no engine comes to the end of, or hardly any. Machines that are busy are slow: what is allowed here is
//! several times as long as what is measured on one that is not (a tenth of a second after the limit).

use super::{root, unthread, unthread_stdin};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a search may take.
const TIME: &str = "300ms";
/// How much longer the whole command may take, in a build that is not optimised and beside other tests.
const LATER: Duration = Duration::from_secs(8);

/// All programs.
fn programs() -> Vec<PathBuf> {
    let folder = root().join("crates/cli/tests/it/endless");
    let files = std::fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> = files.filter(|file| file.extension().is_some_and(|end| end == "ut")).collect();
    files.sort();
    assert!(files.len() >= 20);
    files
}

/// What is said of each program with these arguments in between. An answer, if there is one, is welcome.
fn ends_in_time(command: &str, arguments: &[&str]) {
    for file in programs() {
        let file = file.to_str().expect("it is text");
        let begun = Instant::now();
        let run = unthread(&[&[command, file, "--max-time", TIME][..], arguments].concat());
        let taken = begun.elapsed();
        assert!(taken < Duration::from_millis(300) + LATER, "{file} {arguments:?}: {taken:?}");
        assert!([0, 1, 3].contains(&run.code), "{file} {arguments:?}: exit code {}: {}", run.code, run.err);
        assert!(!run.err.contains("panicked"), "{file} {arguments:?}: {}", run.err);
    }
}

macro_rules! ends_in_time {
    ($($name:ident: $command:literal $($argument:literal)*;)*) => {
        $(#[test]
        fn $name() {
            ends_in_time($command, &[$($argument),*]);
        })*
    };
}

ends_in_time! {
    auto_ends_in_time: "check";
    exhaustive_ends_in_time: "check" "--engine" "exhaustive";
    mcr_ends_in_time: "check" "--engine" "mcr";
    cumulative_ends_in_time: "check" "--engine" "cumulative";
    dpor_ends_in_time: "check" "--engine" "dpor";
    icb_ends_in_time: "check" "--engine" "icb" "--preemptions" "9";
    icb_over_traces_ends_in_time: "check" "--engine" "icb" "--traces" "--preemptions" "9";
    random_ends_in_time: "check" "--engine" "random";
    pct_ends_in_time: "check" "--engine" "pct";
    lazy_ends_in_time: "check" "--engine" "lazy";
    prediction_ends_in_time: "check" "--predict";
    a_monitored_search_ends_in_time: "check" "--monitor" "store-buffers";
    workers_end_in_time: "check" "--engine" "mcr" "--jobs" "3" "--memory" "pso";
    workers_that_learn_end_in_time: "check" "--engine" "cumulative" "--jobs" "3" "--memory" "pso";
    counting_histories_ends_in_time: "check" "--coverage" "states" "--histories";
    all_violations_are_looked_for_in_time: "check" "--all-violations" "--engine" "cumulative";
    robustness_ends_in_time: "robust";
    robustness_by_graph_ends_in_time: "robust" "--graph";
    fences_end_in_time: "fences" "--all";
    fences_for_correctness_end_in_time: "fences" "--for" "correctness";
    outcomes_end_in_time: "outcomes";
    comparisons_end_in_time: "outcomes" "--compare" "sc";
}

#[test]
fn a_search_that_meets_a_limit_says_so() {
    let counters = root().join("crates/cli/tests/it/endless/counters.ut");
    let counters = counters.to_str().expect("it is text");
    let timed = unthread(&["check", counters, "--engine", "exhaustive", "--max-time", "100ms"]);
    assert_eq!(timed.code, 3);
    assert!(
        timed.out.contains("inconclusive: the time was up (") && timed.err.is_empty(),
        "{}{}",
        timed.out,
        timed.err
    );
    assert!(timed.out.contains("help: raise `--max-time`"), "{}", timed.out);
    let bounded = unthread(&["check", counters, "--engine", "exhaustive", "--max-memory", "60M", "--json"]);
    assert_eq!(bounded.code, 3, "{}{}", bounded.out, bounded.err);
    assert!(bounded.out.contains(r#""stop":"memory-limit""#), "{}", bounded.out);
}

#[test]
fn a_choice_among_very_many_values_needs_little_memory() {
    // A clause for each pair of values took gigabytes.
    let program = "shared x; thread t { let p = choose(0..65536); x = choose(0..65536); }";
    for engine in ["mcr", "cumulative", "auto"] {
        let run =
            unthread_stdin(program, &["check", "-", "--engine", engine, "--max-memory", "600M", "--max-time", "1s"]);
        assert!([0, 3].contains(&run.code), "{engine}: {}: {}", run.code, run.err);
        assert!(!run.out.contains("memory was used up"), "{engine}: {}", run.out);
    }
}

/// The most memory that the command had, in megabytes.
#[cfg(target_os = "linux")]
fn peak(arguments: &[&str]) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unthread"));
    let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0);
        peak = peak.max(kilobytes / 1024);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak
}

#[test]
#[cfg(target_os = "linux")]
fn memory_is_bounded() {
    for file in programs() {
        for engine in ["auto", "exhaustive", "mcr", "cumulative", "icb", "lazy"] {
            let file = file.to_str().expect("it is text");
            let megabytes = peak(&["check", file, "--engine", engine, "--max-memory", "200M", "--max-time", "2s"]);
            // 225 MB, if the guard is not kept waiting.
            assert!(megabytes < 290, "{file} with {engine}: {megabytes} MB");
        }
    }
}
