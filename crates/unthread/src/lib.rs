//! Runs a test of concurrent Rust code under every schedule, on SC, TSO or PSO memory.
//!
//! # A first test
//!
//! A test is a closure. [`model()`] runs it again and again, until every execution has been covered:
//!
//! ```should_panic
//! use unthread::sync::atomic::{AtomicUsize, Ordering::{Acquire, Release}};
//! use unthread::thread;
//!
//! unthread::model(|| {
//!     let number = AtomicUsize::new(0);
//!     let add_one = || number.store(number.load(Acquire) + 1, Release);
//!     thread::scope(|scope| {
//!         scope.spawn(add_one);
//!         scope.spawn(add_one);
//!     });
//!     assert_eq!(number.load(Acquire), 2);
//! });
//! ```
//!
//! This test fails. It panics with an execution that loses an update (here without the rows of `spawn`, `join` and `end`):
//!
//! ```text
//! panic: assertion `left == right` failed
//!   left: 1
//!  right: 2
//!   in main at tests/counter.rs:13:9
//!
//! step  main                                thread 1                    thread 2                    at             its store buffer
//! 3                                         load number → 0 (Acquire)                               counter.rs:8
//! 4                                         store number = 1 (Release)                              counter.rs:8   number=1
//! 5                                                                     load number → 0 (Acquire)   counter.rs:8
//! 6                                                                     store number = 1 (Release)  counter.rs:8   number=1
//! 7                                                                     number = 1 arrives          counter.rs:8
//! 9                                         number = 1 arrives                                      counter.rs:8
//! 13    load number → 1 (Acquire)                                                                   counter.rs:13
//! 14    ✗ assertion `left == right` failed                                                          counter.rs:13
//!
//! thread 2 stored to `number` (tests/counter.rs:8) after thread 1 had read it (tests/counter.rs:8) and before thread 1 stored to it (tests/counter.rs:8): that update is lost
//! found with tso memory; SC memory has it, too
//! replay: UNTHREAD_REPLAY=0x2.1x2.2x2.2f.2.1f.1.0x4 cargo test no_update_is_lost
//! ```
//!
//! With `number.fetch_add(1, Release)` the test passes, and every execution was covered:
//!
//! ```
//! # use unthread::sync::atomic::{AtomicUsize, Ordering::{Acquire, Release}};
//! # use unthread::thread;
//! unthread::model(|| {
//!     let number = AtomicUsize::new(0);
//!     let add_one = || number.fetch_add(1, Release);
//!     thread::scope(|scope| {
//!         scope.spawn(add_one);
//!         scope.spawn(add_one);
//!     });
//!     assert_eq!(number.load(Acquire), 2);
//! });
//! ```
//!
//! # What is modelled
//!
//! | here | as in | what a check finds, besides panics |
//! | --- | --- | --- |
//! | [`thread`] | [`std::thread`] | deadlocks, livelocks, panics that no thread handles |
//! | [`sync::atomic`] | [`std::sync::atomic`] | executions that store buffers make possible; a missing fence |
//! | [`sync::Mutex`], [`sync::RwLock`], [`sync::Condvar`] | [`std::sync`] | deadlocks, lost and spurious wakeups, poisoned locks |
//! | [`sync::Barrier`], [`sync::Once`], [`sync::OnceLock`], [`sync::LazyLock`] | [`std::sync`] | deadlocks |
//! | [`sync::mpsc`] | [`std::sync::mpsc`] | deadlocks, every order of messages |
//! | [`sync::Arc`], [`sync::Weak`] | [`std::sync`] | leaks, uses after the last reference is dropped |
//! | [`cell::UnsafeCell`], [`cell::Cell`] | [`std::cell`] | data races |
//! | [`hint::spin_loop`], [`thread::yield_now`] | [`std::hint`], [`std::thread`] | loops that no thread can end |
//! | [`future`] | | deadlocks: tasks that are never woken |
//! | [`alloc`] | [`std::alloc`] | leaks, uses of freed memory, double frees |
//! | [`thread_local!`], [`lazy_static!`] | [`std::thread_local!`] | (each execution initialises them anew) |
//! | [`any`], [`choose`], [`assume`] | | failures for any input |
//!
//! The memory models are those of hardware: SC, TSO (x86, the default; every SC execution is a TSO execution) and PSO (SPARC). A
//! bug that only ARM or a compiler's reordering can show is not found.
//!
//! [`model::Builder`] sets the memory model, the engine and limits. [`Report`] says what was covered.
//!
//! # Where to go on
//!
//! - [The tutorial](guide::tutorial): how to write tests, read failures, wait, and set limits.
//! - [Coming from loom](guide::coming_from_loom), [coming from shuttle](guide::coming_from_shuttle).
//! - [Constant constructors](guide::const_new): statics, and `const fn new`.
//! - [Limits](guide::limits), and in which direction each errs.

#[cfg(all(feature = "const-new", not(unix)))]
compile_error!("feature `const-new` needs Unix: elsewhere it cannot be told whether something is a static");

#[macro_use]
mod macros;

/// The book's chapter about this crate: its code is run like any example.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust-library.md")]
struct Book;

pub mod alloc;
pub mod cell;
pub mod future;
pub mod guide;
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
