//! Integration tests of the checker.

mod machine;
mod regressions;
