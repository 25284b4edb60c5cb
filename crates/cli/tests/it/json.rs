//! `unthread check --json`.

use super::{STORE_BUFFERING, unthread_stdin};
use expect_test::expect;
use serde_json::Value;

/// The objects that a check prints, without the time it took.
fn objects(program: &str, arguments: &[&str]) -> Vec<Value> {
    let run = unthread_stdin(program, &[&["check", "-", "--json"], arguments].concat());
    let object = |line: &str| {
        let mut object: Value = serde_json::from_str(line).expect("each line is an object");
        let seconds = object.as_object_mut().expect("each line is an object").remove("seconds");
        assert!(seconds.is_some_and(|seconds| seconds.is_f64()));
        object
    };
    run.out.lines().map(object).collect()
}

#[test]
fn each_memory_model_is_an_object_on_a_line() {
    let objects = objects(STORE_BUFFERING, &["--memory", "all"]);
    let verdicts: Vec<_> = objects.iter().map(|object| (&object["memory"], &object["verdict"])).collect();
    expect![[r#"[(String("sc"), String("verified")), (String("tso"), String("violation")), (String("pso"), String("violation")), (String("cpp20"), String("violation")), (String("rc11"), String("violation"))]"#]].assert_eq(&format!("{verdicts:?}"));
}

#[test]
fn a_violation_has_its_place_and_its_steps() {
    let object = &objects("shared x;\nthread t {\n    x = 1;\n    assert(x == 0, \"so\");\n}\n", &[])[0];
    expect![[r#"
        {
          "coverage": null,
          "engine": "mcr",
          "executions": 1,
          "file": "<stdin>",
          "final_states": 0,
          "histories": 1,
          "memory": "tso",
          "observations": [],
          "program": "<stdin>",
          "schema": 1,
          "states": 0,
          "steps": 4,
          "stop": "violation",
          "stop_location": null,
          "stop_loop": null,
          "stop_message": null,
          "verdict": "violation",
          "violations": [
            {
              "also": [],
              "cycle": [],
              "events": [
                0,
                2
              ],
              "initial": [
                {
                  "cell": "x",
                  "value": 0
                }
              ],
              "kind": "assertion",
              "location": {
                "column": 5,
                "file": "<stdin>",
                "line": 4
              },
              "message": "so",
              "pending": [],
              "replay": "unthread replay 0.0f.0x2 - --memory tso",
              "schedule": "0.0f.0x2",
              "sentence": "t read `x` = 1 (line 4), which it had stored (line 3)",
              "steps": [
                {
                  "buffer": [
                    {
                      "cell": "x",
                      "value": 1
                    }
                  ],
                  "buffered": true,
                  "cell": "x",
                  "column": 5,
                  "commit": 1,
                  "kind": "write",
                  "line": 3,
                  "name": "t",
                  "read": null,
                  "relevant": true,
                  "step": "0",
                  "text": "x = 1",
                  "thread": 0,
                  "written": 1
                },
                {
                  "buffer": [],
                  "cell": "x",
                  "column": 5,
                  "kind": "flush",
                  "line": 3,
                  "name": "t",
                  "read": null,
                  "relevant": true,
                  "step": "0f",
                  "store": 0,
                  "text": "flush x = 1",
                  "thread": 0,
                  "written": 1
                },
                {
                  "buffer": [],
                  "cell": "x",
                  "column": 12,
                  "kind": "read",
                  "line": 4,
                  "name": "t",
                  "read": 1,
                  "reads_from": 0,
                  "relevant": true,
                  "step": "0",
                  "text": "x → 1",
                  "thread": 0,
                  "written": null
                },
                {
                  "buffer": [],
                  "cell": null,
                  "column": 5,
                  "failure": "assertion",
                  "kind": "fail",
                  "line": 4,
                  "name": "t",
                  "read": null,
                  "relevant": true,
                  "step": "0",
                  "text": "✗ assertion",
                  "thread": 0,
                  "written": null
                }
              ],
              "thread": "t",
              "threads": [
                "t"
              ]
            }
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(object).expect("it is JSON"));
}

#[test]
fn an_exhausted_search_has_its_counts() {
    let program = "shared x; thread t { x = 1; } thread u { x = 2; } exists (x == 1); exists (x == 3);";
    let object = &objects(program, &["--memory", "sc"])[0];
    expect![[r#"
        {
          "coverage": "all executions",
          "engine": "mcr",
          "executions": 1,
          "file": "<stdin>",
          "final_states": 2,
          "histories": 1,
          "memory": "sc",
          "observations": [
            {
              "condition": "exists (x == 1)",
              "found": true,
              "location": {
                "column": 51,
                "file": "<stdin>",
                "line": 1
              },
              "quantifier": "exists",
              "schedule": "1.0x2.1"
            },
            {
              "condition": "exists (x == 3)",
              "found": false,
              "location": {
                "column": 68,
                "file": "<stdin>",
                "line": 1
              },
              "quantifier": "exists",
              "schedule": null
            }
          ],
          "program": "<stdin>",
          "schema": 1,
          "states": 0,
          "steps": 4,
          "stop": "exhausted",
          "stop_location": null,
          "stop_loop": null,
          "stop_message": null,
          "verdict": "verified",
          "violations": []
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(object).expect("it is JSON"));
}

#[test]
fn a_full_buffer_is_placed() {
    let program = "shared x, stop;\nthread t { while stop == 0 { x = 1; } }\nthread u { stop = 1; }\n";
    let object = &objects(program, &["--max-buffer", "1"])[0];
    assert_eq!(object["stop"], "buffer-limit");
    assert_eq!(object["stop_location"]["line"], 2);
}
