//! Channels, as in [`std::sync::mpsc`].
//!
//! A channel is one object: all operations on it are ordered. Its cell counts the messages; when the last sender or the receiver goes, a large number is added,
//! so that whoever waits goes on and looks.

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

use crate::runtime::{Signal, abandon_or, create_cell, happens};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;
use unthread_checker::execution::Waits;
use unthread_checker::program::RmwOp;

/// A channel without a bound.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Shared::new(None);
    (Sender { shared: shared.clone() }, Receiver { shared })
}

/// A channel for so many messages. With a bound of 0, a sender waits until its message has been taken.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let shared = Shared::new(Some(bound));
    (SyncSender { shared: shared.clone() }, Receiver { shared })
}

/// Sends messages.
pub struct Sender<T> {
    shared: Rc<Shared<T>>,
}

/// Sends messages while there is room.
pub struct SyncSender<T> {
    shared: Rc<Shared<T>>,
}

/// Receives messages.
pub struct Receiver<T> {
    shared: Rc<Shared<T>>,
}

struct Shared<T> {
    signal: Signal,
    bound: Option<usize>,
    queue: RefCell<VecDeque<T>>,
    senders: Cell<usize>,
    receives: Cell<bool>,
}

/// More than there are messages.
const CLOSED: i64 = 1 << 40;

// SAFETY: all threads of an execution are coroutines on one OS thread: channels never leave it.
unsafe impl<T: Send> Send for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Sender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for SyncSender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SyncSender<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Receiver<T> {}

impl<T> Shared<T> {
    #[track_caller]
    fn new(bound: Option<usize>) -> Rc<Shared<T>> {
        let (queue, senders, receives) = (RefCell::default(), Cell::new(1), Cell::new(true));
        Rc::new(Shared { signal: Signal::opaque(create_cell("channel", 0)), bound, queue, senders, receives })
    }

    #[track_caller]
    fn close(&self) {
        abandon_or(0, || self.signal.update(RmwOp::Add, CLOSED));
    }

    /// Puts a message into the queue. The operation that makes it known has been performed.
    fn push(&self, message: T) -> Result<(), SendError<T>> {
        if !self.receives.get() {
            return Err(SendError(message));
        }
        self.queue.borrow_mut().push_back(message);
        Ok(())
    }

    #[track_caller]
    fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.bound {
            Some(bound) if bound > 0 => {
                let room = Waits::For("room in a channel".to_string());
                self.signal.update_when_changed(bound as i64, RmwOp::Add, 1, room);
                self.push(message)
            }
            Some(_) => {
                self.signal.update(RmwOp::Add, 1);
                self.push(message)?;
                let taken = Waits::For("its message to be taken".to_string());
                self.signal.update_when_changed(1, RmwOp::Add, 0, taken);
                Ok(())
            }
            None => {
                self.signal.update(RmwOp::Add, 1);
                self.push(message)
            }
        }
    }
}

impl<T> Sender<T> {
    /// Sends a message. It is an error if there is no receiver any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.shared.send(message)
    }
}

impl<T> SyncSender<T> {
    /// Sends a message as soon as there is room. It is an error if there is no receiver any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.shared.send(message)
    }

    /// Sends a message if there is room.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut there = self.shared.signal.update(RmwOp::Add, 0);
        loop {
            if self.shared.bound.is_some_and(|bound| there >= bound as i64 && there < CLOSED / 2) {
                return Err(TrySendError::Full(message));
            }
            match self.shared.signal.exchange(there, there + 1) {
                found if found == there => break,
                found => there = found,
            }
        }
        self.shared.push(message).map_err(|SendError(message)| TrySendError::Disconnected(message))
    }
}

impl<T> Receiver<T> {
    fn take(&self) -> Option<T> {
        self.shared.queue.borrow_mut().pop_front()
    }

    /// Waits for a message. It is an error if there is none and no sender any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        let message = Waits::For("a message".to_string());
        self.shared.signal.update_when_changed(0, RmwOp::Take, 0, message);
        self.take().ok_or(RecvError)
    }

    /// Takes a message if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.shared.signal.update(RmwOp::Take, 0);
        let none = if self.shared.senders.get() == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
        self.take().ok_or(none)
    }

    /// Waits for a message, or gives up: both are tried, whatever the time.
    #[track_caller]
    pub fn recv_timeout(&self, _: Duration) -> Result<T, RecvTimeoutError> {
        if happens(|thread| &thread.timeouts_left) {
            return self.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
        self.shared.signal.update_when_changed(0, RmwOp::Take, 0, Waits::Timed);
        self.take().ok_or(RecvTimeoutError::Disconnected)
    }

    /// The messages, until there is no sender any more.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok())
    }
}

/// The messages of a receiver, until there is no sender any more.
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.set(self.shared.senders.get() + 1);
        Sender { shared: self.shared.clone() }
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> Self {
        self.shared.senders.set(self.shared.senders.get() + 1);
        SyncSender { shared: self.shared.clone() }
    }
}

/// A sender goes: an operation on the channel, as it may be the last one.
#[track_caller]
fn drop_sender<T>(shared: &Shared<T>) {
    abandon_or(0, || shared.signal.update(RmwOp::Add, 0));
    shared.senders.set(shared.senders.get() - 1);
    if shared.senders.get() == 0 {
        shared.close();
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        drop_sender(&self.shared);
    }
}

impl<T> Drop for SyncSender<T> {
    #[track_caller]
    fn drop(&mut self) {
        drop_sender(&self.shared);
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        abandon_or(0, || self.shared.signal.update(RmwOp::Add, CLOSED));
        self.shared.receives.set(false);
        let left = self.shared.queue.take();
        drop(left);
    }
}

macro_rules! debug {
    ($($name:ident)*) => {$(
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

debug! { Sender SyncSender Receiver }
