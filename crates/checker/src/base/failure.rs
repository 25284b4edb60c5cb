//! What can go wrong in a single thread.

/// What went wrong in a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// In words.
    pub message: String,
}

/// Kinds of failures of a single thread. Deadlock, livelock and data races concern several: see `Stuck` and `Race`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is its own name")]
pub enum FailureKind {
    Assertion,
    Panic,
    DivisionByZero,
    OutOfBounds,
    NullDereference,
    InvalidPointer,
    UseAfterFree,
    LockMisuse,
    InvalidJoin,
    OutOfResources,
    Leak,
    /// The subject does something that cannot be checked.
    Unsupported,
}

/// What a history says of an operation that stopped its thread.
pub const FAILED: i64 = i64::MIN;

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }
}
