//! `unthread` under the name of loom.

pub use unthread::*;
