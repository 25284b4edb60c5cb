//! What C++20 says and Rust documents: axioms over execution graphs, with one total order of SeqCst operations ([atomics.order]).

use crate::execution::graph::Axioms;

pub(super) const NAME: &str = "cpp20";

pub(super) const AXIOMS: Axioms = Axioms::CPP20;
