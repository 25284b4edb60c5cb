//! The memory models of the language as definitions, to judge engines by: all consistent execution graphs of a small
//! program, enumerated straight from the axioms. It shares no code with any engine.
//!
//! `relation` has matrices of bits, `graph` events and what relates them, `axioms` the memory models and broken twins
//! of them, `thread` runs code between events, `enumerate` tries every source of a read and every place of a write,
//! `synchronise` has forks, joins, locks and condition variables, and `blocks` memory that is allocated and freed.
//! Compare-exchanges that fail are reads. Locks are objects that are used one after the other. Loops have to be bounded
//! by themselves.

mod axioms;
mod blocks;
mod enumerate;
mod graph;
mod relation;
mod synchronise;
mod thread;

pub(crate) use axioms::{Axioms, Coherence, Model, ReleaseSequence, SeqCst};
pub(crate) use enumerate::{Behaviour, Limits, behaviour, behaviour_by_interleaving};
