//! Futures: run one to its end, wake tasks, spawn tasks.

use crate::runtime::{Signal, create_cell, happens, is_for_joiner};
use crate::sync::Mutex;
use crate::thread;
use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use unthread_checker::execution::Waits;
use unthread_checker::program::{Ordering, RmwOp};

/// Runs a future to its end in this thread. It may be polled although nobody has woken its task, as often as
/// [`spurious_wakeups`](crate::model::Builder::spurious_wakeups) says.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Arc::new(Woken(Signal::flag(create_cell("waker", 0))));
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
        if happens(|thread| &thread.wakeups_left) {
            continue;
        }
        woken.0.update_when_changed(0, RmwOp::Swap, 0, Waits::For("its waker to be woken".to_string()));
    }
}

/// Runs a future in a thread of its own. The handle is a future for what comes of it.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let signal = Signal::opaque(create_cell("task", 0));
    let end = Rc::new(End { signal, result: RefCell::default(), waker: RefCell::default() });
    let of_task = end.clone();
    let thread = thread::spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| block_on(future)));
        let is_over = outcome.as_ref().map_or_else(|payload| is_for_joiner(&**payload), |_| true);
        let (result, payload) = outcome.map_or_else(|payload| (None, Some(payload)), |result| (Some(result), None));
        if is_over {
            *of_task.result.borrow_mut() = result;
            of_task.signal.update(RmwOp::Swap, 1, Ordering::AcqRel);
            of_task.waker.take().into_iter().for_each(Waker::wake);
        }
        if let Some(payload) = payload {
            resume_unwind(payload);
        }
    });
    JoinHandle { thread, end }
}

/// A spawned future: can be awaited, or waited for.
pub struct JoinHandle<T> {
    thread: thread::JoinHandle<()>,
    end: Rc<End<T>>,
}

/// The end of a task: what came of it, and who is to be woken then.
struct End<T> {
    signal: Signal,
    result: RefCell<Option<T>>,
    waker: RefCell<Option<Waker>>,
}

/// A task has panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinError;

impl std::fmt::Display for JoinError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the task has panicked")
    }
}

impl std::error::Error for JoinError {}

// SAFETY: all threads of an execution are coroutines on one OS thread: handles never leave it.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Waits until the task has ended, and gives what came of it.
    #[track_caller]
    pub fn join(self) -> thread::Result<T> {
        self.thread.join()?;
        let result = self.end.result.borrow_mut().take();
        result.ok_or_else(|| Box::new(JoinError) as Box<dyn std::any::Any + Send>)
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// The task's thread.
    pub fn thread(&self) -> &thread::Thread {
        self.thread.thread()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.end.signal.update(RmwOp::Add, 0, Ordering::AcqRel) == 0 {
            *self.end.waker.borrow_mut() = Some(context.waker().clone());
            return Poll::Pending;
        }
        let result = self.end.result.borrow_mut().take();
        Poll::Ready(result.ok_or_else(|| {
            self.thread.thread().take_panic();
            JoinError
        }))
    }
}

impl<T> std::fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Lets other tasks go first, once.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A task's flag.
struct Woken(Signal);

impl Wake for Woken {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        crate::runtime::abandon_or(0, || self.0.update(RmwOp::Swap, 1, Ordering::Release));
    }
}

/// Holds the waker of one task, which others can wake.
#[derive(Debug)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    constructors! {
        /// No task.
        new() -> AtomicWaker { AtomicWaker { waker: Mutex::new(None) } } const { AtomicWaker { waker: Mutex::const_new(None) } }
    }

    /// Remembers a task's waker instead of the one from before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        let before = self.waker.lock().ok().and_then(|mut slot| slot.replace(waker));
        drop(before);
    }

    /// Remembers a copy of a task's waker instead of the one from before.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        self.register(waker.clone());
    }

    /// Wakes the task.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes the waker without waking the task.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.waker.lock().ok().and_then(|mut slot| slot.take())
    }
}

impl Default for AtomicWaker {
    #[track_caller]
    fn default() -> Self {
        AtomicWaker::new()
    }
}
