//! Integration tests of the checker.

mod agreement;
mod alarm;
mod axiomatic;
mod bounded;
mod corpus;
mod cumulative;
mod dpor;
mod engines;
mod essence;
mod explain;
mod fuzz;
mod graph;
mod language;
mod layers;
mod litmus;
mod litmus_corpus;
mod litmus_truth;
mod machine;
mod metamorphic;
mod oracle;
mod oracle_graph;
mod oracle_litmus;
mod oracle_properties;
mod peers;
mod predict;
mod reduced;
mod reference;
mod regressions;
mod replay;
mod retries;
mod robustness;
mod simplest;
mod store_buffers;
mod tables;
mod traces;
mod twins;
mod z3;

/// Says why a test was skipped, where it is seen: what tests print is shown only if they fail, but for what goes straight to
/// standard error.
fn tell_skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("skipped: {why}\n").as_bytes());
}

/// Whom a violation is about and where they are, whichever of them was created first.
fn places(violation: &unthread_checker::search::Violation) -> Vec<(Option<&String>, Option<u32>)> {
    let first = (violation.thread.as_ref(), violation.span.map(|span| span.start));
    let others = violation.also.iter().map(|also| (Some(&also.thread), Some(also.span.start)));
    let mut places: Vec<_> = [first].into_iter().chain(others).collect();
    places.sort_unstable();
    places
}
