//! A thread of an execution: what it wants, what it has, and how far it is.

use super::current::Naming;
use super::execution::Settings;
use super::fiber::{Fiber, Handover, StackRange};
use super::leave::Left;
use super::noise::Window;
use super::panics::{LeftPanic, Panicked};
use super::places::Allocations;
use super::{Request, forget_block, panics};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use unthread_checker::base::{Loc, ThreadKey};
use unthread_checker::execution::{Dropped, Operation};

/// A thread of an execution.
pub(crate) struct ThreadContext {
    pub(crate) key: ThreadKey,
    /// Its number among the threads of the execution.
    pub(crate) index: usize,
    pub(crate) name: Option<String>,
    pub(crate) fiber: RefCell<Option<Fiber>>,
    pub(crate) handover: Cell<Option<NonNull<Handover>>>,
    /// What it wants next.
    pub(crate) request: RefCell<Request>,
    pub(crate) new_cells: RefCell<Vec<(Loc, i64)>>,
    /// It is in the middle of a destructor of an execution that is given up, and is left there.
    pub(crate) stays: Cell<bool>,
    /// The end of its stack where it waits for the machine: an address below all of its frames.
    pub(crate) lowest: Cell<usize>,
    /// Where its last operation stands.
    pub(crate) last_site: Cell<u32>,
    /// The block of memory that the object is in that it is about to use.
    pub(crate) used_block: Cell<Option<u32>>,
    /// Handles by which it comes to the object of its next operation, and the blocks that they are in.
    pub(crate) through: RefCell<Vec<u32>>,
    /// Handles that it has made.
    pub(crate) n_handles: Cell<u32>,
    /// What its closure has moved into it: where that begins and ends.
    pub(crate) captured: Cell<(usize, usize)>,
    /// Objects that it has dropped since its last operation.
    pub(crate) dropped: RefCell<Vec<Dropped>>,
    pub(crate) n_objects: Cell<u32>,
    pub(crate) open_accesses: RefCell<Vec<OpenAccess>>,
    /// Locks that it holds for reading, as often as it does.
    pub(crate) reads: RefCell<Vec<u32>>,
    pub(crate) n_forks: Cell<u32>,
    /// The thread that it forks, before the machine has been told.
    pub(crate) child: Cell<Option<usize>>,
    /// The cell that `unpark` sets.
    pub(crate) token: Cell<Option<u32>>,
    /// Statics that it knows to be there.
    pub(crate) known_lazies: RefCell<Vec<usize>>,
    /// Objects that it has drawn numbers for.
    pub(crate) drawn_for: RefCell<Vec<u32>>,
    /// Objects are named after a static.
    pub(crate) naming: Cell<Option<Naming>>,
    pub(crate) locals: RefCell<Vec<(usize, Local)>>,
    pub(crate) panicked: RefCell<Option<Panicked>>,
    /// The panic before that one.
    pub(crate) panicked_before: RefCell<Option<Panicked>>,
    /// The panic of the thread that it joined last, if that one panicked.
    pub(super) joined: RefCell<Option<LeftPanic>>,
    pub(crate) spin: RefCell<super::spin::Spin>,
    pub(crate) patience: RefCell<super::patience::Patience>,
    /// Its stack, until it has ended.
    pub(crate) stack: Cell<StackRange>,
    pub(crate) allocations: Allocations,
    /// Calls into this module that it is in.
    pub(crate) calls: Cell<u32>,
    /// Where the stack of the code under test begins: an address above all of it. What lies above that changes whenever the thread is resumed.
    pub(crate) stack_base: Cell<usize>,
    pub(crate) wakeups_left: Cell<u32>,
    pub(crate) failures_left: Cell<u32>,
    pub(crate) timeouts_left: Cell<u32>,
    /// It unwinds because its execution is abandoned.
    pub(crate) unwinds: Cell<bool>,
    /// It is on its own stack right now.
    pub(crate) runs: Cell<bool>,
    /// The standard library is about to say that it ends the process, which it does not.
    pub(super) quiet: Cell<Option<Window>>,
    /// It has been left where going on would have ended the process.
    pub(crate) stopped: Cell<bool>,
    /// Why, if that was none of its own doing.
    pub(crate) left: Cell<Option<Left>>,
    /// Where it came to an operation last.
    pub(crate) last: Cell<Option<&'static Location<'static>>>,
    pub(crate) ended: Cell<bool>,
}

/// The value of a thread-local variable; nothing once it has been dropped.
type Local = Option<Rc<dyn Any>>;

/// An access to plain data that lasts.
pub(crate) struct OpenAccess {
    pub(crate) object: u32,
    pub(crate) writes: bool,
    /// It lasts as long as a pointer, which need not be used to its end.
    pub(crate) by_pointer: bool,
    pub(crate) since: Since,
}

/// What a thread has done since it was last said that it accesses something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Nothing,
    /// Nothing that others could have seen.
    Looked,
    /// Something that may have let others access it.
    Acted,
}

impl ThreadContext {
    /// One that has not begun, and has no stack.
    pub(super) fn new(key: ThreadKey, index: usize, name: Option<String>, settings: Settings) -> ThreadContext {
        ThreadContext {
            key,
            index,
            name,
            fiber: RefCell::new(None),
            handover: Cell::new(None),
            request: RefCell::new(Request::of(Operation::End)),
            new_cells: RefCell::default(),
            stays: Cell::new(false),
            lowest: Cell::new(0),
            last_site: Cell::new(0),
            used_block: Cell::new(None),
            through: RefCell::default(),
            n_handles: Cell::new(0),
            captured: Cell::default(),
            dropped: RefCell::default(),
            n_objects: Cell::new(0),
            open_accesses: RefCell::default(),
            stack: Cell::default(),
            allocations: Allocations::default(),
            calls: Cell::new(0),
            stack_base: Cell::new(0),
            reads: RefCell::default(),
            n_forks: Cell::new(0),
            child: Cell::new(None),
            token: Cell::new(None),
            known_lazies: RefCell::default(),
            drawn_for: RefCell::default(),
            naming: Cell::new(None),
            locals: RefCell::default(),
            panicked: RefCell::default(),
            panicked_before: RefCell::default(),
            joined: RefCell::default(),
            spin: RefCell::default(),
            patience: RefCell::default(),
            wakeups_left: Cell::new(settings.wakeups),
            failures_left: Cell::new(settings.failures),
            timeouts_left: Cell::new(settings.timeouts),
            unwinds: Cell::new(false),
            runs: Cell::new(false),
            quiet: Cell::new(None),
            stopped: Cell::new(false),
            left: Cell::new(None),
            last: Cell::new(None),
            ended: Cell::new(false),
        }
    }

    /// The thread, which runs, does not go on from here and is never unwound. What it holds is never given back.
    pub(super) fn stay(&self) -> ! {
        let handover = self.handover.get().expect("only a thread that has begun can run");
        loop {
            // SAFETY: the handover lives at the bottom of the stack on which this runs.
            unsafe { handover.as_ref() }.suspend(());
        }
    }

    /// Whether what is at an address is on its stack, or was moved into it when it was spawned.
    pub(super) fn owns(&self, address: usize) -> bool {
        let (begin, end) = self.captured.get();
        self.stack.get().contains(address) || (begin..end).contains(&address)
    }

    /// What it has used on its way to the object of its next operation.
    pub(super) fn take_through(&self) -> Vec<Loc> {
        self.through.borrow_mut().drain(..).map(|handle| Loc::global(handle as usize)).collect()
    }

    /// Whether it matters what data it changes.
    pub(crate) fn minds_changes(&self) -> bool {
        self.spin.borrow().has_begun() || self.patience.borrow().has_begun()
    }

    /// It has changed data, as far as is known.
    pub(crate) fn has_changed_data(&self) {
        self.spin.borrow_mut().changed();
        self.patience.borrow_mut().changed();
    }

    /// Whether it has access to plain data.
    pub(super) fn has_pointers(&self) -> bool {
        !self.open_accesses.borrow().is_empty()
    }

    /// The thread's body, on its own stack.
    pub(super) fn run(&self, handover: &Handover, body: Box<dyn FnOnce()>) {
        self.handover.set(Some(NonNull::from(handover)));
        let bottom = 0usize;
        self.stack_base.set((&raw const bottom).addr());
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            body();
            self.drop_locals();
        }));
        self.unwinds.set(false);
        if outcome.is_err() {
            let _ = catch_unwind(AssertUnwindSafe(|| self.drop_locals()));
        }
        if let Err(payload) = outcome {
            let _ = catch_unwind(AssertUnwindSafe(|| panics::fail(&*payload)));
        }
    }

    /// Drops the values of thread-locals, and those that come up meanwhile.
    fn drop_locals(&self) {
        loop {
            let next = self.locals.borrow_mut().iter_mut().rev().find_map(|local| local.1.take());
            match next {
                Some(local) => {
                    forget_block(Rc::as_ptr(&local).addr());
                    drop(local);
                }
                None => return,
            }
        }
    }
}
