//! Integration tests of the checker.

mod litmus;
mod litmus_truth;
mod machine;
