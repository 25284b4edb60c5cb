//! Engines that learn from executions which others must be possible: from one at a time (`mcr`), or from all of them at once (`cumulative`).
//!
//! *Rust code.* A thread must be a function of the results of its operations. So the contents of an opaque object are a
//! version (`trace/versions.rs`), which is the result of the operation that sees them; to the constraints it is a cell
//! in which no two writes are equal. Where an exchange or a wait depends on the number in the cell, the number is kept
//! beside the version. A decrement of a refcount has one result, whether it was the last
//! (`knowledge/causality/references.rs`), unless a thread asks for the count (`knowledge/causality/counts.rs`). Where
//! the counted value has no destructor, no thread observes which decrement is the last, and all orders are one. Data
//! races are looked for before anything that the contents of plain data could lead to.
//!
//! An engine that learns leaves a check to `dpor` if behaviour may depend on more than results (`Subject::unfit`,
//! `Runner::unfit`), if a prediction does not come true, if a thread that has seen the same does something else
//! (`Versions::does_the_same`), and if drops are not ordered with all uses by joins and references (`trace/drops.rs`).

pub mod cumulative;
pub mod mcr;
pub(crate) mod runner;
