//! Exhaustive checking of concurrent programs under sequential consistency, TSO and PSO.
//!
//! `ARCHITECTURE.md` at the top of the repository is the map of these modules. From bottom to top they are `base`,
//! `program`, `execution`, `frontend`, `trace`, `monitor`, `solver`, `knowledge`, `search`, `engines`, `simplest`,
//! `robustness` and `report`; a module names only modules below it.

#![forbid(unsafe_code)]

pub mod base;
pub mod engines;
pub mod execution;
pub mod frontend;
pub mod knowledge;
pub mod monitor;
pub mod program;
pub mod report;
pub mod robustness;
pub mod search;
pub mod simplest;
pub mod solver;
pub mod trace;

/// The book's chapter about this crate: its code is run like any example.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/checker-library.md")]
struct Book;
