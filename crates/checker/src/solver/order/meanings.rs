//! What the variables of a problem say about its order.

use crate::solver::problem::{Lit, Node, Problem, WriteId};
use std::ops::{Index, Range};

/// One thing that a variable says.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// A read sees something.
    Source(u32),
    /// A write happens.
    Write(WriteId),
    /// A node that others are after, on some condition, is active.
    Active(Node),
    /// A section is taken.
    Taken(u32),
    /// A section ends.
    Ends(u32),
}

/// All meanings, variable by variable.
pub(super) struct Meanings {
    /// Where each variable's meanings begin.
    starts: Vec<u32>,
    all: Vec<Meaning>,
}

impl Meanings {
    pub(super) fn new(problem: &Problem) -> Meanings {
        let mut all: Vec<(u32, Meaning)> = Vec::new();
        let mut add = |lit: Lit, meaning: Meaning| {
            debug_assert!(lit.is_positive(), "what happens has a variable of its own");
            all.push((lit.var(), meaning));
        };
        for (at, source) in problem.sources.iter().enumerate() {
            add(source.lit, Meaning::Source(at as u32));
        }
        for (at, write) in problem.writes.iter().enumerate() {
            add(write.active, Meaning::Write(at as WriteId));
        }
        for (at, section) in problem.sections.iter().enumerate() {
            section.taken.iter().for_each(|&lit| add(lit, Meaning::Taken(at as u32)));
            section.end.iter().for_each(|end| add(end.1, Meaning::Ends(at as u32)));
        }
        // Orders between sections are added later on: from their ends.
        let ends = problem.sections.iter().filter_map(|section| section.end).map(|end| end.0);
        let mut firsts: Vec<Node> = problem.conditional.iter().map(|order| order.1).chain(ends).collect();
        firsts.sort_unstable();
        firsts.dedup();
        for node in firsts {
            problem.nodes[node as usize].active.iter().for_each(|&lit| add(lit, Meaning::Active(node)));
        }
        all.sort_by_key(|meaning| meaning.0);
        let mut starts = vec![0; problem.n_vars as usize + 1];
        for &(var, _) in &all {
            starts[var as usize + 1] += 1;
        }
        for var in 0..problem.n_vars as usize {
            starts[var + 1] += starts[var];
        }
        Meanings { starts, all: all.into_iter().map(|meaning| meaning.1).collect() }
    }

    /// The numbers of a literal's meanings. Variables that are no part of the problem have none.
    pub(super) fn of(&self, lit: Lit) -> Range<usize> {
        match self.starts.get(lit.var() as usize..lit.var() as usize + 2) {
            Some(ends) => ends[0] as usize..ends[1] as usize,
            None => 0..0,
        }
    }
}

impl Index<usize> for Meanings {
    type Output = Meaning;

    fn index(&self, at: usize) -> &Meaning {
        &self.all[at]
    }
}
