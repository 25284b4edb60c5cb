//! Futures: run one to its end, wake tasks, spawn tasks.

use crate::runtime::{Signal, create_cell, happens};
use crate::sync::Mutex;
use crate::thread;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use unthread_checker::execution::Waits;
use unthread_checker::program::RmwOp;

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

/// Runs a future in a thread of its own.
#[track_caller]
pub fn spawn<F>(future: F) -> thread::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    thread::spawn(|| block_on(future))
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
        crate::runtime::abandon_or(0, || self.0.update(RmwOp::Swap, 1));
    }
}

/// Holds the waker of one task, which others can wake.
#[derive(Debug, Default)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// No task.
    #[track_caller]
    pub fn new() -> AtomicWaker {
        AtomicWaker::default()
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
