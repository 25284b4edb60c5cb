//! Which orderings are too weak, under a memory model of the language.

use super::teller::{Teller, Told};
use crate::program::Ordering;
use crate::report::story::{JsonChange, JsonGraph, StepKind};

impl Teller<'_> {
    /// Who read what from where, why that did not help, and what would.
    pub(super) fn orderings(&self) -> Told {
        let graph = self.story.graph.as_ref()?;
        if graph.too_weak.is_empty() {
            return None;
        }
        let remedy = self.remedy(&graph.too_weak);
        let (mut events, mut sentence) = (Vec::new(), String::new());
        if let Some((write, read)) = self.message(graph) {
            let (reader, writer) = (self.who(read), self.who(write));
            let (cell, line) = (self.cell(read), self.line(read));
            let value = self.step(read).read.filter(|value| value.unsigned_abs() < 1 << 48);
            let value = value.map_or(String::new(), |value| format!(" = {value}"));
            let read_as = self.mode(graph, read).map_or(String::new(), |mode| format!(", {mode:?}"));
            let wrote = self.mode(graph, write).map_or(String::new(), |mode| format!("{mode:?} "));
            let (store, from) = (self.noun(write), self.line(write));
            sentence = format!(
                "{reader} read {cell}{value} ({line}{read_as}) from {writer}'s {wrote}{store} ({from}), but {}: ",
                self.weakness(&graph.too_weak, write, read)
            );
            events.extend([write, read]);
        }
        let (consequence, last) = self.consequence(graph);
        events.extend(last);
        events.extend(graph.too_weak.iter().map(|change| change.step));
        events.sort_unstable();
        events.dedup();
        Some((format!("{sentence}{consequence}. {remedy}"), events))
    }

    /// A read of another thread's write, one of which is too weak.
    fn message(&self, graph: &JsonGraph) -> Option<(usize, usize)> {
        let changed = |at: usize| graph.too_weak.iter().any(|change| self.is_same_place(change.step, at));
        let message = |read: usize| {
            let write = self.step(read).reads_from?;
            let crosses = self.step(write).thread != self.step(read).thread;
            (crosses && (changed(write) || changed(read))).then_some((write, read))
        };
        (0..self.story.steps.len()).rev().find_map(message)
    }

    fn is_same_place(&self, a: usize, b: usize) -> bool {
        let place = |at: usize| (self.step(at).line, self.step(at).column, self.step(at).kind, self.step(at).thread);
        place(a) == place(b)
    }

    /// The ordering of a step, as far as it is known.
    fn mode(&self, graph: &JsonGraph, at: usize) -> Option<Ordering> {
        graph.orderings.get(at).copied().flatten()
    }

    /// Why a read does not synchronise with the write that it has seen.
    fn weakness(&self, changes: &[JsonChange], write: usize, read: usize) -> String {
        let change = |at: usize| changes.iter().find(|change| self.is_same_place(change.step, at));
        let named = |change: &JsonChange| format!("a {} {}", change.from, self.noun(change.step));
        match (change(write), change(read)) {
            (Some(write), Some(read)) if read.to == "SeqCst" || write.to == "SeqCst" => {
                format!("{} and {} are in no order with other operations", named(write), named(read))
            }
            (Some(write), Some(read)) => format!("{} does not synchronise with {}", named(read), named(write)),
            (Some(change), None) | (None, Some(change)) if change.to == "SeqCst" => {
                format!("{} is not in the one order of SeqCst operations", named(change))
            }
            (Some(change), None) => format!("it does not synchronise with {}", named(change)),
            (_, Some(change)) => format!("{} does not synchronise with it", named(change)),
            (None, None) => "that orders nothing".to_string(),
        }
    }

    /// What came of it, and the step where that shows.
    fn consequence(&self, graph: &JsonGraph) -> (String, Option<usize>) {
        match graph.stale {
            Some(at) if self.step(at).is_read() => {
                let value = self.step(at).read.filter(|value| value.unsigned_abs() < 1 << 48);
                let value = value.map_or("an old value".to_string(), |value| value.to_string());
                (format!("{} could still be read as {value} ({})", self.cell(at), self.line(at)), Some(at))
            }
            Some(at) => (format!("{} could still come before newer ones", self.possessive(at)), Some(at)),
            None => match self.race().filter(|_| graph.races) {
                Some((sentence, events)) => (sentence, events.last().copied()),
                None if graph.races => ("nothing orders the accesses".to_string(), None),
                None => ("no order of the operations explains what was read".to_string(), None),
            },
        }
    }

    /// The changes that would help, in a sentence.
    fn remedy(&self, changes: &[JsonChange]) -> String {
        let named: Vec<String> = changes
            .iter()
            .map(|change| {
                let article = if change.to.starts_with('A') { "an" } else { "a" };
                format!("{article} `{}` {} at {}", change.to, self.noun(change.step), self.line(change.step))
            })
            .collect();
        let all = match &named[..] {
            [one] => one.clone(),
            [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
            [] => String::new(),
        };
        let mut letters = all.chars();
        let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().to_string());
        let would = if changes.len() > 1 { " together would prevent this" } else { " would prevent this" };
        first + letters.as_str() + would
    }

    fn noun(&self, at: usize) -> &'static str {
        match self.step(at).kind {
            StepKind::Read => "load",
            StepKind::Rmw => "update",
            StepKind::Cas => "compare-exchange",
            StepKind::Fence => "fence",
            _ => "store",
        }
    }
}
