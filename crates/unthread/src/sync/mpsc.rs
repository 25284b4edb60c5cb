//! Channels, as in [`std::sync::mpsc`].
//!
//! A channel is one object: all operations on it are ordered. Its cell counts the messages; when the last sender or the receiver goes, a large number is added,
//! so that whoever waits goes on and looks.
//!
//! Where there is no room for messages, a sender waits until its own has been taken: each has a flag for that. A receiver that waits says so in the cell, as
//! that is when a sender can succeed that does not want to wait.

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};

mod channel;

use crate::runtime::Here;
pub(crate) use channel::in_words;
use channel::{Handle, Shared};
use std::fmt;
use std::time::Duration;
use unthread_checker::execution::Waits;

/// A channel without a bound.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = Shared::new(None);
    (Sender { channel: Handle::new(shared.clone()) }, Receiver { channel: Handle::new(shared) })
}

/// A channel for so many messages. With a bound of 0, a sender waits until its message has been taken.
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let shared = Shared::new(Some(bound));
    (SyncSender { channel: Handle::new(shared.clone()) }, Receiver { channel: Handle::new(shared) })
}

/// Sends messages.
pub struct Sender<T> {
    channel: Handle<T>,
}

/// Sends messages while there is room.
pub struct SyncSender<T> {
    channel: Handle<T>,
}

/// Receives messages.
pub struct Receiver<T> {
    channel: Handle<T>,
}

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

impl<T> Sender<T> {
    /// Sends a message. It is an error if there is no receiver any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.channel.with(|shared| shared.send(message))
    }
}

impl<T> SyncSender<T> {
    /// Sends a message as soon as there is room. It is an error if there is no receiver any more.
    #[track_caller]
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.channel.with(|shared| shared.send(message))
    }

    /// Sends a message if there is room, or if the receiver waits for one.
    #[track_caller]
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.channel.with(|shared| shared.try_send(message))
    }
}

impl<T> Receiver<T> {
    /// Waits for a message. It is an error if there is none and no sender any more.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        self.channel.with(|shared| {
            shared.wait(Waits::For("a message".to_string()));
            shared.take().ok_or(RecvError)
        })
    }

    /// Takes a message if there is one.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.channel.with(Shared::try_recv)
    }

    /// Waits for a message, or gives up, as [`Condvar::wait_timeout`](crate::sync::Condvar::wait_timeout) does.
    #[track_caller]
    #[inline(always)]
    pub fn recv_timeout(&self, _: Duration) -> Result<T, RecvTimeoutError> {
        self.receive_for_some_time(&Here::now())
    }

    #[track_caller]
    fn receive_for_some_time(&self, here: &Here) -> Result<T, RecvTimeoutError> {
        self.channel.with(|shared| shared.recv_timeout(here))
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
    #[track_caller]
    fn clone(&self) -> Self {
        Sender { channel: self.channel.another_sender() }
    }
}

impl<T> Clone for SyncSender<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        SyncSender { channel: self.channel.another_sender() }
    }
}

impl<T> Drop for Sender<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.channel.with(Shared::drop_sender);
    }
}

impl<T> Drop for SyncSender<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.channel.with(Shared::drop_sender);
    }
}

impl<T> Drop for Receiver<T> {
    #[track_caller]
    fn drop(&mut self) {
        self.channel.with(Shared::drop_receiver);
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
