//! Panics of the code under test: noted where they happen, and shown only as part of the report.

use super::current::{Request, suspend, with_current};
use super::execution::ThreadContext;
use super::names::Site;
use std::any::Any;
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
            let inside = with_current(|_, thread| {
                let site = info.location().map(|at| Site {
                    file: at.file().to_string(),
                    line: at.line(),
                    column: at.column(),
                });
                *thread.panicked.borrow_mut() = Some(Panicked { message: message(info.payload()), site });
            });
            if inside.is_none() {
                previous(info);
            }
        }));
    });
}

/// The thread has unwound because of a panic: tells the machine, which will not let it go on.
pub(crate) fn fail(thread: &ThreadContext, payload: &(dyn Any + Send)) {
    let panicked = thread.panicked.borrow_mut().take();
    let panicked = panicked.unwrap_or_else(|| Panicked { message: message(payload), site: None });
    with_current(|execution, thread| {
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
