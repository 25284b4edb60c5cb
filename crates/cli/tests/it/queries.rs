//! `--dump-smt2`, `--stats` and `--predict`: what a solver was asked, and what one execution implies.

use super::{STORE_BUFFERING, folder, unthread_stdin};
use expect_test::expect;
use serde_json::Value;

/// A reader that fails if the writer was first.
const LATE_READER: &str = "\
shared x = 0;
thread writer { x = 1; }
thread reader { let r = x; assert(r == 0, \"r is 1\"); }
";

#[test]
fn every_query_becomes_a_file_and_the_same_one_every_time() {
    let dump = |name: &str| {
        let folder = folder(name);
        let queries = folder.join("queries");
        let arguments = ["check", "-", "--engine", "mcr", "--all-violations", "--dump-smt2"];
        let run = unthread_stdin(LATE_READER, &[&arguments[..], &[queries.to_str().unwrap()]].concat());
        assert_eq!(run.code, 1, "{}", run.shown());
        let mut files: Vec<_> = std::fs::read_dir(&queries).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_string();
        files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect::<Vec<_>>()
    };
    let files = dump("queries-first");
    assert_eq!(files, dump("queries-second"));
    let status = |text: &String| text.lines().find(|line| line.contains(":status")).unwrap_or("").to_string();
    let shown: Vec<String> = files.iter().map(|(name, text)| format!("{name} {}", status(text))).collect();
    expect![[r#"
        000001-deviate.smt2 (set-info :status sat)
        000002-deviate.smt2 (set-info :status unsat)
        000003-deviate.smt2 (set-info :status unsat)"#]]
    .assert_eq(&shown.join("\n"));
    assert!(files.iter().all(|(_, text)| text.ends_with("(check-sat)\n")));
}

#[test]
fn a_folder_that_cannot_be_written_is_bad_input() {
    let folder = folder("queries-file");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    let run = unthread_stdin(LATE_READER, &["check", "-", "--engine", "mcr", "--dump-smt2", file.to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("cannot make the folder"), "{}", run.err);
    // The folder is there, but something is in the way of the first file.
    std::fs::create_dir(folder.join("000001-deviate.smt2")).unwrap();
    let arguments = ["check", "-", "--engine", "mcr", "--all-violations", "--dump-smt2", folder.to_str().unwrap()];
    let run = unthread_stdin(LATE_READER, &arguments);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
    assert!(run.err.contains("cannot write"), "{}", run.err);
}

#[test]
fn an_engine_without_a_solver_has_no_queries_to_dump() {
    let run = unthread_stdin(LATE_READER, &["check", "-", "--engine", "exhaustive", "--dump-smt2", "never-made"]);
    expect![[r#"
        exit code 2
        stderr: error: `--dump-smt2` needs an engine that asks a solver: `--engine cumulative` or `mcr`
    "#]]
    .assert_eq(&run.shown());
}

#[test]
fn statistics_say_what_the_solver_did() {
    let arguments = ["check", "-", "--engine", "mcr", "--memory", "sc", "--stats", "--json"];
    let object: Value = serde_json::from_str(&unthread_stdin(STORE_BUFFERING, &arguments).out).unwrap();
    let effort = &object["effort"];
    assert!(effort["queries"].as_u64() > object["executions"].as_u64(), "{effort}");
    for field in ["decisions", "conflicts"] {
        assert!(effort[field].is_u64(), "{effort}");
    }
    for field in ["run_seconds", "learn_seconds", "solve_seconds"] {
        assert!(effort[field].as_f64().is_some_and(|seconds| seconds > 0.0 && seconds < 60.0), "{effort}");
    }
    let text = unthread_stdin(STORE_BUFFERING, &arguments[..arguments.len() - 1]);
    assert!(text.out.contains("effort: ") && text.out.contains(" %, solving "), "{}", text.out);
}

#[test]
fn one_execution_implies_the_others_failure() {
    let run = unthread_stdin(LATE_READER, &["check", "-", "--predict"]);
    expect![[r#"
        exit code 1
        <stdin>: tso: violation: assertion: r is 1
         --> <stdin>:3:28
          |
        3 | thread reader { let r = x; assert(r == 0, "r is 1"); }
          |                            ^^^^^^^^^^^^^^^^^^^^^^^^ in thread reader

        why: reader read `x` = 1 (line 3), which writer had stored (line 2)

          step  line  0 writer        1 reader     its store buffer
        ▸    1     2  x = 1 ⇒ memory
        ▸    3     3                  r: x → 1
             4     3                  ✗ assertion

        schedule: 0.0f.1x2
        replay:   unthread replay 0.0f.1x2 - --memory tso

        note: there may be more: only what one execution implies was looked at; leave out `--predict` to look at everything
    "#]].assert_eq(&run.shown());
}

#[test]
fn races_are_predicted_on_request() {
    let program = "shared x = 0;\nthread a { x = 1; }\nthread b { x = 2; }\n";
    let run = unthread_stdin(program, &["check", "-", "--predict", "--races", "--json"]);
    let object: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &object["violations"][0]["kind"]), (1, &Value::from("data-race")), "{}", run.shown());
}
