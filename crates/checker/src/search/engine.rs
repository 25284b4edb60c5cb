//! The engines by name. A new one is a variant here, and a folder and an arm in `engines`.

use super::Options;
use crate::execution::MemoryModel;
use std::fmt;
use std::str::FromStr;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// Whichever of the others is best for the program.
    Auto,
    /// Every reachable state of the machine, once: slow, and obviously right.
    Exhaustive,
    /// Maximal causality over everything seen so far: executions that show a thread doing something new.
    Cumulative,
    /// Maximal causality reduction: one execution per combination of thread histories. Of code that is run rather than interpreted, what
    /// threads can do must follow from what operations return and from what opaque objects hold; where it may not, `Dpor` takes over.
    Mcr,
    /// Optimal dynamic partial order reduction: one execution per trace.
    Dpor,
    /// One execution per consistent graph: for memory models that are axioms, and for the machines, too.
    Graph,
    /// Store buffers only where they make a difference: stateful, and for loops without bounds.
    Lazy,
    /// All executions with at most this many preemptions, bound by bound.
    Icb {
        /// The last bound.
        preemptions: u32,
        /// One execution for each trace, instead of every state once.
        traces: bool,
    },
    /// Random executions.
    Random {
        /// Equal seeds give equal executions.
        seed: u64,
    },
    /// Executions with random priorities, which find a bug of some depth with a known probability.
    Pct {
        /// Equal seeds give equal executions.
        seed: u64,
        /// How many ordering constraints a bug may need.
        depth: u32,
    },
}

impl Engine {
    /// All of them, with the parameters that they have if nobody says.
    pub const ALL: [Engine; 10] = [
        Engine::Auto,
        Engine::Exhaustive,
        Engine::Cumulative,
        Engine::Mcr,
        Engine::Dpor,
        Engine::Graph,
        Engine::Lazy,
        Engine::Icb { preemptions: 2, traces: false },
        Engine::Random { seed: 0 },
        Engine::Pct { seed: 0, depth: 3 },
    ];

    /// The name that flags and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Exhaustive => "exhaustive",
            Engine::Cumulative => "cumulative",
            Engine::Mcr => "mcr",
            Engine::Dpor => "dpor",
            Engine::Graph => "graph",
            Engine::Lazy => "lazy",
            Engine::Icb { .. } => "icb",
            Engine::Random { .. } => "random",
            Engine::Pct { .. } => "pct",
        }
    }

    /// Whether the engine looks at every state, or at every state of the executions that it runs.
    pub(crate) fn sees_states(self) -> bool {
        !matches!(
            self,
            Engine::Cumulative | Engine::Mcr | Engine::Dpor | Engine::Graph | Engine::Icb { traces: true, .. }
        )
    }

    /// The options as the engine understands them. The bound on store buffers keeps a search of states finite; an engine that
    /// runs executions to their end has no use for it, beyond what a schedule can write down.
    pub(crate) fn adapt(self, options: &Options) -> Options {
        let mut options = options.clone();
        if self == Engine::Auto && options.memory.is_language() {
            options.engine = Engine::Graph;
        }
        if !matches!(self, Engine::Auto | Engine::Exhaustive | Engine::Icb { .. } | Engine::Lazy) {
            options.rules = options.rules.unbounded();
        }
        options
    }

    /// Whether it runs executions, so that monitors can watch them; for `dpor` and `icb`, one for each trace.
    pub fn runs_executions(self) -> bool {
        matches!(self, Engine::Dpor | Engine::Icb { .. } | Engine::Random { .. } | Engine::Pct { .. })
    }

    /// Why the engine cannot check a memory model, if so.
    pub(crate) fn refuses(self, memory: MemoryModel) -> Option<String> {
        let builds_graphs = matches!(
            self,
            Engine::Auto | Engine::Graph | Engine::Exhaustive | Engine::Random { .. } | Engine::Pct { .. }
        );
        let why = || format!("engine {self} runs machines, and {memory} is none: engine graph checks it");
        (memory.is_language() && !builds_graphs).then(why)
    }

    /// In a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Engine::Auto => "a few executions, then a search of states and one that learns from executions in turn",
            Engine::Exhaustive => "every reachable state, once",
            Engine::Cumulative => "maximal causality over all executions at once: only those that show something new",
            Engine::Mcr => "maximal causality reduction: one execution per combination of thread histories",
            Engine::Dpor => "optimal partial order reduction: one execution per trace",
            Engine::Graph => "one execution per consistent graph: also for the language's memory models",
            Engine::Lazy => {
                "store buffers only where they make a difference (sc and tso), also for loops without bounds"
            }
            Engine::Icb { .. } => "all executions with few preemptions, bound by bound",
            Engine::Random { .. } => "random executions; verifies nothing",
            Engine::Pct { .. } => {
                "executions with random priorities: finds bugs with a known probability, verifies nothing"
            }
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Engine::ALL.into_iter().find(|engine| engine.name() == text).ok_or_else(|| {
            let names = Engine::ALL.map(Engine::name).join(", ");
            format!("`{text}` is not an engine; there are: {names}")
        })
    }
}
