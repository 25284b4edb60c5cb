//! `unthread outcomes`: final states, and whether a memory model makes a difference.

use super::{STORE_BUFFERING, unthread_stdin};
use expect_test::expect;

#[test]
fn every_final_state_is_listed_once() {
    let program = "shared x = 0;\nthread a { x = 1; }\nthread b { let r = x; x = 2; }\n";
    for engine in ["auto", "exhaustive", "cumulative"] {
        let run = unthread_stdin(program, &["outcomes", "-", "--memory", "sc", "--engine", engine]);
        expect![[r#"
            -: sc: 2 final states
              x = 1
              x = 2
        "#]]
        .assert_eq(&run.out);
        assert_eq!(run.code, 0, "{engine}");
    }
}

#[test]
fn store_buffers_make_a_difference_and_one_execution_shows_it() {
    let run = unthread_stdin(STORE_BUFFERING, &["outcomes", "-", "--memory", "tso", "--compare", "sc"]);
    assert_eq!(run.code, 1);
    assert!(run.out.starts_with("-: tso: not the same as under sc, where this cannot happen\n"), "{}", run.out);
    assert!(run.out.contains("replay: unthread replay "), "{}", run.out);
}

#[test]
fn without_stores_that_wait_there_is_no_difference() {
    let program = "shared x = 0;\nthread a { x = 1; }\nthread b { let r = x; }\n";
    let run = unthread_stdin(program, &["outcomes", "-", "--memory", "all", "--compare", "sc"]);
    expect![[r#"
        -: sc: the same as under sc: 2 combinations of histories
        -: tso: the same as under sc: 2 combinations of histories
        -: pso: the same as under sc: 2 combinations of histories
    "#]]
    .assert_eq(&run.out);
    assert_eq!(run.code, 0);
}

#[test]
fn an_execution_with_a_failed_assertion_has_no_final_state() {
    // What comes after the assertion does not happen, and what is left by the others is no final state either.
    let program = "shared x = 0, y = 0;\nthread a { x = 1; }\nthread b { let r = x; assert(r == 1); y = 1; }\n";
    for engine in ["auto", "exhaustive", "mcr", "cumulative", "dpor", "icb", "lazy"] {
        let run = unthread_stdin(program, &["outcomes", "-", "--memory", "sc", "--engine", engine]);
        expect![[r#"
            -: sc: 1 final state
              x = 1, y = 1
        "#]]
        .assert_eq(&run.out);
        let warning = "some executions do not come to a final state: assertion: r == 1";
        assert!(run.code == 0 && run.err.contains(warning), "{engine}: {}", run.err);
    }
}
