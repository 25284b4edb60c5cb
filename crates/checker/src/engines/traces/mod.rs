//! Engines that take steps and take them back, and compare executions by their traces: `dpor`, `icb` over traces, and every execution one after the other (`dfs`).

mod data_races;
pub mod dfs;
pub mod dpor;
pub(crate) mod icb_traces;
mod node;
mod reversal;
mod wakeup_tree;
