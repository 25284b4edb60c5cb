//! Synchronisation, as in [`std::sync`].

pub mod atomic;
pub mod mpsc;

mod arc;
mod barrier;
mod condvar;
mod guard;
mod lazy;
mod lock;
mod mutex;
mod notify;
mod once;
mod rwlock;
mod unwind;
mod weak;

pub use arc::Arc;
pub use barrier::{Barrier, BarrierWaitResult};
pub use condvar::{Condvar, WaitTimeoutResult};
pub use lazy::LazyLock;
pub use mutex::{Mutex, MutexGuard};
pub use notify::Notify;
pub use once::{Once, OnceLock, OnceState};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
pub use weak::Weak;
