//! The memory models as machines: SC, TSO and PSO, and what each ordering of a source program means on them.
//!
//! A memory model is a record of [`Rules`], so that a broken twin of it, which tests must catch, is one changed field away.
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

use std::{fmt, str::FromStr};

/// Which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryModel {
    /// Sequential consistency.
    Sc,
    /// Total store order: x86.
    Tso,
    /// Partial store order: SPARC.
    Pso,
}

/// A memory model, spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Where stores wait.
    pub buffers: Buffers,
    /// What a load sees of its own thread's waiting stores.
    pub forwarding: Forwarding,
    /// Whether a full fence waits for empty buffers.
    pub fence_drains: bool,
    /// Whether a read-modify-write that stores waits for empty buffers.
    pub rmw_drains: bool,
    /// Whether a compare-exchange that fails waits for empty buffers.
    pub failed_cas_drains: bool,
    /// Whether waiting stores to one location stay in order (only ever asked per location).
    pub same_location_order: bool,
    /// Most stores that wait in one thread's buffer; a thread at the bound flushes before it stores.
    pub max_buffer: usize,
}

/// Where stores wait before they reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// They do not.
    None,
    /// In one queue per thread.
    Fifo,
    /// In one queue per thread and location.
    PerLocation,
}

/// What a load sees of its own thread's waiting stores. Only `Newest` is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Forwarding {
    Newest,
    Oldest,
    /// Loads look at memory alone.
    Stale,
    /// Loads wait until there is no waiting store to their location.
    Blocked,
}

impl Rules {
    /// The same without a bound on buffers that anyone could meet. Where stores overtake one another, a schedule says which
    /// of them goes first, and there is only so much room for that.
    pub fn unbounded(self) -> Rules {
        let max_buffer = if self.buffers == Buffers::PerLocation { u8::MAX.into() } else { usize::MAX };
        Rules { max_buffer, ..self }
    }
}

impl MemoryModel {
    /// All of them, weakest last.
    pub const ALL: [MemoryModel; 3] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Pso];

    /// The memory model, spelled out.
    pub fn rules(self) -> Rules {
        Rules {
            buffers: match self {
                MemoryModel::Sc => Buffers::None,
                MemoryModel::Tso => Buffers::Fifo,
                MemoryModel::Pso => Buffers::PerLocation,
            },
            forwarding: Forwarding::Newest,
            fence_drains: true,
            rmw_drains: true,
            failed_cas_drains: true,
            same_location_order: true,
            max_buffer: 8,
        }
    }
}

impl fmt::Display for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemoryModel::Sc => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Pso => "pso",
        })
    }
}

impl FromStr for MemoryModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        MemoryModel::ALL
            .into_iter()
            .find(|memory| memory.to_string() == text.to_ascii_lowercase())
            .ok_or_else(|| format!("`{text}` is not a memory model; there are sc, tso and pso"))
    }
}
