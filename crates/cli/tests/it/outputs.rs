//! `--html`, `--dot` and `--junit`: what is written to files.

use super::{Run, STORE_BUFFERING, folder, run};
use expect_test::expect;
use serde_json::Value;
use std::path::PathBuf;

const FORBIDDEN: &str = "\
shared x, y;
thread left  { x = 1; let r = y; }
thread right { y = 1; let r = x; }
forbidden (left.r == 0 && right.r == 0);
";

/// Checks a program in a folder of its own.
fn check(name: &str, program: &str, arguments: &[&str]) -> (Run, PathBuf) {
    let folder = folder(name);
    std::fs::write(folder.join("p.ut"), program).expect("the folder is writable");
    (run(&[&["check", "p.ut"], arguments].concat(), "", &folder), folder)
}

/// The data inside of a page.
fn data(page: &str) -> Value {
    let start = page.find("id=\"data\">").expect("there are data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("they end");
    serde_json::from_str(&page[start..end]).expect("they are JSON")
}

#[test]
fn a_page_holds_everything_and_asks_for_nothing() {
    let (run, folder) = check("output_html", STORE_BUFFERING, &["--memory", "all", "--html", "p.html"]);
    assert_eq!(run.code, 1, "{}", run.shown());
    let page = std::fs::read_to_string(folder.join("p.html")).expect("it was written");
    for outside in ["http://", "https://", "<script src", "@import", "url(http"] {
        let used = page.matches(outside).count();
        let allowed = usize::from(outside == "http://");
        assert!(used <= allowed, "{outside}: only the name of SVG's namespace");
    }
    let data = data(&page);
    assert_eq!(data["reports"].as_array().map(Vec::len), Some(5));
    assert_eq!(data["sources"][0]["text"], STORE_BUFFERING);
    let weak = &data["reports"][1]["violations"][0];
    assert_eq!(weak["events"].as_array().map(Vec::len), Some(2));
    assert!(weak["sequential"]["outcome"].as_str().is_some_and(|text| text.contains("nothing is wrong")), "{weak}");
    assert_eq!(data["reports"][0]["exploration"]["complete"], true);
}

#[test]
fn the_execution_that_answers_a_question_is_shown() {
    let question = FORBIDDEN.replace("forbidden", "exists");
    let (run, folder) = check("output_witness", &question, &["--html", "p.html", "--dot", "p.dot"]);
    assert_eq!(run.code, 0, "{}", run.shown());
    let page = std::fs::read_to_string(folder.join("p.html")).expect("it was written");
    let witness = &data(&page)["reports"][0]["observations"][0]["witness"];
    assert_eq!(
        (&witness["kind"], &witness["message"]),
        (&"witness".into(), &"exists (left.r == 0 && right.r == 0)".into())
    );
    let sentence = "left's store to `x` (line 2) was still in its buffer when right read `x` (line 3)";
    assert_eq!(witness["sentence"], sentence);
    assert!(witness["sequential"]["steps"].is_array(), "{witness}");
    let graph = std::fs::read_to_string(folder.join("p.dot")).expect("it was written");
    assert!(graph.contains("\"p.ut: tso: witness\"") && graph.contains(sentence), "{graph}");
}

#[test]
fn a_text_that_looks_like_markup_stays_text() {
    let program = "shared x;\nthread t { x = 1; assert(x == 0, \"</script><script>alert(1)</script>\"); }\n";
    let (run, folder) = check("output_markup", program, &["--html", "p.html", "--junit", "p.xml"]);
    assert_eq!(run.code, 1);
    let page = std::fs::read_to_string(folder.join("p.html")).expect("it was written");
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert!(data(&page)["sources"][0]["text"].as_str().is_some_and(|text| text.contains("</script>")));
    let summary = std::fs::read_to_string(folder.join("p.xml")).expect("it was written");
    assert!(summary.contains("message=\"&lt;/script&gt;&lt;script&gt;"), "{summary}");
}

#[test]
fn a_graph_has_a_cluster_per_thread_and_the_cycle_in_red() {
    let (_, folder) = check("output_dot", FORBIDDEN, &["--dot", "p.dot"]);
    expect![[r#"
        digraph "p.ut: tso: condition" {
          label="left's store to `x` (line 2) was still in its buffer when right read `x` (line 3)"; labelloc=t; rankdir=TB; newrank=true;
          node [shape=box, style=rounded, fontname="monospace", fontsize=11]; edge [fontsize=10];
          subgraph cluster_0 {
            label="left"; color=grey;
            s0 [label="x = 1  :2", penwidth=2, color=orange];
            s1 [label="r: y → 0  :2"];
            s6 [label="end  :2"];
          }
          subgraph cluster_1 {
            label="right"; color=grey;
            s2 [label="y = 1  :3"];
            s4 [label="r: x → 0  :3", penwidth=2, color=orange];
            s7 [label="end  :3"];
          }
          s0 -> s1 [label="", color=red, fontcolor=red, penwidth=2];
          s1 -> s2 [label="fr", color=red, fontcolor=red, penwidth=2];
          s1 -> s6 [label="", color=grey];
          s2 -> s4 [label="", color=red, fontcolor=red, penwidth=2];
          s4 -> s0 [label="fr", color=red, fontcolor=red, penwidth=2];
          s4 -> s7 [label="", color=grey];
        }
    "#]]
    .assert_eq(&std::fs::read_to_string(folder.join("p.dot")).expect("it was written"));
}

#[test]
fn a_summary_has_a_test_case_per_memory_model() {
    let (_, folder) = check("output_junit", FORBIDDEN, &["--memory", "all", "--junit", "p.xml"]);
    let summary = std::fs::read_to_string(folder.join("p.xml")).expect("it was written");
    assert!(summary.contains("tests=\"5\" failures=\"4\" errors=\"0\""), "{summary}");
    assert_eq!(summary.matches("<testcase ").count(), 5);
    assert!(
        summary.contains("<failure type=\"condition\" message=\"the program can end in a forbidden final state\">"),
        "{summary}"
    );
    let (_, folder) =
        check("output_junit_limit", FORBIDDEN, &["--memory", "sc", "--max-states", "3", "--junit", "p.xml"]);
    let summary = std::fs::read_to_string(folder.join("p.xml")).expect("it was written");
    assert!(summary.contains("<error type=\"inconclusive\" message=\"state-limit\"/>"), "{summary}");
}

#[test]
fn a_file_that_cannot_be_written_is_bad_input() {
    let (run, _) = check("output_nowhere", FORBIDDEN, &["--html", "no/such/folder.html"]);
    assert!(run.code == 2 && run.err.contains("cannot write no/such/folder.html"), "{}", run.shown());
}

#[test]
fn stepping_needs_a_terminal() {
    let (_, folder) = check("output_step", FORBIDDEN, &[]);
    let run = run(&["replay", "0", "p.ut", "--step"], "", &folder);
    assert!(run.code == 2 && run.err.contains("needs a terminal"), "{}", run.shown());
}
