//! A channel, and the handles by which threads use it.

use super::{RecvTimeoutError, SendError, TryRecvError, TrySendError};
use crate::runtime::{Here, Seal, Signal, abandon_or, begins_to_wait, create_cell, happens, has_language, is_live};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use unthread_checker::execution::Waits;
use unthread_checker::program::{Ordering, RmwOp};

/// One end of a channel. It may be used by raw pointer when it is gone: what it points to is not followed before it is known to be there.
pub(super) struct Handle<T> {
    seal: Seal,
    shared: ManuallyDrop<Rc<Shared<T>>>,
}

impl<T> Handle<T> {
    #[track_caller]
    pub(super) fn new(shared: Rc<Shared<T>>) -> Handle<T> {
        Handle { seal: Seal::of(Rc::as_ptr(&shared)), shared: ManuallyDrop::new(shared) }
    }

    /// Does something with the channel. The handle must be there before and after.
    #[track_caller]
    pub(super) fn with<R>(&self, f: impl FnOnce(&Shared<T>) -> R) -> R {
        self.check();
        let shared = Rc::clone(&self.shared);
        let result = f(&shared);
        if is_live() {
            self.seal.check_again(Rc::as_ptr(&self.shared), "end of a channel");
        }
        result
    }

    #[track_caller]
    pub(super) fn another_sender(&self) -> Handle<T> {
        self.check();
        self.shared.senders.set(self.shared.senders.get() + 1);
        Handle::new(Rc::clone(&self.shared))
    }

    #[track_caller]
    fn check(&self) {
        self.seal.check(Rc::as_ptr(&self.shared), "end of a channel");
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        self.seal.end();
        // SAFETY: this is the end of the handle.
        drop(unsafe { ManuallyDrop::take(&mut self.shared) });
    }
}

/// A message on its way.
enum Message<T> {
    Sent(T),
    /// Its sender waits until it has been taken, or never will be. Nothing once it has been taken.
    Offered(Rc<RefCell<Option<T>>>, Signal),
}

pub(super) struct Shared<T> {
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

/// An operation on a channel's cell, as what it does to the channel.
pub(crate) fn in_words(op: RmwOp, operand: i64, found: i64, name: &str) -> String {
    let (before, after) = (contents(found), contents(op.apply(found, operand)));
    let what = match (op, operand) {
        (RmwOp::Take, _) => "receive from",
        (_, 0) => "look at",
        (_, 1) => "send to",
        (RmwOp::Add, WAITING) => "wait at",
        (RmwOp::Sub, WAITING) => "wait no more at",
        _ => "close",
    };
    match before == after {
        true => format!("{what} {name}: {before}"),
        false => format!("{what} {name}: {before} → {after}"),
    }
}

/// What a channel's cell says. Who receives from one that is closed and empty takes one off.
fn contents(cell: i64) -> String {
    let closed = (cell + CLOSED / 2) / CLOSED;
    let messages = (cell - closed * CLOSED).max(0) % WAITING;
    let messages = match messages {
        0 => "empty".to_string(),
        1 => "1 message".to_string(),
        n => format!("{n} messages"),
    };
    if closed > 0 { format!("{messages}, closed") } else { messages }
}

impl<T> Shared<T> {
    #[track_caller]
    pub(super) fn new(bound: Option<usize>) -> Rc<Shared<T>> {
        let (queue, senders, receives) = (RefCell::default(), Cell::new(1), Cell::new(true));
        Rc::new(Shared { signal: Signal::opaque(create_cell("channel", 0)), bound, queue, senders, receives })
    }

    #[track_caller]
    fn close(&self) {
        abandon_or(0, || self.signal.update(RmwOp::Add, CLOSED, Ordering::Release));
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
    pub(super) fn take(&self) -> Option<T> {
        let next = self.queue.borrow_mut().pop_front();
        match next? {
            Message::Sent(message) => Some(message),
            Message::Offered(offer, settled) => {
                let message = offer.borrow_mut().take();
                settled.update(RmwOp::Swap, 1, Ordering::Release);
                message
            }
        }
    }

    /// Sends a message to a receiver that takes it while this waits.
    #[track_caller]
    fn offer(&self, message: T) -> Result<(), SendError<T>> {
        let settled = Signal::flag(create_cell("message", 0));
        self.signal.update(RmwOp::Add, 1, Ordering::Release);
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
    pub(super) fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.bound {
            Some(bound) if bound > 0 => {
                let room = Waits::For("room in a channel".to_string());
                self.signal.update_when_changed(bound as i64, RmwOp::Add, 1, room);
                self.push(message)
            }
            Some(_) => self.offer(message),
            None => {
                self.signal.update(RmwOp::Add, 1, Ordering::Release);
                self.push(message)
            }
        }
    }

    #[track_caller]
    pub(super) fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut there = self.signal.update(RmwOp::Add, 0, Ordering::Relaxed);
        loop {
            let is_full = match self.bound {
                Some(0) => there != WAITING,
                bound => bound.is_some_and(|bound| there >= bound as i64),
            };
            if is_full && there < CLOSED / 2 {
                return Err(TrySendError::Full(message));
            }
            match self.signal.exchange(there, there + 1, [Ordering::Release, Ordering::Relaxed]) {
                found if found == there => break,
                found => there = found,
            }
        }
        self.push(message).map_err(|SendError(message)| TrySendError::Disconnected(message))
    }

    /// Waits until there is a message, or no sender any more, and says that the message is taken.
    #[track_caller]
    pub(super) fn wait(&self, waits: Waits) -> i64 {
        let signal = self.signal;
        if self.bound == Some(0) {
            signal.update(RmwOp::Add, WAITING, Ordering::Relaxed);
            signal.update_when_changed(WAITING, RmwOp::Sub, WAITING, waits);
            signal.update(RmwOp::Take, 0, Ordering::Acquire)
        } else {
            signal.update_when_changed(0, RmwOp::Take, 0, waits)
        }
    }

    /// Takes a message if there is one.
    #[track_caller]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        let found = self.signal.update(RmwOp::Take, 0, Ordering::Acquire);
        self.taken(found)
    }

    /// The message that was taken, or why there is none.
    #[track_caller]
    fn taken(&self, found: i64) -> Result<T, TryRecvError> {
        let none = if self.senders.get() == 0 { TryRecvError::Disconnected } else { TryRecvError::Empty };
        if found == 0 && none == TryRecvError::Disconnected && has_language() {
            // The last sender is about to close the channel. Who is told of that comes after it.
            self.signal.update_when_changed(0, RmwOp::Take, 0, Waits::Forever);
        }
        self.take().ok_or(none)
    }

    #[track_caller]
    pub(super) fn recv_timeout(&self, here: &Here) -> Result<T, RecvTimeoutError> {
        let found = if !(begins_to_wait(here) && happens(|thread| &thread.timeouts_left)) {
            self.wait(Waits::Timed)
        } else {
            if self.bound == Some(0) {
                self.signal.update(RmwOp::Add, WAITING, Ordering::Relaxed);
                self.signal.update(RmwOp::Sub, WAITING, Ordering::Relaxed);
            }
            self.signal.update(RmwOp::Take, 0, Ordering::Acquire)
        };
        self.taken(found).map_err(|error| match error {
            TryRecvError::Empty => RecvTimeoutError::Timeout,
            TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
        })
    }

    /// A sender goes: an operation on the channel, as it may be the last one.
    #[track_caller]
    pub(super) fn drop_sender(&self) {
        abandon_or(0, || self.signal.update(RmwOp::Add, 0, Ordering::Release));
        self.senders.set(self.senders.get() - 1);
        if self.senders.get() == 0 {
            self.close();
        }
    }

    /// The receiver goes, and all messages with it.
    #[track_caller]
    pub(super) fn drop_receiver(&self) {
        abandon_or(0, || self.signal.update(RmwOp::Add, CLOSED, Ordering::Release));
        self.receives.set(false);
        for message in self.queue.take() {
            // The thread that waits for it to be taken gets it back.
            if let Message::Offered(_, settled) = message {
                abandon_or(0, || settled.update(RmwOp::Swap, 1, Ordering::Release));
            }
        }
    }
}
