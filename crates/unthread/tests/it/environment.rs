//! What environment variables set. A process has one environment, so each of these tests runs its binary again.

use std::process::Command;
use unthread::model::{Builder, Engine};
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unthread::thread;

/// Tells the processes that a test starts from those that start them.
const INNER: &str = "UNTHREAD_TEST_INNER";

/// What a test prints when it is run again with an environment.
fn again(test: &str, environment: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INNER, "1").envs(environment.iter().copied());
    let output = command.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn two_stores_and_two_loads() {
    let cells = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let other = {
        let cells = cells.clone();
        thread::spawn(move || {
            cells.0.store(1, Relaxed);
            cells.1.load(Relaxed)
        })
    };
    cells.1.store(1, Relaxed);
    cells.0.load(Relaxed);
    other.join().unwrap();
}

#[test]
fn the_environment_chooses_the_engine() {
    if std::env::var_os(INNER).is_some() {
        let report = Builder::new().report(two_stores_and_two_loads);
        return println!("engine: {}, {}", report.engine.name(), report.verdict().name());
    }
    for engine in ["dpor", "mcr", "cumulative", "exhaustive"] {
        let printed = again("environment::the_environment_chooses_the_engine", &[("UNTHREAD_ENGINE", engine)]);
        assert!(printed.contains(&format!("engine: {engine}, verified")), "{engine}: {printed}");
    }
    let printed = again("environment::the_environment_chooses_the_engine", &[("UNTHREAD_ENGINE", "steam")]);
    assert!(printed.contains("UNTHREAD_ENGINE=steam") && printed.contains("FAILED"), "{printed}");
}

#[test]
fn what_the_test_says_comes_before_the_environment() {
    if std::env::var_os(INNER).is_some() {
        let report = Builder::new().engine(Engine::Mcr).report(two_stores_and_two_loads);
        return println!("engine: {}", report.engine.name());
    }
    let name = "environment::what_the_test_says_comes_before_the_environment";
    let printed = again(name, &[("UNTHREAD_ENGINE", "cumulative")]);
    assert!(printed.contains("engine: mcr"), "{printed}");
}

#[test]
fn the_limit_on_events_may_be_small() {
    let mut builder = Builder::new();
    builder.max_branches = 5;
    let report = builder.report(two_stores_and_two_loads);
    assert_eq!((report.verdict().name(), report.stop.name()), ("inconclusive", "event-limit"));
}

/// What a test prints although its output is captured, and whether it passes.
fn captured(test: &str, environment: &[(&str, &str)]) -> (String, bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]).env(INNER, "1").envs(environment.iter().copied());
    let output = command.output().unwrap();
    (String::from_utf8_lossy(&output.stderr).to_string(), output.status.success())
}

#[test]
fn a_check_that_was_cut_says_so_where_it_is_seen() {
    if std::env::var_os(INNER).is_some() {
        println!("what the test prints is captured");
        unthread::model(two_stores_and_two_loads);
        return;
    }
    let test = "environment::a_check_that_was_cut_says_so_where_it_is_seen";
    let (printed, passes) = captured(test, &[]);
    assert!(passes && printed.is_empty(), "{printed}");
    let (printed, passes) = captured(test, &[("UNTHREAD_MAX_EXECUTIONS", "1")]);
    let line = format!("{test}: inconclusive by dpor with tso memory, execution-limit: 1 execution in ");
    assert!(passes && printed.starts_with(&line) && printed.lines().count() == 1, "{printed}");
    let (_, passes) = captured(test, &[("UNTHREAD_MAX_EXECUTIONS", "1"), ("UNTHREAD_MUST_VERIFY", "1")]);
    assert!(!passes);
    let (printed, passes) = captured(test, &[("UNTHREAD_MUST_VERIFY", "1")]);
    assert!(passes && printed.is_empty(), "{printed}");
    let (printed, passes) = captured(test, &[("UNTHREAD_MAX_EXECUTIONS", "1"), ("UNTHREAD_ENGINE", "random")]);
    assert!(passes && printed.is_empty(), "{printed}");
}

#[test]
fn a_thread_that_is_left_waiting_is_named() {
    if std::env::var_os(INNER).is_some() {
        return unthread::model(|| drop(thread::spawn(thread::park)));
    }
    let (printed, passes) = captured("environment::a_thread_that_is_left_waiting_is_named", &[]);
    assert!(passes && printed.contains(": verified by dpor"), "{printed}");
    assert!(
        printed.contains("; thread 1 still waits at ") && printed.contains("the process ends with main"),
        "{printed}"
    );
}

#[test]
fn a_check_within_a_bound_says_whether_it_covered_all_of_it() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(0);
    let report = builder.report(two_stores_and_two_loads);
    let covered = report.coverage.as_deref().unwrap_or_default();
    assert!(report.stop.name() == "preemption-limit" && !covered.contains("incomplete"), "{report:?}");
    builder.must_verify = true;
    let text = builder.try_check(two_stores_and_two_loads).unwrap_err();
    assert!(text.contains("(all executions with at most 0 preemptions)"), "{text}");
}
