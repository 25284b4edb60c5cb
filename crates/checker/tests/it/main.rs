//! Integration tests of the checker.

mod litmus_truth;
mod machine;
