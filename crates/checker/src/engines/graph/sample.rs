//! Sampling graphs: one after the other is built, event by event, each in a way that is picked at random. It covers
//! nothing for certain, so it verifies nothing.
//!
//! The steps are those of schedules: an operation of some thread, with the write that it reads from or the place that it
//! takes. Events are never taken back, but where a way leads to no execution.

use super::Search;
use super::world::Alternative;
use crate::execution::Describe;
use crate::search::{StopReason, Watch};
use fastrand::Rng;
use smallvec::SmallVec;

/// How many graphs to build if nobody says.
const GRAPHS: u64 = 10_000;
/// How often the watch is asked, in graphs.
const LOOK_EVERY: u64 = 64;

/// Picks ways at random.
pub(super) struct Picker {
    rng: Rng,
    seed: u64,
    /// With priorities: how many ordering constraints a bug may need.
    depth: Option<u64>,
    /// Those of threads, by number. Those that have fallen are below `depth`.
    priorities: Vec<u64>,
    /// The events after which the thread that has gone on falls, and to what.
    changes: Vec<(u64, u64)>,
    length: u64,
    longest: u64,
}

impl Picker {
    pub(super) fn new(seed: u64, depth: Option<u32>) -> Picker {
        let depth = depth.map(|depth| u64::from(depth.max(1)));
        let rng = Rng::with_seed(seed);
        Picker { rng, seed, depth, priorities: Vec::new(), changes: Vec::new(), length: 0, longest: 0 }
    }

    fn begin(&mut self) {
        self.longest = self.longest.max(self.length);
        self.length = 0;
        self.priorities.clear();
        let (rng, longest) = (&mut self.rng, self.longest.max(1));
        self.changes = (1..self.depth.unwrap_or(1)).map(|to| (rng.u64(1..=longest), to)).collect();
    }

    /// Takes one of the ways out, which are not empty.
    fn pick(&mut self, ways: &mut SmallVec<[Alternative; 6]>) -> Alternative {
        let Some(depth) = self.depth else { return ways.swap_remove(self.rng.usize(..ways.len())) };
        let most = ways.iter().map(|way| way.thread).max().unwrap_or(0);
        while self.priorities.len() <= usize::from(most) {
            let priority = self.rng.u64(depth..);
            self.priorities.push(priority);
        }
        let best = ways.iter().map(|way| way.thread).max_by_key(|&thread| self.priorities[usize::from(thread)]);
        let own: Vec<usize> = (0..ways.len()).filter(|&at| Some(ways[at].thread) == best).collect();
        self.length += 1;
        let at = self.length;
        for &(_, to) in self.changes.iter().filter(|change| change.0 == at) {
            self.priorities[usize::from(best.unwrap_or(0))] = to;
        }
        ways.swap_remove(own[self.rng.usize(..own.len())])
    }

    fn coverage(&self, graphs: u64) -> String {
        let how = if self.depth.is_some() { "graphs by threads with random priorities" } else { "random graphs" };
        format!("{graphs} {how} with seed {}", self.seed)
    }
}

impl<S: Describe> Search<'_, S> {
    /// Builds graphs until there are enough.
    pub(super) fn sample(&mut self, picker: &mut Picker, watch: &dyn Watch) -> StopReason {
        self.every_thread = true;
        let most = self.findings.options.limits.executions;
        let most = if most == u64::MAX { GRAPHS } else { most };
        let mut done = 0;
        let mut stop = None;
        while done < most && stop.is_none() {
            picker.begin();
            stop = self.build(picker, watch);
            done += 1;
            let look = || self.findings.look(done.is_multiple_of(LOOK_EVERY), most - done, watch);
            stop = stop.or_else(|| self.findings.stop()).or_else(look);
            self.cut(0);
        }
        self.findings.coverage = Some(picker.coverage(done));
        stop.unwrap_or(StopReason::ExecutionLimit)
    }

    /// Builds one graph, unless it is too long.
    fn build(&mut self, picker: &mut Picker, watch: &dyn Watch) -> Option<StopReason> {
        while !self.is_too_long() {
            let Some(first) = self.next_thread() else {
                self.end();
                break;
            };
            self.open(first);
            let mut ways = self.world.frames.pop().map(|frame| frame.rest).unwrap_or_default();
            let length = self.world.graph.len();
            loop {
                if ways.is_empty() {
                    self.findings.statistics.redundant += 1;
                    return None;
                }
                let way = picker.pick(&mut ways);
                self.findings.statistics.steps += 1;
                if self.add(way) {
                    break;
                }
                self.cut(length);
            }
            let wrong = self.nondeterminism.take().map(StopReason::Nondeterminism);
            if let Some(stop) = wrong.or_else(|| watch.stop()) {
                return Some(stop);
            }
        }
        None
    }
}
