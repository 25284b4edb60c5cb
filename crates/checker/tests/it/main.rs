//! Integration tests of the checker.

mod agreement;
mod machine;
mod reference;
mod regressions;
