//! Loops in code that was written with jumps.

use std::collections::BTreeMap;

use crate::base::Span;
use crate::program::{Instr, Loop, Pc};

/// The loops that can be told from the rest by a range of the code: those that are entered through their head alone.
/// Other cycles are left out; spinning in them is not noticed, which costs time but no result.
pub(super) fn find_loops(code: &[Instr], spans: &[Span]) -> Vec<Loop> {
    let mut ends: BTreeMap<Pc, Pc> = BTreeMap::new();
    for (from, to) in edges(code).filter(|(from, to)| to <= from) {
        let end = ends.entry(to).or_insert(0);
        *end = (*end).max(from + 1);
    }
    let candidates = ends.into_iter().map(|(head, end)| Loop { head, end, span: spans[head as usize] });
    candidates.filter(|candidate| entered_through_head(code, *candidate)).collect()
}

fn entered_through_head(code: &[Instr], Loop { head, end, .. }: Loop) -> bool {
    let inside = head..end;
    edges(code).all(|(from, to)| inside.contains(&from) || to == head || !inside.contains(&to))
}

fn edges(code: &[Instr]) -> impl Iterator<Item = (Pc, Pc)> {
    let numbered = code.iter().enumerate();
    numbered.flat_map(|(pc, instr)| instr.successors(pc as Pc).map(move |to| (pc as Pc, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the loops of the code are, each from its head to its end.
    fn loops(code: &[Instr]) -> Vec<(Pc, Pc)> {
        let spans = vec![Span::default(); code.len()];
        find_loops(code, &spans).iter().map(|found| (found.head, found.end)).collect()
    }

    fn jump(target: Pc) -> Instr {
        Instr::Jump { target }
    }

    fn branch(then: Pc, otherwise: Pc) -> Instr {
        Instr::Branch { condition: 0.into(), then, otherwise }
    }

    #[test]
    fn two_jumps_to_one_head_are_one_loop() {
        let code = [Instr::Yield, branch(0, 2), Instr::Yield, branch(0, 4), Instr::End];
        assert_eq!(loops(&code), [(0, 4)]);
    }

    #[test]
    fn a_loop_that_is_entered_in_its_middle_is_left_out() {
        let code = [jump(2), Instr::Yield, branch(1, 3), Instr::End];
        assert_eq!(loops(&code), []);
    }

    #[test]
    fn loops_nest() {
        let code = [Instr::Yield, Instr::Yield, branch(1, 3), branch(0, 4), Instr::End];
        assert_eq!(loops(&code), [(0, 4), (1, 3)]);
    }
}
