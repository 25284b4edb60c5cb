//! RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) with the release sequences of C++20.

use crate::execution::graph::Axioms;

pub(super) const NAME: &str = "rc11";

pub(super) const AXIOMS: Axioms = Axioms::RC11;
