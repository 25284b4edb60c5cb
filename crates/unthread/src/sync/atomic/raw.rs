//! Raw pointers to the values of atomics, and atomics from raw pointers.

use super::value::{Atomic, Value};
use crate::runtime::{Number, Unnamed, View, with_windows};

impl<T: Value> Atomic<T> {
    /// A pointer to memory that shows the value.
    #[track_caller]
    pub(crate) fn as_ptr(&self) -> *mut T {
        let (cell, value) = (self.cell_now(), self.peek().number());
        let atomic = std::ptr::from_ref(self).cast();
        with_windows(|windows| windows.open(cell, atomic, value, view::<T>(std::ptr::null_mut()))).cast()
    }

    /// The atomic whose value is there, or one that stands for that memory.
    ///
    /// # Safety
    /// As for the standard atomics: the memory is there, and is accessed in no other way at the same time.
    #[track_caller]
    pub(crate) unsafe fn from_ptr<'a>(pointer: *mut T) -> &'a Atomic<T> {
        let memory = pointer.cast::<u8>();
        if let Some(atomic) = with_windows(|windows| windows.atomic_of(T::KIND, memory)) {
            // SAFETY: the pointer comes from `as_ptr`, and its atomic is still there, as the caller promises.
            return unsafe { &*atomic.cast::<Atomic<T>>() };
        }
        let make = || Atomic::constant(Number::constant(0));
        let shadow = with_windows(|windows| windows.shadow(T::KIND, pointer.addr(), make));
        // SAFETY: it lives as long as the execution.
        let shadow = unsafe { &*shadow };
        shadow.adopt(view::<T>(memory));
        shadow
    }

    /// Memory that this stands for has been written. Gives the number of the cell from now on.
    #[track_caller]
    pub(super) fn begin_anew(&self, view: View) -> u32 {
        self.cell.forget();
        self.adopt(view)
    }

    /// Gives the number of the cell, and has that memory show its value.
    #[track_caller]
    fn adopt(&self, view: View) -> u32 {
        // SAFETY: the atomic that was made of that memory is being used, so it is there.
        let value = unsafe { (view.read)(view.memory) };
        let (address, kind) = (view.memory.addr(), view.kind);
        let cell = self.cell.get(|| Unnamed { address, kind, value, made_at: None });
        with_windows(|windows| windows.adopt(cell, value, view));
        cell
    }
}

fn view<T: Value>(memory: *mut u8) -> View {
    unsafe fn read<T: Value>(memory: *const u8) -> i64 {
        // SAFETY: a value of that type is there, as the caller promises.
        unsafe { memory.cast::<T>().read() }.number()
    }
    unsafe fn write<T: Value>(memory: *mut u8, value: i64) {
        // SAFETY: there is room for a value of that type, as the caller promises.
        unsafe { memory.cast::<T>().write(T::from_number(value)) };
    }
    View { kind: T::KIND, memory, read: read::<T>, write: write::<T> }
}
