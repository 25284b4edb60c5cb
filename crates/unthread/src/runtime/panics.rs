//! Panics of the code under test: noted where they happen, and shown only as part of the report.

use super::context::ThreadContext;
use super::current::{Request, suspend, with_current};
use super::execution::Execution;
use super::fiber::{Fiber, Handover};
use super::names::Site;
use super::noise::Window;
use std::any::Any;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::sync::Once;
use unthread_checker::base::{Failure, FailureKind, ThreadKey};

/// What unwinds a thread that nobody waits for any more.
pub(crate) struct Abandoned;

/// A panic of a thread.
#[derive(Clone)]
pub(crate) struct Panicked {
    message: String,
    site: Option<Site>,
}

/// A panic that is left to whoever joins the thread.
#[derive(Clone)]
pub(crate) struct LeftPanic {
    thread: ThreadKey,
    name: String,
    what: Panicked,
}

impl LeftPanic {
    fn new(execution: &Execution, thread: &ThreadContext, what: Panicked) -> LeftPanic {
        let name = execution.names.borrow().thread(thread.key).unwrap_or_default().to_string();
        LeftPanic { thread: thread.key, name, what }
    }

    /// Which thread, and where.
    fn place(&self) -> String {
        let at = self.what.site.as_ref().map_or(String::new(), |site| format!(" at {site}"));
        format!("{} panicked{at}", self.name)
    }

    /// The same, and what it said.
    fn told(&self) -> String {
        format!("{}: {}", self.place(), self.what.message.lines().next().unwrap_or_default())
    }
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
                    thread.quiet.set(Some(Window::open()));
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
        *thread.request.borrow_mut() = Request { site, ..Request::failing(failure) };
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
        drop(thread.quiet.take());
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
        let panicked = noted(thread, payload);
        let site = panicked.site.map(|site| execution.names.borrow_mut().find_or_add(site));
        let site = site.unwrap_or(thread.request.borrow().site);
        let failure = Failure::new(FailureKind::Panic, panicked.message);
        suspend(execution, thread, Request { site, ..Request::failing(failure) });
    });
}

/// The panic by which the running thread has unwound.
fn noted(thread: &ThreadContext, payload: &(dyn Any + Send)) -> Panicked {
    let said = message(payload);
    // The last one that was noted may have been caught long ago.
    let panicked = thread.panicked.take().filter(|panicked| panicked.message == said);
    let panicked = panicked.unwrap_or(Panicked { message: said, site: None });
    match thread.joined.take() {
        // It went on with the panic of another thread.
        Some(cause) if panicked.site.is_none() && panicked.message == cause.what.message => cause.what,
        Some(cause) if OF_OTHERS.iter().any(|end| panicked.message.ends_with(end)) => {
            let message = format!("{}\n{}: {}", cause.what.message, cause.place(), panicked.message);
            Panicked { message, site: panicked.site }
        }
        _ => panicked,
    }
}

/// How panics end that say that another thread has panicked: of `join().unwrap()`, and of a scope.
const OF_OTHERS: [&str; 2] = ["Any { .. }", SCOPED];

/// What a scope says of a thread that nobody joined.
pub(crate) const SCOPED: &str = "a scoped thread panicked";

/// Whether a panic of the running thread is for whoever joins it. Otherwise, it is a failure. That nobody can join it any more is seen in the end: when a handle goes is nothing that
/// others see.
pub(crate) fn is_for_joiner(payload: &(dyn Any + Send)) -> bool {
    let is_wanted =
        |execution: &Execution, _: &ThreadContext| !execution.settings.thread_panics_fail && !execution.abandoned.get();
    !payload.is::<Abandoned>() && with_current(is_wanted).unwrap_or(false)
}

/// Leaves the panic of the running thread to whoever joins it.
pub(crate) fn leave_panic(payload: &(dyn Any + Send)) {
    with_current(|execution, thread| {
        let what = noted(thread, payload);
        let left = LeftPanic::new(execution, thread, what);
        let mut names = execution.names.borrow_mut();
        names.mark_unfit("a thread has panicked");
        names.note_panic(left.told());
        execution.panics.borrow_mut().push(left);
    });
}

/// Somebody has joined a thread. Says whether that one has panicked and nobody has handled it yet.
pub(crate) fn take(joined: ThreadKey) -> bool {
    let taken = with_current(|execution, thread| {
        let mut panics = execution.panics.borrow_mut();
        let at = panics.iter().position(|left| left.thread == joined)?;
        *thread.joined.borrow_mut() = Some(panics.remove(at));
        Some(())
    });
    taken.flatten().is_some()
}

/// Does something while it is known that the running thread has panicked.
pub(crate) fn while_known<R>(f: impl FnOnce() -> R) -> R {
    let key = with_current(|execution, thread| {
        let what = thread.panicked.borrow().clone()?;
        execution.panics.borrow_mut().push(LeftPanic::new(execution, thread, what));
        Some(thread.key)
    });
    let result = f();
    if let Some(key) = key.flatten() {
        with_current(|execution, _| execution.panics.borrow_mut().retain(|left| left.thread != key));
    }
    result
}

impl Execution {
    /// A panic that nobody has handled when all is over.
    pub(super) fn unhandled(&self) -> Option<Failure> {
        let panics = self.panics.borrow();
        let left = panics.first()?;
        let message = format!("{}\n{}, and nobody joined it", left.what.message, left.place());
        Some(Failure::new(FailureKind::Panic, message))
    }

    /// Panics that nobody has handled so far.
    pub(super) fn panics_so_far(&self) -> Option<String> {
        let panics = self.panics.borrow();
        let told = panics.iter().map(LeftPanic::told);
        (!panics.is_empty()).then(|| told.collect::<Vec<_>>().join("; "))
    }
}

/// What a panic says.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_string())
}
