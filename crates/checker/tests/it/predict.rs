//! What a single execution implies: `predict` reports it without learning from any other.

use expect_test::{Expect, expect};
use std::collections::BTreeMap;
use std::sync::Arc;
use unthread_checker::base::Source;
use unthread_checker::engines::{check, predict};
use unthread_checker::execution::MemoryModel;
use unthread_checker::frontend::ut;
use unthread_checker::program::Program;
use unthread_checker::search::{Options, Report, StopReason, Unwatched};
use unthread_generate::{Features, cases, for_all, sketches};

fn program(text: &str) -> Program {
    ut::parse(Arc::new(Source::new("test.ut", text.to_string())), &BTreeMap::new()).expect("the program is right")
}

fn shown(report: &Report) -> String {
    let mut shown = format!("{}, {} execution\n", report.verdict().name(), report.statistics.executions);
    for violation in &report.violations {
        shown += &format!("{}: {} [{}]\n", violation.kind.name(), violation.message, violation.schedule);
    }
    shown
}

fn predicts(text: &str, expected: Expect) {
    expected.assert_eq(&shown(&predict(&program(text), &Options::new(MemoryModel::Tso), &Unwatched)));
}

#[test]
fn a_null_dereference_is_predicted() {
    predicts(
        "struct Node { value }
        shared p = null;
        main {
            p = new Node;
            let user = fork use_it();
            p = null;
            join user;
        }
        thread use_it() { let q = p; if q != 7 { q.value = 1; } }",
        expect![[r#"
            violation, 1 execution
            null-dereference: a null pointer is used [0.0f.0x2.0f.1x2]
        "#]],
    );
}

#[test]
fn a_deadlock_is_predicted_without_any_data() {
    predicts(
        "mutex a, b;
        thread ab { lock(a); lock(b); unlock(b); unlock(a); }
        thread ba { lock(b); lock(a); unlock(a); unlock(b); }",
        expect![[r#"
            violation, 1 execution
            deadlock: ab waits for `b`, which ba holds; ba waits for `a`, which ab holds [0.1]
        "#]],
    );
}

#[test]
fn a_lost_wakeup_is_predicted() {
    predicts(
        "mutex m; condvar c;
        thread waiter { lock(m); wait(c, m); unlock(m); }
        thread notifier { lock(m); notify(c); unlock(m); }",
        expect![[r#"
            violation, 1 execution
            deadlock: waiter waits to be notified of `c` [1x3.0x2.1]
        "#]],
    );
}

#[test]
fn a_data_race_is_predicted() {
    predicts(
        "plain data = 0; mutex m;
        thread careful { lock(m); data = 1; unlock(m); }
        thread careless { data = 2; }",
        expect![[r#"
            violation, 1 execution
            data-race: careful and careless access `data` at the same time [0x2.1]
        "#]],
    );
}

#[test]
fn an_assertion_about_another_value_is_predicted() {
    predicts(
        "shared x = 0, y = 0;
        thread writer { x = 1; }
        thread reader { let r = x; y = r; assert(r == 1); }",
        expect![[r#"
            violation, 1 execution
            assertion: r == 1 [1x3]
        "#]],
    );
}

#[test]
fn a_broken_condition_on_final_values_is_predicted() {
    predicts(
        "shared x = 0;
        thread one { x = 1; }
        thread two { x = 2; }
        forbidden (x == 1);",
        expect![[r#"
            violation, 1 execution
            condition: the program can end in a forbidden final state [0.1.1f.0f.0.1]
        "#]],
    );
}

#[test]
fn what_can_go_one_way_only_is_verified() {
    predicts(
        "shared x = 0;
        main { let child = fork work(); join child; assert(x == 1); }
        thread work() { x = 1; }",
        expect![[r#"
            verified, 1 execution
        "#]],
    );
}

#[test]
fn nothing_is_verified_while_other_executions_are_possible() {
    predicts(
        "shared x = 0, y = 0;
        thread writer { x = 1; }
        thread reader { let r = x; y = r; }",
        expect![[r#"
            inconclusive, 1 execution
        "#]],
    );
}

/// Predictions are among what a search finds, and "verified" is what a search says.
#[test]
fn predictions_are_true() {
    for_all(sketches(Features::ALL), cases(300), |sketch| {
        let program = sketch.program();
        for memory in MemoryModel::MACHINES {
            let options = Options { all_violations: true, ..Options::new(memory) };
            let found = check(&program, &options, &Unwatched);
            if found.stop != StopReason::Exhausted {
                continue;
            }
            let predicted = predict(&program, &options, &Unwatched);
            let is_found = |kind, span| found.violations.iter().any(|v| v.kind == kind && v.span == span);
            let wrong = predicted.violations.iter().find(|violation| !is_found(violation.kind, violation.span));
            if let Some(wrong) = wrong {
                return Err(format!("{memory}: predicted {wrong:?}, which a search does not find"));
            }
            let everything = predicted.stop == StopReason::Exhausted;
            if everything && predicted.violations.len() != found.violations.len() {
                return Err(format!("{memory}: there is more than {predicted:#?}: {found:#?}"));
            }
            if !everything && predicted.stop != StopReason::Predicted {
                return Err(format!("{memory}: {:?}", predicted.stop));
            }
        }
        Ok(())
    });
}
