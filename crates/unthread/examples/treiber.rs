//! Treiber's stack: two threads push and pop. Nothing is lost, and nothing is taken twice. (Nodes are freed in the end only, so that there is no
//! ABA problem.)

use unthread::model::Builder;
use unthread::sync::Arc;
use unthread::sync::atomic::{AtomicPtr, Ordering};
use unthread::thread;

struct Node {
    value: usize,
    next: *mut Node,
}

#[derive(Default)]
struct Stack {
    head: AtomicPtr<Node>,
}

impl Stack {
    fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: nobody else knows the node yet.
            unsafe { (*node).next = head };
            match self.head.compare_exchange(head, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn pop(&self) -> Option<*mut Node> {
        let mut head = self.head.load(Ordering::Acquire);
        while !head.is_null() {
            // SAFETY: nodes are not freed before all threads have ended.
            let next = unsafe { (*head).next };
            match self.head.compare_exchange(head, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(head),
                Err(now) => head = now,
            }
        }
        None
    }
}

/// Node pointers go from thread to thread.
struct Taken(Vec<*mut Node>);

// SAFETY: whoever took a node is the only one who has it.
unsafe impl Send for Taken {}

fn main() {
    let mut builder = Builder::new();
    builder.log = true;
    builder.check(|| {
        let stack = Arc::new(Stack::default());
        let work = |stack: &Stack, value: usize| {
            stack.push(value);
            Taken(stack.pop().into_iter().collect())
        };
        let other = {
            let stack = stack.clone();
            thread::spawn(move || work(&stack, 1))
        };
        let mut taken = work(&stack, 2).0;
        taken.extend(other.join().unwrap().0);
        while let Some(node) = stack.pop() {
            taken.push(node);
        }
        // SAFETY: every node was taken once, and all threads have ended.
        let mut values: Vec<usize> = taken.into_iter().map(|node| unsafe { Box::from_raw(node) }.value).collect();
        values.sort_unstable();
        assert_eq!(values, [1, 2]);
    });
}
