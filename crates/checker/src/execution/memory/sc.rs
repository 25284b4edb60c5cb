//! Sequential consistency: every operation acts on memory at once.

use super::Rules;

use crate::execution::graph::Axioms;

pub(super) const NAME: &str = "sc";

pub(super) const RULES: Rules = Rules::SEQUENTIAL;

pub(super) const AXIOMS: Axioms = Axioms::SC;
