//! Integration tests of the checker.

mod agreement;
mod fuzz_parsers;
mod language;
mod machine;
mod reference;
mod regressions;
