//! Values of registers matter only through what can still be computed from them.

use std::collections::BTreeMap;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::check;
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::search::{Engine, Options, Report, Unwatched};

/// One thread counts, another reads twice and does something with what it read.
fn reads_of_a_counter(then: &str) -> Report {
    let text = format!(
        "shared x = 0, y = 0;\nthread writer {{ for i in 1..9 {{ x = i; y = i; }} }}\n\
         thread reader {{ let a = x; let b = y; let c = x; {then} }}\n"
    );
    let program = ut::parse(Arc::new(Source::new("counter.ut", text)), &BTreeMap::new()).expect("it is a program");
    check(&program, &Options { all_violations: true, ..Options::new(MemoryModel::Sc) }, &Unwatched)
}

#[test]
fn values_that_pass_the_same_tests_are_one_state() {
    let unused = reads_of_a_counter("").statistics.states;
    let states = |then: &str| reads_of_a_counter(then).statistics.states;
    // All values of `a` are at least 0, so nothing is known of it that was not known before.
    assert_eq!(states("assert(a >= 0, \"it counts up\");"), unused);
    // Of `a` and `b` together there is one bit to know.
    let one_bit = states("assert(a <= b + 1, \"b lags behind\");");
    let everything = states("assert(a + 100 * b != 0 - c, \"all of them matter\");");
    assert!(unused < one_bit && 2 * one_bit < everything, "{unused}, {one_bit}, {everything}");
}

#[test]
fn tests_of_values_that_differ_keep_states_apart() {
    assert!(reads_of_a_counter("assert(a < 9, \"at most 8\");").violations.is_empty());
    let messages = |then: &str| -> Vec<String> {
        let report = reads_of_a_counter(then);
        report.violations.iter().map(|violation| violation.message.clone()).collect()
    };
    assert_eq!(messages("assert(a < 8, \"less than 8\");"), ["less than 8"]);
    assert_eq!(messages("assert(a + b != 7, \"not 7\");"), ["not 7"]);
    assert_eq!(messages("if c == 5 { assert(a != b, \"not equal\"); }"), ["not equal"]);
    assert_eq!(messages("let d = 8 / (a - 3); assert(d > 0 - 9, \"in range\");"), ["division by zero"]);
}

#[test]
fn engines_agree_about_values_that_cannot_be_told_apart() {
    let text = "shared x = 0, y = 0;\nthread writer { for i in 1..4 { x = i; y = i; } }\n\
                thread reader { let a = x; let b = y; let c = x; assert(a <= b + 1, \"lags\"); assert(a + c != 5, \"five\"); }\n";
    let program = ut::parse(Arc::new(Source::new("lags.ut", text)), &BTreeMap::new()).expect("it is a program");
    for memory in MemoryModel::MACHINES {
        let messages = |engine: Engine| -> Vec<String> {
            let report = check(&program, &Options { engine, all_violations: true, ..Options::new(memory) }, &Unwatched);
            let mut messages: Vec<String> =
                report.violations.iter().map(|violation| violation.message.clone()).collect();
            messages.sort();
            messages
        };
        let expected = messages(Engine::Exhaustive);
        for engine in [Engine::Cumulative, Engine::Mcr, Engine::Dpor] {
            assert_eq!(messages(engine), expected, "{memory}, {engine}");
        }
    }
}
