//! Exhaustive checking of concurrent programs under sequential consistency, TSO and PSO.
//!
//! **program → execution → trace → causality → solver → schedule**, and around again: each word is a module.
//! `explore` is the loop around them, `report` the way out. See `ARCHITECTURE.md` at the top of the repository.

#![forbid(unsafe_code)]

pub mod causality;
pub mod execution;
pub mod explore;
pub mod frontend;
pub mod program;
pub mod report;
pub mod schedule;
pub mod solver;
pub mod trace;

/// The book's chapter about this crate: its code is run like any example.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/checker-library.md")]
struct Book;
