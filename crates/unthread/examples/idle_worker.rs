//! A worker goes to sleep when there is no work, and whoever brings work wakes it if it is idle. Does the worker ever sleep while there is work?
//!
//! `cargo run --example idle_worker` shows the execution in which it does: each of the two looks at the other's flag before its own has arrived in memory. With
//! `cargo run --example idle_worker fenced` nothing is wrong.

use unthread::model::Builder;
use unthread::sync::atomic::{AtomicBool, Ordering, fence};
use unthread::sync::{Arc, Condvar, Mutex};
use unthread::thread;

struct Worker {
    is_idling: AtomicBool,
    has_work: AtomicBool,
    asleep: Mutex<()>,
    wake_up: Condvar,
}

impl Worker {
    fn wait_for_work(&self, fenced: bool) {
        let mut asleep = self.asleep.lock().unwrap();
        loop {
            self.is_idling.store(true, Ordering::Release);
            if fenced {
                fence(Ordering::SeqCst);
            }
            if self.has_work.load(Ordering::Acquire) {
                self.is_idling.store(false, Ordering::Release);
                return;
            }
            asleep = self.wake_up.wait(asleep).unwrap();
        }
    }

    fn bring_work(&self, fenced: bool) {
        self.has_work.store(true, Ordering::Release);
        if fenced {
            fence(Ordering::SeqCst);
        }
        if self.is_idling.load(Ordering::Acquire) {
            drop(self.asleep.lock().unwrap());
            self.wake_up.notify_one();
        }
    }
}

fn main() {
    let fenced = std::env::args().any(|argument| argument == "fenced");
    let mut builder = Builder::new();
    builder.log = true;
    builder.check(move || {
        let worker = Arc::new(Worker {
            is_idling: AtomicBool::new(false),
            has_work: AtomicBool::new(false),
            asleep: Mutex::new(()),
            wake_up: Condvar::new(),
        });
        let idle = {
            let worker = worker.clone();
            thread::Builder::new().name("worker".to_string()).spawn(move || worker.wait_for_work(fenced)).unwrap()
        };
        worker.bring_work(fenced);
        idle.join().unwrap();
    });
}
