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
