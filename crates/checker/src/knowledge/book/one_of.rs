//! "One of the edges that are not known is taken", as a tree of literals that is kept up to date.
//!
//! Clauses stay short, as a core goes through a long one again and again; and from one question to the next only those parts of the tree are said anew in which
//! something has become known, or something has been added. (Where data multiplies, most edges are never possible, and there are a hundred thousand of them.)

use super::{EdgeId, Formula, Meaning};
use crate::solver::Lit;

/// How many literals are in a clause.
const MOST_IN_CLAUSE: usize = 32;

/// The tree, from the bottom to the top.
#[derive(Default)]
pub(crate) struct OneOf {
    levels: Vec<Vec<Group>>,
}

/// Literals of which a literal says that one is true.
#[derive(Default)]
struct Group {
    members: Vec<Lit>,
    lit: Option<Lit>,
}

impl OneOf {
    /// A literal that says that one of these edges is taken. Nothing if there are none. Requires that they are sorted.
    pub(crate) fn one_of(&mut self, edges: &[(EdgeId, Lit)], formula: &mut Formula) -> Option<Lit> {
        let mut below: Vec<(usize, Lit)> = edges.iter().map(|&(edge, lit)| (edge as usize, lit)).collect();
        for level in 0.. {
            if level == self.levels.len() {
                self.levels.push(vec![]);
            }
            let above = renew(&mut self.levels[level], &below, formula);
            if above.len() <= 1 {
                self.levels.drain(level + 1..).flatten().for_each(|group| group.retire(formula));
                return above.first().map(|&(_, lit)| lit);
            }
            below = above;
        }
        unreachable!("every level is smaller than the one below it")
    }
}

/// Says anew what has changed of one level. Gives the literals of its groups.
fn renew(groups: &mut Vec<Group>, below: &[(usize, Lit)], formula: &mut Formula) -> Vec<(usize, Lit)> {
    let mut above: Vec<(usize, Lit)> = vec![];
    for members in below.chunk_by(|a, b| a.0 / MOST_IN_CLAUSE == b.0 / MOST_IN_CLAUSE) {
        let number = members[0].0 / MOST_IN_CLAUSE;
        if groups.len() <= number {
            groups.resize_with(number + 1, Group::default);
        }
        // Groups in between have nothing left.
        let last = above.last().map_or(0, |last| last.0 + 1);
        groups[last..number].iter_mut().for_each(|group| std::mem::take(group).retire(formula));
        let group = &mut groups[number];
        let is_same = group.members.iter().eq(members.iter().map(|member| &member.1));
        if !is_same {
            std::mem::take(group).retire(formula);
            *group = Group::new(members.iter().map(|member| member.1).collect(), formula);
        }
        above.extend(group.lit.map(|lit| (number, lit)));
    }
    let end = above.last().map_or(0, |last| last.0 + 1);
    groups.drain(end..).for_each(|group| group.retire(formula));
    above
}

impl Group {
    fn new(members: Vec<Lit>, formula: &mut Formula) -> Group {
        let lit = formula.var(Meaning::Goal);
        formula.clause([&[!lit], members.as_slice()].concat());
        Group { members, lit: Some(lit) }
    }

    /// Nobody looks for it any more.
    fn retire(self, formula: &mut Formula) {
        if let Some(lit) = self.lit {
            formula.clause([!lit]);
        }
    }
}
