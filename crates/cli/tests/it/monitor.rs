//! `unthread check --monitor store-buffers`: what it prints, and what it refuses.

use super::{STORE_BUFFERING, unthread, unthread_stdin};
use expect_test::expect;

#[test]
fn a_store_that_can_wait_is_named_and_the_schedule_shows_it() {
    let program = "shared x, y;\nthread left { x = 1; let r = y; }\nthread right { y = 1; let r = x; }\n";
    let run = unthread_stdin(program, &["check", "-", "--monitor", "store-buffers"]);
    expect![[r#"
        exit code 1
        <stdin>: tso: violation: store-buffers: tso has executions that sc does not have: in left, the store to `x` can wait until after the load of `y`
         --> <stdin>:2:15
          |
        2 | thread left { x = 1; let r = y; }
          |               ^^^^^^         - in thread left
          |               |
          |               in thread left
        3 | thread right { y = 1; let r = x; }
          |                ------         - in thread right
          |                |
          |                in thread right
    "#]]
    .assert_eq(&run.shown().split_inclusive('\n').take(12).collect::<String>());
    let schedule = run.out.lines().find_map(|line| line.strip_prefix("schedule: ")).expect("there is one");
    let replay = unthread_stdin(program, &["replay", schedule, "-", "--memory", "tso"]);
    assert_eq!(replay.code, 0, "nothing is wrong but that sc does not have it");
    assert!(replay.out.ends_with("note: sc has no such execution\n"), "{}", replay.out);
}

#[test]
fn what_sc_verifies_holds_under_tso_if_nothing_can_wait() {
    let fenced = STORE_BUFFERING.replace("x = 1;", "x = 1; fence;").replace("y = 1;", "y = 1; fence;");
    let run = unthread_stdin(&fenced, &["check", "-", "--monitor", "store-buffers", "--memory", "all", "--json"]);
    assert_eq!(run.code, 0, "{}", run.out);
    let reports: Vec<serde_json::Value> =
        run.out.lines().map(|line| serde_json::from_str(line).expect("it is json")).collect();
    let coverage = |memory: &str| format!("all executions: those of sc, and {memory} has no others");
    for (report, memory) in reports.iter().zip(["tso", "pso"]) {
        assert_eq!(report["memory"], memory);
        assert_eq!((&report["engine"], &report["borderline"]), (&"dpor".into(), &0.into()));
        assert_eq!(report["coverage"], coverage(memory).as_str());
    }
    assert_eq!(reports.len(), 2, "sc is what the others are compared with");
}

#[test]
fn what_is_wrong_under_sc_is_shown_for_the_memory_model() {
    let program = "shared x; thread t * 2 { x += 1; } finally { assert(x == 2); }";
    for engine in ["dpor", "icb", "random", "pct"] {
        let run = unthread_stdin(program, &["check", "-", "--monitor", "store-buffers", "--engine", engine]);
        assert_eq!(run.code, 1, "{engine}");
        assert!(run.out.contains("tso: violation: assertion") && run.out.contains("flush x = 1"), "{}", run.out);
    }
}

#[test]
fn a_monitor_needs_executions_and_stores_that_could_wait() {
    let refused = |arguments: &[&str]| {
        let file = "corpus/programs/store_buffering.ut";
        let run = unthread(&[&["check", file, "--monitor", "store-buffers"], arguments].concat());
        assert_eq!(run.code, 2, "{}", run.out);
        run.err
    };
    assert!(refused(&["--memory", "sc"]).contains("asks whether tso or pso differ from sc"));
    for engine in ["exhaustive", "mcr"] {
        assert!(refused(&["--engine", engine]).contains("does not run one for each trace"), "{engine}");
    }
}

#[test]
fn icb_finds_the_same_by_traces_as_by_states() {
    let says = |memory: &str, more: &[&str]| {
        let file = "corpus/programs/store_buffering.ut";
        let run =
            unthread(&[&["check", file, "--engine", "icb", "--preemptions", "1", "--memory", memory], more].concat());
        run.out.contains("right.r == 0): found")
    };
    for (memory, is_found) in [("sc", false), ("tso", true), ("pso", true)] {
        assert_eq!([says(memory, &[]), says(memory, &["--traces"])], [is_found; 2], "{memory}");
    }
}
