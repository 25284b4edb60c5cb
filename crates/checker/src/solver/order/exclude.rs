//! What follows from sections that exclude one another.
//!
//! If two sections `a` and `b` of a group are taken and not both shared, and `a` begins before `b` ends, or `b` never ends, then `a` ends before `b` begins. Of each chain only one section has
//! to be looked at: the latest that begins before an end, the earliest that ends after a beginning. (Sections of a chain that lie in one another can make this miss something; whoever looks
//! at the solution sees that they overlap.)

use super::{Consistency, Order};
use crate::solver::precedence::Reasons;
use crate::solver::problem::{Lit, Node, Problem};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

/// The sections of a problem.
pub(super) struct Groups {
    /// For each group and chain, the sections there, by where they begin.
    by_chain: FxHashMap<u32, Vec<(u32, Vec<u32>)>>,
    /// Sections by the node where they end.
    ends: FxHashMap<Node, SmallVec<[u32; 2]>>,
}

impl Groups {
    pub(super) fn new(problem: &Problem) -> Groups {
        let mut groups = Groups { by_chain: FxHashMap::default(), ends: FxHashMap::default() };
        for (at, section) in problem.sections.iter().enumerate() {
            let chain = problem.nodes[section.begin as usize].chain;
            let of_group = groups.by_chain.entry(section.group).or_default();
            match of_group.iter_mut().find(|of| of.0 == chain) {
                Some(of) => of.1.push(at as u32),
                None => of_group.push((chain, vec![at as u32])),
            }
            if let Some((end, _)) = section.end {
                groups.ends.entry(end).or_default().push(at as u32);
            }
        }
        for (_, sections) in groups.by_chain.values_mut().flatten() {
            sections.sort_by_key(|&at| problem.nodes[problem.sections[at as usize].begin as usize].index);
        }
        groups
    }
}

impl Order<'_> {
    /// A section is taken, or will not end.
    pub(super) fn exclude(&mut self, this: u32) -> Consistency {
        if self.taken(this).is_none() {
            return Ok(());
        }
        let group = self.problem.sections[this as usize].group;
        for chain in 0..self.groups.by_chain[&group].len() {
            if let Some(earlier) = self.latest_before(this, chain) {
                self.end_before(earlier, this)?;
            }
            if let Some(later) = self.earliest_after(this, chain) {
                self.end_before(this, later)?;
            }
        }
        Ok(())
    }

    /// An end has come to be after what is in a chain with these indices.
    pub(super) fn exclude_earlier(&mut self, node: Node, chain: u32, from: u32, to: u32) -> Consistency {
        let ending = self.ending(node).filter(|&this| self.taken(this).is_some());
        for this in ending.collect::<SmallVec<[u32; 2]>>() {
            let group = self.problem.sections[this as usize].group;
            let Some((_, others)) = self.groups.by_chain[&group].iter().find(|of| of.0 == chain) else { continue };
            let range = [from, to].map(|index| others.partition_point(|&other| self.begins(other) < index));
            let latest = others[range[0]..range[1]].iter().rev().copied().find(|&other| self.hinders(other, this));
            latest.map_or(Ok(()), |latest| self.end_before(latest, this))?;
        }
        Ok(())
    }

    /// The latest section of a chain that begins before this one ends.
    fn latest_before(&self, this: u32, chain: usize) -> Option<u32> {
        let section = &self.problem.sections[this as usize];
        let (_, others) = &self.groups.by_chain[&section.group][chain];
        let n_before = match section.end.filter(|_| self.never_ends(this).is_none()) {
            Some((end, _)) => {
                others.partition_point(|&other| self.is_before(self.problem.sections[other as usize].begin, end))
            }
            None => others.len(),
        };
        others[..n_before].iter().rev().copied().find(|&other| self.hinders(other, this))
    }

    /// The earliest section of a chain that ends after this one begins.
    fn earliest_after(&self, this: u32, chain: usize) -> Option<u32> {
        let section = &self.problem.sections[this as usize];
        let (_, others) = &self.groups.by_chain[&section.group][chain];
        let is_after = |node: Node| self.is_before(section.begin, node);
        let n_not_after = others.partition_point(|&other| !is_after(self.problem.sections[other as usize].begin));
        let ends_after = |other: u32| {
            let end = self.problem.sections[other as usize].end.filter(|_| self.never_ends(other).is_none());
            end.is_none_or(|(end, _)| is_after(end))
        };
        let begun = others[..n_not_after].iter().rev().copied().filter(|&other| self.hinders(other, this));
        let begun = begun.take_while(|&other| ends_after(other)).last();
        begun.or_else(|| others[n_not_after..].iter().copied().find(|&other| self.hinders(other, this)))
    }

    /// The sections that end at a node.
    pub(super) fn ending(&self, node: Node) -> impl Iterator<Item = u32> {
        self.groups.ends.get(&node).into_iter().flatten().copied()
    }

    fn begins(&self, section: u32) -> u32 {
        self.problem.nodes[self.problem.sections[section as usize].begin as usize].index
    }

    /// Whether another section is taken, and must not overlap with this one.
    fn hinders(&self, other: u32, this: u32) -> bool {
        let both_shared = [this, other].iter().all(|&at| self.problem.sections[at as usize].shared);
        other != this && !both_shared && self.taken(other).is_some()
    }

    /// The true literal by which a section is taken.
    pub(super) fn taken(&self, section: u32) -> Option<Lit> {
        self.problem.sections[section as usize].taken.iter().copied().find(|&lit| self.holds(lit))
    }

    /// Why a section does not end, if it is known not to.
    fn never_ends(&self, section: u32) -> Option<Reasons> {
        match self.problem.sections[section as usize].end {
            None => Some(smallvec![]),
            Some((_, by)) => self.holds(!by).then(|| smallvec![!by]),
        }
    }

    /// One section ends before another begins, as it begins before the other ends.
    fn end_before(&mut self, first: u32, second: u32) -> Consistency {
        let [a, b] = [first, second].map(|at| &self.problem.sections[at as usize]);
        if let Some((end, _)) = a.end
            && self.never_ends(first).is_none()
            && self.is_before(end, b.begin)
        {
            return Ok(());
        }
        let mut why: Reasons = [first, second].iter().filter_map(|&at| self.taken(at)).collect();
        match (self.never_ends(second), b.end) {
            (None, Some((end, _))) => self.precedence.explain(a.begin, end, &mut why),
            (because, _) => why.extend(because.into_iter().flatten()),
        }
        match (self.never_ends(first), a.end) {
            (None, Some((end, _))) => self.precedence.arc(end, b.begin, why),
            (because, _) => {
                why.extend(because.into_iter().flatten());
                Err(why)
            }
        }
    }
}
