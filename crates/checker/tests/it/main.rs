//! Integration tests of the checker.

mod fuzz_litmus;
mod litmus;
mod litmus_corpus;
mod litmus_truth;
mod machine;
