//! Integration tests of the checker.

mod machine;
