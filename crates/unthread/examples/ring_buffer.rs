//! A ring buffer for several producers and one consumer: producers take a place by compare-exchange and say when it is filled.

use unthread::cell::UnsafeCell;
use unthread::model::Builder;
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicUsize, Ordering};
use unthread::{hint, thread};

const PLACES: usize = 2;

struct Ring {
    /// The next place to fill.
    tail: AtomicUsize,
    places: [Place; PLACES],
}

struct Place {
    /// The round in which it is empty, plus one when it is filled.
    turn: AtomicUsize,
    value: UnsafeCell<usize>,
}

// SAFETY: whoever has taken a place writes it before saying that it is filled, and the consumer reads it after that. The check sees to it.
unsafe impl Sync for Ring {}
// SAFETY: as above.
unsafe impl Send for Ring {}

impl Ring {
    fn new() -> Ring {
        let place = |at| Place { turn: AtomicUsize::new(at), value: UnsafeCell::new(0) };
        Ring { tail: AtomicUsize::new(0), places: [place(0), place(1)] }
    }

    fn push(&self, value: usize) {
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let place = &self.places[tail % PLACES];
            if place.turn.load(Ordering::Acquire) != tail {
                hint::spin_loop();
                tail = self.tail.load(Ordering::Relaxed);
                continue;
            }
            match self.tail.compare_exchange(tail, tail + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    // SAFETY: the place is empty, and nobody else has taken it.
                    place.value.with_mut(|at| unsafe { *at = value });
                    place.turn.store(tail + 1, Ordering::Release);
                    return;
                }
                Err(now) => tail = now,
            }
        }
    }

    fn pop(&self, head: usize) -> usize {
        let place = &self.places[head % PLACES];
        while place.turn.load(Ordering::Acquire) != head + 1 {
            hint::spin_loop();
        }
        // SAFETY: the place is filled, and there is one consumer.
        let value = place.value.with(|at| unsafe { *at });
        place.turn.store(head + PLACES, Ordering::Release);
        value
    }
}

fn main() {
    let mut builder = Builder::new();
    builder.log = true;
    builder.check(|| {
        let ring = Arc::new(Ring::new());
        let producers: Vec<_> = (1..3)
            .map(|value| {
                let ring = ring.clone();
                thread::spawn(move || ring.push(value))
            })
            .collect();
        let mut values = [ring.pop(0), ring.pop(1)];
        values.sort_unstable();
        assert_eq!(values, [1, 2]);
        producers.into_iter().for_each(|producer| producer.join().unwrap());
    });
}
