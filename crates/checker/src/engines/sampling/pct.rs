//! Engine `pct`: probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010).
//!
//! Every process gets a random priority, and the possible step of the highest priority is taken. At `depth - 1` random
//! moments the process that has just stepped falls below all others. A bug that needs `depth` ordering constraints
//! is found by one execution with a probability of at least `1 / (n * k^(depth - 1))`, for `n` processes and `k` steps. Stores on
//! their way are processes of their own (one per thread under TSO, one per thread and cell under PSO), so that the bound holds for
//! the steps of the machine. `k` is the length of the longest execution so far; the first execution measures.

use super::Picker;
use crate::base::Step;
use crate::engines::sampling;
use crate::execution::{Describe, State};
use crate::search::{Options, Report, Watch};
use crate::trace::happens_before::process::{ProcessId, Processes};
use fastrand::Rng;

/// Runs executions with random priorities and reports. The same seed gives the same executions.
pub fn check<S: Describe>(subject: &S, seed: u64, depth: u32, options: &Options, watch: &dyn Watch) -> Report {
    let depth = depth.max(1);
    let mut pct = Pct {
        seed,
        depth,
        rng: Rng::with_seed(seed),
        reorders_stores: options.rules.reorders_stores(),
        processes: Processes::default(),
        priorities: Vec::new(),
        changes: Vec::new(),
        length: 0,
        longest: 0,
    };
    sampling::check(subject, options, watch, &mut pct)
}

struct Pct {
    seed: u64,
    depth: u32,
    rng: Rng,
    reorders_stores: bool,
    processes: Processes,
    /// Priorities of the processes in this execution. Those that have fallen are below `depth`.
    priorities: Vec<u64>,
    /// The steps after which the process that has stepped falls, and to what.
    changes: Vec<(u64, u64)>,
    length: u64,
    longest: u64,
}

impl Pct {
    fn priority(&mut self, process: ProcessId) -> u64 {
        while self.priorities.len() <= process as usize {
            let priority = self.rng.u64(u64::from(self.depth)..);
            self.priorities.push(priority);
        }
        self.priorities[process as usize]
    }
}

impl Picker for Pct {
    fn begin(&mut self) {
        self.longest = self.longest.max(self.length);
        self.length = 0;
        self.priorities.clear();
        let (rng, longest) = (&mut self.rng, self.longest.max(1));
        self.changes = (1..u64::from(self.depth)).map(|to| (rng.u64(1..=longest), to)).collect();
    }

    fn pick<T>(&mut self, state: &State<T>, steps: &[Step]) -> Step {
        let mut best: Option<(u64, ProcessId)> = None;
        let mut candidates: Vec<Step> = Vec::new();
        for &step in steps {
            let process = self.processes.label(state, self.reorders_stores, step, None).process;
            let this = (self.priority(process), process);
            if best.is_none_or(|best| this > best) {
                best = Some(this);
                candidates.clear();
            }
            if best == Some(this) {
                candidates.push(step);
            }
        }
        self.length += 1;
        let at = self.length;
        if let Some((_, process)) = best {
            for &(_, to) in self.changes.iter().filter(|change| change.0 == at) {
                self.priorities[process as usize] = to;
            }
        }
        // Several steps of one process are choices.
        candidates[self.rng.usize(..candidates.len())]
    }

    fn coverage(&self, executions: u64) -> String {
        let Pct { seed, depth, .. } = self;
        let (n, k) = (self.processes.len().max(1), self.longest.max(self.length).max(1));
        let one = 1.0 / (n as f64 * (k as f64).powi(*depth as i32 - 1));
        let all = 1.0 - (1.0 - one).powf(executions as f64);
        format!(
            "{executions} executions with random priorities, seed {seed}: each finds a bug of depth {depth} with a probability of at \
             least {one:.2e} ({n} processes, {k} steps), all together with {all:.3}"
        )
    }
}
