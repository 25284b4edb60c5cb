//! What interleaving alone makes possible: somebody came between two accesses of a thread, or stored the value that a thread stumbled over.

use super::teller::{Teller, Told};
use crate::report::story::StepKind;

/// Two accesses of a thread to one cell, and one of another thread between them.
struct Between {
    first: usize,
    other: usize,
    second: usize,
}

impl Teller<'_> {
    /// Explains a step that failed, or for nothing the end of the execution.
    pub(super) fn between(&self, failed: Option<usize>) -> Told {
        let suspicious = failed.map_or_else(Vec::new, |failed| self.suspicious(failed));
        let best =
            self.all_between().into_iter().filter_map(|between| Some((self.weight(&between, &suspicious)?, between)));
        match best.max_by_key(|(weight, between)| (*weight, between.second)) {
            Some((_, between)) => Some(self.tell(&between)),
            None => self.seen(failed),
        }
    }

    /// Cells that the failed thread read since it last did something else, latest first.
    fn suspicious(&self, failed: usize) -> Vec<&str> {
        let own = (0..failed).rev().filter(|&at| self.step(at).thread == self.step(failed).thread);
        let reads = own.filter(|&at| self.step(at).is_read());
        reads.filter_map(|at| self.step(at).cell.as_deref()).collect()
    }

    fn all_between(&self) -> Vec<Between> {
        let mut found = Vec::new();
        for first in 0..self.story.steps.len() {
            if self.step(first).kind == StepKind::Flush || self.step(first).cell.is_none() {
                continue;
            }
            let (thread, cell) = (self.step(first).thread, &self.step(first).cell);
            let same = |&at: &usize| self.step(at).cell == *cell && self.step(at).kind != StepKind::Flush;
            let second = (first + 1..self.story.steps.len()).filter(same).find(|&at| self.step(at).thread == thread);
            let Some(second) = second else { continue };
            let time = |at: usize| if self.step(at).is_store() { self.story.arrival(at) } else { at };
            let between = |&at: &usize| time(first) < time(at) && time(at) < time(second);
            let others = self.foreign(first).filter(same).filter(between);
            found.extend(others.map(|other| Between { first, other, second }));
        }
        found
    }

    /// How telling it is; nothing if there is nothing wrong with it.
    fn weight(&self, between: &Between, suspicious: &[&str]) -> Option<(usize, u32)> {
        let Between { first, other, second } = *between;
        let [writes_first, writes_other, writes_second] = [first, other, second].map(|at| self.step(at).is_store());
        let reads = |at: usize| self.step(at).is_read();
        // A thread that looks again waits for somebody to come between.
        let waits = self.step(first).line == self.step(second).line && !writes_first && !writes_second;
        let aba = self.is_aba(between);
        let pattern = match (writes_first, writes_other, writes_second) {
            _ if aba => 4,
            (false, true, true) if !reads(second) => 3,
            (false, true, false) if !waits => 2,
            (true, true, false) => 2,
            (true, false, true) if !reads(first) && !reads(second) => 1,
            _ => return None,
        };
        let cell = self.step(first).cell.as_deref()?;
        let place = suspicious.iter().position(|&read| read == cell);
        let close = place.map_or(0, |place| suspicious.len() - place);
        Some((if aba { usize::MAX } else { close }, pattern))
    }

    /// Whether a compare-exchange succeeded although its cell had changed since it was read, and changed back.
    fn is_aba(&self, between: &Between) -> bool {
        let (first, second) = (self.step(between.first), self.step(between.second));
        let exchanged = second.kind == StepKind::Cas && second.written.is_some();
        exchanged && first.kind == StepKind::Read && first.read == second.read && self.step(between.other).is_store()
    }

    fn tell(&self, between: &Between) -> (String, Vec<usize>) {
        let Between { first, other, second } = *between;
        let (who, cell, stored) = (self.who(first), self.cell(first), self.stored(other));
        let intruder = format!("{} {stored} {cell} ({})", self.who(other), self.line(other));
        let [from, to] = [first, second].map(|at| self.line(at));
        let both = self.lines(first, second);
        let [writes_first, writes_other, writes_second] = [first, other, second].map(|at| self.step(at).is_store());
        let sentence = match (writes_first, writes_other, writes_second) {
            _ if self.is_aba(between) => format!(
                "{cell} was the same when {who} read it ({from}) and when its compare-exchange succeeded ({to}), but {} had changed it \
                 in between ({})",
                self.who(other),
                self.line(other)
            ),
            (false, true, true) => {
                format!(
                    "{intruder} after {who} had read it ({from}) and before {who} stored to it ({to}): that update is lost"
                )
            }
            (false, true, _) => format!("{intruder} between {who}'s reads of it ({both})"),
            (true, true, _) => format!("{intruder} between {who}'s store to it ({from}) and its read ({to})"),
            _ => format!("{} between {who}'s stores to it ({both})", self.read(other)),
        };
        (sentence, if writes_other { vec![first, other] } else { vec![other, second] })
    }

    /// Whose value the failed thread saw last, or whose store it came too early for.
    pub(super) fn seen(&self, failed: Option<usize>) -> Told {
        let own =
            |&at: &usize| failed.is_none_or(|failed| self.step(at).thread == self.step(failed).thread && at < failed);
        let mut reads = (0..self.story.steps.len()).rev().filter(own).filter(|&at| self.step(at).is_read());
        let is_foreign = |store: usize, at: usize| self.step(store).thread != self.step(at).thread;
        let from_others = |&at: &usize| self.step(at).reads_from.is_some_and(|store| is_foreign(store, at));
        let last = reads.clone().next()?;
        // Of a null pointer, the read that gave it is the one that matters.
        let null = failed.is_some_and(|failed| self.step(failed).failure == Some("null-dereference"));
        let read = if null { reads.find(|&at| self.step(at).read == Some(0)) } else { reads.find(from_others) };
        let read = read.unwrap_or(last);
        let seen = self.read(read);
        if let Some(store) = self.step(read).reads_from {
            let whose = if is_foreign(store, read) { self.who(store) } else { "it".to_string() };
            return Some((format!("{seen}, which {whose} had stored ({})", self.line(store)), vec![store, read]));
        }
        let later =
            self.foreign(read).find(|&at| self.step(at).is_store() && self.step(at).cell == self.step(read).cell);
        Some(match later {
            Some(later) => (
                format!("{seen} before {} {} it ({})", self.who(later), self.stored(later), self.line(later)),
                vec![read, later],
            ),
            None => (format!("{seen}, and nobody had stored to it"), vec![read]),
        })
    }
}
