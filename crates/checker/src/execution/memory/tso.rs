//! Total store order, as on x86: stores wait in one queue per thread; the thread itself sees them.

use super::{Buffers, Rules};

use crate::execution::graph::Axioms;

pub(super) const NAME: &str = "tso";

pub(super) const RULES: Rules = Rules { buffers: Buffers::Fifo, ..Rules::SEQUENTIAL };

pub(super) const AXIOMS: Axioms = Axioms::TSO;
