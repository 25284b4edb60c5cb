//! Runs a test of concurrent Rust code under every schedule, on SC, TSO or PSO memory.

#[macro_use]
mod macros;

pub mod alloc;
pub mod cell;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod model;
mod nondet;
mod runtime;
pub mod sync;
pub mod thread;

pub use model::{
    Engine, MemoryModel, Report, check, check_dfs, check_pct, check_random, explore, model, replay, skip_branch,
    stop_exploring,
};
pub use nondet::{any, assume, choose};

/// The most threads of one execution that a test of loom can count on. Here there may be more.
pub const MAX_THREADS: usize = 5;
