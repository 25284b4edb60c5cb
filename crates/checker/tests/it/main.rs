//! Integration tests of the checker.

mod agreement;
mod axiomatic;
mod bounded;
mod corpus;
mod dpor;
mod engines;
mod fuzz_litmus;
mod fuzz_parsers;
mod language;
mod litmus;
mod litmus_corpus;
mod litmus_truth;
mod machine;
mod metamorphic;
mod peers;
mod reference;
mod regressions;
mod replay;
mod twins;
