//! Front ends: text to [`Program`](crate::program::Program), or diagnostics.

pub mod litmus;
