//! Integration tests of the checker.

mod fuzz_parsers;
mod language;
mod machine;
