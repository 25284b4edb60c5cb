//! Panics of the code under test: noted where they happen, and shown only as part of the report.

use super::context::ThreadContext;
use super::current::{Request, suspend, with_current};
use super::execution::Execution;
use super::fiber::{Fiber, Handover};
use super::names::Site;
use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;
use unthread_checker::execution::{Failure, FailureKind, Operation};

/// What unwinds a thread that nobody waits for any more.
pub(crate) struct Abandoned;

/// A panic of a thread.
pub(crate) struct Panicked {
    message: String,
    site: Option<Site>,
}

/// From now on panics inside executions are noted instead of printed.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let inside = with_current(|execution, thread| {
                let site = info.location().map(|at| Site {
                    file: at.file().to_string(),
                    line: at.line(),
                    column: at.column(),
                });
                let panicked = Panicked { message: message(info.payload()), site };
                if ends_process(info) && thread.runs.get() {
                    return prepare_to_stop(execution, thread, panicked);
                }
                *thread.panicked_before.borrow_mut() = thread.panicked.replace(Some(panicked));
            });
            if inside.is_none() {
                previous(info);
            }
        }));
        #[cfg(unix)]
        catch_abort();
    });
}

/// Whether the process ends when the hook returns: a destructor panics while its thread unwinds, or a panic has come to a function that cannot unwind.
/// Only the debug form of the information says so.
fn ends_process(info: &PanicHookInfo<'_>) -> bool {
    format!("{info:?}").contains("can_unwind: false")
}

/// The process is about to be ended. If somebody is interested in the execution, this is what is wrong with it.
fn prepare_to_stop(execution: &Execution, thread: &ThreadContext, last: Panicked) {
    thread.stopped.set(true);
    if !execution.abandoned.get() {
        let panicked = what_led_to(thread, last);
        let site = panicked.site.map(|site| execution.names.borrow_mut().find_or_add(site));
        let site = site.unwrap_or(thread.request.borrow().site);
        let failure = Failure::new(FailureKind::Panic, panicked.message);
        *thread.request.borrow_mut() = Request { site, ..Request::of(Operation::Fail(failure)) };
    }
}

/// What the code under test does that calls `abort`.
const ABORTS: &str = "the process is aborted";

/// From now on a thread that would end the process, by a panic or by itself, is left where it is, with nothing of the standard library locked.
#[cfg(unix)]
fn catch_abort() {
    let handler: extern "C" fn(libc::c_int) = on_abort;
    // SAFETY: zeroes are an action without a mask. The signal is one that a thread sends to itself, when it calls `abort`, so the handler may do what any function may.
    // It is not held back while the handler runs, which need not return.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_NODEFER;
        libc::sigaction(libc::SIGABRT, &action, std::ptr::null_mut());
    }
}

#[cfg(unix)]
extern "C" fn on_abort(signal: libc::c_int) {
    let handover = with_current(|execution, thread| {
        let handover = thread.handover.get().filter(|_| thread.runs.get())?;
        if !thread.stopped.get() {
            prepare_to_stop(execution, thread, Panicked { message: ABORTS.to_string(), site: None });
        }
        Some(handover)
    });
    let Some(Some(handover)) = handover else {
        // SAFETY: as if there had been no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        return;
    };
    loop {
        // SAFETY: the handover lives at the bottom of the stack on which this runs.
        unsafe { handover.as_ref() }.suspend(());
    }
}

/// The panics that led to the one which ends the process, as one.
fn what_led_to(thread: &ThreadContext, last: Panicked) -> Panicked {
    match (thread.panicked_before.take(), thread.panicked.take()) {
        (Some(first), Some(second)) if last.message.contains("destructor") => {
            let message =
                format!("{}\na destructor panics while the thread unwinds: {}", first.message, second.message);
            Panicked { message, site: first.site }
        }
        (_, Some(only)) if last.message == ABORTS || last.message.contains("cannot unwind") => {
            Panicked { message: format!("{}\n{}", only.message, last.message), ..only }
        }
        _ => last,
    }
}

/// The standard library counts the panics of each OS thread that have not been caught yet, and those of a thread that was left where it was never will be.
/// They are made up for by others that are caught here, but counted elsewhere.
pub(crate) fn settle() {
    while std::thread::panicking() {
        let Ok(mut elsewhere) = std::thread::spawn(|| {
            let mut fiber = Fiber::new(0, |handover| {
                let _ = catch_unwind(AssertUnwindSafe(|| {
                    let _pause = Pause(handover);
                    resume_unwind(Box::new(Abandoned));
                }));
            });
            fiber.resume(0);
            Carried(fiber)
        })
        .join() else {
            return;
        };
        elsewhere.go_on();
    }
}

/// Hands over when it is dropped.
struct Pause<'h>(&'h Handover);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.suspend(());
    }
}

/// A stack that goes on on another OS thread.
struct Carried(Fiber);

// SAFETY: what is on the stack belongs to no OS thread: a panic that has been counted, and where it is caught.
unsafe impl Send for Carried {}

impl Carried {
    fn go_on(&mut self) {
        self.0.resume(0);
    }
}

/// The running thread has unwound because of a panic: tells the machine, which will not let it go on. Only when the execution is abandoned does this unwind.
pub(crate) fn fail(payload: &(dyn Any + Send)) {
    if payload.is::<Abandoned>() {
        return;
    }
    with_current(|execution, thread| {
        let panicked = thread.panicked.borrow_mut().take();
        let panicked = panicked.unwrap_or_else(|| Panicked { message: message(payload), site: None });
        let site = panicked.site.map(|site| execution.names.borrow_mut().find_or_add(site));
        let site = site.unwrap_or(thread.request.borrow().site);
        let failure = Failure::new(FailureKind::Panic, panicked.message);
        suspend(execution, thread, Request { site, ..Request::of(Operation::Fail(failure)) });
    });
}

/// What a panic says.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_string())
}
