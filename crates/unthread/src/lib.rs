//! Runs a test of concurrent Rust code under every schedule, on SC, TSO or PSO memory.
//!
//! ```should_panic
//! use unthread::sync::Arc;
//! use unthread::sync::atomic::{AtomicUsize, Ordering::{Acquire, Relaxed, Release}};
//! use unthread::thread;
//!
//! unthread::model(|| {
//!     let number = Arc::new(AtomicUsize::new(0));
//!     let other = {
//!         let number = number.clone();
//!         thread::spawn(move || number.store(number.load(Acquire) + 1, Release))
//!     };
//!     number.store(number.load(Acquire) + 1, Release);
//!     other.join().unwrap();
//!     assert_eq!(number.load(Relaxed), 2); // not always
//! });
//! ```
//!
//! Start with the [tutorial](guide::tutorial). There are pages for those who [come from loom](guide::coming_from_loom) or
//! [from shuttle](guide::coming_from_shuttle), one about [constant constructors](guide::const_new) and one about [limits](guide::limits).
//!
//! The memory models are those of hardware: SC, TSO (x86, the default; it contains SC) and PSO (SPARC). What only ARM or a compiler would
//! punish is not seen.

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
