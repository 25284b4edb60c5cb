//! The machine's number for an object, which the object keeps.
//!
//! What a thread makes gets its number at once. What a constant expression makes gets it when it is first used: a static by its address, anything else by its
//! place. Where the place cannot be told, whoever uses the object draws a number, in an order that others can see, and the first one to do so gives it that as its name. Whoever comes
//! later draws, too, when it uses the object for the first time: what a thread does next must not depend on what others did that it cannot have seen.

use super::current::{defer_cell, named_after, perform, with_execution, with_thread};
use super::names::Names;
use super::places::place_of;
use super::statics::{copied, is_static, static_cell};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use unthread_checker::execution::Operation;
use unthread_checker::program::{Loc, Ordering, RmwOp};

/// An object's number, or that it has none yet. Of a static it never changes: checks on several OS threads may use it.
#[derive(Debug)]
pub(crate) struct Number(AtomicU64);

/// The object has a number. If not, a constant expression made it, and if that is no static, it has not been used: all other bits are the object's own. So an object
/// in memory that has been zeroed is one that nobody has used.
const NAMED: u64 = 1 << 63;

/// A number that was drawn.
const DRAWN: u64 = 1 << 62;

/// Somebody has exclusive access to the object's value, and the cell is made when the object is used next.
const LENT: u64 = 1 << 61;

/// Where the number begins of the execution in which the object got its own, if it got that when it was used.
const EXECUTION: u32 = 32;

/// Numbers of executions are smaller.
pub(super) const EXECUTIONS: u32 = 1 << 29;

/// What an object without a number is, when it is used.
pub(crate) struct Unnamed {
    pub(crate) address: usize,
    pub(crate) kind: &'static str,
    /// What its cell shows at first.
    pub(crate) value: i64,
    pub(crate) made_at: Option<&'static Location<'static>>,
}

impl Number {
    /// Of an object that the running thread makes, with a cell of its own.
    #[cfg(not(feature = "const-new"))]
    pub(crate) fn made(number: u32) -> Number {
        Number(AtomicU64::new(NAMED | u64::from(number)))
    }

    /// Of an object that a constant expression makes, with 63 bits for its own use.
    pub(crate) const fn constant(own: u64) -> Number {
        assert!(own & NAMED == 0);
        Number(AtomicU64::new(own))
    }

    /// The bits for an object's own use, if it has no number.
    pub(crate) fn own_bits(&self) -> Option<u64> {
        let word = self.0.load(Relaxed);
        (word & NAMED == 0).then_some(word)
    }

    /// The number, if the object has one.
    pub(crate) fn known(&self) -> Option<u32> {
        let word = self.0.load(Relaxed);
        (word & NAMED != 0).then_some(word as u32)
    }

    /// The object has no number any more.
    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// The object gets a new number, and somebody its value.
    pub(crate) fn lend(&self, number: u32) {
        self.0.store(u64::from(number) | NAMED | LENT, Relaxed);
    }

    /// The number, if somebody has the value.
    pub(crate) fn lent(&self) -> Option<u32> {
        let word = self.0.load(Relaxed);
        (word & (NAMED | LENT) == NAMED | LENT).then_some(word as u32)
    }

    /// Somebody gives the value back.
    pub(crate) fn take_back(&self) {
        self.0.fetch_and(!LENT, Relaxed);
    }

    /// The number. An object that has none gets one, and its cell.
    #[track_caller]
    pub(crate) fn get(&self, object: impl FnOnce() -> Unnamed) -> u32 {
        let word = self.0.load(Relaxed);
        if word & NAMED == 0 {
            return self.first_use(object());
        }
        if (word & !NAMED) >> EXECUTION != 0 {
            self.check(word & !NAMED);
        }
        word as u32
    }

    /// The object got its number when it was used: in this execution, it must be, and a number that was drawn is drawn again by everyone.
    #[track_caller]
    fn check(&self, word: u64) {
        let here = with_execution(|execution| execution.number);
        let there = (word & !DRAWN) >> EXECUTION;
        assert!(
            there == u64::from(here),
            "an object is used in several executions; what is shared must be a static, or be made inside of the closure"
        );
        if word & DRAWN != 0 && !knows(word as u32) {
            draw();
            note_known(word as u32);
        }
    }

    #[track_caller]
    fn first_use(&self, object: Unnamed) -> u32 {
        let location = object.made_at.unwrap_or(Location::caller());
        if is_static(std::ptr::from_ref(self).addr()) {
            return static_cell(object.address, object.kind, object.value, location);
        }
        if let Some(place) = place_of(object.address) {
            let number = with_names(|names| {
                if place.instance > 0 {
                    names.mark_unfit("an object is where another one was");
                }
                let site = names.site(location);
                names.found_at(place, object.value, object.kind, site)
            });
            self.give(number, 0);
            defer_cell(number, object.value);
            return number;
        }
        let (lazy, nth) = draw();
        if let Some(known) = self.known() {
            note_known(known);
            return known;
        }
        let number = with_names(|names| {
            let site = names.site(location);
            let number = names.made_by(named_after(lazy), nth, object.kind, site);
            names.note_drawn(number);
            number
        });
        self.give(number, DRAWN);
        note_known(number);
        defer_cell(number, object.value);
        number
    }

    fn give(&self, number: u32, drawn: u64) {
        let execution = with_execution(|execution| execution.number);
        self.0.store(NAMED | u64::from(number) | u64::from(execution) << EXECUTION | drawn, Relaxed);
    }
}

fn with_names<R>(f: impl FnOnce(&mut Names) -> R) -> R {
    with_execution(|execution| f(&mut execution.names.borrow_mut()))
}

/// Whether the running thread has drawn for the object with that number.
fn knows(number: u32) -> bool {
    with_thread(|_, thread| thread.drawn_for.borrow().contains(&number))
}

fn note_known(number: u32) {
    with_thread(|_, thread| thread.drawn_for.borrow_mut().push(number));
}

/// Draws a number; also gives what it is named after.
#[track_caller]
fn draw() -> (u32, u32) {
    static NUMBERS: AtomicU32 = AtomicU32::new(0);
    let address = (&raw const NUMBERS).addr();
    let loc = Loc::global(static_cell(address, "names", 0, Location::caller()) as usize);
    let nth = perform(Operation::Rmw { loc, op: RmwOp::Draw, operand: 1, ordering: Ordering::Relaxed });
    (with_names(|names| names.lazy(address)), nth as u32)
}

/// The number of an object whose cell is 0 at first, and what the object is.
#[derive(Debug)]
pub(crate) struct Name {
    number: Number,
    kind: &'static str,
    made_at: Option<&'static Location<'static>>,
}

impl Name {
    /// For an object that the running thread makes.
    #[cfg(not(feature = "const-new"))]
    #[track_caller]
    pub(crate) fn new(kind: &'static str) -> Name {
        Name { number: Number::made(super::create_cell(kind, 0)), kind, made_at: None }
    }

    /// For a constant expression.
    #[track_caller]
    pub(crate) const fn constant(kind: &'static str) -> Name {
        Name { number: Number::constant(0), kind, made_at: Some(Location::caller()) }
    }

    /// The number.
    #[track_caller]
    pub(crate) fn get(&self) -> u32 {
        let address = std::ptr::from_ref(self).addr();
        self.number.get(|| Unnamed { address, kind: self.kind, value: 0, made_at: self.made_at })
    }

    /// Where the object's data is: in the object, unless that is a static.
    #[track_caller]
    pub(crate) fn data<T: ?Sized>(&self, own: *mut T) -> *mut T {
        let is_copied = self.number.known().is_none() && is_static(std::ptr::from_ref(self).addr());
        if is_copied { copied(own) } else { own }
    }
}
