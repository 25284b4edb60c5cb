//! A hazard pointer, as small as can be: a reader announces what it is about to read, and a writer frees the old value only if nobody has announced it.
//!
//! `cargo run --example hazard_pointer relaxed` shows what happens without the fence between announcing and looking again.

use unthread::alloc::Track;
use unthread::model::Builder;
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};
use unthread::thread;

struct Value {
    number: usize,
    freed: AtomicBool,
    _watched: Track<()>,
}

struct Domain {
    value: AtomicPtr<Value>,
    hazard: AtomicPtr<Value>,
}

fn value(number: usize) -> *mut Value {
    Box::into_raw(Box::new(Value { number, freed: AtomicBool::new(false), _watched: Track::new(()) }))
}

fn main() {
    let fenced = !std::env::args().any(|argument| argument == "relaxed");
    let mut builder = Builder::new();
    builder.log = true;
    builder.check(move || {
        let domain = Arc::new(Domain { value: AtomicPtr::new(value(1)), hazard: AtomicPtr::default() });
        let reader = {
            let domain = domain.clone();
            thread::spawn(move || {
                let seen = domain.value.load(Ordering::Acquire);
                domain.hazard.store(seen, Ordering::Release);
                if fenced {
                    fence(Ordering::SeqCst);
                }
                if domain.value.load(Ordering::Acquire) == seen {
                    // SAFETY: values are given back to the allocator in the end only; `freed` says when they would have been.
                    let value = unsafe { &*seen };
                    assert!(value.number == 1 || value.number == 2);
                    assert!(!value.freed.load(Ordering::Acquire), "a value is used that has been freed");
                }
                domain.hazard.store(std::ptr::null_mut(), Ordering::Release);
            })
        };
        let old = domain.value.swap(value(2), Ordering::AcqRel);
        if domain.hazard.load(Ordering::SeqCst) != old {
            // SAFETY: as above.
            unsafe { &*old }.freed.store(true, Ordering::Release);
        }
        reader.join().unwrap();
        for value in [old, domain.value.load(Ordering::Acquire)] {
            // SAFETY: both were made by `value`, and all other threads have ended.
            drop(unsafe { Box::from_raw(value) });
        }
    });
}
