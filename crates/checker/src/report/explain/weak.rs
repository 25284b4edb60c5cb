//! What only store buffers make possible, and data races.

use super::graph::{Edge, Relation};
use super::teller::{Teller, Told};
use crate::report::story::StepKind;

impl Teller<'_> {
    /// The store that was late, by a cycle.
    pub(super) fn weak(&self, cycle: &[Edge]) -> Told {
        let backward = |relation: Relation| {
            let late = cycle.iter().filter(move |edge| edge.relation == relation && edge.is_backward());
            late.max_by_key(|edge| edge.from)
        };
        if let Some(&Edge { from: read, to: store, .. }) = backward(Relation::FromRead) {
            let (late, who, cell) = (self.possessive(store), self.who(read), self.cell(read));
            let mut sentence = format!("{late} was still in its buffer when {who} read {cell} ({})", self.line(read));
            if let Some(later) = self.overtaking(store, read) {
                let later = format!("its later store to {} ({})", self.cell(later), self.line(later));
                sentence += &format!(", though {later} was already in memory");
            }
            return Some((sentence, vec![store, read]));
        }
        let &Edge { from: first, to: late, .. } = backward(Relation::Coherence)?;
        let (late_store, who, stored) = (self.possessive(late), self.who(first), self.stored(first));
        let (cell, line) = (self.cell(first), self.line(first));
        let sentence =
            format!("{late_store} was still in its buffer when {who} {stored} {cell} ({line}), and arrived after that");
        Some((sentence, vec![late, first]))
    }

    /// A store that was made after another by the same thread and was in memory when that one was not.
    fn overtaking(&self, store: usize, read: usize) -> Option<usize> {
        let thread = self.step(store).thread;
        (store + 1..read)
            .filter(|&at| self.step(at).thread == thread && self.step(at).is_store())
            .find(|&later| self.story.arrival(later) < read)
    }

    /// The two accesses at the end, which nothing orders.
    pub(super) fn race(&self) -> Told {
        let is_access = |&at: &usize| self.step(at).cell.is_some();
        let second = (0..self.story.steps.len()).rfind(is_access)?;
        let cell = self.step(second).cell.as_ref();
        let first = self.foreign(second).rfind(|&at| self.step(at).cell.as_ref() == cell && at < second);
        let Some(first) = first else {
            return Some((format!("nothing orders {} and the other access", self.possessive(second)), vec![second]));
        };
        let issued =
            |at: usize| if self.step(at).kind == StepKind::Flush { self.step(at).store.unwrap_or(at) } else { at };
        let waited = [first, second].iter().any(|&at| self.step(at).kind == StepKind::Flush);
        let mut accesses = [issued(first), issued(second)];
        accesses.sort_unstable();
        let [first, second] = accesses;
        if waited && self.step(second).is_read() {
            let (late, who, cell) = (self.possessive(first), self.who(second), self.cell(second));
            let line = self.line(second);
            let sentence =
                format!("{late} was still in its buffer when {who} read {cell} ({line}), and nothing orders the two");
            return Some((sentence, vec![first, second]));
        }
        let sentence = format!("nothing orders {} and {}", self.possessive(first), self.possessive(second));
        Some((sentence, vec![first, second]))
    }

    /// Who freed what somebody then used.
    pub(super) fn freed(&self) -> Told {
        let used = self.failed()?;
        let block = self.step(used).object.as_ref()?;
        let free = (0..used)
            .rfind(|&at| self.step(at).kind == StepKind::Free && self.step(at).object.as_ref() == Some(block))?;
        let what = match self.step(used).kind {
            StepKind::Free => "freed it again",
            StepKind::Flush => "'s store to it arrived",
            StepKind::Read => "read it",
            _ => "stored to it",
        };
        let space = if what.starts_with('\'') { "" } else { " " };
        let (freeing, using) = (self.who(free), self.who(used));
        let sentence = format!(
            "{freeing} freed `{block}` ({}) before {using}{space}{what} ({})",
            self.line(free),
            self.line(used)
        );
        Some((sentence, vec![free, used]))
    }
}
