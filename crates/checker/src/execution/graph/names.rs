//! Numbers for threads and objects, which stay the same while graphs come and go.

use super::{LocId, Object};
use crate::base::ThreadKey;
use rustc_hash::FxHashMap;

/// The numbers of threads and objects.
#[derive(Clone, Debug, Default)]
pub struct Names {
    objects: Vec<Object>,
    numbers: FxHashMap<Object, LocId>,
    threads: Vec<ThreadKey>,
}

impl Names {
    /// An object's number.
    pub(crate) fn number(&mut self, object: Object) -> LocId {
        *self.numbers.entry(object).or_insert_with(|| {
            self.objects.push(object);
            self.objects.len() as LocId - 1
        })
    }

    /// An object's number, if it has one.
    pub fn find(&self, object: Object) -> Option<LocId> {
        self.numbers.get(&object).copied()
    }

    /// The object that has a number.
    pub fn object(&self, loc: LocId) -> Object {
        self.objects[loc as usize]
    }

    /// All objects, by number.
    pub fn objects(&self) -> impl Iterator<Item = (LocId, Object)> {
        self.objects.iter().enumerate().map(|(number, &object)| (number as LocId, object))
    }

    /// A thread's number.
    pub(crate) fn thread(&mut self, key: ThreadKey) -> u16 {
        self.find_thread(key).unwrap_or_else(|| {
            self.threads.push(key);
            self.threads.len() as u16 - 1
        })
    }

    /// A thread's number, if it has one.
    pub fn find_thread(&self, key: ThreadKey) -> Option<u16> {
        self.threads.iter().position(|&known| known == key).map(|at| at as u16)
    }

    /// The thread that has a number.
    pub fn key(&self, thread: u16) -> ThreadKey {
        self.threads[thread as usize]
    }
}
