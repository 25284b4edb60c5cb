//! Engine `random`: every step is picked at random among those that are possible, all with the same probability.

use super::Picker;
use crate::base::Step;
use crate::engines::sampling;
use crate::execution::{Describe, State};
use crate::search::{Options, Report, Watch};
use fastrand::Rng;

/// Runs random executions and reports. The same seed gives the same executions.
pub fn check<S: Describe>(subject: &S, seed: u64, options: &Options, watch: &dyn Watch) -> Report {
    let mut random = Random { seed, rng: Rng::with_seed(seed) };
    sampling::check(subject, options, watch, &mut random)
}

struct Random {
    seed: u64,
    rng: Rng,
}

impl Picker for Random {
    fn begin(&mut self) {}

    fn pick<T>(&mut self, _: &State<T>, steps: &[Step]) -> Step {
        steps[self.rng.usize(..steps.len())]
    }

    fn coverage(&self, executions: u64) -> String {
        format!("{executions} random executions with seed {}", self.seed)
    }
}
