//! Threads of the code under test, as in [`std::thread`].

mod local;
mod scoped;

pub use crate::lazy_static::AccessError;
pub use local::LocalKey;
pub use scoped::{Scope, ScopedJoinHandle, scope};
pub use std::thread::Result;

use crate::runtime;
use crate::runtime::{
    Here, Request, Signal, begins_to_wait, create_cell, forget_block, happens, note_block, perform, request,
    with_thread,
};
use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::Duration;
use std::{fmt, io};
use unthread_checker::base::{Loc, ThreadKey};
use unthread_checker::execution::{Operation, Waits};
use unthread_checker::program::{Ordering, RmwOp};

/// Runs a closure in a new thread. That it can be sent there is not asked, as in loom: all threads of an execution are on one of the operating system's.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    spawn_built(Builder::new(), Box::new(f))
}

/// Where a thread leaves what its closure returned, or what it panicked with.
type Packet<T> = Rc<RefCell<Option<Result<T>>>>;

/// A way to wait for a thread.
pub struct JoinHandle<T> {
    thread: Thread,
    packet: Packet<T>,
}

// SAFETY: all threads of an execution are coroutines on one OS thread: handles never leave it.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

/// A thread, to be named or woken.
#[derive(Clone)]
pub struct Thread {
    key: ThreadKey,
    token: u32,
    name: Option<std::sync::Arc<str>>,
}

/// A thread's number: different from those of all other threads of its execution, and the same in all executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(ThreadKey);

/// Makes threads with names or large stacks.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: usize,
}

impl Builder {
    /// A thread without a name.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Gives the thread a name, which reports show.
    pub fn name(self, name: String) -> Builder {
        Builder { name: Some(name), ..self }
    }

    /// The thread's stack has at least so many words, as loom counts them. All stacks have 2 MiB or more.
    pub fn stack_size(self, size: usize) -> Builder {
        Builder { stack_size: size, ..self }
    }

    /// Runs a closure in a new thread. Never fails.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        Ok(spawn_built(self, Box::new(f)))
    }

    /// Runs a closure in a new thread, which may borrow. Never fails.
    ///
    /// # Safety
    /// The thread is joined before anything goes that its closure borrows.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        Ok(spawn_built(self, Box::new(f)))
    }

    /// Runs a closure in a new thread of a scope. Never fails.
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.spawn_built(self, f))
    }
}

#[track_caller]
fn spawn_built<'f, T: 'f>(builder: Builder, f: Box<dyn FnOnce() -> T + 'f>) -> JoinHandle<T> {
    let Builder { name, stack_size } = builder;
    let packet: Packet<T> = Rc::default();
    let result = packet.clone();
    // What the closure has moved into it may be used where it is.
    let captured = std::ptr::from_ref(&*f).addr();
    let size = size_of_val(&*f);
    note_block(captured, size);
    let body: Box<dyn FnOnce() + 'f> = Box::new(move || {
        let outcome = catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
            if !runtime::is_for_joiner(&*payload) {
                resume_unwind(payload);
            }
            runtime::leave_panic(&*payload);
            payload
        });
        forget_block(captured);
        *result.borrow_mut() = Some(outcome);
    });
    // SAFETY: closures that borrow come from `scope`, which waits for their threads; abandoned threads are unwound, youngest
    // first, before what they borrow goes.
    let body: Box<dyn FnOnce()> = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'f>, Box<dyn FnOnce()>>(body) };
    let token = create_cell("park token", 0);
    let shown = name.clone().map(Into::into);
    let key = with_thread(|execution, thread| {
        let nth = thread.n_forks.get();
        thread.n_forks.set(nth + 1);
        let key = thread.key.child(nth).expect("threads are not spawned by threads five deep");
        let index = execution.add_thread(key, name, stack_size.saturating_mul(size_of::<usize>()), body);
        execution.thread(index).token.set(Some(token));
        execution.thread(index).captured.set((captured, captured + size));
        execution.names.borrow_mut().note_owner(token, key);
        thread.child.set(Some(index));
        key
    });
    perform(Operation::Fork { child: key });
    JoinHandle { thread: Thread { key, token, name: shown }, packet }
}

impl<T> JoinHandle<T> {
    /// Waits until the thread has ended, and gives what it returned, or what it panicked with. Whoever gets that has handled it: a panic fails the check if nobody does, if whoever
    /// joins the thread panics, too, or if [`thread_panics_fail`](crate::model::Builder::thread_panics_fail) says so.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.thread.wait_for_end(size_of::<T>());
        self.thread.take_panic();
        let value = self.packet.borrow_mut().take();
        value.unwrap_or_else(|| Err(Box::new("the thread has not come to its end")))
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Whether the thread has ended. Threads that poll this had better say so with [`yield_now`].
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        perform(Operation::HasEnded { thread: self.thread.key }) != 0
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Numbers from here on are those of what threads return.
const RETURNED: usize = 1 << 41;

impl Thread {
    /// Takes note that the thread has been joined. Says whether it has panicked and nobody has handled that.
    pub(crate) fn take_panic(&self) -> bool {
        runtime::take_panic(self.key)
    }

    /// Waits until the thread has ended, and sees so many bytes of what it has done.
    #[track_caller]
    fn wait_for_end(&self, size: usize) {
        let returned = (size > 0).then(|| Loc::global(RETURNED + self.token as usize));
        request(Request::on(returned, Operation::Join { thread: self.key }));
    }

    /// The thread's number.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.key)
    }

    /// The thread's name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Lets the thread's next [`park`] return, or the present one.
    #[track_caller]
    pub fn unpark(&self) {
        Signal::flag(self.token).update(RmwOp::Swap, 1, Ordering::Release);
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread").field("id", &self.id()).field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The running thread.
#[track_caller]
pub fn current() -> Thread {
    let (key, token, name) = with_thread(|_, thread| {
        // The main thread was given no name; it has one in reports.
        let given = thread.name.as_deref().filter(|_| thread.key != ThreadKey::initial(0));
        (thread.key, thread.token.get(), given.map(Into::into))
    });
    Thread { key, token: token.unwrap_or_else(main_token), name }
}

/// The main thread's token is made when it is first needed.
#[track_caller]
fn main_token() -> u32 {
    let token = create_cell("park token", 0);
    with_thread(|execution, thread| {
        thread.token.set(Some(token));
        execution.names.borrow_mut().note_owner(token, thread.key);
    });
    token
}

/// Waits until somebody calls [`Thread::unpark`], or goes on at once if somebody has.
#[track_caller]
pub fn park() {
    let token = Signal::flag(current().token);
    token.update_when_changed(0, RmwOp::Swap, 0, Waits::For("someone to unpark it".to_string()));
}

/// Like [`park`], but it may give up, as [`Condvar::wait_timeout`](crate::sync::Condvar::wait_timeout) does.
#[track_caller]
#[inline(always)]
pub fn park_timeout(_: Duration) {
    park_for_some_time(&Here::now());
}

#[track_caller]
fn park_for_some_time(here: &Here) {
    let token = Signal::flag(current().token);
    if begins_to_wait(here) && happens(|thread| &thread.timeouts_left) {
        token.update(RmwOp::Swap, 0, Ordering::Acquire);
    } else {
        token.update_when_changed(0, RmwOp::Swap, 0, Waits::Timed);
    }
}

/// Says that the thread waits for others. In a loop that does nothing but read, the thread goes on when something has changed.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    runtime::spin_hint(&Here::now());
}

/// Time is not checked: any thread may come in between, as anywhere.
#[track_caller]
#[inline(always)]
pub fn sleep(_: Duration) {
    runtime::spin_hint(&Here::now());
}

/// Whether the running thread unwinds: because of a panic, or because its execution is given up.
pub fn panicking() -> bool {
    runtime::is_panicking() || runtime::unwinds()
}

/// Always 2: whatever the machine has, checks behave alike.
pub fn available_parallelism() -> io::Result<NonZeroUsize> {
    Ok(NonZeroUsize::MIN.saturating_add(1))
}
