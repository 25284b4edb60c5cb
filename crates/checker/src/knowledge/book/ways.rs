//! Which nodes of a thread come before which, on every way that leads through both.

use super::{Book, NodeId};

/// So many nodes of a thread are remembered by those that come after them. Of others only the next are known.
const MOST_REMEMBERED: u32 = 1 << 14;

/// The nodes of the same thread from which some way leads to a node, by their numbers in the thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier(Vec<u64>);

impl Earlier {
    fn contains(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Says whether it is new.
    fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if number >= MOST_REMEMBERED || self.contains(number) {
            return false;
        }
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
        true
    }

    /// Says whether anything is new.
    fn extend(&mut self, other: &Earlier) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut is_new = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            is_new |= *more & !*word != 0;
            *word |= more;
        }
        is_new
    }
}

impl Book<'_> {
    /// Whether a way leads from one node of a thread to another. A "yes" stays true.
    pub(crate) fn leads_to(&self, from: NodeId, to: NodeId) -> bool {
        let number = self.nodes[from as usize].number;
        if number < MOST_REMEMBERED {
            return self.nodes[to as usize].earlier.contains(number);
        }
        let entry = self.nodes[from as usize].entry.as_ref();
        entry.is_some_and(|entry| {
            entry
                .edges
                .iter()
                .map(|&edge| &self.edges[edge as usize])
                .any(|edge| edge.known && edge.key.target == Some(to))
        })
    }

    /// Whether it is known that no way leads from one node of a thread to another.
    pub(crate) fn never_leads_to(&self, from: NodeId, to: NodeId) -> bool {
        self.nodes[from as usize].number < MOST_REMEMBERED && !self.leads_to(from, to)
    }

    /// A node has become the next after another.
    pub(crate) fn lead_on(&mut self, from: NodeId, to: NodeId) {
        let mut work = vec![(from, to)];
        while let Some((from, to)) = work.pop() {
            let number = self.nodes[from as usize].number;
            let earlier = std::mem::take(&mut self.nodes[from as usize].earlier);
            let known = &mut self.nodes[to as usize].earlier;
            let is_new = known.insert(number) | known.extend(&earlier);
            self.nodes[from as usize].earlier = earlier;
            if !is_new {
                continue;
            }
            let Some(entry) = &self.nodes[to as usize].entry else { continue };
            let edges = entry.edges.iter().map(|&edge| &self.edges[edge as usize]).filter(|edge| edge.known);
            work.extend(edges.filter_map(|edge| edge.key.target).map(|next| (to, next)));
        }
    }
}
