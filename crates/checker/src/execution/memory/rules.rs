//! A memory model as a record of rules, so that a broken twin of it, which tests must catch, is one changed field away.

/// A memory model, spelled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Where stores wait.
    pub buffers: Buffers,
    /// What a load sees of its own thread's waiting stores.
    pub forwarding: Forwarding,
    /// Whether a full fence waits for empty buffers.
    pub fence_drains: bool,
    /// Whether a read-modify-write that stores waits for empty buffers.
    pub rmw_drains: bool,
    /// Whether a compare-exchange that fails waits for empty buffers.
    pub failed_cas_drains: bool,
    /// Whether waiting stores to one location stay in order (only ever asked per location).
    pub same_location_order: bool,
    /// Most stores that wait in one thread's buffer; a thread at the bound flushes before it stores.
    pub max_buffer: usize,
}

/// Where stores wait before they reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// They do not.
    None,
    /// In one queue per thread.
    Fifo,
    /// In one queue per thread and location.
    PerLocation,
}

/// What a load sees of its own thread's waiting stores. Only `Newest` is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum Forwarding {
    Newest,
    Oldest,
    /// Loads look at memory alone.
    Stale,
    /// Loads wait until there is no waiting store to their location.
    Blocked,
}

impl Rules {
    /// Every operation acts on memory at once. The other memory models differ from this.
    pub const SEQUENTIAL: Rules = Rules {
        buffers: Buffers::None,
        forwarding: Forwarding::Newest,
        fence_drains: true,
        rmw_drains: true,
        failed_cas_drains: true,
        same_location_order: true,
        max_buffer: 8,
    };

    /// Whether stores wait in a buffer before they reach memory.
    pub fn delays_stores(&self) -> bool {
        self.buffers != Buffers::None
    }

    /// Whether a store can reach memory before an earlier one of its thread, to another location.
    pub fn reorders_stores(&self) -> bool {
        self.buffers == Buffers::PerLocation
    }

    /// The same without a bound on buffers that anyone could meet. Where stores overtake one another, a schedule says which
    /// of them goes first, and there is only so much room for that.
    pub fn unbounded(self) -> Rules {
        let max_buffer = if self.reorders_stores() { u8::MAX.into() } else { usize::MAX };
        Rules { max_buffer, ..self }
    }
}
