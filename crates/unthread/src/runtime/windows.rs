//! Windows: memory through which code under test sees and changes the value of an atomic without asking the machine (`as_ptr`, `from_ptr`).
//!
//! A window shows the last value that any thread has stored. Who may look at it without a race knows of all stores, and none is under way, so this is what memory holds; but for
//! stores of several threads that were under way at the same time, and arrived in another order.
//!
//! What code writes into memory of ours is a plain store, at the writer's next operation. Memory of the code under test is there only as long as the atomic is used that
//! was made of it, so it is looked at, and written, with operations on that atomic alone. By then it is too late to say who wrote; who does so has exclusive access, so that what is
//! found there is taken to be a new atomic in the same place.

use super::current::{perform, with_current, with_execution};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::rc::Rc;
use unthread_checker::base::Loc;
use unthread_checker::execution::Operation;
use unthread_checker::program::{Access, Ordering};

/// The windows of an execution.
#[derive(Default)]
pub(crate) struct Windows {
    /// There are some.
    any: Cell<bool>,
    all: RefCell<Vec<Window>>,
    shadows: RefCell<Vec<Shadow>>,
}

/// A window to the cell of an atomic.
struct Window {
    cell: u32,
    view: View,
    shown: i64,
    owner: Owner,
}

/// How a value is read and written.
#[derive(Clone, Copy)]
pub(crate) struct View {
    pub(crate) kind: &'static str,
    pub(crate) memory: *mut u8,
    /// Gives what is there, as a number.
    pub(crate) read: unsafe fn(*const u8) -> i64,
    pub(crate) write: unsafe fn(*mut u8, i64),
}

/// Whose memory it is.
enum Owner {
    /// Ours, made for the atomic at that address.
    Ours {
        atomic: *const (),
        /// Nobody else has it, but a box would have to be the only way to it.
        _word: Rc<UnsafeCell<u64>>,
    },
    Theirs,
}

/// An atomic that stands for memory of the code under test.
struct Shadow {
    kind: &'static str,
    memory: usize,
    atomic: *mut (),
    drop: unsafe fn(*mut ()),
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: it was made for this, once, and the execution is over.
        unsafe { (self.drop)(self.atomic) };
    }
}

impl Window {
    /// What has been written into it, if that is not what was shown.
    fn changed(&mut self) -> Option<i64> {
        // SAFETY: the memory is ours, or the caller has just been asked to use the atomic that was made of it.
        let now = unsafe { (self.view.read)(self.view.memory) };
        (std::mem::replace(&mut self.shown, now) != now).then_some(now)
    }
}

impl Windows {
    /// Whether there are any.
    pub(super) fn any(&self) -> bool {
        self.any.get()
    }

    /// A window of ours to an atomic's cell, which shows a value: where it is.
    pub(crate) fn open(&self, cell: u32, atomic: *const (), value: i64, mut view: View) -> *mut u8 {
        let mut all = self.all.borrow_mut();
        let is_ours = |window: &&Window| window.cell == cell && matches!(window.owner, Owner::Ours { .. });
        if let Some(window) = all.iter().find(is_ours) {
            return window.view.memory;
        }
        let word = Rc::new(UnsafeCell::new(0));
        view.memory = word.get().cast();
        // SAFETY: there is room for any value of an atomic.
        unsafe { (view.write)(view.memory, value) };
        all.push(Window { cell, view, shown: value, owner: Owner::Ours { atomic, _word: word } });
        self.any.set(true);
        view.memory
    }

    /// Memory of the code under test is a window to a cell, which has the value that is there.
    pub(crate) fn adopt(&self, cell: u32, shown: i64, view: View) {
        let mut all = self.all.borrow_mut();
        if !all.iter().any(|window| (window.cell, window.view.memory) == (cell, view.memory)) {
            all.push(Window { cell, view, shown, owner: Owner::Theirs });
            self.any.set(true);
        }
    }

    /// The atomic that a window of ours was made for.
    pub(crate) fn atomic_of(&self, kind: &'static str, memory: *mut u8) -> Option<*const ()> {
        self.all.borrow().iter().find_map(|window| match window.owner {
            Owner::Ours { atomic, .. } => ((window.view.kind, window.view.memory) == (kind, memory)).then_some(atomic),
            Owner::Theirs => None,
        })
    }

    /// The atomic that stands for memory of the code under test. It lives as long as the execution.
    pub(crate) fn shadow<A>(&self, kind: &'static str, memory: usize, make: impl FnOnce() -> A) -> *const A {
        unsafe fn drop_box<A>(atomic: *mut ()) {
            // SAFETY: this is the box of `shadow`, and the end of it.
            drop(unsafe { Box::from_raw(atomic.cast::<A>()) });
        }
        let mut shadows = self.shadows.borrow_mut();
        let known = shadows.iter().find(|shadow| (shadow.kind, shadow.memory) == (kind, memory));
        if let Some(shadow) = known {
            return shadow.atomic.cast();
        }
        let atomic = Box::into_raw(Box::new(make()));
        shadows.push(Shadow { kind, memory, atomic: atomic.cast(), drop: drop_box::<A> });
        atomic
    }

    /// A thread has stored a value to a cell.
    pub(super) fn show(&self, cell: usize, value: i64) {
        if !self.any.get() {
            return;
        }
        for window in self.all.borrow_mut().iter_mut().filter(|window| window.cell as usize == cell) {
            window.shown = value;
            // SAFETY: the memory is ours, or the thread is using the atomic that was made of it.
            unsafe { (window.view.write)(window.view.memory, value) };
        }
    }

    /// What somebody has written into a window of ours.
    fn next_change(&self) -> Option<(u32, i64)> {
        let mut all = self.all.borrow_mut();
        let mut ours = all.iter_mut().filter(|window| matches!(window.owner, Owner::Ours { .. }));
        ours.find_map(|window| window.changed().map(|value| (window.cell, value)))
    }

    /// The memory that is a window to this cell, if somebody has written it. It is none any more.
    fn close_if_written(&self, cell: u32) -> Option<View> {
        let mut all = self.all.borrow_mut();
        let is_theirs = |window: &Window| window.cell == cell && matches!(window.owner, Owner::Theirs);
        let at = all.iter().position(is_theirs)?;
        all[at].changed()?;
        Some(all.swap_remove(at).view)
    }
}

/// The memory of the code under test that is a window to this cell, if somebody has written it. It is none any more.
pub(crate) fn close_if_written(cell: u32) -> Option<View> {
    with_current(|execution, _| execution.windows.any.get().then(|| execution.windows.close_if_written(cell))?)?
}

/// What the running thread has written into windows of ours becomes stores.
#[track_caller]
pub(super) fn store_changes() {
    let next = || with_current(|execution, _| execution.windows.next_change());
    while let Some(Some((cell, value))) = next() {
        let (loc, ordering, access) = (Loc::global(cell as usize), Ordering::Relaxed, Access::Plain);
        perform(Operation::Write { loc, value, ordering, access });
    }
}

/// Code under test gets a raw pointer to an atomic's value, or an atomic from one.
#[track_caller]
pub(crate) fn with_windows<R>(f: impl FnOnce(&Windows) -> R) -> R {
    with_execution(|execution| {
        execution.names.borrow_mut().mark_unfit("a raw pointer leads to the value of an atomic");
        f(&execution.windows)
    })
}
