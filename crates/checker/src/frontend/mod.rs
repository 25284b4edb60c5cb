//! Front ends: text in, a [`crate::program::Program`] or every mistake with its place out.

pub mod litmus;
pub mod trencher;
pub mod ut;
