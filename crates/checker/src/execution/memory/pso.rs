//! Partial store order, as on SPARC: stores wait in one queue per thread and location. A release store and a release fence are store-store barriers
//! ([`Buffer::barrier`](super::Buffer::barrier)).

use super::{Buffers, Rules};

use crate::execution::graph::Axioms;

pub(super) const NAME: &str = "pso";

pub(super) const RULES: Rules = Rules { buffers: Buffers::PerLocation, ..Rules::SEQUENTIAL };

pub(super) const AXIOMS: Axioms = Axioms::PSO;
