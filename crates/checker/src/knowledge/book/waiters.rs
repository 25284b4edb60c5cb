//! Who waits for a condition variable, as a number that a cell can hold.

use super::effect::{Cell, Effect};
use crate::base::ThreadKey;
use std::collections::BTreeMap;

/// Sets of threads that wait for a condition variable, and whether they have been notified. Number 0 is the empty set.
#[derive(Default)]
pub(crate) struct Waiters {
    sets: Vec<Vec<(ThreadKey, bool)>>,
    numbers: BTreeMap<Vec<(ThreadKey, bool)>, i64>,
}

impl Waiters {
    fn set(&self, number: i64) -> &[(ThreadKey, bool)] {
        if number == 0 { &[] } else { &self.sets[number as usize - 1] }
    }

    /// Whether a thread of a set has been notified.
    pub(crate) fn is_notified(&self, number: i64, me: ThreadKey) -> bool {
        self.set(number).contains(&(me, true))
    }

    /// The set in which a thread waits, notified or not, or does not wait.
    pub(crate) fn with(&mut self, number: i64, key: ThreadKey, waits: Option<bool>) -> i64 {
        let mut set: Vec<_> = self.set(number).iter().copied().filter(|waiter| waiter.0 != key).collect();
        set.extend(waits.map(|notified| (key, notified)));
        set.sort_unstable();
        if set.is_empty() {
            return 0;
        }
        let next = self.sets.len() as i64 + 1;
        let number = *self.numbers.entry(set.clone()).or_insert(next);
        if number == next {
            self.sets.push(set);
        }
        number
    }

    /// The ways in which threads of a set are notified.
    pub(crate) fn notifications(&mut self, condvar: u32, all: bool, value: i64) -> Vec<Effect> {
        let asleep: Vec<ThreadKey> = self.set(value).iter().filter(|w| !w.1).map(|w| w.0).collect();
        if asleep.is_empty() {
            return vec![Effect::result(0)];
        }
        if all {
            let woken = asleep.iter().fold(value, |set, &key| self.with(set, key, Some(true)));
            return vec![Effect::result(0).writing(Cell::Condvar(condvar), woken)];
        }
        let wake = |&key: &ThreadKey| {
            let woken = self.with(value, key, Some(true));
            Effect { wakes: Some(key), ..Effect::result(0).writing(Cell::Condvar(condvar), woken) }
        };
        asleep.iter().map(wake).collect()
    }
}
