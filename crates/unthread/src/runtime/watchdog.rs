//! A thread of the operating system that notices when code under test does not come to its next operation: it computes for ever, or blocks on something that is not
//! of this crate.

use super::leave;
use std::panic::Location;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What can be seen of a check from outside, at any time.
#[derive(Default)]
pub(crate) struct Beat {
    /// Goes up whenever a thread is resumed and whenever it hands over: it is odd while one runs.
    count: AtomicU64,
    /// The thread that runs, by its index.
    thread: AtomicU32,
    /// Where that thread came to an operation last.
    last: AtomicPtr<Location<'static>>,
    /// The count at which the thread that runs has to be left; nothing is at 0.
    leave_at: AtomicU64,
    /// Wherever it is, be it in a function of the system.
    anywhere: AtomicBool,
    /// Executions that have begun.
    executions: AtomicU64,
    /// Time has been up for a while, and nobody has noticed.
    is_late: AtomicBool,
}

/// Why a check ends in the middle of an execution. Unwinds the check, but not the threads.
pub(crate) enum Cut {
    /// A thread hangs. This says where.
    Hang(String),
    /// Time is up.
    Late,
}

/// A check is looked at while this lives.
pub(crate) struct Watched(u64);

struct Check {
    number: u64,
    name: String,
    beat: Arc<Beat>,
    os_thread: leave::OsThread,
    deadline: Option<Instant>,
    /// What was seen when something was different the last time, and when.
    seen: (u64, Instant),
    warned: bool,
    /// When the thread was told to leave.
    told: Option<Instant>,
}

#[derive(Default)]
struct Checks {
    list: Vec<Check>,
    next: u64,
    is_watched: bool,
}

static CHECKS: Mutex<Checks> = Mutex::new(Checks { list: Vec::new(), next: 0, is_watched: false });
static CHANGED: Condvar = Condvar::new();

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A thread without an operation for so long is worth a warning.
const WARN_AFTER: Duration = Duration::from_secs(5);
/// A thread that has not come to an operation for so long when time is up is stuck.
const STUCK_AFTER: Duration = Duration::from_millis(200);
/// A search that does not look at the clock for so long after time is up, because each of its steps takes so long, ends at its next one.
const LATE_AFTER: Duration = Duration::from_millis(400);
/// How often a thread is interrupted until it is in its own code.
const ATTEMPTS: u32 = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(1);
/// If the check has not ended by then, the process does.
const GRACE: Duration = Duration::from_millis(500);

const CAUSES: &str = "Likely causes: a loop without an operation on an `unthread` type; a lock of the standard library that another thread holds across an operation; \
     another wait that `unthread` does not see (a channel of the standard library, `std::thread::park`, input)";

impl Beat {
    /// An execution begins.
    pub(super) fn begin(&self) {
        self.executions.fetch_add(1, Relaxed);
    }

    /// How many executions have begun.
    pub(crate) fn executions(&self) -> u64 {
        self.executions.load(Relaxed)
    }

    /// Whether time has been up for a while.
    pub(super) fn is_late(&self) -> bool {
        self.is_late.load(Relaxed)
    }

    /// A thread is about to run.
    pub(super) fn enter(&self, thread: usize, last: Option<&'static Location<'static>>) {
        self.thread.store(thread as u32, Relaxed);
        self.last.store(last.map_or(std::ptr::null_mut(), |last| std::ptr::from_ref(last).cast_mut()), Relaxed);
        self.count.store(self.count.load(Relaxed) + 1, Release);
    }

    /// It has handed over.
    pub(super) fn leave(&self) {
        self.count.store(self.count.load(Relaxed) + 1, Release);
    }

    /// Whether the thread that runs has to be left where it is.
    pub(super) fn is_over(&self, is_in_program: bool) -> bool {
        self.leave_at.load(Acquire) == self.count.load(Acquire) && (is_in_program || self.anywhere.load(Relaxed))
    }

    /// Where the thread that runs came to an operation last, in words.
    pub(super) fn place(&self) -> String {
        let last = self.last.load(Relaxed).cast_const();
        // SAFETY: it is null or the address of a `Location` that lives for ever.
        match unsafe { last.as_ref() } {
            Some(place) => format!("its last operation is at {place}"),
            None => "it has not come to an operation yet".to_string(),
        }
    }

    /// What there is to say when time is up.
    pub(super) fn verdict(&self, thread: &str) -> String {
        format!("{thread} does not come to another operation, and the time is up; {}. {CAUSES}", self.place())
    }
}

/// Looks at a check from now on. It ends when time is up, even in the middle of a thread.
pub(crate) fn watch(beat: &Arc<Beat>, deadline: Option<Instant>) -> Watched {
    leave::install();
    let mut checks = checks();
    checks.next += 1;
    let (number, name) = (checks.next, std::thread::current().name().unwrap_or("check").to_string());
    let (beat, os_thread, seen) = (beat.clone(), leave::OsThread::current(), (0, Instant::now()));
    checks.list.push(Check { number, name, beat, os_thread, deadline, seen, warned: false, told: None });
    if !checks.is_watched {
        let watchdog = std::thread::Builder::new().name("unthread-watchdog".to_string());
        let (begins, has_begun) = std::sync::mpsc::channel();
        let look_on = move || {
            let _ = begins.send(());
            look_on();
        };
        // From then on it is known by its name, as one of ours.
        checks.is_watched = watchdog.spawn(look_on).is_ok() && has_begun.recv().is_ok();
    }
    CHANGED.notify_all();
    Watched(number)
}

impl Drop for Watched {
    fn drop(&mut self) {
        checks().list.retain(|check| check.number != self.0);
    }
}

fn checks() -> MutexGuard<'static, Checks> {
    CHECKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the watchdog does: it lives as long as the process.
fn look_on() {
    let mut checks = checks();
    loop {
        checks = match checks.list.is_empty() {
            true => CHANGED.wait(checks).unwrap_or_else(PoisonError::into_inner),
            false => CHANGED.wait_timeout(checks, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0,
        };
        checks.list.iter_mut().for_each(|check| check.look(Instant::now()));
    }
}

impl Check {
    fn look(&mut self, now: Instant) {
        let count = self.beat.count.load(Acquire);
        if self.seen.0 != count {
            (self.seen, self.warned) = ((count, now), false);
        }
        let still = now - self.seen.1;
        let is_stuck = count % 2 == 1 && still >= STUCK_AFTER;
        let is_late = self.deadline.is_some_and(|deadline| now >= deadline);
        if self.deadline.is_some_and(|deadline| now >= deadline + LATE_AFTER) {
            self.beat.is_late.store(true, Relaxed);
        }
        match self.told {
            Some(told) if now - told >= GRACE => {
                leave::end_process(&format!("{}: hang: {}\n", self.name, self.beat.verdict(&self.thread())))
            }
            None if is_stuck && is_late => {
                self.told = Some(now);
                self.interrupt(count);
            }
            None if is_stuck && still >= WARN_AFTER && !self.warned => {
                self.warned = true;
                leave::write(&self.warning(still));
            }
            _ => {}
        }
    }

    /// Has the thread left, where it holds no lock of the system if that can be had.
    fn interrupt(&self, count: u64) {
        for attempt in 1..=ATTEMPTS {
            self.beat.anywhere.store(attempt == ATTEMPTS, Relaxed);
            self.beat.leave_at.store(count, Release);
            self.os_thread.wake();
            std::thread::sleep(BETWEEN_ATTEMPTS);
            if self.beat.count.load(Acquire) != count {
                return;
            }
        }
    }

    fn thread(&self) -> String {
        match self.beat.thread.load(Relaxed) {
            0 => "main".to_string(),
            index => format!("thread {index}"),
        }
    }

    fn warning(&self, still: Duration) -> String {
        let more =
            if self.deadline.is_none() { "; `max_duration` (UNTHREAD_MAX_SECONDS) would end the check" } else { "" };
        format!(
            "{}: {} has not come to an operation for {} s; {}. {CAUSES}{more}\n",
            self.name,
            self.thread(),
            still.as_secs(),
            self.beat.place()
        )
    }
}
