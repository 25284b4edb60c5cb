//! Looks at the clock while a check runs: for its limit, and for a line that says how far it is.

use crate::runtime::Counting;
use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use unthread_checker::search::{Progress, StopReason, Watch};

/// The time since a check began.
pub(super) struct Clock {
    pub(super) started: Instant,
    most: Option<Duration>,
    /// When to say next how far it is; nothing if nobody looks.
    next_line: Option<Mutex<Instant>>,
    /// The check ends where executions are too long because of loops that count their turns: it begins anew without most of those.
    pub(super) gives_up: Option<Arc<Counting>>,
}

impl Clock {
    pub(super) fn new(most: Option<Duration>, log: bool) -> Clock {
        let started = Instant::now();
        let looks = log || stderr().is_terminal();
        Clock { started, most, next_line: looks.then(|| Mutex::new(started + Duration::from_secs(1))), gives_up: None }
    }
}

impl Clock {
    /// When time is up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.most.and_then(|most| self.started.checked_add(most))
    }
}

impl Watch for Clock {
    fn look(&self, progress: &Progress) -> Option<StopReason> {
        let elapsed = self.started.elapsed();
        if let Some(next) = &self.next_line
            && let Ok(mut next) = next.lock()
            && Instant::now() >= *next
        {
            *next = Instant::now() + Duration::from_secs(1);
            let rate = progress.executions as f64 / elapsed.as_secs_f64();
            let name = std::thread::current().name().unwrap_or("check").to_string();
            let _ = write!(stderr(), "\r{name}: {} executions, {rate:.0}/s ", progress.executions);
        }
        if let Some(stop) = self.stop() {
            return Some(stop);
        }
        let too_long = |counting: &Arc<Counting>| counting.many.load(Relaxed);
        self.gives_up.as_ref().is_some_and(too_long).then_some(StopReason::EventLimit)
    }

    fn stop(&self) -> Option<StopReason> {
        self.most.is_some_and(|most| self.started.elapsed() >= most).then_some(StopReason::TimeLimit)
    }
}
