//! A sequence lock: a writer announces itself by an odd number, and readers try again if the number was odd or has changed. Readers never see half of
//! what was written.

use unthread::model::{Builder, MemoryModel};
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicUsize, Ordering, fence};
use unthread::thread;

#[derive(Default)]
struct SeqLock {
    sequence: AtomicUsize,
    data: [AtomicUsize; 2],
}

impl SeqLock {
    fn write(&self, value: usize) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.data.iter().for_each(|cell| cell.store(value, Ordering::Relaxed));
        self.sequence.store(sequence + 2, Ordering::Release);
    }

    fn try_read(&self) -> Option<[usize; 2]> {
        let before = self.sequence.load(Ordering::Acquire);
        let data = [0, 1].map(|at: usize| self.data[at].load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        let after = self.sequence.load(Ordering::Relaxed);
        (before.is_multiple_of(2) && before == after).then_some(data)
    }
}

fn main() {
    for memory in MemoryModel::MACHINES {
        let mut builder = Builder::new();
        builder.log = true;
        builder.memory(memory).check(|| {
            let lock = Arc::new(SeqLock::default());
            let writer = {
                let lock = lock.clone();
                thread::spawn(move || (1..3).for_each(|value| lock.write(value)))
            };
            if let Some([first, second]) = lock.try_read() {
                assert_eq!(first, second);
            }
            writer.join().unwrap();
        });
    }
}
