//! `unthread replay`: what a check found can be seen again.

use super::{STORE_BUFFERING, unthread_stdin};
use expect_test::expect;

#[test]
fn a_reported_schedule_replays_to_the_same_failure() {
    let programs = [
        STORE_BUFFERING,
        "mutex a, b; thread one { lock(a); lock(b); } thread two { lock(b); lock(a); }",
        "plain x; thread t { x = 1; } thread u { x = 2; }",
        "shared x; thread t { while x == 0 {} }",
        "shared x, y; thread t { x = 1; y = 1; } thread u { let r = y; let s = x; assert(s >= r, \"reordered\"); }",
        "shared x; thread t { x = 1; } always (x == 0);",
        "shared x; thread t { let r = choose(0..3); x = 5 / (2 - r); }",
    ];
    for program in programs {
        let check = unthread_stdin(program, &["check", "-", "--json", "--memory", "pso"]);
        assert_eq!(check.code, 1, "{program}");
        let object: serde_json::Value = serde_json::from_str(&check.out).expect("it is JSON");
        let violation = &object["violations"][0];
        let text = |field: &str| violation[field].as_str().expect("it is a string");
        let replay = unthread_stdin(program, &["replay", text("schedule"), "-", "--memory", "pso"]);
        let (kind, message) = (text("kind"), text("message"));
        assert_eq!(replay.code, 1, "{program}: {}", replay.shown());
        assert!(replay.out.contains(&format!("pso: violation: {kind}: {message}\n")), "{}", replay.shown());
    }
}

#[test]
fn a_schedule_with_more_stores_than_a_search_allows_is_shown_and_replays() {
    let stores: String = (1..10).map(|value| format!("a = {value}; ")).collect();
    let program = format!(
        "shared x, y, a, b = 1, c = 1;\nthread t {{ x = 1; {stores} b = y; }}\nthread u {{ y = 1; fence; c = x; }}\n\
         forbidden (b == 0 && c == 0);\n"
    );
    assert_eq!(unthread_stdin(&program, &["check", "-", "--engine", "exhaustive"]).code, 3);
    let found = unthread_stdin(&program, &["check", "-", "--engine", "mcr"]);
    assert!(found.code == 1 && found.out.contains("its store buffer"), "{}", found.shown());
    let found = unthread_stdin(&program, &["check", "-", "--engine", "mcr", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&found.out).expect("it is JSON");
    let violation = &object["violations"][0];
    assert!(violation["steps"].as_array().is_some_and(|steps| steps.len() > 12), "{}", found.out);
    let schedule = violation["schedule"].as_str().expect("it is a string");
    assert_eq!(unthread_stdin(&program, &["replay", schedule, "-"]).code, 1);
}

#[test]
fn a_race_on_a_shared_variable_replays() {
    let program = "shared x; thread t { x = 1; } thread u { let r = x; }";
    let found = unthread_stdin(program, &["check", "-", "--races"]);
    let command = found.out.lines().find_map(|line| line.strip_prefix("replay:   unthread ")).expect("a command");
    let replay = unthread_stdin(program, &command.split(' ').collect::<Vec<_>>());
    assert!(replay.code == 1 && replay.out.contains("data-race"), "{}", replay.shown());
}

#[test]
fn a_replay_shows_steps_and_what_is_wrong() {
    let run = unthread_stdin(STORE_BUFFERING, &["replay", "0x2.1x2", "-"]);
    expect![[r#"
        exit code 0
          step  line  0 left    1 right   its store buffer
             1     3  x = 1               [x=1]
             2     3  r: y → 0            [x=1]
             3     4            y = 1     [y=1]
             4     4            r: x → 0  [y=1]

        <stdin>: tso: nothing wrong: as far as it goes; possible next: 0, 0f, 1, 1f
        note: sc has no such execution
    "#]]
    .assert_eq(&run.shown());
    let run = unthread_stdin("shared x;\nthread t { x = 1; assert(x == 0); }\n", &["replay", "0x3", "-"]);
    expect![[r#"
        exit code 1
          step  line  0 t          its store buffer
             1     2  x = 1        [x=1]
             2     2  x → 1        [x=1]
             3     2  ✗ assertion  [x=1]

        <stdin>: tso: violation: assertion: x == 0
         --> <stdin>:2:19
          |
        2 | thread t { x = 1; assert(x == 0); }
          |                   ^^^^^^^^^^^^^^ in thread t
    "#]]
    .assert_eq(&run.shown());
}

#[test]
fn a_witness_replays_to_a_state_that_satisfies_the_condition() {
    let program = "shared x;\nthread t { x = 1; }\nthread u { x = 2; }\nexists (x == 1);\n";
    let check = unthread_stdin(program, &["check", "-", "--json"]);
    let object: serde_json::Value = serde_json::from_str(&check.out).expect("it is JSON");
    let schedule = object["observations"][0]["schedule"].as_str().expect("it is found");
    let replay = unthread_stdin(program, &["replay", schedule, "-"]);
    assert_eq!(replay.code, 0);
    assert!(replay.out.ends_with("<stdin>:4:1: exists (x == 1): satisfied at the end\n"), "{}", replay.out);
}

#[test]
fn all_kinds_of_steps_are_told_in_words() {
    let program = "\
shared x, y;
mutex m;
condvar c;
rwlock l;
struct Node { value }
thread child(n) { lock(m); wait(c, m); unlock(m); x.store(n, release); read_lock(l); }
main {
    let h = fork child(7);
    assume(choose(3..5) == 3);
    while x == 0 { lock(m); notify(c); unlock(m); yield; }
    join h;
    let r = x.load(acquire);
    let old = x.fetch_add(2);
    old = x.swap(r);
    let ok = x.cas(7, 1);
    ok = x.cas(7, 2);
    fence;
    fence(release);
    let t = try_lock(m);
    t = try_lock(m);
    let p = new Node;
    p.value = 5;
    x = p;
    free(p);
    y.store(1, seqcst);
    p.value = 6;
}
";
    expect![[r#"
        exit code 1
        <stdin>: tso: violation: use-after-free: heap1.0 has been freed
          --> <stdin>:26:5
           |
        26 |     p.value = 6;
           |     ^^^^^^^^^^^^ in thread main

        why: main freed `heap1.0` (line 24) before main stored to it (line 26)

          step  line  0 main                        1 child                   its store buffer
             1     8  h: fork 1 child
             2     9  choose → 3
             3    10  x → 0
             4     6                                lock m
             5     6                                wait c, unlock m
             6    10  lock m
             7    10  notify c
             8    10  unlock m
             9    10  yield
            10     6                                woken by c, lock m
            11     6                                unlock m
            12     6                                x = 7 (release) ⇒ memory
            14     6                                lock shared l
            15    10  x → 7
            16     6                                end
            17    11  join 1 child
            18    12  r: x → 7 (acquire)
            19    13  old: fetch_add x 7→9
            20    14  old: swap x 9→7
            21    15  cas x 7→1 ok
            22    16  cas x 7→2 failed on 1
            23    17  fence
            24    18  fence (release)
            25    19  try lock m ok
            26    20  try lock m failed
             …        … 4 steps
        ▸   31    24  free heap1.0
            32    25  y = 1 (seqcst)
        ▸   33    26  heap1.0 = 6 ✗ use-after-free

        schedule: 0.0c3.0.1x2.0x4.1x3.1f.1.0.1.0x11.0f.0.0f.0x3
        replay:   unthread replay 0.0c3.0.1x2.0x4.1x3.1f.1.0.1.0x11.0f.0.0f.0x3 - --memory tso

    "#]]
    .assert_eq(&unthread_stdin(program, &["check", "-"]).shown());
}
