//! The machine's number for an object, which the object keeps.
//!
//! What a thread makes gets its number at once. What a constant expression makes gets it when it is first used: a static by its address, anything else by its
//! place. Where nothing is known of the memory it may have been freed, and a number that is written there would destroy what is there now. So no object gets its number there.
//!
//! An atomic that stands for memory of the code under test keeps its number elsewhere. If nothing is known of that memory, whoever uses the atomic draws a number, in an order that others can see,
//! and the first one to do so gives it that as its name. Whoever comes later draws, too, when it uses the atomic for the first time: what a thread does next must not depend on what others did that
//! it cannot have seen.

use super::current::{find_cell, is_live, named_after, perform, with_execution, with_thread};
use super::lifetimes::{self, What, fail_on_gone, fail_on_unknown, is_left_frame};
use super::names::{Description, Names};
use super::places::{is_known, note_use, place_of};
use super::statics::{copied, is_part_of_program, is_static, static_cell};
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use unthread_checker::base::Loc;
use unthread_checker::execution::{ObjectKind, Operation};
use unthread_checker::program::{Ordering, RmwOp};

/// An object's number, or the bits that a constant expression gave an object that has none. Of a static it never changes: checks on several OS threads may use it.
///
/// It is as large as a word: some code under test insists on that of atomics. An object in memory that has been zeroed is one that nobody has used.
#[repr(C)]
pub(crate) union Number {
    word: ManuallyDrop<AtomicU64>,
    /// A constant expression cannot make a number of a pointer.
    pointer: *const (),
}

// SAFETY: nobody reads through the pointer.
unsafe impl Send for Number {}
// SAFETY: the word is atomic; the pointer is written when the object is made.
unsafe impl Sync for Number {}

/// Words with this beginning are numbers. No user's address begins like that, and no other value may.
const NAMED: u64 = 0xa9d3b << 44;
const BEGINNING: u64 = 0xfffff << 44;

/// What a dropped object leaves in its memory.
const GONE: u64 = 0x5d7e3 << 44;

/// Somebody has exclusive access to the object's value, and the cell is made when the object is used next.
const LENT: u64 = 1 << 43;

/// A number that was drawn.
const DRAWN: u64 = 1 << 42;

/// Where the number begins of the execution in which the object got its own, if it got that when it was used.
const EXECUTION: u32 = 28;

/// Numbers of executions are smaller; after that they are used again.
pub(super) const EXECUTIONS: u32 = 1 << 14;

/// The number itself.
const NUMBER: u64 = (1 << EXECUTION) - 1;

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
        Number::of(word_of(number))
    }

    /// Of an object that a constant expression makes, with bits for its own use.
    pub(crate) const fn constant(own: u64) -> Number {
        assert!(own & BEGINNING != NAMED, "values that begin with the bits a9d3b are not possible");
        assert!(own != GONE, "the value 5d7e300000000000 is not possible");
        Number::of(own)
    }

    /// The same, with a pointer.
    #[cfg(target_pointer_width = "64")]
    pub(crate) const fn of_pointer<T>(own: *const T) -> Number {
        Number { pointer: own.cast() }
    }

    /// The same, where a pointer does not fill the word.
    #[cfg(not(target_pointer_width = "64"))]
    pub(crate) const fn of_pointer<T>(own: *const T) -> Number {
        assert!(own.is_null(), "a constant pointer is null at first on this machine");
        Number::of(0)
    }

    const fn of(word: u64) -> Number {
        Number { word: ManuallyDrop::new(AtomicU64::new(word)) }
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: any bits are a word, and a pointer fills it.
        unsafe { &self.word }
    }

    /// The number, if the object has one.
    pub(crate) fn known(&self) -> Option<u32> {
        let word = self.word().load(Relaxed);
        (word & BEGINNING == NAMED).then_some((word & NUMBER) as u32)
    }

    /// The bits for an object's own use, if it has no number. If they are an address, others may use it.
    #[cfg(target_pointer_width = "64")]
    pub(crate) fn own_bits(&self) -> Option<u64> {
        // SAFETY: any bits are a pointer.
        self.known().is_none().then(|| unsafe { self.pointer }.expose_provenance() as u64)
    }

    /// The bits for an object's own use, if it has no number.
    #[cfg(not(target_pointer_width = "64"))]
    pub(crate) fn own_bits(&self) -> Option<u64> {
        self.known().is_none().then(|| self.word().load(Relaxed))
    }

    /// The object has no number any more.
    pub(crate) fn forget(&self) {
        self.word().store(0, Relaxed);
    }

    /// The object gets a new number, and somebody its value.
    pub(crate) fn lend(&self, number: u32) {
        if let Some(before) = self.known() {
            with_execution(|execution| execution.lifetimes.note_renamed(before, number));
        }
        self.word().store(word_of(number) | LENT, Relaxed);
    }

    /// The number, if somebody has the value.
    pub(crate) fn lent(&self) -> Option<u32> {
        self.known().filter(|_| self.word().load(Relaxed) & LENT != 0)
    }

    /// Somebody gives the value back.
    pub(crate) fn take_back(&self) {
        self.word().fetch_and(!LENT, Relaxed);
    }

    /// The number. An object that has none gets one, and its cell.
    ///
    /// Whether it has one is nothing that the thread knows, so it must not be seen in the caller's part of the stack: what calls this is not inlined.
    #[track_caller]
    pub(crate) fn get(&self, object: impl FnOnce() -> Unnamed) -> u32 {
        let number = match self.known() {
            None => self.first_use(object()),
            Some(known) => {
                let execution = execution_of(self.word().load(Relaxed));
                if execution != 0 {
                    self.check(execution, known);
                }
                known
            }
        };
        note_use(self.address());
        number
    }

    /// Where it is. What is at an object's address may be memory of the code under test that the object stands for.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The object comes to its end, and leaves a mark.
    fn end(&self, kind: ObjectKind) {
        let address = self.address();
        let word = self.word().load(Relaxed);
        if is_live() && word & BEGINNING != NAMED {
            if word == GONE || with_thread(|execution, thread| execution.lifetimes.is_gone(address, thread)) {
                fail_on_gone(address, "object");
            }
            if with_execution(|execution| execution.lifetimes.was_at(address)) && !is_known(address) {
                fail_on_unknown(address, "object");
            }
        }
        let is_made = word & BEGINNING == NAMED && execution_of(word) == 0;
        lifetimes::end(self.known(), kind, address, if is_made { What::Made } else { What::Constant });
        let word: *mut u64 = self.word().as_ptr();
        // SAFETY: nobody else uses the memory of an object that is dropped. The write is volatile because nobody may read the memory any more, and whoever does so is to see it.
        unsafe { word.write_volatile(GONE) };
    }

    /// The object got its number when it was used: in this execution, it must be, and a number that was drawn is drawn again by everyone.
    #[track_caller]
    fn check(&self, given_in: u32, number: u32) {
        let here = with_execution(|execution| execution.number);
        assert!(
            given_in == here,
            "an object is used in several executions; what is shared must be a static, or be made inside of the closure"
        );
        if self.word().load(Relaxed) & DRAWN != 0 && !knows(number) {
            draw();
            note_known(number);
        }
    }

    #[track_caller]
    fn first_use(&self, object: Unnamed) -> u32 {
        let word = self.word().load(Relaxed);
        let is_gone = || with_thread(|execution, thread| execution.lifetimes.is_gone(self.address(), thread));
        if word == GONE || is_gone() || is_left_frame(self.address()) {
            fail_on_gone(self.address(), object.kind);
        }
        let location = object.made_at.unwrap_or(Location::caller());
        if is_static(std::ptr::from_ref(self).addr()) {
            return static_cell(object.address, object.kind, object.value, location);
        }
        let made_at = with_names(|names| names.site(location));
        let description = Description { kind: object.kind, made_at, first: object.value };
        let Some(place) = place_of(object.address) else {
            if object.address == self.address() {
                fail_on_unknown(object.address, object.kind);
            }
            return self.draw_name(description);
        };
        let number = with_names(|names| {
            if place.instance > 0 {
                names.mark_unfit("an object is where another one was");
            }
            names.found_at(place, description)
        });
        self.give(number, 0);
        find_cell(number, object.value);
        number
    }

    /// Draws a number for the object, and names it by that, unless somebody else has been quicker.
    #[track_caller]
    fn draw_name(&self, description: Description) -> u32 {
        let (lazy, nth) = draw();
        let number = self.known().unwrap_or_else(|| {
            let number = with_names(|names| {
                let number = names.made_by(named_after(lazy), nth, description);
                names.note_drawn(number);
                number
            });
            self.give(number, DRAWN);
            find_cell(number, description.first);
            number
        });
        note_known(number);
        number
    }

    fn give(&self, number: u32, drawn: u64) {
        let execution = with_execution(|execution| execution.number);
        self.word().store(word_of(number) | u64::from(execution) << EXECUTION | drawn, Relaxed);
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.end(ObjectKind::Cell);
    }
}

fn word_of(number: u32) -> u64 {
    assert!(u64::from(number) <= NUMBER, "there are too many objects");
    NAMED | u64::from(number)
}

fn execution_of(word: u64) -> u32 {
    (word >> EXECUTION) as u32 % EXECUTIONS
}

/// A word of memory as it was before others gave objects in it their numbers: that does not count as a change.
pub(super) fn unnamed(names: &Names, word: u64) -> u64 {
    let is_given = word & (BEGINNING | LENT) == NAMED && execution_of(word) != 0;
    let first = || names.description((word & NUMBER) as u32).map(|description| description.first as u64);
    is_given.then(first).flatten().unwrap_or(word)
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

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.known().fmt(f)
    }
}

/// The number of an object whose cell is 0 at first, and what the object is.
///
/// Nothing of it is trusted before it is known to be there: the memory may have been freed.
pub(crate) struct Name {
    number: ManuallyDrop<Number>,
    /// Where a constant expression made it.
    made_at: *const Location<'static>,
    kind: u8,
}

// SAFETY: the place is in the program for ever, and nobody changes it.
unsafe impl Send for Name {}
// SAFETY: as above, and the number can be shared.
unsafe impl Sync for Name {}

/// What an object with a name is. Zeroed memory is a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    UnsafeCell,
    Mutex,
    RwLock,
    Condvar,
    Once,
    OnceLock,
    LazyLock,
    Notify,
}

impl Kind {
    const ALL: [(Kind, &str); 8] = [
        (Kind::UnsafeCell, "UnsafeCell"),
        (Kind::Mutex, "Mutex"),
        (Kind::RwLock, "RwLock"),
        (Kind::Condvar, "Condvar"),
        (Kind::Once, "Once"),
        (Kind::OnceLock, "OnceLock"),
        (Kind::LazyLock, "LazyLock"),
        (Kind::Notify, "Notify"),
    ];

    fn operations(self) -> ObjectKind {
        match self {
            Kind::Mutex | Kind::RwLock => ObjectKind::Lock,
            Kind::Condvar => ObjectKind::Condvar,
            _ => ObjectKind::Cell,
        }
    }
}

impl Name {
    /// For an object that the running thread makes.
    #[cfg(not(feature = "const-new"))]
    #[track_caller]
    pub(crate) fn new(kind: Kind) -> Name {
        let number = Number::made(super::create_cell(Kind::ALL[kind as usize].1, 0));
        Name { number: ManuallyDrop::new(number), made_at: std::ptr::null(), kind: kind as u8 }
    }

    /// For a constant expression.
    #[track_caller]
    pub(crate) const fn constant(kind: Kind) -> Name {
        let made_at = std::ptr::from_ref(Location::caller());
        Name { number: ManuallyDrop::new(Number::constant(0)), made_at, kind: kind as u8 }
    }

    /// The number.
    #[track_caller]
    #[inline(never)]
    pub(crate) fn get(&self) -> u32 {
        let address = std::ptr::from_ref(self).addr();
        self.number.get(|| self.unnamed(address))
    }

    fn operations(&self) -> ObjectKind {
        Kind::ALL.get(usize::from(self.kind)).map_or(ObjectKind::Cell, |kind| kind.0.operations())
    }

    /// What the object is, if it makes sense.
    #[track_caller]
    fn unnamed(&self, address: usize) -> Unnamed {
        let kind = Kind::ALL.get(usize::from(self.kind)).map(|kind| kind.1);
        let is_new = self.number.own_bits() == Some(0) && (self.made_at.is_null() || is_part_of_program(self.made_at));
        let Some(kind) = kind.filter(|_| is_new) else { fail_on_gone(self.number.address(), kind.unwrap_or("object")) };
        // SAFETY: a place in the program that a constant expression left there, or nothing.
        let made_at = unsafe { self.made_at.as_ref() };
        Unnamed { address, kind, value: 0, made_at }
    }

    /// Where the object's data is: in the object, unless that is a static.
    #[track_caller]
    pub(crate) fn data<T: ?Sized>(&self, own: *mut T) -> *mut T {
        let is_copied = self.number.known().is_none() && is_static(std::ptr::from_ref(self).addr());
        if is_copied { copied(own) } else { own }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.number.end(self.operations());
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}
