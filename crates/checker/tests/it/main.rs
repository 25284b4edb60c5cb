//! Integration tests of the checker.

mod agreement;
mod axiomatic;
mod bounded;
mod corpus;
mod dpor;
mod engines;
mod fuzz;
mod language;
mod litmus;
mod litmus_corpus;
mod litmus_truth;
mod machine;
mod metamorphic;
mod peers;
mod predict;
mod reference;
mod regressions;
mod replay;
mod twins;
mod z3;
