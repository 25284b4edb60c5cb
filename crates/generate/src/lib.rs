//! Small generated programs, on which every engine is compared with every other.
//!
//! A [`Sketch`] is a structured program that proptest generates and shrinks; [`Sketch::program`] lowers it. [`for_all`] runs a test
//! on many of them. The seed is fixed, so that a run can be repeated; `UNTHREAD_SEED` varies it, and `UNTHREAD_CASES` says how many
//! programs a test looks at.

#![forbid(unsafe_code)]

mod language;
mod lower;
mod sketch;
mod strategy;

pub use language::{Language, language};
pub use sketch::{
    Asked, CellSketch, ConditionSketch, LockName, Look, Parent, PlaceSketch, Sketch, Statement, Test, ThreadSketch,
    Value, Var,
};
pub use strategy::{Features, sketches};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt::Debug;

/// A sketch for which a test does not hold, as small as could be found, and what the test said.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The sketch.
    pub sketch: Sketch,
    /// What is wrong with it.
    pub why: String,
}

/// How many programs a test looks at: `UNTHREAD_CASES`, or what is given here.
pub fn cases(otherwise: u32) -> u32 {
    std::env::var("UNTHREAD_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a test on generated sketches and panics with the smallest one that it does not hold for.
pub fn for_all(sketches: impl Strategy<Value = Sketch>, cases: u32, test: impl Fn(&Sketch) -> Result<(), String>) {
    if let Some(Counterexample { sketch, why }) = find_counterexample(sketches, cases, test) {
        panic!("{why}\n\nprogram:\n{}\nsketch: {sketch:?}", sketch.program().source.text);
    }
}

/// Runs a test on anything that is generated and panics with the smallest one that it does not hold for.
pub fn check_all<T: Debug>(all: impl Strategy<Value = T>, cases: u32, test: impl Fn(&T) -> Result<(), String>) {
    if let Some((least, why)) = find(all, cases, test) {
        panic!("{why}\n\n{least:?}");
    }
}

/// Looks for a sketch that a test does not hold for.
pub fn find_counterexample(
    sketches: impl Strategy<Value = Sketch>,
    cases: u32,
    test: impl Fn(&Sketch) -> Result<(), String>,
) -> Option<Counterexample> {
    find(sketches, cases, test).map(|(sketch, why)| Counterexample { sketch, why })
}

/// Looks for something that a test does not hold for, and makes it small. Says what is wrong with it.
fn find<T: Debug>(
    all: impl Strategy<Value = T>,
    cases: u32,
    test: impl Fn(&T) -> Result<(), String>,
) -> Option<(T, String)> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed()));
    let result = runner.run(&all, |one| test(&one).map_err(TestCaseError::fail));
    match result {
        Ok(()) => None,
        Err(TestError::Fail(why, least)) => Some((least, why.message().to_string())),
        Err(TestError::Abort(why)) => panic!("nothing is generated: {why}"),
    }
}

fn seed() -> [u8; 32] {
    let seed: u64 = std::env::var("UNTHREAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}
