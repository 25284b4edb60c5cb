//! One execution of the code under test: its threads' stacks, and what is dropped when it ends.

use super::context::ThreadContext;
use super::current::Entered;
use super::fiber::Fiber;
use super::leave::Left;
use super::lifetimes::Lifetimes;
use super::meetings::{Meetings, Visits};
use super::names::Names;
use super::noise::Window;
use super::panics::LeftPanic;
use super::places::Blocks;
use super::windows::Windows;
use super::{Beat, Request, leave, name, panics};
use rustc_hash::{FxHashMap, FxHashSet};
use std::any::Any;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use unthread_checker::base::{Failure, FailureKind, ThreadKey};
use unthread_checker::execution::{Buffers, Operation};

/// One execution.
pub(crate) struct Execution {
    /// Different from those of all other executions that objects can come from, and not 0.
    pub(crate) number: u32,
    pub(crate) names: Rc<RefCell<Names>>,
    pub(crate) buffers: Buffers,
    pub(crate) settings: Settings,
    pub(crate) counting: Arc<Counting>,
    pub(crate) beat: Arc<Beat>,
    #[expect(clippy::vec_box, reason = "the addresses of contexts must not change when there are more")]
    pub(crate) threads: RefCell<Vec<Box<ThreadContext>>>,
    /// Nobody is interested in it any more: threads unwind, and what they do on the way happens at once.
    pub(crate) abandoned: Cell<bool>,
    /// Operations since it was abandoned.
    pub(crate) stragglers: Cell<u32>,
    /// Values of atomics that somebody has exclusive access to, by the number of their cells.
    pub(crate) lent: RefCell<FxHashMap<u32, Rc<UnsafeCell<u64>>>>,
    /// The last value that was stored to each cell, by whichever thread.
    pub(crate) mirror: RefCell<Vec<i64>>,
    /// Memory that shows values of atomics.
    pub(crate) windows: Windows,
    /// The memory of its threads.
    pub(crate) blocks: Blocks,
    /// What has been dropped.
    pub(crate) lifetimes: Lifetimes,
    /// Cells that nobody who has used them first has made.
    pub(crate) found: RefCell<FxHashSet<u32>>,
    /// Cells of statics that have been made in this execution.
    pub(crate) static_cells: RefCell<Vec<u32>>,
    /// Values of lazy statics and copies of the data of others, by the address of the static.
    pub(crate) lazies: RefCell<Vec<(usize, Rc<dyn Any>)>>,
    /// Locks that have been poisoned. Whoever takes one later knows; until then there is nothing to read.
    pub(crate) poisoned: RefCell<Vec<u32>>,
    /// The machine's counts of the references to shared values, strong and weak, by the value's address.
    pub(crate) counts: RefCell<FxHashMap<usize, [u32; 2]>>,
    /// References that have been taken.
    pub(crate) n_references: Cell<u32>,
    /// Locks whose holders have begun to change what they protect.
    pub(crate) n_changing: Cell<u32>,
    pub(super) visits: Visits,
    /// Operations so far.
    n_operations: Cell<u32>,
    /// Where it is: operations that came to nothing do not count.
    moment: Cell<u64>,
    /// How often each place was come to since there have been many.
    late_places: RefCell<FxHashMap<u32, u32>>,
    /// Panics that nobody has handled yet.
    pub(super) panics: RefCell<Vec<LeftPanic>>,
    /// What must be gone in the end, by a number of its own, and where it was made.
    pub(crate) must_go: RefCell<FxHashMap<usize, (&'static str, u32)>>,
}

/// How the code under test is run.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    /// How often each thread may be woken without a reason.
    pub(crate) wakeups: u32,
    /// How often weak compare-exchanges of each thread may fail without a reason.
    pub(crate) failures: u32,
    /// How often waits of each thread may time out while others can go on.
    pub(crate) timeouts: u32,
    /// How many turns that are alike a loop takes before it waits for others. Unless said otherwise, that depends on its stack.
    pub(crate) turns: Option<u32>,
    /// The least size of each thread's stack, in bytes.
    pub(crate) stack: usize,
    /// A thread that holds a lock for reading may take it again, whoever waits to write.
    pub(crate) recursive_reads: bool,
    /// A panic of a thread is a failure, whoever may join it.
    pub(crate) thread_panics_fail: bool,
    /// Threads must come to their ends when the main thread has.
    pub(crate) all_threads_end: bool,
    /// What is checked is what the language promises, and not a machine.
    pub(crate) language: bool,
}

/// What became of loops that count their turns, in all executions of a check, and whether its threads met.
#[derive(Default)]
pub(crate) struct Counting {
    /// A loop took a turn that changed nothing but the stack.
    pub(crate) some: AtomicBool,
    /// A loop took many of them in a row.
    pub(crate) many: AtomicBool,
    /// A loop would have taken more turns than it may.
    pub(crate) cut: AtomicBool,
    /// A thread waited for some time that could not time out any more while others could go on.
    pub(crate) few_timeouts: AtomicBool,
    pub(crate) meetings: Meetings,
}

/// An execution with more operations than these is watched for loops.
const MANY_OPERATIONS: u32 = 2000;

impl Counting {
    pub(super) fn note_few_timeouts(&self) {
        self.few_timeouts.store(true, Relaxed);
    }
}

impl Execution {
    pub(crate) fn new(
        names: Rc<RefCell<Names>>,
        buffers: Buffers,
        settings: Settings,
        counting: Arc<Counting>,
        beat: Arc<Beat>,
    ) -> Rc<Execution> {
        static EXECUTIONS: AtomicU32 = AtomicU32::new(0);
        Rc::new(Execution {
            number: EXECUTIONS.fetch_add(1, Relaxed) % (name::EXECUTIONS - 1) + 1,
            names,
            buffers,
            settings,
            counting,
            beat,
            threads: RefCell::default(),
            abandoned: Cell::new(false),
            stragglers: Cell::new(0),
            lent: RefCell::default(),
            mirror: RefCell::default(),
            windows: Windows::default(),
            blocks: Blocks::default(),
            lifetimes: Lifetimes::default(),
            found: RefCell::default(),
            static_cells: RefCell::default(),
            poisoned: RefCell::default(),
            lazies: RefCell::default(),
            counts: RefCell::default(),
            n_references: Cell::new(0),
            n_changing: Cell::new(0),
            visits: Visits::default(),
            n_operations: Cell::new(0),
            moment: Cell::new(0),
            late_places: RefCell::default(),
            panics: RefCell::default(),
            must_go: RefCell::default(),
        })
    }

    /// Adds a thread that has not begun, with so many bytes of stack or more. Gives its index.
    pub(crate) fn add_thread(
        &self,
        key: ThreadKey,
        name: Option<String>,
        stack: usize,
        body: Box<dyn FnOnce()>,
    ) -> usize {
        let mut threads = self.threads.borrow_mut();
        let index = threads.len();
        let shown = name.clone().unwrap_or_else(|| format!("thread {index}"));
        self.names.borrow_mut().note_thread(key, shown);
        let context = Box::new(ThreadContext::new(key, index, name, self.settings));
        // SAFETY: contexts are boxed and live as long as the execution, which unwinds or leaks every fiber before it goes.
        let this: &'static ThreadContext = unsafe { NonNull::from(&*context).as_ref() };
        let fiber = Fiber::new(stack.max(self.settings.stack), move |handover| this.run(handover, body));
        context.stack.set(fiber.stack);
        self.lifetimes.note_stack_used(fiber.stack);
        *context.fiber.borrow_mut() = Some(fiber);
        threads.push(context);
        index
    }

    /// A thread. The reference is good for as long as the execution is.
    pub(crate) fn thread(&self, index: usize) -> &ThreadContext {
        let threads = self.threads.borrow();
        // SAFETY: contexts are boxed and never removed, so the address stays good while `self` is borrowed.
        unsafe { NonNull::from(&*threads[index]).as_ref() }
    }

    /// What people call a thread.
    pub(crate) fn name_of(&self, thread: &ThreadContext) -> String {
        thread.name.clone().unwrap_or_else(|| format!("thread {}", thread.index))
    }

    /// Runs a thread to its next operation.
    pub(crate) fn resume(&self, index: usize, result: i64) {
        let thread = self.thread(index);
        let mut fiber = thread.fiber.borrow_mut();
        let Some(running) = fiber.as_mut() else { return };
        if self.run(index, running, result) {
            let (site, through) = (thread.request.borrow().site, thread.take_through());
            *thread.request.borrow_mut() = Request { site, through, ..Request::of(Operation::End) };
            thread.ended.set(true);
            self.lifetimes.note_stack_gone(thread.stack.take());
        }
    }

    /// Runs a thread on its stack until it hands over. Says whether it has come to its end.
    fn run(&self, index: usize, fiber: &mut Fiber, result: i64) -> bool {
        let thread = self.thread(index);
        let _entered = Entered::new(self, thread);
        self.beat.enter(index, thread.last.get());
        thread.runs.set(true);
        let ended = fiber.resume(result);
        thread.runs.set(false);
        self.beat.leave();
        if let Some(cut) = leave::settle(self, thread, index) {
            fiber.forget();
            resume_unwind(Box::new(cut));
        }
        ended
    }

    /// Operations so far.
    pub(super) fn operations(&self) -> u64 {
        self.n_operations.get().into()
    }

    /// Where the execution is: a number that it has never had, or had when it was there before.
    pub(super) fn moment(&self) -> u64 {
        self.moment.get()
    }

    /// The execution is where it was at that moment.
    pub(super) fn set_moment(&self, moment: u64) {
        self.moment.set(moment);
    }

    /// Notes that an operation has been performed at a place.
    pub(super) fn count_operation(&self, site: u32) {
        self.n_operations.set(self.n_operations.get() + 1);
        self.moment.set(self.operations());
        if self.n_operations.get() > MANY_OPERATIONS {
            *self.late_places.borrow_mut().entry(site).or_default() += 1;
        }
    }

    /// Where a long execution goes round in circles, if anywhere: the place, and how often it came to it.
    fn busiest_place(&self) -> Option<(u32, u32)> {
        self.late_places.borrow().iter().map(|(&site, &times)| (times, site)).max()
    }

    /// Drops what statics hold, and says what is still there. The values in memory are given.
    pub(crate) fn left_behind(&self, cells: &[i64]) -> Option<Failure> {
        self.abandoned.set(true);
        // Stores may have arrived in another order than threads made them.
        *self.mirror.borrow_mut() = cells.to_vec();
        if let Err(payload) = self.drop_lazies() {
            let message = format!("a static is dropped: {}", panics::message(&*payload));
            return Some(Failure::new(FailureKind::Panic, message));
        }
        let (left, counts) = (self.must_go.borrow(), self.counts.borrow());
        let mut left: Vec<_> =
            left.iter().map(|(at, &(kind, site))| (kind, site, counts.get(at).map(|counts| counts[0]))).collect();
        left.sort_unstable();
        let &(kind, site, object) = left.first()?;
        let names = self.names.borrow();
        let place = names.get_site(site).map_or(String::new(), |site| format!(", made at {site}"));
        let kind = object.map_or(kind.to_string(), |object| format!("`{}`", names.object_name(object)));
        let message = match left.len() {
            1 => format!("{kind}{place}, is leaked"),
            n => format!("{n} objects are leaked, among them {kind}{place}"),
        };
        Some(Failure::new(FailureKind::Leak, message))
    }

    fn drop_lazies(&self) -> Result<(), Box<dyn Any + Send>> {
        let threads = self.threads.borrow();
        let Some(main) = threads.first() else { return Ok(()) };
        let _entered = Entered::new(self, main);
        let next = || self.lazies.borrow_mut().pop();
        while let Some(lazy) = next() {
            catch_unwind(AssertUnwindSafe(|| drop(lazy)))?;
        }
        Ok(())
    }

    /// Unwinds every thread that has not ended, or leaves everything as it is where that is not safe.
    pub(crate) fn abandon(&self) {
        self.abandoned.set(true);
        if let Some((times, site)) = self.busiest_place() {
            self.names.borrow_mut().note_busy(times, site);
        }
        let is_safe = self.n_changing.get() == 0
            && !self.lifetimes.is_broken()
            && !self.is_cut()
            && !self.hangs()
            && !self.names.borrow().destructors_panic;
        if !is_safe || !self.unwind_quietly() {
            self.forget();
        }
        if self.is_stopped() {
            panics::settle();
        }
    }

    /// Unwinds threads. What destructors print on the way is nobody's business.
    fn unwind_quietly(&self) -> bool {
        let has_ended = |thread: &ThreadContext| thread.fiber.borrow().as_ref().is_none_or(Fiber::has_ended);
        if self.threads.borrow().iter().all(|thread| has_ended(thread)) {
            return self.unwind();
        }
        let window = Window::open();
        let unwound = self.unwind();
        window.close_quietly();
        unwound
    }

    /// Unwinds threads, the youngest first, as it may borrow from those that made it, and drops what statics hold. Says whether that could be done.
    fn unwind(&self) -> bool {
        let n_threads = self.threads.borrow().len();
        for index in (0..n_threads).rev() {
            let thread = self.thread(index);
            let mut fiber = thread.fiber.borrow_mut();
            let Some(running) = fiber.as_mut().filter(|fiber| !fiber.has_ended()) else { continue };
            let ended = !running.has_begun() || self.run(index, running, 0);
            if thread.stays.get() {
                return false;
            }
            if thread.stopped.get() {
                self.names.borrow_mut().destructors_panic = true;
                return false;
            }
            if !ended {
                running.leak();
            }
            let _entered = Entered::new(self, thread);
            // Nobody is interested in what goes wrong now.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(fiber.take())));
        }
        let _ = self.drop_lazies();
        true
    }

    /// Whether some thread has been left where going on would have ended the process.
    fn is_stopped(&self) -> bool {
        self.threads.borrow().iter().any(|thread| thread.stopped.get())
    }

    /// Whether some thread could have gone on, or must not.
    fn is_cut(&self) -> bool {
        self.threads.borrow().iter().any(|thread| {
            let runs = |fiber: &Fiber| fiber.has_begun() && !fiber.has_ended();
            let may_wait = thread.request.borrow().may_wait() && !thread.stopped.get();
            thread.fiber.borrow().as_ref().is_some_and(runs) && !may_wait
        })
    }

    /// Whether a thread hangs. The check is over, and time is up: unwinding the others takes too long.
    fn hangs(&self) -> bool {
        self.threads.borrow().iter().any(|thread| matches!(thread.left.get(), Some(Left::Hung)))
    }

    /// Drops nothing of what threads and statics own. Somebody was half way through a change: destructors may find that it does not make sense, and
    /// one that panics while its thread unwinds would end the process.
    fn forget(&self) {
        for thread in self.threads.borrow().iter() {
            if let Some(mut fiber) = thread.fiber.borrow_mut().take() {
                fiber.forget();
            }
            std::mem::forget(thread.locals.take());
        }
        std::mem::forget(self.lazies.take());
    }
}
