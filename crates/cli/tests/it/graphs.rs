//! The memory models of the language: checks, replays, final states, files.

use super::{STORE_BUFFERING, unthread_stdin};
use expect_test::expect;
use serde_json::Value;

/// A message whose receiver does not acquire.
const RELAXED: &str = "shared data, ready;
thread writer { data = 1; ready.store(1, release); }
thread reader { if ready == 1 { assert(data == 1); } }
";

#[test]
fn a_violation_names_the_ordering_and_the_machines() {
    let run = unthread_stdin(RELAXED, &["check", "-", "--memory", "rust"]);
    expect![[r#"
        exit code 1
        <stdin>: cpp20: violation: assertion: data == 1
         --> <stdin>:3:33
          |
        3 | thread reader { if ready == 1 { assert(data == 1); } }
          |                                 ^^^^^^^^^^^^^^^^^ in thread reader

        why: reader read `ready` = 1 (line 3, Relaxed) from writer's Release store (line 2), but a Relaxed load does not synchronise with it: `data` could still be read as 0 (line 3). An `Acquire` load at line 3 would prevent this

          step  line  0 writer             1 reader
             1     2  data = 1
        ▸    2     2  ready = 1 (release)
             3     2  end
        ▸    4     3                       ready → 1  [from 2]
        ▸    5     3                       data → 0  [from the start, not 1]
             6     3                       ✗ assertion
        note: not under sc, tso, pso: on x86 it does not show

        schedule: 0x3.1.1c1.1
        replay:   unthread replay 0x3.1.1c1.1 - --memory cpp20

    "#]].assert_eq(&run.shown());
    let machines = unthread_stdin(RELAXED, &["check", "-", "--memory", "tso"]);
    assert_eq!(machines.code, 0, "{}", machines.shown());
    let right = RELAXED.replace("ready == 1", "ready.load(acquire) == 1");
    for memory in ["cpp20", "rust", "rc11", "all"] {
        let run = unthread_stdin(&right, &["check", "-", "--memory", memory]);
        assert_eq!(run.code, 0, "{}", run.shown());
    }
}

#[test]
fn what_is_found_replays_to_the_same_failure() {
    let programs = [
        STORE_BUFFERING,
        RELAXED,
        "mutex a, b; thread one { lock(a); lock(b); } thread two { lock(b); lock(a); }",
        "plain x; thread t { x = 1; } thread u { x = 2; }",
        "shared x; thread t { while x == 0 {} }",
        "shared x; thread t { x = 1; } always (x == 0);",
        "shared x; thread t { let r = choose(0..3); x = 5 / (2 - r); }",
        "struct N { v } shared h; thread t { let n = new N { v: 1 }; h = n; } thread u { let n = h; if n { let r = n.v; } }",
    ];
    for (program, memory) in programs.iter().flat_map(|program| [(program, "cpp20"), (program, "rc11")]) {
        for engine in ["auto", "exhaustive", "random", "pct"] {
            let check = unthread_stdin(program, &["check", "-", "--json", "--memory", memory, "--engine", engine]);
            assert_eq!(check.code, 1, "{program} {engine}: {}", check.shown());
            let object: Value = serde_json::from_str(&check.out).expect("it is JSON");
            let violation = &object["violations"][0];
            let text = |field: &str| violation[field].as_str().expect("it is a string");
            let replay = unthread_stdin(program, &["replay", text("schedule"), "-", "--memory", memory]);
            let kind = text("kind");
            assert_eq!(replay.code, 1, "{program}: {}", replay.shown());
            assert!(replay.out.contains(&format!("{memory}: violation: {kind}: ")), "{}", replay.shown());
        }
    }
}

#[test]
fn what_machines_alone_can_do_is_refused() {
    for engine in ["dpor", "mcr", "cumulative", "lazy", "icb"] {
        let run = unthread_stdin(RELAXED, &["check", "-", "--memory", "rc11", "--engine", engine]);
        assert_eq!(run.code, 3, "{}", run.shown());
        let why = format!("engine {engine} runs machines, and rc11 is none: engine graph checks it");
        assert!(run.out.contains(&why), "{}", run.shown());
    }
    for flags in [["--monitor", "store-buffers"].as_slice(), &["--predict"]] {
        let run = unthread_stdin(RELAXED, &[&["check", "-", "--memory", "cpp20"], flags].concat());
        assert!(run.code == 2 && run.err.contains("is about machines"), "{}", run.shown());
    }
    let run = unthread_stdin(RELAXED, &["outcomes", "-", "--memory", "cpp20", "--compare", "sc"]);
    assert!(run.code == 2 && run.err.contains("compares machines"), "{}", run.shown());
    let run = unthread_stdin(RELAXED, &["replay", "0.1c7", "-", "--memory", "cpp20"]);
    assert!(run.code == 2 && run.err.contains("does not fit"), "{}", run.shown());
}

#[test]
fn final_states_are_listed_for_every_memory_model() {
    let program = "shared x, y, r, s; thread a { x.store(1, seqcst); r = y.load(acquire); }
        thread b { y.store(1, seqcst); s = x.load(acquire); }";
    let run = unthread_stdin(program, &["outcomes", "-", "--memory", "all"]);
    let counts: Vec<&str> = run.out.lines().filter(|line| line.contains("final states")).collect();
    let expected = ["sc: 3", "tso: 3", "pso: 3", "cpp20: 4", "rc11: 4"];
    assert_eq!(counts, expected.map(|count| format!("-: {count} final states")), "{}", run.shown());
}

#[test]
fn json_has_the_graph() {
    let run = unthread_stdin(RELAXED, &["check", "-", "--memory", "cpp20", "--json"]);
    let object: Value = serde_json::from_str(&run.out).expect("it is JSON");
    let violation = &object["violations"][0];
    expect![[r#"{"modification_order":[{"cell":"data","writes":[0]},{"cell":"ready","writes":[1]}],"stale":4,"synchronises":[],"too_weak":[{"from":"Relaxed","step":3,"to":"Acquire"}]} {"pso":false,"sc":false,"tso":false}"#]].assert_eq(&format!("{} {}", violation["graph"], violation["machines"]));
}
