//! Sets of events as rows of bits.

use smallvec::SmallVec;

/// A set of events. Rows of one execution have the same number of words, or more.
pub(crate) type Row = SmallVec<[u64; 2]>;

/// Whether the event is in the set.
pub(crate) fn has(row: &[u64], event: usize) -> bool {
    row.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 != 0)
}

/// Adds an event to the set.
pub(crate) fn insert(row: &mut Row, event: usize) {
    if row.len() <= event / 64 {
        row.resize(event / 64 + 1, 0);
    }
    row[event / 64] |= 1 << (event % 64);
}

/// Takes an event out of the set.
pub(crate) fn remove(row: &mut Row, event: usize) {
    if let Some(word) = row.get_mut(event / 64) {
        *word &= !(1 << (event % 64));
    }
}

/// Adds all events of a set.
pub(crate) fn join(row: &mut Row, other: &[u64]) {
    if row.len() < other.len() {
        row.resize(other.len(), 0);
    }
    for (word, more) in row.iter_mut().zip(other) {
        *word |= more;
    }
}

/// Whether the sets have an event in common.
pub(crate) fn meet(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// The first event of both sets.
pub(crate) fn first_of_both(a: &[u64], b: &[u64]) -> Option<usize> {
    let words = a.iter().zip(b).map(|(a, b)| a & b).enumerate();
    words.into_iter().find(|(_, word)| *word != 0).map(|(at, word)| at * 64 + word.trailing_zeros() as usize)
}

/// The events of a set, in order.
pub(crate) fn members(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(at, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            (word != 0).then(|| {
                let bit = word.trailing_zeros() as usize;
                word &= word - 1;
                at * 64 + bit
            })
        })
    })
}

/// The events before this one.
pub(crate) fn below(event: usize) -> Row {
    let mut row = Row::new();
    set_below(&mut row, event, event);
    row
}

/// Makes a row of `n_events` the events before this one.
pub(crate) fn set_below(row: &mut Row, event: usize, n_events: usize) {
    row.clear();
    row.resize(event / 64, u64::MAX);
    row.resize(n_events.div_ceil(64).max(row.len()), 0);
    if !event.is_multiple_of(64) {
        row[event / 64] = (1 << (event % 64)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sets() {
        let mut row = below(67);
        (0..62).for_each(|event| remove(&mut row, event));
        assert_eq!(members(&row).collect::<Vec<_>>(), [62, 63, 64, 65, 66]);
        insert(&mut row, 200);
        remove(&mut row, 64);
        assert!(has(&row, 200) && !has(&row, 64) && !has(&row, 1000));
        let mut later = below(300);
        (0..64).for_each(|event| remove(&mut later, event));
        assert_eq!(first_of_both(&row, &later), Some(65));
        assert!(!meet(&row, &below(62)) && below(0).is_empty());
        assert_eq!(members(&below(64)).count(), 64);
        set_below(&mut row, 3, 200);
        assert_eq!((members(&row).collect::<Vec<_>>(), row.len()), (vec![0, 1, 2], 4));
    }
}
