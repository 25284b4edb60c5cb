//! What the core is told only when it matters.
//!
//! *Sources.* A read of a long execution has as many sources as its cell has writes, and nearly always sees one near where it stood. So the core knows the
//! likeliest few of each choice, and a literal "one of the others", which is assumed to be false. If that assumption is among the reasons
//! for a "no", the core gets to know more sources; a "no" for other reasons is a "no". A "yes" needs no other source.
//!
//! *Sections.* Sections seldom overlap where nothing keeps them apart, as orders stay close to the execution that the problem came from. So a pair of them
//! is mentioned to the core once it did overlap in an answer.

use super::problem::{Lit, Node};
use super::{Solution, Solver};
use batsat::{SolverInterface, lbool};
use rustc_hash::FxHashSet;

/// How many times as many it knows each time it needs more.
const GROWTH: usize = 4;

/// A choice of which the core does not know all sources.
pub(super) struct OpenChoice {
    choice: u32,
    n_known: usize,
    /// The core's own literal: "one of the others".
    pub(super) more: batsat::Lit,
}

/// Pairs of sections that the core knows to exclude one another.
pub(super) type Overlaps = FxHashSet<(u32, u32)>;

impl Solver<'_> {
    /// Tells the core of each choice and its likeliest sources, `first` of each, and of the sources that are part of no choice.
    pub(super) fn open_choices(&mut self, first: usize) {
        let problem = self.problem;
        let mut chosen = vec![false; problem.sources.len()];
        for (at, choice) in problem.choices.iter().enumerate() {
            choice.sources.iter().for_each(|&source| chosen[source as usize] = true);
            let needs = vec![self.core_literal(!choice.reason)];
            self.tell_sources(at as u32, 0, first, needs);
        }
        for source in (0..chosen.len()).filter(|&source| !chosen[source]) {
            self.tell_source(source as u32);
            // Nobody looks where nobody is.
            let source = problem.sources[source];
            let reader = &problem.nodes[problem.reads[source.read as usize].node as usize];
            self.add(&[&[!source.lit], reader.active.as_slice()].concat());
        }
    }

    /// Tells the core of the sources of a choice from one number to another, of which, or of the others, one is true if `needs` says so.
    fn tell_sources(&mut self, choice: u32, from: usize, to: usize, mut needs: Vec<batsat::Lit>) {
        let problem = self.problem;
        let sources = &problem.choices[choice as usize].sources;
        let to = to.min(sources.len());
        for &source in &sources[from..to] {
            let lit = problem.sources[source as usize].lit;
            self.tell_source(source);
            self.add(&[!lit, problem.choices[choice as usize].reason]);
            needs.push(self.core_literal(lit));
        }
        if to < sources.len() {
            let more = batsat::Lit::new(self.new_own_var(), true);
            needs.push(more);
            self.open.push(OpenChoice { choice, n_known: to, more });
        }
        self.core.add_clause_reuse(&mut needs);
    }

    fn tell_source(&mut self, source: u32) {
        let source = self.problem.sources[source as usize];
        if let Some(write) = source.write {
            self.add(&[!source.lit, self.problem.writes[write as usize].active]);
        }
    }

    /// A variable of the core that is none of the problem's.
    fn new_own_var(&mut self) -> batsat::Var {
        self.theory.names.ours.push(u32::MAX);
        self.core.new_var(lbool::FALSE, true)
    }

    /// Tells the core more sources where the last "no" depends on there being none. Says whether it does anywhere.
    pub(super) fn widen(&mut self) -> bool {
        let reasons: FxHashSet<batsat::Var> = self.core.unsat_core().iter().map(|lit| lit.var()).collect();
        let (too_narrow, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.open).into_iter().partition(|open| reasons.contains(&open.more.var()));
        self.open = rest;
        for open in &too_narrow {
            self.tell_sources(open.choice, open.n_known, open.n_known * GROWTH, vec![!open.more]);
        }
        !too_narrow.is_empty()
    }

    /// Tells the core that sections which overlap in the solution exclude one another. Says whether there are any.
    pub(super) fn exclude_overlaps(&mut self, solution: &Solution) -> bool {
        let overlaps = self.overlapping(solution);
        for &(first, second) in &overlaps {
            self.exclude(first, second);
        }
        !overlaps.is_empty()
    }

    /// Pairs of sections that overlap and must not.
    fn overlapping(&self, solution: &Solution) -> Vec<(u32, u32)> {
        let sections = &self.problem.sections;
        if sections.is_empty() {
            return Vec::new();
        }
        let mut position = vec![u32::MAX; self.problem.nodes.len()];
        for (at, &node) in solution.order.iter().enumerate() {
            position[node as usize] = at as u32;
        }
        let place = |node: Node| position[node as usize];
        let is_taken = |at: &u32| sections[*at as usize].taken.iter().any(|&lit| solution.holds(lit));
        let mut taken: Vec<u32> = (0..sections.len() as u32).filter(is_taken).collect();
        taken.sort_by_key(|&at| (sections[at as usize].group, place(sections[at as usize].begin)));
        let mut overlaps = Vec::new();
        let mut held: Vec<u32> = Vec::new();
        for &at in &taken {
            let this = &sections[at as usize];
            held.retain(|&other| {
                let other = &sections[other as usize];
                let over = other.end.is_some_and(|(end, by)| solution.holds(by) && place(end) < place(this.begin));
                other.group == this.group && !over
            });
            let hinders = |&&other: &&u32| !(this.shared && sections[other as usize].shared);
            overlaps.extend(held.iter().filter(hinders).map(|&other| (other.min(at), other.max(at))));
            held.push(at);
        }
        overlaps
    }

    /// One of the two is over before the other begins, if both are taken.
    fn exclude(&mut self, first: u32, second: u32) {
        let is_new = self.overlaps.insert((first, second));
        debug_assert!(is_new, "sections that exclude one another overlap");
        let [a, b] = [first, second].map(|at| &self.problem.sections[at as usize]);
        let mut orders: Vec<Lit> = Vec::new();
        for (before, after) in [(a, b), (b, a)] {
            let Some((end, by)) = before.end else { continue };
            let lit = self.var();
            self.theory.order.add_conditional(lit, end, after.begin);
            self.add(&[!lit, by]);
            orders.push(lit);
        }
        for &taken_a in &a.taken {
            for &taken_b in &b.taken {
                self.add(&[&[!taken_a, !taken_b], orders.as_slice()].concat());
            }
        }
    }
}
