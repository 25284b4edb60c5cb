//! Relations over the events of a graph, as rows of bits.

/// A relation over `0..n`.
#[derive(Clone, Debug)]
pub(super) struct Relation {
    n: usize,
    words: usize,
    rows: Vec<u64>,
}

impl Relation {
    /// The empty relation.
    pub(super) fn new(n: usize) -> Relation {
        let words = n.div_ceil(64);
        Relation { n, words, rows: vec![0; n * words] }
    }

    #[inline]
    pub(super) fn add(&mut self, from: usize, to: usize) {
        self.rows[from * self.words + to / 64] |= 1 << (to % 64);
    }

    #[inline]
    pub(super) fn has(&self, from: usize, to: usize) -> bool {
        self.rows[from * self.words + to / 64] >> (to % 64) & 1 != 0
    }

    /// What is related to `from`.
    #[inline]
    pub(super) fn row(&self, from: usize) -> &[u64] {
        &self.rows[from * self.words..][..self.words]
    }

    /// Adds to what is related to `from`.
    pub(super) fn add_row(&mut self, from: usize, row: &[u64]) {
        let mine = &mut self.rows[from * self.words..][..self.words];
        mine.iter_mut().zip(row).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Adds another relation.
    pub(super) fn unite(&mut self, other: &Relation) {
        self.rows.iter_mut().zip(&other.rows).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// This relation, then the other.
    pub(super) fn then(&self, other: &Relation) -> Relation {
        let mut composed = Relation::new(self.n);
        for from in 0..self.n {
            for to in ones(self.row(from)) {
                composed.add_row(from, other.row(to));
            }
        }
        composed
    }

    /// Its transitive closure.
    pub(super) fn closure(mut self) -> Relation {
        for through in 0..self.n {
            let row: smallvec::SmallVec<[u64; 4]> = self.row(through).into();
            for from in 0..self.n {
                if self.has(from, through) {
                    self.add_row(from, &row);
                }
            }
        }
        self
    }

    /// Whether nothing leads back to itself: what nothing leads to any more is removed until nothing is left.
    pub(super) fn is_acyclic(&self) -> bool {
        let mut incoming = vec![0u32; self.n];
        for from in 0..self.n {
            ones(self.row(from)).for_each(|to| incoming[to] += 1);
        }
        let mut free: Vec<usize> = (0..self.n).filter(|&at| incoming[at] == 0).collect();
        let mut removed = 0;
        while let Some(from) = free.pop() {
            removed += 1;
            for to in ones(self.row(from)) {
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    free.push(to);
                }
            }
        }
        removed == self.n
    }
}

/// The positions of bits that are set.
pub(super) fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(at, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(at * 64 + bit)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_and_closures_reach() {
        let mut relation = Relation::new(70);
        (0..69).for_each(|at| relation.add(at, at + 1));
        assert!(relation.is_acyclic());
        assert!(relation.clone().closure().has(0, 69));
        assert!(relation.then(&relation).has(3, 5));
        relation.add(69, 0);
        assert!(!relation.is_acyclic());
    }
}
