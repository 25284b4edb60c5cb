//! `unthread robust`, `unthread fences`, and automata.

use super::{STORE_BUFFERING, folder, root, run, unthread_stdin};
use serde_json::Value;

const DEKKER: &str = "\
thread left
initial a
final in
transition a b write 1 0
transition b c read r 1
transition c in check == r 0
end
thread right
initial a
final in
transition a b write 1 1
transition b c read r 0
transition c in check == r 0
end
";

fn object(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

#[test]
fn a_program_that_is_not_robust_shows_a_witness_that_replays() {
    let run = unthread_stdin(STORE_BUFFERING, &["robust", "-"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("this store waits") && run.out.contains("from-read"), "{}", run.out);
    let found = object(&unthread_stdin(STORE_BUFFERING, &["robust", "-", "--json"]).out);
    assert_eq!((&found["robust"], &found["memory"]), (&Value::Bool(false), &Value::from("tso")));
    let schedule = found["schedule"].as_str().expect("there is one");
    let replayed = unthread_stdin(STORE_BUFFERING, &["replay", schedule, "-"]);
    assert_eq!(replayed.code, 0, "{}{}", replayed.out, replayed.err);
    assert!(found["witness"].as_array().is_some_and(|steps| steps.len() >= 6), "{found}");
    assert!(found["cycle"].as_array().is_some_and(|cycle| cycle.len() >= 4), "{found}");
}

#[test]
fn a_robust_program_ends_with_code_0() {
    let fenced = STORE_BUFFERING.replace("1; let", "1; fence; let");
    let run = unthread_stdin(&fenced, &["robust", "-"]);
    assert_eq!((run.code, run.out.contains("robust: tso makes no difference")), (0, true), "{}", run.out);
    let found = object(&unthread_stdin(&fenced, &["robust", "-", "--json"]).out);
    assert_eq!((&found["robust"], &found["witness"]), (&Value::Bool(true), &Value::Null));
}

const MESSAGE_PASSING: &str = "shared x, y; thread a { x = 1; y = 1; } thread b { let r = y; let s = x; }";

#[test]
fn stores_that_overtake_stores_are_a_witness_against_pso() {
    assert_eq!(unthread_stdin(MESSAGE_PASSING, &["robust", "-"]).code, 0);
    let run = unthread_stdin(MESSAGE_PASSING, &["robust", "-", "--memory", "pso"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("under pso thread a can do `y = 1;` before `x = 1;`"), "{}", run.out);
    let found = object(&unthread_stdin(MESSAGE_PASSING, &["robust", "-", "--memory", "pso", "--json"]).out);
    let schedule = found["schedule"].as_str().expect("there is one");
    assert_eq!(unthread_stdin(MESSAGE_PASSING, &["replay", schedule, "-", "--memory", "pso"]).code, 0);
}

#[test]
fn a_release_store_is_cheaper_than_a_fence() {
    let fences =
        |more: &[&'static str]| unthread_stdin(MESSAGE_PASSING, &[&["fences", "-", "--memory", "pso"], more].concat());
    let fence = fences(&[]);
    assert!(fence.out.contains("+shared x, y; thread a { x = 1; fence; y = 1; }"), "{}", fence.out);
    let release = fences(&["--orderings"]);
    assert_eq!(release.code, 0, "{}", release.err);
    assert!(release.out.contains("1 change: so that pso makes no difference"), "{}", release.out);
    assert!(release.out.contains("+shared x, y; thread a { x = 1; y.store(1, release); }"), "{}", release.out);
    let found = object(&fences(&["--orderings", "--json"]).out);
    assert_eq!((&found["fences"][0]["store"], &found["fences"][0]["ordering"]), (&"y = 1;".into(), &"release".into()));
}

/// The keys of an object, sorted.
fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("it is an object").keys().map(String::as_str).collect()
}

#[test]
fn answers_have_the_promised_fields() {
    let robust = object(&unthread_stdin(STORE_BUFFERING, &["robust", "-", "--json"]).out);
    for field in ["program", "memory", "robust", "witness", "seconds"] {
        assert!(keys(&robust).contains(&field), "{field}");
    }
    assert!(robust["robust"].is_boolean() && robust["witness"].is_array() && robust["seconds"].is_number());
    let fences = object(&unthread_stdin(STORE_BUFFERING, &["fences", "-", "--json"]).out);
    for field in ["program", "memory", "fences", "verified", "seconds"] {
        assert!(keys(&fences).contains(&field), "{field}");
    }
    assert!(fences["verified"].is_boolean() && fences["seconds"].is_number());
    for fence in fences["fences"].as_array().expect("it is a list") {
        assert!(fence["thread"].is_string() && fence["after"].is_string() && fence["location"]["line"].is_number());
    }
    let check = object(
        &unthread_stdin(
            STORE_BUFFERING,
            &["check", "-", "--engine", "icb", "--preemptions", "2", "--json", "--all-violations"],
        )
        .out,
    );
    let coverage = check["coverage"].as_str().expect("it says what was covered");
    assert!(coverage.contains("preemptions") || coverage.contains("all executions"), "{coverage}");
}

#[test]
fn a_search_that_meets_a_limit_is_inconclusive() {
    let run = unthread_stdin(STORE_BUFFERING, &["robust", "-", "--max-states", "3"]);
    assert_eq!((run.code, run.out.contains("inconclusive")), (3, true), "{}", run.out);
}

#[test]
fn fences_are_a_diff_that_repairs_the_program() {
    let folder = folder("fences");
    std::fs::write(folder.join("sb.ut"), STORE_BUFFERING).expect("the folder is writable");
    let text = run(&["fences", "sb.ut"], "", &folder);
    assert_eq!(text.code, 0, "{}", text.err);
    assert!(text.out.contains("2 fences: so that tso makes no difference"), "{}", text.out);
    assert!(text.out.contains("+thread left  { x = 1; fence; let r = y; a = r; }"), "{}", text.out);
    let found = object(&run(&["fences", "sb.ut", "--json"], "", &folder).out);
    assert_eq!((&found["verified"], found["fences"].as_array().map(Vec::len)), (&Value::Bool(true), Some(2)));
    assert_eq!(found["fences"][0]["thread"], "left");
    assert_eq!(found["fences"][0]["after"], "x = 1;");
}

#[test]
fn fences_can_be_for_correctness_only() {
    let run = unthread_stdin(STORE_BUFFERING, &["fences", "-", "--for", "correctness", "--json"]);
    let found = object(&run.out);
    assert_eq!((run.code, found["fences"].as_array().map(Vec::len)), (0, Some(2)), "{}", run.out);
    let wrong = "shared x; thread a { x = 1; } thread b { assert(x == 0); }";
    assert_eq!(unthread_stdin(wrong, &["fences", "-", "--for", "correctness"]).code, 1);
}

#[test]
fn automata_are_known_by_their_first_words() {
    let folder = folder("automata");
    std::fs::write(folder.join("dekker.txt"), DEKKER).expect("the folder is writable");
    let check =
        |memory: &str, engine: &str| run(&["check", "dekker.txt", "--memory", memory, "--engine", engine], "", &folder);
    for engine in ["exhaustive", "lazy"] {
        assert_eq!(check("sc", engine).code, 0);
        let found = check("tso", engine);
        assert_eq!(found.code, 1);
        assert!(found.out.contains("goal: left and right can be in their final states together"), "{}", found.out);
    }
    let refused = check("tso", "mcr");
    assert_eq!(
        (refused.code, refused.out.contains("does not see where all threads are")),
        (3, true),
        "{}",
        refused.out
    );
    let fences = run(&["fences", "dekker.txt"], "", &folder);
    assert!(fences.out.contains("+transition b b_fenced mfence\n+transition b_fenced c read r 1"), "{}", fences.out);
}

#[test]
fn the_size_of_an_automatons_memory_may_be_said() {
    let folder = folder("memory_size");
    let robust = |first: &str| {
        std::fs::write(folder.join("dekker.txt"), format!("# cells\n{first}\n{DEKKER}"))
            .expect("the folder is writable");
        run(&["robust", "dekker.txt"], "", &folder)
    };
    assert_eq!(robust("memory_size 2").code, 1);
    assert_eq!(robust("thread idle final a initial a transition a a noop end").code, 1);
    let wrong = robust("memory_size two");
    assert_eq!((wrong.code, wrong.err.contains("expected a number of cells, found `two`")), (2, true), "{}", wrong.err);
}

#[test]
fn mistakes_in_automata_are_shown_with_their_place() {
    let folder = folder("mistakes");
    let text = DEKKER.replace("write 1 0", "wriet 1 0").replace("check == r 0", "check == r");
    std::fs::write(folder.join("dekker.trencher"), text).expect("the folder is writable");
    let run = run(&["robust", "dekker.trencher"], "", &folder);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("`wriet` is not something that a transition can do"), "{}", run.err);
    assert!(run.err.contains("dekker.trencher:4:16"), "{}", run.err);
    assert!(run.err.contains("expected an expression, found `end`"), "{}", run.err);
}

#[test]
fn the_graph_gives_the_same_answer_with_a_witness_that_replays() {
    let program = "shared x, y;\nthread a {\n  x = 1;\n  let r = y;\n}\nthread b {\n  y = 1;\n  let r = x;\n}\n";
    let found = run(&["robust", "-", "--graph"], program, &root());
    assert_eq!(found.code, 1, "{}", found.shown());
    assert!(found.out.contains("not robust"), "{}", found.shown());
    let fenced = program.replace("1;\n  let", "1;\n  fence;\n  let");
    assert_eq!(run(&["robust", "-", "--graph"], &fenced, &root()).code, 0);
    let waits = "shared x;\nthread a { x = 1; }\nthread b { while x == 0 {} }\n";
    let found = run(&["robust", "-", "--graph"], waits, &root());
    assert_eq!(found.code, 3, "{}", found.shown());
    assert!(found.out.contains("a loop waits for other threads"), "{}", found.shown());
}
