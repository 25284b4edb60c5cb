//! Problems as SMT-LIB text, for other solvers to judge. Written from the definition in `problem.rs`, not from `order.rs`.

use super::{Lit, Node, Problem, Section};
use std::fmt::Write as _;

/// The problem, with further clauses and assumptions, as a script in the logic QF_IDL that ends with `check-sat`.
pub fn to_smtlib(problem: &Problem, n_vars: u32, added: &[Vec<Lit>], assumptions: &[Lit]) -> String {
    let mut text = String::from("(set-logic QF_IDL)\n");
    for var in 0..n_vars.max(problem.n_vars) {
        let _ = writeln!(text, "(declare-const b{var} Bool)");
    }
    for node in 0..problem.nodes.len() {
        let _ = writeln!(text, "(declare-const n{node} Int)");
    }
    for clause in problem.clauses.iter().chain(added) {
        let _ = writeln!(text, "(assert {})", any(clause));
    }
    let mut assert_before = |conditions: &str, a: Node, b: Node| {
        let (active_a, active_b) = (active(problem, a), active(problem, b));
        let _ = writeln!(text, "(assert (=> (and true {conditions} {active_a} {active_b}) (< n{a} n{b})))");
    };
    for pair in problem.chains.iter().flat_map(|chain| chain.windows(2)) {
        assert_before("", pair[0], pair[1]);
    }
    for &(a, b) in &problem.edges {
        assert_before("", a, b);
    }
    for &(lit, a, b) in &problem.conditional {
        assert_before(&literal(lit), a, b);
    }
    if let Some(last) = problem.last {
        (0..problem.nodes.len() as Node).filter(|&node| node != last).for_each(|node| assert_before("", node, last));
    }
    for nodes in writes_by_cell(problem) {
        for (at, &a) in nodes.iter().enumerate() {
            for &b in nodes[at + 1..].iter().filter(|&&b| b != a) {
                let _ = writeln!(text, "(assert (not (= n{a} n{b})))");
            }
        }
    }
    sources(problem, &mut text);
    choices(problem, &mut text);
    sections(problem, &mut text);
    for &lit in assumptions {
        let _ = writeln!(text, "(assert {})", literal(lit));
    }
    text.push_str("(check-sat)\n");
    text
}

fn choices(problem: &Problem, text: &mut String) {
    for choice in &problem.choices {
        let sources: Vec<Lit> = choice.sources.iter().map(|&source| problem.sources[source as usize].lit).collect();
        let _ = writeln!(text, "(assert (= {} {}))", literal(choice.reason), any(&sources));
    }
}

fn sections(problem: &Problem, text: &mut String) {
    let over = |a: &Section, b: &Section| match a.end {
        Some((end, by)) => format!("(and {} (< n{end} n{}))", literal(by), b.begin),
        None => "false".to_string(),
    };
    for (at, a) in problem.sections.iter().enumerate() {
        for b in problem.sections[at + 1..].iter().filter(|b| a.group == b.group && !(a.shared && b.shared)) {
            let (taken, orders) = ((any(&a.taken), any(&b.taken)), (over(a, b), over(b, a)));
            let _ = writeln!(text, "(assert (=> (and {} {}) (or {} {})))", taken.0, taken.1, orders.0, orders.1);
        }
    }
}

fn sources(problem: &Problem, text: &mut String) {
    for source in &problem.sources {
        let read = problem.reads[source.read as usize];
        let lit = literal(source.lit);
        let seen = source.write.map(|write| problem.writes[write as usize]);
        if let Some(seen) = seen {
            let _ = writeln!(text, "(assert (=> {lit} {}))", literal(seen.active));
            if !source.own {
                let _ = writeln!(text, "(assert (=> {lit} (< n{} n{})))", seen.node, read.node);
            }
            if let Some(own) = read.own.filter(|_| !source.own) {
                let own = problem.writes[own as usize].node;
                let _ = writeln!(text, "(assert (=> {lit} (< n{own} n{})))", seen.node);
            }
        }
        for (other, write) in problem.writes.iter().enumerate() {
            if source.write == Some(other as u32) || write.node == read.node || write.cell != read.cell {
                continue;
            }
            let replaced = seen.map_or("false".to_string(), |seen| format!("(< n{} n{})", write.node, seen.node));
            let later = format!("(< n{} n{})", read.node, write.node);
            let happens = literal(write.active);
            let _ = writeln!(text, "(assert (=> (and {lit} {happens}) (or {replaced} {later})))");
        }
    }
}

fn writes_by_cell(problem: &Problem) -> Vec<Vec<Node>> {
    let n_cells = problem.writes.iter().map(|write| write.cell as usize + 1).max().unwrap_or(0);
    let mut nodes = vec![vec![]; n_cells];
    for write in &problem.writes {
        nodes[write.cell as usize].push(write.node);
    }
    nodes
}

fn active(problem: &Problem, node: Node) -> String {
    any(&problem.nodes[node as usize].active)
}

fn any(literals: &[Lit]) -> String {
    let parts: Vec<String> = literals.iter().map(|&lit| literal(lit)).collect();
    format!("(or false {})", parts.join(" "))
}

fn literal(lit: Lit) -> String {
    if lit.is_positive() { format!("b{}", lit.var()) } else { format!("(not b{})", lit.var()) }
}
