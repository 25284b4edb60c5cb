//! A thread's stack: a coroutine that runs until the thread wants something of the machine, and goes on with the answer.
//!
//! Stacks are kept for the next thread, per OS thread: making one takes the operating system, reusing one takes nothing.

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::RefCell;

/// Where a thread hands over and takes up again.
pub(crate) type Handover = Yielder<i64, ()>;

/// A thread that can be run from one operation to the next.
pub(crate) struct Fiber {
    coroutine: Option<Coroutine<i64, (), (), DefaultStack>>,
    /// The stack, as long as it runs.
    pub(crate) stack: StackRange,
}

/// The addresses of a stack.
#[derive(Clone, Copy, Default)]
pub(crate) struct StackRange {
    /// The lowest one.
    limit: usize,
    /// The one above all.
    pub(crate) top: usize,
}

impl StackRange {
    pub(crate) fn contains(self, address: usize) -> bool {
        (self.limit..self.top).contains(&address)
    }

    /// Whether nothing can be at the address, because the stack would be too long then.
    pub(crate) fn guards(self, address: usize) -> bool {
        (self.limit..self.limit + GUARD).contains(&address)
    }

    /// Whether there are fewer than so many bytes left when the stack is that long.
    pub(crate) fn is_short_of(self, bytes: usize, pointer: usize) -> bool {
        self.contains(pointer) && pointer - self.limit < bytes
    }

    /// How long it can be.
    pub(crate) fn size(self) -> usize {
        self.top - self.limit - GUARD
    }
}

std::thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The most stacks that are kept.
const MOST_STACKS: usize = 64;

/// The smallest page of memory. The lowest one of a stack cannot be used.
const GUARD: usize = 4096;

/// As much as threads usually have: memory that is not touched costs nothing.
pub(crate) const STACK_SIZE: usize = 2 * 1024 * 1024;

impl Fiber {
    /// A thread that has not begun, with a stack of so many bytes or more.
    pub(crate) fn new(least: usize, body: impl FnOnce(&Handover) + 'static) -> Fiber {
        let kept = if least <= STACK_SIZE { STACKS.with_borrow_mut(Vec::pop) } else { None };
        let size = if least <= STACK_SIZE { STACK_SIZE } else { least.max(2 * STACK_SIZE) };
        let make = || DefaultStack::new(size).expect("there is memory for a stack");
        let stack = kept.unwrap_or_else(make);
        let range = StackRange { limit: stack.limit().get(), top: stack.base().get() };
        Fiber { coroutine: Some(Coroutine::with_stack(stack, move |handover, _| body(handover))), stack: range }
    }

    /// Runs the thread to its next operation, or to its end. Says whether it has come to its end.
    pub(crate) fn resume(&mut self, result: i64) -> bool {
        let Some(coroutine) = &mut self.coroutine else { return true };
        let ended = matches!(coroutine.resume(result), CoroutineResult::Return(()));
        if ended && let Some(coroutine) = self.coroutine.take() {
            keep(coroutine.into_stack());
        }
        ended
    }

    /// Whether the thread has come to its end.
    pub(crate) fn has_ended(&self) -> bool {
        self.coroutine.is_none()
    }

    /// Whether the thread has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.coroutine.as_ref().is_none_or(Coroutine::started)
    }

    /// Gives up a thread without unwinding it, when nothing else of its execution will run. Whatever its stack owns is leaked.
    pub(crate) fn forget(&mut self) {
        let Some(mut coroutine) = self.coroutine.take() else { return };
        if coroutine.started() {
            // SAFETY: nobody looks at what is on the stack any more.
            unsafe { coroutine.force_reset() };
            keep(coroutine.into_stack());
        } else {
            std::mem::forget(coroutine);
        }
    }

    /// Gives up a thread that will not unwind. Whatever is on its stack is leaked, and so is the stack.
    pub(crate) fn leak(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            std::mem::forget(coroutine);
        }
    }
}

/// Larger ones are not kept: it must not depend on threads before whether a stack overflows.
fn keep(stack: DefaultStack) {
    if stack.base().get() - stack.limit().get() >= 2 * STACK_SIZE {
        return;
    }
    STACKS.with_borrow_mut(|stacks| {
        if stacks.len() < MOST_STACKS {
            stacks.push(stack);
        }
    });
}
