//! The memory models as axioms over execution graphs.
//!
//! A model is a record of rules, so that a broken twin of it, which tests must catch, is one changed field away.

/// What makes a graph an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axioms {
    /// Which order of all events there must be.
    pub order: Order,
    /// What holds of SeqCst operations, where the order is the language's.
    pub seq_cst: SeqCst,
    /// Whether the condition on SeqCst operations knows that a read comes before later writes (`rb`).
    pub sc_reads_before: bool,
    /// Whether a SeqCst fence sees what one saw that it depends on in any way: a global view, which is too strong.
    pub sc_fence_is_global: bool,
    /// Which writes continue a release sequence.
    pub release_sequence: ReleaseSequence,
    /// Whether a read-modify-write comes next after the write that it reads.
    pub atomicity: bool,
    /// Whether a compare-exchange that fails has its failure ordering; else it is relaxed.
    pub failure_ordering: bool,
    /// Whether reads count for coherence; else only writes do.
    pub coherent_reads: bool,
}

/// Which events have to be in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// None but what `hb` and the condition on SeqCst ask: the language's models.
    Language,
    /// All: sequential consistency.
    Sc,
    /// All, but that reads may overtake buffered writes: x86.
    Tso,
    /// All, but that reads and writes may overtake buffered writes to other locations: SPARC.
    Pso,
}

/// The condition on SeqCst operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeqCst {
    /// None.
    None,
    /// `psc` of Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI 2017.
    Rc11,
    /// One total order, as C++20's [atomics.order] words it.
    Cpp20,
}

/// Which writes continue a release sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseSequence {
    /// Read-modify-writes: C++20.
    Updates,
    /// Those, and later writes of the same thread: C++11 to C++17.
    OwnWrites,
}

impl Axioms {
    /// RC11, with C++20's release sequences.
    pub const RC11: Axioms = Axioms {
        order: Order::Language,
        seq_cst: SeqCst::Rc11,
        sc_reads_before: true,
        sc_fence_is_global: false,
        release_sequence: ReleaseSequence::Updates,
        atomicity: true,
        failure_ordering: true,
        coherent_reads: true,
    };

    /// C++20, which is what Rust documents.
    pub const CPP20: Axioms = Axioms { seq_cst: SeqCst::Cpp20, ..Axioms::RC11 };

    /// Sequential consistency.
    pub const SC: Axioms = Axioms { order: Order::Sc, ..Axioms::RC11 };

    /// Total store order.
    pub const TSO: Axioms = Axioms { order: Order::Tso, ..Axioms::RC11 };

    /// Partial store order.
    pub const PSO: Axioms = Axioms { order: Order::Pso, ..Axioms::RC11 };

    /// Whether reads and writes synchronise by their orderings.
    pub(crate) fn synchronise(&self) -> bool {
        self.order == Order::Language
    }
}
