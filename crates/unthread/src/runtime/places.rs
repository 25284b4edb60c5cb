//! Where an object is, as a name for it.
//!
//! A constant expression does not know which thread runs it, so what it makes has no name at first. When it is used, it has come to its place, and a *place* is a name: a block of
//! memory, and how far into it. The blocks are the threads' stacks, and what threads have allocated, as far as that is known: values of `Arc`, thread-locals, the memory of
//! [`crate::alloc`], and everything if the program uses [`Allocator`](crate::alloc::Allocator).
//!
//! Invariant: the name of a block depends on what its thread had done when it allocated it (how many operations, how deep in its stack, how many bytes), not on
//! addresses, nor on who asks, nor on what else was allocated: closures may print, or note something outside of the execution, and a buffer there may grow in one execution and not in another.
//! Of objects that are in one place one after the other, those count that are used.

use super::context::ThreadContext;
use super::current::{named_after, with_current, with_execution, with_thread};
use super::execution::Execution;
use super::lifetimes::{self, fail_on_gone};
use super::names::STATICS;
use super::statics::is_static;
use rustc_hash::FxHashMap;
use std::alloc::{Layout, dealloc};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use unthread_checker::base::ThreadKey;

/// A block of memory, as named by the thread that allocated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    owner: ThreadKey,
    /// The operations that the thread had performed, the depth of its stack, and the bytes.
    made: Made,
    /// Its number among those that are alike.
    nth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    /// It is the thread's stack.
    Stack,
    /// It is a static, and nobody's.
    Static,
    Allocated {
        operations: u32,
        depth: usize,
        size: usize,
    },
}

/// A place where an object can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    block: Block,
    offset: usize,
    /// How many objects have been used that were there before.
    pub(crate) instance: u32,
}

/// A block of memory.
struct Known {
    end: usize,
    block: Block,
    /// The program's allocator told about it.
    is_allocated: bool,
    /// It has been freed.
    is_freed: bool,
    /// The place of the last operation before it was allocated.
    made_at: u32,
}

/// The most memory that is kept back in one execution.
const MOST_KEPT_BACK: usize = 64 << 20;

/// The blocks of an execution.
#[derive(Default)]
pub(crate) struct Blocks {
    /// By the address where each begins.
    known: RefCell<BTreeMap<usize, Known>>,
    /// Blocks that have been freed, and whose memory is kept back: nothing else comes there as long as the execution lasts.
    kept_back: RefCell<Vec<(*mut u8, Layout)>>,
    bytes_kept_back: Cell<usize>,
    /// The program's allocator tells about blocks.
    has_allocated: Cell<bool>,
    /// How many objects have been used at each place.
    used: RefCell<FxHashMap<(Block, usize), u32>>,
}

/// What a thread has allocated since its last operation.
#[derive(Default)]
pub(crate) struct Allocations {
    operations: Cell<u32>,
    since: RefCell<Vec<(ThreadKey, Made, u32)>>,
}

impl Allocations {
    /// The thread has performed an operation.
    pub(super) fn next(&self) {
        self.operations.set(self.operations.get() + 1);
        self.since.borrow_mut().clear();
    }

    /// The operations so far.
    pub(super) fn operations(&self) -> u32 {
        self.operations.get()
    }

    fn name(&self, owner: ThreadKey, made: Made) -> Block {
        let mut since = self.since.borrow_mut();
        let alike = since.iter_mut().find(|alike| (alike.0, alike.1) == (owner, made));
        let nth = match alike {
            Some((_, _, count)) => {
                *count += 1;
                *count
            }
            None => {
                since.push((owner, made, 0));
                0
            }
        };
        Block { owner, made, nth }
    }
}

/// The running thread has memory from here on.
#[track_caller]
pub(crate) fn note_block(address: usize, size: usize) {
    with_thread(|execution, thread| execution.blocks.note(thread, address, size, false));
}

/// A value that is kept for others, in a block of its own.
#[track_caller]
pub(crate) fn kept<T: 'static>(value: T) -> Rc<dyn Any> {
    let value = Rc::new(value);
    note_block(Rc::as_ptr(&value).addr(), size_of::<T>());
    value
}

/// Code under test has allocated memory. What we allocate ourselves does not count.
pub(crate) fn note_allocation(address: usize, size: usize) {
    with_current(|execution, thread| {
        if thread.calls.get() == 1 {
            execution.blocks.note(thread, address, size, true);
        }
    });
}

/// Code under test frees memory. Says whether the memory is kept back, so that nothing else comes there.
///
/// What is freed twice is a violation, and so is the use of an object that is still there. One that has been moved away is somewhere else.
pub(crate) fn keep_back(pointer: *mut u8, layout: Layout) -> bool {
    let freed = with_current(|execution, thread| {
        let (mut known, mut kept_back) =
            (execution.blocks.known.try_borrow_mut().ok()?, execution.blocks.kept_back.try_borrow_mut().ok()?);
        let known = known.get_mut(&pointer.addr()).filter(|known| known.is_allocated)?;
        if known.is_freed {
            return Some(!execution.abandoned.get());
        }
        let bytes = execution.blocks.bytes_kept_back.get() + layout.size();
        if bytes > MOST_KEPT_BACK || execution.abandoned.get() {
            return None;
        }
        execution.blocks.bytes_kept_back.set(bytes);
        known.is_freed = true;
        kept_back.push((pointer, layout));
        lifetimes::note_freed(execution, thread, pointer.addr(), known.block);
        Some(false)
    });
    match freed.flatten() {
        Some(true) => fail_on_gone(pointer.addr(), "block of memory again, by freeing it"),
        freed => freed.is_some(),
    }
}

/// An object is used. If it is in memory that has been freed, the thread does not go on.
#[track_caller]
pub(super) fn note_use(address: usize) {
    let freed = with_thread(|execution, thread| {
        if !execution.blocks.has_allocated.get() {
            return None;
        }
        thread.used_block.set(None);
        let known = execution.blocks.known.borrow();
        let (&start, block) = known.range(..=address).next_back()?;
        if address >= block.end || !block.is_allocated {
            return None;
        }
        if !block.is_freed {
            thread.used_block.set(Some(execution.names.borrow_mut().block(block.block, block.made_at)));
        }
        block.is_freed.then_some(start)
    });
    if let Some(start) = freed {
        fail_on_gone(start, "block of memory");
    }
}

/// The number of the block that an address is in, if the program's allocator told about it, and it has not been freed.
pub(super) fn block_in_use(execution: &Execution, address: usize) -> Option<u32> {
    if !execution.blocks.has_allocated.get() {
        return None;
    }
    let known = execution.blocks.known.borrow();
    let (_, block) = known.range(..=address).next_back()?;
    let is_there = address < block.end && block.is_allocated && !block.is_freed;
    is_there.then(|| execution.names.borrow_mut().block(block.block, block.made_at))
}

/// The memory is there no more.
pub(crate) fn forget_block(address: usize) {
    forget(address, |known| !known.is_allocated);
}

/// The program's allocator has freed the memory.
pub(crate) fn forget_allocation(address: usize) {
    forget(address, |_| true);
}

fn forget(address: usize, is_gone: impl Fn(&Known) -> bool) {
    with_current(|execution, _| {
        // What is freed while blocks are being looked at is not one of them.
        if let Ok(mut known) = execution.blocks.known.try_borrow_mut()
            && known.get(&address).is_some_and(is_gone)
        {
            known.remove(&address);
        }
    });
}

/// The place of an object that is about to be used for the first time, if it can be told.
#[track_caller]
pub(super) fn place_of(address: usize) -> Option<Place> {
    with_execution(|execution| {
        let (block, offset) = block_of(execution, address)?;
        let mut used = execution.blocks.used.borrow_mut();
        let count = used.entry((block, offset)).or_default();
        *count += 1;
        Some(Place { block, offset, instance: *count - 1 })
    })
}

/// Whether something is known of the memory at an address.
pub(super) fn is_known(address: usize) -> bool {
    with_execution(|execution| block_of(execution, address).is_some())
}

/// The block that an address is in, and how far.
fn block_of(execution: &Execution, address: usize) -> Option<(Block, usize)> {
    let threads = execution.threads.borrow();
    let stack = threads.iter().find(|thread| thread.stack.get().contains(address));
    match stack {
        Some(thread) => {
            let block = Block { owner: thread.key, made: Made::Stack, nth: 0 };
            Some((block, thread.stack.get().top - address))
        }
        None if is_static(address) => {
            let nth = execution.names.borrow_mut().lazy(address);
            Some((Block { owner: STATICS, made: Made::Static, nth }, 0))
        }
        None => execution.blocks.find(address),
    }
}

impl Blocks {
    fn note(&self, thread: &ThreadContext, address: usize, size: usize, is_allocated: bool) {
        let mark = 0u8;
        let depth = thread.stack.get().top.wrapping_sub((&raw const mark).addr());
        let operations = thread.allocations.operations();
        let (owner, operations, depth) = match thread.naming.get() {
            Some(naming) => {
                (named_after(naming.lazy), operations - naming.operations, depth.wrapping_sub(naming.depth))
            }
            None => (thread.key, operations, depth),
        };
        let block = thread.allocations.name(owner, Made::Allocated { operations, depth, size });
        let end = address.saturating_add(size.max(1));
        let made_at = thread.last_site.get();
        let mut known = self.known.borrow_mut();
        let is_allocated =
            is_allocated || known.get(&address).is_some_and(|known| known.is_allocated && !known.is_freed);
        known.insert(address, Known { end, block, is_allocated, is_freed: false, made_at });
        self.has_allocated.set(self.has_allocated.get() || is_allocated);
    }

    fn find(&self, address: usize) -> Option<(Block, usize)> {
        let known = self.known.borrow();
        let (&start, known) = known.range(..=address).next_back()?;
        (address < known.end).then_some((known.block, address - start))
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for (pointer, layout) in self.kept_back.take() {
            // SAFETY: the code under test has freed the block, which was allocated by the program's allocator with that layout, and the execution is over.
            unsafe { dealloc(pointer, layout) };
        }
    }
}
