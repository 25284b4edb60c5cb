//! Keeps a search within its time and its memory.
//!
//! Engines know no clock. They ask now and then, wherever they may be busy for long, whether an alarm rings, which costs them next to nothing; a thread of the guard's own looks at the clock and at the
//! memory. A search that does not hear the alarm is ended with the whole process, as its last resort: it must not take the machine with it.

use crate::memory::Meter;
use crate::outcome::Outcome;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use unthread_checker::search::StopReason;

/// How often the guard looks.
const EVERY: Duration = Duration::from_millis(5);

/// What a search may take.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) time: Option<Duration>,
    /// Bytes of main memory that the process may have.
    pub(crate) memory: Option<u64>,
    /// Whether the process ends if the search does not.
    pub(crate) strict: bool,
}

impl Bounds {
    /// A bound on time for measurements, which are worth nothing if the process ends.
    pub(crate) fn of_time(time: Duration) -> Bounds {
        Bounds { time: Some(time), ..Bounds::default() }
    }

    /// How long the search may go on when its time is up.
    fn patience(&self) -> Duration {
        Duration::from_millis(600) + self.time.unwrap_or_default() / 10
    }

    /// How much it may have when it has met its bound: what it needs to come to an end.
    fn memory_at_last(&self) -> u64 {
        self.memory.map_or(u64::MAX, |bytes| bytes + bytes / 8)
    }
}

/// Guards one search, for as long as it is there.
pub(crate) struct Guard {
    alarm: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Alarm {
    /// The kind of alarm that rings, or 0.
    ringing: AtomicU8,
    /// The search has come to an end. What is left is to say what it has found.
    is_over: AtomicBool,
    is_gone: AtomicBool,
}

const TIME: u8 = 1;
const MEMORY: u8 = 2;

impl Guard {
    /// Begins now. `what` is the search, for its last words.
    pub(crate) fn start(what: &str, bounds: Bounds) -> Guard {
        let alarm = Arc::new(Alarm::default());
        if bounds.time.is_none() && bounds.memory.is_none() {
            return Guard { alarm, thread: None };
        }
        if bounds.time == Some(Duration::ZERO) {
            // The command need not wait for the thread to notice that.
            alarm.ringing.store(TIME, Ordering::Relaxed);
        }
        let post = Post { what: what.to_string(), bounds, started: Instant::now(), alarm: Arc::clone(&alarm) };
        // Without a thread only the search itself looks.
        let thread = thread::Builder::new().name("guard".to_string()).spawn(move || post.keep()).ok();
        Guard { alarm, thread }
    }

    /// Why to stop now, if there is a reason.
    pub(crate) fn stop(&self) -> Option<StopReason> {
        reason(self.alarm.ringing.load(Ordering::Relaxed))
    }

    /// The search has come to an end: from now on there is no last resort.
    pub(crate) fn over(&self) {
        self.alarm.is_over.store(true, Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.alarm.is_gone.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic, and if it did nothing would be lost.
            let _ = thread.join();
        }
    }
}

fn reason(ringing: u8) -> Option<StopReason> {
    match ringing {
        TIME => Some(StopReason::TimeLimit),
        MEMORY => Some(StopReason::MemoryLimit),
        _ => None,
    }
}

/// Where the guard's thread stands.
struct Post {
    what: String,
    bounds: Bounds,
    started: Instant,
    alarm: Arc<Alarm>,
}

impl Post {
    fn keep(&self) {
        let meter = self.bounds.memory.and_then(|_| Meter::new());
        while !self.alarm.is_gone.load(Ordering::Acquire) {
            let elapsed = self.started.elapsed();
            let resident = meter.as_ref().and_then(Meter::resident).unwrap_or(0);
            if self.bounds.time.is_some_and(|most| elapsed >= most) {
                self.ring(TIME);
                if elapsed >= self.bounds.time.unwrap_or_default() + self.bounds.patience() {
                    self.give_up("did not end when its time was up");
                }
            }
            if self.bounds.memory.is_some_and(|most| resident >= most) {
                self.ring(MEMORY);
                if resident >= self.bounds.memory_at_last() {
                    self.give_up("took more memory than it may before it could be stopped");
                }
            }
            thread::park_timeout(EVERY);
        }
    }

    /// The first alarm is the one that counts.
    fn ring(&self, alarm: u8) {
        let _ = self.alarm.ringing.compare_exchange(0, alarm, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The last resort.
    fn give_up(&self, why: &str) {
        if self.bounds.strict && !self.alarm.is_over.load(Ordering::Relaxed) {
            eprintln!("{}: inconclusive: the search {why}, and was ended", self.what);
            std::process::exit(Outcome::Inconclusive.code().into());
        }
    }
}
