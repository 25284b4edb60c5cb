//! What to check, and how far.

use super::Engine;
use crate::execution::{MemoryModel, Rules};

/// What to check, and how far.
#[derive(Clone, Debug)]
pub struct Options {
    /// The memory model.
    pub memory: MemoryModel,
    /// Its rules; tests break them on purpose.
    pub rules: Rules,
    /// How to search.
    pub engine: Engine,
    /// What to watch for on the side. SC executions are run, whatever the memory model, and the engine is `dpor` unless it is another
    /// that runs them.
    pub monitor: Option<Monitor>,
    /// Visit fewer states where a search of states can tell that the others show nothing new: steps that are independent of all other threads go first, and threads that only
    /// read are looked at one at a time.
    pub reduced: bool,
    /// Find everything that is wrong, not just the first.
    pub all_violations: bool,
    /// Count combinations of thread histories, however long it takes. Otherwise they are counted where it is cheap.
    pub count_histories: bool,
    /// What has to be covered, for engines that can choose.
    pub coverage: Coverage,
    /// How many workers explore, for engines that can use several.
    pub jobs: usize,
    /// Bounds.
    pub limits: Limits,
    /// How many sources of a read the solver knows before it needs more, and how many other values a read has before they share a literal. Tests make them few:
    /// generated programs are small.
    pub first_sources: usize,
}

/// What to watch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monitor {
    /// Whether the memory model has executions that SC does not have. Only SC executions are run.
    StoreBuffers,
}

impl Monitor {
    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        "store-buffers"
    }
}

/// What has to be covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// Everything that any thread can do, and everything that can go wrong.
    #[default]
    Behaviours,
    /// As `Behaviours`, and every final state.
    FinalStates,
    /// As `FinalStates`, and every combination of what all threads do.
    States,
}

/// Bounds on a search. A search that met one has not verified anything.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Executions.
    pub executions: u64,
    /// Distinct states.
    pub states: u64,
    /// Steps of one execution.
    pub events: u64,
    /// Preemptions of one execution, for `dpor`.
    pub preemptions: Option<u32>,
}

/// An execution with more events is taken to be endless, unless the user says how long it may be.
const MOST_EVENTS: u64 = 100_000;

/// The same for engines that take steps back one by one, and keep what each of them did.
const MOST_STEPS_TAKEN_BACK: u64 = 10_000;

impl Limits {
    /// The most events of an execution.
    pub(crate) fn most_events(&self) -> u64 {
        self.events_or(MOST_EVENTS)
    }

    /// The most events of an execution whose steps are taken back one by one.
    pub(crate) fn most_steps_taken_back(&self) -> u64 {
        self.events_or(MOST_STEPS_TAKEN_BACK)
    }

    fn events_or(&self, most: u64) -> u64 {
        if self.events == u64::MAX { most } else { self.events }
    }
}

impl Options {
    /// Whether executions are graphs, and schedules say how they are built.
    pub(crate) fn runs_graphs(&self) -> bool {
        self.engine == Engine::Graph || self.memory.is_language()
    }

    /// Everything under this memory model, without bounds.
    pub fn new(memory: MemoryModel) -> Options {
        let limits = Limits { executions: u64::MAX, states: u64::MAX, events: u64::MAX, preemptions: None };
        let (rules, engine) = (memory.rules(), Engine::Exhaustive);
        Options {
            memory,
            rules,
            engine,
            monitor: None,
            reduced: false,
            all_violations: false,
            count_histories: false,
            coverage: Coverage::default(),
            jobs: 1,
            limits,
            first_sources: 4,
        }
    }
}
