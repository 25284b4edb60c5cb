//! Locations: names of shared cells that mean the same in every execution.
//!
//! A global is its index. A heap cell is named by the thread that allocated it, not by when: the thread's key, the number of
//! the allocation within that thread, and the offset. So an address depends on nothing but the thread's own past,
//! which is what makes threads deterministic functions of the values they read.

use std::fmt;

/// A shared cell. Also a pointer value, through [`Loc::pointer`] and [`Loc::from_pointer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc(u64);

/// Pointers are numbers that no sane program computes, so that misuse is noticed.
const POINTER_BASE: i64 = 1 << 56;
const HEAP: u64 = 1 << 52;
const OFFSET_BITS: u32 = 8;
const BLOCK_BITS: u32 = 16;
/// Thread keys that can allocate: two levels of forking from any of the first 15 threads.
const KEY_BITS: u32 = 28;

impl Loc {
    /// The cell `Program::cells[index]`.
    pub fn global(index: usize) -> Loc {
        Loc(index as u64)
    }

    /// The first cell of a thread's `block`-th allocation, or nothing when the numbers run out.
    pub fn heap(thread_key: u64, block: u32) -> Option<Loc> {
        (thread_key < 1 << KEY_BITS && block < 1 << BLOCK_BITS)
            .then(|| Loc(HEAP | thread_key << (OFFSET_BITS + BLOCK_BITS) | u64::from(block) << OFFSET_BITS))
    }

    /// The cell at a numeric address, for programs that compute addresses. No thread has key 0, so these are blocks of no thread.
    /// Requires an address of at least [`Loc::FIRST_ADDRESS`].
    pub fn address(address: i64) -> Loc {
        Loc(HEAP.wrapping_add_signed(address.wrapping_sub(Loc::FIRST_ADDRESS)))
    }

    /// The least address that a cell can have.
    pub const FIRST_ADDRESS: i64 = -(1 << (OFFSET_BITS + BLOCK_BITS - 1));

    /// Whether this is a cell with a numeric address.
    pub fn is_numbered(self) -> bool {
        self.0 & HEAP != 0 && self.0 & !HEAP < 1 << (OFFSET_BITS + BLOCK_BITS)
    }

    /// The index into `Program::cells`, if this is a global.
    pub fn as_global(self) -> Option<usize> {
        (self.0 & HEAP == 0).then_some(self.0 as usize)
    }

    /// The heap block that contains the cell, as the location of its first cell.
    pub fn block(self) -> Option<Loc> {
        (self.0 & HEAP != 0).then_some(Loc(self.0 & !((1 << OFFSET_BITS) - 1)))
    }

    /// The key of the thread that allocated the heap block that contains the cell, and the block's number.
    pub fn allocation(self) -> Option<(u64, u32)> {
        let number = (self.0 >> OFFSET_BITS) & ((1 << BLOCK_BITS) - 1);
        (self.0 & HEAP != 0).then_some(((self.0 & !HEAP) >> (OFFSET_BITS + BLOCK_BITS), number as u32))
    }

    /// The cell's place in its heap block.
    pub fn offset_in_block(self) -> u8 {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as u8
    }

    /// The cell `offset` further on.
    pub fn offset(self, offset: u8) -> Loc {
        Loc(self.0 + u64::from(offset))
    }

    /// The value of a pointer to this cell. Never 0.
    pub fn pointer(self) -> i64 {
        POINTER_BASE + self.0 as i64
    }

    /// The cell that a value points to, if it is a pointer.
    pub fn from_pointer(value: i64) -> Option<Loc> {
        (POINTER_BASE..POINTER_BASE << 1).contains(&value).then(|| Loc((value - POINTER_BASE) as u64))
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 & HEAP == 0 {
            return write!(f, "cell{}", self.0);
        }
        if self.is_numbered() {
            return write!(f, "[{}]", (self.0 & !HEAP) as i64 + Loc::FIRST_ADDRESS);
        }
        let block = (self.0 >> OFFSET_BITS) & ((1 << BLOCK_BITS) - 1);
        let key = (self.0 & !HEAP) >> (OFFSET_BITS + BLOCK_BITS);
        write!(f, "heap{key}.{block}")?;
        match self.offset_in_block() {
            0 => Ok(()),
            offset => write!(f, "+{offset}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ThreadKey;

    #[test]
    fn threads_two_forks_deep_can_allocate() {
        for initial in 0..15 {
            let ThreadKey(key) = ThreadKey::initial(initial).child(4094).unwrap().child(4094).unwrap();
            let block = Loc::heap(key, 65535).unwrap();
            assert_eq!(Loc::from_pointer(block.offset(255).pointer()).unwrap().block(), Some(block));
            assert_eq!(block.to_string(), format!("heap{key}.65535"));
            assert_eq!(block.offset(3).allocation(), Some((key, 65535)));
        }
    }
}
