//! Relations on at most 64 events, as matrices of bits.

use std::ops::{BitAnd, BitOr, Sub};

/// A set of events: event `n` is bit `n`.
pub(crate) type Set = u64;

/// A relation: bit `to` of `rows[from]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    rows: Vec<Set>,
}

impl Relation {
    /// The empty relation on so many events.
    pub(crate) fn empty(events: usize) -> Relation {
        assert!(events <= 64, "{events} events are too many");
        Relation { rows: vec![0; events] }
    }

    /// These pairs.
    pub(crate) fn of(events: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Relation {
        let mut relation = Relation::empty(events);
        pairs.into_iter().for_each(|(from, to)| relation.rows[from] |= 1 << to);
        relation
    }

    /// `[set]`: every event of the set with itself.
    pub(crate) fn on(events: usize, set: Set) -> Relation {
        Relation::of(events, (0..events).filter(|event| set >> event & 1 == 1).map(|event| (event, event)))
    }

    pub(crate) fn has(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }

    /// `self ; next`.
    pub(crate) fn then(&self, next: &Relation) -> Relation {
        let row = |&row: &Set| bits(row).fold(0, |to, middle| to | next.rows[middle]);
        Relation { rows: self.rows.iter().map(row).collect() }
    }

    /// `self?`: or the same event.
    pub(crate) fn optional(&self) -> Relation {
        Relation { rows: self.rows.iter().enumerate().map(|(event, row)| row | 1 << event).collect() }
    }

    /// `self⁺`: one step or more.
    pub(crate) fn closure(&self) -> Relation {
        let mut rows = self.rows.clone();
        for middle in 0..rows.len() {
            let further = rows[middle];
            rows.iter_mut().filter(|row| **row >> middle & 1 == 1).for_each(|row| *row |= further);
        }
        Relation { rows }
    }

    /// `self*`: any number of steps.
    pub(crate) fn any_steps(&self) -> Relation {
        self.closure().optional()
    }

    /// `self⁻¹`.
    pub(crate) fn inverse(&self) -> Relation {
        Relation::of(self.rows.len(), self.pairs().map(|(from, to)| (to, from)))
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().enumerate().flat_map(|(from, row)| bits(*row).map(move |to| (from, to)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.iter().all(|row| *row == 0)
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|event| !self.has(event, event))
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.closure().is_irreflexive()
    }

    fn zip(&self, other: &Relation, combine: impl Fn(Set, Set) -> Set) -> Relation {
        Relation { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| combine(*a, *b)).collect() }
    }
}

impl BitOr for &Relation {
    type Output = Relation;
    fn bitor(self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a | b)
    }
}

impl BitAnd for &Relation {
    type Output = Relation;
    fn bitand(self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & b)
    }
}

impl Sub for &Relation {
    type Output = Relation;
    fn sub(self, other: &Relation) -> Relation {
        self.zip(other, |a, b| a & !b)
    }
}

/// The members of a set.
fn bits(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(lowest)
    })
}

#[test]
fn operators_are_those_of_relations() {
    let steps = Relation::of(4, [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(steps.then(&steps), Relation::of(4, [(0, 2), (1, 3)]));
    assert_eq!(steps.closure(), Relation::of(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]));
    assert_eq!(steps.inverse(), Relation::of(4, [(1, 0), (2, 1), (3, 2)]));
    assert_eq!(Relation::on(4, 0b0110).then(&steps), Relation::of(4, [(1, 2), (2, 3)]));
    assert_eq!(&steps.any_steps() - &steps.closure(), Relation::on(4, 0b1111));
    let back = Relation::of(4, [(3, 1)]);
    assert!(steps.is_acyclic() && !(&steps | &back).is_acyclic() && (&steps & &back).is_empty());
    assert!((&steps | &back).is_irreflexive());
}
