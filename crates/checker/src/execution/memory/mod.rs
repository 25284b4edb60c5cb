//! The memory models: machines, and what languages promise. This is what each ordering of a source program means on the machines.
//!
//! | source | TSO (x86) | PSO (SPARC) |
//! | --- | --- | --- |
//! | load, any ordering | plain load | plain load |
//! | store Relaxed | buffered | buffered per location |
//! | store Release | buffered | store-store barrier, then buffered |
//! | store SeqCst | drains, acts on memory | drains, acts on memory |
//! | RMW, any ordering (also a failing compare-exchange) | drains, atomic | drains, atomic |
//! | fence Acquire | nothing | nothing |
//! | fence Release, AcqRel | nothing | store-store barrier |
//! | fence SeqCst | drains | drains |
//!
//! A SeqCst store is a buffered store and then a full fence. Nothing else of its thread can happen between the two, so
//! draining first and writing to memory directly is the same.
//!
//! Other modules ask what a memory model does ([`MemoryModel::delays_stores`], [`MemoryModel::reorders_stores`],
//! [`Rules`]); they do not name one. For solvers the same rules are said once more in `knowledge/causality/order.rs`.

mod buffer;
mod rules;

pub use buffer::{Buffer, Entry};
pub use rules::{Buffers, Forwarding, Rules};

use super::graph::Axioms;
use std::{fmt, str::FromStr};

/// Declares the memory models: each line is a variant, its file with `NAME`, `AXIOMS` and, for a machine, `RULES`, and what it is.
macro_rules! memory_models {
    (
        machines { $($machine:ident in $file:ident: $about:literal;)* }
        languages { $($language:ident in $module:ident: $says:literal;)* }
    ) => {
        $(mod $file;)*
        $(mod $module;)*

        /// A machine, or what a language promises.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum MemoryModel {
            $(#[doc = $about] $machine,)*
            $(#[doc = $says] $language,)*
        }

        impl MemoryModel {
            /// All machines, weakest last.
            pub const MACHINES: [MemoryModel; [$(stringify!($machine)),*].len()] = [$(MemoryModel::$machine),*];

            /// All machines and all languages, weakest last.
            pub const ALL: [MemoryModel; [$(stringify!($machine),)* $(stringify!($language)),*].len()] =
                [$(MemoryModel::$machine,)* $(MemoryModel::$language),*];

            /// The name that flags and reports use.
            pub fn name(self) -> &'static str {
                match self {
                    $(MemoryModel::$machine => $file::NAME,)*
                    $(MemoryModel::$language => $module::NAME,)*
                }
            }

            /// In a sentence.
            pub fn about(self) -> &'static str {
                match self {
                    $(MemoryModel::$machine => $about,)*
                    $(MemoryModel::$language => $says,)*
                }
            }

            /// Whether it is what a language promises: its executions are graphs, not runs of a machine.
            pub fn is_language(self) -> bool {
                match self {
                    $(MemoryModel::$machine => false,)*
                    $(MemoryModel::$language => true,)*
                }
            }

            /// The memory model as a machine. A language has none: memory holds the newest values there, for threads that have ended.
            pub fn rules(self) -> Rules {
                match self {
                    $(MemoryModel::$machine => $file::RULES,)*
                    $(MemoryModel::$language => Rules::SEQUENTIAL,)*
                }
            }

            /// The memory model as axioms over execution graphs.
            pub fn axioms(self) -> Axioms {
                match self {
                    $(MemoryModel::$machine => $file::AXIOMS,)*
                    $(MemoryModel::$language => $module::AXIOMS,)*
                }
            }
        }
    };
}

memory_models! {
    machines {
        Sc in sc: "Sequential consistency: threads take turns.";
        Tso in tso: "Total store order (x86): a queue of stores per thread.";
        Pso in pso: "Partial store order (SPARC): a queue of stores per thread and location.";
    }
    languages {
        Cpp20 in cpp20: "What C++20 says and Rust documents (also: rust).";
        Rc11 in rc11: "RC11 with C++20's release sequences: as cpp20, with a weaker condition on SeqCst.";
    }
}

impl MemoryModel {
    /// Whether stores wait in a buffer before they reach memory: if not, it is sequential consistency.
    pub fn delays_stores(self) -> bool {
        self.rules().delays_stores()
    }

    /// Whether stores wait in a buffer and reach memory in program order.
    pub fn keeps_store_order(self) -> bool {
        self.delays_stores() && !self.reorders_stores()
    }

    /// Whether a store can reach memory before an earlier one of its thread, to another location.
    pub fn reorders_stores(self) -> bool {
        self.rules().reorders_stores()
    }
}

/// Sequential consistency.
impl Default for MemoryModel {
    fn default() -> MemoryModel {
        MemoryModel::Sc
    }
}

impl fmt::Display for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MemoryModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = if text.eq_ignore_ascii_case("rust") { cpp20::NAME } else { text };
        let named = MemoryModel::ALL.into_iter().find(|memory| memory.name().eq_ignore_ascii_case(name));
        named.ok_or_else(|| {
            let names = MemoryModel::ALL.map(MemoryModel::name).join(", ");
            format!("`{text}` is not a memory model; there are {names} and rust, which is {}", cpp20::NAME)
        })
    }
}
