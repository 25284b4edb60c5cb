//! What the environment says. Our names come first, loom's are understood.

use super::{Builder, Engine};
use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use unthread_checker::base::Schedule;

/// Changes what environment variables set.
pub(super) fn read(builder: &mut Builder) {
    set("UNTHREAD_MEMORY", |memory| builder.memory = memory);
    set("UNTHREAD_ENGINE", |engine| builder.engine = engine);
    for name in ["LOOM_MAX_BRANCHES", "UNTHREAD_MAX_EVENTS"] {
        set(name, |events| builder.max_branches = events);
    }
    for name in ["LOOM_MAX_PERMUTATIONS", "UNTHREAD_MAX_EXECUTIONS"] {
        set(name, |executions| builder.max_permutations = Some(executions));
    }
    for name in ["LOOM_MAX_DURATION", "UNTHREAD_MAX_SECONDS"] {
        set(name, |seconds| builder.max_duration = Some(Duration::from_secs(seconds)));
    }
    for name in ["LOOM_MAX_PREEMPTIONS", "UNTHREAD_MAX_PREEMPTIONS"] {
        set(name, |preemptions| builder.preemption_bound = Some(preemptions));
    }
    set("UNTHREAD_SPURIOUS_FAILURES", |failures| builder.spurious_failures = failures);
    set("UNTHREAD_SPURIOUS_WAKEUPS", |wakeups| builder.spurious_wakeups = wakeups);
    set("UNTHREAD_STACK_SIZE", |bytes| builder.stack_size = bytes);
    set("UNTHREAD_TIMEOUTS", |timeouts| builder.timeouts = timeouts);
    if let Engine::Random { seed: known } | Engine::Pct { seed: known, .. } = &mut builder.engine {
        *known = seed();
    }
    builder.must_verify |= env::var_os("UNTHREAD_MUST_VERIFY").is_some_and(|value| value != "0");
    builder.log |= env::var_os("UNTHREAD_LOG").is_some() || env::var_os("LOOM_LOG").is_some();
}

/// The seed of random executions.
pub(super) fn seed() -> u64 {
    let mut found = 0;
    for name in ["SHUTTLE_RANDOM_SEED", "UNTHREAD_SEED"] {
        set(name, |seed| found = seed);
    }
    found
}

/// The folder for files that show failures, if they are wanted.
pub(super) fn html() -> Option<PathBuf> {
    env::var_os("UNTHREAD_HTML").map(PathBuf::from)
}

/// How tests are run.
pub(super) fn command() -> String {
    env::var("UNTHREAD_COMMAND").unwrap_or_else(|_| "cargo test".to_string())
}

/// The schedule to follow, if there is one.
#[track_caller]
pub(super) fn replay() -> Option<Schedule> {
    let mut schedule = None;
    set("UNTHREAD_REPLAY", |parsed| schedule = Some(parsed));
    schedule
}

#[track_caller]
fn set<T: FromStr<Err: std::fmt::Display>>(name: &str, apply: impl FnOnce(T)) {
    let Ok(text) = env::var(name) else { return };
    match text.parse() {
        Ok(value) => apply(value),
        Err(error) => panic!("{name}={text}: {error}"),
    }
}
