//! Checks answers, independently of how they were found: the definition in `problem.rs`, word by word.

use super::{Lit, Node, Problem, Section, Solution};

/// Of so many solutions, one is checked in a build that is not for debugging.
const SAMPLE: u64 = 64;

/// Whether the solution with this number, counted from 1, is checked: each of them with debug assertions, else a sample.
pub(crate) fn is_checked(number: u64) -> bool {
    cfg!(debug_assertions) || number % SAMPLE == 1
}

/// Says why a solution is none, if it is not.
pub fn verify(problem: &Problem, added: &[Vec<Lit>], solution: &Solution) -> Result<(), String> {
    for clause in problem.clauses.iter().chain(added) {
        if !clause.iter().any(|&lit| solution.holds(lit)) {
            return Err(format!("clause {clause:?} is false"));
        }
    }
    let mut position = vec![None; problem.nodes.len()];
    for (at, &node) in solution.order.iter().enumerate() {
        let place = position.get_mut(node as usize).ok_or_else(|| format!("there is no node {node}"))?;
        if place.replace(at).is_some() {
            return Err(format!("node {node} occurs twice"));
        }
    }
    for (node, info) in problem.nodes.iter().enumerate() {
        let active = info.active.iter().any(|&lit| solution.holds(lit));
        if active != position[node].is_some() {
            return Err(format!("node {node} should be in the order: {active}"));
        }
    }
    let before = |a: Node, b: Node| match (position[a as usize], position[b as usize]) {
        (Some(a), Some(b)) => a < b,
        _ => true,
    };
    verify_edges(problem, solution, &before)?;
    verify_choices(problem, solution)?;
    verify_sections(problem, solution, &before)?;
    verify_sources(problem, solution, &before)
}

fn verify_choices(problem: &Problem, solution: &Solution) -> Result<(), String> {
    for choice in &problem.choices {
        let chosen = choice.sources.iter().any(|&source| solution.holds(problem.sources[source as usize].lit));
        if chosen != solution.holds(choice.reason) {
            return Err(format!("choice {choice:?} is made: {chosen}"));
        }
    }
    Ok(())
}

fn verify_sections(problem: &Problem, solution: &Solution, before: &impl Fn(Node, Node) -> bool) -> Result<(), String> {
    let taken = |section: &&Section| section.taken.iter().any(|&lit| solution.holds(lit));
    let taken: Vec<&Section> = problem.sections.iter().filter(taken).collect();
    let over = |a: &Section, b: &Section| a.end.is_some_and(|(end, by)| solution.holds(by) && before(end, b.begin));
    for (at, a) in taken.iter().enumerate() {
        for b in taken[at + 1..].iter().filter(|b| a.group == b.group && !(a.shared && b.shared)) {
            if !over(a, b) && !over(b, a) {
                return Err(format!("sections overlap: {a:?}, {b:?}"));
            }
        }
    }
    Ok(())
}

fn verify_edges(problem: &Problem, solution: &Solution, before: &impl Fn(Node, Node) -> bool) -> Result<(), String> {
    let chains = problem.chains.iter().flat_map(|chain| chain.windows(2)).map(|pair| (pair[0], pair[1]));
    let conditional = problem.conditional.iter().filter(|(lit, ..)| solution.holds(*lit)).map(|&(_, a, b)| (a, b));
    let last = problem.last.into_iter().flat_map(|last| {
        let others = (0..problem.nodes.len() as Node).filter(move |&node| node != last);
        others.map(move |node| (node, last))
    });
    for (a, b) in chains.chain(problem.edges.iter().copied()).chain(conditional).chain(last) {
        if !before(a, b) {
            return Err(format!("node {a} should be before {b}"));
        }
    }
    Ok(())
}

fn verify_sources(problem: &Problem, solution: &Solution, before: &impl Fn(Node, Node) -> bool) -> Result<(), String> {
    for source in problem.sources.iter().filter(|source| solution.holds(source.lit)) {
        let read = problem.reads[source.read as usize];
        let seen = source.write.map(|write| problem.writes[write as usize]);
        if let Some(seen) = seen {
            if !solution.holds(seen.active) {
                return Err(format!("read {} sees a write that does not happen", source.read));
            }
            if !source.own && !before(seen.node, read.node) {
                return Err(format!("read {} sees a later write", source.read));
            }
            let own = read.own.filter(|_| !source.own).map(|own| problem.writes[own as usize].node);
            if own.is_some_and(|own| !before(own, seen.node)) {
                return Err(format!("read {} sees what its own write has replaced", source.read));
            }
        }
        for (other, write) in problem.writes.iter().enumerate() {
            let is_other = source.write != Some(other as u32) && write.node != read.node;
            if !is_other || write.cell != read.cell || !solution.holds(write.active) {
                continue;
            }
            let replaced = seen.is_some_and(|seen| before(write.node, seen.node));
            if !replaced && !before(read.node, write.node) {
                return Err(format!("write {other} stands between read {} and what it sees", source.read));
            }
        }
    }
    Ok(())
}
