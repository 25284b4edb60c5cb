//! Channels, as in [`std::sync::mpsc`].
//!
//! A channel is one object: all operations on it are ordered. Its cell counts the messages; when the last sender or the receiver goes, a large number is added,
//! so that whoever waits goes on and looks.
//!
//! Where there is no room for messages, a sender waits until its own has been taken: each has a flag for that. A receiver that waits says so in the cell, as
//! that is when a sender can succeed that does not want to wait.

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

/// A message on its way.
enum Message<T> {
    Sent(T),
    /// Its sender waits until it has been taken, or never will be. Nothing once it has been taken.
    Offered(Rc<RefCell<Option<T>>>, Signal),
}

struct Shared<T> {
    signal: Signal,
    bound: Option<usize>,
    queue: RefCell<VecDeque<Message<T>>>,
    senders: Cell<usize>,
    receives: Cell<bool>,
}

/// More than there are messages: the receiver of a channel without room waits.
const WAITING: i64 = 1 << 32;

/// More than that.
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
        self.queue.borrow_mut().push_back(Message::Sent(message));
        Ok(())
    }

    /// Takes the next message out of the queue. The operation that says so has been performed.
    #[track_caller]
    fn take(&self) -> Option<T> {
        let next = self.queue.borrow_mut().pop_front();
        match next? {
            Message::Sent(message) => Some(message),
            Message::Offered(offer, settled) => {
                let message = offer.borrow_mut().take();
                settled.update(RmwOp::Swap, 1);
                message
            }
        }
    }

    /// Sends a message to a receiver that takes it while this waits.
    #[track_caller]
    fn offer(&self, message: T) -> Result<(), SendError<T>> {
        let settled = Signal::flag(create_cell("message", 0));
        self.signal.update(RmwOp::Add, 1);
        if !self.receives.get() {
            return Err(SendError(message));
        }
        let offer = Rc::new(RefCell::new(Some(message)));
        self.queue.borrow_mut().push_back(Message::Offered(offer.clone(), settled));
        let taken = Waits::For("its message to be taken".to_string());
        settled.update_when_changed(0, RmwOp::Add, 0, taken);
        let left = offer.borrow_mut().take();
        left.map_or(Ok(()), |message| Err(SendError(message)))
    }

    #[track_caller]
    fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.bound {
            Some(bound) if bound > 0 => {
                let room = Waits::For("room in a channel".to_string());
                self.signal.update_when_changed(bound as i64, RmwOp::Add, 1, room);
                self.push(message)
            }
            Some(_) => self.offer(message),
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

    /// Sends a message if there is room, or if the receiver waits for one.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut there = self.shared.signal.update(RmwOp::Add, 0);
        loop {
            let is_full = match self.shared.bound {
                Some(0) => there != WAITING,
                bound => bound.is_some_and(|bound| there >= bound as i64),
            };
            if is_full && there < CLOSED / 2 {
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
    /// Waits for a message. It is an error if there is none and no sender any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.wait(Waits::For("a message".to_string()));
        self.shared.take().ok_or(RecvError)
    }

    /// Waits until there is a message, or no sender any more, and says that the message is taken.
    #[track_caller]
    fn wait(&self, waits: Waits) {
        let signal = self.shared.signal;
        if self.shared.bound == Some(0) {
            signal.update(RmwOp::Add, WAITING);
            signal.update_when_changed(WAITING, RmwOp::Sub, WAITING, waits);
            signal.update(RmwOp::Take, 0);
        } else {
            signal.update_when_changed(0, RmwOp::Take, 0, waits);
        }
    }

    /// Takes a message if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.shared.signal.update(RmwOp::Take, 0);
        let none = if self.shared.senders.get() == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
        self.shared.take().ok_or(none)
    }

    /// Waits for a message, or gives up: both are tried, whatever the time.
    #[track_caller]
    pub fn recv_timeout(&self, _: Duration) -> Result<T, RecvTimeoutError> {
        if happens(|thread| &thread.timeouts_left) {
            if self.shared.bound == Some(0) {
                self.shared.signal.update(RmwOp::Add, WAITING);
                self.shared.signal.update(RmwOp::Sub, WAITING);
            }
            return self.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
        }
        self.wait(Waits::Timed);
        self.shared.take().ok_or(RecvTimeoutError::Disconnected)
    }

    /// The messages, until there is no sender any more.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { receiver: self }
    }

    /// The messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { receiver: self }
    }
}

/// The messages of a receiver, until there is no sender any more.
#[derive(Debug)]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// The messages of a receiver that are there.
#[derive(Debug)]
pub struct TryIter<'a, T> {
    receiver: &'a Receiver<T>,
}

/// The messages of a receiver, until there is no sender any more.
#[derive(Debug)]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
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
        for message in self.shared.queue.take() {
            // Who waits for it to be taken gets it back.
            if let Message::Offered(_, settled) = message {
                abandon_or(0, || settled.update(RmwOp::Swap, 1));
            }
        }
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
