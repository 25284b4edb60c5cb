//! [`model`] and [`Builder`]: run a closure under every schedule.

mod environment;
mod failure;
mod orderings;
mod page;
mod watch;
mod words;

pub use unthread_checker::base::Verdict;
pub use unthread_checker::execution::MemoryModel;
pub use unthread_checker::search::{Engine, Report, Statistics, StopReason};

use crate::runtime::{Beat, ClosureSubject, Cut, STACK_SIZE, Settings, watch};
use failure::{APART, LeftOut, Story};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use unthread_checker::base::Schedule;
use unthread_checker::engines::{check_subject, replay_closure};
use unthread_checker::execution::Describe;
use unthread_checker::search::Options;
use watch::Clock;

/// Runs a closure under every schedule, with TSO memory. Panics if anything is wrong, with the execution that shows it.
///
/// What is looked at, and for how long, can be set with a [`Builder`] or with environment variables (see the crate's documentation).
#[track_caller]
pub fn model<F: Fn() + Sync + Send + 'static>(f: F) {
    Builder::new().check(f);
}

/// How to check. Fields that loom has, have their names there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// The memory model; TSO, which contains SC, unless said otherwise.
    pub memory: MemoryModel,
    /// How to search.
    pub engine: Engine,
    /// The most threads of an execution.
    pub max_threads: usize,
    /// The most events of an execution. A longer one is given up, and the check fails: something spins without a hint.
    pub max_branches: usize,
    /// The most executions. A check that ends because of it has not verified anything, but does not fail.
    pub max_permutations: Option<usize>,
    /// The longest time. A check that ends because of it has not verified anything, but does not fail, unless a thread hangs: it computes for ever, or blocks on something
    /// that is not of this crate.
    pub max_duration: Option<Duration>,
    /// The most preemptions of an execution; others are left out. The report's coverage says if all executions within the bound were looked at.
    pub preemption_bound: Option<usize>,
    /// How often a thread may be woken from a wait for a condition variable, or poll a future, without a reason.
    pub spurious_wakeups: usize,
    /// How often a weak compare-exchange of a thread may fail without a reason. On the machines that are checked it never does, so this is 0
    /// unless said otherwise.
    pub spurious_failures: usize,
    /// How often waits of a thread may time out while others can go on. Where no thread can go on, a wait for some time always times out; if several threads wait, any of them may be the first. The report's
    /// coverage says so if executions were left out because of this.
    pub timeouts: usize,
    /// The least size of every thread's stack, in bytes; 2 MiB unless said otherwise. A thread can ask for more by `thread::Builder::stack_size`.
    pub stack_size: usize,
    /// A thread that holds an `RwLock` for reading may take it again while another one waits to write. The standard library may let both wait for ever then, so this is a deadlock
    /// unless said otherwise; other locks promise more.
    pub recursive_reads: bool,
    /// A panic of a thread fails the check, also one that whoever joins the thread handles. Otherwise it fails the check if nobody joins the thread, or if whoever does panics,
    /// too, as `join().unwrap()` does. With feature `loom` this is so unless said otherwise: with loom, any panic is the end.
    pub thread_panics_fail: bool,
    /// A thread that waits for ever is a deadlock also when the main thread has come to its end. Otherwise the process ends with its main thread, as in the standard library, and it is
    /// printed that this thread had not ended. With feature `loom` this is so unless said otherwise.
    pub all_threads_end: bool,
    /// What goes wrong only because a loop with a hint takes turns in vain while others could go on does not count, and nothing is verified then. With
    /// feature `loom` this is so unless said otherwise: loom's scheduler is fair, and tests for it give up after a few turns.
    pub fair: bool,
    /// A check that comes to its end without having verified anything fails: it met a limit, left executions out because of a bound, or depends on more than the schedule. Otherwise it
    /// prints a line. Not so for random executions, which never verify anything.
    pub must_verify: bool,
    /// Print what was done.
    pub log: bool,
    /// For loom's sake: executions are replayed by `UNTHREAD_REPLAY`, without files.
    pub checkpoint_file: Option<PathBuf>,
    /// For loom's sake: there are no files to write.
    pub checkpoint_interval: usize,
    /// For loom's sake: everything is explored.
    pub expect_explicit_explore: bool,
    /// For loom's sake: places in the source are always known.
    pub location: bool,
}

/// Whether tests are written for loom, which is said by the feature or by `--cfg loom`.
const AS_LOOM: bool = cfg!(any(loom, feature = "loom"));

/// What [`Builder::check`] gives.
#[cfg(not(any(loom, feature = "loom")))]
pub type Checked = Report;

/// What [`Builder::check`] gives.
#[cfg(any(loom, feature = "loom"))]
pub type Checked = ();

#[cfg(not(any(loom, feature = "loom")))]
fn checked(report: Report) -> Checked {
    report
}

#[cfg(any(loom, feature = "loom"))]
fn checked(_: Report) -> Checked {}

/// Loom does not notice that a test depends on more than it sees, and tests for it need not fail because of that. Nothing is verified then.
fn is_tolerated(report: &Report) -> bool {
    AS_LOOM && matches!(report.stop, StopReason::Nondeterminism(_))
}

/// Prints a line where whoever runs the tests sees it, whatever becomes of what the test prints.
fn announce(line: &str) {
    // All at once: other tests may print at the same time.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Turns in vain of loops that count them, where they make executions too long.
const TURNS: u32 = 3;

/// The most events of an execution, unless said otherwise.
const EVENTS: usize = 10_000;

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// Everything as the environment says, or as usual.
    pub fn new() -> Builder {
        let mut builder = Builder {
            memory: MemoryModel::Tso,
            engine: Engine::Dpor,
            max_threads: usize::MAX,
            max_branches: EVENTS,
            max_permutations: None,
            max_duration: None,
            preemption_bound: None,
            spurious_wakeups: 1,
            spurious_failures: 0,
            timeouts: 1,
            stack_size: STACK_SIZE,
            recursive_reads: false,
            thread_panics_fail: AS_LOOM,
            all_threads_end: AS_LOOM,
            fair: AS_LOOM,
            must_verify: false,
            log: false,
            checkpoint_file: None,
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
        };
        environment::read(&mut builder);
        builder
    }

    /// Sets the memory model.
    pub fn memory(&mut self, memory: MemoryModel) -> &mut Self {
        self.memory = memory;
        self
    }

    /// Sets the engine: `Dpor`, unless said otherwise, and `Graph` where the memory model is the language's; `Mcr`, `Cumulative`, `Exhaustive`, `Random` or `Pct`. Others are for programs, and closures are checked with `Dpor`
    /// instead.
    ///
    /// `Mcr` and `Cumulative` predict executions from those that were run, so threads must not share anything but what this crate has types for. `Cumulative` needs the fewest executions where threads do
    /// much that others do not see; where they see much of each other, its questions cost more than the executions that it saves.
    pub fn engine(&mut self, engine: Engine) -> &mut Self {
        self.engine = engine;
        self
    }

    /// For loom's sake: does nothing.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks a closure and panics if anything is wrong, with the execution that shows it. Gives the report, or nothing with feature `loom`, as tests for
    /// loom expect.
    #[track_caller]
    pub fn check<F: Fn() + Sync + Send + 'static>(&self, f: F) -> Checked {
        checked(self.check_or_panic(f))
    }

    #[track_caller]
    fn check_or_panic<F: Fn() + Sync + Send + 'static>(&self, f: F) -> Report {
        let body: Arc<dyn Fn() + Send + Sync> = Arc::new(f);
        if let Some(schedule) = environment::replay() {
            return self.replay(body, &schedule);
        }
        let (report, story) = self.run(body);
        let why = story.cannot_say(&report);
        let is_tolerated = is_tolerated(&report) && !self.must_verify;
        let is_cut = self.is_cut(&report);
        if self.log || is_cut && why.is_none() || story.left().is_some() || story.are_apart() {
            announce(&story.summary(&report));
        }
        match (report.verdict(), why) {
            (Verdict::Violation, _) => panic!("{}", story.violation(&report)),
            (_, Some(why)) if !is_tolerated => panic!("{why}"),
            _ if is_cut && self.must_verify => panic!("{}", story.summary(&report)),
            (_, why) => {
                why.iter().for_each(|why| announce(&format!("{}: {why}", report.program)));
                report
            }
        }
    }

    /// Whether a check that was to verify something has not.
    fn is_cut(&self, report: &Report) -> bool {
        let samples = matches!(self.fitting_engine(), Engine::Random { .. } | Engine::Pct { .. });
        !samples && report.verdict() == Verdict::Inconclusive
    }

    /// Checks a closure and says what came of it. Never panics.
    pub fn report<F: Fn() + Sync + Send + 'static>(&self, f: F) -> Report {
        self.run(Arc::new(f)).0
    }

    /// Checks a closure; a failure comes as the text that [`Builder::check`] would panic with.
    pub fn try_check<F: Fn() + Sync + Send + 'static>(&self, f: F) -> Result<Report, String> {
        let (report, story) = self.run(Arc::new(f));
        match (report.verdict(), story.cannot_say(&report)) {
            (Verdict::Violation, _) => Err(story.violation(&report)),
            (_, Some(why)) => Err(why),
            _ if self.must_verify && self.is_cut(&report) => Err(story.summary(&report)),
            _ => Ok(report),
        }
    }

    fn run(&self, body: Arc<dyn Fn() + Send + Sync>) -> (Report, Story) {
        assert!(!crate::runtime::in_execution(), "a check cannot be run inside of a check");
        let beat = Arc::<Beat>::default();
        let clock = Clock::new(self.max_duration, self.log);
        let started = clock.started;
        let _watched = watch(&beat, clock.deadline());
        catch_unwind(AssertUnwindSafe(|| self.run_watched(&body, &beat, clock))).unwrap_or_else(|payload| match payload
            .downcast::<Cut>(
        ) {
            Ok(cut) => self.after_cut(body, &beat, *cut, started.elapsed()),
            Err(payload) => resume_unwind(payload),
        })
    }

    /// What there is to say of a check that ended in the middle of an execution.
    fn after_cut(&self, body: Arc<dyn Fn() + Send + Sync>, beat: &Beat, cut: Cut, took: Duration) -> (Report, Story) {
        let subject = self.subject(body, None);
        let stop = match cut {
            Cut::Hang(why) => StopReason::Hang(why),
            Cut::Late => StopReason::TimeLimit,
        };
        let report = Report {
            program: subject.title(),
            memory: self.memory,
            engine: self.fitting_engine(),
            stop,
            coverage: None,
            failures: Vec::new(),
            violations: Vec::new(),
            observations: Vec::new(),
            final_states: Vec::new(),
            statistics: Statistics { executions: beat.executions(), ..Statistics::default() },
        };
        let story = Story::new(&subject, &self.options(), &report, took, None, None);
        (report, story)
    }

    fn run_watched(&self, body: &Arc<dyn Fn() + Send + Sync>, beat: &Arc<Beat>, mut clock: Clock) -> (Report, Story) {
        let options = self.options();
        let mut subject = self.subject(body.clone(), None).watched_by(beat);
        clock.gives_up = Some(subject.counting.clone());
        let mut report = check_subject(&subject, &options, &clock);
        let turns = self.fewer_turns(&report, &subject);
        let mut left_out = None;
        if let Some(turns) = turns {
            clock.gives_up = None;
            subject = self.subject(body.clone(), Some(turns)).watched_by(beat);
            let before = std::mem::replace(&mut report, check_subject(&subject, &options, &clock));
            if report.verdict() == Verdict::Verified {
                if subject.counting.cut.load(Relaxed) {
                    left_out = Some(LeftOut { turns, found: before.violations.into_iter().next() });
                    report.stop = StopReason::EventLimit;
                } else {
                    (report.stop, report.violations) = (before.stop, before.violations);
                }
                report.coverage = None;
            }
        }
        let took = clock.started.elapsed();
        let under_sc = self.is_sc_too(body, beat, &report, turns);
        let story = Story::new(&subject, &options, &report, took, under_sc, left_out);
        if let Some(coverage) = report.coverage.as_mut().filter(|_| subject.counting.few_timeouts.load(Relaxed)) {
            let times = if self.timeouts == 1 { "time-out" } else { "time-outs" };
            *coverage += &format!(", with at most {} {times} of each thread while others can go on", self.timeouts);
        }
        if let Some(coverage) = report.coverage.as_mut().filter(|_| story.are_apart()) {
            *coverage += &format!("; {APART}");
        }
        if let (Some(coverage), Some(left)) = (&mut report.coverage, story.left()) {
            *coverage += &format!("; {left}");
        }
        (report, story)
    }

    /// Where loops that change nothing but their stacks may be to blame for what came of a check: how many such turns they may take when it begins anew.
    fn fewer_turns(&self, report: &Report, subject: &ClosureSubject) -> Option<u32> {
        let counting = &subject.counting;
        let (some, many) = (counting.some.load(Relaxed), counting.many.load(Relaxed));
        match report.stop {
            _ if !report.violations.is_empty() => (self.fair && some).then_some(0),
            StopReason::EventLimit => many.then_some(TURNS),
            StopReason::Nondeterminism(_) => some.then_some(TURNS),
            _ => None,
        }
    }

    /// Whether SC memory shows a violation too, where that can be said in reasonable time.
    fn is_sc_too(
        &self,
        body: &Arc<dyn Fn() + Send + Sync>,
        beat: &Arc<Beat>,
        report: &Report,
        turns: Option<u32>,
    ) -> Option<bool> {
        if self.memory == MemoryModel::Sc || report.violations.is_empty() {
            return None;
        }
        let mut sc = Builder { memory: MemoryModel::Sc, engine: Engine::Dpor, log: false, ..self.clone() };
        sc.max_permutations = Some(report.statistics.executions as usize * 10 + 1000);
        let subject = sc.subject(body.clone(), turns).watched_by(beat);
        let report = check_subject(&subject, &sc.options(), &Clock::new(None, false));
        match report.verdict() {
            Verdict::Violation => Some(true),
            Verdict::Verified if !subject.counting.cut.load(Relaxed) => Some(false),
            _ => None,
        }
    }

    /// The engine that checks it: what the language promises is for `Graph`.
    fn fitting_engine(&self) -> Engine {
        match self.engine {
            Engine::Dpor if self.memory.is_language() => Engine::Graph,
            engine => engine,
        }
    }

    fn options(&self) -> Options {
        let mut options = Options::new(self.memory);
        options.engine = self.fitting_engine();
        options.limits.executions = self.max_permutations.map_or(u64::MAX, |most| most as u64);
        // Loom counts other events.
        let least = if AS_LOOM { EVENTS } else { 0 };
        options.limits.events = self.max_branches.max(least) as u64;
        options.limits.preemptions = self.preemption_bound.map(|bound| bound as u32);
        options
    }

    fn subject(&self, body: Arc<dyn Fn() + Send + Sync>, turns: Option<u32>) -> ClosureSubject {
        let settings = Settings {
            wakeups: self.spurious_wakeups as u32,
            failures: self.spurious_failures as u32,
            timeouts: self.timeouts as u32,
            turns,
            stack: self.stack_size,
            recursive_reads: self.recursive_reads,
            thread_panics_fail: self.thread_panics_fail,
            all_threads_end: self.all_threads_end,
            language: self.memory.is_language(),
        };
        let mut subject = ClosureSubject::new(body, self.memory.rules().buffers, settings);
        // Loom counts the main thread, too, and more than it can is no reason to fail.
        subject.max_threads = self.max_threads.max(crate::MAX_THREADS);
        subject
    }

    /// Follows one schedule and shows what happens. Panics if anything is wrong with it.
    #[track_caller]
    fn replay(&self, body: Arc<dyn Fn() + Send + Sync>, schedule: &Schedule) -> Report {
        let started = Instant::now();
        let mut subject = self.subject(body.clone(), None);
        let options = self.options();
        let mut replayed = replay_closure(&subject, &options, schedule);
        for turns in [TURNS, 0] {
            if replayed.is_err() {
                subject = self.subject(body.clone(), Some(turns));
                replayed = replay_closure(&subject, &options, schedule);
            }
        }
        match replayed {
            Ok(replayed) => {
                let story = failure::of_replay(&subject, self.memory, &replayed, started.elapsed());
                if !replayed.violations.is_empty() {
                    panic!("{story}");
                }
                eprintln!("{story}");
                Report {
                    program: subject.title(),
                    memory: self.memory,
                    engine: self.fitting_engine(),
                    stop: StopReason::ExecutionLimit,
                    coverage: Some("one execution".to_string()),
                    violations: Vec::new(),
                    observations: Vec::new(),
                    final_states: Vec::new(),
                    statistics: Statistics { executions: 1, ..Statistics::default() },
                    failures: Vec::new(),
                }
            }
            Err(error) => panic!("the test does not follow the schedule: {error}"),
        }
    }
}

/// Checks a closure with the default settings, as shuttle's function of that name: everything, not a sample.
#[track_caller]
pub fn check<F: Fn() + Sync + Send + 'static>(f: F) {
    model(f);
}

/// Runs random executions. Finds much and verifies nothing.
#[track_caller]
pub fn check_random<F: Fn() + Sync + Send + 'static>(f: F, executions: usize) {
    sample(Engine::Random { seed: environment::seed() }, f, executions);
}

/// Runs executions with random priorities, which find a bug that needs so many ordering constraints with a known probability.
#[track_caller]
pub fn check_pct<F: Fn() + Sync + Send + 'static>(f: F, executions: usize, depth: usize) {
    sample(Engine::Pct { seed: environment::seed(), depth: depth as u32 }, f, executions);
}

/// Runs every execution one after the other, without any reduction.
#[track_caller]
pub fn check_dfs<F: Fn() + Sync + Send + 'static>(f: F, executions: Option<usize>) {
    let mut builder = Builder::new();
    builder.engine = Engine::Exhaustive;
    builder.max_permutations = executions;
    builder.check(f);
}

/// Follows a schedule that a failure printed.
#[track_caller]
pub fn replay<F: Fn() + Sync + Send + 'static>(f: F, schedule: &str) {
    match schedule.parse() {
        Ok(schedule) => drop(Builder::new().replay(Arc::new(f), &schedule)),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn sample<F: Fn() + Sync + Send + 'static>(engine: Engine, f: F, executions: usize) {
    let mut builder = Builder::new();
    builder.engine = engine;
    builder.max_permutations = Some(executions);
    builder.check(f);
}

/// For loom's sake: everything is explored anyway.
pub fn explore() {}

/// For loom's sake: everything is explored anyway.
pub fn stop_exploring() {}

/// For loom's sake: everything is explored anyway.
pub fn skip_branch() {}
