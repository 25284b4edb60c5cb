//! The running thread, and how it asks the machine for something.

use super::context::{Since, ThreadContext};
use super::execution::Execution;
use super::leave::{Left, RESERVE, leave};
use super::names::Description;
use super::panics::Abandoned;
use super::patience::Again;
use std::cell::Cell;
use std::panic::{Location, resume_unwind};
use std::ptr::NonNull;
use unthread_checker::base::{Failure, Loc, ThreadKey};
use unthread_checker::execution::{Operation, Poll, Waits};
use unthread_checker::program::RmwOp;

std::thread_local! {
    static CURRENT: Cell<Option<(NonNull<Execution>, NonNull<ThreadContext>)>> = const { Cell::new(None) };
}

/// What a thread wants of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    /// Where it stands.
    pub(crate) site: u32,
    /// It waits until one of these cells shows another value.
    pub(crate) awaiting: Vec<(Loc, i64)>,
    /// Or until somebody else has accessed one of these, which it has written so often.
    pub(crate) unseen: Vec<(Loc, u32)>,
    /// Or until one of these has come about.
    pub(crate) polls: Vec<Poll>,
    pub(crate) waits: Waits,
    /// It waits for some time where it has done so before.
    pub(crate) again: Option<Again>,
    /// What is wrong, in words, where it is a failure.
    pub(crate) message: String,
    /// The object that it is an operation on, if only the code under test knows what is in it.
    pub(crate) object: Option<Loc>,
    /// The block of memory that the object is in, if the program's allocator told about it.
    pub(crate) part_of: Option<Loc>,
    /// The handles by which it comes to the object, and the blocks that they are in.
    pub(crate) through: Vec<Loc>,
}

/// A thread runs while this lives.
pub(crate) struct Entered {
    before: Option<(NonNull<Execution>, NonNull<ThreadContext>)>,
}

/// Addresses are larger.
const SMALL: u64 = 1 << 16;

/// Operations of an abandoned execution after which a thread is taken to be stuck in a destructor.
const MOST_STRAGGLERS: u32 = 100_000;

impl Request {
    pub(crate) fn of(operation: Operation) -> Request {
        let (awaiting, unseen, polls, through) = Default::default();
        let (site, waits, object, part_of) = (0, Waits::Forever, None, None);
        let (message, again) = Default::default();
        Request { operation, site, awaiting, unseen, polls, waits, again, message, object, part_of, through }
    }

    /// Something is wrong.
    pub(crate) fn failing(failure: Failure) -> Request {
        Request { message: failure.message, ..Request::of(Operation::Fail(failure.kind)) }
    }

    /// Whether it may have to wait for others.
    pub(super) fn may_wait(&self) -> bool {
        let waits = matches!(
            self.operation,
            Operation::Lock { .. }
                | Operation::Reacquire { .. }
                | Operation::Join { .. }
                | Operation::Fail(_)
                | Operation::Stop
                | Operation::End
        );
        waits || !self.awaiting.is_empty() || !self.polls.is_empty()
    }

    /// Whether the thread has given up waiting for some time, as it had that result.
    fn has_given_up(&self, result: i64) -> bool {
        self.waits == Waits::Timed
            && match self.operation {
                Operation::Reacquire { .. } => result != 0,
                _ => self.awaiting.iter().any(|awaited| awaited.1 == result),
            }
    }

    /// An operation on an object whose contents only the code under test knows.
    pub(crate) fn on(object: Option<Loc>, operation: Operation) -> Request {
        Request { object, ..Request::of(operation) }
    }
}

impl Entered {
    pub(crate) fn new(execution: &Execution, thread: &ThreadContext) -> Entered {
        Entered { before: CURRENT.replace(Some((NonNull::from(execution), NonNull::from(thread)))) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Whether what is checked is what the language promises.
pub(crate) fn has_language() -> bool {
    with_current(|execution, _| execution.settings.language).unwrap_or(false)
}

/// Whether code under test is running.
pub(crate) fn in_execution() -> bool {
    CURRENT.get().is_some()
}

/// The running thread, if there is one: for handlers of signals.
#[cfg(unix)]
pub(super) fn peek<'t>() -> Option<(&'t Execution, &'t ThreadContext)> {
    let (execution, thread) = CURRENT.get()?;
    // SAFETY: the pointers are set while `Execution::resume` borrows both, and a handler returns, or leaves the thread, before they are taken back.
    Some(unsafe { (execution.as_ref(), thread.as_ref()) })
}

/// Does something with the running thread, if there is one.
pub(crate) fn with_current<R>(f: impl FnOnce(&Execution, &ThreadContext) -> R) -> Option<R> {
    let (execution, thread) = CURRENT.get()?;
    // SAFETY: the pointers are set while `Execution::resume` borrows both, and taken back before it returns.
    let (execution, thread) = unsafe { (execution.as_ref(), thread.as_ref()) };
    let mark = 0u8;
    if thread.calls.get() == 0 && thread.runs.get() && thread.stack.get().is_short_of(RESERVE, (&raw const mark).addr())
    {
        leave(thread, Left::Overflowed);
    }
    let _call = Call::new(&thread.calls);
    Some(f(execution, thread))
}

/// A thread is in a call into this module while this lives: what it allocates is not its own.
struct Call<'t>(&'t Cell<u32>);

impl Call<'_> {
    fn new(calls: &Cell<u32>) -> Call<'_> {
        calls.set(calls.get() + 1);
        Call(calls)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Does something with the running thread.
#[track_caller]
pub(crate) fn with_thread<R>(f: impl FnOnce(&Execution, &ThreadContext) -> R) -> R {
    match with_current(f) {
        Some(result) => result,
        None => panic!("types of unthread can be used inside of `unthread::model` only"),
    }
}

/// Does something with the running execution.
#[track_caller]
pub(crate) fn with_execution<R>(f: impl FnOnce(&Execution) -> R) -> R {
    with_thread(|execution, _| f(execution))
}

/// Whether the running thread unwinds. Others may do so at the same time on the same OS thread.
pub(crate) fn is_panicking() -> bool {
    std::thread::panicking() && with_current(|_, thread| thread.panicked.borrow().is_some()).unwrap_or(true)
}

/// Whether the running thread unwinds because its execution is abandoned.
pub(crate) fn unwinds() -> bool {
    with_current(|_, thread| thread.unwinds.get()).unwrap_or(false)
}

/// A name for a new object.
#[track_caller]
pub(crate) fn new_object(kind: &'static str) -> u32 {
    let location = Location::caller();
    with_thread(|execution, thread| {
        let mut names = execution.names.borrow_mut();
        let description = Description { kind, made_at: names.site(location), first: 0 };
        if let Some(naming) = thread.naming.get() {
            thread.naming.set(Some(Naming { n_objects: naming.n_objects + 1, ..naming }));
            return names.made_by(named_after(naming.lazy), naming.n_objects, description);
        }
        let nth = thread.n_objects.get();
        thread.n_objects.set(nth + 1);
        names.made_by(thread.key, nth, description)
    })
}

/// Keys that no thread has.
pub(super) fn named_after(lazy: u32) -> ThreadKey {
    ThreadKey(u64::MAX - u64::from(lazy))
}

/// What is made now is named after a static.
#[derive(Clone, Copy)]
pub(crate) struct Naming {
    pub(crate) lazy: u32,
    n_objects: u32,
    /// The operations and the depth of the stack when it began.
    pub(crate) operations: u32,
    pub(crate) depth: usize,
}

/// Names what is made after a static.
pub(crate) fn naming<T>(address: usize, make: impl FnOnce() -> T) -> T {
    let mark = 0u8;
    let before = with_thread(|execution, thread| {
        let lazy = execution.names.borrow_mut().lazy(address);
        let operations = thread.allocations.operations();
        let depth = thread.stack.get().top.wrapping_sub((&raw const mark).addr());
        thread.naming.replace(Some(Naming { lazy, n_objects: 0, operations, depth }))
    });
    let value = make();
    with_thread(|_, thread| thread.naming.set(before));
    value
}

/// A new cell with a value.
#[track_caller]
pub(crate) fn create_cell(kind: &'static str, value: i64) -> u32 {
    let object = new_object(kind);
    defer_cell(object, value);
    object
}

/// A cell that has been there before gets a value: whoever uses it first has not made it.
#[track_caller]
pub(crate) fn find_cell(object: u32, value: i64) {
    with_execution(|execution| execution.found.borrow_mut().insert(object));
    defer_cell(object, value);
}

/// A cell that has a name already gets its first value.
#[track_caller]
pub(crate) fn defer_cell(object: u32, value: i64) {
    with_thread(|execution, thread| {
        thread.new_cells.borrow_mut().push((Loc::global(object as usize), value));
        if may_be_address(value) {
            execution.names.borrow_mut().mark_unfit("an atomic holds what may be an address");
        }
        remember(execution, object as usize, value);
    });
}

/// Performs an operation and gives its result.
#[track_caller]
pub(crate) fn perform(operation: Operation) -> i64 {
    request(Request::of(operation))
}

/// Asks the machine. In an abandoned execution, threads unwind instead.
#[track_caller]
pub(crate) fn request(mut asked: Request) -> i64 {
    let location = Location::caller();
    let settle = with_thread(|execution, thread| (thread.has_pointers(), execution.windows.any()));
    if settle.0 {
        crate::cell::touch_pointed();
    }
    if settle.1 {
        super::windows::store_changes();
    }
    with_thread(|execution, thread| {
        if execution.abandoned.get() {
            return straggle(execution, thread, &asked.operation);
        }
        let site = execution.names.borrow_mut().site_of_others(location);
        if site.is_some() {
            thread.last.set(Some(location));
        }
        asked.site = site.unwrap_or(thread.request.borrow().site);
        thread.last_site.set(asked.site);
        asked.part_of = thread.used_block.take().map(|block| Loc::global(block as usize));
        asked.through = thread.take_through();
        suspend(execution, thread, asked)
    })
}

/// Whether operations are to be performed: code under test is running, and somebody is interested.
pub(crate) fn is_live() -> bool {
    with_current(|execution, _| !execution.abandoned.get()).unwrap_or(false)
}

/// What a type does when its execution is abandoned, or else does not.
pub(crate) fn abandon_or<R>(abandoned: R, f: impl FnOnce() -> R) -> R {
    if is_live() { f() } else { abandoned }
}

/// Hands over to the machine until it has performed the request.
pub(crate) fn suspend(execution: &Execution, thread: &ThreadContext, asked: Request) -> i64 {
    let (operation, mark) = (asked.operation, 0u8);
    thread.lowest.set((&raw const mark).addr());
    thread.allocations.next();
    *thread.request.borrow_mut() = asked;
    let handover = thread.handover.get().expect("only a thread that has begun asks for something");
    // SAFETY: the handover lives at the bottom of the stack on which this runs.
    let result = unsafe { handover.as_ref() }.suspend(());
    if execution.abandoned.get() {
        return straggle(execution, thread, &operation);
    }
    result
}

/// An operation of an abandoned execution: the thread unwinds, or does it at once if it already unwinds. A static's destructor does not run on the thread's stack, and does it at once, too.
fn straggle(execution: &Execution, thread: &ThreadContext, operation: &Operation) -> i64 {
    if thread.runs.get() && !thread.unwinds.get() && !is_panicking() && !thread.ended.get() {
        if is_in_destructor(execution, thread) {
            // What the destructor has not done yet would never be done, and others rely on it: a node in a list that leads to this stack.
            thread.stays.set(true);
            thread.stay();
        }
        thread.unwinds.set(true);
        resume_unwind(Box::new(Abandoned));
    }
    execution.stragglers.set(execution.stragglers.get() + 1);
    if execution.stragglers.get() > MOST_STRAGGLERS && thread.runs.get() {
        // It waits for something in a destructor, for ever.
        thread.stay();
    }
    let Some(index) = operation.loc().and_then(Loc::as_global) else { return 1 };
    let mut mirror = execution.mirror.borrow_mut();
    if mirror.len() <= index {
        mirror.resize(index + 1, 0);
    }
    let old = mirror[index];
    mirror[index] = after(operation, old);
    if stores(operation, old) {
        execution.windows.show(index, mirror[index]);
    }
    old
}

/// Whether the running thread is in the middle of a destructor. That takes some time to find out, so it is remembered for each place and depth of the stack.
fn is_in_destructor(execution: &Execution, thread: &ThreadContext) -> bool {
    let mark = 0u8;
    let depth = thread.stack.get().top.wrapping_sub((&raw const mark).addr());
    let key = (thread.last_site.get(), depth);
    let known = execution.names.borrow().destructors.get(&key).copied();
    known.unwrap_or_else(|| {
        let is_in_one = super::backtrace::is_in_destructor();
        execution.names.borrow_mut().destructors.insert(key, is_in_one);
        is_in_one
    })
}

/// The value that an operation leaves.
pub(super) fn after(operation: &Operation, old: i64) -> i64 {
    match *operation {
        Operation::Write { value, .. } => value,
        Operation::Rmw { op, operand, .. } => op.apply(old, operand),
        Operation::Cas { expected, desired, .. } if old == expected => desired,
        Operation::Count { by, .. } => old + by,
        _ => old,
    }
}

/// Whether the operation cannot be told from a read where it leaves the value that it finds: `swap(true)` of a lock that is taken, `swap(null)` of an empty list.
/// Objects whose contents only the code under test knows are counted up and down, and every operation on them counts. A large operand may be an
/// address: whether it is the one that was there before can change from run to run.
pub(super) fn may_be_silent(operation: &Operation) -> bool {
    let Operation::Rmw { op, operand, .. } = operation else { return false };
    !matches!(op, RmwOp::Add | RmwOp::Sub | RmwOp::Take | RmwOp::Draw) && operand.unsigned_abs() < SMALL
}

fn remember(execution: &Execution, index: usize, value: i64) {
    let mut mirror = execution.mirror.borrow_mut();
    if mirror.len() <= index {
        mirror.resize(index + 1, 0);
    }
    mirror[index] = value;
}

/// Memory shows a value that is not the one that was stored last.
pub(super) fn show(execution: &Execution, cell: Loc, value: i64) {
    if let Some(index) = cell.as_global() {
        remember(execution, index, value);
        execution.windows.show(index, value);
    }
}

/// Notes what came of a thread's operation: for destructors of abandoned executions, and for spin hints.
pub(super) fn note(execution: &Execution, thread: &ThreadContext, request: &Request, result: i64) {
    let operation = &request.operation;
    let (moment, before) = (execution.moment(), execution.operations());
    execution.count_operation(request.site);
    thread.patience.borrow_mut().note(operation, result, request.has_given_up(result), moment, before);
    execution.counting.meetings.note(&execution.visits, thread.key, operation);
    let looks = matches!(operation, Operation::Read { .. } | Operation::Touch { .. } | Operation::Yield);
    for access in thread.open_accesses.borrow_mut().iter_mut() {
        access.since = if looks && access.since != Since::Acted { Since::Looked } else { Since::Acted };
    }
    thread.spin.borrow_mut().note(operation, result);
    if let Some(index) = operation.loc().and_then(Loc::as_global)
        && !matches!(operation, Operation::Touch { .. })
    {
        let left = after(operation, result);
        if request.object.is_none() && (may_be_address(left) || may_be_address(result)) {
            execution.names.borrow_mut().mark_unfit("an atomic holds what may be an address");
        }
        if stores(operation, result) {
            remember(execution, index, left);
            execution.windows.show(index, left);
        }
    }
}

/// Whether the operation, which had that result, left a value.
fn stores(operation: &Operation, result: i64) -> bool {
    match *operation {
        Operation::Write { .. } | Operation::Rmw { .. } | Operation::Count { .. } => true,
        Operation::Cas { expected, .. } => result == expected,
        _ => false,
    }
}

/// Whether a number may be an address, or an address with marks in it: it is large, and neither a few bits nor all but a few. Statics, whose
/// addresses may look like that, have the same in every execution.
fn may_be_address(number: i64) -> bool {
    number.unsigned_abs() >= SMALL && (4..=60).contains(&number.count_ones())
}

/// Whether something happens that need not: at most as often as allowed in each thread.
#[track_caller]
pub(crate) fn happens(left: impl Fn(&ThreadContext) -> &Cell<u32>) -> bool {
    let may = with_thread(|_, thread| left(thread).get() > 0) && abandon_or(false, || true);
    if !may || perform(Operation::Choose { low: 0, high: 2 }) == 0 {
        return false;
    }
    with_thread(|_, thread| left(thread).set(left(thread).get() - 1));
    true
}
