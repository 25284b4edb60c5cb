//! Cells whose accesses are checked for data races.

use crate::runtime::{
    Kind, Name, OpenAccess, Request, Since, Snapshot, abandon_or, request, with_current, with_execution, with_thread,
};
use std::fmt;
use unthread_checker::base::Loc;
use unthread_checker::execution::{Buffers, Operation};
use unthread_checker::program::{Access, Ordering};

/// The cell that all shared data without synchronisation is made of. Two accesses at the same time, one of them a write, are a data race.
pub struct UnsafeCell<T: ?Sized> {
    name: Name,
    data: std::cell::UnsafeCell<T>,
}

/// Says that data is read, as long as this lives.
pub struct ConstPtr<T: ?Sized> {
    access: Accessing,
    pointer: *const T,
}

/// Says that data is written, as long as this lives.
pub struct MutPtr<T: ?Sized> {
    access: Accessing,
    pointer: *mut T,
}

/// An access that lasts.
struct Accessing {
    object: u32,
    writes: bool,
    /// The data, if it may change.
    before: Option<Snapshot>,
}

impl Accessing {
    #[track_caller]
    fn begin<T: ?Sized>(cell: &UnsafeCell<T>, writes: bool, by_pointer: bool) -> Accessing {
        let object = cell.name.get();
        touch(object, writes);
        let access = OpenAccess { object, writes, by_pointer, since: Since::Nothing };
        with_thread(|_, thread| thread.open_accesses.borrow_mut().push(access));
        let before = writes.then(|| Snapshot::of(cell.data(), size_of_val(&cell.data)));
        Accessing { object, writes, before }
    }

    /// The access is over. Says whether it must be said once more that there is one: its thread has done something meanwhile. If it was handed to another one, it has.
    ///
    /// The pointer in the guard of a lock is still there when the lock has been given back: where that was the last thing that was done, it is taken to be over before.
    fn end(&self) -> bool {
        with_thread(|execution, thread| {
            let mut open = thread.open_accesses.borrow_mut();
            let is_this = |access: &OpenAccess| (access.object, access.writes) == (self.object, self.writes);
            let Some(access) = open.iter().rposition(is_this).map(|at| open.remove(at)) else {
                return !execution.lifetimes.was_dropped_by(self.object, thread);
            };
            let is_over = access.by_pointer && access.since == Since::Acted;
            if is_over {
                execution
                    .names
                    .borrow_mut()
                    .mark_unfit("a pointer into a cell outlives an operation that may give the cell to others");
            }
            access.since != Since::Nothing && !is_over
        })
    }
}

impl Drop for Accessing {
    #[track_caller]
    fn drop(&mut self) {
        // If nothing has happened since it began, it ends where it began.
        abandon_or((), || {
            if let Some(before) = &self.before {
                before.note_change();
            }
            if self.end() {
                touch(self.object, self.writes);
            }
        });
    }
}

/// The running thread uses a pointer, or goes on with one, after it did something by which others may come to access the same: it may still access that, too.
#[track_caller]
pub(crate) fn touch_pointed() {
    let next = || {
        with_current(|execution, thread| {
            let mut open = thread.open_accesses.borrow_mut();
            let is_due = |access: &&mut OpenAccess| access.by_pointer && access.since == Since::Acted;
            let access = open.iter_mut().find(is_due).filter(|_| !execution.abandoned.get())?;
            access.since = Since::Nothing;
            Some((access.object, access.writes))
        })
    };
    while let Some(Some((object, writes))) = next() {
        touch(object, writes);
    }
}

/// One access.
#[track_caller]
fn touch(object: u32, writes: bool) {
    let loc = Loc::global(object as usize);
    let overtaken = with_execution(|execution| execution.buffers == Buffers::PerLocation);
    let operation = match (writes, overtaken) {
        // A store that others can overtake: that can be a race, too.
        (true, true) => Operation::Write { loc, value: 0, ordering: Ordering::Relaxed, access: Access::Plain },
        (false, true) => Operation::Read { loc, ordering: Ordering::Relaxed, access: Access::Plain },
        (writes, false) => Operation::Touch { loc, writes },
    };
    request(Request::on(Some(loc), operation));
}

impl<T> UnsafeCell<T> {
    constructors! {
        /// A cell with a value.
        new(value: T) -> UnsafeCell<T> {
            UnsafeCell { name: Name::new(Kind::UnsafeCell), data: std::cell::UnsafeCell::new(value) }
        } const {
            UnsafeCell { name: Name::constant(Kind::UnsafeCell), data: std::cell::UnsafeCell::new(value) }
        }
    }

    /// The value; the cell is no more.
    #[track_caller]
    pub fn into_inner(self) -> T {
        abandon_or((), || {
            touch(self.name.get(), true);
            with_thread(|_, thread| thread.has_changed_data());
        });
        self.data.into_inner()
    }
}

impl<T: ?Sized> UnsafeCell<T> {
    /// Where the value is.
    #[track_caller]
    fn data(&self) -> *mut T {
        self.name.data(self.data.get())
    }

    /// Reads through a pointer.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        let _access = Accessing::begin(self, false, false);
        f(self.data())
    }

    /// Writes through a pointer.
    #[track_caller]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        let _access = Accessing::begin(self, true, false);
        f(self.data())
    }

    /// A pointer to read through.
    #[track_caller]
    pub fn get(&self) -> ConstPtr<T> {
        ConstPtr { access: Accessing::begin(self, false, true), pointer: self.data() }
    }

    /// A pointer to write through.
    #[track_caller]
    pub fn get_mut(&self) -> MutPtr<T> {
        MutPtr { access: Accessing::begin(self, true, true), pointer: self.data() }
    }
}

impl<T: ?Sized> ConstPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// Nobody writes it. (The check finds out if that is wrong.)
    #[track_caller]
    pub unsafe fn deref(&self) -> &T {
        touch_pointed();
        // SAFETY: as the caller promises.
        unsafe { &*self.pointer }
    }

    /// Reads through the pointer.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        touch_pointed();
        f(self.pointer)
    }
}

impl<T: ?Sized> MutPtr<T> {
    /// The value.
    ///
    /// # Safety
    /// Nobody else reads or writes it. (The check finds out if that is wrong.)
    #[expect(clippy::mut_from_ref, reason = "this is what a pointer is for")]
    #[track_caller]
    pub unsafe fn deref(&self) -> &mut T {
        touch_pointed();
        // SAFETY: as the caller promises.
        unsafe { &mut *self.pointer }
    }

    /// Writes through the pointer.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        touch_pointed();
        f(self.pointer)
    }
}

impl<T: Default> Default for UnsafeCell<T> {
    #[track_caller]
    fn default() -> Self {
        UnsafeCell::new(T::default())
    }
}

impl<T> From<T> for UnsafeCell<T> {
    #[track_caller]
    fn from(value: T) -> Self {
        UnsafeCell::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for UnsafeCell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsafeCell").finish_non_exhaustive()
    }
}

impl<T: ?Sized> fmt::Debug for ConstPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConstPtr").field(&self.access.object).finish()
    }
}

impl<T: ?Sized> fmt::Debug for MutPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MutPtr").field(&self.access.object).finish()
    }
}

/// A cell for one thread, as in [`std::cell`], whose accesses are checked all the same.
pub struct Cell<T> {
    cell: UnsafeCell<T>,
}

impl<T> Cell<T> {
    constructors! {
        /// A cell with a value.
        new(value: T) -> Cell<T> { Cell { cell: UnsafeCell::new(value) } } const { Cell { cell: UnsafeCell::const_new(value) } }
    }

    /// Changes the value.
    #[track_caller]
    pub fn set(&self, value: T) {
        drop(self.replace(value));
    }

    /// Swaps the values of two cells.
    #[track_caller]
    pub fn swap(&self, other: &Cell<T>) {
        if !std::ptr::eq(self, other) {
            // SAFETY: the cells are different, and the check sees to it that nobody else accesses them.
            self.cell.with_mut(|a| other.cell.with_mut(|b| unsafe { std::ptr::swap(a, b) }));
        }
    }

    /// Changes the value and gives the old one.
    #[track_caller]
    pub fn replace(&self, value: T) -> T {
        // SAFETY: the check sees to it that nobody else accesses the cell.
        self.cell.with_mut(|data| unsafe { std::mem::replace(&mut *data, value) })
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: the check sees to it that nobody else writes the cell.
        self.cell.with(|data| unsafe { *data })
    }

    /// Takes the value and leaves the default one.
    #[track_caller]
    pub fn take(&self) -> T
    where
        T: Default,
    {
        self.replace(T::default())
    }

    /// The value; the cell is no more.
    #[track_caller]
    pub fn into_inner(self) -> T {
        self.cell.into_inner()
    }
}

impl<T: Default> Default for Cell<T> {
    #[track_caller]
    fn default() -> Self {
        Cell::new(T::default())
    }
}

impl<T> fmt::Debug for Cell<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell").finish_non_exhaustive()
    }
}
