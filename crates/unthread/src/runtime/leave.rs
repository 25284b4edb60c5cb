//! Leaves a thread of the code under test in the middle of whatever it does, for good: when it hangs, when its stack is used up, and when it accesses memory that is not
//! there.
//!
//! What it holds (locks, memory) is never given back.

use super::context::ThreadContext;
use super::current::{Request, peek};
use super::execution::Execution;
use super::watchdog::Cut;
use unthread_checker::base::{Failure, FailureKind};

#[cfg(unix)]
pub(super) use unix::{OsThread, end_process, install, write};

#[cfg(not(unix))]
pub(super) use elsewhere::{OsThread, end_process, install, write};

/// Why a thread was left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// It did not come to its next operation.
    Hung,
    /// Its stack is used up.
    Overflowed,
    /// It accessed memory that is not there.
    Faulted,
}

/// What must be left of a stack for calls into this crate: in the middle of one, a thread cannot be left.
pub(super) const RESERVE: usize = 96 * 1024;

/// Leaves the running thread.
pub(super) fn leave(thread: &ThreadContext, why: Left) -> ! {
    thread.left.set(Some(why));
    thread.stopped.set(true);
    thread.stay()
}

/// A thread has handed over. If it has been left, says so to the machine. Says whether the check ends here.
pub(super) fn settle(execution: &Execution, thread: &ThreadContext, index: usize) -> Option<Cut> {
    let name = || thread.name.clone().unwrap_or_else(|| format!("thread {index}"));
    match thread.left.get() {
        Some(Left::Hung) => {
            execution.abandoned.set(true);
            return Some(Cut::Hang(execution.beat.verdict(&name())));
        }
        None if execution.beat.is_late() && !execution.abandoned.get() && !thread.ended.get() => {
            thread.stopped.set(true);
            execution.abandoned.set(true);
            return Some(Cut::Late);
        }
        Some(Left::Overflowed) if !execution.abandoned.get() => {
            let failure = Failure::new(FailureKind::OutOfResources, overflow(&name(), thread.stack.get().size()));
            let site = thread.request.borrow().site;
            *thread.request.borrow_mut() = Request { site, ..Request::failing(failure) };
        }
        Some(Left::Faulted) => {
            execution.lifetimes.mark_broken();
            if !execution.abandoned.get() {
                let failure = Failure::new(FailureKind::InvalidPointer, fault(&name()));
                let site = thread.request.borrow().site;
                *thread.request.borrow_mut() = Request { site, ..Request::failing(failure) };
            }
        }
        _ => {}
    }
    None
}

fn fault(name: &str) -> String {
    format!(
        "{name} accesses memory that is not there, after its operation here: a pointer is null, or leads to what is gone"
    )
}

fn overflow(name: &str, size: usize) -> String {
    format!(
        "the stack of {name} overflows, after its operation here: it has {} KiB. If the thread does not call itself without end, raise `stack_size` of \
         `unthread::model::Builder`, or of `unthread::thread::Builder` for one thread",
        size / 1024
    )
}

#[cfg(unix)]
mod unix {
    use super::{Left, ThreadContext, leave, overflow, peek};
    use std::cell::Cell;
    use std::mem::zeroed;
    use std::ptr::{null, null_mut};
    use std::sync::OnceLock;

    /// Interrupts a thread of the operating system. It is ignored where nobody waits for it.
    const WAKE: libc::c_int = libc::SIGURG;

    /// Faults, with what happened before on one.
    static FAULTS: OnceLock<[(libc::c_int, libc::sigaction); 2]> = OnceLock::new();

    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

    /// Room for a handler when there is none left on the stack.
    const ALTERNATE_STACK: usize = 64 * 1024;

    std::thread_local! {
        static IS_INSTALLED: Cell<bool> = const { Cell::new(false) };
    }

    /// A thread of the operating system.
    pub(in super::super) struct OsThread(libc::pthread_t);

    // SAFETY: it is the name of a thread, for those who want to wake it.
    unsafe impl Send for OsThread {}

    impl OsThread {
        pub(in super::super) fn current() -> OsThread {
            // SAFETY: there is always a current thread.
            OsThread(unsafe { libc::pthread_self() })
        }

        /// Interrupts the thread, which must be alive.
        pub(in super::super) fn wake(&self) {
            // SAFETY: a check that is in the list has not ended, so its thread is there.
            unsafe { libc::pthread_kill(self.0, WAKE) };
        }
    }

    /// From now on threads that run on this thread of the operating system can be left.
    pub(in super::super) fn install() {
        if IS_INSTALLED.replace(true) {
            return;
        }
        FAULTS.get_or_init(|| {
            handle(WAKE, on_wake, libc::SA_RESTART);
            [libc::SIGSEGV, libc::SIGBUS].map(|signal| (signal, handle(signal, on_fault, libc::SA_ONSTACK)))
        });
        // SAFETY: the stack is never given back. Where there is one already, it stays.
        unsafe {
            let mut stack: libc::stack_t = zeroed();
            if libc::sigaltstack(null(), &mut stack) == 0 && stack.ss_flags & libc::SS_DISABLE != 0 {
                let memory = Box::leak(vec![0u8; ALTERNATE_STACK].into_boxed_slice());
                stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: ALTERNATE_STACK };
                libc::sigaltstack(&stack, null_mut());
            }
        }
    }

    /// Sets the handler of a signal, which is not held back while it runs: it need not return. Gives the one before.
    fn handle(signal: libc::c_int, handler: Handler, flags: libc::c_int) -> libc::sigaction {
        // SAFETY: zeroes are an action without a mask, and the handlers are functions of the right kind.
        unsafe {
            let (mut action, mut before): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = flags | libc::SA_SIGINFO | libc::SA_NODEFER;
            libc::sigaction(signal, &action, &mut before);
            before
        }
    }

    /// The watchdog has had enough of the thread that runs.
    extern "C" fn on_wake(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some((execution, thread)) = peek() else { return };
        let mark = 0u8;
        let is_on_its_stack = thread.stack.get().contains((&raw const mark).addr());
        if thread.runs.get()
            && thread.calls.get() == 0
            && is_on_its_stack
            && execution.beat.is_over(is_in_program(context))
        {
            leave(thread, Left::Hung);
        }
    }

    extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system gives the handler what it is declared with.
        let address = unsafe { (*info).si_addr() }.addr();
        let running = peek().map(|(_, thread)| thread).filter(|thread| thread.runs.get());
        // A function of the system may hold a lock.
        let can_be_left = |thread: &ThreadContext| thread.calls.get() == 0 && is_in_program(context);
        if let Some(thread) = running.filter(|thread| !thread.stack.get().guards(address) && can_be_left(thread)) {
            leave(thread, Left::Faulted);
        }
        if let Some(thread) = running.filter(|thread| thread.stack.get().guards(address)) {
            if can_be_left(thread) {
                leave(thread, Left::Overflowed);
            }
            let name = thread.name.as_deref().unwrap_or("a thread");
            write(&format!("{}\n", overflow(name, thread.stack.get().size())));
        }
        // It happens again, as if there had been no handler.
        let before = FAULTS.get().and_then(|faults| faults.iter().find(|fault| fault.0 == signal));
        // SAFETY: what was in place before is put back.
        unsafe {
            match before {
                Some((_, before)) => libc::sigaction(signal, before, null_mut()),
                None => libc::signal(signal, libc::SIG_DFL) as libc::c_int,
            };
        }
    }

    /// Whether the program's own code was interrupted, not that of a library of the system, such as an allocator that holds its lock.
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn is_in_program(context: *mut libc::c_void) -> bool {
        unsafe extern "C" {
            static __executable_start: u8;
            static etext: u8;
        }
        let context = context.cast::<libc::ucontext_t>();
        // SAFETY: the system gives the handler a context.
        #[cfg(target_arch = "x86_64")]
        let at = unsafe { (*context).uc_mcontext.gregs[libc::REG_RIP as usize] } as usize;
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        let at = unsafe { (*context).uc_mcontext.pc } as usize;
        ((&raw const __executable_start).addr()..(&raw const etext).addr()).contains(&at)
    }

    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn is_in_program(_: *mut libc::c_void) -> bool {
        true
    }

    /// Writes to the terminal, whoever has locked what.
    pub(in super::super) fn write(text: &str) {
        // SAFETY: the text is as long as it says.
        unsafe { libc::write(super::super::noise::stream(), text.as_ptr().cast(), text.len()) };
    }

    /// Ends the process as a test that fails.
    pub(in super::super) fn end_process(why: &str) -> ! {
        write(why);
        // SAFETY: this ends the process at once.
        unsafe { libc::_exit(101) }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::io::Write;

    /// Threads cannot be interrupted here: the process ends instead.
    pub(in super::super) struct OsThread;

    impl OsThread {
        pub(in super::super) fn current() -> OsThread {
            OsThread
        }

        pub(in super::super) fn wake(&self) {}
    }

    pub(in super::super) fn install() {}

    pub(in super::super) fn write(text: &str) {
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    pub(in super::super) fn end_process(why: &str) -> ! {
        write(why);
        std::process::exit(101)
    }
}
