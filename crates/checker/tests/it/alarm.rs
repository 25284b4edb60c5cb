//! A search that is told to stop, at whatever moment, does not say that it has seen everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use unthread_checker::base::{Source, Verdict};
use unthread_checker::engines::{check, predict};
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::robustness;
use unthread_checker::robustness::{Answer, FenceOptions, Purpose};
use unthread_checker::search::{Coverage, Engine, Limits, Options, Progress, Report, StopReason, Unwatched, Watch};

/// An alarm that rings when it has been asked so often, and ever after.
struct Alarm {
    left: AtomicU64,
}

impl Alarm {
    fn after(times: u64) -> Alarm {
        Alarm { left: AtomicU64::new(times) }
    }

    fn rings(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

impl Watch for Alarm {
    fn look(&self, _: &Progress) -> Option<StopReason> {
        self.stop()
    }

    fn stop(&self) -> Option<StopReason> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(StopReason::TimeLimit)
    }
}

/// In each of them something is wrong, and little else can be seen of it.
const WRONG: [&str; 5] = [
    "shared x; thread t { let r = choose(0..40); x = r; assert(r != 39); }",
    "shared x; thread t { let r = choose(0..3); let s = choose(0..40); x = r; assert(s + r != 41); }",
    "shared x, y; thread a { x = 1; y = 1; } thread b { let r = y; let s = x; assert(!(r == 1 && s == 1)); }",
    "mutex m, n; thread a { lock(m); lock(n); unlock(n); unlock(m); } thread b { lock(n); lock(m); unlock(m); unlock(n); }",
    "shared x; thread t { x = choose(0..30); } finally { let r = x; assert(r != 17); }",
];

fn program(text: &str) -> Program {
    ut::parse(Arc::new(Source::new("test.ut", text)), &BTreeMap::new()).expect("it is a program")
}

/// Moments to ring: each of the first, then fewer and fewer.
fn moments() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0_u64), |&at| Some(at + 1 + at / 40)).take_while(|&at| at < 20_000)
}

/// Runs a search again and again until the alarm does not ring any more.
fn at_all_moments(mut search: impl FnMut(&Alarm)) {
    for times in moments() {
        let alarm = Alarm::after(times);
        search(&alarm);
        if !alarm.rings() {
            return;
        }
    }
}

#[test]
fn what_is_wrong_is_never_verified_by_whom_it_is_stopped() {
    for text in WRONG {
        let program = program(text);
        for engine in Engine::ALL {
            for (all_violations, coverage) in [(false, Coverage::Behaviours), (true, Coverage::States)] {
                let options = Options { engine, all_violations, coverage, ..Options::new(MemoryModel::Tso) };
                at_all_moments(|alarm| {
                    let report = check(&program, &options, alarm);
                    assert_ne!(report.verdict(), Verdict::Verified, "{engine}: {text}");
                    // What is found all the same is really wrong.
                    assert!(!matches!(report.stop, StopReason::Failed(_)), "{engine}: {:?}: {text}", report.stop);
                });
            }
        }
        at_all_moments(|alarm| {
            let report = predict(&program, &Options::new(MemoryModel::Tso), alarm);
            assert_ne!(report.verdict(), Verdict::Verified, "{text}");
        });
    }
}

/// Each of two threads has many ways on, and those of one go first: who follows them asks before each, as there are as many ways on from where it leads.
#[test]
fn few_steps_are_taken_once_it_rings() {
    let text = "shared a, b; thread t { a = choose(0..200); } thread u { b = choose(0..200); } finally { assert(a * b != 39799); }";
    let (program, options) = (program(text), Options { reduced: true, ..Options::new(MemoryModel::Tso) });
    for times in 0..2_000 {
        let report = check(&program, &options, &Alarm::after(times));
        assert_eq!(report.stop, StopReason::TimeLimit);
        assert!(report.statistics.steps <= 5 + times / 20, "{times}: {}", report.statistics.steps);
    }
}

#[test]
fn workers_that_are_stopped_do_not_wait_for_one_another() {
    for text in &WRONG[1..3] {
        let program = program(text);
        for engine in [Engine::Mcr, Engine::Cumulative] {
            let options = Options { engine, all_violations: true, jobs: 3, ..Options::new(MemoryModel::Tso) };
            at_all_moments(|alarm| {
                let report = check(&program, &options, alarm);
                assert_ne!(report.verdict(), Verdict::Verified, "{engine}: {text}");
            });
        }
    }
}

#[test]
fn what_is_right_is_never_found_wrong_by_whom_it_is_stopped() {
    let right = [
        "shared x; thread t { let r = choose(0..40); x = r; } thread u { let r = x; assert(r < 40); }",
        "shared x; mutex m; thread t * 2 { lock(m); let r = x; x = r + 1; unlock(m); } finally { assert(x == 2); }",
    ];
    for text in right {
        let program = program(text);
        for engine in Engine::ALL {
            let options = Options { engine, all_violations: true, ..Options::new(MemoryModel::Tso) };
            let finals = |report: &Report| report.final_states.clone();
            let all =
                finals(&check(&program, &Options { coverage: Coverage::FinalStates, ..options.clone() }, &Unwatched));
            at_all_moments(|alarm| {
                let report = check(&program, &options, alarm);
                assert_ne!(report.verdict(), Verdict::Violation, "{engine}: {text}");
                assert!(finals(&report).iter().all(|found| all.contains(found)), "{engine}: {text}");
            });
        }
    }
}

#[test]
fn robustness_and_fences_are_not_decided_by_whom_is_stopped() {
    let text = "shared x, y; thread a { x = 1; let r = y; } thread b { y = 1; let r = x; }";
    let program = program(text);
    let limits = Limits { executions: u64::MAX, states: u64::MAX, events: u64::MAX, preemptions: None };
    for decide in [robustness::robust, robustness::robust_by_graph] {
        at_all_moments(|alarm| {
            let found = decide(&program, MemoryModel::Tso, &limits, alarm);
            assert!(!matches!(found.answer, Answer::Robust), "{text}");
        });
    }
    for purpose in [Purpose::Robustness, Purpose::Correctness] {
        let options = FenceOptions { memory: MemoryModel::Tso, purpose, all: true, orderings: false, limits };
        let all = robustness::fences(&program, &options, &Unwatched);
        at_all_moments(|alarm| {
            let found = robustness::fences(&program, &options, alarm);
            assert!(!found.verified || found.sets == all.sets, "{purpose:?}");
            assert!(!found.sets.is_empty(), "{purpose:?}");
        });
    }
}
