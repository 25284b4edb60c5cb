//! The engines, as one table. A new engine is a folder in `engines`, and an entry here.
//!
//! An entry says everything that other modules must know of an engine: its parameters with their defaults, its name, what it does, its
//! [`Traits`], and how it is run on programs and on code. `search` makes the type [`Engine`] of it, and `engines/mod.rs`, where the paths of
//! the last two columns are looked up, the calls. Other modules ask what an engine does and do not list engines.

use super::Options;
use crate::execution::MemoryModel;
use std::fmt;
use std::str::FromStr;

/// The table: gives all entries to a macro.
macro_rules! engine_table {
    ($with:ident) => {
        $with! {
            /// Whichever of the others is best for the program.
            Auto, "auto": "a few executions, then a search of states and one that learns from executions in turn",
                is { sees_states: true, bounds_buffers: true, shares_work: true, builds_graphs: true },
                programs |subject, options, watch| auto::check(subject, options, watch),
                code |subject, options, watch| by_dpor_or_bounded(subject, options, watch);
            /// Every reachable state of the machine, once: slow, and obviously right.
            Exhaustive, "exhaustive": "every reachable state, once",
                is { sees_states: true, bounds_buffers: true, builds_graphs: true },
                programs |subject, options, watch| states::exhaustive::check(subject, options, watch),
                code |subject, options, watch| traces::dfs::check(subject, options, watch);
            /// Maximal causality over everything seen so far: executions that show a thread doing something new.
            Cumulative, "cumulative": "maximal causality over all executions at once: only those that show something new",
                is { asks_solver: true, shares_work: true },
                programs |subject, options, watch| learning::cumulative::check(subject, options, watch),
                code |subject, options, watch| by_learning(learning::cumulative::check_subject, subject, options, watch);
            /// Maximal causality reduction: one execution per combination of thread histories. Of code that is run rather than interpreted, what
            /// threads can do must follow from what operations return and from what opaque objects hold; where it may not, `Dpor` takes over.
            Mcr, "mcr": "maximal causality reduction: one execution per combination of thread histories",
                is { asks_solver: true, shares_work: true },
                programs |subject, options, watch| learning::mcr::check(subject, options, watch),
                code |subject, options, watch| by_learning(learning::mcr::check_subject, subject, options, watch);
            /// Optimal dynamic partial order reduction: one execution per trace.
            Dpor, "dpor": "optimal partial order reduction: one execution per trace",
                is { runs_executions: true },
                programs |subject, options, watch| traces::dpor::check(subject, options, watch),
                code |subject, options, watch| by_dpor_or_bounded(subject, options, watch);
            /// One execution per consistent graph: for memory models that are axioms, and for the machines, too.
            Graph, "graph": "one execution per consistent graph: also for the language's memory models",
                is { builds_graphs: true },
                programs |subject, options, watch| by_graph(subject, options, watch),
                code |subject, options, watch| code_by_graph(subject, options, watch);
            /// Store buffers only where they make a difference: stateful, and for loops without bounds.
            Lazy, "lazy": "store buffers only where they make a difference (sc and tso), also for loops without bounds",
                is { sees_states: true, bounds_buffers: true, shares_work: true },
                programs |subject, options, watch| lazy::check(subject.code(), options, watch),
                code |subject, options, watch| by_dpor_or_bounded(subject, options, watch);
            /// All executions with at most this many preemptions, bound by bound.
            Icb {
                /// The last bound.
                preemptions: u32 = 2,
                /// One execution for each trace, instead of every state once.
                traces: bool = false,
            }, "icb": "all executions with few preemptions, bound by bound",
                is { sees_states: !traces, bounds_buffers: true, runs_executions: true },
                programs |subject, options, watch| match traces {
                    true => traces::icb_traces::check(subject, preemptions, options, watch),
                    false => states::icb::check(subject, preemptions, options, watch),
                },
                code |subject, options, watch| by_dpor_or_bounded(subject, options, watch);
            /// Random executions.
            Random {
                /// Equal seeds give equal executions.
                seed: u64 = 0,
            }, "random": "random executions; verifies nothing",
                is { sees_states: true, samples: true, runs_executions: true, builds_graphs: true },
                programs |subject, options, watch| sampling::random::check(subject, seed, options, watch),
                code |subject, options, watch| sampling::random::check(subject, seed, options, watch);
            /// Executions with random priorities, which find a bug of some depth with a known probability.
            Pct {
                /// Equal seeds give equal executions.
                seed: u64 = 0,
                /// How many ordering constraints a bug may need.
                depth: u32 = 3,
            }, "pct": "executions with random priorities: finds bugs with a known probability, verifies nothing",
                is { sees_states: true, samples: true, runs_executions: true, builds_graphs: true },
                programs |subject, options, watch| sampling::pct::check(subject, seed, depth, options, watch),
                code |subject, options, watch| sampling::pct::check(subject, seed, depth, options, watch);
        }
    };
}

pub(crate) use engine_table;

/// What other modules must know of an engine.
#[derive(Clone, Copy, Default)]
struct Traits {
    /// It looks at every state, or at every state of the executions that it runs.
    sees_states: bool,
    /// It follows the bound on store buffers.
    bounds_buffers: bool,
    /// It runs executions that monitors can watch.
    runs_executions: bool,
    /// It can build execution graphs that satisfy axioms, so every memory model will do.
    builds_graphs: bool,
    /// It asks a solver.
    asks_solver: bool,
    /// Several workers can share the search.
    shares_work: bool,
    /// It picks executions at random, and verifies nothing.
    samples: bool,
}

/// Makes the type.
macro_rules! define {
    ($(
        $(#[$about:meta])*
        $engine:ident $({ $($(#[$meaning:meta])* $parameter:ident: $type:ty = $default:expr,)* })?, $name:literal: $does:literal,
            is { $($trait:ident: $is:expr),* },
            programs |$s:ident, $o:ident, $w:ident| $programs:expr,
            code |$cs:ident, $co:ident, $cw:ident| $code:expr;
    )*) => {
        /// How to search.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Engine {
            $($(#[$about])* $engine $({ $($(#[$meaning])* $parameter: $type,)* })?,)*
        }

        impl Engine {
            /// All of them, with the parameters that they have if nothing is said.
            pub const ALL: [Engine; [$($name),*].len()] = [$(Engine::$engine $({ $($parameter: $default),* })?),*];

            /// The name that flags and reports use.
            pub fn name(self) -> &'static str {
                match self {
                    $(Engine::$engine { .. } => $name,)*
                }
            }

            /// In a sentence.
            pub fn describe(self) -> &'static str {
                match self {
                    $(Engine::$engine { .. } => $does,)*
                }
            }

            #[allow(unused_variables)]
            fn traits(self) -> Traits {
                match self {
                    $(Engine::$engine $({ $($parameter),* })? => Traits { $($trait: $is,)* ..Traits::default() },)*
                }
            }
        }
    };
}

engine_table!(define);

impl Engine {
    /// Whether the engine looks at every state, or at every state of the executions that it runs.
    pub(crate) fn sees_states(self) -> bool {
        self.traits().sees_states
    }

    /// Whether it runs executions, so that monitors can watch them; for `dpor` and `icb`, one for each trace.
    pub fn runs_executions(self) -> bool {
        self.traits().runs_executions
    }

    /// Whether it asks a solver.
    pub fn asks_solver(self) -> bool {
        self.traits().asks_solver
    }

    /// Whether several workers can share its search.
    pub fn shares_work(self) -> bool {
        self.traits().shares_work
    }

    /// Whether it can say "verified": an engine that picks executions at random cannot.
    pub fn verifies(self) -> bool {
        !self.traits().samples
    }

    /// Names of engines in a sentence, as flags: "`--engine a`, `b` or `c`".
    pub fn flags_of(is: impl Fn(Engine) -> bool) -> String {
        let names: Vec<String> =
            Engine::ALL.into_iter().filter(|&engine| is(engine)).map(|engine| format!("`{engine}`")).collect();
        let sentence = match names.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
            _ => names.concat(),
        };
        sentence.replacen('`', "`--engine ", 1)
    }

    /// The options as the engine understands them. The bound on store buffers keeps a search of states finite; an engine that
    /// runs executions to their end has no use for it, beyond what a schedule can write down.
    pub(crate) fn adapt(self, options: &Options) -> Options {
        let mut options = options.clone();
        if self == Engine::Auto && options.memory.is_language() {
            options.engine = Engine::Graph;
        }
        if !self.traits().bounds_buffers {
            options.rules = options.rules.unbounded();
        }
        options
    }

    /// Why the engine cannot check a memory model, if so.
    pub(crate) fn refuses(self, memory: MemoryModel) -> Option<String> {
        let can = !memory.is_language() || self.traits().builds_graphs;
        let why = || format!("engine {self} runs machines, and {memory} is none: engine graph checks it");
        (!can).then(why)
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
