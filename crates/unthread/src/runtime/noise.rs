//! What is printed where nobody is interested: by the standard library before it ends a process that goes on, and by destructors of executions that are given up.
//!
//! While a [`Window`] is open, what is written to the standard error stream goes to a file in memory. It is the process's stream, and other tests may write to it: nothing that may be theirs is
//! lost. What was written is printed when the last window closes, but for the standard library's line, and but for all of it where nobody else can have written anything.

#[cfg(unix)]
pub(super) use on_unix::{Window, stream};

#[cfg(not(unix))]
pub(super) struct Window;

#[cfg(not(unix))]
impl Window {
    pub(super) fn open() -> Window {
        Window
    }

    pub(super) fn close_quietly(self) {}
}

#[cfg(unix)]
mod on_unix {
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The line of the standard library before it ends the process.
    const LINE: &str = "thread caused non-unwinding panic. aborting.\n";

    /// Windows that are open, and where things go while one is.
    struct Windows {
        open: usize,
        /// The stream, while something else stands in its place.
        stream: Option<OwnedFd>,
        file: Option<File>,
    }

    /// The stream, for what must be seen at once; the standard one where nothing stands in its place.
    static STREAM: AtomicI32 = AtomicI32::new(libc::STDERR_FILENO);

    static WINDOWS: Mutex<Windows> = Mutex::new(Windows { open: 0, stream: None, file: None });

    /// The descriptor by which something is seen at once, whatever windows are open. May be asked for in a handler of a signal.
    pub(in super::super) fn stream() -> libc::c_int {
        STREAM.load(SeqCst)
    }

    /// While this is there, nothing is printed.
    pub(in super::super) struct Window(());

    impl Window {
        pub(in super::super) fn open() -> Window {
            // Nobody is in the middle of a line.
            let _between_lines = std::io::stderr().lock();
            let mut windows = lock();
            windows.open += 1;
            if windows.open == 1 {
                windows.divert();
            }
            Window(())
        }

        /// What was written in this window is printed if it may be somebody else's, and not otherwise.
        pub(in super::super) fn close_quietly(self) {
            std::mem::forget(self);
            close(|| n_threads().is_some_and(|threads| threads <= MOST_THREADS));
        }
    }

    /// What was written is printed, but for the standard library's line.
    impl Drop for Window {
        fn drop(&mut self) {
            close(|| false);
        }
    }

    /// Threads of a process in which nobody else prints to the stream: the one that runs the test, and the one that waits for it and prints results elsewhere.
    const MOST_THREADS: usize = 2;

    /// The threads of the process, but for our own, if that is known.
    fn n_threads() -> Option<usize> {
        let is_ours = |task: &std::fs::DirEntry| {
            let name = std::fs::read_to_string(task.path().join("comm"));
            name.is_ok_and(|name| name.starts_with("unthread-"))
        };
        let tasks = std::fs::read_dir("/proc/self/task").ok()?;
        Some(tasks.filter(|task| !task.as_ref().is_ok_and(is_ours)).count())
    }

    fn close(is_ours: impl FnOnce() -> bool) {
        let mut stderr = std::io::stderr().lock();
        let mut windows = lock();
        windows.open -= 1;
        if windows.open > 0 {
            return;
        }
        let text = windows.restore();
        if !text.is_empty() && !is_ours() {
            let text = String::from_utf8_lossy(&text).replace(LINE, "");
            let _ = stderr.write_all(text.as_bytes());
        }
    }

    fn lock() -> MutexGuard<'static, Windows> {
        WINDOWS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    impl Windows {
        /// Puts the file in the stream's place. If that cannot be done, everything is printed.
        fn divert(&mut self) {
            if self.file.is_none() {
                self.file = in_memory();
            }
            let Some(file) = &self.file else { return };
            // SAFETY: both are descriptors of this process, and the copy belongs to nobody else.
            unsafe {
                let copy = libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, 3);
                if copy < 0 {
                    return;
                }
                self.stream = Some(OwnedFd::from_raw_fd(copy));
                STREAM.store(copy, SeqCst);
                libc::dup2(file.as_raw_fd(), libc::STDERR_FILENO);
            }
        }

        /// Puts the stream back, and gives what was written meanwhile.
        fn restore(&mut self) -> Vec<u8> {
            let mut text = Vec::new();
            let (Some(stream), Some(file)) = (self.stream.take(), &mut self.file) else { return text };
            // SAFETY: both are descriptors of this process.
            unsafe { libc::dup2(stream.as_raw_fd(), libc::STDERR_FILENO) };
            STREAM.store(libc::STDERR_FILENO, SeqCst);
            if file.stream_position().is_ok_and(|end| end > 0) {
                let _ = file.rewind().and_then(|()| file.read_to_end(&mut text)).and_then(|_| file.set_len(0));
                let _ = file.rewind();
            }
            text
        }
    }

    /// A file that is nowhere.
    #[cfg(target_os = "linux")]
    fn in_memory() -> Option<File> {
        // SAFETY: the name is a string that ends with a zero, and the descriptor belongs to nobody else.
        let descriptor = unsafe { libc::memfd_create(c"unthread".as_ptr(), libc::MFD_CLOEXEC) };
        // SAFETY: as above.
        (descriptor >= 0).then(|| unsafe { File::from_raw_fd(descriptor) })
    }

    /// A file that is nowhere.
    #[cfg(not(target_os = "linux"))]
    fn in_memory() -> Option<File> {
        None
    }
}
